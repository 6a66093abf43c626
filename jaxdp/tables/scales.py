"""Public grids of a first look at numbers whose bounds nobody knows.

Numbers are cut at 0 and at powers of 2 of both signs, and dates at years, so that cells fit
whatever a column's unit is. The grids follow from what a column declares. Beyond their ends a first
look tells nothing apart: `beyond` says whether bounds that were bought may hide more.
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

LEAST_POWER, _LARGEST_POWER = -20, 100
# Years of our time are told apart, those before and after by tens and hundreds.
_YEARS = (
    1,
    *range(100, 1600, 100),
    *range(1600, 1900, 10),
    *range(1900, 2101),
    *range(2110, 2200, 10),
    *range(2200, 10000, 100),
    9999,
)
_DAY = 86400 * 10**6  # microseconds
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_LAST = (datetime.date.max.toordinal() + 1 - _EPOCH) * _DAY - 1
_NEARLY = 1 - 1e-9  # edges are rounded to a column's decimals


def scales(column: Column) -> Float[np.ndarray, " k"]:
    """Return where numbers of a column are cut for a first look, k edges of k + 1 cells.

    None lies where a column's format or type of pandas has no bound: whole numbers end at 2^53,
    others at 2^100, and dates with the year 9999, or where their format ends.

    Examples:
        >>> import jaxdp
        >>> from jaxdp.tables.scales import scales
        >>> age = jaxdp.tables.Column(name="age", type="numeric", lower=0, upper=1, integer=True)
        >>> edges = scales(age)
        >>> edges[len(edges) // 2 :][:5].tolist(), bool(edges[-1] == 2**53)
        ([0.0, 1.0, 2.0, 4.0, 8.0], True)
    """
    if column.type in (DATE, TIMESTAMP):
        found = [column.moment.cut(start_of_year(year)) for year in _YEARS]
        found.append(column.moment.cut(_LAST) + 1)
        return _possible(column, np.unique(np.array(found, np.float64)))
    step = finest(column)
    least = math.ceil(math.log2(step)) if step else LEAST_POWER
    powers = 2.0 ** np.arange(least, _LARGEST_POWER + 1)
    return _possible(column, np.concatenate([-powers[::-1], [0.0], powers]))


def start_of_year(year: int) -> int:
    """Return the microseconds from 1970 to the beginning of a year."""
    return (datetime.date(year, 1, 1).toordinal() - _EPOCH) * _DAY


def beyond(column: Column) -> tuple[bool, bool]:
    """Return whether bounds lie at the lower and the upper end of the grid, with more beyond them.

    Args:
        column: whose bounds were bought.

    Examples:
        >>> import jaxdp
        >>> from jaxdp.tables.scales import beyond
        >>> number = dict(name="x", type="numeric", integer=True)
        >>> beyond(jaxdp.tables.Column(**number, lower=0, upper=2**53 - 1))
        (False, True)
    """
    edges, (low, high) = scales(column), column.bounds
    is_first = bool(low <= edges[0] * (_NEARLY if edges[0] < 0 else 1))
    is_last = bool(high + column.is_whole >= edges[-1] * _NEARLY)
    return is_first and _can_be(column, low - 1), is_last and _can_be(column, high + 1)


def _can_be(column: Column, number: float) -> bool:
    """Whether a column may write such a number; all formats of numbers may."""
    if column.type == NUMERIC:
        return True
    try:
        return column.moment.read(column.moment.write(round(number))) == number
    except (ValueError, OverflowError):
        return False


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


def finest(column: Column) -> float:
    """Return the least distance of two numbers as a column writes them; 0 where nothing says so."""
    if column.is_whole:
        return 1.0
    return 0.0 if column.decimals is None else 10.0**-column.decimals
