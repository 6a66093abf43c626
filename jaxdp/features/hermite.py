"""Hermite features of Gaussian kernels of single columns and of pairs of columns.

DP-HP expands the kernel of a column with variance `v`,
`exp(-(x - z)^2 / (2 v)) = sum_k phi_k(x) phi_k(z)`, by Mehler's formula. With
`rho = sqrt(1 + v^2) - v` and the Hermite polynomials `H_k`

    phi_k(x) = (1 - rho^2)^(1/4) sqrt(rho^k / (2^k k!)) H_k(x) exp(-rho x^2 / (1 + rho))
    phi_{k+1} = sqrt(2 rho / (k+1)) x phi_k - rho sqrt(k / (k+1)) phi_{k-1}
    phi_k' = sqrt(2 rho k) phi_{k-1} - 2 rho / (1 + rho) x phi_k

are cut off after an order. The last line gives derivatives without differentiating a recursion.

References:
    Vinaroz, Charusaie, Harder, Adamczewski & Park (2022), "Hermite polynomial features for
        private data generation" (the expansion, sum and product kernels).
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp.features.checks import require_columns, require_positive
from jaxdp.numerics import ByBackend, map_rows
from jaxdp.rows import require_floats, require_rows

_HIGHEST = jax.lax.Precision.HIGHEST
# Degrees per iteration of a compiled loop: the copies of what it carries are most of its time.
_UNROLL = 4
# Rows whose gradients are summed at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK = ByBackend(cpu=50, accelerator=5000)


def hermite_features(
    dim: int, *, order: int, variance: float
) -> Callable[[Float[Array, "n d"]], Float[Array, "n p"]]:
    """Return DP-HP's sum kernel features: the Hermite features of every column.

    `phi(x) = [phi_0(x_1), ..., phi_0(x_d), phi_1(x_1), ...] / sqrt(d)`, `p = (order + 1) d`:
    `phi(x) . phi(z)` is the mean over columns of `exp(-(x_j - z_j)^2 / (2 variance))`. The order
    that is needed grows with `|x| / sqrt(variance)`. Use `hermite_weighted_sum` for means.

    Args:
        dim: number of columns d, >= 1.
        order: highest degree, >= 0.
        variance: of the kernel, > 0, in squared units of the columns; a public constant.

    Returns:
        A differentiable map of rows to (n, p), computed in their own float type. Columns so
        large that `phi_0` underflows (at variances below 1 about 12 in float32) and those that
        are not finite have features 0.

    Raises:
        ValueError: a number out of range or, from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.

    Guarantee:
        `|phi(x)| <= 1` for every row: by Mehler's formula at `x = z` the squares of all `phi_k`
        sum to 1, a cut-off leaves some out, and rounding of `phi_0` is downwards by more than
        the recursion's. One record contributes at most `1 / n` to a mean over n. Another in its
        place moves the mean by at most `sqrt(2) / n`, less than `2 / n`: without a cut-off
        `|phi(x) - phi(z)|^2 = 2 - 2 k(x, z) <= 2`, and a cut-off is a projection.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.hermite_features(1, order=20, variance=1.0)
        >>> x, z = phi(jnp.array([[0.0], [1.0]]))
        >>> round(float(x @ z), 3), round(float(jnp.exp(-0.5)), 3)
        (0.607, 0.607)
    """
    require_columns(dim)
    _require_hermite(order, variance)

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(x, dim)
        phi = _hermite(x, order, variance) / math.sqrt(dim)
        return jax.lax.collapse(jnp.moveaxis(phi, 0, 1), 1)

    return features


def hermite_weighted_sum(
    dim: int, *, order: int, variance: float
) -> Callable[[Float[Array, "n d"], Float[Array, "n *c"]], Float[Array, "p *c"]]:
    """Return the function `(x, w) -> sum_i w_i phi(x_i)` for the features of `hermite_features`.

    The (n, p) features are never formed, neither for the sum nor for its gradients: degree by
    degree, what is kept has the size of `x`. One-hot labels over n as weights (n, c) give the
    mean embedding (p, c).

    Args:
        dim: as for `hermite_features`.
        order: as for `hermite_features`.
        variance: as for `hermite_features`.

    Returns:
        A function of rows (n, d) and weights (n,) or (n, c), differentiable once, in reverse
        mode, with respect to both.

    Raises:
        ValueError: a number out of range or, from the function, rows of another width.
        TypeError: from the function, rows that are not of floats.

    Guarantee:
        A record with weights `w_i` contributes at most `|w_i|` in Euclidean norm, `1 / n` for
        one-hot labels over n; `|phi| <= 1` as in `hermite_features`.
    """
    require_columns(dim)
    _require_hermite(order, variance)

    def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, "n *c"]) -> Float[Array, "p *c"]:
        require_rows(x, dim)
        w = jax.lax.collapse(weights, 1).astype(x.dtype)
        sums = _hermite_sum(x, w, order, variance) / math.sqrt(dim)
        return jnp.moveaxis(sums, 1, 2).reshape(-1, *weights.shape[1:])

    return weighted_sum


def hermite_product_features(
    columns: Int[Array, "r 2"], *, order: int, variance: float
) -> Callable[[Float[Array, "n d"]], Float[Array, "n p"]]:
    """Return DP-HP's product kernel features of pairs of columns.

    For the pair (i, j) all `phi_k(x_i) phi_l(x_j)`, over `sqrt(r)`: `p = r (order + 1)^2` and
    `phi(x) . phi(z)` is the mean over pairs of `exp(-|x_ij - z_ij|^2 / (2 variance))`.

    Args:
        columns: r pairs of column numbers, for example from `random_pairs`; may be traced.
        order: highest degree in each column, >= 0.
        variance: of the kernel, > 0, in squared units of the columns; a public constant.

    Returns:
        A differentiable map of rows to (n, p), computed in their own float type.

    Raises:
        ValueError: a number out of range, or column numbers that rows do not have; of traced
            ones that exceed the width, features are 0.
        TypeError: from the map, rows that are not of floats.

    Guarantee:
        `|phi(x)| <= 1` for every row: a pair's features are an outer product, whose norm is
        the product of two that are at most 1 by Mehler's formula (see `hermite_features`), and
        a mean over pairs is no larger. One record contributes at most `1 / n` to a mean over
        n, and another in its place moves the mean by at most `sqrt(2) / n`.
    """
    _require_hermite(order, variance)
    if columns.ndim != 2 or columns.shape[0] < 1 or columns.shape[1] != 2:
        raise ValueError(f"columns must have shape (pairs, 2), got {columns.shape}")
    largest = -1
    if not isinstance(columns, jax.core.Tracer):
        numbers = np.asarray(columns)
        largest = int(numbers.max())
        if numbers.min() < 0:
            raise ValueError(f"columns must be >= 0, got {numbers.min()}")

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_floats(x)
        if largest >= x.shape[1]:
            raise ValueError(f"there is no column {largest} in rows of width {x.shape[1]}")
        pairs = jnp.take(x, columns, axis=1, mode="fill", fill_value=jnp.nan)
        phi = _hermite(pairs, order, variance)
        left = jnp.moveaxis(phi[..., 0], 0, -1) / math.sqrt(columns.shape[0])
        right = jnp.moveaxis(phi[..., 1], 0, -1)
        return jax.lax.collapse(left[..., :, None] * right[..., None, :], 1)

    return features


def random_pairs(key: Key[Array, ""], dim: int, num_pairs: int) -> Int[Array, "r 2"]:
    """Return independent, uniformly random ordered pairs of two different columns.

    Args:
        key: public randomness.
        dim: number of columns, >= 2.
        num_pairs: r >= 1.

    Raises:
        ValueError: a number out of range.
    """
    if dim < 2 or num_pairs < 1:
        raise ValueError(f"need dim >= 2 and num_pairs >= 1, got {dim} and {num_pairs}")
    first_key, step_key = jax.random.split(key)
    first = jax.random.randint(first_key, (num_pairs,), 0, dim, jnp.int32)
    step = jax.random.randint(step_key, (num_pairs,), 1, dim, jnp.int32)
    return jnp.stack([first, (first + step) % dim], axis=1)


def _require_hermite(order: int, variance: float) -> None:
    if order < 0:
        raise ValueError(f"order must be >= 0, got {order}")
    require_positive("variance", variance)


def _rho(variance: float) -> float:
    return 1.0 / (math.hypot(1.0, variance) + variance)  # sqrt(1 + v^2) - v without cancellation


def _first(x: Array, order: int, variance: float) -> tuple[Array, Array]:
    """Return `x`, with 0 where `phi_0` underflows or `x` is not finite, and `phi_0`, 0 there.

    Subnormal numbers have few correct digits, and the recursion would scale their error up to a
    norm above 1. `phi_0` is a lower bound otherwise: the exponent is increased by more than its
    rounding, the factor decreased by more than the recursion's.
    """
    rho, info = _rho(variance), jnp.finfo(x.dtype)
    eps, decay = float(info.eps), rho / (1 + rho)
    peak = (2 * variance * rho) ** 0.25  # 1 - rho^2 = 2 v rho
    largest = math.sqrt(max(math.log(peak * eps / float(info.tiny)), 0.0) / decay)
    inside = jnp.abs(x) < largest
    x = jnp.where(inside, x, 0.0)
    exponent = (math.sqrt(decay) * x) ** 2 * (1 + 4 * eps)
    phi = peak * (1 - (order + 4) * eps) * jnp.exp(-exponent)
    return x, jnp.where(inside, phi, 0.0)


def _coefficients(order: int, variance: float, dtype: Any) -> tuple[Array, Array, Array]:
    """Return, for every degree k, the two of `phi_{k+1}` and `sqrt(2 rho k)` of `phi_k'`."""
    rho, k = _rho(variance), np.arange(order + 1)
    up, down, slope = np.sqrt(2 * rho / (k + 1)), rho * np.sqrt(k / (k + 1)), np.sqrt(2 * rho * k)
    return jnp.asarray(up, dtype), jnp.asarray(down, dtype), jnp.asarray(slope, dtype)


def _scan_degrees(
    x: Array, order: int, variance: float, function: Callable[[Array], Array]
) -> Array:
    """Return `function(phi_k(x))` for every degree k."""
    x, first = _first(x, order, variance)

    def step(carry: tuple[Array, Array], factors: Any) -> tuple[tuple[Array, Array], Array]:
        (previous, phi), (up, down, _) = carry, factors
        return (phi, up * x * phi - down * previous), function(phi)

    start = (jnp.zeros_like(first), first)
    coefficients = _coefficients(order, variance, x.dtype)
    return jax.lax.scan(step, start, coefficients, unroll=_UNROLL)[1]


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _hermite(x: Float[Array, "*n"], order: int, variance: float) -> Float[Array, "k *n"]:
    """Return `phi_0(x), ..., phi_order(x)`."""
    return _scan_degrees(x, order, variance, lambda phi: phi)


@_hermite.defjvp
def _hermite_jvp(order: int, variance: float, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    phi = _hermite(x, order, variance)
    x, first = _first(x, order, variance)
    rho, slopes = _rho(variance), _coefficients(order, variance, x.dtype)[2]
    slopes = slopes.reshape(-1, *[1] * x.ndim)
    previous = jnp.concatenate([jnp.zeros_like(first)[None], phi[:-1]])
    return phi, (slopes * previous - 2 * rho / (1 + rho) * x * phi) * dx


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _hermite_sum(
    x: Float[Array, "n d"], w: Float[Array, "n c"], order: int, variance: float
) -> Float[Array, "k c d"]:
    """Return `sum_i w_i phi_k(x_i)` for every degree and column."""
    return _scan_degrees(x, order, variance, lambda phi: jnp.matmul(w.T, phi, precision=_HIGHEST))


def _hermite_sum_forward(x: Array, w: Array, order: int, variance: float) -> tuple[Array, Any]:
    return _hermite_sum(x, w, order, variance), (x, w)


def _hermite_sum_backward(
    order: int, variance: float, saved: Any, cotangent: Array
) -> tuple[Array, Array]:
    # The recursion runs again, beside two sums: storing all degrees is what is to be avoided.
    x, w = saved
    rho, coefficients = _rho(variance), _coefficients(order, variance, x.dtype)

    def row(x_and_w: tuple[Array, Array]) -> tuple[Array, Array]:
        x, first = _first(x_and_w[0], order, variance)
        w = x_and_w[1]

        def step(carry: Any, inputs: Any) -> tuple[Any, None]:
            (previous, phi, dx, dw), ((up, down, slope), g) = carry, inputs
            pulled = jnp.matmul(w, g, precision=_HIGHEST)
            dx += pulled * (slope * previous - 2 * rho / (1 + rho) * x * phi)
            dw += jnp.matmul(g, phi, precision=_HIGHEST)
            return (phi, up * x * phi - down * previous, dx, dw), None

        start = (jnp.zeros_like(x), first, jnp.zeros_like(x), jnp.zeros_like(w))
        (_, _, dx, dw), _ = jax.lax.scan(step, start, (coefficients, cotangent), unroll=_UNROLL)
        return dx, dw

    return map_rows(row, (x, w), at_most=_CHUNK.here)


_hermite_sum.defvjp(_hermite_sum_forward, _hermite_sum_backward)
