"""How near a synthetic table comes to the private one, before anything is spent.

Two things hide the shares of a pair of columns with K cells: that n records are a sample, and the
noise of its counts, which share epsilon with those of the other P pairs:

    t = sqrt(K / n) + 0.05 K sqrt(P) / (n epsilon)

Measured tables have about `log(missing / overlap) = a + b log t`, where the overlap of pairs and
what is missing are 1 together. Tables differ about this line: the interval is Student's for one
more table. All of it is public: nothing here sees data.

References:
    Draper & Smith (1998), "Applied regression analysis", section 3.1 (prediction intervals).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from jaxdp.data import Spec
from jaxdp.methods.marginals.settings import MOST_PAIRED
from jaxdp.program.runs.measured import TABLES, TablePoint
from jaxdp.program.runs.pair_cells import pair_cells

# Part of the noise that is left in what a model makes of counts: the best of 0.01 to 2 by the error
# of tables that were left out.
_LEFT = 0.05
# How far t may be from that of measured tables to be called like them, as a factor.
_FAR = 3.0
BAND = 0.8
"""The part of further tables that intervals are to hold."""


class Overlap(NamedTuple):
    """The overlap of pairs, in percent: where four of five tables are, and the middle."""

    low: float
    middle: float
    high: float


class _Line(NamedTuple):
    """A line through measured tables.

    Attributes:
        coefficients: a and b.
        inverse: of the tables' moments (2, 2).
        deviation: of a table about the line.
        freedom: tables less two.
    """

    coefficients: np.ndarray
    inverse: np.ndarray
    deviation: float
    freedom: int

    def at(self, t: float) -> Overlap:
        """Return the overlap where so much is hidden."""
        from scipy.stats import t as student  # takes a while

        row = np.array([1.0, math.log(t)])
        middle = float(row @ self.coefficients)
        half = float(student.ppf((1 + BAND) / 2, self.freedom)) * self.deviation
        half *= math.sqrt(1 + row @ self.inverse @ row)
        return Overlap(
            *(100 / (1 + math.exp(each)) for each in (middle + half, middle, middle - half))
        )


def hidden(point: TablePoint | Spec, epsilon: float) -> float:
    """Return t of a measured table, or of a table by its schema.

    Args:
        point: of the table.
        epsilon: infinity for none.
    """
    if isinstance(point, TablePoint):
        cells, columns, most = point.pair_cells, point.num_columns, 1
    else:
        assert point.schema is not None
        cells, columns = pair_cells(point.schema), len(point.schema.declared)
        most = point.records_per_person  # noise is as many times larger
    n, pairs = point.num_examples, columns * (columns - 1) / 2
    return math.sqrt(cells / n) + _LEFT * cells * math.sqrt(pairs) * most / (n * epsilon)


def can_tell(spec: Spec) -> str:
    """Return why nothing is expected of a table; empty where something is."""
    if spec.schema is None:
        return "only tables with a schema have been measured"
    columns = len(spec.schema.declared)
    if columns < 2:
        return "a table of one column has no pairs"
    if columns > MOST_PAIRED:
        return f"no table of more than {MOST_PAIRED} columns has been measured"
    return ""


def is_like(spec: Spec, epsilon: float) -> bool:
    """Whether measured tables are about as much hidden by sampling and noise."""
    known = [hidden(point, point.epsilon) for point in _of("model", ())]
    return min(known) / _FAR <= hidden(spec, epsilon) <= max(known) * _FAR


def overlaps(
    spec: Spec, epsilons: Sequence[float], *, without: Collection[str] = ()
) -> list[Overlap]:
    """Return what a synthetic table of `jaxdp table` is likely to have.

    Args:
        spec: facts about a table of which `can_tell` says nothing.
        epsilons: budgets.
        without: names of measured tables that are left out, to see whether they would be held.
    """
    line = _through(_of("model", without))
    return [line.at(hidden(spec, epsilon)) for epsilon in epsilons]


def again(point: TablePoint, *, without: Collection[str] = ()) -> Overlap:
    """Return what a measured table is likely to have, by others than those that are left out."""
    return _through(_of("model", without)).at(hidden(point, point.epsilon))


def ends(spec: Spec, *, without: Collection[str] = ()) -> tuple[float, float]:
    """Return the overlap of columns made one by one, and that of the records drawn anew in cells.

    Both are the middle of measured tables.
    """
    found = []
    for method in ("independent", "cells"):
        points = _of(method, without)
        # Of each table its largest epsilon alone: noise is no part of it.
        most = {
            point.data: max(p.epsilon for p in points if p.data == point.data) for point in points
        }
        line = _through(
            [point for point in points if point.epsilon == most[point.data]], noise=False
        )
        found.append(line.at(hidden(spec, math.inf)).middle)
    return found[0], max(found)


def names(*, without: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of the measured tables."""
    return tuple(dict.fromkeys(_table(point) for point in _of("model", without)))


def held_out(data: str) -> tuple[str, ...]:
    """Return the names of a table's points: a part of a table is no other table."""
    return tuple({point.data for point in TABLES if _table(point) == data.removesuffix(" all")})


def _table(point: TablePoint) -> str:
    return point.data.removesuffix(" all")


def _of(method: str, without: Collection[str]) -> list[TablePoint]:
    return [point for point in TABLES if point.method == method and point.data not in without]


def _through(points: Sequence[TablePoint], *, noise: bool = True) -> _Line:
    """Return the line of least squares, in which every table weighs the same."""
    tables = [_table(point) for point in points]
    weights = np.array([1 / tables.count(table) for table in tables])
    t = [hidden(point, point.epsilon if noise else math.inf) for point in points]
    rows = np.stack([np.ones(len(t)), np.log(t)], axis=1)
    missing = np.log([100 / point.overlap - 1 for point in points])
    inverse = np.linalg.inv(rows.T @ (weights[:, None] * rows))
    coefficients = inverse @ rows.T @ (weights * missing)
    freedom = len(set(tables)) - 2
    deviation = math.sqrt(float(weights @ (missing - rows @ coefficients) ** 2) / freedom)
    return _Line(coefficients, inverse, deviation, freedom)
