"""What new records hold that a schema does not list: other categories, numbers beyond bounds.

Such cells are stored as the schema has it: as "other" or the first category, and clipped. Whoever
asks for a prediction of them should know.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from jaxdp.tables import cells, frames
from jaxdp.tables.columns import Column
from jaxdp.tables.moments import MOMENTS
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

_UNKNOWN = -1


def counts(frame: pd.DataFrame, schema: Schema) -> collections.Counter[str]:
    """Return in how many records each column holds what the schema does not list.

    Args:
        frame: new records, whose holder may see what is said of them; the target is not looked at.
        schema: of the records that a model was made from.

    Raises:
        SchemaError: as `jaxdp.tables.encode`.

    Examples:
        >>> import pandas as pd
        >>> import jaxdp
        >>> from jaxdp.tables import unlike
        >>> ward = jaxdp.tables.Column(name="ward", type="categorical", categories=("a", "b"))
        >>> schema = jaxdp.tables.Schema(columns=(ward,), target=None, order=("ward",))
        >>> unlike.counts(pd.DataFrame({"ward": ["a", "c"]}), schema)
        Counter({'ward': 1})
    """
    names, missing = frames.header(frame, schema), cells.missing_texts(schema)
    found = collections.Counter[str]()
    for column in schema.columns:
        number = _count(column, frame.iloc[:, names[column.name]], missing)
        if number:
            found[column.name] = number
    return found


def _count(column: Column, values: pd.Series, missing: frozenset[str]) -> int:
    if not column.is_numeric:
        read = cells.place_reader(column, missing, unknown=_UNKNOWN)
        return int(np.sum(cells.each(values, read, cells.distinct) == _UNKNOWN))
    in_numbers = cells.distinct if column.type in MOMENTS else cells.numbers_of(column, missing)
    numbers = cells.each(values, cells.number_reader(column, missing), in_numbers)
    low, high = column.bounds
    return int(np.sum((numbers < low) | (numbers > high)))  # neither is true of missing ones


def lines(found: collections.Counter[str], schema: Schema, num_records: int) -> list[str]:
    """Return a line for each column of `counts`; it holds no value of a record."""
    by_name = {column.name: column for column in schema.columns}
    return [
        f"column {name!r}: {number} of {num_records} records hold {_what(by_name[name])}"
        for name, number in found.items()
    ]


def _what(column: Column) -> str:
    if column.is_numeric:
        return "a value beyond the bounds of the records that were learnt from: taken as the bound"
    taken = '"other"' if column.other else f"{column.values[0]!r}, the first one"
    return (
        f"none of the categories that were learnt, and are taken as {taken}; a code such as 007 is "
        "read as a text, by pandas with dtype=str"
    )
