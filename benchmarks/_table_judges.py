"""What is judged of a table made: what a model learns of it, and how near its counts come.

All of it is by values as tables hold them, not by the cells that a method counts.

References:
    Tao et al. (2021), "Benchmarking differentially private synthetic data generation algorithms"
        (models trained on made records, distances of marginals).
    Du & Li (2024), "Towards principled assessment of tabular data synthesis algorithms".
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from jaxdp.program.evaluation.fidelity import associations, queries, resampled, rows, values
from jaxdp.program.evaluation.fidelity.comparison import MOST_COLUMNS, mean_error
from jaxdp.program.evaluation.fidelity.shares import counted, total_variation
from jaxdp.program.evaluation.fidelity.values import Records, Values
from jaxdp.tables import Schema

FIGURES = ("f1", "f1_macro", "auc", "r2", "tv1", "tv2", "three_way", "strong")
_CELLS = 20
_MOST_PAIRS = 500
_STRONG = 0.8


def judged(schema: Schema, real: Records, made: Records, test: Records) -> dict[str, float | None]:
    """Return the figures of a table made; None for what its target or columns do not have.

    `f1` (weighted by classes), `f1_macro`, `auc` and `r2` are of gradient boosting that is trained
    on made records and tested on real ones that were held out. `tv1` and `tv2` are the mean total
    variation of one and of two columns, `three_way` the mean error of 200 random questions about
    three columns, and `strong` the largest error of a correlation that is beyond 0.8 among private
    records; all of them are against the private records.

    Args:
        schema: with one target.
        real: private records as stored, and their classes.
        made: likewise.
        test: likewise.
    """
    read = values.read(schema, real, made, test, labelled=schema.target is not None)
    (target,) = schema.judged if schema.target is None else [schema.target.name]
    cells = [_cells(column) for column in read]
    return {
        **_learnt(read, target),
        "tv1": float(np.mean([_apart([each]) for each in cells])),
        "tv2": float(np.mean([_apart(pair) for pair in _pairs(cells)])),
        "three_way": mean_error(queries.compare(read))[0],
        "strong": _strong(read),
    }


def _learnt(read: Sequence[Values], name: str) -> dict[str, float | None]:
    target = next(column for column in read if column.name == name)
    others = [column for column in read if column.name != name]
    size = None if target.is_number else len(target.names)
    sides = {}
    for side in ("made", "test"):
        y = getattr(target, side)
        there = ~np.isnan(y) if target.is_number else y >= 0
        sides[side] = rows.rows_of(others, side)[there], y[there]
    (x, y), (x_test, y_test) = sides["made"], sides["test"]
    found: dict[str, float | None] = dict.fromkeys(("f1", "f1_macro", "auc", "r2"))
    if not len(y):
        return found
    said = rows.predicted(rows.boosting(others, size), x, y, x_test, size)
    one = np.ones((1, len(y_test)))
    if size is None:
        return found | {"r2": float(resampled.r2(y_test, said)(one)[0])}
    classes = np.argmax(said, axis=1)
    return found | {
        "f1": float(f1_score(y_test, classes, average="weighted")),
        "f1_macro": float(f1_score(y_test, classes, average="macro")),
        "auc": float(resampled.auc(y_test, said)(one)[0]),
    }


def _cells(column: Values) -> tuple[np.ndarray, np.ndarray, int]:
    """Return cells of private and of made records, and their number: one more where missing.

    Numbers are cut at quantiles of the private ones, the same for whatever was made.
    """
    if not column.is_number:
        size = len(column.names)
        return *(np.where(side < 0, size, side) for side in (column.real, column.made)), size + 1
    there = column.real[~np.isnan(column.real)]
    shares = np.linspace(0, 1, _CELLS + 1)[1:-1]
    inner = np.unique(np.quantile(there, shares, method="inverted_cdf")) if len(there) else []
    real, made = (
        np.where(np.isnan(side), _CELLS, np.digitize(side, inner))
        for side in (column.real, column.made)
    )
    return real, made, _CELLS + 1


def _pairs(cells: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return all pairs of columns; of many some, by a public seed."""
    pairs = list(itertools.combinations(cells, 2))
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    chosen = np.random.default_rng(0).choice(len(pairs), _MOST_PAIRS, replace=False)
    return [pairs[place] for place in chosen]


def _apart(columns: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> float:
    """Return the total variation of the columns' joint counts."""
    shape = tuple(size for _, _, size in columns)
    real, made = (
        np.ravel_multi_index([column[side] for column in columns], shape) for side in (0, 1)
    )
    counts, _ = counted((real, made), int(np.prod(shape)))
    return total_variation(counts).distance


def _strong(read: Sequence[Values]) -> float | None:
    numbers = [place for place, column in enumerate(read) if column.is_number][:MOST_COLUMNS]
    errors = [
        abs(pair.real - pair.made)
        for pair in associations.compare(read, numbers)
        if abs(pair.real) > _STRONG
    ]
    return max(errors, default=None)
