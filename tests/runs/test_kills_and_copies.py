"""A run that is killed after any write, beside a copy of its folder from after any earlier one.

Whoever goes on first, one entry in the ledger stands for one release: what was seen of a step, or
of a file, is the same wherever it was seen.
"""

from __future__ import annotations

import collections
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from counted_runs import counted_plan

from experiments.errors import InputError
from experiments.run_flags import RunFlags
from experiments.runs import runner as run_runner
from experiments.runs import start as run_start
from experiments.runs.checkpoints import packed
from experiments.runs.folder import RunFolder
from experiments.runs.runner import FolderRunner, first_metrics
from jaxdp.methods.steps import Steps
from jaxdp.privacy.dataset_ledger import DatasetLedger

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

    def go(self, path: Path) -> None:
        """Start or resume a run: steps of DP-SGD, and then a release in a file."""
        plan, resume = counted_plan(), (path / "config.json").exists()
        folder = RunFolder(path, resume=resume, overwrite=False)
        flags = RunFlags(resume=resume, ledger=str(self.ledger))
        with run_start.started(plan, flags, folder, {}) as found:
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

    def resumed(self, path: Path) -> bool:
        """Resume a folder, and look at it; return whether it went on to its end."""
        self.look(path)
        self.at_each = lambda: self.look(path)
        try:
            self.go(path)
        except InputError as refused:
            assert "\n" not in str(refused)
            return False
        finally:
            self.at_each = lambda: None
            self.look(path)
        return True

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


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield Bench(tmp_path, monkeypatch)


def test_guarantee_a_run_that_is_killed_after_any_write_goes_on_and_releases_once(
    bench: Bench,
) -> None:
    states = bench.states()
    assert len(states) > 15
    for state in states:
        bench.seen.clear()
        path = bench.put(state, state)
        assert bench.resumed(path), state
        assert len(DatasetLedger(bench.ledger).read().entries) == 1
        assert {name: len(found) for name, found in bench.seen.items()} == {
            FILE: 1,
            "1": 1,
            "2": 1,
        }
        before = bench.ledger.read_bytes()
        assert bench.resumed(path)
        assert bench.ledger.read_bytes() == before


@pytest.mark.parametrize("copy_first", [True, False])
def test_guarantee_of_a_run_and_any_copy_of_it_one_goes_on(bench: Bench, copy_first: bool) -> None:
    states, went_on = bench.states(), 0
    for number, state in enumerate(states):
        for older in distinct(states[:number], names=("config.json", "released.json*")):
            bench.seen.clear()
            both = (bench.put(older, state), bench.put(state))
            done = [bench.resumed(path) for path in (both if copy_first else both[::-1])]
            bench.require_counted()
            went_on += sum(done)
            entered = len(DatasetLedger(bench.ledger).read().entries)
            assert entered in (1, 2)  # 2 where the copy is from before the run was entered
    assert went_on > len(states)


def test_guarantee_a_copy_of_config_json_alone_is_no_run_that_can_go_on(bench: Bench) -> None:
    for state in bench.states():
        bench.seen.clear()
        path, bare = bench.put(state, state), bench.put(None)
        if not (path / "config.json").exists():
            continue
        shutil.copyfile(path / "config.json", bare / "config.json")
        bench.resumed(bare)
        bench.resumed(path)
        bench.require_counted()


def test_guarantee_a_copy_that_goes_on_at_the_same_time_shows_nothing_that_is_not_counted(
    bench: Bench,
) -> None:
    """The copy is made and ends while the run itself is in the middle of a step."""
    states = bench.states()
    for moment in range(len(states)):
        bench.seen.clear()
        path = bench.put(states[1], states[1])
        writes = [0]

        def beside(moment: int = moment, path: Path = path, writes: list[int] = writes) -> None:
            bench.look(path)
            writes[0] += 1
            if writes[0] >= moment and not bench.has_ledger_locked:
                copy = bench.place / f"copy-{moment}"
                shutil.copytree(path, copy)
                (copy / ".lock").unlink()
                bench.resumed(copy)
                bench.at_each = lambda: bench.look(path)

        bench.at_each = beside
        try:
            bench.go(path)
        except InputError as refused:
            assert "nothing more is released here" in str(refused)
        bench.at_each = lambda: None
        bench.look(path)
        bench.require_counted()


def test_guarantee_a_run_that_was_overtaken_leaves_nothing_that_was_not_counted(
    bench: Bench,
) -> None:
    states = bench.states()
    middle = next(state for state in states if (state / "run/checkpoints/1").exists())
    first, second = bench.put(middle, middle), bench.put(middle)
    flags = RunFlags(resume=True, ledger=str(bench.ledger))
    folder = RunFolder(second, resume=True, overwrite=False)
    with (
        pytest.raises(InputError, match="nothing more is released here"),
        run_start.started(counted_plan(), flags, folder, {}) as found,
    ):
        assert bench.resumed(first)
        with found.log.saving(2, packed(2, drawing().state)):
            raise AssertionError
    assert not list(second.glob("*.part"))
    assert not (second / "checkpoints/2").exists()
    assert not bench.resumed(second)


def test_guarantee_a_finished_run_releases_nothing_more(bench: Bench) -> None:
    bench.go(bench.run)
    flags = RunFlags(resume=True, ledger=str(bench.ledger))
    folder = RunFolder(bench.run, resume=True, overwrite=False)
    with (
        pytest.raises(InputError, match="the run has finished"),
        run_start.started(counted_plan(), flags, folder, {}) as found,
    ):
        found.log.write("another.npz", b"fresh noise")
    assert not (bench.run / "another.npz").exists()


def test_guarantee_another_state_in_the_place_of_the_released_one_is_refused(
    bench: Bench,
) -> None:
    states = bench.states()
    path = bench.put(states[-1], states[-1])
    for name in ("2", "1"):
        (path / "checkpoints" / name).write_bytes(os.urandom(64))
        assert not bench.resumed(path)
        (path / "checkpoints" / name).unlink()
