"""Factors by which columns move together, given the target: post-processing.

Where too few pairs are counted to tell how columns depend on each other, their noisy second moments
still tell of a few directions in which many of them move at once. Records are drawn by

    z_j = sum_f L_jf g_f + sqrt(1 - |L_j|^2) e_j,    g, e ~ N(0, 1)

and column j has the cell in which Phi(z_j) lies, of its cells one after another by their
probability given the target. What is summed of a record is the normal score of each of its cells:
the z in the middle of the cell. The cells of a category lie in the order that the schema has. A
constant is summed with them, whose moments are the means of scores: these are 0 of the shares that
scores are made of, and not of the records where noise has moved the shares.

References:
    Nelsen (2006), "An introduction to copulas", section 2.3 (columns by their own shares).
    Benaych-Georges & Nadakuditi (2011), "The eigenvalues and eigenvectors of finite, low rank
        perturbations of large random matrices", section 3.1 (what noise leaves of a direction).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

# Vectors of scores are so much shorter than 1 by their mean square; longer ones are shortened.
_SLACK = 1.1
# Square of the constant, over that of scores.
_CONSTANT = 0.25
# Of the variance of a column, so much at most is that of factors.
_MOST_TOLD = 0.97
_LEAST = 1e-3
# Directions count that are so much longer than noise alone makes them.
_BEYOND_NOISE = 1.05


class Scores(NamedTuple):
    """Normal scores of all columns' cells.

    Attributes:
        values: of each column's cells, given the target's; at the end, the constant's only cell.
        variances: mean square of each column's scores.
        slopes: mean of each column's score times the z that has chosen it.
    """

    values: tuple[Float[np.ndarray, "_ c"], ...]
    variances: Float[np.ndarray, " q"]
    slopes: Float[np.ndarray, " q"]


def scores_of(
    tables: Sequence[Float[np.ndarray, "_ c"]], classes: Float[np.ndarray, " c"]
) -> Scores:
    """Return the scores of columns, as vectors whose mean square is a little below 1.

    Args:
        tables: each column's shares given the target's cell.
        classes: share of each cell of the target.
    """
    values, variances, slopes = [], [], []
    for shares in tables:
        upto = np.cumsum(shares, axis=0)
        below = upto - shares
        middle = ndtri(np.clip((upto + below) / 2, _LEAST, 1 - _LEAST))
        values.append(middle)
        variances.append(float((shares * middle**2).sum(axis=0) @ classes))
        slopes.append(float((middle * (_density(below) - _density(upto))).sum(axis=0) @ classes))
    length = np.sqrt(np.sum(variances) * (1 + _CONSTANT)) * _SLACK + _LEAST
    constant = np.full((1, len(classes)), _CONSTANT**0.5 / (1 + _CONSTANT) ** 0.5 / _SLACK)
    return Scores(
        (*(each / length for each in values), constant),
        np.array(variances) / length**2,
        np.array(slopes) / length,
    )


def _density(chances: Float[np.ndarray, "_ c"]) -> Float[np.ndarray, "_ c"]:
    """Return the normal density at what has these chances below it."""
    at = ndtri(np.clip(chances, 1e-12, 1 - 1e-12))
    return np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)


def noise_edge(stddev: float, num_columns: int) -> float:
    """Return the largest eigenvalue that noise on second moments has by itself.

    Args:
        stddev: of the noise on a number of the diagonal.
        num_columns: q.
    """
    return stddev * float(np.sqrt(2 * num_columns))


def loadings(
    moments: Float[np.ndarray, "p p"], stddev: float, num_records: int, scores: Scores
) -> Float[np.ndarray, "q f"]:
    """Return how much of each factor is in each column: none where noise explains all.

    Args:
        moments: noisy mean of `r r^T`, the constant last.
        stddev: of the noise on a number of its diagonal.
        num_records: n.
        scores: of which r is made.

    Each is made shorter by the noise that it has on average in a column of this variance.
    """
    constant, num = scores.values[-1].flat[0], len(scores.variances)
    means, own = moments[-1, :-1] / constant, float(np.mean(scores.variances))
    sizes, axes = np.linalg.eigh(moments[:-1, :-1] - np.outer(means, means))
    edge = noise_edge(stddev, num) * (1 + float(np.linalg.norm(means)) / (2 * constant))
    edge += own * ((1 + np.sqrt(num / num_records)) ** 2 - 1)
    seen = sizes - own > _BEYOND_NOISE * edge
    sizes, axes = sizes[seen] - own, axes[:, seen]
    true = (sizes + np.sqrt(sizes**2 - edge**2)) / 2
    # What a column would have of a factor by its variance alone, and the noise on what it has.
    variances = np.maximum(scores.variances, 1e-12)[:, None]
    likely = (true - (edge / 2) ** 2 / true) * variances / np.sum(variances)
    noise = (stddev**2 / 2 + variances * own / num_records) / true
    found = axes * np.sqrt(true * likely / (likely + noise))
    found = found / np.maximum(scores.slopes, 1e-9)[:, None]
    told = np.sum(found**2, axis=1, keepdims=True)
    return found / np.sqrt(np.maximum(told / _MOST_TOLD, 1.0))
