"""Runs that are disturbed, and what has to hold whenever one has ended.

* Each file that has its name is whole, and the certificate is the one of an undisturbed run.
* What was released, and every checkpoint that was finished, never changes: a second one would be a
  further release.
* A run is in the ledger of its dataset once, before there is a certificate, and the ledger can
  always be read.
* A killed run can be resumed. A finished one that is resumed changes nothing.
* In the end the folder is that of an undisturbed run; with a noise seed (every second run) its
  public files are the same, too.
* A run that cannot write ends with exit code 2 and in one line. One whose caches cannot be written
  goes on. A process whose neighbour was killed ends with exit code 1 and in one line; where that
  was the first one, jax may abort it.
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import support.checkout  # noqa: F401  before what imports experiments
from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.program.commands import spent
from jaxdp.program.runs import dataset_ledgers
from jaxdp.saved import npz as npz_files
from jaxdp.saved.files import json_object
from support.kill_cases import Case

RUN, LEDGER, CACHE = "disk of the run", "disk of the ledger", "disk of the cache"
_ROOT = Path(__file__).parents[2]
# The machine may be busy.
_LIMIT_SECONDS = 900.0
_MOST_KILLS_OF_A_RUN = 8
_PAGE = 4096
# Checkpoints are usually a minute apart.
_PROGRAM = """
from absl import app
from jaxdp.program import command_line
from jaxdp.program.commands import {driver}
from jaxdp.program.runs import runner
runner._CHECKPOINT_SECONDS = 0.05
app.run({driver}.main, flags_parser=command_line.parse)
"""
_PROGRAMS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
Processes = Sequence[subprocess.Popen[bytes]]


class Target(NamedTuple):
    """A run: its folder, its flags, and the ledger that it is counted in."""

    out: Path
    seeded: bool
    flags: tuple[str, ...]
    ledger: Path | None


class Bench:
    """An undisturbed run of a case, and runs that are disturbed."""

    def __init__(
        self, case: Case, folder: Path, filled: str | None, disk: Path | None, seed: int
    ) -> None:
        """Run without disturbance first, to compare with, and to know how long it takes.

        Args:
            case: what is run.
            folder: an empty one.
            filled: whose disk is filled; None where runs are killed.
            disk: that is filled.
            seed: of the moments.
        """
        self.case, self.folder, self.filled, self.disk = case, folder, filled, disk
        self.random = random.Random(seed)
        self.found: collections.Counter[str] = collections.Counter()
        self.seen: dict[str, str] = {}
        self._read: dict[bytes, str] = {}
        self._earlier: Path | None = None
        if case.data is not None:
            earlier = self._target("earlier", seeded=False)
            self._finish(earlier)
            assert earlier.ledger is not None
            self._earlier = earlier.ledger
            if filled == LEDGER:
                _lengthen(earlier.ledger)
        self.whole = {seeded: self._target(f"whole-{seeded}", seeded) for seeded in (True, False)}
        for target in self.whole.values():
            self._finish(target)
        self._time()

    def _time(self) -> None:
        """Note how long a run takes to its lock and to its end, and how often it writes."""
        target, started = self._target("timed", seeded=False), time.monotonic()
        with self._running(target) as processes:
            self._await_lock(target, processes)
            self.start_seconds = time.monotonic() - started
            self.writes = self._await_writes(target, processes, None)
            for process in processes:
                process.wait(_LIMIT_SECONDS)
        self.work_seconds = time.monotonic() - started - self.start_seconds

    # --- Running ---------------------------------------------------------------------------

    def _target(self, name: str, seeded: bool) -> Target:
        """Return a run whose data, and the ledger of an earlier run beside them, are there."""
        out = self._place(RUN) / name
        if self.case.data is None:
            return Target(out, seeded, (), None)
        data = self._place(LEDGER) / f"{name}.data"
        data.mkdir()
        flags = tuple(self.case.data(data))
        if self._earlier is not None:
            shutil.copy(self._earlier, data)
        named = next((f for f in flags if f.startswith("--csv=")), None)
        name = "scans" if named is None else Path(named).stem
        return Target(
            out, seeded, flags, None if seeded else data / f"{name}{dataset_ledgers.ENDING}"
        )

    def _place(self, what: str) -> Path:
        """Return where something is: on the disk that is filled, or not."""
        return self.disk if what == self.filled and self.disk is not None else self.folder

    def _environment(self) -> dict[str, str]:
        cache = self._place(CACHE) / "cache"
        found = os.environ | {"XDG_CACHE_HOME": str(cache), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
        if self.filled == CACHE:
            found.pop("JAX_COMPILATION_CACHE_DIR", None)  # the program says where
            return found
        shared = self.folder.parent / "programs"
        return found | _PROGRAMS | {"JAX_COMPILATION_CACHE_DIR": str(shared)}

    @contextlib.contextmanager
    def _running(self, target: Target) -> Iterator[Processes]:
        code = _PROGRAM.format(driver=self.case.driver)
        more = [*target.flags, "--resume", f"--out_dir={target.out}"]
        more += ["--noise_seed=1"] if target.seeded else []
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for number, flags in enumerate(self.case.commands(*more)):
                with self._said_file(number).open("ab") as said:
                    process = subprocess.Popen(
                        [sys.executable, "-c", code, *flags],
                        cwd=_ROOT,
                        env=self._environment(),
                        stdout=said,
                        stderr=said,
                    )
                processes.append(process)
            yield processes
        finally:
            for process in processes:
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
                process.wait()

    def _finish(self, target: Target) -> None:
        with self._running(target) as processes:
            self._require_ended_well(processes, _LIMIT_SECONDS)

    def _require_ended_well(self, processes: Processes, seconds: float) -> None:
        """Wait for all processes, whose exit code has to be 0."""
        until = time.monotonic() + seconds
        for number, process in enumerate(processes):
            code = process.wait(max(0.0, until - time.monotonic()))
            assert code == 0, (code, self._said(number)[-2000:])

    def _said_file(self, number: int) -> Path:
        return self.folder / f"said-{number}"

    def _said(self, number: int) -> str:
        return self._said_file(number).read_text(errors="replace")

    # --- Moments ---------------------------------------------------------------------------

    def _await_lock(self, target: Target, processes: Processes) -> None:
        """Wait until the first process has its folder: a killed run has left its lock there."""
        process, lock = processes[0], str(target.out / ".lock")
        while process.poll() is None:
            with contextlib.suppress(OSError):
                files = Path(f"/proc/{process.pid}/fd").iterdir()
                if any(os.readlink(file) == lock for file in files):
                    return
            time.sleep(0.005)

    def _await_writes(self, target: Target, processes: Processes, number: int | None) -> int:
        """Wait until files have changed so often, or a process has ended; return how often."""
        before, changes = _listing(target), 0
        while all(process.poll() is None for process in processes):
            now = _listing(target)
            changes += now != before
            before = now
            if number is not None and changes >= number:
                break
            time.sleep(0.002)
        return changes

    def _await_moment(self, target: Target, processes: Processes) -> None:
        """Wait for a random moment, or until a process has ended."""
        kind = self.random.random()
        # The ledger is written soon. One that has not joined the others lets them wait for minutes.
        early = 0.6 if self.filled == LEDGER else 0.1
        if kind < early and len(processes) == 1:
            wait = self.random.uniform(0, self.start_seconds)
        else:
            self._await_lock(target, processes)
            if kind < early + 0.5 * (1 - early):
                # Resumed runs write less, so early ones are likelier.
                number = 1 + int(self.random.random() ** 1.5 * self.writes)
                self._await_writes(target, processes, number)
                return
            wait = self.random.uniform(0, self.work_seconds)
        until = time.monotonic() + wait
        while time.monotonic() < until and all(process.poll() is None for process in processes):
            time.sleep(0.005)

    # --- Disturbing ------------------------------------------------------------------------

    def run(self, number: int) -> None:
        """Start a run, disturb and resume it until it ends, and check the folder every time."""
        # Runs with a noise seed are in no ledger.
        target = self._target(f"run-{number}", number % 2 == 0 and self.filled != LEDGER)
        self.seen = {}
        if self.filled == CACHE and self.random.random() < 0.5:
            shutil.rmtree(self._place(CACHE) / "cache", ignore_errors=True)
        for _ in range(_MOST_KILLS_OF_A_RUN):
            with self._running(target) as processes:
                self._await_moment(target, processes)
                if any(process.poll() is not None for process in processes):
                    self._require_ended_well(processes, _LIMIT_SECONDS)
                    break
                if self.filled is None:
                    self._kill_one(processes)
                elif self._fill(processes[0]) == 0:
                    self.found["kills"] += self.filled == CACHE
                    break
            self.found["kills"] += 1
            self._look(target)
        else:
            self._finish(target)
        self._look(target)
        self._compare(target)
        if number < 2 or self.random.random() < 0.2:
            self._resume_finished(target)
        self.found["runs"] += 1
        shutil.rmtree(target.out)

    def _kill_one(self, processes: Processes) -> None:
        """Kill one of the processes; others have to end by themselves."""
        killed = self.random.randrange(len(processes))
        before = [len(self._said(number)) for number in range(len(processes))]
        os.kill(processes[killed].pid, signal.SIGKILL)
        for number, process in enumerate(processes):
            if number == killed:
                continue
            code = process.wait(_LIMIT_SECONDS)
            if killed == 0 and code == -signal.SIGABRT:
                # jax does so outside of sums, and cannot be told otherwise: its callback of
                # lost processes fails in Python (0.10, std::bad_cast).
                self.found["aborted by jax"] += 1
                continue
            # The first one may have needed the others no more.
            said = self._said(number)[before[number] :]
            _require_one_line(code, said, allowed=((0, 0), (1, 1)))
            self.found["ended in one line" if code else "went on alone"] += 1

    def _fill(self, process: subprocess.Popen[bytes]) -> int:
        """Fill the disk until a run has ended; return its exit code."""
        assert self.disk is not None
        before = len(self._said(0))
        with (self.disk / "ballast").open("wb", buffering=0) as ballast:
            for size in (2**20, 2**10, 1):
                with contextlib.suppress(OSError):
                    while True:
                        ballast.write(bytes(size))
            code = process.wait(_LIMIT_SECONDS)
        (self.disk / "ballast").unlink()
        allowed = ((0, 0),) if self.filled == CACHE else ((0, 0), (2, 1))
        _require_one_line(code, self._said(0)[before:], allowed=allowed)
        return code

    def _resume_finished(self, target: Target) -> None:
        """Check that a finished run that is resumed releases nothing and changes no result."""

        def results() -> dict[str, Any]:
            names = {*self.case.public, self.case.released} - {None}
            files = {name: _sha256(target.out / str(name)) for name in names}
            ledger = None if target.ledger is None else target.ledger.read_bytes()
            certificate = json_object((target.out / "privacy.json").read_bytes())
            return {**files, **_checkpoints(target.out), "ledger": ledger, "of": certificate}

        before = results()
        self._finish(target)
        changed = [name for name, value in results().items() if value != before.get(name)]
        assert not changed, f"a finished run that was resumed has changed {changed}"
        self._look(target)
        self.found["resumed when finished"] += 1

    # --- Checking --------------------------------------------------------------------------

    def _look(self, target: Target) -> None:
        """Check what a disturbed run has left."""
        out = target.out
        self._look_at_ledger(target)
        if not (out / "config.json").exists():
            self.found["nothing written"] += 1
            return
        for path in out.glob("*.json"):
            json_object(path.read_bytes())
        for path in out.glob("*.npz"):
            npz_files.load(path)
        if (out / "privacy.json").exists():
            whole = self.whole[target.seeded].out
            assert _certificate(out) == _certificate(whole), "another certificate"
        now, released = _checkpoints(out), self.case.released
        self.found["with a checkpoint"] += bool(now)
        if released is not None and (out / released).exists():
            now[released] = _sha256(out / released)
            self.found["after the release"] += 1
        elif released in self.seen:
            raise AssertionError(f"{released} has gone")
        for name, digest in now.items():
            assert self.seen.setdefault(name, digest) == digest, f"a second {name}"

    def _look_at_ledger(self, target: Target) -> None:
        """Check that a run is in the ledger of its dataset at most once, and the sum of all."""
        if target.ledger is None or not target.ledger.exists():
            return
        assert self._earlier is not None
        first = DatasetLedger(self._earlier).read().entries
        entries = DatasetLedger(target.ledger).read().entries
        own_entries, most = entries[len(first) :], len(first) + 1
        config = target.out / "config.json"
        own = json_object(config.read_bytes())["ledger_entry"] if config.exists() else None
        assert entries[: len(first)] == first, "an earlier run has another entry"
        assert [entry.name for entry in own_entries] in ([], [own]), "other entries than its own"
        if (target.out / "privacy.json").exists():
            assert len(entries) == most, "a certificate, and no entry"
        said = self._spent(target.ledger)
        if len(entries) == most:
            whole = self.whole[False].ledger
            assert whole is not None
            assert said == self._spent(whole), "another sum"
        self.found["ledgers"] += 1

    def _spent(self, ledger: Path) -> str:
        """Return what `spent` says of all runs together."""
        content = ledger.read_bytes()
        if content not in self._read:
            lines = spent.lines(str(ledger), None)
            (self._read[content],) = (line for line in lines if line.startswith("all "))
        return self._read[content]

    def _compare(self, target: Target) -> None:
        """Check that a run that was disturbed has left what an undisturbed one leaves."""
        out, whole = target.out, self.whole[target.seeded].out
        names = [sorted(path.name for path in folder.iterdir()) for folder in (out, whole)]
        assert names[0] == names[1], names
        assert json_object((out / "metrics.json").read_bytes())["finished"]
        digests = json_object((out / "privacy.json").read_bytes())["sha256"]
        assert digests == {name: _sha256(out / name) for name in digests}, "digests of other files"
        if target.ledger is not None:
            assert target.ledger.read_bytes().endswith(b"\n"), "half a line"
            whole_ledger = self.whole[False].ledger
            assert whole_ledger is not None
            counts = [len(DatasetLedger(p).read().entries) for p in (target.ledger, whole_ledger)]
            assert counts[0] == counts[1], "other entries than without disturbance"
        for name in self.case.public if target.seeded else ():
            _require_same(out / name, whole / name)
            self.found["same public files"] += 1


def _lengthen(ledger: Path) -> None:
    """Enter earlier runs until half of the next line does not fit into the file's last page.

    A page is there on a full disk, too, so that short lines could be written.
    """
    file = DatasetLedger(ledger)
    run = file.read().entries[0].ledger
    for number in range(_PAGE):
        before = ledger.stat().st_size
        file.enter(f"{number:032x}", "earlier", run)
        size = ledger.stat().st_size
        left, line = -size % _PAGE, size - before
        if line + 200 < left < 3 * line:
            file.enter("f" * 32, "earlier" + "r" * (left - line - 200), run)
            return


def _listing(target: Target) -> set[tuple[str, int, int]]:
    """Return the files of a run and of its ledger, with sizes and times of change."""
    places = [target.out, *target.out.glob("*"), *target.out.glob("*checkpoints/*")]
    found = set()
    for path in [*places, *([] if target.ledger is None else [target.ledger])]:
        with contextlib.suppress(OSError):
            about = path.stat()
            found.add((str(path), about.st_size, about.st_mtime_ns))
    return found


def _require_one_line(code: int, said: str, *, allowed: Sequence[tuple[int, int]]) -> None:
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in said, said
    assert (code, len(errors)) in allowed, (code, said)


def _require_same(path: Path, other: Path) -> None:
    if path.suffix != ".npz":
        assert path.read_bytes() == other.read_bytes(), path.name
        return
    here, there = npz_files.load(path), npz_files.load(other)
    for key in there:
        np.testing.assert_array_equal(here[key], there[key], err_msg=f"{path.name}: {key}")


def _checkpoints(out: Path) -> dict[str, str]:
    """Return the digests of the files of the checkpoints that are finished.

    Of one that is no longer wanted a killed run may have deleted some files.
    """
    steps = [path for path in out.glob("*checkpoints/[0-9]*") if path.name.isdigit()]
    files = [path for step in steps for path in step.rglob("*") if path.is_file()]
    return {str(path.relative_to(out)): _sha256(path) for path in files}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _certificate(folder: Path) -> dict[str, object]:
    """Return a certificate without the digests of results, which are added last."""
    stored = json_object((folder / "privacy.json").read_bytes())
    return {name: value for name, value in stored.items() if name != "sha256"}
