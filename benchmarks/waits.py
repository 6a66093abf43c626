"""What whole commands make a user wait for, where nothing is kept from earlier, and again.

    python benchmarks/waits.py [--quick] [--cases=...] [--before=CHECKOUT] [--data_dir=FOLDER]
        [--out=FILE]

Each case is a command in a process of its own, run twice with a cache folder that is empty at
first: wall time, time of all processor cores, and peak memory. `--before` measures the code of
another checkout in turn with this one's, on the same inputs. Where this code does more by default,
a case of the same work has flags that the other code does not know: they are this one's alone.
Inputs are drawn here, but for those cases that need a dataset of `--data_dir`.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _harness import (
    Measurement,
    argument_parser,
    environment_of,
    record,
    report,
    seconds_alone,
)

_KINDS = ("again_seconds", "cpu_seconds", "again_cpu_seconds")
_COLUMNS = (
    *("baseline_seconds", "seconds", "ratio", "baseline_again_seconds", "again_seconds"),
    *("baseline_cpu_seconds", "cpu_seconds", "baseline_peak_mb", "peak_mb"),
)
_IMAGES, _SIDE, _CLASSES = 2000, 224, "abc"
_RECORDS = 20_000


class Case(NamedTuple):
    """The words of a command, those of this code alone, and which dataset it needs."""

    words: tuple[str, ...]
    here: tuple[str, ...] = ()
    dataset: str | None = None


_TEACHER = ("run", "teacher", "--evaluate=none")
_AS_BEFORE = ("--encoder=false", "--ipc=1")
_CASES = {
    "table": Case(("table", "{table}", "--eps=1", "--accept_guesses")),
    "start of teacher": Case((*_TEACHER, "--ipc=1", "--eps=1", "--distill_steps=1")),
    "start of DP-KIP": Case(("run", "dp_kip", "--dataset=digits", "--steps=1", "--evaluate=none")),
    "grey images": Case(("images", "{grey}", "--eps=2")),
    "grey images (same work)": Case(("images", "{grey}", "--eps=2"), _AS_BEFORE),
    "colour images": Case(("images", "{colour}", "--eps=2")),
    "colour images (same work)": Case(("images", "{colour}", "--eps=2"), _AS_BEFORE),
    "teacher of CIFAR-10 (same work)": Case(
        (*_TEACHER, "--dataset=cifar10", "--ipc=10", "--eps=10"),
        ("--encoder=false", "--second_layer=0"),
        dataset="cifar10",
    ),
}
_QUICK = {"start of DP-KIP": _CASES["start of DP-KIP"], "table": _CASES["table"]}


def draw_table(path: Path, records: int) -> None:
    """Write random records: ten columns of fractions, five of counts, five of five categories."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"f{i}": rng.normal(size=records).round(3) for i in range(10)}
    columns |= {f"n{i}": rng.poisson(3.0 + i, records) for i in range(5)}
    columns |= {f"c{i}": rng.choice(list("vwxyz"), records) for i in range(5)}
    rows = zip(*(map(str, column) for column in columns.values()), strict=True)
    path.write_text("\n".join(map(",".join, [tuple(columns), *rows])) + "\n")


def draw_images(folder: Path, channels: int, count: int) -> None:
    """Write stripes of three directions, each with a blob and noise, into a folder per class."""
    from PIL import Image

    rng = np.random.default_rng(0)
    across, down = np.meshgrid(np.arange(_SIDE), np.arange(_SIDE))
    along = {"a": across, "b": down, "c": (across + down) / 1.4}
    for number in range(count):
        label = _CLASSES[number % len(_CLASSES)]
        period, phase = 16 * rng.uniform(0.8, 1.2), rng.uniform(0, 2 * np.pi)
        plane = 0.5 + 0.15 * np.sin(2 * np.pi * along[label] / period + phase)
        x, y = rng.uniform(40, _SIDE - 40, 2)
        blob = np.exp(-((across - x) ** 2 + (down - y) ** 2) / 800)
        plane += rng.choice([-0.3, 0.3]) * blob
        image = plane[..., None] * rng.uniform(0.6, 1, channels)
        image += rng.normal(0, 0.1, image.shape)
        pixels = (255 * image.clip(0, 1)).astype(np.uint8)
        (folder / label).mkdir(parents=True, exist_ok=True)
        squeezed = pixels[..., 0] if channels == 1 else pixels
        Image.fromarray(squeezed).save(folder / label / f"{number}.png")


def _inputs(folder: Path, *, quick: bool) -> dict[str, str]:
    """Draw what the cases are about, and return where each lies."""
    draw_table(folder / "t.csv", 300 if quick else _RECORDS)
    for name, channels in () if quick else (("grey", 1), ("colour", 3)):
        draw_images(folder / name, channels, _IMAGES)
    return {"table": "t.csv", "grey": "grey", "colour": "colour"}


def _timed(words: list[str], checkout: Path, folder: Path, cache: Path) -> tuple[float, ...]:
    """Return the seconds of a command, of all cores, and its peak memory in MB."""
    environment = environment_of(checkout, cache)
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-P", "-m", "jaxdp", *words, "--overwrite", "--ledger=none"]
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        if process.returncode:
            said.seek(0)
            raise RuntimeError(said.read().decode(errors="replace")[-2000:])
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6


def _measured(
    words: list[str], checkouts: list[Path], folder: Path, extra: list[str]
) -> list[tuple[Measurement, dict[str, float]]]:
    """Run a command by each checkout in turn, then again; the last checkout has words more."""
    rounds = []
    with tempfile.TemporaryDirectory() as caches:
        for _ in range(2):
            found = []
            for number, checkout in enumerate(checkouts):
                cache, out = Path(caches) / str(number), folder / f"out_{number}"
                all_words = words + (extra if number == len(checkouts) - 1 else [])
                all_words = [*all_words, f"--out_dir={out}"]
                found.append(_timed(all_words, checkout, folder, cache))
            rounds.append(found)
    results = []
    for (seconds, cpu, peak), (again, again_cpu, _) in zip(*rounds, strict=True):
        measured = dataclasses.replace(seconds_alone(seconds), peak_mb=peak)
        results.append((measured, dict(zip(_KINDS, (again, cpu, again_cpu), strict=True))))
    return results


def _records(flags: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    places = _inputs(folder, quick=flags.quick)
    here = Path(__file__).resolve().parents[1]
    known = _QUICK if flags.quick else _CASES
    for name in flags.cases.split(",") if flags.cases else known:
        case = _CASES[name]
        if case.dataset and not flags.data_dir:
            continue
        words = [word.format(**places) for word in case.words]
        if case.dataset:
            words.append(f"--data_dir={flags.data_dir.resolve()}")
        checkouts = [flags.before.resolve(), here] if flags.before else [here]
        *others, (ours, more) = _measured(words, checkouts, folder, list(case.here))
        before, theirs = others[0] if others else (None, dict.fromkeys(_KINDS))
        more |= {f"baseline_{key}": value for key, value in theirs.items()}
        command = " ".join(["jaxdp", *(word.format(**places) for word in case.words), *case.here])
        yield record(name, ours, before, command=command, **more)


def main() -> None:
    """Measure every case in turn."""
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--cases", help="by commas")
    parser.add_argument("--before", type=Path, help="checkout of a commit to compare with")
    parser.add_argument("--data_dir", type=Path, help="folder of cifar10.npz")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report(_records(flags, Path(folder)), columns=_COLUMNS, out=flags.out)


if __name__ == "__main__":
    main()
