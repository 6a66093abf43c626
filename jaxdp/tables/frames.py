"""Between data frames and records as stored; each record by itself, by the schema alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.tables.columns import Column, SchemaError, as_text
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
    """
    return records(frame, schema), labels(frame, schema)


def records(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """Return the records (n, columns) alone, as `encode` does; the target may be missing."""
    names = _header(frame, schema)
    stored = np.empty((len(frame), len(schema.columns)), np.float32)
    for number, column in enumerate(schema.columns):
        values = frame.iloc[:, names[column.name]]
        missing = _missing(values, schema)
        if column.is_numeric:
            stored[:, number] = _numbers(column, values, missing)
        else:
            stored[:, number] = _categories(column, values, missing)
    return stored


def labels(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """Return the labels (n,) int32 alone, as `encode` does."""
    name = schema.target.name
    if name not in _header(frame, schema):
        raise schema.target.error("is the target, and the table has no such column")
    return _labels(frame.iloc[:, _header(frame, schema)[name]], schema)


def decode(stored: np.ndarray, y: np.ndarray | None, schema: Schema) -> pd.DataFrame:
    """Return the frame of records as stored: the schema's columns in its order, typed as declared.

    A class that stands for several categories is written as the first of them. Without labels
    there is no target.
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


def _is_text(values: pd.Series) -> bool:
    return values.dtype.kind not in "iufb"


def _missing(values: pd.Series, schema: Schema) -> np.ndarray:
    """Return which values are missing, each by itself: others may decide the type of a column."""
    import pandas as pd

    missing, texts = values.isna().to_numpy(), {as_text(text) for text in schema.missing}
    if values.dtype.kind in "iuf":
        numbers: list[float] = [int(text) for text in texts if _is_whole(text)]
        if values.dtype.kind == "f":
            numbers += [float(text) for text in texts if _is_fraction(text)]
        return missing | values.isin(numbers).to_numpy(bool, na_value=False)
    if pd.api.types.infer_dtype(values, skipna=True) == "string":
        texts |= {f"{text}.0" for text in texts if _is_whole(text)}
        return missing | values.astype(str).str.strip().isin(texts).to_numpy()
    return missing | values.map(_text_of_any, na_action="ignore").isin(texts).to_numpy()


def _text_of_any(value: Any) -> str:
    """Return a value as a text; a day is one without the midnight that it begins with."""
    text = as_text(value)
    return text if isinstance(value, str) else text.removesuffix(" 00:00:00")


def _is_fraction(text: str) -> bool:
    """Return whether a text is a number as Python writes it, and no whole one."""
    try:
        return as_text(float(text)) == text and not _is_whole(text)
    except ValueError:
        return False


def _numbers(column: Column, values: pd.Series, missing: np.ndarray) -> np.ndarray:
    import pandas as pd

    if _is_text(values):
        values = values.astype(str).str.strip().where(~missing)
    try:
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):  # dates, lists
        numbers = np.full(len(values), np.nan)
    if np.any(np.isnan(numbers) & ~missing):
        raise column.error(
            "is numeric, and the table holds texts there that are no numbers (dates, units and "
            '1,200 are none): clean them, name such texts in "missing", or "drop" the column'
        )
    at = positions(column, np.where(missing, column.bounds[0], numbers))
    return np.where(missing, MISSING_NUMBER if column.nullable else 0.5, at)


def _categories(column: Column, values: pd.Series, missing: np.ndarray) -> np.ndarray:
    places = _places(column.values)
    other = column.values.index("other") if column.other else 0
    found = _placed(values, places, otherwise=other)
    return np.where(missing & ~_listed(values, places), _null(column, other), found)


def _null(column: Column, other: int) -> int:
    return len(column.values) if column.nullable else other


def _listed(values: pd.Series, places: dict[str, int]) -> np.ndarray:
    """Return which values are categories, even where their text could mean a missing one."""
    return _placed(values, places, otherwise=-1) >= 0


def _places(values: tuple[str, ...]) -> dict[str, int]:
    """Return the place of each category by its text, and by its text without a final dot."""
    exact = {value: number for number, value in enumerate(values)}
    plain = [_without_dot(value) for value in values]
    if len(set(plain)) < len(plain):
        return exact
    return {value: number for number, value in enumerate(plain)} | exact


def _placed(values: pd.Series, places: dict[str, int], *, otherwise: int) -> np.ndarray:
    """Return the places of values; each distinct value is looked up once."""
    import pandas as pd

    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) != "string":
        values = values.map(as_text, na_action="ignore")  # else True and 1 count as one value
    codes, distinct = values.factorize(use_na_sentinel=True)
    texts = [as_text(value) for value in distinct]
    found = [places.get(text, places.get(_without_dot(text), otherwise)) for text in texts]
    return np.append(np.array(found, np.int64), otherwise)[codes]


def _without_dot(text: str) -> str:
    return text.rstrip(".") or text


def _labels(values: pd.Series, schema: Schema) -> np.ndarray:
    places = {
        category: number
        for number, group in enumerate(schema.groups.values())
        for category in group
    }
    plain = {_without_dot(category): number for category, number in places.items()}
    found = _placed(values, plain | places, otherwise=-1)
    if np.any((found < 0) & _missing(values, schema)):
        raise schema.target.error(
            "is the target, and values are missing there: leave such records out, or write a "
            "category there, as 'unknown', and declare it"
        )
    if np.any(found < 0):
        raise schema.target.error(
            "is the target, and the table holds values there that are no category of it: declare "
            "them, or leave such records out"
        )
    return found.astype(np.int32)


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
