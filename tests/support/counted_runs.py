"""Runs with steps of DP-SGD and a released file, counted in a ledger; their plan is a stub.

A bench runs them, stops them after any write, copies their folders, and keeps what was seen.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from jaxdp.methods import certified
from jaxdp.methods.steps import Steps
from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.privacy.ledger import joint_epsilon
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import runner as run_runner
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.runner import FolderRunner, first_metrics
from support.old_runs import PlannedRun

FILE, NUM_STEPS = "embedding.npz", 2
UNCOUNTED = ("metrics.json", "privacy.json", ".lock")
"""Files in which it makes no difference where a run was killed."""


class Drawn(NamedTuple):
    """The state of a loop whose every step draws fresh noise."""

    step: np.ndarray
    noise: np.ndarray


class FileCheckpoints:
    """Checkpoints that appear whole, as orbax's do, in a file each."""

    def __init__(self, folder: Path, *, repeatable: bool) -> None:
        self._folder, self.repeatable = folder, repeatable
        folder.mkdir(exist_ok=True)

    def save_packed(self, step: int, content: bytes) -> None:
        path, part = self._folder / str(step), self._folder / f"{step}.orbax-checkpoint-tmp"
        part.write_bytes(content)
        flushed(self._folder)
        part.rename(path)
        flushed(self._folder)

    def restore(self, template: Drawn) -> Drawn | None:
        steps = [int(path.name) for path in self._folder.iterdir() if path.name.isdigit()]
        if not steps:
            return None
        content = (self._folder / str(max(steps))).read_bytes()
        return Drawn(np.int32(max(steps)), np.frombuffer(content[-16:], np.uint8))

    def close(self) -> None:
        pass


class CountedRun(PlannedRun):
    """A run that is entered into the ledger of its dataset."""

    __module__ = "methods.toy.plan"  # where a plan is names its method


def counted_plan(*, noise: float = 4.0, seed: int = 0) -> Any:
    return CountedRun(noise, seed)


def flushed(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def drawing() -> Steps[Drawn]:
    def advance(now: Drawn, count: int) -> tuple[Drawn, None]:
        return Drawn(np.int32(now.step + count), np.frombuffer(os.urandom(16), np.uint8)), None

    start = Drawn(np.int32(0), np.zeros(16, np.uint8))
    return Steps(
        name="drawing",
        state=start,
        advance=advance,
        num_steps=NUM_STEPS,
        free=False,
        kept=True,
        every=1,
        shown=lambda now: int(now.step),
    )


class Bench:
    """One run, its copies, and everything that anybody has seen of them."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.place, self.run, self.ledger = place, place / "run", place / "x.ledger.jsonl"
        self.seen: dict[str, set[str]] = collections.defaultdict(set)
        self.at_each: Callable[[], None] = lambda: None
        self.has_ledger_locked = False

        def fsync(descriptor: int) -> None:
            # What a killed process has written is there, flushed or not, and flushing takes long.
            at = os.fstat(descriptor)
            own = [path.stat() for path in (self.ledger, self.place) if path.exists()]
            self.has_ledger_locked = any(os.path.samestat(at, each) for each in own)
            self.at_each()

        patch.setattr(os, "fsync", fsync)
        patch.setattr(run_runner, "Checkpoints", FileCheckpoints)
        patch.setattr(run_start, "versions", dict)  # takes long, too

    def go(self, path: Path, **flags: Any) -> None:
        """Start or resume a run: steps of DP-SGD, and then a release in a file."""
        plan, resume = counted_plan(), (path / "config.json").exists()
        given = {"resume": resume, "ledger": str(self.ledger)} | flags
        folder = RunFolder(path, resume=given["resume"], overwrite=given.get("overwrite", False))
        with run_start.started(plan, RunFlags(**given), folder, {}) as found:
            metrics = first_metrics(plan, folder, "cpu")
            runner = FolderRunner(plan, folder, found.log, metrics, lambda step: 0.0)
            with runner.clocked("train_seconds"):
                runner.loop(drawing())
            if not (path / FILE).exists():
                found.log.write(FILE, os.urandom(16))
            found.log.finish({FILE: hashlib.sha256((path / FILE).read_bytes()).hexdigest()})

    def look(self, path: Path) -> None:
        """Look at whatever may be seen in a folder."""
        for each in (path / FILE, *(path / "checkpoints").glob("[0-9]")):
            if each.exists():
                self.seen[each.name].add(hashlib.sha256(each.read_bytes()).hexdigest())

    def states(self) -> list[Path]:
        """Return what a whole run leaves after each of its writes: the folder, and the ledger."""
        found: list[Path] = []

        def keep() -> None:
            target = self.place / "states" / str(len(found))
            target.mkdir(parents=True)
            if self.run.exists():
                shutil.copytree(self.run, target / "run")
            if self.ledger.exists():
                shutil.copyfile(self.ledger, target / "ledger")
            found.append(target)

        self.at_each = keep
        self.go(self.run)
        self.at_each = lambda: None
        keep()
        return distinct(found)

    def put(self, run: Path | None, ledger: Path | None = None) -> Path:
        """Put a folder of a state in a new place, and the ledger of one in its own."""
        if ledger is not None:
            self.ledger.unlink(missing_ok=True)
            if (ledger / "ledger").exists():
                shutil.copyfile(ledger / "ledger", self.ledger)
        path = self.place / f"put-{len(list(self.place.glob('put-*')))}"
        path.mkdir()
        if run is not None and (run / "run").exists():
            shutil.copytree(run / "run", path, dirs_exist_ok=True)
            (path / ".lock").unlink(missing_ok=True)
        return path

    def resumed(self, path: Path, **flags: Any) -> str:
        """Resume a folder, and look at it; return why it was refused, nothing where it was not."""
        self.look(path)
        self.at_each = lambda: self.look(path)
        why = ""
        try:
            self.go(path, **flags)
        except InputError as refused:
            why = str(refused)
        finally:
            self.at_each = lambda: None
            self.look(path)
        assert "\n" not in why
        return why

    def as_version_1(self) -> None:
        """Write the ledger as version 1 had it: entries alone, with digests of what is before."""
        first, *rest = map(json.loads, self.ledger.read_text().splitlines())
        content = json.dumps(first | {"version": 1}) + "\n"
        for line in rest:
            if "entry" in line:
                del line["digest"]
                line["before"] = hashlib.sha256(content.encode()).hexdigest()
                content += json.dumps(line) + "\n"
        self.ledger.write_text(content)

    def require_budget_holds(self) -> None:
        """Check that what is counted so far leaves no room for another run."""
        spent = [entry.ledger for entry in DatasetLedger(self.ledger).read().entries]
        budget = 1.01 * joint_epsilon(spent, delta=certified.counted(counted_plan()).delta)
        with pytest.raises(InputError, match="--budget"):
            self.go(self.place / "another", budget=budget)
        assert not (self.place / "another").exists()

    def require_counted(self) -> None:
        """Check that no more was seen than is counted."""
        counted = len(DatasetLedger(self.ledger).read().entries)
        for name, found in self.seen.items():
            assert len(found) <= counted, f"{name}: {len(found)} releases, {counted} counted"


def distinct(states: list[Path], *, names: tuple[str, ...] = ("*",)) -> list[Path]:
    """Return those that differ in the ledger, notes, releases or what is being written."""
    kept: dict[str, Path] = {}
    for state in states:
        content = hashlib.sha256()
        for path in sorted(path for name in names for path in state.rglob(name)):
            if path.is_file() and path.name.removesuffix(".part") not in UNCOUNTED:
                content.update(f"{path.relative_to(state)}".encode() + path.read_bytes())
        kept.setdefault(content.hexdigest(), state)
    return list(kept.values())
