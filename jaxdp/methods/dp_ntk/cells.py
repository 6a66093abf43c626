"""Records drawn from noisy marginals: post-processing of a released embedding of cells.

Given its class, a record's columns are drawn independently, by the class's own marginals: to
shrink them towards those of the whole table makes rare classes look like the largest one.

References:
    Duchi et al. (2008), "Efficient projections onto the l1-ball", algorithm 1 (the simplex).
"""

import dataclasses
import math

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp.data import TableCodec
from jaxdp.features.base import SUMMED_SCALE
from jaxdp.methods.dp_ntk.drawing import checked_labels
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.methods.steps import Watch, unwatched
from jaxdp.tables.layout import Layout
from jaxdp.tables.obeying import obey

_LEAST_WEIGHT = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CellGenerator:
    """Draws records of a table, one for each label: `generator(labels, seed=1)`.

    Attributes:
        shares: (c, d) each class's share of every cell; those of one column have sum 1.
        class_names: in the order of the labels.
        codec: of the rows, whose columns are one-hot over cells.
        class_weights: shares in which classes are drawn where nobody says.
    """

    shares: Float[np.ndarray, "c d"]
    class_names: tuple[str, ...]
    codec: TableCodec
    class_weights: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a record as stored."""
        return (len(self.codec.schema.columns),)

    def drawn(
        self, labels: np.ndarray, key: Key[Array, ""], *, watch: Watch = unwatched
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return records as stored, and their rows in [0, 1]."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        layout = self.codec.layout
        cells = np.empty((len(labels), len(layout.blocks)), np.int32)
        for label in watch(np.unique(labels).tolist()):
            of_class = np.flatnonzero(labels == label)
            cells[of_class] = self.cells_of(label, len(of_class), rng)
        stored = obey(layout.from_cells(cells, rng), labels, layout.schema)
        return stored, layout.to_unit(stored)

    def cells_of(self, label: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return the cell of every column (count, columns) of records of a class."""
        columns = [
            evenly_drawn(self.shares[label, block.places], count, rng)
            for block in self.codec.layout.blocks
        ]
        return np.stack(columns, axis=1)

    def __call__(self, labels: np.ndarray, *, seed: int) -> np.ndarray:
        """Return one record as stored for each label.

        Raises:
            ValueError: there are no labels, or they are not those of classes.
        """
        labels = checked_labels(labels, len(self.class_names))
        return self.drawn(labels, jax.random.key(seed))[0]


def evenly_drawn(shares: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` cells in random order, of which each has its share up to one draw."""
    ends = np.cumsum(shares)
    points = (np.arange(count) + rng.random()) / count * ends[-1]
    cells = np.minimum(np.searchsorted(ends, points, side="right"), len(shares) - 1)
    return rng.permutation(cells)


def fitted(
    released: Released,
    codec: TableCodec,
    *,
    class_names: tuple[str, ...],
) -> tuple[CellGenerator, np.ndarray]:
    """Return the generator of what was released, and the classes' shares of the records.

    Args:
        released: the noisy mean embedding of cells.
        codec: of its rows.
        class_names: in the order of the labels.
    """
    root = math.sqrt(len(codec.layout.blocks)) / SUMMED_SCALE
    mu = np.asarray(released.mu, np.float64) * root
    shares, weights = shares_of(mu, codec.layout)
    generator = CellGenerator(
        shares=shares,
        class_names=class_names,
        codec=codec,
        class_weights=tuple(map(float, weights)),
    )
    return generator, weights


def shares_of(mu: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return each class's shares of the cells of every column, and the classes' own shares.

    Args:
        mu: (c, d) parts of all records that are of a class and in a cell, with noise.
        layout: of rows that are one-hot over cells.
    """
    weights = class_weights(mu, [block.places for block in layout.blocks])
    shares = np.empty_like(mu)
    for block in layout.blocks:
        for label, weight in enumerate(weights):
            shares[label, block.places] = projected(mu[label, block.places] / weight, 1.0)
    return shares, weights


def class_weights(mu: np.ndarray, places: list[slice]) -> np.ndarray:
    """Return the classes' shares: every column's sum tells them, with noise by its cells."""
    sums = np.stack([mu[:, place].sum(axis=1) for place in places])
    certain = np.array([1 / (place.stop - place.start) for place in places])
    weights = np.maximum(np.average(sums, axis=0, weights=certain), _LEAST_WEIGHT)
    return weights / weights.sum()


def projected(values: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest numbers that are not negative and have a sum."""
    values = values - np.max(values)  # the same for the result; sums stay exact where it counts
    falling = np.sort(values)[::-1]
    surplus = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > surplus)[-1]
    return np.maximum(values - surplus[last], 0.0)
