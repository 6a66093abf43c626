"""The types of pandas that columns have in frames: which fit a column, and how it becomes them.

A schema names one where a frame, or a Parquet file of it, is to hold what the table held. Whether
it can hold every value of the column follows from the schema, and is looked at before any work.
"""

import datetime
import re
from typing import Any

import numpy as np

from jaxdp.tables.columns import BOOLEAN, BOOLEANS, CATEGORICAL, NUMERIC, ORDINAL, Column
from jaxdp.tables.moments import DATE, DURATION, MOMENTS, TIME, TIMESTAMP, zone_of

_WHOLE = re.compile(r"(u?int|U?Int)(8|16|32|64)")
_FLOATS = ("float32", "float64", "Float32", "Float64")
_TEXTS = ("object", "str", "string")
_DAYS = re.compile(r"datetime64\[(s|ms|us|ns)(, ?(UTC|[+-]\d\d:\d\d|[A-Za-z_]+/[A-Za-z_/+-]+))?\]")
_LENGTHS = re.compile(r"timedelta64\[(s|ms|us|ns)\]")
# What int64 holds of nanoseconds: the years 1678 to 2261.
_MOST_MICROS = (2**63 - 1) // 1000
_MICROS = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}


def fault(column: Column) -> str | None:
    """Return why the declared type cannot hold what the column may hold; None where it can."""
    try:
        if column.dtype is not None:
            _check(column)
    except ValueError as error:
        return str(column.error(str(error)))
    return None


def _check(column: Column) -> None:
    """Raise a `ValueError` where the declared type cannot hold what the column may hold."""
    dtype = str(column.dtype)
    fits, known = _fitting(column, dtype)
    if not fits:
        raise ValueError(f'"dtype" {dtype!r} holds no {column.type} column; known are {known}')
    whole = _WHOLE.fullmatch(dtype)
    if whole is not None:
        if column.nullable and whole[1][0] in "ui":
            raise ValueError(
                f'"dtype" {dtype!r} holds no missing value: take {_with_missing(dtype)!r}'
            )
        _check_range(column, dtype)
    if dtype == "bool" and column.nullable:
        raise ValueError("\"dtype\" 'bool' holds no missing value: take 'boolean'")
    found = _DAYS.fullmatch(dtype) or _LENGTHS.fullmatch(dtype)
    if found is not None:
        _check_unit(column, dtype, found)


def applied(column: Column, values: Any, numbers: np.ndarray | None) -> Any:
    """Return what a frame holds of a column.

    Args:
        column: with its type declared.
        values: as frames have them where no type is declared; of dates and times texts.
        numbers: of a column of numbers, dates or times these, NaN where they are missing.
    """
    import pandas as pd

    dtype = str(column.dtype)
    if column.type in MOMENTS and numbers is not None:
        found = _of_moments(column, numbers, dtype)
        if found is not None:
            return found
    if dtype == "category":
        named = pd.CategoricalDtype(list(column.values), ordered=column.type == ORDINAL)
        texts = pd.Series(values).map(str, na_action="ignore")
        return pd.Categorical(texts.astype(object), dtype=named)
    if _WHOLE.fullmatch(dtype) and column.type != NUMERIC:
        return _whole_numbers(values, dtype)
    return pd.Series(values).astype(dtype).array


def _fitting(column: Column, dtype: str) -> tuple[bool, str]:
    """Return whether a type is one for columns of a type, and which are."""
    is_whole, is_text = bool(_WHOLE.fullmatch(dtype)), dtype in _TEXTS
    if column.type == NUMERIC:
        fits = (is_whole and column.integer) or dtype in _FLOATS or is_text
        return fits, 'floats, "string", and of whole numbers "Int64" and the like'
    if column.type == BOOLEAN:
        fits = dtype in ("bool", "boolean") and column.categories == BOOLEANS
        return fits or dtype == "category" or is_text, '"bool" of True and False, "category"'
    if column.type in (CATEGORICAL, ORDINAL):
        fits = is_whole and all(map(_is_whole, column.values))
        return (
            fits or dtype == "category" or is_text,
            '"category", "string", and "Int64" of whole numbers with "other": false',
        )
    if column.type == DURATION:
        return bool(_LENGTHS.fullmatch(dtype)) or is_text, '"timedelta64[ns]", "string"'
    if column.type == TIME:
        return dtype == "time64" or is_text, '"time64", "string"'
    fits = bool(_DAYS.fullmatch(dtype)) or is_text or (column.type == DATE and dtype == "date32")
    written = column.moment.write(int(column.bounds[0]))
    return fits or (is_whole and _is_whole(written)), '"datetime64[ns]", "date32", "string"'


def _check_range(column: Column, dtype: str) -> None:
    info = np.iinfo(dtype.lower())
    if column.type == NUMERIC:
        ends = [int(bound) for bound in column.bounds]
    elif column.is_numeric:
        ends = [int(column.moment.write(int(bound))) for bound in column.bounds]
    else:
        ends = [int(value) for value in column.values]
    if min(ends) < info.min or max(ends) > info.max:
        raise ValueError(f'"dtype" {dtype!r} is too small for what the column may hold')


def _check_unit(column: Column, dtype: str, found: re.Match[str]) -> None:
    unit, zone = found[1], found[3] if found.re is _DAYS else None
    moment = column.moment
    if _MICROS[unit] > moment.step:
        raise ValueError(f'"dtype" {dtype!r} loses what "format" says')
    ends = [abs(moment.micros(int(bound))) for bound in column.bounds]
    if unit == "ns" and max(ends) > _MOST_MICROS:
        raise ValueError(f'"dtype" {dtype!r} holds the years 1678 to 2261 alone: say [us]')
    if zone is not None:
        if column.type == DATE:
            raise ValueError(f'"dtype" {dtype!r} has a zone, and a date has none')
        zone_of(zone)


def _with_missing(dtype: str) -> str:
    return dtype.replace("uint", "UInt").replace("int", "Int")


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 18


def _whole_numbers(values: Any, dtype: str) -> Any:
    """Return texts and numbers as whole numbers, exactly, whatever is missing."""
    import pandas as pd

    found = [pd.NA if pd.isna(value) else int(value) for value in values]
    return pd.array(found, dtype=dtype) if dtype[0] in "UI" else np.array(found, dtype)


def _of_moments(column: Column, numbers: np.ndarray, dtype: str) -> Any:
    """Return dates and times in a type of their own; None for a type of texts or numbers."""
    import pandas as pd

    days, lengths = _DAYS.fullmatch(dtype), _LENGTHS.fullmatch(dtype)
    if not (days or lengths or dtype in ("date32", "time64")):
        return None
    moment, gone = column.moment, np.isnan(numbers)
    micros = [None if g else moment.micros(int(n)) for n, g in zip(numbers, gone, strict=True)]
    if lengths:
        return _typed(micros, "m8", lengths[1])
    if dtype == "date32":
        epoch = datetime.date(1970, 1, 1)
        dates = [None if m is None else epoch + datetime.timedelta(microseconds=m) for m in micros]
        return np.array(dates, object)
    if dtype == "time64":
        return np.array([None if m is None else _clock(m) for m in micros], object)
    assert days is not None
    unit, zone = days[1], days[3]
    if column.type == TIMESTAMP and zone is None:
        micros = [None if m is None else moment.shown(m) for m in micros]
    found = _typed(micros, "M8", unit)
    return found if zone is None else pd.Series(found).dt.tz_localize("UTC").dt.tz_convert(zone)


def _typed(micros: list[int | None], kind: str, unit: str) -> np.ndarray:
    """Return numpy's moments or durations in a unit."""
    missing = np.iinfo(np.int64).min  # as numpy has it
    found = np.array([missing if micro is None else micro for micro in micros], np.int64)
    return found.view(f"{kind}[us]").astype(f"{kind}[{unit}]")


def _clock(micros: int) -> datetime.time:
    second, micro = divmod(micros, 10**6)
    return datetime.time(second // 3600, second // 60 % 60, second % 60, micro)
