"""Public grids on which numbers are counted whose bounds nobody knows.

`scales` is for a first look. It cuts the numbers at 0 and at powers of 2 of both signs, and dates
at years, so that cells fit whatever a column's unit is. `leaves` is for the second: by what the
first look has released it cuts the part that is in use into a few thousand cells, the more of them
the more records are there, at round numbers.
"""

import dataclasses
import datetime
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxdp.tables import dtypes
from jaxdp.tables.columns import NUMERIC, Column
from jaxdp.tables.moments import DATE, TIMESTAMP

NUM_LEAVES = 4096
_LEAST_POWER, _LARGEST_POWER = -20, 45
_FIRST_YEAR, _LAST_YEAR = 1900, 2101
_DAY = 86400 * 10**6  # microseconds
_STEPS = (1, 2, 5)


def scales(column: Column) -> Float[np.ndarray, " k"]:
    """Return where numbers of a column are cut for a first look, k edges of k + 1 cells.

    None lies where a column's format or type of pandas has no bound.

    Examples:
        >>> import jaxdp
        >>> age = jaxdp.tables.Column(name="age", type="numeric", lower=0, upper=1, integer=True)
        >>> edges = jaxdp.bought.grids.scales(age)
        >>> edges[len(edges) // 2 :][:5].tolist()
        [0.0, 1.0, 2.0, 4.0, 8.0]
    """
    if column.type in (DATE, TIMESTAMP):
        epoch = datetime.date(1970, 1, 1).toordinal()
        days = [datetime.date(y, 1, 1).toordinal() for y in range(_FIRST_YEAR, _LAST_YEAR + 1)]
        found = [column.moment.cut((day - epoch) * _DAY) for day in days]
        return _possible(column, np.unique(np.array(found, np.float64)))
    step = finest(column)
    least = math.ceil(math.log2(step)) if step else _LEAST_POWER
    powers = 2.0 ** np.arange(least, _LARGEST_POWER + 1)
    return _possible(column, np.concatenate([-powers[::-1], [0.0], powers]))


def _possible(column: Column, edges: Float[np.ndarray, " k"]) -> Float[np.ndarray, " _"]:
    """Return the edges at which a column's numbers may begin, or end."""
    apart = 0.0 if column.is_whole else 0.25  # so that large ones differ in float64
    steps = np.maximum(apart * np.abs(edges), finest(column) or 1e-9)
    begins, ends = (
        np.array([_fits(column, *each) for each in zip(edges + a, edges + b, strict=True)])
        for a, b in ((0 * steps, steps), (-2 * steps, -steps))
    )
    kept = edges[begins | ends]
    return kept if len(kept) > 1 else edges


def _fits(column: Column, low: float, high: float) -> bool:
    """Whether a schema may have such bounds of a column, and they are read as they are written."""
    try:
        if column.type == NUMERIC:
            digits = 9 if column.decimals is None else column.decimals
            ends: list[Any] = [
                round(end) if column.integer else round(end, digits) for end in (low, high)
            ]
        else:
            ends = [column.moment.write(round(end)) for end in (low, high)]
        lower, upper = ends
        found = dataclasses.replace(
            column, lower=lower, upper=upper, bins=1, spikes=(), nullable=False
        )
    except (ValueError, OverflowError):
        return False
    is_read = column.type == NUMERIC or found.bounds == (low, high)
    return is_read and dtypes.fault(found) is None


def likely(column: Column, edges: Float[np.ndarray, " k"]) -> Float[np.ndarray, " _"]:
    """Return how likely numbers are to lie in each of k - 1 cells before anything is known; a log.

    Numbers of tables are seldom below 0, and mostly of a few digits; dates are of our time. It only
    decides where noise hides all else.
    """
    middles = (edges[:-1] + edges[1:]) / 2
    if column.type in (DATE, TIMESTAMP):
        epoch = datetime.date(1970, 1, 1).toordinal()
        now, then = (
            column.moment.cut((datetime.date(year, 1, 1).toordinal() - epoch) * _DAY)
            for year in (_USUAL_YEAR, _USUAL_YEAR - _YEARS)
        )
        return -0.5 * ((middles - now) / (now - then)) ** 2
    powers = np.log2(np.maximum(np.abs(middles), 2.0**_LEAST_POWER))
    far = -0.5 * ((powers - _USUAL_POWER) / _POWERS) ** 2
    is_zero = edges[:-1] == 0
    return np.where(is_zero, 0.0, np.where(middles < 0, far - _BELOW_ZERO, far))


_USUAL_YEAR, _YEARS = 2005, 20
_USUAL_POWER, _POWERS, _BELOW_ZERO = 5, 6, 3.0


def finest(column: Column) -> float:
    """Return the least distance of two numbers as a column writes them; 0 where nothing says so."""
    if column.is_whole:
        return 1.0
    return 0.0 if column.decimals is None else 10.0**-column.decimals


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
        if high <= low:  # they differ by less than the column can write
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
