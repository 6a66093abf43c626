"""How columns go together, in the private and in the made table, pair by pair."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity.shares import counted, total_variation
from jaxdp.program.evaluation.fidelity.values import Values

PEARSON, CRAMER, ETA = "pearson", "cramers_v", "correlation_ratio"
SPEARMAN = "spearman"
KINDS = (PEARSON, SPEARMAN, CRAMER, ETA)
# Into so many equal parts of the private range a number is cut beside a category, as SDMetrics has
# it. Its QualityReport cuts each table by its own range, by which a table that is shifted or
# stretched would seem right.
_BINS = 10


class Pair(NamedTuple):
    """Two columns.

    Attributes:
        columns: their places.
        kind: one of `KINDS`, by the types of the two.
        real: association among private records, of which it is 0 where one column has one value.
        made: the same among made records.
        ranks: of two numbers, the correlations of ranks: private, made.
        similarity: from 0 to 1: of two numbers 1 - |real - made| / 2, else 1 less the total
            variation of joint counts, numbers cut into bins; None for a number of one private
            value beside another number.
        strength: absolute association of private records by which SDMetrics chooses pairs: of
            counts Cramer's V.
    """

    columns: tuple[int, int]
    kind: str
    real: float
    made: float
    ranks: tuple[float, float] | None
    similarity: float | None
    strength: float


class _Side(NamedTuple):
    """A column in one of the tables.

    Attributes:
        values: numbers less their mean, as shares of the largest of these; or categories' codes.
        codes: whole numbers that can be counted beside a category.
        there: where there are numbers; None if that is everywhere.
        order: of numbers: places of the values among all that differ.
        ranks: of numbers: mean ranks of all.
    """

    values: np.ndarray
    codes: np.ndarray
    there: np.ndarray | None
    order: np.ndarray
    ranks: np.ndarray


class _Prepared(NamedTuple):
    is_number: bool
    size: int
    real: _Side
    made: _Side


def compare(columns: Sequence[Values], places: Sequence[int]) -> list[Pair]:
    """Compare all pairs of the columns at some places, the lower one first."""
    from threadpoolctl import threadpool_limits

    ready = {place: _prepared(columns[place]) for place in places}
    with threadpool_limits(1):  # of sums that end before threads have begun
        return [
            _pair((a, b), ready[a], ready[b]) for a, b in itertools.combinations(sorted(places), 2)
        ]


def differences(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the mean and the largest absolute difference of associations, by kind."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        if kind == SPEARMAN:
            sides = [pair.ranks for pair in pairs if pair.ranks is not None]
        else:
            sides = [(pair.real, pair.made) for pair in pairs if pair.kind == kind]
        apart = [abs(real - made) for real, made in sides]
        if apart:
            mean = float(np.mean(apart))
            found[kind] = {"pairs": len(apart), "mean": mean, "largest": max(apart)}
    return found


def correlations(a: _Side, b: _Side) -> tuple[float | None, float | None]:
    """Return Pearson's and Spearman's correlation of the records that have both numbers.

    They are None where one of the two does not vary. Ranks are counted, which is linear where
    values have been sorted once.
    """
    masks = [side.there for side in (a, b) if side.there is not None]
    if not masks:
        return _correlation(a.values, b.values), _correlation(a.ranks, b.ranks)
    there = np.flatnonzero(np.logical_and.reduce(masks))
    pearson = _correlation(a.values[there], b.values[there])
    return pearson, _correlation(_ranks(a.order[there]), _ranks(b.order[there]))


def cramers_v(counts: np.ndarray, codes: np.ndarray, across: int) -> float:
    """Return Cramer's V of a table of counts without its bias, from 0 to 1.

    Bergsma, "A bias-correction for Cramer's V and Tschuprow's T" (2013).

    Args:
        counts: (cells,) of the table, at least one above 0.
        codes: (cells,) their places, row by row.
        across: number of the table's columns.
    """
    n = int(counts.sum())
    of_row, of_column = np.divmod(codes, across)
    rows, columns = (np.bincount(of, weights=counts) for of in (of_row, of_column))
    there = counts > 0
    expected = rows[of_row[there]] * columns[of_column[there]]
    phi = float(np.sum(counts[there].astype(np.float64) ** 2 / expected)) - 1
    r, k = np.count_nonzero(rows), np.count_nonzero(columns)
    if min(r, k) < 2:
        return 0.0
    phi -= (r - 1) * (k - 1) / (n - 1)
    most = min(size - (size - 1) ** 2 / (n - 1) for size in (r, k)) - 1
    return math.sqrt(min(max(phi / most, 0.0), 1.0)) if most > 1e-9 else 0.0


def correlation_ratio(groups: np.ndarray, values: np.ndarray) -> float:
    """Return eta, the root of the share of a number's variance that lies between groups.

    Pearson, "On the general theory of skew correlation" (1905).

    Args:
        groups: (n,) whole numbers from 0.
        values: (n,) numbers; those that are NaN are left out.
    """
    there = ~np.isnan(values)
    groups, values = groups[there], values[there]
    if not len(values) or values.min() == values.max():
        return 0.0
    values = values - values.mean()
    sums, sizes = np.bincount(groups, weights=values), np.bincount(groups)
    between = np.sum(sums**2 / np.maximum(sizes, 1))
    return math.sqrt(min(float(between / np.sum(values**2)), 1.0))


def _prepared(column: Values) -> _Prepared:
    if not column.is_number:
        size = len(column.names)  # what is missing is a category more
        codes = [np.where(side < 0, size, side) for side in (column.real, column.made)]
        return _Prepared(False, size + 1, *(_Side(c, c, None, c, c) for c in codes))
    there = column.real[~np.isnan(column.real)]
    low, high = (there.min(), there.max()) if len(there) else (0.0, 0.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    inner = np.linspace(low, high, _BINS + 1)[1:-1]  # all the same where floats end
    sides = [_side_of_numbers(side, inner) for side in (column.real, column.made)]
    return _Prepared(True, _BINS + 1, *sides)


def _side_of_numbers(values: np.ndarray, inner: np.ndarray) -> _Side:
    codes = np.where(np.isnan(values), _BINS, np.digitize(values, inner))
    order = np.unique(values, return_inverse=True)[1].reshape(-1)
    there = ~np.isnan(values)
    if there.any():
        values = values - values[there].mean()
        values = values / (np.abs(values[there]).max() or 1.0)  # whose squares do not overflow
    return _Side(values, codes, None if there.all() else there, order, _ranks(order))


def _pair(columns: tuple[int, int], a: _Prepared, b: _Prepared) -> Pair:
    sides = ((a.real, b.real), (a.made, b.made))
    if a.is_number and b.is_number:
        (real, real_ranks), (made, made_ranks) = (correlations(*side) for side in sides)
        similarity = None if real is None else 1 - abs(real - (made or 0.0)) / 2
        ranks = (real_ranks or 0.0, made_ranks or 0.0)
        real, made = real or 0.0, made or 0.0
        return Pair(columns, PEARSON, real, made, ranks, similarity, abs(real))
    real_codes, made_codes = (first.codes * b.size + second.codes for first, second in sides)
    counts, kept = counted((real_codes, made_codes), a.size * b.size)
    similarity = 1 - total_variation(counts).distance
    joint = [cramers_v(count, kept, b.size) for count in counts]
    if not (a.is_number or b.is_number):
        return Pair(columns, CRAMER, joint[0], joint[1], None, similarity, joint[0])
    etas = [
        correlation_ratio(second.codes, first.values)
        if a.is_number
        else correlation_ratio(first.codes, second.values)
        for first, second in sides
    ]
    return Pair(columns, ETA, etas[0], etas[1], None, similarity, joint[0])


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return None
    a, b = a - a.mean(), b - b.mean()
    found = float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))
    return min(max(found, -1.0), 1.0)


def _ranks(order: np.ndarray) -> np.ndarray:
    """Return mean ranks of values, given their places among all that differ."""
    counts = np.bincount(order)
    return (np.cumsum(counts) - (counts - 1) / 2)[order]
