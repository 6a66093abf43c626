"""Exact clipped gradient sums of the KIP loss, without per-example gradients.

The loss of one target `(t, y)` is `|r|^2 / (2 c)` with `r = alpha^T k - y`, `k` the kernel row
of `t`, `A = (K_ss + lambda I)^-1`, `alpha = A y_s` and `lambda = ridge tr(K_ss) / s`. It depends
on the support through `k` (cotangent `u = alpha r / c`), through `K_ss` (cotangent `-v u^T`,
`v = A k`) and through `lambda` (cotangent `tau I`, `tau = -(ridge / s) v.u`). For a kernel of
inner products, `dk(x, z)/dx = a(x, z) z + b(x, z) x`, so the gradient of one target is

    g = p t^T + M x_s,    p = u * a_t,
    M = N * a_ss + diag(u * b_t + (N * b_ss) 1),    N = -(v u^T + u v^T) + 2 tau I

with `*` elementwise. Its norm follows from inner products alone, `G = x_s x_s^T`, `h = x_s t`:

    |g|^2 = tr(M G M^T) + 2 p^T M h + |p|^2 |t|^2.

The off-diagonal part of `M` is `off = -(D_v a D_u + D_u a D_v)`, and `u = alpha w`, `w = r / c`,
lies in a space of only `c` dimensions. So `|off x_s|^2 = v^T (sum_ij w_i w_j H_ij) v` with
`c (c + 1) / 2` matrices `H_ij` that all targets share: `O(c^2 s^2)` per target instead of `O(s^3)`.
The clipped sum is linear in a few moments of `(u, v, t)` and needs no per-example object of the
gradient's size.

Precision: the coefficients pass through an ill-conditioned solve, and the terms of `|g|^2` may
cancel. Everything here is float64 whatever the type of the inputs, and a bound of what rounding
can take away from a norm is added before clipping, so no clipped record exceeds the clip norm,
however ill-conditioned the kernel. The functions need jax's 64-bit mode
(`jaxdp.precision.float64()`, which `jaxdp.dp_kip` enters by itself).

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression", eq. 7.
    Vinaroz & Park (2024), "Differentially private kernel inducing points", algorithm 1.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxdp import precision
from jaxdp.kernels import DotProduct

_HIGHEST = jax.lax.Precision.HIGHEST

# Targets whose (s, s) matrices are alive at once: what a CPU's cache holds, what fills a GPU.
_MATRIX_BYTES = {"cpu": 16 * 2**20}
_MATRIX_BYTES_ACCELERATOR = 2**30


class SupportTerms(NamedTuple):
    """What the gradients of all targets share; computed once per step.

    `x` (s, d), `square` (s,) its rows' squared norms, `free` (d,) the columns that have a gradient
    (`None` for all), `gram` (s, s) the inner products over free columns, `cholesky` (s, s) of
    `K_ss + lambda I`, `alpha` (s, c), `a` and `b` (s, s) the kernel's derivative coefficients with
    the exact diagonal in `b`, `ridge_share = ridge / s`, and `pairs` (c (c + 1) / 2, s, s) the
    matrices `H_ij` for `i <= j`, `None` where there are too many to pay.
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

    `w` (n, c), `u`, `v`, `p` (n, s) and `tau` (n,) as in the module's docstring; `m` (n, s) is the
    diagonal of `M`, `ub = u * b_t` the part of it that comes from the target's own kernel row;
    `inner` (n, s) and `square` (n,) are `h` and `|t|^2` over the free columns.
    """

    w: Array
    u: Array
    v: Array
    p: Array
    m: Array
    ub: Array
    tau: Array
    inner: Array
    square: Array


class Moments(NamedTuple):
    """Sums over targets from which the clipped sum follows; they add over chunks.

    `pt` (s, d) sum of `p t^T`, `vu` (s, s) sum of `v u^T`, `ub` (s,) and `tau` () likewise,
    every term with its clipping factor.
    """

    pt: Array
    vu: Array
    ub: Array
    tau: Array


def _wide(x: Array) -> Array:
    if not precision.has_float64():
        raise RuntimeError(
            "jaxdp.kip_grads needs 64-bit mode: call it inside `with jaxdp.precision.float64():` "
            "(outside of jit) or set jax_enable_x64"
        )
    return x.astype(jnp.float64)


def _dot(x: Array, y: Array) -> Array:
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
    x, y = _wide(x_s), _wide(y_s)
    gram = _symmetric(_dot(x, x.T))
    xx = jnp.diagonal(gram)
    free_gram = gram if free is None else _symmetric(_dot(jnp.where(free, x, 0.0), x.T))
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
    shared = _sharing_pays(s, y.shape[1], num_targets)
    pairs = _pair_matrices(free_gram, a, alpha) if shared else None
    terms = SupportTerms(x, xx, free, free_gram, cholesky, alpha, a, b, ridge_share, pairs)
    return jax.lax.optimization_barrier(terms)


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


def _class_pairs(num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of classes `i <= j`."""
    return np.triu_indices(num_classes)


def _pair_matrices(
    gram: Float[Array, "s s"], a: Float[Array, "s s"], alpha: Float[Array, "s c"]
) -> Float[Array, "pairs s s"]:
    """Return `H_ij + H_ji` (`H_ii` once) such that `|off x_s|^2 = sum w_i w_j v^T H_ij v`."""
    a_alpha_gram = jax.lax.map(lambda column: _dot(a * column, gram), alpha.T)

    def one(pair: tuple[Array, Array]) -> Array:
        i, j = pair
        alpha_i, alpha_j = alpha[:, i], alpha[:, j]
        squares = gram * _dot(a * (alpha_i * alpha_j), a)
        rows = jnp.sum(a_alpha_gram[i] * a * alpha_j, axis=1)
        crossed = alpha_i[:, None] * a_alpha_gram[j] + alpha_j[:, None] * a_alpha_gram[i]
        matrix = squares + jnp.diag(rows) + a * crossed
        return jnp.where(i == j, 1.0, 2.0) * matrix

    return jax.lax.map(one, tuple(jnp.asarray(z) for z in _class_pairs(alpha.shape[1])))


def target_terms(
    dot_product: DotProduct,
    support: SupportTerms,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
) -> TargetTerms:
    """Compute the coefficients of every target's gradient, in `O(n s (d + s))`."""
    t, y = _wide(x_t), _wide(y_t)
    square = jnp.sum(t * t, axis=1)
    inner = _dot(t, support.x.T)
    k, a, b = _coefficients(
        dot_product, inner, support.square[None, :], square[:, None], t.shape[1]
    )
    w = (_dot(k, support.alpha) - y) / y.shape[1]
    u = _dot(w, support.alpha.T)
    v = jax.scipy.linalg.cho_solve((support.cholesky, True), k.T).T
    tau = -support.ridge_share * jnp.sum(u * v, axis=1)
    ub = u * b
    m = ub - v * _dot(u, support.b.T) - u * _dot(v, support.b.T)
    m = m + 2 * tau[:, None] * jnp.diagonal(support.b)
    if support.free is not None:  # the kernel sees all columns, the gradient only these
        t = jnp.where(support.free, t, 0.0)
        square, inner = jnp.sum(t * t, axis=1), _dot(t, support.x.T)
    # Computed once: norms and sums must see the same rounding of the same terms.
    return jax.lax.optimization_barrier(TargetTerms(w, u, v, u * a, m, ub, tau, inner, square))


def norm_bounds(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return an upper bound of every target's gradient norm.

    The bound exceeds the norm by what rounding may have taken from it: in the square, `1e-12` or
    so of what the square would be if no two terms of the gradient cancelled. It holds for norms
    above 1e-100, whose squares do not underflow.
    """
    s, d = support.x.shape
    u, v, p, m, h = target.u, target.v, target.p, target.m, target.inner
    off_square = _off_square_direct if support.pairs is None else _off_square
    weighted = support.a * support.gram
    square = off_square(support, target) + jnp.sum(m * m * jnp.diagonal(support.gram), axis=1)
    square -= 2 * jnp.sum(m * (v * _dot(u, weighted) + u * _dot(v, weighted)), axis=1)
    m_h = m * h - v * _dot(u * h, support.a) - u * _dot(v * h, support.a)
    square += 2 * jnp.sum(p * m_h, axis=1) + jnp.sum(p * p, axis=1) * target.square
    rounding = 4 * (s + d + 4) * jnp.finfo(square.dtype).eps  # four times the largest seen
    norm = jnp.sqrt(jnp.maximum(square, 0.0) + rounding * _magnitude_square(support, target))
    return norm + rounding * _diagonal_magnitude(support, target)  # `m` itself may be a difference


def _off_square(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return `|off x_s|^2` of every target through the shared matrices of class pairs."""
    assert support.pairs is not None
    i, j = _class_pairs(target.w.shape[1])

    def add(total: Array, pair: tuple[Array, Array]) -> tuple[Array, None]:
        matrix, weight = pair
        return total + weight * jnp.sum(_dot(target.v, matrix) * target.v, axis=1), None

    weights = (target.w[:, i] * target.w[:, j]).T
    return jax.lax.scan(add, jnp.zeros_like(target.tau), (support.pairs, weights))[0]


def _off_square_direct(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return the same as `_off_square` from each target's own matrix, in bounded memory."""

    def one(u_and_v: tuple[Array, Array]) -> Array:
        u, v = u_and_v
        off = (v[:, None] * u[None, :] + u[:, None] * v[None, :]) * support.a
        return jnp.sum(_dot(off, support.gram) * off)

    limit = _MATRIX_BYTES.get(jax.default_backend(), _MATRIX_BYTES_ACCELERATOR)
    batch_size = max(1, limit // (8 * support.a.size))
    return jax.lax.map(one, (target.u, target.v), batch_size=batch_size)


def _magnitude_square(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return a bound of the squared norm if no two terms of the gradient cancelled."""
    norms, a = jnp.sqrt(jnp.diagonal(support.gram)), jnp.abs(support.a)
    u = _dot(jnp.abs(target.w), jnp.abs(support.alpha).T)
    v = jnp.abs(target.v)
    rows = v * _dot(u * norms, a) + u * _dot(v * norms, a) + jnp.abs(target.m) * norms
    rows += jnp.abs(target.p) * jnp.sqrt(target.square)[:, None]
    return jnp.sum(rows * rows, axis=1)


def _diagonal_magnitude(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return a bound of the norm of `diag(m) x_s` if no two terms of `m` cancelled."""
    u, v, b = jnp.abs(target.u), jnp.abs(target.v), jnp.abs(support.b)
    m = jnp.abs(target.ub) + v * _dot(u, b.T) + u * _dot(v, b.T)
    m += 2 * jnp.abs(target.tau)[:, None] * jnp.diagonal(b)
    return jnp.sqrt(jnp.sum(m * m * jnp.diagonal(support.gram), axis=1))


def clipped_moments(
    dot_product: DotProduct,
    support: SupportTerms,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
    mask: Bool[Array, " n"],
    clip_norm: float,
    *,
    norms_fn: Callable[[SupportTerms, TargetTerms, Array], Array] | None = None,
) -> Moments:
    """Return the moments of the clipped gradients of the targets that `mask` selects.

    Args:
        clip_norm: bound C on a record's contribution, > 0; `math.inf` switches clipping off
            (and skips the norms).
        norms_fn: `(support, target, x_t) -> (n,)`, upper bounds of what is to be clipped;
            `norm_bounds` by default.

    Guarantee:
        One record changes the gradient assembled from these moments by at most `clip_norm` in
        Euclidean norm (in the norm that `norms_fn` bounds) when it is added or removed. Masked
        and non-finite records contribute exactly zero.
    """
    target = target_terms(dot_product, support, x_t, y_t)
    if clip_norm == float("inf"):
        factor = jnp.ones_like(target.tau)
        finite = jnp.all(jnp.isfinite(target.p + target.m + target.v), axis=1)
    else:
        norms = norms_fn(support, target, x_t) if norms_fn else norm_bounds(support, target)
        factor = jnp.minimum(1.0, clip_norm / jnp.where(norms > 0, norms, 1.0))
        finite = jnp.isfinite(norms)
    keep = mask & finite & jnp.all(jnp.isfinite(x_t), axis=1)

    def kept(z: Array) -> Array:
        return jnp.where(keep.reshape((-1,) + (1,) * (z.ndim - 1)), z, 0.0)

    factor = kept(factor)
    return Moments(
        # The barrier keeps XLA from folding the transpose into a product half as fast on CPUs.
        pt=_dot(jax.lax.optimization_barrier(kept(target.p).T * factor), kept(_wide(x_t))),
        vu=_dot(kept(target.v).T * factor, kept(target.u)),
        ub=_dot(factor, kept(target.ub)),
        tau=_dot(factor, kept(target.tau)),
    )


def zero_moments(support: SupportTerms) -> Moments:
    """Return the moments of no target."""
    s, d = support.x.shape
    dtype = support.x.dtype
    return Moments(
        pt=jnp.zeros((s, d), dtype),
        vu=jnp.zeros((s, s), dtype),
        ub=jnp.zeros((s,), dtype),
        tau=jnp.zeros((), dtype),
    )


def assemble(support: SupportTerms, moments: Moments) -> Float[Array, "s d"]:
    """Return the clipped gradient sum that the moments stand for."""
    cotangent = -(moments.vu + moments.vu.T)
    diagonal = moments.ub + jnp.sum(support.b * cotangent, axis=1)
    diagonal = diagonal + 2 * moments.tau * jnp.diagonal(support.b)
    grad = moments.pt + _dot(cotangent * support.a, support.x) + diagonal[:, None] * support.x
    return grad if support.free is None else jnp.where(support.free, grad, 0.0)
