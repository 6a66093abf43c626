"""Numbers as users give them: NumPy's become Python's, which JSON can hold.

NumPy is not imported for that, so that commands start fast.
"""

import dataclasses
import numbers
from typing import Any

MOST_RECORDS_PER_PERSON = 100
"""More would take accountants minutes, and leave nothing of the data."""


def plain(value: Any) -> Any:
    """Return a number as Python has it, and a tuple of such numbers; all else as it is.

    Examples:
        >>> import numpy as np
        >>> from jaxdp import plain_numbers
        >>> plain_numbers.plain(np.int64(3)), plain_numbers.plain((np.float32(0.5), "a"))
        (3, (0.5, 'a'))
    """
    if any(
        each.__module__ == "numpy" and each.__name__ == "generic" for each in type(value).__mro__
    ):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return tuple(map(plain, value)) if type(value) is tuple else value


def settle(instance: Any) -> None:
    """Make the numbers in all fields of a frozen dataclass plain ones; it is being made."""
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        object.__setattr__(instance, field.name, plain(value))


def records_per_person(number: Any, name: str) -> int:
    """Return how many records one person has at most, as Python's number.

    Args:
        number: as it was given.
        name: of the argument, for the error.

    Raises:
        ValueError: it is no whole number from 1 to `MOST_RECORDS_PER_PERSON`.
    """
    is_whole = isinstance(number, numbers.Integral) and not isinstance(number, bool)
    if not is_whole or not 1 <= number <= MOST_RECORDS_PER_PERSON:
        raise ValueError(
            f"{name} must be a whole number from 1 to {MOST_RECORDS_PER_PERSON}, got {number}"
        )
    return int(number)
