"""What is stored: runs and tables in benchmarks/results, and what papers print."""

from __future__ import annotations

import functools
import json
import math
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_JUDGED = re.compile(r"^(\w+): accuracy ([\d.]+)", re.MULTILINE)
# Flags that a run keeps under another name, or as another value.
_GENERATORS = {"conv": "ConvCondGen"}


class Runs:
    """The stored runs of one row, which differ by their seeds.

    Attributes:
        name: their folder in benchmarks/results, as a pattern.
        configs: config.json of each; empty where a run has none.
        metrics: metrics.json of each, with what judged.txt says under `judged`.
        flags: what the command has beside data, images per class and epsilon.
    """

    def __init__(self, name: str, flags: str = "") -> None:
        folders = sorted(RESULTS.glob(name))
        if not folders:
            raise LookupError(f"no stored run is called {name}")
        self.name = name
        self.configs = [_json(folder / "config.json") for folder in folders]
        self.metrics = [
            _json(folder / "metrics.json") | {"judged": _judged(folder)} for folder in folders
        ]
        self.flags = _checked(flags, self.configs[0])

    def values(self, path: str) -> list[float]:
        """Return a figure of every run that has it; names of a path have dots between them."""
        found = [figure for run in self.metrics if (figure := _at(run, path)) is not None]
        if not found:
            raise LookupError(f"{self.name}: {path} is in no metrics.json and no judged.txt")
        return found

    def mean(self, path: str) -> float:
        """Return the mean of a figure over the runs."""
        return statistics.fmean(self.values(path))

    def deviation(self, path: str) -> float:
        """Return the standard deviation over the runs, as of a sample."""
        return statistics.stdev(self.values(path))

    def set(self, key: str) -> Any:
        """Return what the runs were set to."""
        return self.configs[0][key]

    @property
    def epsilon(self) -> str:
        """Epsilon as it is typed; a teacher that is used again has what was accounted for it."""
        return "inf" if self.set("eps") in (None, math.inf) else f"{self.set('eps'):.3g}"

    @property
    def command(self) -> str:
        """What was typed after the name of the method."""
        names = ["dataset", *(["ipc"] if "ipc" in self.configs[0] else [])]
        words = [f"--{name}={self.set(name)}" for name in names]
        return " ".join([*words, f"--eps={self.epsilon}", *self.flags.split()])


def cases(file: str) -> dict[str, dict[str, Any]]:
    """Return the JSON lines of a table by their cases; of equal ones the first."""
    found: dict[str, dict[str, Any]] = {}
    for line in (RESULTS / file).read_text().splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            found.setdefault(record["case"], record)
    return found


def lines(file: str, under: str | None = None) -> Iterator[list[str]]:
    """Yield the rows of a table of text, split where there are two spaces.

    Args:
        file: in benchmarks/results.
        under: the first word of its heading, where comments of the file hold it; it ends by an
            empty comment. Without it the rows are all lines that are neither comments nor JSON.
    """
    inside = False
    for line in (RESULTS / file).read_text().splitlines():
        said = line.removeprefix("#").strip()
        if under is None and line and line[0] not in "#{":
            yield re.split(r"\s{2,}", line)
        elif under is not None and line.startswith("#"):
            if inside and said:
                yield re.split(r"\s{2,}", said)
            inside = bool(said) and (inside or re.split(r"\s{2,}", said)[0] == under)


@functools.cache
def papers() -> dict[str, dict[str, Any]]:
    """Return what papers print, table by table."""
    return tomllib.loads((HERE / "cited.toml").read_text())


def cited(table: str, *key: object) -> Any:
    """Return a figure of a paper, or several of them."""
    return papers()[table][" ".join(map(str, key))]


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _judged(folder: Path) -> dict[str, float]:
    path = folder / "judged.txt"
    found = _JUDGED.findall(path.read_text()) if path.exists() else []
    return {name: float(figure) for name, figure in found}


def _at(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = (record or {}).get(name)
    return record


def _checked(flags: str, config: dict[str, Any]) -> str:
    """Return the flags, which a run must have had; older runs do not know the newest ones."""
    for word in flags.split():
        name, _, value = word.removeprefix("--").partition("=")
        if name in config and str(config[name]) != _GENERATORS.get(value, value or "True"):
            try:
                same = float(value) == config[name]
            except ValueError:
                same = False
            if not same:
                raise ValueError(f"{word}: the run has {name} {config[name]}")
    return flags
