"""What columns that are alike tell of each other: post-processing.

Columns with the same cells, as rows of one sensor, often depend on the target in like ways, and the
more so the nearer they stand in the table. How much so is told by their noisy numbers themselves:
these are normal around 0, with

    covariance(j, k) = noise [j = k] + variance (K_jk + own [j = k])

where K is one of a few: none, the same for all, falling with the distance of the two columns, or
both. The likeliest is taken, and where noise explains the numbers as well, all are 0.

References:
    Efron & Morris (1973), "Stein's estimation rule and its competitors" (empirical Bayes).
    Rasmussen & Williams (2006), "Gaussian processes for machine learning", sections 2.2 and 5.4.1.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxdp.tables.domain import Domain

LEAST_ALIKE = 8
"""Fewer columns are not looked at together."""
_DISTANCES = (2.0, 5.0, 15.0, 50.0)
_VARIANCES = 10.0 ** np.arange(-3, 3.1, 0.25)
_OWN = (0.0, 0.1, 0.3, 1.0)


class Kernel(NamedTuple):
    """How alike columns are.

    Attributes:
        sizes: eigenvalues of K.
        axes: eigenvectors, as columns.
        own: sizes to try of each column's own part, over the variance.
        num_settings: what is chosen for each number by its likelihood, and has to pay for it.
    """

    sizes: Float[np.ndarray, " g"]
    axes: Float[np.ndarray, "g g"]
    own: Sequence[float]
    num_settings: int


class Estimate(NamedTuple):
    """What is likely behind noisy numbers.

    Attributes:
        gain: how much likelier it is than that they are noise, in logarithms, less its settings.
        means: of what they are without noise.
    """

    gain: float
    means: Float[np.ndarray, "g m"]


def groups(domain: Domain, columns: Sequence[int]) -> list[list[int]]:
    """Return columns in groups of one type and the same features, each in the table's order."""
    found: dict[tuple[bool, bytes], list[int]] = {}
    for column in columns:
        is_numeric = domain.columns[column].is_numeric
        found.setdefault((is_numeric, domain.features[column].tobytes()), []).append(column)
    return list(found.values())


def likeliest(
    noisy: Float[np.ndarray, "g m"],
    variance: Float[np.ndarray, " m"],
    places: Int[np.ndarray, " g"],
) -> Estimate:
    """Return what is likely behind m noisy numbers of each of g columns.

    Args:
        noisy: the numbers; those of one kind side by side in a column of the array.
        variance: of the noise on each kind, > 0.
        places: of the columns in the table.
    """
    return max((_under(kernel, noisy, variance) for kernel in _kernels(places)), key=_gain)


def _gain(estimate: Estimate) -> float:
    return estimate.gain


def _kernels(places: Int[np.ndarray, " g"]) -> Iterator[Kernel]:
    apart = np.abs(places[:, None] - places[None, :])
    ones = np.ones(apart.shape)
    yield Kernel(ones[0], np.eye(len(places)), (0.0,), 1)
    near = [np.exp(-apart / distance) for distance in _DISTANCES]
    for alike in (ones, *near, *(each + ones for each in near)):
        sizes, axes = np.linalg.eigh(alike)
        yield Kernel(np.maximum(sizes, 0.0), axes, _OWN, 2)


def _under(kernel: Kernel, noisy: np.ndarray, variance: np.ndarray) -> Estimate:
    """Return what is likely under one kernel, the sizes of its parts chosen for each kind."""
    turned = kernel.axes.T @ noisy
    scale = kernel.sizes + np.asarray(kernel.own)[:, None]
    ratios = (_VARIANCES[:, None, None] * scale).reshape(-1, len(noisy))
    # Over noise: a half of the sum of z^2 r / (1 + r) - log(1 + r).
    kept = ratios / (1 + ratios)
    gains = 0.5 * (kept @ (turned**2 / variance) - np.log1p(ratios).sum(axis=1)[:, None])
    best = gains.argmax(axis=0)
    found = gains[best, np.arange(len(best))] - kernel.num_settings
    means = kernel.axes @ (kept[best].T * turned * (found > 0))
    return Estimate(float(np.maximum(found, 0).sum()), means)
