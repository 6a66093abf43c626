"""Numbers of a column as they are written: with the digits that it has, never beyond its bounds."""

import numpy as np
from jaxtyping import Float

from jaxdp.tables.columns import Column
from jaxdp.tables.layout import values_at

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
        values = np.clip(_rounded(values, column), *column.bounds)
    return np.where(stored < 0, np.nan, values)


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
