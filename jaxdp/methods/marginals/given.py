"""Conditions on the records to make: `region=North,age=18..30`; post-processing."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxdp.methods.settings import SettingsError
from jaxdp.tables import cells, obeying
from jaxdp.tables.columns import Column, SchemaError
from jaxdp.tables.schema import Schema
from jaxdp.tables.written import numbers

_RANGE = ".."


class Condition(NamedTuple):
    """What holds of a column.

    Attributes:
        column: name.
        holds: `(stored values (n,)) -> (n,)`; of the target, of classes; of totals, of numbers as
            they are written, NaN where missing.
    """

    column: str
    holds: Callable[[np.ndarray], np.ndarray]


class Given(NamedTuple):
    """What holds of every record made.

    Attributes:
        schema: of the records.
        conditions: all of them hold.
    """

    schema: Schema
    conditions: tuple[Condition, ...]

    def holds(
        self, x: Float[np.ndarray, "n q"], y: Int[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Return which records, as stored, and their classes meet all conditions.

        Records obey the rules of the schema already.
        """
        values = {column.name: x[:, at] for at, column in enumerate(self.schema.columns)}
        if any(condition.column not in values for condition in self.conditions):
            values |= obeying.of_totals(x, self.schema)
        found = np.ones(len(x), bool)
        for name, holds in self.conditions:
            found &= holds(values.get(name, y))
        return found


def parse(text: str, schema: Schema) -> Given:
    """Return the conditions that a text says.

    Args:
        text: `column=value`, or `column=low..high` of numbers and dates, commas between. A missing
            value is an empty one.
        schema: of the table.

    Raises:
        SettingsError: it names no column, or a value that the column cannot have.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.methods.marginals import given
        >>> age = jaxdp.tables.Column(name="age", type="numeric", lower=0, upper=100)
        >>> schema = jaxdp.tables.Schema(columns=(age,), target=None, order=("age",))
        >>> found = given.parse("age=18..30", schema)
        >>> found.holds(np.array([[0.2], [0.5]]), np.zeros(2, int)).tolist()
        [True, False]
    """
    columns = {column.name: column for column in (*schema.declared, *schema.derived)}
    found = [_condition(part, columns, schema) for part in _parts(text, list(columns))]
    return Given(schema, tuple(found))


def require_columns(text: str, schema: Schema) -> None:
    """Raise a `SettingsError` where a text names no column of a schema, whatever its values are."""
    columns = {column.name: column for column in (*schema.declared, *schema.derived)}
    for part in _parts(text, list(columns)):
        _of_column(part, columns)


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Return the parts of a text; a comma that no column follows belongs to a value."""
    starts = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.split(rf",(?=\s*(?:{starts})\s*=)", text)


def _condition(part: str, columns: dict[str, Column], schema: Schema) -> Condition:
    column, value = _of_column(part, columns)
    if column.is_numeric:
        return Condition(column.name, _between(column, value, schema))
    return Condition(column.name, _equal(column, value, schema))


def _of_column(part: str, columns: dict[str, Column]) -> tuple[Column, str]:
    """Return the column that a part names, and what it says of it."""
    name, equals, value = (each.strip() for each in part.partition("="))
    if not equals or name not in columns:
        known = ", ".join(columns)
        raise SettingsError(f"--given={part}: say COLUMN=VALUE; columns are {known}")
    return columns[name], value


def _equal(column: Column, value: str, schema: Schema) -> Callable[[np.ndarray], np.ndarray]:
    if column is schema.target:
        groups = list(schema.groups.values())
        places = [number for number, group in enumerate(groups) if value in group]
        places = [schema.class_names.index(value)] if value in schema.class_names else places
    elif value in column.values:
        places = [column.values.index(value)]
    else:
        places = [len(column.values)] if _is_missing(column, value, schema) else []
    if not places:
        known = ", ".join(schema.class_names if column is schema.target else column.values)
        raise SettingsError(f"--given={column.name}={value}: it can be {known}")
    return lambda stored: stored == places[0]


def _between(column: Column, value: str, schema: Schema) -> Callable[[np.ndarray], np.ndarray]:
    is_total = column in schema.derived
    if _is_missing(column, value, schema):
        return np.isnan if is_total else lambda stored: stored < 0
    if not value:  # which would be a range without ends
        raise SettingsError(
            f"--given={column.name}=: it is never missing; say LOW..HIGH or a number"
        )
    low, dots, high = value.partition(_RANGE)
    bounds = [
        _number(column, text) if text else bound
        for text, bound in zip((low, high if dots else low), column.bounds, strict=True)
    ]
    # Bounds that were bought are nobody's to know: a range may reach beyond them.
    if bounds[0] > bounds[1] or bounds[0] > column.bounds[1] or bounds[1] < column.bounds[0]:
        first, last = map(column.write, column.bounds)
        raise SettingsError(
            f"--given={column.name}={value}: say LOW..HIGH or a number, from {first} to {last}"
        )
    if not dots and not column.is_whole:
        raise SettingsError(f"--given={column.name}={value}: say LOW{_RANGE}HIGH")

    def holds_of_numbers(values: np.ndarray) -> np.ndarray:
        return (values >= bounds[0]) & (values <= bounds[1])

    def holds(stored: np.ndarray) -> np.ndarray:
        return holds_of_numbers(numbers(column, stored))  # not of one that is missing

    return holds_of_numbers if is_total else holds


def _is_missing(column: Column, value: str, schema: Schema) -> bool:
    return column.nullable and (not value or value in schema.missing)


def _number(column: Column, text: str) -> float:
    try:
        # An end of a range is a number, even where a cell of that number would be missing.
        return float(cells.number_reader(column, frozenset())(text.strip()))
    except SchemaError as error:
        raise SettingsError(f"--given={column.name}={text}: {text!r} is none of it") from error
