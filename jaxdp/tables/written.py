"""Numbers of a column as they are written: with the digits that it has, never beyond its bounds.

Values that many records have, its spikes, are written as they are declared.
"""

import numpy as np
from jaxtyping import Float

from jaxdp.tables.columns import Column
from jaxdp.tables.layout import ends_of_bins, values_at

# Digits of a number that is no whole number, and of its distance from others between the bounds.
_DIGITS = 6


def numbers(column: Column, stored: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the numbers that stand in a table made for values as stored; NaN for missing ones.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.tables import written
        >>> cost = jaxdp.tables.Column(name="cost", type="numeric", lower=0, upper=9, decimals=2)
        >>> written.numbers(cost, np.array([0.123456, -1.0]))
        array([1.11,  nan])
    """
    values = values_at(column, stored)
    if not column.is_whole:
        low, end = ends_of_bins(column, stored)
        rounded = np.clip(_rounded(values, column), *column.bounds)
        if column.decimals is not None:
            rounded = _within_bins(rounded, low, end, column)
        values = _with_spikes(rounded, low, end, column)
    return np.where(stored < 0, np.nan, values)


def _with_spikes(
    rounded: np.ndarray, low: np.ndarray, end: np.ndarray, column: Column
) -> Float[np.ndarray, " n"]:
    """Return rounded numbers, and each spike with all of its digits."""
    spikes = column.numbers_of_spikes
    # The bin of a spike is as short as float64 has it, and the upper bound's ends with it.
    is_one = end <= np.nextafter(low, np.inf)
    is_last = is_one & (end == column.bounds[1]) & np.isin(end, spikes)
    return np.where(is_one & np.isin(low, spikes), low, np.where(is_last, end, rounded))


def _within_bins(
    rounded: np.ndarray, low: np.ndarray, end: np.ndarray, column: Column
) -> np.ndarray:
    """Return rounded numbers, and in the place of those that have left their bins the first there.

    A bin ends before its edge: one of a single number, as of costs of 0, would have two of them.
    The first number of a bin has half of what others have, and what leaves it is the other half.
    """
    assert column.decimals is not None
    step = 10.0**-column.decimals
    nearly = 1e-6 * step  # edges have lost some digits
    first = step * np.ceil((low - nearly) / step)
    has_left = (rounded > end - nearly) & (end < column.bounds[1]) | (rounded < first - nearly)
    has_left &= first < end - nearly
    return np.where(has_left, [round(float(each), column.decimals) for each in first], rounded)


def _rounded(values: np.ndarray, column: Column) -> np.ndarray:
    """Return numbers with `_DIGITS` digits, or so many of the distance between the bounds."""
    low, high = column.bounds
    if column.decimals is not None:
        return np.array([round(float(value), column.decimals) for value in values])
    sizes = np.clip(np.abs(values), 1e-290, high - low)
    return np.array(
        [
            round(float(value), _DIGITS - 1 - int(digits))
            for value, digits in zip(values, np.floor(np.log10(sizes)), strict=True)
        ]
    )
