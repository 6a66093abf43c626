"""What the gradients of the KIP loss are made of: shared terms and every target's coefficients.

The formulas and their notation are in `jaxdp.methods.dp_kip.clipped.sums`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxdp import numerics
from jaxdp.kernels import LINEAR, DotProduct
from jaxdp.numerics import rounded_once

_HIGHEST = jax.lax.Precision.HIGHEST


class SupportTerms(NamedTuple):
    """What the gradients of all targets share; computed once per step.

    `x` (s, d), `square` (s,) its rows' squared norms, `free` (d,) the columns that have a gradient
    (`None` for all), `gram` (s, s) the inner products over free columns, `cholesky` (s, s) of
    `K_ss + lambda I`, `alpha` (s, c), `a` and `b` (s, s) the kernel's derivative coefficients with
    the exact diagonal in `b`, `ridge_share = ridge / s`, and `pairs` (c (c + 1) / 2, s, s) the
    matrices `H_ij` for `i <= j`, `None` where there are too many to pay or none is needed.
    """

    x: Array
    square: Array
    free: Array | None
    gram: Array
    cholesky: Array
    alpha: Array
    a: Array
    b: Array
    ridge_share: Array
    pairs: Array | None


class TargetTerms(NamedTuple):
    """Coefficients of every target's gradient.

    `t` (n, d) are the targets over the free columns; `w` (n, c), `u`, `v`, `p` (n, s) and `tau`
    (n,) as in `jaxdp.methods.dp_kip.clipped.sums`; `m` (n, s) is the diagonal of `M`, and
    `ub = u * b_t` the part of it that comes from the target's own kernel row; `inner` (n, s) and
    `square` (n,) are `h` and `|t|^2` over the free columns.
    """

    t: Array
    w: Array
    u: Array
    v: Array
    p: Array
    m: Array
    ub: Array
    tau: Array
    inner: Array
    square: Array


def wide(x: Array) -> Array:
    """Return float64, or raise a `RuntimeError` outside of jax's 64-bit mode."""
    if not numerics.has_float64():
        raise RuntimeError(
            "clipped sums need 64-bit mode: call them inside `with jaxdp.numerics.float64():` "
            "(outside of jit) or set jax_enable_x64"
        )
    return x.astype(jnp.float64)


def dot(x: Array, y: Array) -> Array:
    """Return the matrix product without any shortcut of the hardware."""
    return jnp.matmul(x, y, precision=_HIGHEST)


def _coefficients(
    dot_product: DotProduct, xz: Array, xx: Array, zz: Array, d: int
) -> tuple[Array, Array, Array]:
    """Return `k`, `a = dk/d(x.z)` and `b = 2 dk/d(x.x)`, elementwise."""

    def kernel(xz: Array, xx: Array) -> Array:
        return dot_product.cross(xz, xx, zz, d)

    xx = jnp.broadcast_to(xx, xz.shape)
    zero, one = jnp.zeros_like(xz), jnp.ones_like(xz)
    k, a = jax.jvp(kernel, (xz, xx), (one, zero))
    _, half_b = jax.jvp(kernel, (xz, xx), (zero, one))
    return k, a, 2 * half_b


def support_terms(
    dot_product: DotProduct,
    x_s: Float[Array, "s d"],
    y_s: Float[Array, "s c"],
    ridge: float,
    *,
    num_targets: float,
    free: Bool[Array, " d"] | None = None,
) -> SupportTerms:
    """Compute what the gradients of all targets share.

    Args:
        dot_product: the kernel as a function of inner products.
        x_s: support points.
        y_s: support labels.
        ridge: relative ridge, `lambda = ridge * trace(K_ss) / s`, >= 0.
        num_targets: about how many targets will use the terms; decides which of two equal ways
            to compute norms is cheaper, nothing else.
        free: columns of `x_s` that have a gradient; the others are constants. All by default.
    """
    s, d = x_s.shape
    x, y = map(wide, rounded_once((x_s, y_s), x_s))
    gram = _symmetric(dot(x, x.T))
    xx = jnp.diagonal(gram)
    free_gram = gram if free is None else _symmetric(dot(jnp.where(free, x, 0.0), x.T))
    k, a, b = _coefficients(dot_product, gram, xx[:, None], xx[None, :], d)
    on_diagonal = jnp.eye(s, dtype=bool)
    k_diagonal, slope = jax.jvp(lambda q: dot_product.diagonal(q, d), (xx,), (jnp.ones_like(xx),))
    k = jnp.where(on_diagonal, k_diagonal[:, None], (k + k.T) / 2)
    a = jnp.where(on_diagonal, 0.0, (a + a.T) / 2)
    b = jnp.where(on_diagonal, slope[:, None], b)
    ridge_share = jnp.asarray(ridge, x.dtype) / s
    k_ridge = k + ridge_share * jnp.trace(k) * jnp.eye(s, dtype=x.dtype)
    cholesky = jnp.linalg.cholesky(k_ridge)
    alpha = jax.scipy.linalg.cho_solve((cholesky, True), y)
    terms = SupportTerms(x, xx, free, free_gram, cholesky, alpha, a, b, ridge_share, None)
    terms = rounded_once(terms, x)
    if dot_product is not LINEAR and _sharing_pays(s, y.shape[1], num_targets):
        terms = terms._replace(pairs=_pair_matrices(terms.gram, terms.a, terms.alpha))
    return terms


def _symmetric(gram: Array) -> Array:
    """Remove the asymmetry of a blocked matrix product's rounding.

    At small angles `a_ij` and `b_ij` are large and cancel, so both have to see the same angle;
    with `a_ij` from the mean of two angles and `b_ij` from one, the sum loses all digits.
    """
    return (gram + gram.T) / 2


def _sharing_pays(s: int, c: int, num_targets: float) -> bool:
    """Whether `H_ij` for all and a quadratic form each cost less than a product each."""
    pairs = c * (c + 1) / 2
    return pairs * (s + num_targets) < num_targets * s


def class_pairs(num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of classes `i <= j`."""
    return np.triu_indices(num_classes)


def _pair_matrices(
    gram: Float[Array, "s s"], a: Float[Array, "s s"], alpha: Float[Array, "s c"]
) -> Float[Array, "pairs s s"]:
    """Return `H_ij + H_ji` (`H_ii` once) such that `|off x_s|^2 = sum w_i w_j v^T H_ij v`."""
    a_alpha_gram = jax.lax.map(lambda column: dot(a * column, gram), alpha.T)

    def one(pair: tuple[Array, Array]) -> Array:
        i, j = pair
        alpha_i, alpha_j = alpha[:, i], alpha[:, j]
        squares = gram * dot(a * (alpha_i * alpha_j), a)
        rows = jnp.sum(a_alpha_gram[i] * a * alpha_j, axis=1)
        crossed = alpha_i[:, None] * a_alpha_gram[j] + alpha_j[:, None] * a_alpha_gram[i]
        matrix = squares + jnp.diag(rows) + a * crossed
        return jnp.where(i == j, 1.0, 2.0) * matrix

    return jax.lax.map(one, tuple(jnp.asarray(z) for z in class_pairs(alpha.shape[1])))


def target_terms(
    dot_product: DotProduct,
    support: SupportTerms,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
) -> TargetTerms:
    """Compute the coefficients of every target's gradient, in `O(n s (d + s))`.

    What enters a gradient is rounded once: `t`, `u`, `v`, `p`, `ub` and `tau`. So is `w`, of which
    `u` is computed. The others follow from these up to a rounding that `norm_bounds` allows for.
    """
    t, y = wide(rounded_once(x_t, support.x)), wide(y_t)
    square = jnp.sum(t * t, axis=1)
    inner = dot(t, support.x.T)
    k, a, b = _coefficients(
        dot_product, inner, support.square[None, :], square[:, None], t.shape[1]
    )
    w = rounded_once((dot(k, support.alpha) - y) / y.shape[1], support.x)
    u = dot(w, support.alpha.T)
    v = jax.scipy.linalg.cho_solve((support.cholesky, True), k.T).T
    tau = -support.ridge_share * jnp.sum(u * v, axis=1)
    u, v, p, ub, tau = rounded_once((u, v, u * a, u * b, tau), support.x)
    if dot_product is LINEAR:  # `a` is 1 and `b` is the identity
        p, m = u, 2 * (tau[:, None] - u * v)
    else:
        m = ub - v * dot(u, support.b.T) - u * dot(v, support.b.T)
        m = m + 2 * tau[:, None] * jnp.diagonal(support.b)
    if support.free is not None:  # the kernel sees all columns, the gradient only these
        t = jnp.where(support.free, t, 0.0)
        square, inner = jnp.sum(t * t, axis=1), dot(t, support.x.T)
    return TargetTerms(t, w, u, v, p, m, ub, tau, inner, square)
