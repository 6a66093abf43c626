"""Feature maps of norm at most 1, known by their weighted sums `sum_i w_i phi(x_i)`.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", algorithm 1 and equation 6.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from jaxdp.numerics import rounded_once
from jaxdp.rows import require_floats, require_rows

# Norms stay so far below 1: more than what rounding takes from a float32 norm (1e-6), and than what
# it adds where one of fifty rows that are added up is another (3e-4, `jaxdp.privacy.class_sums`).
_MARGIN = 5e-4
SUMMED_SCALE = 1 / (1 + _MARGIN)
"""What `summed_features` multiplies features by."""
# Squares of what makes up a smaller norm may underflow, so that it would be computed too small.
_LEAST_NORM = 2.0**-40

# Most classes that are written out one after the other.
_UNROLLED = 16
# Most features of all classes' rows that are held at once: 128 MB in float32.
_HELD = 2**25

WeightedSum = Callable[[Float[Array, "n d"], Float[Array, " n"]], Float[Array, " p"]]
Factored = Callable[[Float[Array, "n d"]], list[tuple[Array, Array]]]


class FeatureMap(NamedTuple):
    """Features of rows (n, d), of norm at most 1, known by their sums.

    Attributes:
        dim: number p of features.
        weighted_sum: `(x, w) -> sum_i w_i phi(x_i)`, differentiable in both. A row that is not
            finite, or whose features are not, contributes exactly zero.
        diameter: bound on `|phi(x) - phi(z)|`, at least sqrt(2): 2 where features may be
            opposite, sqrt(2) where their inner products are never negative.
        inline: whether classes are embedded one after the other in a program rather than in a loop:
            worth its compilation where the sums are large matrix products or scattering, which
            XLA's loops hinder on CPUs.
        together: classes of at most so many rows are embedded in one call, as what is left of
            each such product is too small to be fast.
        explicit: whether the features of each row are computed, so that several sums over the same
            rows take hardly longer than one.
        factors: where features are products, the function from rows (n, d) to pairs of factors,
            `a (n, q, r)` and `b (n, q, o)`: a row's features are the entries of every `a^T b`, one
            pair after the other.
        leading: where the others are dear, the map whose features come first, and its share: enough
            to train a generator on. None where all are needed.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.FeatureMap(dim=2, weighted_sum=lambda x, w: w @ jnp.clip(x, 0, 0.5))
        >>> print(phi.weighted_sum(jnp.array([[0.1, 0.9], [0.3, 0.3]]), jnp.ones(2)).round(3))
        [0.4 0.8]
    """

    dim: int
    weighted_sum: WeightedSum
    diameter: float = 2.0
    inline: bool = False
    together: int = 0
    explicit: bool = False
    factors: Factored | None = None
    leading: "tuple[FeatureMap, float] | None" = None


def is_usable(norms: Array) -> Array:
    """Return which norms are certain: features of another norm count as zero."""
    return (norms >= _LEAST_NORM) & jnp.isfinite(norms)


def unit_weights(weights: Array, norms: Array) -> Array:
    """Return `w / |phi|`, a little less so that rounding never exceeds norm 1; 0 where unusable."""
    usable = is_usable(norms)
    return jnp.where(usable, weights / jnp.where(usable, norms * (1 + _MARGIN), 1.0), 0.0)


def finite_rows(x: Array, norms: Array | None = None) -> Array:
    """Return the rows with zeros in place of those that are not finite."""
    usable = jnp.all(jnp.isfinite(x), axis=1)
    if norms is not None:
        usable = usable & jnp.isfinite(norms)
    return jnp.where(usable[:, None], x, 0.0)


def finite_weights(x: Array, weights: Array) -> Array:
    """Return the weights, 0 for rows that are not finite."""
    return jnp.where(jnp.all(jnp.isfinite(x), axis=1), weights, 0.0)


def of_stored(features: FeatureMap, to_unit: Callable[[Any], Any]) -> FeatureMap:
    """Return the map of examples as stored, e.g. bytes or records of a table.

    Args:
        features: of rows in [0, 1].
        to_unit: from examples as stored to such rows, by public facts alone (`jaxdp.data.Codec`).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> of_unit = features.unit_features(lambda rows: rows, 2)
        >>> phi = features.of_stored(of_unit, lambda stored: stored / 255)
        >>> print(phi.weighted_sum(jnp.array([[0, 255]], jnp.uint8), jnp.ones(1)).round(2))
        [0. 1.]
    """

    def weighted_sum(x: Num[Array, "n s"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        return features.weighted_sum(to_unit(x), weights)

    factors = features.factors
    return features._replace(
        weighted_sum=weighted_sum,
        factors=None if factors is None else lambda x: factors(to_unit(x)),
    )


def unit_features(
    feature_fn: Callable[[Float[Array, "n d"]], Float[Array, "n p"]],
    dim: int,
    *,
    moments: int = 1,
) -> FeatureMap:
    """Return the map of explicit features, divided by their norm.

    Args:
        feature_fn: features of rows, each row's by itself.
        dim: number d of values in a row.
        moments: 1 for the features `u = phi / |phi|` alone; 2 for `(u, v) / sqrt(2)` with
            `v = phi^2 / |phi^2|` (elementwise), whose mean tells the spread of every feature.

    Raises:
        ValueError: another number of moments or, from the map, rows of another width.
        TypeError: from the map, rows or features that are not of floats.

    Guarantee:
        Every row's features have norm at most 1, whatever the row: norm and sum read one rounding
        of `phi`. Features, or their squares, whose norm is below 2^-40 or beyond float32 count as
        zero.

    References:
        Harder et al. (2023), "Pre-trained perceptual features improve differentially private image
            generation (DP-MEPF)", section 3.1 (both moments).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.unit_features(lambda rows: rows, 2)
        >>> phi.weighted_sum(jnp.array([[3.0, 4.0]]), jnp.ones(1)).tolist()  # of norm 0.9995
        [0.599..., 0.799...]
    """
    if moments not in (1, 2):
        raise ValueError(f"moments must be 1 or 2, got {moments}")
    row = jax.ShapeDtypeStruct((1, dim), jnp.float32)
    size = moments * jax.eval_shape(feature_fn, row).shape[1]

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        require_rows(x, dim)
        phi = rounded_once(feature_fn(finite_rows(x)), weights)
        require_floats(phi)
        weights = finite_weights(x, weights)
        phi = jnp.where(jnp.all(jnp.isfinite(phi), axis=1, keepdims=True), phi, 0.0)
        parts = [_unit_sum(phi**k, weights) for k in range(1, moments + 1)]
        return jnp.concatenate(parts) / jnp.sqrt(jnp.asarray(moments, x.dtype))

    return FeatureMap(size, weighted_sum, explicit=True)


def _unit_sum(phi: Float[Array, "n p"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
    """Return `sum_i w_i phi_i / |phi_i|`."""
    norms = _norms(phi)
    # A row that is not finite times a weight of 0 would not be 0.
    phi = jnp.where(is_usable(norms)[:, None], phi, 0.0)
    return jnp.matmul(unit_weights(weights, norms), phi, precision="highest")


def _norms(phi: Float[Array, "n p"]) -> Float[Array, " n"]:
    """Return the rows' norms, with a gradient of 0 where a row is 0."""
    squares = jnp.sum(phi**2, axis=1)
    nonzero = squares > 0
    return jnp.where(nonzero, jnp.sqrt(jnp.where(nonzero, squares, 1.0)), 0.0)


def summed_features(weighted_sum: WeightedSum, size: int, *, diameter: float = 2.0) -> FeatureMap:
    """Return the map of features that have norm at most 1 already and are cheapest as sums.

    Args:
        weighted_sum: `(x, w) -> sum_i w_i phi(x_i)`.
        size: number p of features.
        diameter: bound on `|phi(x) - phi(z)|`.

    Raises:
        TypeError: from the map, rows that are not of floats.

    Guarantee:
        What the features' own guarantee says; rows that are not finite contribute exactly zero.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.summed_features(lambda x, w: w @ x, 2)
        >>> phi.weighted_sum(jnp.array([[0.6, 0.8], [jnp.nan, 0.0]]), jnp.ones(2)).tolist()
        [0.599..., 0.799...]
    """

    def safe_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        require_floats(x)
        scaled = finite_weights(x, weights) / (1 + _MARGIN)
        return weighted_sum(finite_rows(x), scaled)

    return FeatureMap(size, safe_sum, diameter)


def joined(parts: Sequence[tuple[FeatureMap, float]]) -> FeatureMap:
    """Return several maps side by side, each with its share: `phi = (sqrt(a) phi_1, sqrt(b) ...)`.

    Its kernel is the weighted mean of theirs, and its squared distance that of theirs.

    Args:
        parts: maps of the same rows with their shares, which are above 0 and have sum 1.

    Raises:
        ValueError: shares of another kind.

    Guarantee:
        Every row's features have norm at most 1, and are no further apart than `diameter`, the
        root of the weighted mean of the squared diameters.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> first = features.unit_features(lambda rows: rows, 2)
        >>> second = features.unit_features(lambda rows: rows**2, 2)
        >>> both = features.joined([(first, 0.75), (second, 0.25)])
        >>> both.dim, both.diameter
        (4, 2.0)
    """
    shares = [share for _, share in parts]
    if not shares or min(shares) <= 0 or not math.isclose(sum(shares), 1.0):
        raise ValueError(f"shares must be above 0 and have sum 1, got {shares}")

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        return jnp.concatenate(
            [math.sqrt(share) * part.weighted_sum(x, weights) for part, share in parts]
        )

    diameter = math.sqrt(sum(share * part.diameter**2 for part, share in parts))
    return FeatureMap(
        dim=sum(part.dim for part, _ in parts),
        weighted_sum=weighted_sum,
        diameter=diameter,
        inline=any(part.inline for part, _ in parts),
        explicit=all(part.explicit for part, _ in parts),
    )


def block_means(
    features: FeatureMap, x: Float[Array, "c b d"], class_weights: Float[Array, " c"]
) -> Float[Array, "c p"]:
    """Return `w_k (1/b) sum_j phi(x_kj)`, the embedding of b generated examples per class.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.unit_features(lambda rows: rows, 2)
        >>> generated = jnp.array([[[1.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [0.0, 3.0]]])
        >>> print(features.block_means(phi, generated, jnp.array([0.5, 0.5])).round(2))
        [[0.5 0. ]
         [0.  0.5]]
    """
    num_classes, per_class, _ = x.shape
    each = jnp.full(per_class, 1 / per_class, x.dtype)

    def of_class(block: tuple[Array, Array]) -> Array:
        rows, weight = block
        return features.weighted_sum(rows, weight * each)

    if features.explicit and num_classes * per_class * features.dim <= _HELD:
        # One large product in the place of a small one for each class; other classes weigh nothing.
        weights = jnp.diag(class_weights)[:, :, None] * each
        rows = x.reshape(num_classes * per_class, -1)
        sums = jax.vmap(features.weighted_sum, in_axes=(None, 0))
        return sums(rows, weights.reshape(num_classes, -1))
    if per_class <= features.together:
        return jax.vmap(features.weighted_sum)(x, class_weights[:, None] * each)
    if features.inline and num_classes <= _UNROLLED:
        return jnp.stack([of_class(block) for block in zip(x, class_weights, strict=True)])
    return jax.lax.map(of_class, (x, class_weights))


def squared_distance(mu: Float[Array, "c p"], nu: Float[Array, "c p"]) -> Float[Array, ""]:
    """Return `|mu - nu|^2`, the squared maximum mean discrepancy of two embeddings.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> float(features.squared_distance(jnp.zeros((1, 2)), jnp.array([[3.0, 4.0]])))
        25.0
    """
    return jnp.sum((mu - nu) ** 2)
