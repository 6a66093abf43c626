"""The papers' tables: what twelve classifiers learn of synthetic or distilled records.

    python benchmarks/tables.py --data_dir=FOLDER --eps=1 --seeds=5 [--out=FILE]

`FOLDER` holds `adult.csv.gz` and its like. Every case trains twelve classifiers of one setting each
(`jaxdp.program.evaluation.twelve`) on what a method has made of the training part, and tests them
on the rest. `real` trains on the private records themselves: the most that can be expected.

`--methods` also knows what others make of a table (`_baselines`): `majority`, `independent`, `mst`
and `aim`. The last two need `mbi`, which the extra `[dev]` has. A table that is too wide for one of
them is left out, and a line says so.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import _baselines
import numpy as np
from _harness import argument_parser, isolated, measurement, record, report, start_memory_mb, timed
from _tables import TABLES, Split, problem, toy_problem

import jaxdp
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import DISTILLED
from jaxdp.program.evaluation.twelve import twelve
from jaxdp.tables import Layout, read_schema

# `drawn` is ten of each class of what `labelled` draws.
# `model` is the model of noisy counts.
METHODS = ("real", "model", "marginals", "pairs", "labelled", "drawn", "dp_kip", "dp_kip_teacher")
# Of DP-NTK, the papers' and ours.
_FEATURES = ("entk", "rff", "hermite", "marginals", "pairs")
# Made records are free: a small table gets more of them than it has itself. More than the most do
# not change what classifiers learn, and take them longer.
_LEAST_MADE, _MOST_MADE = 10000, 30000
_PER_CLASS = 10
_QUICK = {"num_synthetic": 200}
_QUICK_METHODS = ("real", "labelled", "drawn", "majority", "independent")
_COLUMNS = ("roc", "prc", "f1", "auc", "ap", "seconds")


def made_of(method: str, split: Split, *, eps: float, seed: int, quick: bool) -> Any:
    """Return what a method makes of the training part: rows, labels, and how records become rows.

    Of distilled records, the valid ones nearest to them are taken: other classifiers learn more of
    these than of parts of several categories.
    """
    to_rows = Layout(split.schema).to_unit
    if method == "real":
        return to_rows(split.x), split.y, to_rows
    count = _QUICK["num_synthetic"] if quick else _num_made(len(split.x))
    if method in _baselines.NAMES:
        delta = jaxdp.methods.dp_ntk.Settings(eps=eps).delta
        x, y = _baselines.baseline(method, split, eps=eps, delta=delta, count=count, seed=seed)
        return to_rows(x), y, to_rows
    spec = jaxdp.Spec.table("table", split.schema, len(split.x))
    private = jaxdp.Private(split.x, split.y)
    package, settings = _settings(method, count, eps=eps)
    made, certificate = jaxdp.run(package, settings, spec, private, progress=False)
    assert certificate.epsilon <= eps
    x, y = (made.x, made.y) if method != "drawn" else _few(made.x, made.y)
    return to_rows(x), y, to_rows


def _few(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the first records of every class."""
    chosen = np.concatenate([np.flatnonzero(y == label)[:_PER_CLASS] for label in np.unique(y)])
    return x[chosen], y[chosen]


def _num_made(num: int) -> int:
    return min(max(num, _LEAST_MADE), _MOST_MADE)


def _settings(method: str, count: int, *, eps: float) -> tuple[Any, Any]:
    methods = jaxdp.methods
    if method in _FEATURES:
        asked = methods.dp_ntk.Settings(eps=eps, features=method, num_synthetic=count)
        return methods.dp_ntk, asked
    if method in ("labelled", "drawn"):
        asked = methods.dp_ntk.Settings(eps=eps, labels="teacher", num_synthetic=count)
        return methods.dp_ntk, asked
    if method == "model":
        return methods.marginals, methods.marginals.Settings(eps=eps, num_synthetic=count)
    package = methods.dp_kip if method == "dp_kip" else methods.teacher
    return package, package.Settings(eps=eps, ipc=_PER_CLASS)


def run(args: argparse.Namespace, name: str, method: str, seed: int) -> dict[str, Any]:
    """Return the record of one case."""
    if args.quick:
        split = toy_problem(seed)
    else:
        split = problem(name, args.data_dir, protocol=args.protocol, seed=seed)
    before = start_memory_mb(split.x)
    seconds, (rows, y, to_rows) = timed(
        lambda: made_of(method, split, eps=args.eps, seed=seed, quick=args.quick)
    )
    measured = measurement(seconds, 0.0, before)
    found = twelve(
        Problem(
            x=rows,
            y=y,
            x_test=to_rows(split.x_test),
            y_test=split.y_test,
            num_classes=len(split.schema.class_names),
            recipe=DISTILLED,
        )
    )
    figures = found["figures"]
    return record(
        f"{name} {method} eps={args.eps:g} seed={seed}",
        measured,
        None,
        roc=figures.get("roc_auc_of_predictions"),
        prc=figures.get("average_precision_of_predictions"),
        f1=figures["f1_weighted"],
        auc=figures.get("roc_auc"),
        ap=figures.get("average_precision"),
        protocol=args.protocol,
        note="toy" if args.quick else TABLES[name].note,
        num_train=len(split.x),
        num_test=len(split.x_test),
        num_made=len(y),
        accuracies={name: each["accuracy"] for name, each in found["classifiers"].items()},
    )


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every case."""
    names = ["toy"] if args.quick else args.tables.split(",")
    methods = _QUICK_METHODS if args.quick else args.methods.split(",")
    seeds = range(1) if args.quick else range(args.first_seed, args.first_seed + args.seeds)
    for name, seed, method in itertools.product(names, seeds, methods):
        why_not = None if args.quick else _baselines.why_not(method, read_schema(name))
        if why_not:
            print(f"{name} {method} is left out: {why_not}", file=sys.stderr)
            continue
        yield isolated(run, args, name, method, seed)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data_dir", default="data", help="folder of the tables' files")
    parser.add_argument("--tables", default=",".join(TABLES), help="names, by commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, by commas")
    parser.add_argument("--protocol", default="ntk", choices=("ntk", "kip", "natural"))
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1, help="how many splits")
    parser.add_argument("--first_seed", type=int, default=0, help="seed of the first split")
    args = parser.parse_args()
    report(records(args), columns=_COLUMNS, out=args.out)


if __name__ == "__main__":
    main()
