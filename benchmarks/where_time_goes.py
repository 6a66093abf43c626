"""Where the time of the three methods goes, by phase and by operation of XLA.

    python benchmarks/where_time_goes.py [--quick] [--cases=...] [--out=FILE]

Each case is a run of a method on random images in a process of its own, under jax's profiler.
A phase begins with its progress bar and ends with the next one, so `seconds` of `teacher: start`
are those of imports and compilation before the first. `teacher / step: dot` are seconds of
all operations of one kind in one compiled program, added up over threads; `share` is their part of
all operations of the run. Fusions bear the name of what they end with; `ynn_fusion` and `dot` are
products of matrices, with what is done to them.
Programs are compiled anew, and steps are few, so that phases of steps are short.
"""

import collections
import itertools
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import _random_images
import jax
from _harness import record, report_runs, seconds_alone

_GREY, _COLOUR = (28, 28, 1), (32, 32, 3)
# A method, its settings, and the images: shape, and how many.
_CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], int]] = {
    "teacher": ("teacher", {"ipc": 10, "steps": 20, "distill_steps": 20}, _COLOUR, 5000),
    "dp_kip": ("dp_kip", {"ipc": 10, "steps": 20, "batch_size": 500}, _COLOUR, 5000),
    "dp_ntk": ("dp_ntk", {"steps": 100, "num_synthetic": 2000}, _GREY, 5000),
    "labelled": (
        "dp_ntk",
        {"labels": "teacher", "steps": 100, "num_synthetic": 2000},
        _GREY,
        5000,
    ),
}
_SMALL = {"steps": 2, "batch_size": 20}
_QUICK_CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], int]] = {
    "teacher": ("teacher", {**_SMALL, "ipc": 1, "distill_steps": 2}, (8, 8, 1), 60),
    "dp_ntk": ("dp_ntk", {**_SMALL, "num_synthetic": 20, "features": "rff"}, (8, 8, 1), 60),
}
# Operations that others run in: their time is that of those.
_AROUND = re.compile(r"(while|call|conditional|async-start|async-done)\b")
# Of the operations of a run those are told that take as much of all.
_LEAST_SHARE = 0.01


def profile(case: str, *, quick: bool) -> list[dict[str, Any]]:
    """Run a method, and return the records of its phases and operations."""
    from jaxdp.methods.runner import PlainRunner

    original = PlainRunner.bar
    phases = [("start", time.perf_counter())]

    def bar(runner: PlainRunner, what: str, total: int, **options: Any) -> Any:
        phases.append((what, time.perf_counter()))
        return original(runner, what, total, **options)

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(PlainRunner, "bar", bar):
        with jax.profiler.trace(folder):
            _random_images.run(*(_QUICK_CASES if quick else _CASES)[case])
        phases.append(("end", time.perf_counter()))
        found = _operations(Path(folder))
    return [*_of_phases(case, phases), *_of_operations(case, found)]


def _of_phases(case: str, phases: list[tuple[str, float]]) -> Iterator[dict[str, Any]]:
    seconds: collections.Counter[str] = collections.Counter()
    for (what, begun), (_, ended) in itertools.pairwise(phases):
        seconds[what] += ended - begun  # one after the other, of one name
    for what, each in seconds.items():
        share = each / sum(seconds.values())
        yield record(f"{case}: {what}", seconds_alone(each), None, share=share, calls=None)


def _of_operations(
    case: str, found: dict[tuple[str, str], tuple[float, int]]
) -> Iterator[dict[str, Any]]:
    total = sum(seconds for seconds, _ in found.values())
    for (program, operation), (seconds, calls) in sorted(
        found.items(), key=lambda each: -each[1][0]
    ):
        if seconds >= _LEAST_SHARE * total:
            name = f"{case} / {program}: {operation}"
            share = seconds / total
            yield record(name, seconds_alone(seconds), None, share=share, calls=calls)


def _operations(folder: Path) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the seconds and the number of calls of each kind of operation in each program."""
    found: dict[tuple[str, str], tuple[float, int]] = {}
    for path in folder.rglob("*.xplane.pb"):
        for plane in jax.profiler.ProfileData.from_file(str(path)).planes:
            for event in (event for line in plane.lines for event in line.events):
                about = dict(event.stats)
                if "hlo_op" not in about or _AROUND.match(str(about["hlo_op"])):
                    continue
                if event.name.startswith("end: "):
                    continue
                program = str(about["hlo_module"]).removeprefix("jit_").strip("_")
                key = program, _kind(str(about["hlo_op"]))
                seconds, calls = found.get(key, (0.0, 0))
                found[key] = seconds + event.duration_ns / 1e9, calls + 1
    return found


def _kind(operation: str) -> str:
    """Return an operation's name without its number."""
    return re.sub(r"(\.\d+)+(\.clone)?$", "", operation.removeprefix("wrapped_"))


def main() -> None:
    """Run the benchmark."""
    columns = ("seconds", "share", "calls")
    report_runs(__doc__.splitlines()[0], profile, _CASES, _QUICK_CASES, columns=columns)


if __name__ == "__main__":
    main()
