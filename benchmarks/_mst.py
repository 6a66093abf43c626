"""MST: records from a private tree of pairs of columns.

Every column is measured with a third of the budget. Cells that noise hides are merged, all of a
column into one. A second third chooses the edges of a tree one by one, each by the exponential
mechanism among the pairs that join two parts of it, scored by how far a pair is from independent.
The last third measures these pairs.

References:
    McKenna, Miklau & Sheldon (2021), "Winning the NIST contest: a scalable and general approach to
        differentially private synthetic data", sections 3 and 4.
"""

import itertools
import math

import numpy as np
from _graphical import Budget, CellTable, Columns, Measurement, drawn, total_of

from jaxdp.methods.dp_ntk.cells import projected

# Standard deviations of the noise: a cell with fewer records is merged.
_HIDDEN = 3.0
_ITERATIONS = 5000


def mst(
    table: CellTable, budget: Budget, count: int, *, iterations: int = _ITERATIONS
) -> np.ndarray:
    """Return cells (count, columns) of synthetic records.

    Args:
        table: private.
        budget: all of it is spent. Adding or removing a record changes each marginal by 1.
        count: how many records.
        iterations: of the last estimate.
    """
    num = len(table.sizes)
    stddev = math.sqrt(3 * num / (2 * budget.rho))
    singles = [table.measured((column,), budget, stddev) for column in range(num)]
    merging = [merged_cells(each) for each in singles]
    small = merged_table(table, merging)
    total = total_of(singles)
    singles = [merged(each, cells) for each, cells in zip(singles, merging, strict=True)]
    edges = chosen_tree(small, independent_counts(singles, total), budget, budget.rho / 3)
    stddev = math.sqrt(3 * len(edges) / (2 * budget.rho))
    pairs = [small.measured(edge, budget, stddev) for edge in edges]
    made = drawn(small.sizes, [*singles, *pairs], count, budget.rng, iterations=iterations)
    return unmerged(made, merging, budget.rng)


def merged_cells(measurement: Measurement) -> np.ndarray:
    """Return the new number of each cell of a column: those that noise hides share the last."""
    seen = measurement.counts >= _HIDDEN * measurement.stddev
    numbers = np.cumsum(seen) - 1
    return np.where(seen, numbers, np.count_nonzero(seen))


def merged_table(table: CellTable, merging: list[np.ndarray]) -> CellTable:
    """Return a table in new numbers of cells."""
    columns = [cells[table.cells[:, i]] for i, cells in enumerate(merging)]
    return CellTable(np.stack(columns, axis=1), tuple(int(cells.max()) + 1 for cells in merging))


def merged(measurement: Measurement, cells: np.ndarray) -> Measurement:
    """Return a column's measurement in new numbers: sums, over the root of how many each has."""
    weights = 1 / np.sqrt(np.bincount(cells))
    if np.all(weights == 1):
        return measurement._replace(counts=measurement.counts[np.argsort(cells)])
    counts = np.bincount(cells, weights=measurement.counts) * weights
    return Measurement(measurement.columns, counts, measurement.stddev, weights)


def unmerged(cells: np.ndarray, merging: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Return records in the first numbers; those that were merged are drawn evenly."""
    found = np.empty_like(cells)
    for column, numbers in enumerate(merging):
        order = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers)
        starts = np.cumsum(counts) - counts
        values = cells[:, column]
        found[:, column] = order[starts[values] + rng.integers(counts[values])]
    return found


def independent_counts(singles: list[Measurement], total: float) -> list[np.ndarray]:
    """Return every column's counts, consistent: not negative, with the sum `total`."""
    return [
        projected(each.counts if each.weights is None else each.counts / each.weights, total)
        for each in singles
    ]


def chosen_tree(
    table: CellTable, counts: list[np.ndarray], budget: Budget, rho: float
) -> list[Columns]:
    """Return the edges of a spanning tree of large scores.

    A pair's score is |counts of the pair - what independence expects|_1, of sensitivity 1.

    Args:
        table: private.
        counts: of every column, as measured.
        budget: that is drawn on.
        rho: what all edges may cost.
    """
    num = len(table.sizes)
    total = counts[0].sum()
    scores = {
        (a, b): np.abs(table.counts((a, b)) - np.outer(counts[a], counts[b]) / total).sum()
        for a, b in itertools.combinations(range(num), 2)
    }
    epsilon = math.sqrt(8 * rho / max(num - 1, 1))
    part, edges = list(range(num)), []
    for _ in range(num - 1):
        open_pairs = [(a, b) for a, b in scores if part[a] != part[b]]
        values = np.array([scores[pair] for pair in open_pairs])
        chosen = open_pairs[budget.ranked(values, epsilon=epsilon, sensitivity=1.0)[0]]
        edges.append(chosen)
        joined, gone = part[chosen[0]], part[chosen[1]]
        part = [joined if each == gone else each for each in part]
    return edges
