"""Read many generated inputs of every kind and print what came of them.

    python tests/offline_fuzz.py --inputs=2000 --out=benchmarks/results/fuzz_cpu.txt

The suite reads a tenth of them (`test_faulty_input.py`). A traceback is printed, and ends the
script with exit code 1.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import traceback

import checkout  # noqa: F401  before what imports experiments
import dataset_probes
import faulty_input
import hypothesis
import results_file
import run_probes
import state_probes
from faulty_input import Probe

_PROBES = (*dataset_probes.PROBES, *run_probes.PROBES, *state_probes.PROBES)


def count(probe: Probe, number: int, seed: int) -> collections.Counter[str]:
    """Return how often what came of so many inputs of one kind."""
    found: collections.Counter[str] = collections.Counter()

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
        try:
            found[faulty_input.outcome(probe, given)] += 1
        except Exception as error:
            name = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            frame = traceback.extract_tb(error.__traceback__)[-1]
            found["traceback"] += 1
            print(
                f"{probe.name}: {str(given)[:300]!r}\n    {name} ({frame.filename}:{frame.lineno})",
                file=sys.stderr,
                flush=True,
            )

    look()
    return found


def main() -> None:
    """Read all of them and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a probe's name")
    parser.add_argument("--out", help="also write the table into this file")
    options = parser.parse_args()
    probes = [probe for probe in _PROBES if options.only in probe.name]
    rows = []
    for probe in probes:
        started = time.monotonic()
        found = count(probe, -(-options.inputs // len(probes)), options.seed)
        total, kinds = sum(found.values()), (faulty_input.ACCEPTED, faulty_input.REFUSED)
        seconds = f"{time.monotonic() - started:.0f}"
        rows.append([probe.name, total, *(found[kind] for kind in (*kinds, "traceback")), seconds])
        print(*rows[-1], file=sys.stderr, flush=True)
    header = ["input", "inputs", "accepted", "refused", "tracebacks", "seconds"]
    print(results_file.table(header, rows, options.out), end="")
    sys.exit(any(row[4] for row in rows))


if __name__ == "__main__":
    main()
