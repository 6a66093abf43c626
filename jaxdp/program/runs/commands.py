"""What a command would run, and what that takes: without data, from its words and facts alone."""

import dataclasses
import importlib
from typing import Any

from jaxdp.program.runs import estimates
from jaxdp.program.runs.estimates import Facts

_TEXTS = ("match", "features", "preset", "generator")


@dataclasses.dataclass(frozen=True)
class _Spec:
    """What settings ask of a `jaxdp.Spec` to complete themselves."""

    facts: Facts
    name: str = "no name that has defaults of its own"
    schema: None = None

    @property
    def is_image(self) -> bool:
        return self.facts.is_image

    @property
    def kind(self) -> str:
        return "image" if self.is_image else "table"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.facts.shape

    @property
    def dim(self) -> int:
        return self.facts.dim

    @property
    def num_examples(self) -> int:
        return self.facts.num_examples

    @property
    def num_classes(self) -> int:
        return self.facts.num_classes


def estimate(facts: Facts, epsilon: float, words: str) -> estimates.Estimate:
    """Return what a command takes, from its words."""
    method, given = parsed(words)
    settings = importlib.import_module(f"jaxdp.methods.{method}.settings")
    kept: dict[str, Any] = {name: value for name, value in given.items() if name in _TEXTS}
    if "ipc" in given:
        kept["ipc"] = int(given["ipc"])
    if not facts.is_image and "num_synthetic" in settings.Settings.__dataclass_fields__:
        kept |= {"features": "marginals", "num_synthetic": facts.num_examples}
    asked = settings.Settings(eps=float(epsilon), **kept)
    complete = settings.complete(asked, _Spec(facts))
    return estimates.of_run(method, complete, facts, judges=given.get("evaluate"))


def parsed(words: str) -> tuple[str, dict[str, str]]:
    """Return the method that a command `jaxdp run METHOD ...` runs, and its flags."""
    _, _, method, *flags = words.split()
    given = dict(flag.removeprefix("--").split("=", 1) for flag in flags if "=" in flag)
    return "labelled" if given.get("labels") == "teacher" else method, given
