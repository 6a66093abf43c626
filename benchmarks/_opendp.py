"""AIM and MST as OpenDP has them: a program of its own, and what starts it.

OpenDP needs other versions than jaxdp, so it has a virtual environment of its own, and tables go
there and back in files:

    python3 -m venv VENV
    VENV/bin/pip install "opendp[mbi]==0.15.1" pandas

    VENV/bin/python benchmarks/_opendp.py FOLDER aim RHO COUNT

reads `FOLDER/table.npz` and writes `FOLDER/made.npz`. Cells are given to OpenDP as cuts of whole
numbers, all of them known: as keys, each column would get one cell more, of missing values. Adding
or removing a record is one contribution.

`aim` and `mst` have OpenDP's defaults. Those of AIM make it measure single columns only, if there
are ten or more: for every cell of a candidate it takes off the noise of the choice, not that of the
measurement, some hundred times as much. `aim_paper` has the same workload in weights by which
both are equal, as in the paper. The choices of all three spend up to four times what they claim.

References:
    OpenDP 0.15.1, `opendp.extras.mbi`: https://docs.opendp.org.
    https://github.com/opendp/opendp/pull/2906 (the penalty of candidates).
    https://github.com/opendp/opendp/issues/2911 (the budget of choices).
"""

import contextlib
import itertools
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ALGORITHMS = ("mst", "aim", "aim_paper")


class Made(NamedTuple):
    """What OpenDP has made.

    Attributes:
        cells: (count, columns).
        seconds: from the table in memory to the cells, without imports.
        peak_mb: by which the memory of its process has grown.
    """

    cells: np.ndarray
    seconds: float
    peak_mb: float


def made_by_opendp(
    python: str, algorithm: str, cells: np.ndarray, sizes: tuple[int, ...], rho: float, count: int
) -> Made:
    """Return cells of synthetic records.

    Args:
        python: of the environment that has OpenDP.
        algorithm: of `ALGORITHMS`.
        cells: (n, columns) of the private table.
        sizes: how many cells each column has.
        rho: of zero-concentrated differential privacy, where a record is added or removed.
        count: how many records.

    Raises:
        subprocess.CalledProcessError: it has failed; `stderr` says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "table.npz"), cells=cells, sizes=sizes)
        command = [python, __file__, folder, algorithm, repr(rho), str(count)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        with np.load(Path(folder, "made.npz")) as made:
            return Made(made["cells"], float(made["seconds"]), float(made["peak_mb"]))


def main() -> None:
    """Make a table; this runs in OpenDP's environment."""
    folder, algorithm, rho, count = sys.argv[1:]
    with np.load(Path(folder, "table.npz")) as table:
        cells, sizes = table["cells"], table["sizes"]
    opendp = _opendp()
    before, started = _memory_mb(), time.perf_counter()
    made = synthesized(opendp, algorithm, cells, sizes, float(rho), int(count))
    seconds, peak = time.perf_counter() - started, _memory_mb() - before
    np.savez(Path(folder, "made.npz"), cells=made, seconds=seconds, peak_mb=peak)


def synthesized(
    opendp: Any, algorithm: str, cells: np.ndarray, sizes: np.ndarray, rho: float, count: int
) -> np.ndarray:
    """Return cells (count, columns), as `made_by_opendp` has them."""
    import polars

    varying = [f"c{place}" for place in np.flatnonzero(sizes > 1)]
    rho = _divisible(rho, len(varying) - 1) if algorithm == "mst" else rho
    columns = {f"c{place}": column.astype(np.int64) for place, column in enumerate(cells.T)}
    context = opendp.Context.compositor(
        data=polars.LazyFrame(columns).select(varying),
        privacy_unit=opendp.unit_of(contributions=1),
        privacy_loss=opendp.loss_of(rho=rho),
        split_evenly_over=1,
    )
    cuts = {name: list(range(int(sizes[int(name[1:])]) - 1)) for name in varying}
    query = context.query().contingency_table(
        cuts=cuts, algorithm=_algorithm(opendp.mbi, algorithm, varying)
    )
    made = query.release().synthesize(rows=count)
    found = np.zeros((count, len(sizes)), np.int32)
    for name in varying:
        found[:, int(name[1:])] = made[name].to_numpy()
    return found


def _algorithm(mbi: Any, name: str, columns: list[str]) -> Any:
    """Return an algorithm; `aim_paper` asks for all triples of columns, as `aim` does.

    A candidate's weight is the sum over the workload of the columns that it shares. With the
    largest at a third, a choice of a tenth of a round's budget has the noise of the measurement.
    """
    if name != "aim_paper":
        return {"aim": mbi.AIM, "mst": mbi.MST}[name]()
    triples = list(itertools.combinations(columns, 3))
    largest = sum(len({*triples[0]} & {*other}) for other in triples)  # of each triple the same
    return mbi.AIM(queries=[mbi.Count(triple, 1 / (3 * largest)) for triple in triples])


def _divisible(rho: float, num: int) -> float:
    """Return a budget hardly smaller that OpenDP's MST can spend.

    It gives each of `num` choices an equal part and adds these up again, rounding up. For most
    budgets that is more than the whole, and it ends with "insufficient budget for query".
    """

    def before(number: float) -> float:
        return float(np.nextafter(number, -np.inf))

    while True:
        pairs = before(before(rho - rho * 0.5))
        choices = before(before(pairs - pairs * 0.9))
        part, total = before(choices / num), 0.0
        for _ in range(num):
            exact = Fraction(total) + Fraction(part)
            total += part
            total = total if Fraction(total) >= exact else float(np.nextafter(total, np.inf))
        if total <= choices:
            return rho
        rho = before(rho)


def _opendp() -> Any:
    import opendp.prelude

    opendp.prelude.enable_features("contrib")
    warnings.simplefilter("ignore")  # of the compilation of every round
    return opendp.prelude


def _memory_mb() -> float:
    """Return the peak memory so far; Linux then forgets it."""
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak


if __name__ == "__main__":
    main()
