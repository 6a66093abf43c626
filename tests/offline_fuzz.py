"""Read many generated inputs of every kind and print what came of them.

    python tests/offline_fuzz.py --inputs=2000 --out=benchmarks/results/fuzz_cpu.txt

So many of each kind: the suite reads few (`test_faulty_input.py`). A traceback ends the script with
exit code 1 once all are read.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import traceback
from pathlib import Path

import hypothesis
import support.checkout  # noqa: F401  before what imports experiments
from support import (
    dataset_probes,
    faulty_input,
    ledger_probes,
    results_file,
    run_probes,
    state_probes,
    table_probes,
)
from support.faulty_input import Probe

_ROOT = Path(__file__).parents[1]
_PROBES = (
    *dataset_probes.PROBES,
    *run_probes.PROBES,
    *state_probes.PROBES,
    *table_probes.PROBES,
    *ledger_probes.PROBES,
)


def count(probe: Probe, number: int, seed: int) -> tuple[collections.Counter[str], float]:
    """Return how often what came of so many inputs of one kind, and the most seconds of one.

    Of the inputs that end in a traceback from one place the smallest one is printed.
    """
    found: collections.Counter[str] = collections.Counter()
    smallest: dict[str, str] = {}
    seconds = [0.0]

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(probe.inputs())
    def look(given: object) -> None:
        started = time.process_time()  # the machine may be busy
        try:
            found[faulty_input.outcome(probe, given)] += 1
        except Exception as error:
            found["traceback"] += 1
            where = f"{type(error).__name__} at {_place(error)}"
            text = f"{given!r}\n    {' '.join(str(error).split())[:300]}"
            if len(text) < len(smallest.get(where, text + " ")):
                smallest[where] = text
        seconds.append(time.process_time() - started)

    look()
    for where, text in smallest.items():
        print(f"{probe.name}: {where}\n  {text[:9000]}", file=sys.stderr, flush=True)
    return found, max(seconds)


def _place(error: Exception) -> str:
    """Return the line of ours that has raised, or has called what has."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_ROOT)]
    return f"{Path(ours[-1].filename).relative_to(_ROOT)}:{ours[-1].lineno}"


def main() -> None:
    """Read all of them and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=2000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a probe's name")
    parser.add_argument("--out", help="also write the table into this file")
    options = parser.parse_args()
    probes = [probe for probe in _PROBES if options.only in probe.name]
    rows = []
    for probe in probes:
        started = time.monotonic()
        found, slowest = count(probe, options.inputs, options.seed)
        total, kinds = sum(found.values()), (faulty_input.ACCEPTED, faulty_input.REFUSED)
        seconds = f"{time.monotonic() - started:.0f}"
        counts = [found[kind] for kind in (*kinds, "traceback")]
        rows.append([probe.name, total, *counts, seconds, f"{slowest:.1f}"])
        print(*rows[-1], file=sys.stderr, flush=True)
    header = ["input", "inputs", "accepted", "refused", "tracebacks", "seconds", "slowest"]
    print(results_file.table(header, rows, options.out), end="")
    sys.exit(any(row[4] for row in rows))


if __name__ == "__main__":
    main()
