"""Noisy counts of ordered cells, from which all sums from the first cell on are known well.

With h the counts of m cells, A the m x m matrix of sums (ones on and below the diagonal), and its
root R, A = R R, which is lower triangular and constant along diagonals,

    R_ij = r_{i-j},    r_0 = 1,    r_k = r_{k-1} (2 k - 1) / (2 k)

what is released is `R h / norm(r) + N(0, s^2)`, and `A h = R (R h)`. The noise of every sum has a
standard deviation of at most `s norm(r)^2`, and `norm(r)^2` is about `1 + log(m) / pi`: that of
counts themselves would grow as the root of m.

References:
    Fichtenberger, Henzinger & Upadhyay (2023), "Constant matters: fine-grained error bound on
        differentially private continual observation" (the root of the matrix).
"""

import math
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp.privacy.cell_counts import noisy_sums, require_sensitivity
from jaxdp.privacy.releases import GaussianRelease

# Features are shorter than 1 by this much, which covers the rounding of sums in float64.
_MARGIN = 1e-7
DIFFERENCE = 1.13
"""Standard deviation of the difference of two sums that follow each other, at most, in `s norm(r)`:
the root of the sum of squares of 1 and of all steps of r."""


def root(size: int) -> Float[np.ndarray, " m"]:
    """Return the first column r of the root of the matrix of sums.

    Examples:
        >>> from jaxdp.privacy import ordered_counts
        >>> ordered_counts.root(4)
        array([1.    , 0.5   , 0.375 , 0.3125])
    """
    k = np.arange(1, size)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def release_ordered(
    key: Key[Array, ""],
    columns: Sequence[tuple[Int[np.ndarray, " n"], int]],
    release: GaussianRelease,
) -> tuple[Float[np.ndarray, " m"], ...]:
    """Return for each column the noisy sums of its counts, from the first cell to each.

    Args:
        key: of the noise, fresh and secret.
        columns: private; the cell of every record, -1 where it lies in none, and the number of
            cells.
        release: of `R h / norm(r)` over the root of the number of columns.

    Raises:
        ValueError: the release claims less than the true sensitivity, or a cell is out of range.

    Guarantee:
        One Gaussian release: a record adds a column of `R / norm(r)` for each of its cells, of norm
        1 at most and with no negative entry. So all of these over the root of the number of columns
        move by at most 1 in norm where a record becomes empty, and by sqrt(2) where it is replaced.

    Examples:
        >>> import numpy as np
        >>> from jaxdp.privacy import GaussianRelease, mechanism, ordered_counts
        >>> release = GaussianRelease(name="counts", sensitivity=2**0.5, stddev=0.0)
        >>> cells = np.array([0, 2, 2, 3])
        >>> found = ordered_counts.release_ordered(mechanism.private_key(), [(cells, 4)], release)
        >>> found[0].round(3).tolist()
        [1.0, 1.0, 3.0, 4.0]
    """
    require_sensitivity(release)
    found, share = [], math.sqrt(len(columns))
    for number, (cells, size) in enumerate(columns):
        if np.any(cells < -1) or np.any(cells >= size):
            raise ValueError("a record lies in no cell of its column")
        r = root(size)
        norm = float(np.linalg.norm(r)) * (1 + _MARGIN)
        counts = np.bincount(cells[cells >= 0], minlength=size)
        exact = _times_root(r, counts) / (norm * share)
        noisy = noisy_sums(jax.random.fold_in(key, number), exact, release) * (norm * share)
        found.append(_times_root(r, noisy))
    return tuple(found)


def covariance_with_last(size: int) -> Float[np.ndarray, " m"]:
    """Return the covariance of every sum's noise with that of the last, where `s norm(r)` is 1.

    The variance of the last is its last entry.
    """
    r = root(size)
    return _times_root(r, r[::-1])  # R times its last row


def _times_root(
    r: Float[np.ndarray, " m"], values: Float[np.ndarray, " m"] | Int[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Return R times values, each sum in float64."""
    return np.convolve(r, values.astype(np.float64))[: len(r)]
