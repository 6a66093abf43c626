"""The values of private, made and test records, side by side: numbers as written, categories."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxdp.tables import cells, frames, raw
from jaxdp.tables.columns import Column
from jaxdp.tables.layout import values_at
from jaxdp.tables.moments import MOMENTS
from jaxdp.tables.raw import RawColumn, RawRecords, Texts
from jaxdp.tables.schema import Schema

MOST_RECORDS = 100_000
"""So many records of a table are compared: most of it sorts, or grows with pairs of columns."""
MOST_TEST_RECORDS = 20_000

Records = tuple[np.ndarray, np.ndarray]
"""Records (n, columns) as stored, and their classes (n,)."""
UNLISTED = "not listed"
"""What stands for categories of records as they were read that the schema does not list."""
# Nobody's bounds lie further out, and distances of numbers do not overflow.
_FARTHEST = 1e150


class Values(NamedTuple):
    """One column of the three tables; **private**.

    Attributes:
        declared: as the schema has it.
        names: of categories, by their places; of the target, of classes; empty for numbers.
        real: (n,) values of private records: numbers, with NaN where missing, or places of
            categories, with -1.
        made: (m,) of made records.
        test: (t,) of test records.
    """

    declared: Column
    names: tuple[str, ...]
    real: np.ndarray
    made: np.ndarray
    test: np.ndarray

    @property
    def name(self) -> str:
        """As in the table's header."""
        return self.declared.name

    @property
    def is_number(self) -> bool:
        """Whether values are numbers; dates and times are."""
        return self.declared.is_numeric

    def told(self, number: float) -> float | str:
        """Return a number as files have it: dates and times as their texts."""
        return self.written(number) if self.declared.type in MOMENTS else float(number)

    def written(self, number: float) -> str:
        """Return the text of a number of the column."""
        return self.declared.write(number)


def read(
    schema: Schema,
    real: Records | RawRecords,
    made: Records,
    test: Records | RawRecords,
    *,
    labelled: bool,
) -> list[Values]:
    """Return all columns, the target last; of many records a sample, by a public seed.

    Records as stored have lost what lies beyond bounds, what is missing where nothing may be, and
    which of the categories that are not listed they have. Records as they were read have not.

    Args:
        schema: of the table.
        real: private records.
        made: those that are compared with them.
        test: those that no record was made from.
        labelled: whether classes mean anything.
    """
    rng = np.random.default_rng(0)
    most = (MOST_RECORDS, MOST_RECORDS, MOST_TEST_RECORDS)
    sampled = [_sampled(each, at, rng) for each, at in zip((real, made, test), most, strict=True)]
    missing = cells.missing_texts(schema)
    found = []
    for place, column in enumerate(schema.columns):
        sides = [
            _as_read(column, each[column.name], missing)
            if isinstance(each, Mapping)
            else _values(column, each[0][:, place])
            for each in sampled
        ]
        names = () if column.is_numeric else column.values
        if names and any(np.any(side == len(names)) for side in sides):
            names = (*names, UNLISTED)
        found.append(Values(column, names, *sides))
    if labelled and schema.target is not None:
        classes = [
            raw.encode(each, schema)[1] if isinstance(each, Mapping) else each[1]
            for each in sampled
        ]
        found.append(Values(schema.target, schema.class_names, *classes))
    return found


def length(records: Records | RawRecords) -> int:
    """Return the number of records."""
    return raw.length(records) if isinstance(records, Mapping) else len(records[0])


def _sampled(
    records: Records | RawRecords, most: int, rng: np.random.Generator
) -> Records | RawRecords:
    num = length(records)
    chosen = np.arange(num)
    if num > most:
        chosen = np.sort(rng.choice(num, most, replace=False))
    if isinstance(records, Mapping):
        return raw.part(records, chosen)
    return np.asarray(records[0][chosen]), np.asarray(records[1][chosen])


def _as_read(column: Column, found: RawColumn, missing: frozenset[str]) -> np.ndarray:
    """Return values of records as they were read; categories that are not listed come last."""
    if not isinstance(found, Texts):
        return np.clip(found, -_FARTHEST, _FARTHEST)
    null, unlisted = len(column.values), len(column.values) + 1
    read = cells.place_reader(
        dataclasses.replace(column, nullable=True),
        missing,
        unknown=None if column.other else unlisted,
    )
    places = np.array([*map(read, found.texts), null], np.int64)[found.places]
    return np.where(places == null, -1, np.where(places == unlisted, null, places))


def _values(column: Column, stored: np.ndarray) -> np.ndarray:
    """Return what stands in a table made for values as stored."""
    if not column.is_numeric:
        places = stored.astype(np.int64)
        return np.where(places >= len(column.values), -1, places)
    if column.is_whole:
        return np.where(stored < 0, np.nan, values_at(column, stored))
    plain = dataclasses.replace(column, dtype=None)  # with a type it may be no array of numbers
    alone = Schema(columns=(plain,), target=None, order=(column.name,))
    return frames.decode(stored[:, None], None, alone)[column.name].to_numpy(np.float64)
