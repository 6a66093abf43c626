"""Models that are trained on made and on private records, and one that tells these apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity import rows
from jaxdp.program.evaluation.fidelity.resampled import Measured, accuracy, auc, measured, r2
from jaxdp.program.evaluation.fidelity.values import Values

MOST_TRAINING = 20_000
"""So many records of a table are trained on."""
# By whether the target is a number.
_MODELS = {
    False: (("gradient boosting", rows.boosting), ("logistic regression", rows.linear)),
    True: (("gradient boosting", rows.boosting), ("ridge regression", rows.linear)),
}
_MEASURES = {False: (("auc", auc), ("accuracy", accuracy)), True: (("r2", r2),)}


class Trained(NamedTuple):
    """A model that predicts a column from all others, trained on either table.

    Attributes:
        target: name of the column.
        model: "gradient boosting", "logistic regression" or "ridge regression".
        measure: "auc", "accuracy" or "r2", of the test records.
        real: where it was trained on private records; None where these do not have the column.
        made: where it was trained on made ones; likewise.
    """

    target: str
    model: str
    measure: str
    real: Measured | None
    made: Measured | None


class _Task(NamedTuple):
    """Rows and targets of the two tables to train on, and of the test records."""

    real: tuple[np.ndarray, np.ndarray]
    made: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def trained(columns: Sequence[Values], targets: Sequence[str]) -> list[Trained]:
    """Train on both tables, for each target, and test on the records held out."""
    found = []
    for name in targets:
        target = next(column for column in columns if column.name == name)
        others = [column for column in columns if column.name != name]
        if others:
            found += _trained(others, target, _task(others, target))
    return found


def boosted(columns: Sequence[Values], name: str) -> dict[str, Measured]:
    """Return how well gradient boosting that is trained on made records predicts a column.

    Args:
        columns: all of the table.
        name: of the column that is predicted.

    Returns:
        "r2" of a number, "auc" and "accuracy" of a category, of the test records.
    """
    target = next(column for column in columns if column.name == name)
    others = [column for column in columns if column.name != name]
    measures = _MEASURES[target.is_number]
    (x, y), (x_test, y_test) = (_rows(others, target, side) for side in ("made", "test"))
    if not (others and len(y) and len(y_test)):
        return {measure: Measured(None, None) for measure, _ in measures}
    size = None if target.is_number else len(target.names)
    predicted = rows.predicted(rows.boosting(others, size), x, y, x_test, size)
    return {measure: measured(of(y_test, predicted), len(y_test)) for measure, of in measures}


def told_apart(columns: Sequence[Values]) -> Measured:
    """Return the AUC of gradient boosting that tells private records from made ones; 0.5 is best.

    As many of each are used. Half of them it is trained on, and it is tested on the others.
    """
    rng = np.random.default_rng(0)
    sides = [rows.rows_of(columns, side) for side in ("real", "made")]
    num = min(2 * MOST_TRAINING, *map(len, sides))
    half = num // 2
    if not half:
        return Measured(None, None)
    chosen = [side[rng.choice(len(side), num, replace=False)] for side in sides]
    parts = (slice(half), slice(half, None))
    x, x_test = (np.concatenate([each[part] for each in chosen]) for part in parts)
    y, y_test = np.repeat([0, 1], half), np.repeat([0, 1], num - half)
    scores = rows.predicted(rows.boosting(columns, 2), x, y, x_test, 2)
    return measured(auc(y_test, scores), len(y_test))


def _task(others: Sequence[Values], target: Values) -> _Task:
    return _Task(*(_rows(others, target, side) for side in ("real", "made", "test")))


def _rows(others: Sequence[Values], target: Values, side: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and targets of one table, of the records that have a target."""
    y = getattr(target, side)
    there = np.flatnonzero(~np.isnan(y) if target.is_number else y >= 0)
    if len(there) > MOST_TRAINING:
        there = np.random.default_rng(0).choice(there, MOST_TRAINING, replace=False)
    if not others:
        return np.zeros((len(there), 0)), y[there]
    return rows.rows_of(others, side)[there], y[there]


def _trained(others: Sequence[Values], target: Values, task: _Task) -> list[Trained]:
    (x_test, y_test), found = task.test, []
    size = None if target.is_number else len(target.names)
    if not len(y_test):
        return []
    for name, make in _MODELS[target.is_number]:
        by = [
            rows.predicted(make(others, size), x, y, x_test, size) if len(y) else None
            for x, y in (task.real, task.made)
        ]
        for measure, of in _MEASURES[target.is_number]:
            sides = [None if p is None else measured(of(y_test, p), len(y_test)) for p in by]
            found.append(Trained(target.name, name, measure, *sides))
    return found
