"""A rare class of a table, labelled by a teacher: what logistic regression and trees learn of it.

    python benchmarks/rare_class.py --eps=1 --seeds=3 [--out=FILE]

The table has 1800 records of six columns, and a class that depends on all of them, of which a
`share` of the records is. `likeliest` are the teacher's likeliest classes, `labelled` what a run
writes, `drawn` the classes for which the same records were drawn, and `real` the private records.
8000 other records test.
"""

import argparse
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from _harness import argument_parser, isolated, measurement, record, report, start_memory_mb, timed
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

import jaxdp
from jaxdp.methods.dp_ntk import Released
from jaxdp.methods.dp_ntk import labels as labelled
from jaxdp.methods.runner import PlainRunner
from jaxdp.tables import Layout, Schema, frames

_CATEGORIES = {"c": ["p", "q", "r"], "d": ["no", "yes"], "f": ["u", "v", "w", "x"]}
_BOUNDS = {"a": (-4, 4), "b": (-4, 4), "e": (0, 100)}
_SHARES = (0.03, 0.1, 0.5)
_COLUMNS = ("positive", "logistic", "trees", "accuracy", "balanced")
_TRAIN, _TEST, _QUICK = 1800, 8000, 200


def schema() -> Schema:
    """Return what can occur in the table."""
    numbers = {
        name: {"type": "numeric", "lower": low, "upper": high, "bins": 8}
        for name, (low, high) in _BOUNDS.items()
    }
    words = {name: {"type": "categorical", "categories": c} for name, c in _CATEGORIES.items()}
    target = {"type": "categorical", "categories": ["no", "yes"], "target": True}
    return Schema.from_json({"columns": {**numbers, **words, "class": target}})


def table(num: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records as stored, and their classes by a logistic model."""
    rng = np.random.default_rng(seed)
    a, b = np.clip(rng.normal(size=(2, num)), -4, 4)
    e = rng.uniform(0, 100, num)
    codes = {name: rng.integers(0, len(words), num) for name, words in _CATEGORIES.items()}
    score = 0.9 * a - 0.6 * b + 0.5 * codes["c"] + 0.6 * codes["d"] + 0.012 * e
    noisy = score + rng.logistic(size=num)
    words = {name: np.array(_CATEGORIES[name])[code] for name, code in codes.items()}
    x = frames.records(pd.DataFrame({"a": a, "b": b, "e": e, **words}), schema())
    return x, (noisy > np.quantile(noisy, 1 - share)).astype(np.int32)


def sets_of(x: np.ndarray, y: np.ndarray, eps: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return records and classes by name; all made ones come from one release."""
    spec = jaxdp.Spec.table("table", schema(), len(x))
    count = len(x) * 9 // 10
    asked = labelled.Settings(eps=eps, labels="teacher", num_synthetic=count)
    made, _ = jaxdp.run(labelled, asked, spec, jaxdp.Private(x, y), progress=False)
    plan = labelled.make_plan(labelled.complete(asked, spec), spec)
    embedded = Released(made.released.mu, np.full(2, 0.5))
    drawn = plan.generation.finish(embedded, PlainRunner(progress=False))
    assert np.array_equal(drawn.x, made.x)
    likeliest = np.argmax(made.arrays["y_scores"], axis=1)
    labels = {"drawn": drawn.y, "likeliest": likeliest, "labelled": made.y}
    return {"real": (x, y)} | {name: (made.x, each) for name, each in labels.items()}


def figures(rows: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return what two classifiers learn: areas under the curve, and accuracies of the first."""
    if len(np.unique(y)) < 2:  # a classifier of one class says that class
        right = float(np.mean(truth == y[0]))
        return {"logistic": 0.5, "trees": 0.5, "accuracy": right, "balanced": 0.5}
    linear = LogisticRegression(max_iter=1000).fit(rows, y)
    trees = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(rows, y)
    said = linear.predict(test)
    return {
        "logistic": roc_auc_score(truth, linear.predict_proba(test)[:, 1]),
        "trees": roc_auc_score(truth, trees.predict_proba(test)[:, 1]),
        "accuracy": accuracy_score(truth, said),
        "balanced": balanced_accuracy_score(truth, said),
    }


def run(args: argparse.Namespace, share: float, seed: int) -> list[dict[str, Any]]:
    """Return the records of one table."""
    num = _QUICK if args.quick else _TRAIN
    x, y = table(num + _TEST, share, seed)
    before = start_memory_mb(x)
    seconds, sets = timed(lambda: sets_of(x[:num], y[:num], args.eps))
    measured, to_rows = measurement(seconds, 0.0, before), Layout(schema()).to_unit
    test = to_rows(x[num:])
    return [
        record(
            f"{share:g} {name} eps={args.eps:g} seed={seed}",
            measured,
            None,
            positive=float(np.mean(labels)),
            **figures(to_rows(records), labels, test, y[num:]),
        )
        for name, (records, labels) in sets.items()
    ]


def records(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every table."""
    shares, seeds = ((0.1,), 1) if args.quick else (_SHARES, args.seeds)
    for share, seed in itertools.product(shares, range(seeds)):
        yield from isolated(run, args, share, seed)


def main() -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1, help="how many tables of each share")
    report(records(parser.parse_args()), columns=_COLUMNS, out=parser.parse_args().out)


if __name__ == "__main__":
    main()
