"""Marginals of a table as features: which cell of every column, or pair, a record lies in.

    phi(x) = (e_1(x_1), ..., e_q(x_q)) / sqrt(q),   e_j one-hot over the cells of column j
    psi(x) = (e_1(x_1) e_2(x_2)^T, ...) / sqrt(m),  over the m pairs of columns

The mean of phi over the records of a class is that class's marginals, so a noisy mean embedding is
noisy marginals. A record lies in one cell of every column and in one of every pair, so its features
have norm 1 exactly, and inner products of features are never negative.

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
from jaxdp.tables.pairs import Pairs

# Of features of norm 1 whose inner products are never negative.
_DIAMETER = math.sqrt(2)


def marginal_features(dim: int, num_columns: int) -> FeatureMap:
    """Return the map of rows (n, d) that are one-hot for every column.

    Args:
        dim: d, the number of cells of all columns.
        num_columns: q.

    Guarantee:
        Rows with at most one mark of 1 for each column have features of norm at most 1, and no two
        are further apart than sqrt(2).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.marginal_features(5, 2)  # columns of 2 and of 3 cells
        >>> record = jnp.array([[0.0, 1.0, 1.0, 0.0, 0.0]])
        >>> print(phi.weighted_sum(record, jnp.ones(1)).round(2))
        [0.   0.71 0.71 0.   0.  ]
    """

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " d"]:
        return jnp.matmul(weights, x, precision="highest") / math.sqrt(num_columns)

    return summed_features(weighted_sum, dim, diameter=_DIAMETER)


def pair_features(pairs: Pairs) -> FeatureMap:
    """Return the map of rows (n, d) that are one-hot for every column: the cells of all pairs.

    Args:
        pairs: of at least two columns.

    Guarantee:
        As `marginal_features`: at most one mark for each column is at most one for each pair.

    Examples:
        >>> import jaxdp
        >>> layout = jaxdp.tables.Layout(jaxdp.tables.read_schema("adult"), "bins")
        >>> phi = jaxdp.features.pair_features(jaxdp.tables.pairs.Pairs(layout))
        >>> layout.dim, phi.dim
        (179, 8194)
    """
    merging, (first, second) = pairs.merging, pairs.places
    root = math.sqrt(len(pairs.all))

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        marks = jnp.matmul(x, merging, precision="highest")
        together = jnp.matmul((marks * weights[:, None]).T, marks, precision="highest")
        return together[first, second] / root

    return summed_features(weighted_sum, pairs.dim, diameter=_DIAMETER)
