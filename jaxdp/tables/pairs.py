"""Pairs of a table's columns: which cells of the two a record lies in, with fewer cells of numbers.

Neighbouring bins of a number are merged before they are paired, because every cell has the same
noise. A category is never merged: its neighbours in a list mean nothing.
"""

import dataclasses
import functools
import itertools

import numpy as np

from jaxdp.tables.layout import Layout

_MOST_CELLS = 6
"""Cells of a number beside those of a missing one, held out on adult and covtype."""


@dataclasses.dataclass(frozen=True)
class Pairs:
    """All pairs of columns, and where the table of each lies in one long vector.

    Attributes:
        layout: of rows that are one-hot over the cells of every column.
    """

    layout: Layout

    @functools.cached_property
    def merged(self) -> tuple[np.ndarray, ...]:
        """For every column: the merged cell of each of its cells."""
        return tuple(
            _merged(block.width, block.column.is_numeric, block.column.nullable)
            for block in self.layout.blocks
        )

    @functools.cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of merged cells of each column."""
        return tuple(int(cells[-1]) + 1 for cells in self.merged)

    @functools.cached_property
    def starts(self) -> tuple[int, ...]:
        """First place of each column in a row of merged cells."""
        return tuple(itertools.accumulate((0, *self.widths[:-1])))

    @functools.cached_property
    def all(self) -> tuple[tuple[int, int], ...]:
        """The pairs, a column before a later one."""
        return tuple(itertools.combinations(range(len(self.widths)), 2))

    @property
    def dim(self) -> int:
        """Number of cells of all pairs."""
        total = sum(self.widths)
        return (total**2 - sum(width**2 for width in self.widths)) // 2

    @functools.cached_property
    def merging(self) -> np.ndarray:
        """Matrix (d, merged d) that turns rows over cells into rows over merged cells."""
        places = np.concatenate(
            [start + cells for start, cells in zip(self.starts, self.merged, strict=True)]
        )
        return np.eye(sum(self.widths), dtype=np.float32)[places]

    @functools.cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """For every cell of every pair: its places in rows over merged cells, int32."""
        parts = [
            np.meshgrid(*(self.starts[column] + np.arange(self.widths[column]) for column in pair))
            for pair in self.all
        ]
        first = np.concatenate([part[0].T.ravel() for part in parts])
        second = np.concatenate([part[1].T.ravel() for part in parts])
        return first.astype(np.int32), second.astype(np.int32)

    def tables(self, values: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
        """Return each pair's table (c, cells, cells) of vectors (c, dim)."""
        found, start = {}, 0
        for pair in self.all:
            shape = (self.widths[pair[0]], self.widths[pair[1]])
            stop = start + shape[0] * shape[1]
            found[pair] = values[:, start:stop].reshape(-1, *shape)
            start = stop
        return found


def _merged(width: int, is_numeric: bool, nullable: bool) -> np.ndarray:
    """Return the merged cell of each cell; that of missing numbers stays by itself."""
    own = width - nullable
    if not is_numeric or own <= _MOST_CELLS:
        return np.arange(width)
    cells = np.arange(own) * _MOST_CELLS // own
    return np.append(cells, _MOST_CELLS) if nullable else cells
