"""Ordered columns as differences: what counts see of `start` and `end` where start <= end.

How long a stay lasts is told by no counts of the days on which stays begin and end: bins of days
are much longer. So of a rule that orders columns, a later one is counted by how far it lies above
the one before, in bins that grow with it. Nothing that is drawn so can break the rule.

The later column need not be told from missing ones. The one before cannot be missing: of such a
rule both columns are counted as they are, and records are brought to obey (`obeying`).
"""

import dataclasses
import functools
import itertools
import math

import numpy as np
from jaxtyping import Float

from jaxdp.tables import written
from jaxdp.tables.columns import NUMERIC, Column
from jaxdp.tables.layout import MISSING_NUMBER, positions, values_at
from jaxdp.tables.rules import Order, in_turn
from jaxdp.tables.schema import Schema

# Bins of a difference that is not 0. Its least edge is so small a part of its range, or one unit.
_BINS, _LEAST = 24, 1e-4


@dataclasses.dataclass(frozen=True)
class Differences:
    """Columns of a schema that are counted as differences.

    Attributes:
        schema: public.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.tables.differences import Differences
        >>> day = {"type": "numeric", "lower": 0, "upper": 100, "integer": True}
        >>> schema = jaxdp.tables.Schema.from_json(
        ...     {"columns": {"start": day, "end": day}, "rules": [{"order": ["start", "end"]}]}
        ... )
        >>> counted = Differences(schema)
        >>> there = counted.of(np.array([[0.5, 0.53], [0.5, 0.4]]))  # 3 days, and -10, which is 0
        >>> counted.back(there).round(6).tolist()
        [[0.5, 0.53], [0.5, 0.5]]
    """

    schema: Schema

    @functools.cached_property
    def before(self) -> dict[str, str]:
        """For each column that is counted so, in turn, the one that it is counted from."""
        columns = {column.name: column for column in self.schema.columns}
        found: dict[str, str] = {}
        for rule in self.schema.rules:
            if isinstance(rule, Order):
                for first, then in itertools.pairwise(rule.columns):
                    has_room = columns[then].bounds[1] > columns[first].bounds[0]
                    if has_room and not columns[first].nullable and then not in found:
                        found[then] = first
        return {name: found[name] for name in in_turn(self.schema.rules) if name in found}

    @functools.cached_property
    def counted(self) -> Schema:
        """The schema with differences in the place of these columns."""
        if not self.before:
            return self.schema
        columns = {column.name: column for column in self.schema.columns}
        new = {
            name: _difference(columns[first], columns[name]) for name, first in self.before.items()
        }
        bought = self.schema.bought
        if bought is not None:
            facts = {name: each for name, each in bought.facts.items() if name not in new}
            bought = dataclasses.replace(bought, facts=facts)
        kept = tuple(new.get(name, column) for name, column in columns.items())
        return dataclasses.replace(self.schema, columns=kept, rules=(), bought=bought)

    def of(self, stored: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        """Return records as stored by the schema as they are stored by `counted`.

        Guarantee:
            Each record depends on that record alone.
        """
        found = np.array(stored)
        for name, first in self.before.items():
            at, before = self._place(name), self._place(first)
            far = self._values(stored, at) - self._values(stored, before)
            are_one = np.abs(far) <= self._steps(stored, at) + self._steps(stored, before)
            column = self.counted.columns[at]
            there = positions(column, np.clip(np.where(are_one, 0.0, far), *column.bounds))
            found[:, at] = np.where(stored[:, at] < 0, MISSING_NUMBER, there)
        return found

    def back(self, counted: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        """Return records as stored by `counted` as they are stored by the schema."""
        found = np.array(counted)
        for name, first in self.before.items():  # in turn, so what it is counted from is there
            at, before = self._place(name), self._place(first)
            column = self.counted.columns[at]
            values = values_at(column, counted[:, at])
            # The bin of 0 ends at 5e-324, which would move a number of 0 to the next one.
            values = np.where(values <= math.nextafter(0.0, 1.0), 0.0, values)
            # As it is written, or a difference of 0 would be written as one.
            base = written.numbers(self.schema.columns[before], found[:, before])
            there = positions(self.schema.columns[at], base + values)
            found[:, at] = np.where(counted[:, at] < 0, MISSING_NUMBER, there)
        return found

    def _place(self, name: str) -> int:
        return [column.name for column in self.schema.columns].index(name)

    def _values(self, stored: np.ndarray, place: int) -> np.ndarray:
        return values_at(self.schema.columns[place], stored[:, place])

    def _steps(self, stored: np.ndarray, place: int) -> np.ndarray:
        """Return how far each number lies from the next that float32 tells from it."""
        column, where = self.schema.columns[place], stored[:, place].astype(np.float32)
        if column.is_whole:
            return np.zeros(len(where))
        above, below = (np.nextafter(where, np.float32(end)) for end in (2, -2))
        return np.maximum(
            values_at(column, above) - values_at(column, where),
            values_at(column, where) - values_at(column, below),
        )


def _difference(first: Column, then: Column) -> Column:
    """Return the column of how far one lies above another."""
    high = then.bounds[1] - first.bounds[0]
    is_whole = first.is_whole and then.is_whole
    least = 1.0 if is_whole else _LEAST * high
    inner = np.geomspace(least, high, _BINS + 1)[:-1]
    inner = np.unique(np.rint(inner)) if is_whole else inner
    return Column(
        name=then.name,
        type=NUMERIC,
        lower=0,
        upper=high,
        integer=is_whole,
        bins=tuple(float(edge) for edge in inner if 0 < edge < high + is_whole),
        spikes=() if is_whole else (0.0,),
        nullable=then.nullable,
    )
