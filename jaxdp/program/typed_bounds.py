"""Bounds of a column as a person types them, two in a line, each as values of the column are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from jaxdp.program.errors import InputError
from jaxdp.tables import OpenSchema, SchemaError
from jaxdp.tables.columns import NUMERIC
from jaxdp.tables.dialects import PLAIN
from jaxdp.tables.formats import NumberFormat
from jaxdp.tables.moments import DURATION, TIME, Moment, moment_of

# Seconds since 1970 of days at the ends of two years, and those at the ends of a day.
_DAYS, _CLOCKS = (946684800, 1767139200), (8 * 3600, 18 * 3600)
_NUMBERS = (0, 120)


def question(facts: Mapping[str, Any], csv: Mapping[str, Any]) -> str:
    """Return how to ask for bounds of a column, with an example in its format.

    Args:
        facts: what is said of the column: a number, a date or a time.
        csv: how the table is written, as a schema has it.

    Raises:
        ValueError: nothing can be of this format.

    Examples:
        >>> from jaxdp.program import typed_bounds
        >>> typed_bounds.question({"type": "numeric", "suffix": "%"}, {})
        'least and largest that can occur, as 0% 120% (Enter: buy them)'
    """
    if facts["type"] == NUMERIC:
        low, high = map(_number_format(facts, csv).write, _NUMBERS)
        return f"least and largest that can occur, as {low} {high} (Enter: buy them)"
    moment, last = _moment(facts), "all of the day" if facts["type"] == TIME else "buy them"
    numbers = _NUMBERS
    if moment.type != DURATION:
        ends = _CLOCKS if moment.type == TIME else _DAYS
        numbers = (moment.cut(ends[0] * 10**6), moment.cut(ends[1] * 10**6))
    low, high = map(moment.write, numbers)
    return f"first and last that can occur, as {low} {high} (Enter: {last})"


def read(typed: str, facts: Mapping[str, Any], csv: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds that a person has typed, as a schema has them.

    Args:
        typed: two values, with a space or a semicolon between.
        facts: as for `question`.
        csv: likewise.

    Raises:
        InputError: they are no bounds of such a column; the message says why.
        ValueError: as `question`.
    """
    is_number = facts["type"] == NUMERIC
    value = _reader(facts, csv) if is_number else _moment(facts).read
    apart = re.split(";" if ";" in typed else "[ \t]+", typed.strip())
    # Spaces may stand in a value, too, as between thousands or before a unit.
    pairs = [(" ".join(apart[:n]), " ".join(apart[n:])) for n in range(1, len(apart))]
    found = {pair: (value(pair[0]), value(pair[1])) for pair in pairs}
    there = {pair: (a, b) for pair, (a, b) in found.items() if a is not None and b is not None}
    rising = [pair for pair, (low, high) in there.items() if low < high]
    if not there:
        raise InputError(f"two values are needed, as the column has them: {_as_asked(facts, csv)}")
    if not rising:
        raise InputError("the first must be less than the second")
    if len(rising) > 1:
        raise InputError("can be read in several ways: put a semicolon between the two")
    texts = [text.strip() for text in rising[0]]
    numbers = [_plain(number, facts) for number in there[rising[0]]]
    said = dict(zip(("lower", "upper"), numbers if is_number else texts, strict=True))
    why = fault({**facts, **said}, csv)
    if why is not None:
        raise InputError(why)
    return said


def fault(facts: Mapping[str, Any], csv: Mapping[str, Any]) -> str | None:
    """Return why what is said of a column cannot be; None where it can."""
    try:
        OpenSchema.from_json({"csv": csv, "columns": {"x": facts}})
    except SchemaError as error:
        return str(error).removeprefix("column 'x': ")
    return None


def _as_asked(facts: Mapping[str, Any], csv: Mapping[str, Any]) -> str:
    return question(facts, csv).partition(", as ")[2].partition(" (")[0]


def _number_format(facts: Mapping[str, Any], csv: Mapping[str, Any]) -> NumberFormat:
    marks = {key: facts[key] for key in ("prefix", "suffix", "thousands") if key in facts}
    decimal = facts.get("decimal", csv.get("decimal", PLAIN.decimal))
    decimals = facts.get("decimals", 0 if facts.get("integer") else None)
    return NumberFormat(decimal=decimal, decimals=decimals, **marks)


def _reader(facts: Mapping[str, Any], csv: Mapping[str, Any]) -> Callable[[str], float | None]:
    form = _number_format(facts, csv)
    # Nobody types the narrow spaces that may stand between thousands.
    mark = form.thousands if form.thousands.isspace() else " "
    return lambda text: form.read(text.replace(" ", mark))


def _moment(facts: Mapping[str, Any]) -> Moment:
    return moment_of(facts["type"], facts["format"], facts.get("zone") or "UTC")


def _plain(number: float, facts: Mapping[str, Any]) -> float | int:
    return int(number) if facts.get("integer") and number % 1 == 0 else number
