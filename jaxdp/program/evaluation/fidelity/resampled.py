"""How good predictions are, with intervals by bootstrap of the records that they are tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

_RESAMPLES, _OUTSIDE = 200, 0.05

Measure = Callable[[Float[np.ndarray, "k t"]], Float[np.ndarray, " k"]]
"""Of weights of the t test records, k times; NaN where it is not defined."""


class Measured(NamedTuple):
    """A figure of test records.

    Attributes:
        value: None where it is not defined, as an AUC where all records are of one class.
        interval: of 95 %, by resampling the test records; None likewise.
    """

    value: float | None
    interval: tuple[float, float] | None


def measured(measure: Measure, num: int) -> Measured:
    """Return a figure of `num` test records, with its interval; the seed is public.

    All figures of as many records are of the same resamples. Percentile bootstrap, Efron (1979),
    "Bootstrap methods: another look at the jackknife".
    """
    value = float(measure(np.ones((1, num)))[0])
    if not np.isfinite(value):
        return Measured(None, None)
    drawn = np.random.default_rng(0).multinomial(num, np.full(num, 1 / num), _RESAMPLES)
    found = measure(drawn.astype(np.float64))
    low, high = np.nanquantile(found, [_OUTSIDE / 2, 1 - _OUTSIDE / 2])
    return Measured(value, (float(low), float(high)))


def accuracy(y: Int[np.ndarray, " t"], scores: Float[np.ndarray, "t c"]) -> Measure:
    """Return the share of records whose class has the largest score."""
    right = (np.argmax(scores, axis=1) == y).astype(np.float64)
    return lambda weights: weights @ right / weights.sum(axis=1)


def auc(y: Int[np.ndarray, " t"], scores: Float[np.ndarray, "t c"]) -> Measure:
    """Return the area under the ROC curve: of two classes the second one's, of more the mean.

    The mean is over the classes of the test records, each against the rest. Equal scores count as
    half right.
    """
    classes = [1] if scores.shape[1] == 2 else list(np.unique(y))

    def mean(weights: np.ndarray) -> np.ndarray:
        return np.mean([_area(y == each, scores[:, each], weights) for each in classes], axis=0)

    return mean


def r2(y: Float[np.ndarray, " t"], predicted: Float[np.ndarray, " t"]) -> Measure:
    """Return the share of the variance that is predicted; below 0 where the mean does better."""

    def share(weights: np.ndarray) -> np.ndarray:
        sums = weights.sum(axis=1)
        mean = weights @ y / sums
        around = np.maximum(weights @ y**2 / sums - mean**2, 0)
        left = weights @ (y - predicted) ** 2 / sums
        return 1 - np.divide(left, around, out=np.full(len(left), np.nan), where=around > 0)

    if y.min() == y.max():
        return lambda weights: np.full(len(weights), np.nan)
    scale = np.abs(y - y.mean()).max()  # squares of differences from 0 lose digits
    y, predicted = (y - y.mean()) / scale, (predicted - y.mean()) / scale
    return share


def _area(positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the AUC for rows of weights (k, t), by one pass over sorted scores."""
    values, of = np.unique(scores, return_inverse=True)
    order = np.argsort(of.reshape(-1), kind="stable")
    starts = np.searchsorted(of.reshape(-1)[order], np.arange(len(values)))
    weights, positive = weights[:, order], positive[order]
    for_, against = (
        np.add.reduceat(weights * side, starts, axis=1) for side in (positive, ~positive)
    )
    below = np.cumsum(against, axis=1) - against / 2
    pairs = for_.sum(axis=1) * against.sum(axis=1)
    right = np.sum(for_ * below, axis=1)
    return np.divide(right, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
