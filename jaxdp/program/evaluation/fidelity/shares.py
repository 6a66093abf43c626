"""Distances of counted tables: total variation, and what samples of one distribution have of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

# Cells that are counted in an array; where there are more, those that occur are looked up.
_MOST_CELLS = 1_000_000


class Distance(NamedTuple):
    """How far two empirical distributions are apart.

    Attributes:
        distance: from 0 to 1.
        by_chance: about what two samples of one distribution, as large as these, have; None where
            one has no values.
    """

    distance: float
    by_chance: float | None


def total_variation(counts: np.ndarray) -> Distance:
    """Return how far two rows of counts (2, cells) are apart: half the sum of shares' differences.

    Args:
        counts: in each row at least one above 0.
    """
    sums = counts.sum(axis=1)
    shares, p = counts / sums[:, None], counts.sum(axis=0) / sums.sum()
    differ = by_chance(p, *sums)
    return Distance(float(np.abs(shares[0] - shares[1]).sum() / 2), float(differ.sum() / 2))


def by_chance(p: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return by how much shares of n and of m records of one distribution differ on average.

    The share of a cell of probability p differs with variance p (1 - p) (1/n + 1/m), so by
    sqrt(2 / pi) of its root on average, and by 2 p at most.
    """
    return np.minimum(np.sqrt(2 / math.pi * p * (1 - p) * (1 / n + 1 / m)), 2 * p)


def counted(codes: tuple[np.ndarray, np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how often codes below `size` occur in each array (2, kept), and the codes (kept,)."""
    if size <= _MOST_CELLS:
        counts = np.stack([np.bincount(code, minlength=size) for code in codes])
        kept = np.flatnonzero(counts.any(axis=0))
        return counts[:, kept], kept
    kept, places = np.unique(np.concatenate(codes), return_inverse=True)
    parts = np.split(places.reshape(-1), [len(codes[0])])
    return np.stack([np.bincount(part, minlength=len(kept)) for part in parts]), kept
