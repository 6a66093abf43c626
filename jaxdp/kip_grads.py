"""Exact clipped gradient sums of the KIP loss, without per-example gradients.

The loss of one target `(t, y)` is `|r|^2 / (2 c)` with `r = alpha^T k - y`, `k` the kernel row
of `t`, `A = (K_ss + lambda I)^-1`, `alpha = A y_s` and `lambda = ridge tr(K_ss) / s`. It depends
on the support through `k` (cotangent `u = alpha r / c`), through `K_ss` (cotangent `-v u^T`,
`v = A k`) and through `lambda` (cotangent `tau I`, `tau = -(ridge / s) v.u`). For a kernel of
inner products, `dk(x, z)/dx = a(x, z) z + b(x, z) x`, so the gradient of one target is

    g = p t^T + M x_s,    p = u * a_t,
    M = N * a_ss + diag(u * b_t + (N * b_ss) 1),    N = -(v u^T + u v^T) + 2 tau I

with `*` elementwise. With lower triangular coordinates `x_s = L Q^T`, `q = Q^T t`,

    |g|^2 = |M L + p q^T|_F^2 + |p|^2 (|t|^2 - |q|^2),

sums of squares, so rounding never cancels a norm away. `[L 0; q rho]` is the Cholesky factor of
the Gram matrix of the support and the target, so `Q` itself is not needed. The clipped sum is
linear in a few moments of `(u, v, t)` and needs no per-example object of the gradient's size.

Precision: the coefficients pass through an ill-conditioned solve, so everything that costs
`O(s (d + s))` per target is float64 whatever the type of the inputs, and the functions here
need jax's 64-bit mode (`jaxdp.precision.float64()`, which `jaxdp.dp_kip` enters by itself).
The norms, the only part that costs `O(s^3)` per target, are float32; a bound of their rounding
error is added before clipping, so no clipped record exceeds the clip norm, however
ill-conditioned the kernel.

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression", eq. 7.
    Vinaroz & Park (2024), "Differentially private kernel inducing points", algorithm 1.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxdp import precision
from jaxdp.kernels import DotProduct

_HIGHEST = jax.lax.Precision.HIGHEST

# The rounding error of a float32 norm, in units of float32's epsilon times the sum of the
# magnitudes of its terms. The largest seen over the inputs of tests/test_kip_grads.py is 0.5.
_ROUNDING = 4.0

# Targets whose (s, s) matrices are alive at once: what a CPU's cache holds, what fills a GPU.
_MATRIX_BYTES = {"cpu": 16 * 2**20}
_MATRIX_BYTES_ACCELERATOR = 2**30


class SupportTerms(NamedTuple):
    """What the gradients of all targets share; computed once per step.

    `x` (s, d), `norms` (s,) the rows' lengths, `cholesky` (s, s) of `K_ss + lambda I`,
    `alpha` (s, c), `a` and `b` (s, s) the kernel's derivative coefficients with the exact
    diagonal in `b`, `ridge_share = ridge / s`, `factor` the Cholesky factor of the rows' cosines,
    `None` where the rows outnumber the columns and are their own coordinates.
    """

    x: Array
    norms: Array
    cholesky: Array
    alpha: Array
    a: Array
    b: Array
    ridge_share: Array
    factor: Array | None


class TargetTerms(NamedTuple):
    """Coefficients of every target's gradient: `u`, `v`, `p`, `m` (n, s) and `tau` (n,).

    `m` is the diagonal of `M` (its off-diagonal part follows from `u`, `v` and `a_ss`),
    `ub = u * b_t` the part of `m` that comes from the target's own kernel row. `projections`
    (n, s) are the target's inner products with the unit support rows.
    """

    u: Array
    v: Array
    p: Array
    m: Array
    ub: Array
    tau: Array
    projections: Array


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
) -> SupportTerms:
    """Compute what the gradients of all targets share.

    Args:
        dot_product: the kernel as a function of inner products.
        x_s: support points.
        y_s: support labels.
        ridge: relative ridge, `lambda = ridge * trace(K_ss) / s`, >= 0.
    """
    s, d = x_s.shape
    x, y = _wide(x_s), _wide(y_s)
    gram = _dot(x, x.T)
    xx = jnp.sum(x * x, axis=1)
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
    norms = jnp.sqrt(xx)
    factor = _cosine_factor(gram, norms, d) if s < d else None
    return SupportTerms(x, norms, cholesky, alpha, a, b, ridge_share, factor)


def _cosine_factor(
    gram: Float[Array, "s s"], norms: Float[Array, " s"], d: int
) -> Float[Array, "s s"]:
    """Return the Cholesky factor of the cosines of `s` rows of `d` columns, made definite.

    The tiny multiple of the identity outweighs the rounding of inner products of `d` terms. It
    gives every row a component of its own outside the data's space, which can only lengthen a
    gradient, by less than 1e-5 of its terms' magnitude even where they cancel.
    """
    s = gram.shape[0]
    inverse = jnp.where(norms > 0, 1 / jnp.where(norms > 0, norms, 1.0), 0.0)
    cosines = gram * inverse[:, None] * inverse[None, :]
    tiny = 4 * (s + d) * jnp.finfo(gram.dtype).eps
    on_diagonal = jnp.eye(s, dtype=bool)
    return jnp.linalg.cholesky(jnp.where(on_diagonal, 1.0 + tiny, cosines))


def target_terms(
    dot_product: DotProduct,
    support: SupportTerms,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
) -> TargetTerms:
    """Compute the coefficients of every target's gradient, in `O(n s (d + s))`."""
    t, y = _wide(x_t), _wide(y_t)
    xx = jnp.square(support.norms)
    tt = jnp.sum(t * t, axis=1)
    inner = _dot(t, support.x.T)
    k, a, b = _coefficients(dot_product, inner, xx[None, :], tt[:, None], t.shape[1])
    r = _dot(k, support.alpha) - y
    u = _dot(r, support.alpha.T) / y.shape[1]
    v = jax.scipy.linalg.cho_solve((support.cholesky, True), k.T).T
    tau = -support.ridge_share * jnp.sum(u * v, axis=1)
    ub = u * b
    m = ub - v * _dot(u, support.b.T) - u * _dot(v, support.b.T)
    m = m + 2 * tau[:, None] * jnp.diagonal(support.b)
    projections = inner * jnp.where(xx > 0, 1 / jnp.where(xx > 0, support.norms, 1.0), 0.0)
    return TargetTerms(u, v, u * a, m, ub, tau, projections)


def norm_bounds(
    support: SupportTerms, target: TargetTerms, x_t: Float[Array, "n d"]
) -> Float[Array, " n"]:
    """Return an upper bound, tight to about 1e-6, of every target's gradient norm.

    Works in float32 at `O(s^2 min(s, d))` per target, in chunks whose memory is bounded. Every
    target is first scaled by the sum of the magnitudes of its terms, so nothing overflows.
    """
    t = _wide(x_t)
    lengths = jnp.linalg.norm(t, axis=1)
    magnitude = _magnitude(support, target, lengths)
    scale = jnp.where(magnitude > 0, 1 / magnitude, 0.0)[:, None]
    if support.factor is None:
        coordinates, inside, outside = support.x, t, jnp.zeros_like(lengths)
    else:
        coordinates = support.norms[:, None] * support.factor
        inside = _solve_lower(support.factor, target.projections)
        outside = jnp.square(lengths) - jnp.sum(inside * inside, axis=1)
    squares = jnp.sum(jnp.square(target.p * scale), axis=1) * jnp.maximum(outside, 0.0)
    narrow = [
        array.astype(jnp.float32)
        for array in (target.u * scale, target.v, target.m * scale, target.p * scale, inside)
    ]
    squares += _inside_squares(
        support.a.astype(jnp.float32), coordinates.astype(jnp.float32), narrow
    )
    rounding = _ROUNDING * jnp.finfo(jnp.float32).eps
    return magnitude * (jnp.sqrt(squares) + rounding)


def _solve_lower(factor: Array, rows: Array) -> Array:
    return jax.scipy.linalg.solve_triangular(factor, rows.T, lower=True).T


def _magnitude(support: SupportTerms, target: TargetTerms, lengths: Array) -> Array:
    """Return a bound of what the gradient's norm would be if no two of its terms cancelled."""
    u, v, a = jnp.abs(target.u), jnp.abs(target.v), jnp.abs(support.a)
    rows = v * _dot(u * support.norms, a) + u * _dot(v * support.norms, a)
    rows += jnp.abs(target.m) * support.norms + jnp.abs(target.p) * lengths[:, None]
    return jnp.sqrt(jnp.sum(jnp.square(rows), axis=1))


def _inside_squares(
    a: Float[Array, "s s"], coordinates: Float[Array, "s r"], targets: list[Array]
) -> Float[Array, " n"]:
    """Return `|M L + p q^T|_F^2` for every target `(u, v, m, p, q)`."""
    s = a.shape[0]
    on_diagonal = jnp.eye(s, dtype=bool)

    def one(target: list[Array]) -> Array:
        u, v, m, p, q = target
        matrix = -(v[:, None] * u[None, :] + u[:, None] * v[None, :]) * a
        matrix = jnp.where(on_diagonal, m[:, None], matrix)
        return jnp.sum(jnp.square(_dot(matrix, coordinates) + p[:, None] * q[None, :]))

    limit = _MATRIX_BYTES.get(jax.default_backend(), _MATRIX_BYTES_ACCELERATOR)
    return jax.lax.map(one, targets, batch_size=max(1, limit // (4 * s * s)))


def clipped_moments(
    dot_product: DotProduct,
    support: SupportTerms,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
    mask: Bool[Array, " n"],
    clip_norm: float,
) -> Moments:
    """Return the moments of the clipped gradients of the targets that `mask` selects.

    Args:
        clip_norm: bound C on a record's contribution, > 0; `math.inf` switches clipping off
            (and skips the norms).

    Guarantee:
        One record changes the gradient assembled from these moments by at most `clip_norm` in
        Euclidean norm when it is added or removed. Masked and non-finite records contribute
        exactly zero.
    """
    target = target_terms(dot_product, support, x_t, y_t)
    if clip_norm == float("inf"):
        factor = jnp.ones_like(target.tau)
        finite = jnp.all(jnp.isfinite(target.p + target.m + target.v), axis=1)
    else:
        norms = norm_bounds(support, target, x_t)
        factor = jnp.minimum(1.0, clip_norm / jnp.where(norms > 0, norms, 1.0))
        finite = jnp.isfinite(norms)
    keep = mask & finite & jnp.all(jnp.isfinite(x_t), axis=1)

    def kept(z: Array) -> Array:
        return jnp.where(keep.reshape((-1,) + (1,) * (z.ndim - 1)), z, 0.0)

    factor = kept(factor)
    return Moments(
        pt=_dot(kept(target.p).T * factor, kept(_wide(x_t))),
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
    return moments.pt + _dot(cotangent * support.a, support.x) + diagonal[:, None] * support.x
