"""Between data frames and records as stored; each record by itself, by the schema alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.tables import cells, dtypes, obeying
from jaxdp.tables.columns import BOOLEAN, BOOLEANS, Column, SchemaError
from jaxdp.tables.layout import MISSING_NUMBER, positions
from jaxdp.tables.moments import MOMENTS
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

# Digits of a whole number that int64 and float64 hold exactly.
_WHOLE_DIGITS = 15


def encode(frame: pd.DataFrame, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """Return the records (n, columns) float32 of a frame as `layout` describes, and labels (n,).

    Values outside of bounds are clipped. Categories that are not listed become "other", or the
    first one where the schema has no "other". Missing values become missing where the column is
    nullable, else "other" or the first category, and for numbers the middle between the bounds.

    Args:
        frame: with the schema's columns in any order; of texts, as read from a file, or typed.
        schema: public.

    Raises:
        SchemaError: columns are missing, not declared or there twice, a numeric column holds texts,
            or the target holds something that is no class. The message holds no value of a record.

    Guarantee:
        A record as stored depends on that record of the frame and the schema alone, so replacing
        one record of the frame replaces one as stored.

    Examples:
        >>> import pandas as pd
        >>> import jaxdp
        >>> age = jaxdp.tables.Column(name="age", type="numeric", lower=0, upper=120)
        >>> ill = jaxdp.tables.Column(name="ill", type="categorical", categories=("no", "yes"))
        >>> schema = jaxdp.tables.Schema(columns=(age,), target=ill, order=("age", "ill"))
        >>> frame = pd.DataFrame({"age": [30, 200], "ill": ["no", "yes"]})
        >>> records, labels = jaxdp.tables.encode(frame, schema)
        >>> records.tolist(), labels.tolist()  # 200 is beyond the bounds, so it is clipped
        ([[0.25], [1.0]], [0, 1])
    """
    for column in schema.new:
        try:
            column.require_packages()
        except ValueError as error:
            raise SchemaError(f"column {column.name!r}: {error}") from error
    return records(frame, schema), labels(frame, schema)


def records(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """Return the records (n, columns) alone, as `encode` does; the target may be missing."""
    names, missing = header(frame, schema), cells.missing_texts(schema)
    stored = np.empty((len(frame), len(schema.columns)), np.float32)
    for number, column in enumerate(schema.columns):
        values = frame.iloc[:, names[column.name]]
        if column.is_numeric:
            stored[:, number] = _numbers(column, values, missing)
        else:
            read = cells.place_reader(column, missing)
            stored[:, number] = cells.each(values, read, cells.distinct)
    return stored


def labels(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """Return the labels (n,) int32 alone, as `encode` does; zeros where there are no classes."""
    target, names = schema.target, header(frame, schema)
    if target is None:
        return np.zeros(len(frame), np.int32)
    if target.name not in names:
        raise target.error("is the target, and the table has no such column")
    read = cells.label_reader(schema, target)
    return cells.each(frame.iloc[:, names[target.name]], read, cells.distinct).astype(np.int32)


def decode(
    stored: np.ndarray, y: np.ndarray | None, schema: Schema, *, seed: bytes = b""
) -> pd.DataFrame:
    """Return the frame of records as stored: the schema's columns in its order, typed as declared.

    A class that stands for several categories is written as the first of them. Without labels
    there is no target. Rules of the schema hold of what is returned, whatever the records are.

    Args:
        stored: (n, columns) as `encode` has them.
        y: (n,) labels.
        schema: public.
        seed: public; of new identifiers.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> age = jaxdp.tables.Column(name="age", type="numeric", lower=0, upper=120, integer=True)
        >>> ill = jaxdp.tables.Column(name="ill", type="categorical", categories=("no", "yes"))
        >>> schema = jaxdp.tables.Schema(columns=(age,), target=ill, order=("age", "ill"))
        >>> jaxdp.tables.decode(np.array([[0.25], [1.0]]), np.array([0, 1]), schema)
           age  ill
        0   30   no
        1  120  yes
    """
    import pandas as pd

    values = obeying.obeyed(stored, y, schema)
    columns = {
        column.name: _decoded(column, values.get(column.name, obeying.value_of(column, own)))
        for column, own in zip(schema.columns, stored.T, strict=True)
    }
    columns |= {column.name: _decoded(column, values[column.name]) for column in schema.derived}
    if y is not None and schema.target is not None:
        firsts = [group[0] for group in schema.groups.values()]
        columns[schema.target.name] = _of_places(schema.target, firsts, np.asarray(y))
    columns |= {new.name: new.make(len(stored), seed) for new in schema.new}
    return pd.DataFrame({name: columns[name] for name in schema.order if name in columns})


def of_made(stored: np.ndarray, y: np.ndarray | None, schema: Schema) -> pd.DataFrame:
    """Return the frame of records that were made, as `decode`; other records get other identifiers.

    What was made is public, so identifiers may follow from it.
    """
    if not schema.new:
        return decode(stored, y, schema)
    content = np.ascontiguousarray(stored, np.float32)
    return decode(stored, y, schema, seed=hashlib.sha256(content.data).digest())


def to_csv(frame: pd.DataFrame, schema: Schema) -> str:
    """Return a frame as the text of a CSV file, written as the schema says.

    A missing value is the schema's first text.
    """
    frame, missing = frame.copy(deep=False), schema.missing[0]
    for column in (*schema.columns, *schema.derived):
        if column.name in frame and (column.type in MOMENTS or column.number_format is not None):
            frame[column.name] = _as_written(column, frame[column.name], missing)
    dialect = schema.csv
    return frame.to_csv(
        index=False,
        na_rep=missing,
        sep=dialect.separator,
        header=dialect.header is not False,
        quoting=dialect.python_quoting,
    )


def to_plain_csv(frame: pd.DataFrame, schema: Schema) -> str:
    """Return a frame as the text of a CSV file for readers that know nothing of the schema.

    It has commas, the columns' names in its first line, numbers with decimal points and nothing in
    the place of a missing value. Dates and times are written as the schema says.

    Args:
        frame: as `decode` returns it.
        schema: public.
    """
    frame = frame.copy(deep=False)
    for column in (*schema.columns, *schema.derived):
        if column.name in frame and column.type in MOMENTS:
            frame[column.name] = _as_written(column, frame[column.name], "")
    return frame.to_csv(index=False, lineterminator="\n")


def _as_written(column: Column, values: pd.Series, missing: str) -> np.ndarray:
    """Return the texts of numbers, dates or times, however a frame holds them."""
    read = cells.number_reader(column, frozenset())

    def text_of(value: Any) -> str:
        if isinstance(value, str) and column.type in MOMENTS:  # as `decode` has written it
            return value
        return column.write(read(value))

    found, null = cells.untyped(values)
    there, written = ~null, np.full(len(found), missing, object)
    if found.dtype == object:
        written[there] = [text_of(value) for value in found[there]]
    else:
        written[there] = cells.distinct(found[there], text_of, object)
    return written


def header(frame: pd.DataFrame, schema: Schema) -> dict[str, int]:
    """Return the place of every column that is read.

    Raises:
        SchemaError: columns are missing, not declared or there twice; all is said at once.
    """
    found = [str(name).strip().removeprefix("\ufeff") for name in frame.columns]
    made = {*(new.name for new in schema.new), *(each.name for each in schema.derived)}
    read = [name for name in schema.order if name not in made]
    faults, target = [], None if schema.target is None else schema.target.name
    for name in read:
        if found.count(name) == 0 and name == target:
            continue
        if found.count(name) != 1:
            how = "there is no such column" if name not in found else "it is there twice"
            faults.append(f"column {name!r}: {how}")
    if faults:
        # Not what is there instead: without a header that is the first record.
        raise SchemaError(f"{'; '.join(faults)}; the first line must name the columns")
    declared = {*schema.order, *schema.dropped}
    unknown = [name for name in dict.fromkeys(found) if name not in declared]
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise SchemaError(
            f"column {names}: the schema does not declare it; declare what can occur in it, "
            'or leave it out with {"drop": true}'
        )
    return {name: found.index(name) for name in read if name in found}


def _numbers(column: Column, values: pd.Series, missing: frozenset[str]) -> np.ndarray:
    """Return positions of numbers between the bounds."""
    # A whole number that is a date is read by its text.
    in_numbers = cells.distinct if column.type in MOMENTS else cells.numbers_of(column, missing)
    return stored_numbers(
        column, cells.each(values, cells.number_reader(column, missing), in_numbers)
    )


def stored_numbers(column: Column, found: np.ndarray) -> np.ndarray:
    """Return how numbers (n,) float64 of a column are stored, NaN where one is missing."""
    is_missing = np.isnan(found)
    at = positions(column, np.where(is_missing, column.bounds[0], found))
    # Plus zero, because -0.0 and 0.0 are one number.
    return np.where(is_missing, MISSING_NUMBER if column.nullable else 0.5, at) + 0.0


def _decoded(column: Column, values: np.ndarray) -> Any:
    """Return a column of a frame, by what stands there, as `obeying.Values` has it."""
    import pandas as pd

    if not column.is_numeric:
        return _of_places(column, list(column.values), values.astype(np.int64))
    missing = np.isnan(values)
    found: Any = values
    if column.type in MOMENTS:
        distinct, at = np.unique(np.where(missing, column.bounds[0], values), return_inverse=True)
        found = np.array([column.write(value) for value in distinct], object)[at.reshape(-1)]
        found[missing] = None
    elif column.is_whole:
        found = np.where(missing, 0, values).astype(np.int64)
        if missing.any():
            found = pd.array(found, dtype="Int64")
            found[missing] = pd.NA
    if column.dtype is None:
        return found
    return dtypes.applied(column, found, values)


def _of_places(column: Column, categories: list[str], places: np.ndarray) -> Any:
    """Return categories at places, -1 for a missing one, in the column's type."""
    import pandas as pd

    if column.type == BOOLEAN and column.categories == BOOLEANS:
        found = pd.array([False, True], dtype="boolean").take(places, allow_fill=True)
        found = found if (places < 0).any() else found.to_numpy(bool)
    else:
        found = _typed(categories, places)
    return found if column.dtype is None else dtypes.applied(column, found, None)


def _typed(categories: list[str], cells: np.ndarray) -> Any:
    """Return the categories at places, -1 for a missing one; as numbers where all are."""
    import pandas as pd

    if all(map(_is_whole, categories)):
        found = pd.array([int(category) for category in categories], dtype="Int64")
        taken = found.take(cells, allow_fill=True)
        return taken if (cells < 0).any() else taken.to_numpy(np.int64)
    return pd.array([*categories, None], dtype=object)[cells]


def _is_whole(text: str) -> bool:
    """Return whether a text is a whole number as Python writes it, and not too large for one."""
    digits = text.removeprefix("-")
    is_number = digits.isdecimal() and digits.isascii() and len(digits) <= _WHOLE_DIGITS
    return is_number and str(int(text)) == text
