"""Random questions about three columns at once: which share of records answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxdp.program.evaluation.fidelity.shares import by_chance
from jaxdp.program.evaluation.fidelity.values import Values

_NUM, _WAY = 200, 3


class Query(NamedTuple):
    """A question.

    Attributes:
        text: its conditions, each of another column; all of them are asked for.
        real: share of private records that it is true of.
        made: share of made records.
        by_chance: about what shares of two samples of one distribution differ by.
    """

    text: str
    real: float
    made: float
    by_chance: float

    @property
    def error(self) -> float:
        """Absolute difference of the shares."""
        return abs(self.real - self.made)


class _Condition(NamedTuple):
    text: str
    real: np.ndarray
    made: np.ndarray


def compare(columns: Sequence[Values]) -> list[Query]:
    """Ask 200 random questions of three columns, or of all where there are fewer.

    A condition is a category that a private record has, each as likely as any other, or an interval
    between two random quantiles of private numbers, ends included. The seed is public.
    """
    rng = np.random.default_rng(0)
    return [_asked(columns, rng) for _ in range(_NUM)]


def _asked(columns: Sequence[Values], rng: np.random.Generator) -> Query:
    chosen = np.sort(rng.choice(len(columns), min(_WAY, len(columns)), replace=False))
    conditions = [_condition(columns[place], rng) for place in chosen]
    real, made = (
        np.logical_and.reduce([getattr(each, side) for each in conditions])
        for side in ("real", "made")
    )
    both = (real.sum() + made.sum()) / (len(real) + len(made))
    chance = float(by_chance(both, len(real), len(made)))
    text = " and ".join(each.text for each in conditions)
    return Query(text, float(real.mean()), float(made.mean()), chance)


def _condition(column: Values, rng: np.random.Generator) -> _Condition:
    if not column.is_number:
        category = rng.choice(np.unique(column.real))
        name = "missing" if category < 0 else column.names[category]
        text = f"{column.name} = {name}"
        return _Condition(text, column.real == category, column.made == category)
    there = column.real[~np.isnan(column.real)]
    shares = np.sort(rng.random(2))
    if not len(there):
        return _Condition(f"{column.name} = missing", *map(np.isnan, (column.real, column.made)))
    low, high = np.quantile(there, shares, method="inverted_cdf")
    first, last = column.written(low), column.written(high)
    text = f"{column.name} = {first}" if low == high else f"{column.name} from {first} to {last}"
    inside = [(side >= low) & (side <= high) for side in (column.real, column.made)]
    return _Condition(text, *inside)
