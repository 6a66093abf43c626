"""What a command would run, and what that takes: without data, from its words and facts alone."""

import importlib
from typing import Any

from jaxdp.data import Spec
from jaxdp.program.runs import estimates

# Flags of texts that an estimate depends on; of numbers, `ipc` alone does.
_TEXTS = ("labels", "match", "features", "preset", "generator")


def estimate(spec: Spec, epsilon: float, words: str) -> estimates.Estimate:
    """Return what a command takes, from its words."""
    method, given = parsed(words)
    package = importlib.import_module(f"jaxdp.methods.{method}")
    kept: dict[str, Any] = {name: value for name, value in given.items() if name in _TEXTS}
    if "ipc" in given:
        kept["ipc"] = int(given["ipc"])
    complete = package.complete(package.Settings(eps=float(epsilon), **kept), spec)
    return estimates.of_run(method, complete, spec, judges=given.get("evaluate"))


def parsed(words: str) -> tuple[str, dict[str, str]]:
    """Return the method that a command `jaxdp run METHOD ...` runs, and its flags."""
    _, _, method, *flags = words.split()
    given = dict(flag.removeprefix("--").split("=", 1) for flag in flags if "=" in flag)
    return method, given


def is_of(words: str, method: str, settings: Any) -> bool:
    """Whether a run of a method is of the kind that a command makes: the same method and labels."""
    theirs, given = parsed(words)
    labels = given.get("labels", getattr(settings, "labels", None))
    return theirs == method and labels == getattr(settings, "labels", None)
