"""Kill runs of every driver at random moments, resume them, and check what they have left.

    python tests/offline_kills.py --kills=100 --out=benchmarks/results/faults_cpu.txt
    python tests/offline_kills.py --full --kills=30 --out=FILE      # as root: mounts a small disk

A run is started, killed with SIGKILL, resumed, killed again, until it ends by itself: at any
moment, or just when it has written something. `kill_bench` says what has to hold after every kill,
and `kill_cases` which runs there are. With --full a disk is filled up instead: that of the run,
that of the ledger beside its data, and that of the user's cache folder, which a run does without.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import support.checkout  # noqa: F401  before what imports experiments
from support import kill_bench, kill_cases, results_file
from support.kill_bench import CACHE, LEDGER, RUN
from support.kill_cases import Case

_KINDS = (
    *("kills", "nothing written", "with a checkpoint", "after the release", "ledgers"),
    *("runs", "same public files", "resumed when finished"),
    *("ended in one line", "went on alone", "aborted by jax"),
)
"""What is counted; the last three of processes whose neighbour was killed."""


class Row(NamedTuple):
    """A case, and whose disk is filled: of the run, of the ledger, of the cache or of nothing."""

    name: str
    case: Case
    disk: str | None


def _rows(full: bool) -> Iterator[Row]:
    for case in kill_cases.CASES:
        if not full:
            yield Row(case.name, case, None)
        elif case.processes == 1:
            yield Row(f"{case.name}: {RUN}", case, RUN)
            if case.data is not None:
                yield Row(f"{case.name}: {LEDGER}", case, LEDGER)
            yield Row(f"{case.name}: {CACHE}", case, CACHE)


def main() -> None:
    """Disturb all runs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a row's name")
    parser.add_argument("--full", action="store_true", help="fill a disk instead of killing")
    parser.add_argument("--out", help="also write the table into this file")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the disk would stay mounted
    rows, benches = [], []
    with tempfile.TemporaryDirectory() as scratch, _small_disk(options.full) as disk:
        if options.full and disk is None:
            print("skipped: only root may mount a small disk", file=sys.stderr)
            return
        for number, row in enumerate(_rows(options.full)):
            if options.only not in row.name:
                continue
            folder = Path(scratch) / str(number)
            folder.mkdir()
            filled = None if disk is None else disk / str(number)
            if filled is not None:
                filled.mkdir()
            bench = kill_bench.Bench(row.case, folder, row.disk, filled, options.seed)
            while bench.found["kills"] < options.kills:
                bench.run(bench.found["runs"])
                print(row.name, dict(bench.found), file=sys.stderr, flush=True)
            if filled is not None:
                shutil.rmtree(filled)
            rows.append(row)
            benches.append(bench)
    kinds = [kind for kind in _KINDS if any(bench.found[kind] for bench in benches)]
    cells = [
        [row.name, *(bench.found[kind] for kind in kinds), "all"]
        for row, bench in zip(rows, benches, strict=True)
    ]
    header = ["run", *kinds, "checks passed"]
    header[1] = "full disks" if options.full else "kills"
    print(results_file.table(header, cells, options.out), end="")


@contextlib.contextmanager
def _small_disk(wanted: bool) -> Iterator[Path | None]:
    """Mount a disk of memory; None where one is not wanted, or may not be mounted."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        command = ["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", name]
        try:
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            yield None
            return
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


if __name__ == "__main__":
    main()
