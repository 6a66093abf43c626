"""Noisy second moments of records that are short vectors.

    m = sum_i r_i r_i^T + N(0, s^2) on every number,    |r_i| <= 1

What gets noise is the diagonal and, times the root of 2, what is above it: so much has the norm of
the whole matrix, and no number gets noise twice.

Vectors are rounded towards 0 to whole numbers of `1 / LENGTH` before anything is added up. Sums of
products of whole numbers are exact, whatever the other records are and in whatever order.

References:
    Dwork, Talwar, Thakurta & Zhang (2014), "Analyze Gauss: optimal bounds for privacy-preserving
        principal component analysis".
    Casacuberta et al. (2022), "Widespread underestimation of sensitivity in differentially private
        libraries and how to fix it" (attacks by rounding).
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp import processes
from jaxdp.privacy import cell_counts
from jaxdp.privacy.releases import GaussianRelease

LENGTH = 2**15
"""A vector of norm 1 in whole numbers."""
# Sums of so many products of whole numbers stay below 2^53 in float64.
_ROWS = 2**12
_MARGIN = 1e-12


def release_moments(
    key: Key[Array, ""],
    cells: Int[np.ndarray, "n q"],
    scores: Sequence[Float[np.ndarray, "_ c"]],
    classes: Int[np.ndarray, " n"],
    release: GaussianRelease,
    *,
    num_records: int,
) -> Float[np.ndarray, "q q"]:
    """Return the noisy mean of `r r^T`, where r has a score for each cell that a record lies in.

    Args:
        key: of the noise, fresh and secret.
        cells: private; the cell of every record in q columns.
        scores: of each column's cells, for every class; chosen without the records, or by what was
            released of them.
        classes: private; which of the scores' c classes a record has.
        release: of the sums.
        num_records: n, public.

    Raises:
        ValueError: the release claims less than the true sensitivity, scores are not finite, or
            there are none for a cell.

    Guarantee:
        One Gaussian release: longer vectors are shortened to norm 1, each by itself, so a record
        adds a matrix of norm at most 1, and no two records' matrices have a negative inner product.
        So all sums move by at most 1 in norm where a record becomes empty, and by sqrt(2) where it
        is replaced. Independent noise of the release's standard deviation is on each number.
    """
    cell_counts.require_sensitivity(release)
    if cells.shape[1:] != (len(scores),):
        raise ValueError(f"cells have shape {cells.shape}, and there are {len(scores)} columns")
    if not all(np.all(np.isfinite(each)) for each in scores):
        raise ValueError("scores must be finite")
    for column, each in zip(cells.T, scores, strict=True):
        _require_places(column, len(each), "a record lies in no cell of its column")
        _require_places(classes, each.shape[1], "a record has no class of the scores")
    upper, weights = _upper(len(scores))
    exact = np.asarray(processes.summed(_sums(cells, scores, classes)))[upper]
    noisy = cell_counts.noisy_sums(key, exact * weights / LENGTH**2, release)
    found = np.zeros((len(scores), len(scores)))
    found[upper] = noisy / weights / num_records
    return found + np.triu(found, 1).T


def whole_rows(rows: Float[np.ndarray, "b q"]) -> Int[np.ndarray, "b q"]:
    """Return vectors as whole numbers, in units of `1 / LENGTH`.

    Guarantee:
        Each has norm at most `LENGTH`, and depends on its own vector alone.
    """
    with np.errstate(over="ignore"):  # a norm that is infinite leaves nothing of its vector
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
    short = rows / np.maximum(norms, 1.0)  # first, or the largest numbers overflow
    return np.trunc(short * (LENGTH * (1 - _MARGIN))).astype(np.int64)


def _sums(
    cells: np.ndarray, scores: Sequence[np.ndarray], classes: np.ndarray
) -> Int[np.ndarray, "q q"]:
    """Return the exact sums of products of whole numbers."""
    found = np.zeros((len(scores), len(scores)), np.int64)
    for start in range(0, len(cells), _ROWS):
        block = slice(start, start + _ROWS)
        own = zip(cells[block].T, scores, strict=True)
        rows = np.stack([each[column, classes[block]] for column, each in own], axis=1)
        whole = whole_rows(rows).astype(np.float64)
        found += (whole.T @ whole).astype(np.int64)
    return found


def _upper(size: int) -> tuple[tuple[np.ndarray, np.ndarray], Float[np.ndarray, " p"]]:
    """Return the places on and above the diagonal, and what each is multiplied by."""
    upper = np.triu_indices(size)
    return upper, np.where(upper[0] == upper[1], 1.0, math.sqrt(2))


def _require_places(places: np.ndarray, size: int, message: str) -> None:
    if len(places) and (np.min(places) < 0 or np.max(places) >= size):
        raise ValueError(message)
