"""Between data frames and records as stored; each record by itself, by the schema alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.tables import cells
from jaxdp.tables.columns import Column, SchemaError
from jaxdp.tables.layout import MISSING_NUMBER, positions, values_at
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

# Digits of a number that is no whole number, and of its distance from others between the bounds.
_DIGITS = 6
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
    return records(frame, schema), labels(frame, schema)


def records(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """Return the records (n, columns) alone, as `encode` does; the target may be missing."""
    names, missing = _header(frame, schema), cells.missing_texts(schema)
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
    """Return the labels (n,) int32 alone, as `encode` does."""
    name = schema.target.name
    if name not in _header(frame, schema):
        raise schema.target.error("is the target, and the table has no such column")
    values = frame.iloc[:, _header(frame, schema)[name]]
    return cells.each(values, cells.label_reader(schema), cells.distinct).astype(np.int32)


def decode(stored: np.ndarray, y: np.ndarray | None, schema: Schema) -> pd.DataFrame:
    """Return the frame of records as stored: the schema's columns in its order, typed as declared.

    A class that stands for several categories is written as the first of them. Without labels
    there is no target.

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

    columns = {
        column.name: _decoded(column, stored[:, number])
        for number, column in enumerate(schema.columns)
    }
    if y is not None:
        firsts = [group[0] for group in schema.groups.values()]
        columns[schema.target.name] = _typed(firsts, np.asarray(y))
    return pd.DataFrame({name: columns[name] for name in schema.order if name in columns})


def to_csv(frame: pd.DataFrame, schema: Schema) -> str:
    """Return a frame as the text of a CSV file; a missing value is the schema's first text."""
    return frame.to_csv(index=False, na_rep=schema.missing[0])


def _header(frame: pd.DataFrame, schema: Schema) -> dict[str, int]:
    """Return the place of every column."""
    found = [str(name).strip().removeprefix("\ufeff") for name in frame.columns]
    declared = (*schema.order, *schema.dropped)
    for name in schema.order:
        if found.count(name) == 0 and name == schema.target.name:
            continue
        if found.count(name) != 1:
            how = "there is no such column" if name not in found else "it is there twice"
            # Not what is there instead: without a header that is the first record.
            raise SchemaError(f"column {name!r}: {how}; the first line must name the columns")
    for name in found:
        if name not in declared:
            raise SchemaError(
                f"column {name!r}: the schema does not declare it; declare what can occur in it, "
                'or leave it out with {"drop": true}'
            )
    return {name: found.index(name) for name in schema.order if name in found}


def _numbers(column: Column, values: pd.Series, missing: frozenset[str]) -> np.ndarray:
    """Return positions of numbers between the bounds."""
    found = cells.each(values, cells.number_reader(column, missing), cells.numbers_of(missing))
    is_missing = np.isnan(found)
    at = positions(column, np.where(is_missing, column.bounds[0], found))
    # Plus zero, because -0.0 and 0.0 are one number.
    return np.where(is_missing, MISSING_NUMBER if column.nullable else 0.5, at) + 0.0


def _decoded(column: Column, stored: np.ndarray) -> Any:
    import pandas as pd

    if not column.is_numeric:
        cells = stored.astype(np.int64)
        return _typed(list(column.values), np.where(cells < len(column.values), cells, -1))
    values = values_at(column, stored)
    missing = stored < 0
    if column.integer:
        whole = pd.array(values.astype(np.int64), dtype="Int64")
        whole[missing] = pd.NA
        return whole if missing.any() else values.astype(np.int64)
    return np.where(missing, np.nan, np.clip(_rounded(values, column), *column.bounds))


def _rounded(values: np.ndarray, column: Column) -> np.ndarray:
    """Return numbers with `_DIGITS` digits, or so many of the distance between the bounds."""
    low, high = column.bounds
    sizes = np.clip(np.abs(values), 1e-290, high - low)
    return np.array(
        [
            round(float(value), _DIGITS - 1 - int(digits))
            for value, digits in zip(values, np.floor(np.log10(sizes)), strict=True)
        ]
    )


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
