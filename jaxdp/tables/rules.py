"""Rules: public facts about how the columns of a table depend on each other.

A person declares them, as anything else in a schema; none is read off the data.

    {"total": "cost", "sum": ["drugs", "care"]}             cost is always drugs + care
    {"order": ["admitted", "left"], "strict": true}         who left has been admitted before
    {"missing": "weeks", "unless": {"pregnant": "yes"}}     weeks stand where pregnant is yes alone
    {"determined": "state", "by": "city"}                   a city lies in one state

A draft proposes some by names alone, `"proposed": true`, which hold once these words are gone.

They hold in every record that is made (`jaxdp.tables.obeying`). `rule_checks` says which rules a
schema can have.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from jaxdp.tables.columns import SchemaError, as_text, is_number

Value = str | None
"""Of a column, as a schema has it; None is a missing one."""
Choices = tuple[tuple[str, tuple[Value, ...]], ...]
"""Columns, and the values of each that a condition allows."""
PROPOSED = "proposed"
"""The key of a rule that somebody is to accept or to delete; until then it does not hold."""
RANGE = ".."
"""Between the least and the largest number of a range."""


@dataclasses.dataclass(frozen=True)
class Sum:
    """A column that is the sum of others.

    It is not stored, and no method looks at it: it is computed from what is made of its parts. A
    missing part makes it missing, or counts as 0 where the total cannot be missing.

    Attributes:
        total: name of the column.
        parts: names of the others.

    Examples:
        >>> from jaxdp.tables import rules
        >>> print(rules.Sum("cost", ("drugs", "care")))
        cost = drugs + care
    """

    total: str
    parts: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it speaks of."""
        return (self.total, *self.parts)

    def __str__(self) -> str:
        """Return the rule in a few words."""
        return f"{self.total} = {' + '.join(self.parts)}"

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says."""
        return {"total": self.total, "sum": list(self.parts)}


@dataclasses.dataclass(frozen=True)
class Order:
    """Columns of which none is less than the one before. Missing values are left aside.

    Attributes:
        columns: names, the least first.
        strict: whether no two are equal.
    """

    columns: tuple[str, ...]
    strict: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it speaks of."""
        return self.columns

    def __str__(self) -> str:
        """Return the rule in a few words."""
        return (" < " if self.strict else " <= ").join(self.columns)

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says."""
        return {"order": list(self.columns)} | ({"strict": True} if self.strict else {})


@dataclasses.dataclass(frozen=True)
class Skip:
    """A column that is missing unless a condition holds; then it is there.

    Attributes:
        column: its name.
        unless: columns, all of which have one of some values where the column is there. Of numbers
            and dates a value may be a range, as 18..30.
        or_unanswered: whether values may be missing where the condition holds, too.
    """

    column: str
    unless: Choices
    or_unanswered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it speaks of."""
        return (self.column, *(name for name, _ in self.unless))

    def __str__(self) -> str:
        """Return the rule in a few words."""
        each = [
            f"{name} is {' or '.join('missing' if v is None else v for v in values)}"
            for name, values in self.unless
        ]
        return f"{self.column} is missing unless {' and '.join(each)}"

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says."""
        unless = {name: values[0] if len(values) == 1 else list(values)
                  for name, values in self.unless}  # fmt: skip
        more = {"or_unanswered": True} if self.or_unanswered else {}
        return {"missing": self.column, "unless": unless} | more


@dataclasses.dataclass(frozen=True)
class Determined:
    """A column of categories that others tell: records that agree in these agree in it.

    Where one of these is `other` or missing, nothing follows.

    Attributes:
        column: its name.
        by: names of the others.
        map: for values of the others the value of the column, where that is public. Without it, or
            for values that it lacks, the map is taken from what a method releases anyway.
    """

    column: str
    by: tuple[str, ...]
    map: tuple[tuple[tuple[str, ...], Value], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it speaks of."""
        return (self.column, *self.by)

    def __str__(self) -> str:
        """Return the rule in a few words."""
        return f"{' and '.join(self.by)} determine{'s' * (len(self.by) == 1)} {self.column}"

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says."""
        by = self.by[0] if len(self.by) == 1 else list(self.by)
        nested: dict[str, Any] = {}
        for keys, value in self.map:
            at = nested
            for key in keys[:-1]:
                at = at.setdefault(key, {})
            at[keys[-1]] = value
        return {"determined": self.column, "by": by} | ({"map": nested} if nested else {})


Rule = Sum | Order | Skip | Determined
FORMS = (
    '{"total": NAME, "sum": [NAMES]}',
    '{"order": [NAMES]}',
    '{"missing": NAME, "unless": {NAME: VALUE}}',
    '{"determined": NAME, "by": NAME}',
)
# What a file may say of each kind of rule, by the key that tells it.
_KEYS: dict[str, tuple[str, ...]] = {
    "total": ("total", "sum"),
    "order": ("order", "strict"),
    "missing": ("missing", "unless", "or_unanswered"),
    "determined": ("determined", "by", "map"),
}


def from_json(stored: Any) -> Rule:
    """Return a rule that a file says.

    Raises:
        SchemaError: it is none.

    Examples:
        >>> from jaxdp.tables import rules
        >>> print(rules.from_json({"missing": "weeks", "unless": {"pregnant": "yes"}}))
        weeks is missing unless pregnant is yes
    """
    kind = next((key for key in _KEYS if isinstance(stored, Mapping) and key in stored), None)
    if kind is None:
        raise SchemaError(f"must be one of {', '.join(FORMS)}")
    unknown = sorted(set(map(str, stored)) - {*_KEYS[kind], PROPOSED})
    if unknown:
        raise SchemaError(f"{unknown[0]!r} is unknown beside {kind!r}")
    if kind == "total":
        return Sum(_name("total", stored), _names("sum", stored, 2))
    if kind == "order":
        return Order(_names("order", stored, 2), _flag("strict", stored))
    if kind == "missing":
        unless = _unless(stored.get("unless"))
        return Skip(_name("missing", stored), unless, _flag("or_unanswered", stored))
    by = (stored["by"],) if isinstance(stored.get("by"), str) else _names("by", stored, 1)
    return Determined(_name("determined", stored), by, _map(stored.get("map", {}), len(by)))


def is_proposed(stored: Mapping[str, Any]) -> bool:
    """Whether a rule of a file is only proposed.

    Raises:
        SchemaError: the file says neither.
    """
    return _flag(PROPOSED, stored)


def in_turn(rules: Iterable[Rule]) -> tuple[str, ...]:
    """Return the columns that rules speak of, each behind those that it follows from.

    Raises:
        SchemaError: they go round in a circle.
    """
    before: dict[str, list[str]] = {}
    for first, then in _steps(rules):
        before.setdefault(first, [])
        before.setdefault(then, []).append(first)
    found: dict[str, None] = {}
    while len(found) < len(before):
        free = [n for n, each in before.items() if n not in found and set(each) <= set(found)]
        if not free:
            # Whoever is left waits for another one, so going back ends in a circle.
            path = [next(name for name in before if name not in found)]
            while path.count(path[-1]) == 1:
                path.append(next(n for n in before[path[-1]] if n not in found))
            circle = " -> ".join(reversed(path[path.index(path[-1]) :]))
            raise SchemaError(f"they go round in a circle, {circle}: leave one out")
        found |= dict.fromkeys(free)
    return tuple(found)


def _steps(rules: Iterable[Rule]) -> Iterable[tuple[str, str]]:
    """Yield columns and such as follow from them."""
    for rule in rules:
        if isinstance(rule, Order):
            yield from itertools.pairwise(rule.columns)
        else:
            follows, *firsts = rule.names
            yield from ((first, follows) for first in firsts)


def _name(key: str, stored: Mapping[str, Any]) -> str:
    if not isinstance(stored[key], str):
        raise SchemaError(f'"{key}" must be the name of a column')
    return str(stored[key]).strip()


def _names(key: str, stored: Mapping[str, Any], least: int) -> tuple[str, ...]:
    names = stored.get(key)
    are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is None or not are_names or len(set(names)) < max(len(names), least):
        number = "two names of columns or more" if least > 1 else "a name or a list of names"
        raise SchemaError(f'"{key}" must be {number}, each once')
    return tuple(name.strip() for name in names)


def _flag(key: str, stored: Mapping[str, Any]) -> bool:
    if not isinstance(stored.get(key, False), bool):
        raise SchemaError(f'"{key}" must be true or false')
    return bool(stored.get(key, False))


def _unless(stored: Any) -> Choices:
    if not isinstance(stored, Mapping) or not stored:
        raise SchemaError('"unless" must be {COLUMN: VALUE} or {COLUMN: [VALUES]}')
    return tuple((str(name), _values(values)) for name, values in stored.items())


def _values(stored: Any) -> tuple[Value, ...]:
    values = stored if isinstance(stored, list) else [stored]
    if not values or not all(map(_is_value, values)):
        raise SchemaError('"unless": values must be texts, numbers or null, for a missing one')
    return tuple(None if value is None else as_text(value) for value in values)


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, str | bool) or is_number(value)


def _map(stored: Any, depth: int, keys: tuple[str, ...] = ()) -> Any:
    """Return the rows of a map, whose objects lie as deep in each other as there are columns."""
    if len(keys) == depth:
        if not _is_value(stored):
            raise SchemaError('"map" must end in values: texts, numbers or null')
        return ((keys, None if stored is None else as_text(stored)),)
    if not isinstance(stored, Mapping):
        raise SchemaError('"map" must be {VALUE: VALUE}, one object in another for each of "by"')
    each = [_map(value, depth, (*keys, as_text(key))) for key, value in stored.items()]
    return tuple(row for rows in each for row in rows)
