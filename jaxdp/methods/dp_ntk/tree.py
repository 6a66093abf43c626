"""Records drawn along a tree of columns: post-processing of released counts of columns and pairs.

Given its class, a record's first column is drawn by itself, and every other one by the column that
it hangs on. The tree joins the columns whose counted pairs depend on each other most, and leaves
those alone whose dependence noise would hide.

References:
    Chow & Liu (1968), "Approximating discrete probability distributions with dependence trees".
    Friedman, Geiger & Goldszmidt (1997), "Bayesian network classifiers", section 4 (given a class).
    Stein (1956), "Inadmissibility of the usual estimator for the mean of a multivariate normal
        distribution"; Efron & Morris (1973), "Stein's estimation rule and its competitors",
        equation 1.12 (shrinking towards a point, no factor below 0).
    Deming & Stephan (1940), "On a least squares adjustment of a sampled frequency table when the
        expected marginal totals are known" (a table with given margins).
"""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from jaxdp.data import TableCodec
from jaxdp.features.base import SUMMED_SCALE
from jaxdp.methods.dp_ntk.cells import CellGenerator, evenly_drawn, shares_of
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.tables.pairs import Pairs

ROOT = -1
# A dependence counts where it is so many standard deviations of noise above none.
_CERTAIN = 4.0
# Least part of what independence would give a cell, so that margins can always be met.
_LEAST_PART = 1e-3
_NUM_FITS = 50


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TreeGenerator(CellGenerator):
    """Draws records of a table column by column: `generator(labels, seed=1)`.

    Attributes:
        parents: the column that each column hangs on, -1 for none; no column hangs on itself.
        given: for every column that hangs on one, (c, merged cells of that one, own cells) shares
            of its cells, with sum 1; of no size for the others.
    """

    parents: tuple[int, ...]
    given: tuple[Float[np.ndarray, "..."], ...]

    def cells_of(self, label: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return the cell of every column (count, columns) of records of a class."""
        layout = self.codec.layout
        merged = Pairs(layout).merged
        cells = np.empty((count, len(self.parents)), np.int32)
        for number in in_order(self.parents):
            parent = self.parents[number]
            if parent == ROOT:
                shares = self.shares[label, layout.blocks[number].places]
                cells[:, number] = evenly_drawn(shares, count, rng)
                continue
            above = merged[parent][cells[:, parent]]
            for cell in np.unique(above):
                there = np.flatnonzero(above == cell)
                shares = self.given[number][label, cell]
                cells[there, number] = evenly_drawn(shares, len(there), rng)
        return cells


def in_order(parents: tuple[int, ...]) -> list[int]:
    """Return the columns, each after the one that it hangs on.

    Raises:
        ValueError: they hang on each other in a circle, or on a column that is not there.
    """
    found: list[int] = []
    while len(found) < len(parents):
        ready = [
            number
            for number, parent in enumerate(parents)
            if number not in found and (parent == ROOT or parent in found)
        ]
        if not ready:
            raise ValueError(f"columns hang on each other: {parents}")
        found += ready
    return found


def fitted(
    released: Released,
    codec: TableCodec,
    *,
    share: float,
    stddev: float,
    class_names: tuple[str, ...],
) -> tuple[TreeGenerator, np.ndarray]:
    """Return the generator of what was released, and the classes' shares of the records.

    Args:
        released: the noisy mean embedding of cells and of pairs of cells.
        codec: of its rows.
        share: part of the features that counts pairs.
        stddev: of the noise on every entry of the embedding.
        class_names: in the order of the labels.
    """
    layout, pairs = codec.layout, Pairs(codec.layout)
    mu = np.asarray(released.mu, np.float64) / SUMMED_SCALE
    root = math.sqrt(len(layout.blocks) / (1 - share))
    of_pairs = math.sqrt(len(pairs.all) / share)
    shares, weights = shares_of(mu[:, : layout.dim] * root, layout)
    noise = stddev * of_pairs / SUMMED_SCALE
    own = [shares[:, block.places] for block in layout.blocks]
    away = dependences(pairs, mu[:, layout.dim :] * of_pairs, own, weights)
    parents = tree_of(pairs, away, noise)
    given = [np.empty(0)] * len(parents)
    for number, parent in enumerate(parents):
        if parent != ROOT:
            pair = (parent, number) if parent < number else (number, parent)
            table = away[pair] if parent < number else away[pair].transpose(0, 2, 1)
            given[number] = _given(pairs, table, own, weights, noise, (parent, number))
    generator = TreeGenerator(
        shares=shares,
        class_names=class_names,
        codec=codec,
        class_weights=tuple(map(float, weights)),
        parents=parents,
        given=tuple(given),
    )
    return generator, weights


def dependences(
    pairs: Pairs, values: np.ndarray, own: list[np.ndarray], weights: np.ndarray
) -> dict[tuple[int, int], np.ndarray]:
    """Return for every pair (c, cells, cells): its counted shares less those of independence.

    Args:
        pairs: of columns.
        values: (c, cells of all pairs) parts of all records, with noise.
        own: (c, cells) shares of every column, by class.
        weights: (c,) the classes' shares.
    """
    merged = [_merged(pairs, number, shares) for number, shares in enumerate(own)]
    return {
        (i, j): table - weights[:, None, None] * merged[i][:, :, None] * merged[j][:, None, :]
        for (i, j), table in pairs.tables(values).items()
    }


def tree_of(pairs: Pairs, away: dict[tuple[int, int], np.ndarray], noise: float) -> tuple[int, ...]:
    """Return the column that each column hangs on: a maximum spanning forest of dependences."""
    from scipy.sparse import csgraph, csr_array

    num = len(pairs.widths)
    scores = np.zeros((num, num))
    for (i, j), table in away.items():
        scores[i, j] = _surplus(table, noise)
    # The library looks for the least sum, and knows no edge of weight 0.
    forest = csgraph.minimum_spanning_tree(csr_array(-scores))
    parents = np.full(num, ROOT)
    _, part = csgraph.connected_components(forest, directed=False)
    degrees = (forest != 0).sum(axis=0) + (forest != 0).sum(axis=1)
    for number in np.unique(part):
        there = np.flatnonzero(part == number)
        top = there[np.argmax(degrees[there])]
        order, above = csgraph.breadth_first_order(forest, top, directed=False)
        parents[order[1:]] = above[order[1:]]
    return tuple(map(int, parents))


def _surplus(table: np.ndarray, noise: float) -> float:
    """Return the squared size of a dependence beyond what noise gives; 0 where it is uncertain."""
    pooled = table.sum(axis=0)
    variance = len(table) * noise**2
    surplus = float(np.sum(pooled**2)) - pooled.size * variance
    certain = _CERTAIN * math.sqrt(2 * pooled.size) * variance
    return surplus if surplus > certain else 0.0


def _given(
    pairs: Pairs,
    away: np.ndarray,
    own: list[np.ndarray],
    weights: np.ndarray,
    noise: float,
    pair: tuple[int, int],
) -> np.ndarray:
    """Return the shares of a column's cells by class and by the merged cell of its parent.

    A class's dependence is that of all classes together, and its own where noise does not hide it.
    """
    parent, number = (_merged(pairs, column, own[column]) for column in pair)
    places = pairs.merged[pair[1]]
    pooled = shrunk(away.sum(axis=0), math.sqrt(len(weights)) * noise)
    found = np.empty((len(weights), parent.shape[1], len(places)))
    for label, weight in enumerate(weights):
        apart = np.outer(parent[label], number[label])
        dependence = pooled + shrunk(away[label] - weight * pooled, noise) / weight
        table = np.maximum(apart + dependence, _LEAST_PART * apart)
        table = with_margins(table, parent[label], number[label])
        within = _parts(own[pair[1]][label], number[label][places])
        rows = _parts(table, table.sum(axis=1, keepdims=True))
        rows[parent[label] <= 0] = number[label]  # of a cell that is never drawn
        found[label] = rows[:, places] * within
    return found


def shrunk(values: np.ndarray, noise: float) -> np.ndarray:
    """Return noisy values times what is certain of them: 0 where they are as large as noise."""
    size = float(np.sum(values**2))
    degrees = max(values.size - 2, 1)
    return values * (max(0.0, 1 - degrees * noise**2 / size) if size > 0 else 0.0)


def with_margins(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return a table of positive numbers that is scaled until its margins are given ones."""
    for _ in range(_NUM_FITS):
        table = table * _parts(rows, table.sum(axis=1))[:, None]
        table = table * _parts(columns, table.sum(axis=0))[None, :]
    return table


def _merged(pairs: Pairs, column: int, shares: np.ndarray) -> np.ndarray:
    """Return shares (c, cells) of a column's merged cells."""
    which = np.eye(pairs.widths[column])[pairs.merged[column]]
    return shares @ which


def _parts(values: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """Return values / wholes, 0 where there is no whole."""
    return np.divide(
        values, wholes, out=np.zeros(np.broadcast(values, wholes).shape), where=wholes > 0
    )
