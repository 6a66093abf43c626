"""The cells of a table's columns, and which of them are alike: what counts are made of.

Every value of a record lies in one cell of its column. Cells of a number or of an ordered category
are the more alike the nearer they are; other categories are not, and a missing value is like
nothing else:

    k(a, b) = exp(-|a - b| / (0.3 w))   for cells a, b of w in an order
    k(a, b) = [a = b]                   for others

`features` has a row for each cell, whose inner products are k. So a record that is counted by its
row, and not in its cell alone, is counted in all near cells to a part: the sum over records tells
smooth dependences with less noise than counts of cells do, and still tells each cell.
"""

import dataclasses
import functools
import itertools
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxdp.tables.columns import CATEGORICAL, Column
from jaxdp.tables.differences import Differences
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import BINS, Schema

Pair = tuple[int, int]
"""Numbers of two columns, the first one before the other."""
Query = Mapping[int, Bool[np.ndarray, " _"]]
"""By column, which of its cells answer: a record has to lie in one of them in every column."""
_LENGTH = 0.3
# Rows of features are shorter than 1 by this much, which covers the rounding of sums in float64.
_MARGIN = 1e-7


@dataclasses.dataclass(frozen=True)
class Domain:
    """The columns of a table that are counted; the target of classes last, where there is one.

    Attributes:
        schema: public.

    Examples:
        >>> import jaxdp
        >>> domain = jaxdp.tables.Domain(jaxdp.tables.read_schema("adult"))
        >>> len(domain.widths), domain.widths[-1], len(domain.pairs)
        (15, 2, 105)
    """

    schema: Schema

    @functools.cached_property
    def layout(self) -> Layout:
        """How records become cells, ordered columns as differences."""
        return Layout(self.differences.counted, BINS)

    @functools.cached_property
    def differences(self) -> Differences:
        """The columns that are counted as differences, where rules order them."""
        return Differences(self.schema)

    @functools.cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, the target last; differences where these are counted."""
        counted = self.differences.counted.columns
        if self.schema.target is None:
            return counted
        names = self.schema.class_names
        classes = Column(
            name=self.schema.target.name, type=CATEGORICAL, categories=names, other=False
        )
        return (*counted, classes)

    @functools.cached_property
    def target(self) -> int | None:
        """The column whose pairs come first: of classes, or the one that is to be predicted."""
        if self.schema.target is not None:
            return len(self.columns) - 1
        names = [column.name for column in self.columns]
        return names.index(self.schema.judged[0]) if len(self.schema.judged) == 1 else None

    @functools.cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        classes = () if self.schema.target is None else (len(self.schema.class_names),)
        return (*self.layout.sizes, *classes)

    @functools.cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each column's cells lie in a row of all cells."""
        ends = itertools.accumulate(self.widths, initial=0)
        return tuple(itertools.starmap(slice, itertools.pairwise(ends)))

    @property
    def dim(self) -> int:
        """Number of all cells."""
        return sum(self.widths)

    @functools.cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of columns, a column before a later one."""
        return tuple(itertools.combinations(range(len(self.widths)), 2))

    @functools.cached_property
    def features(self) -> tuple[Float[np.ndarray, "_ _"], ...]:
        """For each column a row of features for each cell.

        Guarantee:
            Rows have norm at most 1, and no two have a negative inner product.
        """
        each = zip(self.columns, self.widths, strict=True)
        return tuple(cell_features(column, width) for column, width in each)

    def cells(self, stored: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the cell of every column (n, q) int32 of records as stored and their classes."""
        cells = self.layout.cells(self.differences.of(stored))
        if self.schema.target is None:
            return cells
        return np.column_stack([cells, labels.astype(np.int32)])

    def stored(self, cells: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return records as stored, drawn evenly from cells (n, q), and their classes (n,)."""
        labels = np.zeros(len(cells), np.int32)
        if self.schema.target is not None:
            cells, labels = cells[:, :-1], cells[:, -1].astype(np.int32)
        return self.differences.back(self.layout.from_cells(cells, rng)), labels

    def size_of(self, pair: tuple[int, int]) -> int:
        """Return the number of cells that two columns have together."""
        return self.widths[pair[0]] * self.widths[pair[1]]


def answers(cells: Int[np.ndarray, "n q"], query: Query) -> Bool[np.ndarray, " n"]:
    """Return which records answer a query, by their cells."""
    return np.logical_and.reduce([inside[cells[:, j]] for j, inside in query.items()])


def cell_features(column: Column, width: int) -> Float[np.ndarray, "w w"]:
    """Return a row of features for each cell of a column.

    Args:
        column: as declared.
        width: number of its cells, that of missing values among them, which is the last.

    Guarantee:
        Rows have norm at most 1, and no two have a negative inner product.
    """
    alike = np.eye(width)
    if column.is_numeric or column.type == "ordinal":
        own = width - column.nullable
        at = np.arange(own) / own
        alike[:own, :own] = np.exp(-np.abs(at[:, None] - at[None, :]) / _LENGTH)
    return np.linalg.cholesky(alike) * (1 - _MARGIN)
