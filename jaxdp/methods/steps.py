"""What a method asks of whoever runs it: loops of steps, rows of features, kept public arrays.

Nothing here knows of private data or of privacy: post-processing uses it as well.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Array

State = TypeVar("State", bound=Any)
Rows = Callable[[Array], Array]
"""A function of rows (n, d), row by row."""
Watch = Callable[[Sequence[int]], Iterable[int]]
"""Yields the numbers of parts of some work, each in its turn, and may show how many are done."""
Cached = Callable[[dict[str, Any], Callable[[Watch], np.ndarray]], np.ndarray]
"""`(description, compute) -> array`: a public array, which may be kept under its description."""


class RowMap(NamedTuple):
    """A public map of rows as stored, e.g. to features.

    Attributes:
        fn: the map; a row of its result depends on its own row alone.
        options: everything that it is made from, as JSON.
        dtype: float type of its result.
        then: what becomes of some rows of that, each by itself, in a program of its own. The map's
            program is kept with its constants, which are public; what is here need not be.
    """

    fn: Rows
    options: dict[str, Any]
    dtype: type
    then: Rows | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps(Generic[State]):
    """A loop of steps, which a runner takes in slices of about a second.

    Attributes:
        name: what it does, for a progress bar.
        state: before the first step; `state.step` counts. A pytree of arrays.
        advance: `(state, count) -> (state, note)`: `count` more steps, and a public number about
            the last one, or None.
        num_steps: in all.
        free: whether it is post-processing, whose steps may be made again at no cost.
        kept: whether its states are worth keeping for a run that goes on.
        every: a look at the state is due after so many steps; None for the first and the last one
            alone.
        shown: what is looked at, of a state; None for the note alone.
        from_result: the last state, from the arrays of a finished result.
    """

    name: str
    state: State
    advance: Callable[[State, int], tuple[State, Any]]
    num_steps: int
    free: bool
    kept: bool = True
    every: int | None = None
    shown: Callable[[State], Any] | None = None
    from_result: Callable[[Mapping[str, np.ndarray]], State] | None = None


@runtime_checkable
class Runner(Protocol):
    """What a method asks of whoever runs it; `PlainRunner`, the library's, keeps no files."""

    def loop(self, steps: Steps[State]) -> State:
        """Return the state after all steps."""
        ...

    def rows(self, row_map: RowMap, x: np.ndarray, *, what: str) -> np.ndarray:
        """Return what a map makes of stored rows (n, d), a chunk at a time.

        Args:
            row_map: the map.
            x: rows as stored.
            what: they become, for a progress bar.
        """
        ...

    def watched(self, what: str) -> Watch:
        """Return what shows how many parts of some work are done.

        Args:
            what: is done, for a progress bar.
        """
        ...


def compute_anew(description: dict[str, Any], compute: Callable[[Watch], np.ndarray]) -> np.ndarray:
    """Return a public array, computed: for who keeps none."""
    del description
    return compute(unwatched)


def unwatched(parts: Sequence[int]) -> Iterable[int]:
    """Return the numbers of parts as they are."""
    return parts
