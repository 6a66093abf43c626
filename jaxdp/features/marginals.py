"""Marginals of a table as features: which cell of every column a record lies in.

    phi(x) = (e_1(x_1), ..., e_q(x_q)) / sqrt(q),   e_j one-hot over the cells of column j

The mean of phi over the records of a class is that class's marginals, so a noisy mean embedding is
noisy marginals. A record lies in one cell of every column, so its features have norm 1 exactly,
and inner products of features are never negative.

References:
    Barak et al. (2007), "Privacy, accuracy, and consistency too: a holistic solution to contingency
        table release" (noisy marginals).
    McKenna, Miklau & Sheldon (2021), "Winning the NIST contest: a scalable and general approach to
        differentially private synthetic data".
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.features.base import FeatureMap, summed_features


def marginal_features(dim: int, num_columns: int) -> FeatureMap:
    """Return the map of rows (n, d) that are one-hot for every column.

    Args:
        dim: d, the number of cells of all columns.
        num_columns: q.

    Guarantee:
        Rows with at most one mark of 1 for each column have features of norm at most 1, and no two
        are further apart than sqrt(2).
    """

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " d"]:
        return jnp.matmul(weights, x, precision="highest") / math.sqrt(num_columns)

    return summed_features(weighted_sum, dim, diameter=math.sqrt(2))
