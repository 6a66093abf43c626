"""Where the columns of a table lie: in the rows that methods see, and in cells that are counted.

A record as stored is one number for each column: the position in [0, 1] of a numeric value between
its bounds, -1 where it is missing; the place of a category in its list, one past the last where it
is missing. From that, and public facts alone, follow

    rows in [0, 1]    one_hot: a numeric column is its position, a category is one-hot
                      raw: each column is one number, a category its place in the list
                      bins: each column is one-hot, a numeric one over its bins
    cells             whole numbers: each column's bin or category
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from jaxdp.tables import bought
from jaxdp.tables.columns import Column
from jaxdp.tables.schema import BINS, FORMS, ONE_HOT, RAW, Schema

MISSING_NUMBER = -1.0
# A position that stands for a missing one where rows have one number a column.
_MIDDLE = 0.5


def positions(column: Column, values: Any) -> np.ndarray:
    """Return where values of a numeric column lie between its bounds, in [0, 1]; clipped."""
    low, high = column.bounds
    values = np.clip(np.asarray(values, np.float64), low, high)
    if column.inner_edges is not None:
        ends = edges(column)
        return np.interp(values, ends, np.linspace(0, 1, len(ends)))
    if column.log:
        return np.log1p(values - low) / np.log1p(high - low)
    return (values - low) / (high - low)


def values_at(column: Column, where: np.ndarray) -> np.ndarray:
    """Return the values at positions in [0, 1]; whole numbers where the column has these.

    Each of these lies in the bin that its position is counted in. A long bin before another has
    many numbers within the last digit of float32.
    """
    values = _between(column, where)
    if column.is_whole:
        low, end = ends_of_bins(column, where)
        values = np.clip(np.rint(values), low, end - 1)
    return np.clip(values, *column.bounds)


def ends_of_bins(column: Column, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges before and after positions, as float32 tells it of both.

    The number at a position near the first of a bin may lie a little before the bin.
    """
    ends = edges(column)
    inner = positions(column, ends[1:-1]).astype(np.float32)
    places = np.searchsorted(inner, np.asarray(where, np.float32), side="right")
    return ends[places], ends[places + 1]


def _between(column: Column, where: np.ndarray) -> np.ndarray:
    """Return the values at positions in [0, 1], not rounded."""
    low, high = column.bounds
    where = np.clip(np.asarray(where, np.float64), 0.0, 1.0)
    if column.inner_edges is not None:
        ends = edges(column)
        return np.interp(where, np.linspace(0, 1, len(ends)), ends)
    if column.log:
        return low + np.expm1(where * np.log1p(high - low))
    return low + where * (high - low)


def edges(column: Column) -> np.ndarray:
    """Return the edges of a numeric column's bins, in its own units, with both ends."""
    low, high = column.bounds
    if column.inner_edges is not None:
        # A whole number fills its bin up to the next one, the largest as any other.
        return np.array([low, *column.inner_edges, high + column.is_whole], np.float64)
    assert isinstance(column.bins, int)
    inner = np.linspace(0.0, 1.0, column.bins + 1)[1:-1]
    found = np.clip(_between(column, inner), low, high)
    if column.is_whole:  # no bin without a whole number in it, and one for each if they suffice
        found, high = np.ceil(found), high + 1
    return np.unique(np.concatenate([[low], found[(found > low) & (found < high)], [high]]))


@dataclasses.dataclass(frozen=True)
class Block:
    """The places of one column in a row.

    Attributes:
        column: as declared.
        start: first place.
        width: number of places.
    """

    column: Column
    start: int
    width: int

    @property
    def places(self) -> slice:
        """All places."""
        return slice(self.start, self.start + self.width)


@dataclasses.dataclass(frozen=True)
class Layout:
    """How records of a schema lie in rows of one form.

    Attributes:
        schema: public.
        form: "one_hot", "raw" or "bins".

    Raises:
        ValueError: the form is unknown.

    Examples:
        >>> import jaxdp
        >>> schema = jaxdp.tables.read_schema("adult")
        >>> jaxdp.tables.Layout(schema, "one_hot").dim, jaxdp.tables.Layout(schema, "raw").dim
        (108, 14)
    """

    schema: Schema
    form: str = ONE_HOT

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ValueError(f"form must be one of {FORMS}, got {self.form!r}")

    @functools.cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns' places."""
        found, start = [], 0
        for column in self.schema.columns:
            width = 1 if self.form == RAW else _width(column, self.form)
            found.append(Block(column, start, width))
            start += width
        return tuple(found)

    @property
    def dim(self) -> int:
        """Length of a row."""
        return self.blocks[-1].start + self.blocks[-1].width

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column, where numbers are binned."""
        return tuple(_width(column, BINS) for column in self.schema.columns)

    @functools.cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For every place: its column, whether it is a number, and which stored values it marks."""
        parts = [
            (np.full(block.width, number), *_intervals(block.column, self.form, block.width))
            for number, block in enumerate(self.blocks)
        ]
        of, is_number, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        # int32: with int64 jax failed to index where no program was compiled around this
        return of.astype(np.int32), is_number, low.astype(np.float32), high.astype(np.float32)

    def to_unit(self, stored: Any) -> Any:
        """Return rows (n, d) in [0, 1] of records (n, columns) as stored; of numpy or of jax."""
        of, is_number, low, high = self._places
        spread = stored.astype(np.float32)[:, of]
        marked = ((spread >= low) & (spread < high)).astype(np.float32)
        if not is_number.any():
            return marked
        # A place of one number has its interval's length as its unit; -1 is a missing number.
        unit = np.where(is_number, high, 1.0).astype(np.float32)
        at = spread / unit
        middle = np.float32(_MIDDLE if self.form == RAW else 0.0)
        there = (spread >= 0).astype(np.float32)
        numbers = at * there + middle * (1 - there)
        return numbers * is_number.astype(np.float32) + marked * (~is_number).astype(np.float32)

    def from_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return the records as stored that rows (n, d) are nearest to."""
        stored = np.empty((len(rows), len(self.blocks)), np.float32)
        for number, block in enumerate(self.blocks):
            part, column = rows[:, block.places], block.column
            if self.form == RAW and not column.is_numeric:
                last = _width(column, ONE_HOT) - 1
                stored[:, number] = np.clip(np.rint(part[:, 0] * last), 0, last)
            elif self.form == BINS:
                stored[:, number] = self._middles(column)[np.argmax(part, axis=1)]
            elif column.is_numeric:
                stored[:, number] = np.clip(part[:, 0], 0, 1)
                if block.width == 2:
                    stored[part[:, 1] > _MIDDLE, number] = MISSING_NUMBER
            else:
                stored[:, number] = np.argmax(part, axis=1)
        return stored

    def cell_names(self, number: int) -> list[str]:
        """Return the names of a column's cells: categories, or the least value of a bin."""
        column = self.schema.columns[number]
        if column.is_numeric:
            names = [column.write(edge) for edge in edges(column)[:-1]]
        else:
            names = list(column.values)
        return [*names, "missing"] if column.nullable else names

    def nearest(self, stored: np.ndarray) -> np.ndarray:
        """Return records as stored in which every number is one that may stand there."""
        found = np.empty_like(stored)
        for number, column in enumerate(self.schema.columns):
            values = stored[:, number]
            if column.is_numeric:
                clipped = np.clip(values, 0, 1)
                found[:, number] = np.where((values < 0) & column.nullable, MISSING_NUMBER, clipped)
            else:
                last = _width(column, ONE_HOT) - 1
                found[:, number] = np.clip(np.rint(values), 0, last)
        return found

    def cells(self, stored: np.ndarray) -> np.ndarray:
        """Return the cell of every column (n, columns) int32 of records as stored."""
        found = np.empty(stored.shape, np.int32)
        for number, column in enumerate(self.schema.columns):
            values = stored[:, number]
            if column.is_numeric:
                inner = positions(column, edges(column)[1:-1]).astype(np.float32)
                cell = np.searchsorted(inner, values, side="right")
                found[:, number] = np.where(values < 0, len(inner) + 1, cell)
            else:
                found[:, number] = values
        return found

    def from_cells(self, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return records as stored, drawn evenly from cells (n, columns).

        Bins that were bought hold about equally many records. So a long one at an end is nearly
        empty far out, and numbers are drawn from it the more seldom the farther out they lie.
        """
        stored = np.empty(cells.shape, np.float32)
        facts = {} if self.schema.bought is None else self.schema.bought.facts
        for number, column in enumerate(self.schema.columns):
            cell = cells[:, number]
            if column.is_numeric:
                is_bought = bought.BINS in facts.get(column.name, ())
                rates = _rates(column) if is_bought else (0.0, 0.0)
                stored[:, number] = _drawn(column, cell, rng, rates)
            else:
                stored[:, number] = cell
        return stored

    def _middles(self, column: Column) -> np.ndarray:
        """Return what stands for each cell of a column."""
        if not column.is_numeric:
            return np.arange(_width(column, BINS), dtype=np.float32)
        low, high = _ends(column)
        middle = (positions(column, low) + positions(column, high)) / 2
        if column.is_whole:
            middle = positions(column, np.clip(values_at(column, middle), low, high))
        return np.append(middle, MISSING_NUMBER).astype(np.float32)


def _width(column: Column, form: str) -> int:
    if column.is_numeric:
        own = len(edges(column)) - 1 if form == BINS else 1
    else:
        own = len(column.values)
    return own + column.nullable


def _intervals(column: Column, form: str, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for every place whether it is a number, and the stored values [low, high) it marks."""
    if form == RAW or (form == ONE_HOT and column.is_numeric):
        unit = 1.0 if column.is_numeric else max(_width(column, ONE_HOT) - 1, 1)
        low, high = np.array([-np.inf, -np.inf]), np.array([unit, -0.5])
        return np.array([True, False])[:width], low[:width], high[:width]
    if column.is_numeric:
        at = positions(column, edges(column)).astype(np.float32)
        low, high = at[:-1].copy(), at[1:].copy()
        low[0], high[-1] = -0.5, np.inf
        if column.nullable:
            low, high = np.append(low, -np.inf), np.append(high, -0.5)
        return np.zeros(width, bool), low, high
    places = np.arange(width)
    return np.zeros(width, bool), places - 0.5, places + 0.5


def _rates(column: Column) -> tuple[float, float]:
    """Return how fast the density falls in the first bin and in the last, over its length.

    Within twice the length of the bins beside it, it falls by a factor e; 0 is even. Of two bins
    each is beside the other. Spikes are none.
    """
    if column.inner_edges is None:
        return 0.0, 0.0
    ends = edges(column)
    lengths, last = np.diff(ends), len(ends) - 2
    is_spike = np.isin(ends[:-1], column.numbers_of_spikes)
    if not column.is_whole:  # one at the upper bound begins at the number before
        is_spike |= ends[1:] <= np.nextafter(ends[:-1], np.inf)
    own = np.flatnonzero(~is_spike)
    inner = own[(own > 0) & (own < last)]
    found = []
    for end, part in ((0, inner[:_BESIDE]), (last, inner[-_BESIDE:])):
        beside = lengths[part if len(inner) else own[own != end]]
        rate = lengths[end] / (2 * np.median(beside)) if len(beside) else 0.0
        found.append(float(rate) if rate > 1 else 0.0)
    return found[0], found[1]


_BESIDE = 3


def _falling(even: np.ndarray, rate: float) -> np.ndarray:
    """Return numbers in [0, 1) whose density falls as exp(-rate x), of even ones."""
    return even if rate == 0 else -np.log1p(-even * -np.expm1(-rate)) / rate


def _drawn(
    column: Column, cell: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]
) -> np.ndarray:
    """Return positions of numbers drawn from bins; a cell past the last is missing."""
    low, high = _ends(column)
    inside = np.minimum(cell, len(low) - 1)
    part = rng.random(len(cell))
    part = np.where(inside == 0, 1 - _falling(1 - part, rates[0]), part)
    part = np.where(inside == len(low) - 1, _falling(part, rates[1]), part)
    if column.is_whole:
        drawn = positions(column, _whole(column, low[inside], high[inside], part))
    else:
        at_low, at_high = positions(column, low)[inside], positions(column, high)[inside]
        drawn = at_low + part * (at_high - at_low)
        # No edge is crossed by rounding.
        below = np.nextafter(at_high.astype(np.float32), np.float32(0))
        drawn = np.where(inside == len(low) - 1, drawn, np.minimum(drawn, below))
    return np.where(cell == len(low), MISSING_NUMBER, drawn)


def _whole(column: Column, low: np.ndarray, high: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the whole numbers that lie so far in [0, 1) between `low` and `high`, both included.

    Each fills the column's own scale up to the next one, so the ends are drawn as often as others.
    """
    least = column.bounds[0]
    if column.log and column.inner_edges is None:
        start, end = np.log1p(low - least), np.log1p(high + 1 - least)
        found = least + np.expm1(start + part * (end - start))
    else:
        found = low + part * (high + 1 - low)
    return np.clip(np.floor(found), low, high)


def _ends(column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of every bin; of numbers the next bin's least."""
    bounds = edges(column)
    return bounds[:-1], bounds[1:] - column.is_whole
