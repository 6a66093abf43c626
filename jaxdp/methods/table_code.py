"""Code that reads the file of a made table without the library, in Python and in R.

It follows from the schema alone: how numbers and days are written is declared there.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from jaxdp.data import Spec
from jaxdp.tables.columns import NUMERIC, Column
from jaxdp.tables.moments import DATE, TIMESTAMP, UNIX
from jaxdp.tables.schema import Schema

_MOST_NAMED = 40  # columns of a table
_UNITS = {"unix": "s", "unix_ms": "ms"}
# Whole years that pandas holds in nanoseconds, as it does before version 3.
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_MICROS_OF_YEAR = 31556952 * 10**6


def reading(file: str, spec: Spec) -> str:
    """Return code that reads a file of a table, as Markdown.

    Args:
        file: its name or path, as the code has it.
        spec: facts about the table; one without a schema, with many columns or without names of
            them is read as texts.
    """
    schema = spec.schema
    options = {} if schema is None else schema.csv.for_pandas()
    more = "".join(f", {key}={value!r}" for key, value in options.items())
    if schema is None or schema.csv.header is False or len(schema.order) > _MOST_NAMED:
        return (
            f'```python\nimport pandas\n\nframe = pandas.read_csv("{file}", dtype=str{more})\n```'
        )
    python, in_r = _python(file, schema, more), _in_r(file, schema, options)
    return "\n".join(["```python", *python, "```", "", "In R:", "", "```r", *in_r, "```"])


def _python(file: str, schema: Schema, options: str) -> list[str]:
    """Return lines for pandas."""
    days = {column.name: _for_pandas(column) for column in schema.declared}
    counted = {column.name for column in schema.declared if column.format in UNIX}
    texts = [name for name in _texts(schema) if name not in counted]
    lines = [
        "import pandas",
        "",
        f"texts = [{_listed(texts)}]  # codes keep the zeros that they begin with",
        f"options = dict(keep_default_na=False, na_values=[{_listed(schema.missing)}]{options})",
        f'frame = pandas.read_csv("{file}", dtype=dict.fromkeys(texts, str), **options)',
    ]
    for column in schema.declared:
        marks = _marks(column, schema)
        if marks is not None:
            plain = "".join(f".replace({_listed(pair)})" for pair in marks)
            frame = f"frame[{_literal(column.name)}]"
            lines += [
                f'text = {frame}.map(lambda text: text{plain}, na_action="ignore")',
                f"{frame} = pandas.to_numeric(text)",
            ]
    for name, how in days.items():
        if how:
            frame = f"frame[{_literal(name)}]"
            lines.append(f"{frame} = pandas.to_datetime({frame}, {how})")
    return lines + _left(schema, {name for name, how in days.items() if how})


def _in_r(file: str, schema: Schema, options: Mapping[str, Any]) -> list[str]:
    """Return lines for R, whose base has no type for times of day and lengths of time."""
    names = {"sep": "sep", "decimal": "dec", "encoding": "fileEncoding"}
    more = "".join(f", {names[key]} = {_literal(value)}" for key, value in options.items())
    lines = [
        f"texts <- c({_listed(_texts(schema))})",
        f"gone <- c({_listed(schema.missing)})",
        f'frame <- read.csv("{file}", na.strings = gone, check.names = FALSE,',
        f'  colClasses = setNames(rep("character", length(texts)), texts){more})',
    ]
    done = set()
    for column in schema.declared:
        frame = f"frame[[{_literal(column.name)}]]"
        marks = _marks(column, schema)
        if marks is not None:
            pairs = (f"{frame} <- gsub({_listed(pair)}, {frame}, fixed = TRUE)" for pair in marks)
            lines += [*pairs, f"{frame} <- as.numeric({frame})"]
        if column.type == DATE and _is_day_for_r(column):
            form = _literal(str(column.format).replace("%-", "%"))
            lines.append(f"{frame} <- as.Date({frame}, format = {form})")
            done.add(column.name)
    return lines + _left(schema, done)


def _texts(schema: Schema) -> list[str]:
    """Return the columns that are read as texts: all but numbers that a reader knows."""
    numbers = (column for column in schema.declared if column.type == NUMERIC)
    plain = {column.name for column in numbers if _marks(column, schema) is None}
    return [name for name in schema.order if name not in plain]


def _marks(column: Column, schema: Schema) -> list[tuple[str, str]] | None:
    """Return what is to be replaced in numbers as they are written, and by what, in that order.

    None where a reader of the file knows them as they are.
    """
    form = column.number_format
    if form is None:
        return None
    gone = [(mark, "") for mark in (form.prefix, form.suffix, form.thousands) if mark]
    if not gone and form.decimal == schema.csv.decimal:
        return None
    return [*gone, (form.decimal, ".")] if form.decimal != "." else gone


def _for_pandas(column: Column) -> str:
    """Return what `pandas.to_datetime` is told of a column; empty where it stays as it is."""
    if column.type not in (DATE, TIMESTAMP):
        return ""
    ends = (column.moment.micros(round(bound)) for bound in column.bounds)
    years = [1970 + micros / _MICROS_OF_YEAR for micros in ends]
    if years[0] < _FIRST_YEAR or years[1] >= _LAST_YEAR:
        return ""
    if column.format in UNIX:
        return f'unit="{_UNITS[column.format]}", utc=True'
    form = str(column.format)
    for code, known in (("%-", "%"), ("%3f", "%f"), ("%:z", "%z")):
        form = form.replace(code, known)
    # A zone whose clocks change has two distances from UTC, which one column cannot have.
    return f"format={_literal(form)}{', utc=True' if '%z' in form else ''}"


def _is_day_for_r(column: Column) -> bool:
    """Whether R reads it: it takes names of months in its own language, and no month for a day."""
    form = str(column.format).replace("%-", "%")
    named = any(code in form for code in ("%b", "%B", "%a", "%A"))
    return ("%d" in form or "%j" in form) and not named


def _left(schema: Schema, done: Iterable[str]) -> list[str]:
    """Return a comment on the days and times that stay as they are written."""
    moments = [column.name for column in schema.declared if column.format is not None]
    left = [name for name in moments if name not in done]
    return [f"# Days and times that stay as they are written: {_listed(left)}"] if left else []


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(_literal, texts))


def _literal(text: str) -> str:
    """Return a text as Python and R both read it, in ASCII."""
    marks = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return f'"{"".join(marks.get(each) or _ascii(each) for each in text)}"'


def _ascii(mark: str) -> str:
    code = ord(mark)
    if 32 <= code < 127:
        return mark
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
