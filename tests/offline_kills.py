"""Kill every driver at random moments, resume it until it ends, and check what it has left.

    python tests/offline_kills.py --kills=100 --out=benchmarks/results/faults_cpu.txt
    python tests/offline_kills.py --full --kills=30 --out=FILE      # as root: mounts a small disk

A run is started, killed with SIGKILL, resumed, killed again, until it ends by itself. After every
kill each file that has its name must be whole, and the certificate the one of an undisturbed run.
What was released, and every checkpoint that was finished, must never change: a second one would be
a further release. In the end the folder must be that of an undisturbed run; with a noise seed
(every second run) its public files have to be the same, too. With --full the disk of the run is
filled up instead: it must end with exit code 2 and in one line.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import checkout  # noqa: F401  before what imports experiments
import numpy as np
import results_file

from experiments.runs.checkpoints import files_digest
from jaxdp.saved import npz as npz_files
from jaxdp.saved.files import json_object

_ROOT = Path(__file__).parents[1]
_LIMIT_SECONDS = 300.0
_MOST_KILLS_OF_A_RUN = 8
# Checkpoints are usually a minute apart.
_PROGRAM = """
from absl import app
from experiments import command_line, {driver}
from experiments.runs import runner
runner._CHECKPOINT_SECONDS = 0.05
app.run({driver}.main, flags_parser=command_line.parse)
"""


@dataclasses.dataclass(frozen=True)
class Driver:
    """A driver, a short run of it, and which of its files are released and public."""

    name: str
    flags: tuple[str, ...]
    released: str | None
    public: tuple[str, ...]


DRIVERS = (
    Driver(
        "dp_kip",
        ("--ipc=1", "--steps=60", "--eval_every=3", "--batch_size=50", "--eps=5"),
        None,
        ("distilled.npz",),
    ),
    Driver(
        "dp_kip_teacher",
        ("--steps=20000", "--batch_size=200", "--distill_steps=20", "--whiten=0", "--eps=5"),
        "teacher.npz",
        ("teacher.npz", "distilled.npz"),
    ),
    Driver(
        "dp_ntk",
        (
            "--ntk_width=8",
            "--steps=100",
            "--batch_size=40",
            "--num_synthetic=200",
            "--evaluate=none",
        ),
        "embedding.npz",
        ("embedding.npz", "synthetic.npz"),
    ),
)


class Bench:
    """An undisturbed run of a driver, and runs that are killed."""

    def __init__(self, driver: Driver, folder: Path, disk: Path | None, seed: int) -> None:
        self.driver, self.folder, self.disk = driver, folder, disk
        self.random = random.Random(seed)
        self.found: collections.Counter[str] = collections.Counter()
        self.seen: dict[str, str] = {}
        self.whole = {seeded: folder / f"whole-{seeded}" for seeded in (True, False)}
        for seeded, out in self.whole.items():  # the first one compiles
            self._finish(out, seeded)
        started = time.monotonic()
        with self._running(folder / "timed", True) as process:
            self._await_lock(folder / "timed", process)
            self.start_seconds = time.monotonic() - started
            process.wait(_LIMIT_SECONDS)
        self.work_seconds = time.monotonic() - started - self.start_seconds

    @contextlib.contextmanager
    def _running(self, out: Path, seeded: bool) -> Iterator[subprocess.Popen[bytes]]:
        code = _PROGRAM.format(driver=self.driver.name)
        flags = [*self.driver.flags, "--resume", f"--out_dir={out}"]
        flags += ["--noise_seed=1"] if seeded else []
        with (self.folder / "said").open("ab") as said:
            process = subprocess.Popen(
                [sys.executable, "-c", code, *flags], cwd=_ROOT, stdout=said, stderr=said
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            process.wait()

    def _await_lock(self, out: Path, process: subprocess.Popen[bytes]) -> None:
        """Wait until a run has its folder; a killed one has left its lock there."""
        before = time.time_ns()
        while process.poll() is None:
            with contextlib.suppress(OSError):
                if (out / ".lock").stat().st_mtime_ns > before:
                    return
            time.sleep(0.002)

    def _finish(self, out: Path, seeded: bool) -> None:
        with self._running(out, seeded) as process:
            assert process.wait(_LIMIT_SECONDS) == 0, self._said()[-2000:]

    def run(self, number: int) -> None:
        """Start a run, kill and resume it until it ends, and check the folder every time."""
        out, seeded = (self.disk or self.folder) / f"run-{number}", number % 2 == 0
        self.seen = {}
        for _ in range(_MOST_KILLS_OF_A_RUN):
            with self._running(out, seeded) as process:
                if self.random.random() < 0.9:  # else at any moment, start-up included
                    self._await_lock(out, process)
                    wait = self.random.uniform(0, self.work_seconds)
                else:
                    wait = self.random.uniform(0, self.start_seconds)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(wait)
                    assert code == 0, self._said()
                    break
                if self.disk is not None and self._fill(process) == 0:
                    break
            self.found["kills"] += 1
            self._look(out, seeded)
        else:
            self._finish(out, seeded)
        self._look(out, seeded)
        self._compare(out, seeded)
        self.found["runs"] += 1
        if self.disk is not None:
            shutil.rmtree(out)

    def _fill(self, process: subprocess.Popen[bytes]) -> int:
        """Fill the disk until a run has ended; return its exit code."""
        assert self.disk is not None
        before = len(self._said())
        with (self.disk / "ballast").open("wb", buffering=0) as ballast:
            for size in (2**20, 2**10, 1):
                with contextlib.suppress(OSError):
                    while True:
                        ballast.write(bytes(size))
            code = process.wait(_LIMIT_SECONDS)
        (self.disk / "ballast").unlink()
        said = self._said()[before:]
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        assert "Traceback" not in said, said
        assert (code, len(errors)) in ((0, 0), (2, 1)), said
        return code

    def _said(self) -> str:
        return (self.folder / "said").read_text()

    def _look(self, out: Path, seeded: bool) -> None:
        """Check what a killed run has left."""
        if not (out / "config.json").exists():
            self.found["nothing written"] += 1
            return
        for path in out.glob("*.json"):
            json_object(path.read_bytes())
        for path in out.glob("*.npz"):
            npz_files.load(path)
        if (out / "privacy.json").exists():
            assert _certificate(out) == _certificate(self.whole[seeded]), "another certificate"
        now = {}
        for step in (out / "checkpoints").glob("[0-9]*"):
            if step.name.isdigit():
                now[f"checkpoint {step.name}"] = files_digest(step)
        released = self.driver.released
        if released is not None and (out / released).exists():
            now[released] = _sha256(out / released)
            self.found["after the release"] += 1
        elif released in self.seen:
            raise AssertionError(f"{released} has gone")
        for name, digest in now.items():
            assert self.seen.setdefault(name, digest) == digest, f"a second {name}"
        self.found["with a checkpoint"] += any(name.startswith("checkpoint") for name in now)

    def _compare(self, out: Path, seeded: bool) -> None:
        """Check that a run that was killed has left what an undisturbed one leaves."""
        whole = self.whole[seeded]
        names = [sorted(path.name for path in folder.iterdir()) for folder in (out, whole)]
        assert names[0] == names[1], names
        assert json_object((out / "metrics.json").read_bytes())["finished"]
        digests = json_object((out / "privacy.json").read_bytes())["sha256"]
        assert digests == {name: _sha256(out / name) for name in digests}, "digests of other files"
        for name in self.driver.public if seeded else ():
            here, there = npz_files.load(out / name), npz_files.load(whole / name)
            for key in there:
                np.testing.assert_array_equal(here[key], there[key], err_msg=f"{name}: {key}")
            self.found["same public files"] += 1


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _certificate(folder: Path) -> dict[str, object]:
    """Return a certificate without the digests of results, which are added last."""
    stored = json_object((folder / "privacy.json").read_bytes())
    return {name: value for name, value in stored.items() if name != "sha256"}


def main() -> None:
    """Kill all drivers and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each driver")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a driver's name")
    parser.add_argument("--full", action="store_true", help="fill the disk instead of killing")
    parser.add_argument("--out", help="also write the table into this file")
    options = parser.parse_args()
    kinds = ["kills", "nothing written", "with a checkpoint", "after the release", "runs"]
    kinds += ["same public files"]
    os.environ |= {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    rows = []
    with tempfile.TemporaryDirectory() as scratch, _small_disk(options.full) as disk:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = f"{scratch}/cache"
        for driver in (each for each in DRIVERS if options.only in each.name):
            folder = Path(scratch) / driver.name
            folder.mkdir()
            bench = Bench(driver, folder, disk, options.seed)
            while bench.found["kills"] < options.kills:
                bench.run(bench.found["runs"])
                print(driver.name, dict(bench.found), file=sys.stderr, flush=True)
            rows.append([driver.name, *(bench.found[kind] for kind in kinds), "all"])
    header = ["driver", *kinds, "checks passed"]
    header[1] = "full disks" if options.full else "kills"
    print(results_file.table(header, rows, options.out), end="")


@contextlib.contextmanager
def _small_disk(wanted: bool) -> Iterator[Path | None]:
    """Mount a disk of memory, which only root may do."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


if __name__ == "__main__":
    main()
