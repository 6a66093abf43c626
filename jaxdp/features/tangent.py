"""The features of the empirical NTK: gradients of a network, of norm 1.

Their weighted sum is one backward pass, `grad_theta sum_i (w_i / |phi_i|) f(x_i)`: the p
derivatives of an example are never formed, and norms come from each layer's factors.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", algorithm 1 and equation 6.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.features.base import (
    FeatureMap,
    finite_rows,
    finite_weights,
    is_usable,
    unit_weights,
)
from jaxdp.networks.gradients import Factors, balanced, dense_factors, entk_norms, is_dense
from jaxdp.numerics import rounded_once
from jaxdp.rows import require_rows

# Ten classes, 784-800 network, CPU: 50 rows of each are a quarter faster together, 200 equally
# fast, 500 slower.
_TOGETHER = 100


def entk_map(apply_fn: Callable[[Any, Array], Array], params: Any, dim: int) -> FeatureMap:
    """Return the map to unit-norm gradients of a network, `phi = grad f / |grad f|`.

    Never an (n, p) array. A network of dense layers takes one pass: its factors give the norms and
    the sums. Others take two: norms (of convolutions, per example where that is cheaper), then the
    gradient of a weighted sum of outputs.

    Args:
        apply_fn: `(params, x (n, d)) -> f (n,)`. No output may depend on other rows.
        params: its parameters, all of whose leaves count.
        dim: number d of values in a row.

    Raises:
        TypeError: from the map, rows that are not of floats.
        ValueError: from the map, rows of another width.

    Guarantee:
        Every row's features have norm at most 1, whatever the row and the parameters. Gradients
        whose norm is below 2^-40 or beyond float32 count as zero.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> def network(params, x):
        ...     return jnp.tanh(x @ params["first"]) @ params["last"]
        >>> params = {"first": jnp.ones((3, 4)), "last": jnp.ones(4)}
        >>> phi = features.entk_map(network, params, 3)
        >>> phi.dim, phi.weighted_sum(jnp.ones((5, 3)), jnp.ones(5)).shape
        (16, (16,))
    """
    size = sum(leaf.size for leaf in jax.tree.leaves(params))

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
        require_rows(x, dim)
        weights = finite_weights(x, weights)
        x = finite_rows(x)
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, x.dtype), params)
        with jax.default_matmul_precision("highest"):
            pairs = _dense_factors(apply_fn, wide, x, weights)
            if pairs is None:
                leaves = _two_pass_sum(apply_fn, wide, x, weights)
            else:
                leaves = [_summed_products(*pair) for pair in pairs]
        return jnp.concatenate([leaf.reshape(-1) for leaf in leaves])

    def factors(x: Float[Array, "n d"]) -> list[tuple[Array, Array]]:
        require_rows(x, dim)
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, x.dtype), params)
        weights = finite_weights(x, jnp.ones(len(x), x.dtype))
        with jax.default_matmul_precision("highest"):
            found = _dense_factors(apply_fn, wide, finite_rows(x), weights)
        assert found is not None  # where all layers are dense
        return found

    # Convolutions of several classes at once would be grouped ones, which are slow on CPUs.
    dense = is_dense(apply_fn, params, dim)
    return FeatureMap(
        size,
        weighted_sum,
        inline=True,
        together=_TOGETHER if dense else 0,
        factors=factors if dense else None,
    )


def _dense_factors(
    apply_fn: Any, params: Any, x: Array, weights: Array
) -> list[tuple[Array, Array]] | None:
    """Return the factors `a^T delta` of every leaf, of norm 1 and times the row's weight.

    A bias has a factor of ones. None where some layer is not dense.
    """
    factors = dense_factors(apply_fn, params, x)
    if factors is None:
        return None
    # Norms and sums read one rounding of them.
    pairs = rounded_once({k: (a, delta) for k, (a, delta, _) in factors.items()}, weights)
    biases = {kernel: bias for kernel, (_, _, bias) in factors.items()}
    squares = jnp.zeros_like(weights)
    for kernel, (a, delta) in pairs.items():
        squares += _squared_norms(a, delta)
        if biases[kernel] is not None:
            squares += jnp.sum(jnp.sum(delta, axis=1) ** 2, axis=1)
    usable = is_usable(jnp.sqrt(squares))
    norms = jnp.where(usable, jnp.sqrt(jnp.where(usable, squares, 1.0)), 0.0)
    unit = unit_weights(weights, norms)
    found: dict[int, tuple[Array, Array]] = {}
    for kernel, (a, delta) in pairs.items():
        # A factor that is not finite times a weight of 0 would not be 0.
        a, delta = (jnp.where(usable[:, None, None], z, 0.0) for z in (a, delta))
        weighted = unit[:, None, None] * delta
        found[kernel] = (a, weighted)
        if (bias := biases[kernel]) is not None:
            found[bias] = (jnp.ones((*weighted.shape[:2], 1), weighted.dtype), weighted)
    return [found[i] for i in range(len(found))]


def _summed_products(a: Float[Array, "n q r"], delta: Float[Array, "n q o"]) -> Float[Array, "r o"]:
    if a.shape[-1] == 1:
        return jnp.sum(a * delta, axis=(0, 1))[None]
    return jnp.matmul(a.reshape(-1, a.shape[-1]).T, delta.reshape(-1, delta.shape[-1]))


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
    x = finite_rows(x, norms)
    unit = unit_weights(weights, norms)
    gradient = jax.grad(lambda theta: jnp.sum(unit * apply_fn(theta, x)))(params)
    return jax.tree.leaves(gradient)
