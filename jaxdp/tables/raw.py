"""Records as they were read, before the facts are known by which they are stored.

    a number    float64 as it is, NaN where it is missing
    a category  the place of its text among all that occur, -1 where nothing stands

What is bought of a schema is counted from these (`jaxdp.bought`). Then `encode` stores each record
by the schema that is complete, as `jaxdp.tables.encode` would have done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxdp.tables import cells, frames
from jaxdp.tables.columns import Column
from jaxdp.tables.moments import MOMENTS
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


class Texts(NamedTuple):
    """A column of categories.

    Attributes:
        places: (n,) int32 of each record's text; -1 where nothing stands, not even a text that
            stands for a missing value; or a cell of another type that does.
        texts: all that occur in any record, each once.
    """

    places: np.ndarray
    texts: tuple[str, ...]

    def part(self, chosen: np.ndarray) -> Texts:
        """Return those records that are chosen, with the texts that these have."""
        at, places = np.unique(self.places[chosen], return_inverse=True)
        start = int(len(at) > 0 and at[0] < 0)
        return Texts(
            (places.reshape(-1) - start).astype(np.int32),
            tuple(self.texts[place] for place in at[start:]),
        )


RawColumn = np.ndarray | Texts
RawRecords = Mapping[str, RawColumn]
"""Columns by their names, all of the same records."""


def read(frame: pd.DataFrame, schema: Schema) -> dict[str, RawColumn]:
    """Return the records of a frame.

    Args:
        frame: as for `jaxdp.tables.encode`.
        schema: of which types and formats count, and no bounds. Categories say what a number or a
            day is called, as 7 is 007; those of the target, whether all records have a class.

    Raises:
        SchemaError: as `jaxdp.tables.encode`.

    Guarantee:
        What is read of a record depends on that record alone; its place among texts aside, which
        tells nothing but the text.

    Examples:
        >>> import pandas as pd
        >>> import jaxdp
        >>> from jaxdp.tables import raw
        >>> hue = jaxdp.tables.Column(name="hue", type="categorical", categories=("?",))
        >>> schema = jaxdp.tables.Schema(columns=(hue,), target=None, order=("hue",))
        >>> raw.read(pd.DataFrame({"hue": ["red", None, "red"]}), schema)["hue"]
        Texts(places=array([ 0, -1,  0], dtype=int32), texts=('red',))
    """
    places = frames.header(frame, schema)
    if schema.target is not None and schema.target.name not in places:
        raise schema.target.error("is the target, and the table has no such column")
    found = {
        column.name: _read(schema, column, frame.iloc[:, places[column.name]])
        for column in schema.declared
    }
    _labels(found, schema)  # so that what is no class is found before anything is counted
    return found


def joined(parts: Sequence[Mapping[str, RawColumn]]) -> dict[str, RawColumn]:
    """Return the records of several parts, one after another."""
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def part(records: RawRecords, chosen: np.ndarray) -> dict[str, RawColumn]:
    """Return those records that are chosen, by their places or by flags."""
    return {
        name: column.part(chosen) if isinstance(column, Texts) else column[chosen]
        for name, column in records.items()
    }


def length(records: RawRecords) -> int:
    """Return the number of records."""
    column = next(iter(records.values()))
    return len(column.places if isinstance(column, Texts) else column)


def encode(records: RawRecords, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """Return records (n, columns) float32 as stored, and labels (n,) int32.

    Args:
        records: as `read` returns them.
        schema: complete.

    Raises:
        SchemaError: the target holds something that is no class.

    Guarantee:
        As `jaxdp.tables.encode`: a record as stored depends on that record and the schema alone.
    """
    num, missing = length(records), cells.missing_texts(schema)
    stored = np.empty((num, len(schema.columns)), np.float32)
    for number, column in enumerate(schema.columns):
        found = records[column.name]
        if isinstance(found, Texts):
            stored[:, number] = _of_texts(found, cells.place_reader(column, missing))
        else:
            stored[:, number] = frames.stored_numbers(column, found)
    return stored, _labels(records, schema)


def _labels(records: RawRecords, schema: Schema) -> np.ndarray:
    """Return labels (n,) int32; zeros where there are no classes."""
    if schema.target is None:
        return np.zeros(length(records), np.int32)
    target = records[schema.target.name]
    assert isinstance(target, Texts)  # a class is no number
    return _of_texts(target, cells.label_reader(schema, schema.target)).astype(np.int32)


def _of_texts(column: Texts, read: cells.Reader) -> np.ndarray:
    """Return how each text is stored, and a missing one where there is any."""
    gone = [read(None)] if np.any(column.places < 0) else [0]
    return np.array([*map(read, column.texts), *gone], np.float64)[column.places]


def _read(schema: Schema, column: Column, values: pd.Series) -> RawColumn:
    if column.is_numeric:
        missing = cells.missing_texts(schema)
        in_numbers = cells.distinct if column.type in MOMENTS else cells.numbers_of(column, missing)
        return cells.each(values, cells.number_reader(column, missing), in_numbers)
    return _texts_of(values, cells.text_reader(schema, column))


def _texts_of(values: pd.Series, read: Callable[[Any], str | None]) -> Texts:
    found, null = cells.untyped(values)
    places, there = np.full(len(found), -1, np.int32), found[~null]
    at, distinct = np.arange(len(there)), list(there)
    if set(map(type, there)) == {str}:  # others may be equal and no less different
        at, distinct = cells.places_of(there)
    # No array of numpy's texts: the longest one would set the size of all.
    known: dict[str, int] = {}
    texts = map(read, distinct)
    number = [-1 if text is None else known.setdefault(text, len(known)) for text in texts]
    places[~null] = np.array(number, np.int32)[at]
    return Texts(places, tuple(known))


def _joined(parts: Sequence[RawColumn]) -> RawColumn:
    numbers = [part for part in parts if not isinstance(part, Texts)]
    if numbers:
        return np.concatenate(numbers)
    known: dict[str, int] = {}
    places = []
    for each in parts:
        assert isinstance(each, Texts)
        at = [known.setdefault(text, len(known)) for text in each.texts]
        places.append(np.array([*at, -1], np.int32)[each.places])
    return Texts(np.concatenate(places), tuple(known))
