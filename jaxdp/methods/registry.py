"""Choices by name: what a setting may be, what each is, and which kinds of data it works on.

This file imports the standard library alone: builders import what they need when they are called,
so that `--help` names all choices without jax.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from jaxdp.methods.settings import SettingsError

E = TypeVar("E", bound="Entry")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One choice.

    Attributes:
        build: makes it.
        help: what it is, in a few words.
        kinds: of data that it works on.
    """

    build: Callable[..., Any]
    help: str
    kinds: tuple[str, ...] = ("image", "table")


class Registry(Mapping[str, E], Generic[E]):
    """Choices by name, in order."""

    def __init__(self, setting: str, entries: Mapping[str, E], *, otherwise: str) -> None:
        """Take the name of the setting, its choices, and what to do where one does not fit."""
        self._setting, self._entries, self._otherwise = setting, dict(entries), otherwise

    def __getitem__(self, name: str) -> E:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def help(self) -> str:
        """Return all names with what they are."""
        return ", ".join(f"{name} ({entry.help})" for name, entry in self._entries.items())

    def fitting(self, name: str, spec: Any) -> E:
        """Return a choice.

        Args:
            name: of it.
            spec: facts about the data that it is for.

        Raises:
            SettingsError: it does not work on data of that kind.
        """
        entry = self._entries[name]
        if spec.kind.stored not in entry.kinds:
            works = " and ".join({"image": "images", "table": "rows"}[kind] for kind in entry.kinds)
            raise SettingsError(
                f"--{self._setting}={name}: works on {works}, and --dataset={spec.name} holds "
                f"{spec.kind.holds(spec)}; {self._otherwise}"
            )
        return entry
