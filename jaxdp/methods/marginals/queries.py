"""How far a made table is from the private one, by queries that it was not made from.

A part of the budget answers random queries about three columns, which nothing is fitted to. So the
answers say of the made table what they would of any other, and with known noise:

    d_l = s_l - t_l,      E d_l^2 = (true difference)^2 + (noise)^2

for the share s_l of made records that answer query l, and the noisy share t_l of private ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jaxdp.tables.domain import Domain, Query, answers

NUM = 40
"""More queries have more noise each; this many tell their mean square best over a table or two."""
_COLUMNS, _SHARE = 3, 0.5
_SURE = 1.96


def choose(domain: Domain, columns: Float[np.ndarray, " d"]) -> tuple[Query, ...]:
    """Return random queries about three columns, each of which about half of the records meet.

    The seed is public, and the same for all tables: whoever has the counts has the queries.

    Args:
        domain: the cells of the columns.
        columns: noisy shares of records in them, as they were released.
    """
    rng = np.random.default_rng(0)
    shares = [np.maximum(columns[place], 0) for place in domain.places]
    found = []
    for _ in range(NUM):
        which = rng.choice(len(shares), min(_COLUMNS, len(shares)), replace=False)
        found.append({int(j): _half(domain, int(j), shares[j], rng) for j in np.sort(which)})
    return tuple(found)


def _half(domain: Domain, column: int, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return cells that hold about half of the records: in a row where cells have an order."""
    width, own = len(shares), domain.columns[column]
    order = rng.permutation(width)
    if own.is_numeric or own.type == "ordinal":
        order = (order[0] + np.arange(width)) % width
    sums = np.cumsum(shares[order])
    last = int(np.searchsorted(sums, _SHARE * sums[-1])) if sums[-1] > 0 else width // 2
    inside = np.zeros(width, bool)
    inside[order[: min(last, width - 2) + 1]] = True
    return inside


def error(
    cells: Int[np.ndarray, "m q"],
    queries: Sequence[Query],
    told: Float[np.ndarray, " k"],
    stddev: float,
) -> dict[str, Any]:
    """Return how far made records are from the private ones, in JSON's types.

    Args:
        cells: of the made records.
        queries: that were answered.
        told: their noisy shares of the private records.
        stddev: of the noise on each.

    Returns:
        `queries`, their number; `error`, the root of the mean squared difference of shares, noise
        taken off, and 0 where noise explains all of it; `interval`, of 95 %, by the noise; `noise`.
    """
    made = np.array([np.mean(answers(cells, query)) for query in queries])
    squares = (made - told) ** 2
    mean = float(np.mean(squares)) - stddev**2
    true = max(mean, 0.0)
    spread = ((2 * stddev**4 + 4 * true * stddev**2) / len(squares)) ** 0.5
    low, high = (max(mean + side * _SURE * spread, 0.0) ** 0.5 for side in (-1, 1))
    return {
        "queries": len(squares),
        "error": true**0.5,
        "interval": [low, high],
        "noise": stddev,
    }
