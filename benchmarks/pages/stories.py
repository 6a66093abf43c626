"""The block of what new users wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.pages.stored import cases
from benchmarks.pages.text import fixed, significant, table

_FILE = "two_stories_cpu.txt"
_STORIES = {"images": "400 photographs", "table": "6000 records"}


def told() -> str:
    """Two stories, from a wheel to a colleague's prediction: seconds and sizes of each step."""
    found = cases(_FILE)
    steps = list(dict.fromkeys(name.split(": ", 1)[1] for name in found))

    def seconds(story: str) -> Callable[[str], str]:
        return lambda step: fixed(found[f"{story}: {step}"]["seconds"])

    def size(story: str) -> Callable[[str], str]:
        def of(step: str) -> str:
            size_kb: Any = found[f"{story}: {step}"]["size_kb"]
            return "" if size_kb is None else significant(size_kb)

        return of

    columns: dict[str, Callable[[str], str]] = {"step": str}
    for story, what in _STORIES.items():
        columns |= {f"{what}: seconds": seconds(story), f"{what}: kB left": size(story)}
    return table(steps, columns)
