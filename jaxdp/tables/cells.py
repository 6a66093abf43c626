"""Cells of a table: how each is stored, by its own value and by the schema alone.

For every kind of column one function says how one cell is stored: `number_reader`, `place_reader`
and `label_reader` return it. `each` asks it for every cell, of texts once for every text that
occurs. Pandas gives a whole column one type, which a single cell can change; `untyped` takes that
away first. Columns of numpy's numbers go the quick ways `numbers_of` and `distinct`, which tests
hold to the functions of one cell.
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import itertools
import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxdp.tables.columns import (
    BOOLEAN,
    BOOLEANS,
    LARGEST_WHOLE,
    OTHER,
    Column,
    SchemaError,
    as_text,
)
from jaxdp.tables.moments import MOMENTS
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

Reader = Callable[[Any], float | int]
"""How one cell is stored; None is a cell that holds nothing."""
_MIDNIGHT = " 00:00:00"
_CODE = re.compile("0[0-9]{1,17}")  # more digits than a float has are no number
_LONGEST_TYPE = 8
_NUMBERS = (numbers.Real, decimal.Decimal, np.bool_)
# Numpy takes its own for whole numbers.
_DURATIONS = (np.timedelta64, datetime.timedelta)


def number_reader(column: Column, missing: frozenset[str]) -> Reader:
    """Return what says which number a cell of a numeric column is; NaN where it is missing.

    The reader raises a `SchemaError`, which holds nothing of the cell, for what is no number.
    """
    as_number = _moment(column) if column.type in MOMENTS else _number_as_written(column)
    marks = _missing_numbers(column, missing)
    missing_typed = missing | set(map(as_text, marks))

    def read(value: Any) -> float:
        texts = missing if isinstance(value, str) else missing_typed
        if value is None or (texts and _is_missing(value, texts)):
            return math.nan
        found = as_number(value)
        if found in marks:
            return math.nan
        if found is None and column.type in MOMENTS:
            raise column.error(
                f"is a {column.type}, and the table holds cells there that are none of its "
                f'"format" {column.format!r}: clean them, name such texts in "missing", or "drop" '
                "the column"
            )
        if found is None:
            raise column.error(
                "is numeric, and the table holds texts there that are no numbers as declared (of "
                'units and 1,200 say "suffix" and "thousands", of dates another "type"): clean '
                'them, name such texts in "missing", or "drop" the column'
            )
        return found

    return read


def place_reader(column: Column, missing: frozenset[str], *, unknown: int | None = None) -> Reader:
    """Return what says at which place of a column's list a cell's category is.

    Args:
        column: of categories.
        missing: texts that stand for a missing value.
        unknown: what is said of a category that is not listed; None for the place of "other", or
            else the first one.
    """
    listed = _listed(column)
    other = column.values.index("other") if column.other else 0
    null = len(column.values) if column.nullable else other
    rest = other if unknown is None else unknown

    def read(value: Any) -> int:
        if value is None:
            return null
        value = _without_bytes(value, column.error)
        # A listed text is a category, even where it could mean a missing one.
        found = listed.place(value)
        if found is not None:
            return found
        return null if _is_missing(value, missing) else rest

    return read


def label_reader(schema: Schema, target: Column) -> Reader:
    """Return what says which class a cell of the target is of.

    The reader raises a `SchemaError`, which holds nothing of the cell, for what is no class.
    """
    missing, listed = missing_texts(schema), _listed_classes(schema, target)
    # Where classes were bought, all others are one, or the most frequent.
    rest = listed.places.get(OTHER, 0) if target.other else None

    def read(value: Any) -> int:
        value = _without_bytes(value, target.error)
        found = None if value is None else listed.place(value)
        if found is not None:
            return found
        if value is None or _is_missing(value, missing):
            raise target.error(
                "is the target, and values are missing there: leave such records out, or write a "
                "category there, as 'unknown', and declare it if categories are declared. A class "
                'that is one of the texts in "missing" is to be declared, or taken out of these'
            )
        if rest is not None:
            return rest
        raise target.error(
            "is the target, and the table holds values there that are no category of it: declare "
            "them, or leave such records out"
        )

    return read


def missing_texts(schema: Schema) -> frozenset[str]:
    """Return the texts that stand for a missing value, as cells are compared with them."""
    return frozenset(as_text(text) for text in schema.missing)


def texts(values: pd.Series) -> np.ndarray:
    """Return every cell as a text, as categories are compared; one that holds nothing is empty.

    They are Python's: numpy's own lose NULs at their end, and all are as long as the longest.

    Raises:
        SchemaError: bytes are no text; it holds nothing of them.
    """
    read, null = untyped(values)
    found = [_without_bytes(value, SchemaError) for value in read]
    return np.array(
        ["" if gone else _text(value) for value, gone in zip(found, null, strict=True)], object
    )


def text_reader(schema: Schema, column: Column) -> Callable[[Any], str | None]:
    """Return what says the text of a cell, by which it is compared, whatever its type is.

    The text is stored as the cell is, by `place_reader` and by `label_reader`. So a number has the
    text of its code, as 007, where that alone is listed. A cell that is no text has None where it
    stands for a missing value: the text of its day without midnight may be listed.
    """
    missing = missing_texts(schema)
    is_target = schema.target is not None and column.name == schema.target.name
    listed = _listed_classes(schema, column) if is_target else _listed(column)

    def read(value: Any) -> str | None:
        value = _without_bytes(value, column.error)
        if listed.of_text(value) is None:
            if (code := listed.code(value)) is not None:
                return code
            if not isinstance(value, str) and _is_missing(value, missing):
                return None
        return _text(value)

    return read


def each(
    values: pd.Series, read: Reader, in_numbers: Callable[[np.ndarray, Reader], np.ndarray]
) -> np.ndarray:
    """Return how every cell is stored, float64.

    Args:
        values: a column.
        read: how one cell is stored.
        in_numbers: the same for an array of numpy's numbers without NaN, all at once.
    """
    found, null = untyped(values)
    there, stored = ~null, np.empty(len(found))
    if found.dtype == object:
        stored[there] = _of_objects(found[there], read)
    else:
        stored[there] = in_numbers(found[there], read)
    if null.any():
        stored[null] = read(None)
    return stored


def numbers_of(
    column: Column, missing: frozenset[str]
) -> Callable[[np.ndarray, Reader], np.ndarray]:
    """Return what reads an array of numbers as `number_reader` reads one."""
    texts = missing | set(map(as_text, _missing_numbers(column, missing)))

    def read_all(values: np.ndarray, read: Reader) -> np.ndarray:
        del read
        found = values.astype(np.float64)
        for mark in _marks(values.dtype, texts):
            found[values == mark] = math.nan
        return found

    return read_all


def distinct(
    values: np.ndarray, read: Callable[[Any], Any], dtype: type = np.float64
) -> np.ndarray:
    """Return what is read of an array of numbers, each that occurs once; 0.0 and -0.0 are two."""
    bits, at = np.unique(values.view(f"u{values.dtype.itemsize}"), return_inverse=True)
    return np.fromiter(map(read, bits.view(values.dtype)), dtype)[at.reshape(-1)]


def untyped(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a column, and which of them hold nothing; whatever type it has.

    The cells are an array of numpy's numbers in the type that they have, exactly; or of objects.
    """
    import pandas as pd

    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        # Not its codes alone: categories are cells, too, and may be of any type.
        found, null = untyped(pd.Series(dtype.categories))
        at = values.cat.codes.to_numpy()
        return np.append(found, np.zeros(1, found.dtype))[at], np.append(null, True)[at]
    if isinstance(dtype, pd.ArrowDtype) and hasattr(dtype.pyarrow_dtype, "value_type"):
        import pyarrow

        if pyarrow.types.is_dictionary(dtype.pyarrow_dtype):
            return untyped(values.astype(pd.ArrowDtype(dtype.pyarrow_dtype.value_type)))
    kind = np.dtype(getattr(dtype, "numpy_dtype", dtype if isinstance(dtype, np.dtype) else "O"))
    if kind.kind in "iuf" and kind.itemsize <= _LONGEST_TYPE:
        null = values.isna().to_numpy(bool)
        found = values.to_numpy(kind, na_value=0) if null.any() else values.to_numpy(kind)
        return found, null | np.isnan(found)
    found = values.to_numpy(object)
    return found, pd.isna(found)


def _of_objects(values: np.ndarray, read: Reader) -> np.ndarray:
    """Return how objects are stored; where all are texts, each that occurs is read once.

    Other values may be equal and no less different: True, 1 and 1.0, or decimals of 1.0 and 1.00.
    """
    if set(map(type, values)) != {str}:
        return np.fromiter(map(read, values), np.float64, len(values))
    at, known = places_of(values)
    return np.fromiter(map(read, known), np.float64, len(known))[at]


def places_of(texts: Sequence[str] | np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the place of each text among those that occur, and these, the first one first.

    Pandas before version 3 takes texts for equal that are so up to a NUL: the first record with one
    of them would decide what all others hold.
    """
    known: dict[str, int] = collections.defaultdict(itertools.count().__next__)
    at = np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))
    return at, list(known)


def _missing_numbers(column: Column, missing: frozenset[str]) -> frozenset[float]:
    """Return the numbers of texts that stand for a missing one: -9.00 is missing where -9 is.

    From 2^53 on, where one float is several whole numbers, the text alone says it.
    """
    if column.type in MOMENTS:
        return frozenset()
    as_written, found = _number_as_written(column), set()
    for text in missing:
        own = as_written(text)
        number = _number_of_text(text) if own is None else own  # a schema's -9.5 is no -9,5
        if number is not None and abs(number) < LARGEST_WHOLE:
            found.add(number)
    return frozenset(found)


def _marks(kind: np.dtype, missing: frozenset[str]) -> list[Any]:
    """Return the numbers of a type that are missing: those whose text is."""
    numbers_there = (number for text in missing for number in _written(text, kind))
    found = []
    for number in numbers_there:
        with contextlib.suppress(OverflowError), np.errstate(over="ignore"):  # too large for it
            mark = kind.type(number)
            if mark.item() == number and as_text(mark) in missing:
                found.append(mark)
    return found


def _written(text: str, kind: np.dtype) -> tuple[float | int, ...]:
    """Return the numbers that a text may be of: a float64, and a float32 with so few digits."""
    try:
        if kind.kind != "f":
            return (int(text),)
        with np.errstate(over="ignore"):
            return float(text), float(np.float32(float(text)))
    except ValueError:
        return ()


def _text(value: Any) -> str:
    """Return how a cell is compared, whoever wrote a day or a duration."""
    if isinstance(value, np.datetime64):
        import pandas as pd

        value = pd.Timestamp(value)
    elif isinstance(value, _DURATIONS):
        import pandas as pd

        value = pd.Timedelta(value)
    return as_text(value)


def _without_bytes(value: Any, error: Callable[[str], SchemaError]) -> Any:
    """Return the text of bytes, and any other cell as it is.

    A Parquet file has bytes where its writer did not mark them as texts.
    """
    if not isinstance(value, bytes):
        return value
    with contextlib.suppress(UnicodeDecodeError):
        return value.decode("utf-8")
    # Not while the other error is handled, which holds the bytes.
    raise error("the table holds bytes there that are no text in UTF-8: write texts there")


def _is_missing(value: Any, missing: frozenset[str]) -> bool:
    """Return whether a cell's text stands for a missing one; a day is one without its midnight."""
    if isinstance(value, str):
        return as_text(value) in missing
    text = _text(value)
    return text in missing or text.removesuffix(_MIDNIGHT) in missing


def _number(value: Any) -> float | None:
    """Return the number that a cell is; None for what is none."""
    if isinstance(value, str):
        return _number_of_text(value)
    if not isinstance(value, _NUMBERS) or isinstance(value, _DURATIONS):
        return None
    number: Any = value
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _number_as_written(column: Column) -> Callable[[Any], float | None]:
    """Return what says which number a cell is, whose texts are written as a column declares."""
    form = column.number_format
    if form is None:
        return _number

    def as_number(value: Any) -> float | None:
        return form.read(value) if isinstance(value, str) else _number(value)

    return as_number


def _moment(column: Column) -> Callable[[Any], float | None]:
    """Return what says which number a cell of dates or times is; 20240531 by its text."""
    read = column.moment.read

    def as_number(value: Any) -> float | None:
        is_plain = isinstance(value, _NUMBERS) and not isinstance(value, _DURATIONS)
        found = read(as_text(value) if is_plain else value)
        return None if found is None else float(found)

    return as_number


def _aliases(column: Column) -> dict[str, int]:
    """Return other texts of False and True in a boolean column that names none."""
    if column.type != BOOLEAN or column.categories != BOOLEANS:
        return {}
    words = ("0", "1", "false", "true", "FALSE", "TRUE")
    return {word: number % 2 for number, word in enumerate(words)}


def _number_of_text(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    # Python reads 1_000, digits of other scripts and "nan", too.
    is_plain = text.isascii() or text.strip().isascii()
    return found if is_plain and "_" not in text and found == found else None


class _Listed(NamedTuple):
    """Categories that are listed.

    Attributes:
        places: of each, by the texts that are read as it.
        codes: those texts that begin with zeros, by the numbers that they are.
    """

    places: dict[str, int]
    codes: dict[int, str]

    def place(self, value: Any) -> int | None:
        """Return the place of a cell; None for what is not listed."""
        found = self.of_text(value)
        code = self.code(value) if found is None else None
        return found if code is None else self.places[code]

    def of_text(self, value: Any) -> int | None:
        """Return the place of a cell by its own text."""
        text = _text(value)
        found = self.places.get(text)
        return self.places.get(_without_dot(text)) if found is None else found

    def code(self, value: Any) -> str | None:
        """Return the code that a number is: one of pandas has lost the zeros it began with."""
        is_number = isinstance(value, _NUMBERS) and not isinstance(value, _DURATIONS)
        return self.codes.get(value) if is_number else None


def _listed(column: Column) -> _Listed:
    return _Listed(_aliases(column) | _places(column.values), _codes(column.values))


def _listed_classes(schema: Schema, target: Column) -> _Listed:
    """Return the categories of the target, at the places of their classes."""
    places = {
        category: number
        for number, group in enumerate(schema.groups.values())
        for category in group
    }
    places = {_without_dot(category): number for category, number in places.items()} | places
    if target.classes is None:
        places = _aliases(target) | places
    return _Listed(places, _codes(places))


def _codes(values: Iterable[str]) -> dict[int, str]:
    """Return codes that begin with zeros, as 007, by the numbers that they are.

    Those of which there are two, as 07 and 007, have none.
    """
    numbers_of = [(int(text), text) for text in values if _CODE.fullmatch(text)]
    times = collections.Counter(number for number, _ in numbers_of)
    return {number: text for number, text in numbers_of if times[number] == 1}


def _places(values: tuple[str, ...]) -> dict[str, int]:
    """Return the place of each category by its text, and by its text without a final dot."""
    exact = {value: number for number, value in enumerate(values)}
    plain = [_without_dot(value) for value in values]
    if len(set(plain)) < len(plain):
        return exact
    return {value: number for number, value in enumerate(plain)} | exact


def _without_dot(text: str) -> str:
    return text.rstrip(".") or text
