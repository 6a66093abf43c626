"""What of a schema is to be bought, and on which public grids it is first looked for."""

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float

from jaxdp.bought import grids
from jaxdp.bought.estimates import MOST_BINS
from jaxdp.tables import cells
from jaxdp.tables.bought import BINS, BOUNDS, CATEGORIES, NULLABLE
from jaxdp.tables.columns import Column
from jaxdp.tables.moments import TIME
from jaxdp.tables.open_schema import OpenSchema
from jaxdp.tables.scales import finest, scales


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is to be bought; public.

    Attributes:
        opened: the schema and its open facts.
    """

    opened: OpenSchema

    @functools.cached_property
    def columns(self) -> dict[str, Column]:
        """All columns, by name; what is open of them means nothing."""
        return {column.name: column for column in self.opened.schema.declared}

    @functools.cached_property
    def missing(self) -> frozenset[str]:
        """Texts that stand for a missing value."""
        return cells.missing_texts(self.opened.schema)

    def is_open(self, name: str, *facts: str) -> bool:
        """Whether one of some facts of a column is open."""
        return bool(set(self.opened.open.get(name, ())) & set(facts))

    def with_open(self, *facts: str) -> list[str]:
        """Return the columns of which one of some facts is open."""
        return [name for name in self.opened.open if self.is_open(name, *facts)]

    @functools.cached_property
    def texts(self) -> list[str]:
        """The columns whose categories are open."""
        return self.with_open(CATEGORIES)

    @functools.cached_property
    def numbers(self) -> list[str]:
        """The columns of which quantiles are counted."""
        return [name for name in self.with_open(BOUNDS, BINS) if not self.has_few_values(name)]

    def has_few_values(self, name: str) -> bool:
        """Whether a column has a bin for each of its values, whatever the records are."""
        low, high = self.columns[name].bounds
        is_public = not self.is_open(name, BOUNDS)
        return is_public and self.columns[name].is_whole and high - low < MOST_BINS

    @functools.cached_property
    def first_grids(self) -> dict[str, Float[np.ndarray, " k"]]:
        """The edges of the cells of a first look; none where missing values alone are counted."""
        found = {name: np.empty(0) for name in self.with_open(NULLABLE)}
        for name in self.numbers:
            edges = self._first_grid(name)
            if edges is not None:
                found[name] = edges
        return found

    def _first_grid(self, name: str) -> Float[np.ndarray, " k"] | None:
        """Return the edges of a first look at numbers; None where equal leaves do at once."""
        column = self.columns[name]
        edges = scales(column)
        if self.is_open(name, BOUNDS):
            return edges
        low, end = self.ends(name)
        if column.type == TIME or (column.is_whole and end - low <= grids.NUM_LEAVES):
            return None
        return np.array([low, *edges[(edges > low) & (edges < end)], end])

    def ends(self, name: str) -> tuple[float, float]:
        """Return the public bounds of a column: the least number, and what lies past the largest.

        Many records may have the largest, as of what is cut off there: it is told from what lies
        before it.
        """
        column = self.columns[name]
        low, high = column.bounds
        return low, high + finest(column) if finest(column) else math.nextafter(high, math.inf)
