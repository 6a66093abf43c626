"""How near a made table comes to the private records: distances of columns and of their pairs.

They are computed from private records without noise, and are themselves private.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from jaxdp.tables.layout import Layout

NOTE = (
    "This file is computed from private records without noise. "
    "The guarantee does not cover it: do not release it."
)
MOST_COLUMNS = 60
"""So many columns are compared in pairs, the target aside: time grows with their square."""
_MOST_PAIRS = 20
# Joint cells that are counted in an array; where there are more, those that occur are looked up.
_MOST_CELLS = 1_000_000


class Distance(NamedTuple):
    """How far two empirical distributions are apart.

    Attributes:
        total_variation: half the sum of the cells' absolute differences of shares, from 0 to 1.
        by_chance: about what two samples of one distribution, as large as these, have.
    """

    total_variation: float
    by_chance: float


class Pair(NamedTuple):
    """Two columns together.

    Attributes:
        distance: of their joint cells.
        real: association of the two among private records, from 0 to 1.
        made: the same among made records.
    """

    distance: Distance
    real: float
    made: float


class Fidelity(NamedTuple):
    """A made table beside the private one; **private**.

    Attributes:
        names: of the columns, the target last where labels were used.
        num_real: number of private records.
        num_made: number of made records.
        counts: for each column how often each cell occurs, (2, cells): private, then made.
        columns: for each column its distance.
        pairs: by the columns' places (lower, higher).
        paired: places of the columns all of whose pairs are there.
        target: place of the target, or None where labels were not used.
    """

    names: tuple[str, ...]
    num_real: int
    num_made: int
    counts: list[np.ndarray]
    columns: list[Distance]
    pairs: dict[tuple[int, int], Pair]
    paired: list[int]
    target: int | None


def compare(
    layout: Layout,
    real: tuple[np.ndarray, np.ndarray],
    made: tuple[np.ndarray, np.ndarray],
    *,
    labelled: bool,
) -> Fidelity:
    """Compare made records with the private ones, by the cells of their columns.

    Memory is linear in the number of records.

    Args:
        layout: of the schema.
        real: (n, columns) private records as stored, and (n,) their classes.
        made: (m, columns) and (m,) the same of the made ones.
        labelled: whether classes mean anything.
    """
    names = [column.name for column in layout.schema.columns]
    sizes, target = list(layout.sizes), None
    cells = [list(np.ascontiguousarray(layout.cells(x).T)) for x, _ in (real, made)]
    paired = list(range(min(len(names), MOST_COLUMNS)))
    if labelled and layout.schema.target is not None:
        target = len(names)
        names.append(layout.schema.target.name)
        sizes.append(len(layout.schema.class_names))
        for columns, (_, y) in zip(cells, (real, made), strict=True):
            columns.append(y)
        paired.append(target)
    counts = [
        np.stack([np.bincount(columns[place], minlength=size) for columns in cells])
        for place, size in enumerate(sizes)
    ]
    chosen = set(itertools.combinations(paired, 2))
    if target is not None:
        chosen |= {(place, target) for place in range(target)}
    pairs = {(a, b): _pair(cells, a, b, sizes) for a, b in sorted(chosen)}
    return Fidelity(
        names=tuple(names),
        num_real=len(real[0]),
        num_made=len(made[0]),
        counts=counts,
        columns=[distance(count) for count in counts],
        pairs=pairs,
        paired=paired,
        target=target,
    )


def distance(counts: np.ndarray) -> Distance:
    """Return how far two rows of counts (2, cells) are apart.

    Under one distribution p the shares of a cell differ with variance p (1 - p) (1/n + 1/m), so
    by sqrt(2 / pi) of its root on average, and by 2 p at most.
    """
    sums = counts.sum(axis=1)
    shares = counts / sums[:, None]
    p = counts.sum(axis=0) / sums.sum()
    differ = np.minimum(np.sqrt(2 / math.pi * p * (1 - p) * np.sum(1 / sums)), 2 * p)
    return Distance(float(np.abs(shares[0] - shares[1]).sum() / 2), float(differ.sum() / 2))


def association(counts: np.ndarray, codes: np.ndarray, across: int) -> float:
    """Return Cramer's V of a table of counts without its bias, from 0 to 1.

    Bergsma, "A bias-correction for Cramer's V and Tschuprow's T" (2013).

    Args:
        counts: (cells,) of the table, at least one above 0.
        codes: (cells,) their places, row by row.
        across: number of the table's columns.
    """
    n = int(counts.sum())
    of_row, of_column = np.divmod(codes, across)
    rows, columns = (np.bincount(of, weights=counts) for of in (of_row, of_column))
    there = counts > 0
    expected = rows[of_row[there]] * columns[of_column[there]]
    phi = float(np.sum(counts[there].astype(np.float64) ** 2 / expected)) - 1
    r, k = np.count_nonzero(rows), np.count_nonzero(columns)
    if min(r, k) < 2:
        return 0.0
    phi -= (r - 1) * (k - 1) / (n - 1)
    most = min(size - (size - 1) ** 2 / (n - 1) for size in (r, k)) - 1
    return math.sqrt(min(max(phi / most, 0.0), 1.0)) if most > 1e-9 else 0.0


def figures(found: Fidelity) -> dict[str, Any]:
    """Return what a file says of a comparison, ready for JSON; **private**."""
    largest = sorted(found.pairs, key=lambda pair: -found.pairs[pair].distance.total_variation)
    inner = [found.pairs[pair].distance for pair in itertools.combinations(found.paired, 2)]
    return {
        "computed_on_private_data": True,
        "note": NOTE,
        "private_records": found.num_real,
        "made_records": found.num_made,
        "measure": "total_variation: half the sum of differences of shares, over the cells of the "
        "schema; by_chance: about what two samples of one distribution, as large as these, differ "
        "by; association: Cramer's V without its bias (Bergsma 2013)",
        "compared_in_pairs": _compared(found),
        "columns": {
            name: {**found.columns[place]._asdict(), "with_target": _with_target(found, place)}
            for place, name in enumerate(found.names)
        },
        "mean_of_pairs": float(np.mean([d.total_variation for d in inner])) if inner else None,
        "largest_pairs": [
            {
                "columns": [found.names[place] for place in pair],
                **found.pairs[pair].distance._asdict(),
                "association_private": found.pairs[pair].real,
                "association_made": found.pairs[pair].made,
            }
            for pair in largest[:_MOST_PAIRS]
        ],
    }


def _compared(found: Fidelity) -> str:
    num = len(found.names) - (found.target is not None)
    target = "" if found.target is None else " and the target"
    if num <= MOST_COLUMNS:
        return f"all {num} columns{target}"
    more = "" if found.target is None else "; of the others, pairs with the target alone"
    return f"the first {MOST_COLUMNS} of {num} columns{target}{more}"


def _with_target(found: Fidelity, place: int) -> dict[str, float] | None:
    if found.target is None or place == found.target:
        return None
    return found.pairs[place, found.target].distance._asdict()


def _pair(cells: list[list[np.ndarray]], a: int, b: int, sizes: list[int]) -> Pair:
    codes = [columns[a].astype(np.int64) * sizes[b] + columns[b] for columns in cells]
    counts, kept = _counted(codes, sizes[a] * sizes[b])
    real, made = (association(count, kept, sizes[b]) for count in counts)
    return Pair(distance(counts), real, made)


def _counted(codes: list[np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how often codes below `size` occur in each array (2, kept), and the codes (kept,)."""
    if size <= _MOST_CELLS:
        counts = np.stack([np.bincount(code, minlength=size) for code in codes])
        kept = np.flatnonzero(counts.any(axis=0))
        return counts[:, kept], kept
    kept, places = np.unique(np.concatenate(codes), return_inverse=True)
    parts = np.split(places.reshape(-1), [len(codes[0])])
    return np.stack([np.bincount(part, minlength=len(kept)) for part in parts]), kept
