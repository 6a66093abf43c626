"""Types of what a file holds, checked before anything is computed from it."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from jaxdp.escapes import for_terminal

Check = Callable[[Any], Any]
"""Returns a value as it is to be used; raises a `TypeError` for one of another type."""
LONGEST_TEXT, LONGEST_LIST = 2000, 1000


def checked(stored: Any, fields: Mapping[str, Check]) -> dict[str, Any]:
    """Return the fields of a JSON object, each checked; those that are not there stay so.

    Raises:
        TypeError: it is none, has another field, or one is of another type.
    """
    if not isinstance(stored, Mapping):
        raise TypeError("it is no JSON object")
    unknown = stored.keys() - fields.keys()
    if unknown:
        raise TypeError(f"{min(unknown)[:40]} is unknown")
    return {name: field(name, stored[name], fields[name]) for name in stored}


def field(name: str, value: Any, check: Check) -> Any:
    """Return a value that is checked; the `TypeError` for another names it."""
    try:
        return check(value)
    except TypeError as error:
        raise TypeError(f"{name} is {error}: {str(value)[:40]}") from error


def number(value: Any) -> float | int:
    """Return a finite number, which float64 has."""
    try:
        is_finite = not isinstance(value, bool) and math.isfinite(value)
    except (TypeError, OverflowError):
        is_finite = False
    if not (is_finite and isinstance(value, (int, float))):
        raise TypeError("no number")
    return value


def whole(value: Any) -> int:
    """Return a whole number."""
    if type(value) is not int:
        raise TypeError("no whole number")
    return value


def flag(value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def text(value: Any) -> str:
    """Return a text that is not long, as one line without marks that steer a terminal."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise TypeError(f"no text of at most {LONGEST_TEXT} letters")
    return for_terminal(value)


def list_of(check: Check) -> Check:
    """Return the check of a list that is not long."""

    def values(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > LONGEST_LIST:
            raise TypeError(f"no list of at most {LONGEST_LIST}")
        return tuple(map(check, value))

    return values


def or_none(check: Check) -> Check:
    """Return the check of what may be left out."""
    return lambda value: None if value is None else check(value)
