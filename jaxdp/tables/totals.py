"""Columns that are sums of others: what a schema says of them, and what stands in them."""

import decimal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxdp.tables.columns import NUMERIC, Column
from jaxdp.tables.rules import Rule, Sum

_BOUNDS = ("lower", "upper")


def names(rules: Iterable[Rule]) -> tuple[str, ...]:
    """Return the names of the columns that are computed."""
    return tuple(rule.total for rule in rules if isinstance(rule, Sum))


def last(kept: Iterable[str], rules: Sequence[Rule]) -> list[str]:
    """Return names of columns, totals behind their parts where they do not go in a circle."""
    sums = {rule.total: rule.parts for rule in rules if isinstance(rule, Sum)}

    def depth(name: str, left: int) -> int:
        return 1 + max(depth(part, left - 1) for part in sums[name]) if name in sums and left else 0

    return sorted(kept, key=lambda name: depth(name, len(sums)))


def completed(
    name: str, facts: Mapping[str, Any], rules: Iterable[Rule], columns: Mapping[str, Column]
) -> Mapping[str, Any]:
    """Return what is said of a column; of a total, what is left open follows from its parts.

    Args:
        name: of the column.
        facts: what a file says.
        rules: of the table.
        columns: those that were read before, all parts of a total among them.
    """
    rule = next((r for r in rules if isinstance(r, Sum) and r.total == name), None)
    if rule is None:
        return facts
    found = {**facts}
    if found.get("nullable", False) is None:
        found["nullable"] = True
    parts = [columns[part] for part in rule.parts if part in columns]
    are_known = len(parts) == len(rule.parts) and all(part.is_numeric for part in parts)
    if any(found.get(key) is not None for key in _BOUNDS):
        return found
    if not are_known and found.get("type") == NUMERIC:
        return found | dict(zip(_BOUNDS, (0, 1), strict=True))  # the mistake of a part is told
    if are_known:
        ends = zip(*(part.bounds for part in parts), strict=True)
        found |= dict(zip(_BOUNDS, (_bound(found, parts, end) for end in ends), strict=True))
    return found


def to_json(
    derived: Iterable[Column], rules: Sequence[Rule], columns: Iterable[Column]
) -> dict[str, dict[str, Any]]:
    """Return what a file says of totals; bounds that follow from their parts are left out."""
    known, found = {column.name: column for column in columns}, {}
    for column in derived:
        facts = column.to_json()
        plain = {key: value for key, value in facts.items() if key not in _BOUNDS}
        follow = completed(column.name, plain, rules, known)
        are_same = all(follow.get(key) == facts.get(key) for key in _BOUNDS)
        known[column.name] = column
        found[column.name] = plain if are_same else facts
    return found


def _bound(facts: Mapping[str, Any], parts: Sequence[Column], ends: Sequence[float]) -> Any:
    """Return a sum of bounds, as a file has it."""
    total = exact(list(ends))
    if parts[0].type != NUMERIC:
        return parts[0].moment.write(round(total))
    if facts.get("integer") is True:
        return round(total)
    digits = facts.get("decimals")
    return round(total, digits) if isinstance(digits, int) else total


def exact(numbers: Sequence[float]) -> float:
    """Return the sum of numbers as they are written, in decimals.

    Examples:
        >>> from jaxdp.tables import totals
        >>> 0.1 + 0.2, totals.exact([0.1, 0.2])
        (0.30000000000000004, 0.3)
    """
    each = (decimal.Decimal(repr(float(number))) for number in numbers)
    return float(sum(each, decimal.Decimal()))


def summed(
    total: Column, parts: Sequence[Column], values: Sequence[np.ndarray]
) -> Float[np.ndarray, " n"]:
    """Return the totals of parts (n,), NaN where one is missing; see `rules.Sum`.

    Args:
        total: the column.
        parts: the others.
        values: of each part, as they are written, with NaN for a missing one.
    """
    each = np.column_stack(values)
    gone = np.isnan(each)
    filled = np.where(gone, 0.0, each)
    if all(part.is_whole for part in parts):
        found = filled.sum(axis=1)  # below 2^53 each number is exact
    else:
        found = np.array([exact(row) for row in filled.tolist()])
    return np.where(gone.any(axis=1) & total.nullable, np.nan, found)
