"""What others make of a table: `majority`, `independent`, `mst` and `aim`.

`independent` is what `marginals` does with the same noise, written apart from it: each class's
counts of a column are projected to the simplex, and columns are drawn from them.
`majority` is one record of the largest class, which is read off the data without noise: no score
below it means anything. `mst` and `aim` are the mechanisms of `_mst` and `_aim` on the cells of
all columns and the class.

`independent` is private where one record is replaced, as our methods are; `mst` and `aim` where one
is added or removed, which allows them less noise.
"""

import importlib.util
import itertools
import math

import numpy as np
from _aim import aim
from _graphical import Budget, CellTable, zcdp_rho
from _mst import mst
from _tables import Split

from jaxdp.methods.dp_ntk.cells import class_weights, evenly_drawn, projected
from jaxdp.privacy.accounting import analytic_gaussian_stddev
from jaxdp.tables import Layout, Schema

NAMES = ("majority", "independent", "mst", "aim")
# More columns, the class among them, take more than ten minutes.
_MOST_COLUMNS = {"mst": 100, "aim": 60}


def why_not(method: str, schema: Schema) -> str | None:
    """Return why a method is not run on tables of a schema, None if it is."""
    if method in _MOST_COLUMNS and importlib.util.find_spec("mbi") is None:
        return f"{method} needs mbi, of the extra [dev], and jax 0.9 or newer"
    num, most = len(schema.columns) + 1, _MOST_COLUMNS.get(method, math.inf)
    if num <= most:
        return None
    return f"{method} is run on {most} columns at most, this table has {num}"


def baseline(
    method: str, split: Split, *, eps: float, delta: float, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return records as stored, and their labels.

    Args:
        method: of `NAMES`.
        split: whose training part is private.
        eps: of all that is released.
        delta: as well.
        count: how many records; `majority` needs one.
        seed: of noise and records.
    """
    layout, num_classes = Layout(split.schema, "bins"), len(split.schema.class_names)
    rng = np.random.default_rng([seed, NAMES.index(method)])
    if method == "majority":
        most = np.argmax(np.bincount(split.y, minlength=num_classes))
        return split.x[:1], np.array([most], np.int32)
    cells, sizes = layout.cells(split.x), layout.sizes
    if method == "independent":
        made, y = independent(
            cells, split.y, (sizes, num_classes), eps=eps, delta=delta, count=count, rng=rng
        )
        return layout.from_cells(made, rng), y
    table = CellTable(np.column_stack([cells, split.y]), (*sizes, num_classes))
    budget = Budget(zcdp_rho(eps, delta), rng)
    if method == "mst":
        made = mst(table, budget, count)
    else:
        made = aim(table, budget, count, target=len(sizes))
    return layout.from_cells(made[:, :-1], rng), made[:, -1].astype(np.int32)


def independent(
    cells: np.ndarray,
    y: np.ndarray,
    sizes: tuple[tuple[int, ...], int],
    *,
    eps: float,
    delta: float,
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return cells and labels of records whose columns are independent, given the class.

    A record is one in one cell of each of q columns, so replacing it moves the counts by sqrt(2 q).

    Args:
        cells: (n, q) of the private records.
        y: (n,) their classes.
        sizes: number of cells of each column, and of classes.
        eps: of all counts together.
        delta: as well.
        count: how many records.
        rng: of noise and records.
    """
    widths, num_classes = sizes
    stddev = analytic_gaussian_stddev(
        epsilon=eps, delta=delta, sensitivity=math.sqrt(2 * len(widths))
    )
    starts = np.concatenate([[0], np.cumsum(widths)])
    counts = np.zeros((num_classes, starts[-1]))
    np.add.at(counts, (y[:, None], cells + starts[:-1]), 1.0)
    shares = (counts + rng.normal(0, stddev, counts.shape)) / len(y)
    places = [slice(a, b) for a, b in itertools.pairwise(starts)]
    weights = class_weights(shares, places)
    labels = evenly_drawn(weights, count, rng).astype(np.int32)
    made = np.empty((count, len(widths)), np.int32)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        for column, place in enumerate(places):
            given = projected(shares[label, place] / weights[label], 1.0)
            made[rows, column] = evenly_drawn(given, len(rows), rng)
    return made, labels
