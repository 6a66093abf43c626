"""Feature maps of norm at most 1, known by their weighted sums `sum_i w_i phi(x_i)`.

For the empirical NTK that sum is one backward pass of a network,
`grad_theta sum_i (w_i / |phi_i|) f(x_i)`: the p derivatives of an example are never formed, and
norms come from each layer's factors.

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

from jaxdp.kernels.empirical import Factors, balanced, dense_factors, entk_norms, is_dense

# Norms stay so far below 1: more than what rounding takes from a float32 norm (1e-6), and than what
# it adds where a removal shifts a class's later rows between chunks (2e-4 for a million rows).
_MARGIN = 5e-4
# Squares of what makes up a smaller norm may underflow, so that it would be computed too small.
_LEAST_NORM = 2.0**-40
# Ten classes, 784-800 network, CPU: 50 rows of each are a quarter faster together, 200 equally
# fast, 500 slower.
_TOGETHER = 100

WeightedSum = Callable[[Float[Array, "n d"], Float[Array, " n"]], Float[Array, " p"]]


class FeatureMap(NamedTuple):
    """Features of rows (n, d), of norm at most 1, known by their sums.

    Attributes:
        dim: number p of features.
        weighted_sum: `(x, w) -> sum_i w_i phi(x_i)`, differentiable in both. A row that is not
            finite, or whose features are not, contributes exactly zero.
        diameter: bound on `|phi(x) - phi(z)|`, at least sqrt(2): 2 where features may be
            opposite, sqrt(2) where their inner products are never negative.
        inline: whether classes are embedded one after the other in a program rather than in a loop:
            worth its compilation where the sums are a few large matrix products, which XLA's
            loops hinder on CPUs.
        together: classes of at most so many rows are embedded in one call, as what is left of
            each such product is too small to be fast.
    """

    dim: int
    weighted_sum: WeightedSum
    diameter: float = 2.0
    inline: bool = False
    together: int = 0


def _usable(norms: Array) -> Array:
    """Return which norms are certain: features of another norm count as zero."""
    return (norms >= _LEAST_NORM) & jnp.isfinite(norms)


def _unit_weights(weights: Array, norms: Array) -> Array:
    """Return `w / |phi|`, a little less so that rounding never exceeds norm 1; 0 where unusable."""
    usable = _usable(norms)
    return jnp.where(usable, weights / jnp.where(usable, norms * (1 + _MARGIN), 1.0), 0.0)


def _finite_rows(x: Array, norms: Array | None = None) -> Array:
    """Return the rows with zeros in place of those that are not finite."""
    usable = jnp.all(jnp.isfinite(x), axis=1)
    if norms is not None:
        usable = usable & jnp.isfinite(norms)
    return jnp.where(usable[:, None], x, 0.0)


def _finite_weights(x: Array, weights: Array) -> Array:
    return jnp.where(jnp.all(jnp.isfinite(x), axis=1), weights, 0.0)


def rescaled(features: FeatureMap, *, low: float, high: float) -> FeatureMap:
    """Return the map of rows between `low` and `high` as stored, e.g. bytes.

    Args:
        features: of rows in [0, 1].
        low: stored value of 0, public.
        high: stored value of 1, public.
    """

    def weighted_sum(x: Num[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        return features.weighted_sum((x - low) / (high - low), weights)

    return features._replace(weighted_sum=weighted_sum)


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
        ValueError: another number of moments.

    Guarantee:
        Every row's features have norm at most 1, whatever the row. Features, or their squares,
        whose norm is below 2^-40 or beyond float32 count as zero.

    References:
        Harder et al. (2023), "Pre-trained perceptual features improve differentially private image
            generation (DP-MEPF)", section 3.1 (both moments).
    """
    if moments not in (1, 2):
        raise ValueError(f"moments must be 1 or 2, got {moments}")
    row = jax.ShapeDtypeStruct((1, dim), jnp.float32)
    size = moments * jax.eval_shape(feature_fn, row).shape[1]

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        weights = _finite_weights(x, weights)
        phi = feature_fn(_finite_rows(x))
        phi = jnp.where(jnp.all(jnp.isfinite(phi), axis=1, keepdims=True), phi, 0.0)
        parts = [_unit_sum(phi**k, weights) for k in range(1, moments + 1)]
        return jnp.concatenate(parts) / jnp.sqrt(jnp.asarray(moments, x.dtype))

    return FeatureMap(size, weighted_sum)


def _unit_sum(phi: Float[Array, "n p"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
    """Return `sum_i w_i phi_i / |phi_i|`."""
    norms = _norms(phi)
    # A row that is not finite times a weight of 0 would not be 0.
    phi = jnp.where(_usable(norms)[:, None], phi, 0.0)
    return jnp.matmul(_unit_weights(weights, norms), phi, precision="highest")


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

    Guarantee:
        What the features' own guarantee says; rows that are not finite contribute exactly zero.
    """

    def safe_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        scaled = _finite_weights(x, weights) / (1 + _MARGIN)
        return weighted_sum(_finite_rows(x), scaled)

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
    """
    shares = [share for _, share in parts]
    if not shares or min(shares) <= 0 or not math.isclose(sum(shares), 1.0):
        raise ValueError(f"shares must be above 0 and have sum 1, got {shares}")

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        return jnp.concatenate(
            [math.sqrt(share) * part.weighted_sum(x, weights) for part, share in parts]
        )

    diameter = math.sqrt(sum(share * part.diameter**2 for part, share in parts))
    return FeatureMap(sum(part.dim for part, _ in parts), weighted_sum, diameter)


def entk_map(apply_fn: Callable[[Any, Array], Array], params: Any, dim: int) -> FeatureMap:
    """Return the map to unit-norm gradients of a network, `phi = grad f / |grad f|`.

    Never an (n, p) array. A network of dense layers takes one pass: its factors give the norms and
    the sums. Others take two: norms (of convolutions, per example where that is cheaper), then the
    gradient of a weighted sum of outputs.

    Args:
        apply_fn: `(params, x (n, d)) -> f (n,)`. No output may depend on other rows.
        params: its parameters, all of whose leaves count.
        dim: number d of values in a row.

    Guarantee:
        Every row's features have norm at most 1, whatever the row and the parameters. Gradients
        whose norm is below 2^-40 or beyond float32 count as zero.
    """
    size = sum(leaf.size for leaf in jax.tree.leaves(params))

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        weights = _finite_weights(x, weights)
        x = _finite_rows(x)
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, x.dtype), params)
        with jax.default_matmul_precision("highest"):
            leaves = _dense_sum(apply_fn, wide, x, weights)
            if leaves is None:
                leaves = _two_pass_sum(apply_fn, wide, x, weights)
        return jnp.concatenate([leaf.reshape(-1) for leaf in leaves])

    # Convolutions of several classes at once would be grouped ones, which are slow on CPUs.
    together = _TOGETHER if is_dense(apply_fn, params, dim) else 0
    return FeatureMap(size, weighted_sum, inline=True, together=together)


def _dense_sum(apply_fn: Any, params: Any, x: Array, weights: Array) -> list[Array] | None:
    """Return the weighted sum, leaf by leaf, from the factors `a^T delta` of dense layers."""
    factors = dense_factors(apply_fn, params, x)
    if factors is None:
        return None
    squares = jnp.zeros_like(weights)
    for a, delta, bias in factors.values():
        squares += _squared_norms(a, delta)
        if bias is not None:
            squares += jnp.sum(jnp.sum(delta, axis=1) ** 2, axis=1)
    usable = _usable(jnp.sqrt(squares))
    norms = jnp.where(usable, jnp.sqrt(jnp.where(usable, squares, 1.0)), 0.0)
    unit = _unit_weights(weights, norms)
    sums: dict[int, Array] = {}
    for kernel, (a, delta, bias) in factors.items():
        # A factor that is not finite times a weight of 0 would not be 0.
        a, delta = (jnp.where(usable[:, None, None], z, 0.0) for z in (a, delta))
        weighted = (unit[:, None, None] * delta).reshape(-1, delta.shape[-1])
        sums[kernel] = jnp.matmul(a.reshape(-1, a.shape[-1]).T, weighted)
        if bias is not None:
            sums[bias] = jnp.sum(weighted, axis=0)
    return [sums[i] for i in range(len(sums))]


def _squared_norms(a: Float[Array, "n q r"], delta: Float[Array, "n q o"]) -> Float[Array, " n"]:
    """Return `|a^T delta|^2` of every row; a product of two norms where there is one position."""
    a, delta = jax.vmap(balanced)(Factors(a, delta))
    if a.shape[1] == 1:
        return jnp.sum(a**2, axis=(1, 2)) * jnp.sum(delta**2, axis=(1, 2))
    grams = (jnp.einsum("nir,njr->nij", z, z) for z in (a, delta))
    return jnp.sum(jnp.multiply(*grams), axis=(1, 2))


def _two_pass_sum(apply_fn: Any, params: Any, x: Array, weights: Array) -> list[Array]:
    """Return the weighted sum, leaf by leaf, as the gradient of a weighted sum of outputs."""
    norms = entk_norms(apply_fn, params, x, chunk_size=x.shape[0])
    x = _finite_rows(x, norms)
    unit = _unit_weights(weights, norms)
    gradient = jax.grad(lambda theta: jnp.sum(unit * apply_fn(theta, x)))(params)
    return jax.tree.leaves(gradient)
