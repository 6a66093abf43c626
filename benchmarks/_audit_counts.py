"""Attacks on what is released of a table: counts of columns and of pairs, and second moments.

Two columns have two cells for every canary. A canary lies in the first of its cells in both columns
(in), or in the second ones (replace) or nowhere (zero-out; n counts it all the same). Of second
moments, every cell is a column, and a canary's vector is 1 in its own column. So canaries move
numbers of their own alone, and the score of each is the likelihood ratio of what it moves.
"""

from collections.abc import Callable

import jax
import numpy as np

from jaxdp.privacy import cell_counts, releases, second_moments
from jaxdp.privacy.relations import REPLACE
from jaxdp.privacy.releases import GaussianRelease

# Of an attack on no noise at all, for finite likelihoods.
_LEAST_NOISE = 1e-3


def calibrated(relation: str, *, epsilon: float, delta: float) -> GaussianRelease:
    """Return the release of counts at a budget."""
    moved = {"counts": cell_counts.sensitivity(relation)}
    (found,) = releases.calibrate(moved, target_epsilon=epsilon, delta=delta, relation=relation)
    return found


def _cells(included: np.ndarray, relation: str) -> np.ndarray:
    """Return the cells (n, 2) of canaries, those that are in and their neighbours."""
    first = 2 * np.arange(len(included))
    cells = np.where(included, first, first + 1)
    if relation != REPLACE:
        cells = cells[included]
    return np.stack([cells, cells], axis=1)


def _columns(cells: np.ndarray, width: int, release: GaussianRelease, key: jax.Array) -> np.ndarray:
    found = cell_counts.release_columns(key, cells, [width, width], release, num_records=1)
    return found / 2**0.5


def _pairs(cells: np.ndarray, width: int, release: GaussianRelease, key: jax.Array) -> np.ndarray:
    features = [np.eye(width), np.eye(width)]
    return cell_counts.release_pairs(key, cells, features, [(0, 1)], release, num_records=1)


def _moments(cells: np.ndarray, width: int, release: GaussianRelease, key: jax.Array) -> np.ndarray:
    one_hot = (cells[:, :1] == np.arange(width)).astype(np.int32)
    scores, classes = [np.array([[0.0], [1.0]])] * width, np.zeros(len(cells), np.int32)
    found = second_moments.release_moments(key, one_hot, scores, classes, release, num_records=1)
    return np.diag(found)


COUNTED: dict[str, Callable[..., np.ndarray]] = {
    "counts of columns": _columns,
    "counts of pairs": _pairs,
    "second moments": _moments,
}
"""What is released, in the units in which noise is added."""


def scores(
    what: str, included: np.ndarray, release: GaussianRelease, keys: jax.Array
) -> np.ndarray:
    """Count once for every key; return the scores (runs, canaries) of an attacker.

    Args:
        what: of `COUNTED`.
        included: (canaries,), which are in.
        release: of the counts.
        keys: private ones.
    """
    count, width, relation = COUNTED[what], 2 * len(included), release.relation
    bare = GaussianRelease(
        name="exact", sensitivity=release.sensitivity, stddev=0.0, relation=relation
    )
    everyone = np.ones(len(included), bool)
    inside, outside = (
        count(_cells(side, relation), width, bare, keys[0]) for side in (everyone, ~everyone)
    )
    owners = _owners(what, len(included))
    moved = np.bincount(owners[owners >= 0], ((inside - outside) ** 2)[owners >= 0])
    noise = max(release.stddev, _LEAST_NOISE)
    found = []
    for key in keys:
        seen = count(_cells(included, relation), width, release, key) - outside
        products = (seen * (inside - outside))[owners >= 0]
        together = np.bincount(owners[owners >= 0], products)
        found.append(moved / noise**2 * (together / moved - 0.5))
    return np.stack(found)


def _owners(what: str, canaries: int) -> np.ndarray:
    """Return for every count the canary that moves it, or -1."""
    of_cells = np.repeat(np.arange(canaries), 2)
    if what == "counts of columns":
        return np.tile(of_cells, 2)
    if what == "second moments":
        return of_cells
    return np.where(of_cells[:, None] == of_cells[None, :], of_cells[:, None], -1).ravel()
