"""Columns as rows of numbers that scikit-learn's models train on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxdp.program.evaluation.fidelity.values import Values

# Of gradient boosting, which takes categories up to this number; of more, their places as numbers.
_MOST_CATEGORIES = 255
_MOST_ONE_HOT = 30
# Rounds of boosting are fewer where a round takes longer, by columns and classes.
_LEAST_ROUNDS, _MOST_ROUNDS, _WORK = 10, 100, 12_000


def rows_of(columns: Sequence[Values], side: str) -> np.ndarray:
    """Return the rows (n, columns) of one table: "real", "made" or "test"; NaN where missing."""
    found = [getattr(column, side) for column in columns]
    return np.column_stack(
        [
            side if column.is_number else np.where(side < 0, np.nan, side)
            for column, side in zip(columns, found, strict=True)
        ]
    )


def boosting(columns: Sequence[Values], num_classes: int | None) -> Any:
    """Return gradient boosting of trees on such rows, for classes or, where None, for numbers."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    named = [not c.is_number and len(c.names) <= _MOST_CATEGORIES for c in columns]
    trees = num_classes if num_classes is not None and num_classes > 2 else 1  # in a round
    rounds = min(_WORK // (len(columns) * trees), _MOST_ROUNDS)
    settings: dict[str, Any] = {
        "categorical_features": named,
        "max_iter": max(rounds, _LEAST_ROUNDS),
        "early_stopping": False,  # which holds records out, and fails where a class has one
        "random_state": 0,
    }
    if num_classes is None:
        return HistGradientBoostingRegressor(**settings)
    return HistGradientBoostingClassifier(**settings)


def linear(columns: Sequence[Values], num_classes: int | None) -> Any:
    """Return logistic or ridge regression: numbers standardised, the 30 commonest categories."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [place for place, column in enumerate(columns) if column.is_number]
    categories = [place for place, column in enumerate(columns) if not column.is_number]
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    one_hot = OneHotEncoder(max_categories=_MOST_ONE_HOT, handle_unknown="infrequent_if_exist")
    parts = [
        ("numbers", make_pipeline(filled, StandardScaler()), numbers),
        ("categories", one_hot, categories),
    ]
    model = Ridge() if num_classes is None else LogisticRegression(max_iter=300)
    return make_pipeline(ColumnTransformer(parts), model)


def predicted(
    model: Any, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, size: int | None
) -> np.ndarray:
    """Train a model, and return what it says of test rows.

    Args:
        model: untrained.
        x: (n, columns) to train on.
        y: (n,) classes below `size`, or numbers.
        x_test: (t, columns) test rows.
        size: number of classes; None of numbers.

    Returns:
        (t, size) probabilities, 0 for classes that no training record has; or (t,) numbers.
    """
    from threadpoolctl import threadpool_limits

    empty = np.isnan(x).all(axis=0)  # tells nothing, and boosting fails on it
    x, x_test = (np.where(empty, 0.0, each) for each in (x, x_test))
    with threadpool_limits(1), warnings.catch_warnings():  # threads wait for each other's cores
        # Of iterations that did not suffice and of categories that are new: the figure says enough.
        warnings.simplefilter("ignore")
        if size is None:
            middle, scale = y.mean(), y.std() or 1.0
            return model.fit(x, (y - middle) / scale).predict(x_test) * scale + middle
        found, there = np.zeros((len(x_test), size)), np.unique(y)
        # A single class needs no model.
        found[:, there] = model.fit(x, y).predict_proba(x_test) if len(there) > 1 else 1.0
        return found
