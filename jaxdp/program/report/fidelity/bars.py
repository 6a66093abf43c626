"""What a histogram of both tables counts: bins of numbers, or the most frequent categories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity.values import Values

MOST_CATEGORIES = 20
_BINS, _OUTSIDE = 30, 0.005


class Bar(NamedTuple):
    """A bar for each of both tables.

    Attributes:
        text: what its values are.
        real: share of private records.
        made: share of made ones.
        inside: whether it is one of many beside each other, and not what lies apart from them.
    """

    text: str
    real: float
    made: float
    inside: bool = True


class Histogram(NamedTuple):
    """Bars of a column, and the texts of both ends of the numbers; these are empty elsewhere."""

    bars: list[Bar]
    ends: tuple[str, str]


def histogram(column: Values) -> Histogram:
    """Return the bars of a column, those of missing values last if there are any."""
    return _of_numbers(column) if column.is_number else Histogram(_of_categories(column), ("", ""))


def _of_numbers(column: Values) -> Histogram:
    sides = (column.real, column.made)
    there = [side[~np.isnan(side)] for side in sides]
    if not len(np.concatenate(there)):
        return Histogram(_missing(*(np.isnan(side) for side in sides)), ("", ""))
    edges = _edges(column, *there)
    cells = [
        np.bincount(_cells(side, edges), minlength=len(edges) + 1) / len(whole)
        for side, whole in zip(there, sides, strict=True)
    ]
    first, last = edges[0], edges[-1]
    if column.declared.is_whole:
        first, last = np.ceil(first) + 0.0, np.floor(last)  # and no -0
    ends = (column.written(first), column.written(last))
    texts = [f"below {ends[0]}", *_between(column, edges), f"above {ends[1]}"]
    found = [
        Bar(text, float(cells[0][at]), float(cells[1][at]), 0 < at < len(edges))
        for at, text in enumerate(texts)
    ]
    kept = [bar for bar in found if bar.inside or bar.real or bar.made]
    return Histogram(kept + _missing(*(np.isnan(side) for side in sides)), ends)


def _edges(column: Values, real: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Return the edges of up to 30 bins between two quantiles of private values.

    Of numbers of which nearly all are the same, between the least and the largest of both tables.
    """
    outside = [_OUTSIDE, 1 - _OUTSIDE]
    low, high = np.quantile(real if len(real) else made, outside, method="inverted_cdf")
    if low == high:
        both = np.concatenate([real, made])
        low, high = both.min(), both.max()
    if column.declared.is_whole:
        width = max(1, np.ceil((high - low + 1) / _BINS))
        return low - 0.5 + width * np.arange(np.ceil((high - low + 1) / width) + 1)
    return np.linspace(low, high, _BINS + 1) if low < high else np.array([low, high])


def _cells(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the place of each value: 0 below the first edge, one past the last bin above it."""
    found = np.searchsorted(edges, values, side="right")
    return np.where(values == edges[-1], len(edges) - 1, found)


def _between(column: Values, edges: np.ndarray) -> list[str]:
    low, high = edges[:-1], edges[1:]
    if column.declared.is_whole:
        low, high = np.ceil(low) + 0.0, np.floor(high) + 0.0
    texts = [(column.written(a), column.written(b)) for a, b in zip(low, high, strict=True)]
    return [a if a == b else f"{a} to {b}" for a, b in texts]


def _of_categories(column: Values) -> list[Bar]:
    size = len(column.names)
    shares = np.stack(
        [
            np.bincount(side[side >= 0], minlength=size) / len(side)
            for side in (column.real, column.made)
        ]
    )
    order = np.argsort(-shares.sum(axis=0), kind="stable")
    shown = order[:MOST_CATEGORIES]
    if column.declared.type != "categorical" or len(order) <= 3:  # as the schema has them
        shown = np.sort(shown)
    found = [Bar(column.names[at], float(shares[0, at]), float(shares[1, at])) for at in shown]
    left = shares[:, order[MOST_CATEGORIES:]].sum(axis=1)
    if left.any():
        text = f"{size - MOST_CATEGORIES} others"
        found.append(Bar(text, float(left[0]), float(left[1]), inside=False))
    return found + _missing(column.real < 0, column.made < 0)


def _missing(real: np.ndarray, made: np.ndarray) -> list[Bar]:
    if not (real.any() or made.any()):
        return []
    return [Bar("missing", float(real.mean()), float(made.mean()), inside=False)]
