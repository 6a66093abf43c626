"""What a schema file says of columns: its fields and their kinds, all mistakes told at once."""

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from jaxdp.tables import rule_checks, totals
from jaxdp.tables.columns import NUMERIC, TYPES, Column, SchemaError, as_text, is_number
from jaxdp.tables.dialects import Dialect
from jaxdp.tables.new_columns import NEW_TYPES, NewColumn
from jaxdp.tables.rules import Rule, Skip

# Of a file of one mistake for each of its columns, no line is so long that nobody reads it.
_MOST_FAULTS = 20
_ALL_TYPES = (*TYPES, *NEW_TYPES)


class Declared(NamedTuple):
    """Columns as a file declares them.

    Attributes:
        columns: by their names, the target among them.
        derived: that are computed from others.
        new: that are made without the data.
        targets: names of the columns that are to be predicted.
        order: names of all columns that are kept.
        dropped: names of the others.
        rules: that hold of all of them.
    """

    columns: dict[str, Column]
    derived: tuple[Column, ...]
    new: tuple[NewColumn, ...]
    targets: tuple[str, ...]
    order: tuple[str, ...]
    dropped: tuple[str, ...]
    rules: tuple[Rule, ...]


def read(
    stored: Mapping[Any, Any],
    dialect: Dialect,
    *,
    target: str | None = None,
    rules: Any = (),
    unknown: Collection[str] = (),
) -> Declared:
    """Return the columns of a file.

    Args:
        stored: what the file says of each column.
        dialect: of the table.
        target: name of the column that is to be predicted, whichever the file marks.
        rules: what the file says of rules.
        unknown: columns whose bounds and categories are open, or were bought.

    Raises:
        SchemaError: some cannot be used; the message has all of these.
    """
    declared = {str(name): facts for name, facts in stored.items()}
    found, faults = rule_checks.read(list(rules) if isinstance(rules, tuple) else rules)
    dropped = [name for name, facts in declared.items() if _told(faults, _is_dropped, name, facts)]
    kept = {
        name: facts
        for name, facts in declared.items()
        if name not in dropped and isinstance(facts, Mapping)
    }
    columns: dict[str, Column] = {}
    new: list[NewColumn] = []
    for name in totals.last(kept, found):
        facts = _by_rules(name, kept[name], found, columns)
        if facts.get("type") in NEW_TYPES:
            made = _told(faults, _new_column, name, facts)
            new += [] if made is None else [made]
        else:
            column = _told(faults, _column, name, facts, dialect)
            columns |= {} if column is None else {name: column}
    chosen = _told(faults, _targets, kept, target)
    names = [column.name for column in new]
    known = rule_checks.Known(kept, dropped, names, columns, chosen or (), unknown)
    faults += rule_checks.faults(found, known)
    if faults:
        more = len(faults) - _MOST_FAULTS
        last = [f"{more} more"] if more > 0 else []
        raise SchemaError("; ".join([*faults[:_MOST_FAULTS], *last]))
    assert chosen is not None
    computed = totals.names(found)
    return Declared(
        columns={name: columns[name] for name in kept if name in columns and name not in computed},
        derived=tuple(columns[name] for name in columns if name in computed),
        new=tuple(new),
        targets=chosen,
        order=tuple(kept),
        dropped=tuple(dropped),
        rules=tuple(found),
    )


def _by_rules(
    name: str, facts: Mapping[str, Any], found: Sequence[Rule], columns: Mapping[str, Column]
) -> Mapping[str, Any]:
    """Return what is said of a column, and what follows from rules where nothing is."""
    if facts.get("nullable") is None and any(
        isinstance(rule, Skip) and rule.column == name for rule in found
    ):
        return {**facts, "nullable": True}
    return totals.completed(name, facts, found, columns)


def dialect_of(stored: Any) -> Dialect:
    """Return the dialect that a file says."""
    known = ("separator", "decimal", "encoding", "quoting", "header", "line_breaks")
    if not isinstance(stored, Mapping) or set(stored) - set(known):
        raise SchemaError(f'"csv" must be an object with {", ".join(known)}')
    try:
        return Dialect(**{key: _plain(key, value) for key, value in stored.items()})
    except ValueError as error:
        raise SchemaError(f'"csv": {error}') from error


def _plain(key: str, value: Any) -> Any:
    """Return what is said of a dialect, if it is of the right kind."""
    if key in ("header", "line_breaks"):
        if not isinstance(value, bool | None):
            raise ValueError(f'"{key}" must be true or false')
        return value
    if not isinstance(value, str):
        raise ValueError(f'"{key}" must be a text')
    return value.lower() if key == "encoding" else value


def _told(faults: list[str], make: Callable[..., Any], *args: Any) -> Any:
    """Return what a function makes; None where it finds a mistake, which is added to the list."""
    try:
        return make(*args)
    except SchemaError as error:
        faults.append(str(error))
        return None


def _targets(kept: Mapping[str, Any], target: str | None) -> tuple[str, ...]:
    """Return the columns that are to be predicted."""
    if target is not None and target not in kept:
        near = difflib.get_close_matches(target, kept, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SchemaError(f"has no column {target!r} to be the target{hint}")
    found = [name for name, facts in kept.items() if facts.get("target") is True]
    for name in found if target is None else [target]:
        if kept[name].get("type") in NEW_TYPES:
            raise SchemaError(f"column {name!r}: is made without the data, and is no target")
    return tuple(found) if target is None else (target,)


def _is_dropped(name: str, facts: Any) -> bool:
    if not isinstance(facts, Mapping):
        raise SchemaError(f'column {name!r}: must be an object, as {{"type": ...}}')
    for key in ("drop", "target"):
        if not _is_flag(facts.get(key, False)):
            raise SchemaError(f"column {name!r}: {key!r} must be true or false")
    return facts.get("drop") is True


def _column(name: str, facts: Mapping[str, Any], dialect: Dialect) -> Column:
    fields = _fields(name, facts, _KINDS)
    if fields.get("categories", ()) is None:
        del fields["categories"]
    if "type" not in fields:
        raise SchemaError(f'column {name!r}: needs "type", one of {", ".join(_ALL_TYPES)}')
    if "categories" in fields:
        fields["categories"] = texts(fields["categories"], f"column {name!r}: categories")
    for key in ("bins", "spikes"):
        if isinstance(fields.get(key), list):
            fields[key] = tuple(fields[key])
    classes = fields.get("classes")
    if classes is not None:
        fields["classes"] = {
            str(key): texts(group, f"column {name!r}: classes") for key, group in classes.items()
        }
    if fields["type"] == NUMERIC and not fields.get("integer"):
        fields.setdefault("decimal", dialect.decimal)
    return Column(name=str(name), **fields)


def with_mark(facts: Mapping[str, Any], column: Column, dialect: Dialect) -> dict[str, Any]:
    """Return what a file says of a column, with its decimal mark where the table has another."""
    inherits = column.type == NUMERIC and not column.integer
    is_other = inherits and column.decimal != dialect.decimal
    return {**facts, **({"decimal": column.decimal} if is_other else {})}


def _new_column(name: str, facts: Mapping[str, Any]) -> NewColumn:
    fields = _fields(name, facts, _NEW_KINDS)
    for key, of in (("pattern", "identifier"), ("start", "identifier"), ("value", "constant"),
                    ("fake", "text"), ("locale", "text")):  # fmt: skip
        if key in fields and fields["type"] != of:
            raise SchemaError(f"column {name!r}: {key!r} is of the type {of!r}")
    try:
        return NewColumn(name=name, **fields)
    except ValueError as error:
        raise SchemaError(f"column {name!r}: {error}") from error


def _fields(name: str, facts: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a column, all mistakes of kinds told at once."""
    fields = {k: v for k, v in facts.items() if k not in ("target", "drop", "about")}
    faults = [
        f"{key!r} is unknown; known are {', '.join(kinds)}, target, drop, about"
        for key in fields
        if key not in kinds
    ]
    faults += [
        f"{key!r} must be {kinds[key][1]}"
        for key, value in fields.items()
        if key in kinds and not kinds[key][0](value)
    ]
    if faults:
        raise SchemaError(f"column {name!r}: {'; '.join(faults)}")
    return fields


def texts(values: Any, what: str) -> tuple[str, ...]:
    """Return a list of texts or numbers as texts, spaces at their ends aside."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise SchemaError(f"{what} must be a list, and not empty")
    if not all(isinstance(v, str) or is_number(v) for v in values):
        raise SchemaError(f"{what} must hold texts or numbers")
    return tuple(as_text(v) for v in values)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_bound(value: Any) -> bool:
    return _is_value(value)


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, str) or is_number(value)


def _is_bins(value: Any) -> bool:
    if isinstance(value, list):
        return all(is_number(edge) or isinstance(edge, str) for edge in value)
    return _is_count(value)


# What a file may say of a column. A draft has null where a person is to fill something in.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_text, f"one of {', '.join(_ALL_TYPES)}"),
    "lower": (_is_bound, "a number, of dates and times a text"),
    "upper": (_is_bound, "a number, of dates and times a text"),
    "log": (_is_flag, "true or false"),
    "integer": (_is_flag, "true or false"),
    "bins": (_is_bins, "a number of bins or a list of inner edges"),
    "spikes": (
        lambda value: isinstance(value, list) and _is_bins(value),
        "a list of values",
    ),
    "categories": (lambda value: value is None or isinstance(value, list), "a list"),
    "nullable": (_is_flag, "true or false, whether values can be missing"),
    "other": (_is_flag, "true or false"),
    "classes": (lambda value: isinstance(value, Mapping), "an object, {class: [categories]}"),
    "prefix": (_is_text, "a text"),
    "suffix": (_is_text, "a text"),
    "thousands": (_is_text, "a text"),
    "decimal": (_is_text, "a text"),
    "decimals": (lambda value: value is None or _is_count(value), "a whole number"),
    "format": (_is_text, "a text"),
    "zone": (_is_text, "a text"),
    "dtype": (_is_text, "a text"),
}
_NEW_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_text, f"one of {', '.join(_ALL_TYPES)}"),
    "pattern": (_is_text, "a text"),
    "start": (_is_count, "a whole number"),
    "value": (_is_value, "a text or a number"),
    "fake": (_is_text, "a text"),
    "locale": (_is_text, "a text"),
}
