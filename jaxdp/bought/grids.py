"""Finer grids on which numbers are counted whose bounds nobody knows.

A first look counts them on `jaxdp.tables.scales`. By what that has released, `leaves` cuts the part
that is in use into a few thousand cells, the more of them the more records are there, at round
numbers.
"""

import math

import numpy as np
from jaxtyping import Float

from jaxdp.tables.columns import Column
from jaxdp.tables.moments import DATE, TIMESTAMP
from jaxdp.tables.scales import LEAST_POWER, finest, start_of_year

NUM_LEAVES = 4096
_STEPS = (1, 2, 5)


def likely(column: Column, edges: Float[np.ndarray, " k"]) -> Float[np.ndarray, " _"]:
    """Return how likely numbers are to lie in each of k - 1 cells before anything is known; a log.

    Numbers of tables are seldom below 0, and mostly of a few digits; dates are of our time. It only
    decides where noise hides all else.
    """
    middles = (edges[:-1] + edges[1:]) / 2
    if column.type in (DATE, TIMESTAMP):
        now, then = (
            column.moment.cut(start_of_year(year)) for year in (_USUAL_YEAR, _USUAL_YEAR - _YEARS)
        )
        return np.maximum(-0.5 * ((middles - now) / (now - then)) ** 2, _LEAST_LIKELY)
    powers = np.log2(np.maximum(np.abs(middles), 2.0**LEAST_POWER))
    far = np.maximum(-0.5 * ((powers - _USUAL_POWER) / _POWERS) ** 2, _LEAST_LIKELY)
    is_zero = edges[:-1] == 0
    return np.where(is_zero, 0.0, np.where(middles < 0, far - _BELOW_ZERO, far))


_USUAL_YEAR, _YEARS = 2005, 20
_USUAL_POWER, _POWERS, _BELOW_ZERO = 5, 6, 3.0
# So far out counts say where numbers lie: as many as nearly seven times their noise.
_LEAST_LIKELY = -22.0


def is_one_value(column: Column, low: float, high: float) -> bool:
    """Whether [low, high) has one number that a column may write."""
    return high - low < 1.5 * finest(column)


def leaves(
    edges: Float[np.ndarray, " k"], shares: Float[np.ndarray, " _"], column: Column
) -> Float[np.ndarray, " _"]:
    """Return the edges of m cells between the first of given edges and the last.

    Args:
        edges: of the part in use, ascending.
        shares: noisy shares of the records between them.
        column: whose numbers they are.
    """
    weights = np.maximum(shares, 0.0)
    weights = weights / max(float(weights.sum()), 1e-300) + 0.25 / len(weights)
    if column.decimals is not None:
        edges = np.round(edges, column.decimals)
    found = [edges]
    for low, high, weight in zip(edges[:-1], edges[1:], weights / weights.sum(), strict=True):
        # Less than the column can write, or no more than an upper bound.
        if high <= math.nextafter(low, math.inf):
            continue
        step = max(_round_up((high - low) / max(NUM_LEAVES * weight, 1.0)), finest(column))
        first, last = math.ceil(low / step), math.ceil(high / step)
        found.append(_multiples(step, np.arange(first, last)))
    joined = np.unique(np.concatenate(found))
    return joined[(joined >= edges[0]) & (joined <= edges[-1])]


def roundest(low: float, high: float) -> float:
    """Return the number in [low, high) that has the fewest digits, 0 if it is there.

    Examples:
        >>> from jaxdp.bought import grids
        >>> grids.roundest(97.5, 102.5), grids.roundest(-203.0, -198.0), grids.roundest(-1.0, 1.0)
        (100.0, -200.0, 0.0)
    """
    if low <= 0 < high:
        return 0.0
    if high <= math.nextafter(low, math.inf):
        return low
    power = math.ceil(math.log10(max(abs(low), abs(high)))) + 1
    while True:
        for factor in (1.0, 0.5):
            unit = factor * 10.0**power
            found = float(_multiples(unit, np.array([math.ceil(low / unit)]))[0])
            if low <= found < high:
                return found
        power -= 1


def _multiples(step: float, numbers: np.ndarray) -> np.ndarray:
    """Return multiples of a round step, of steps below 1 with no more digits than it has."""
    if step >= 1:
        return numbers * step
    digits = 1 - math.floor(math.log10(step))
    return np.round(numbers * step, digits)


def _round_up(value: float) -> float:
    """Return the least of 1, 2, 5 times powers of 10 that is no less."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in _STEPS if step * power >= value), 10 * power)
