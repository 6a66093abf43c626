"""The values of private, made and test records, side by side: numbers as written, categories."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from jaxdp.tables import frames
from jaxdp.tables.columns import Column
from jaxdp.tables.layout import values_at
from jaxdp.tables.moments import MOMENTS
from jaxdp.tables.schema import Schema

MOST_RECORDS = 100_000
"""So many records of a table are compared: most of it sorts, or grows with pairs of columns."""
MOST_TEST_RECORDS = 20_000

Records = tuple[np.ndarray, np.ndarray]
"""Records (n, columns) as stored, and their classes (n,)."""


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
    schema: Schema, real: Records, made: Records, test: Records, *, labelled: bool
) -> list[Values]:
    """Return all columns, the target last; of many records a sample, by a public seed.

    Args:
        schema: of the table.
        real: private records.
        made: those that are compared with them.
        test: those that no record was made from.
        labelled: whether classes mean anything.
    """
    rng = np.random.default_rng(0)
    most = (MOST_RECORDS, MOST_RECORDS, MOST_TEST_RECORDS)
    sampled = [_sampled(x, y, at, rng) for (x, y), at in zip((real, made, test), most, strict=True)]
    found = []
    for place, column in enumerate(schema.columns):
        names = () if column.is_numeric else column.values
        found.append(Values(column, names, *(_values(column, x[:, place]) for x, _ in sampled)))
    if labelled and schema.target is not None:
        found.append(Values(schema.target, schema.class_names, *(y for _, y in sampled)))
    return found


def _sampled(x: np.ndarray, y: np.ndarray, most: int, rng: np.random.Generator) -> Records:
    if len(x) <= most:
        return np.asarray(x), np.asarray(y)
    chosen = np.sort(rng.choice(len(x), most, replace=False))
    return np.asarray(x[chosen]), np.asarray(y[chosen])


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
