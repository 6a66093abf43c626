"""Upper bounds of per-example gradient norms of the KIP loss, from inner products alone.

The formulas and their notation are in `jaxdp.methods.dp_kip.clipped.sums`. What rounding can take
away from a norm is added to it, so that no clipped record exceeds the clip norm.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.methods.dp_kip.clipped.terms import SupportTerms, TargetTerms, class_pairs, dot
from jaxdp.numerics import ByBackend, map_rows

# Targets whose (s, s) matrices are alive at once: what a CPU's cache holds, what fills a GPU.
_MATRIX_BYTES = ByBackend(cpu=16 * 2**20, accelerator=2**30)


def norm_bounds(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return an upper bound of every target's gradient norm.

    The bound exceeds the norm by what rounding may have taken from it: in the square, `1e-12` or
    so of what the square would be if no two terms of the gradient cancelled. It holds for norms
    above 1e-100, whose squares do not underflow.
    """
    u, v, p, m, h = target.u, target.v, target.p, target.m, target.inner
    off_square = _off_square_direct if support.pairs is None else _off_square
    weighted = support.a * support.gram
    square = off_square(support, target) + jnp.sum(m * m * jnp.diagonal(support.gram), axis=1)
    square -= 2 * jnp.sum(m * (v * dot(u, weighted) + u * dot(v, weighted)), axis=1)
    m_h = m * h - v * dot(u * h, support.a) - u * dot(v * h, support.a)
    square += 2 * jnp.sum(p * m_h, axis=1) + jnp.sum(p * p, axis=1) * target.square
    rounding = _rounding(support)
    norm = jnp.sqrt(jnp.maximum(square, 0.0) + rounding * _magnitude_square(support, target))
    return norm + rounding * _diagonal_magnitude(support, target)  # `m` itself may be a difference


def linear_norm_bounds(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return what `norm_bounds` does, for the kernel `x . z`, from `O(s^2)` operations a target.

    Row j of the gradient is `u_j (t - V) - v_j U + 2 tau x_j` with `U = x_s^T u` and
    `V = x_s^T v`, so

        |g|^2 = |u|^2 |t - V|^2 + |v|^2 |U|^2 - 2 (u.v) (t - V).U
                + 4 tau ((t - V).U - V.U) + 4 tau^2 tr(G).
    """
    u, v, tau, gram = target.u, target.v, target.tau, support.gram
    u_gram = dot(u, gram)
    uu, uv, vv = _along(u_gram, u), _along(u_gram, v), _along(dot(v, gram), v)
    residual = target.square - 2 * _along(v, target.inner) + vv
    across = _along(u, target.inner) - uv
    square = _along(u, u) * residual + _along(v, v) * uu - 2 * _along(u, v) * across
    square += 4 * tau * (across - uv) + 4 * tau * tau * jnp.trace(gram)
    rounding = _rounding(support)
    return jnp.sqrt(jnp.maximum(square, 0.0) + rounding * _linear_magnitude(support, target))


def _along(x: Array, y: Array) -> Float[Array, " n"]:
    """Return the inner product of every row with its own counterpart."""
    return jnp.sum(x * y, axis=1)


def _linear_magnitude(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return `_magnitude_square` for the kernel `x . z`, in `O(s)`."""
    norms = jnp.sqrt(jnp.diagonal(support.gram))
    u, v = jnp.abs(target.u), jnp.abs(target.v)
    t_and_v = jnp.sqrt(target.square) + dot(v, norms)
    rows = u * t_and_v[:, None] + v * dot(u, norms)[:, None]
    rows += 2 * jnp.abs(target.tau)[:, None] * norms
    return jnp.sum(rows * rows, axis=1)


def lost_to_rounding(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return a bound of what rounding may change in every target's gradient, as a norm."""
    magnitude = jnp.sqrt(_magnitude_square(support, target)) + _diagonal_magnitude(support, target)
    return _rounding(support) * magnitude


def _rounding(support: SupportTerms) -> float:
    s, d = support.x.shape
    return 4 * (s + d + 4) * float(jnp.finfo(support.x.dtype).eps)  # four times the largest seen


def _off_square(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return `|off x_s|^2` of every target through the shared matrices of class pairs."""
    assert support.pairs is not None
    i, j = class_pairs(target.w.shape[1])

    def add(total: Array, pair: tuple[Array, Array]) -> tuple[Array, None]:
        matrix, weight = pair
        return total + weight * jnp.sum(dot(target.v, matrix) * target.v, axis=1), None

    weights = (target.w[:, i] * target.w[:, j]).T
    return jax.lax.scan(add, jnp.zeros_like(target.tau), (support.pairs, weights))[0]


def _off_square_direct(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return the same as `_off_square` from each target's own matrix, in bounded memory."""

    def one(u_and_v: tuple[Array, Array]) -> Array:
        u, v = u_and_v
        off = (v[:, None] * u[None, :] + u[:, None] * v[None, :]) * support.a
        return jnp.sum(dot(off, support.gram) * off)

    limit = _MATRIX_BYTES.here
    return map_rows(one, (target.u, target.v), at_most=max(1, limit // (8 * support.a.size)))


def _magnitude_square(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return a bound of the squared norm if no two terms of the gradient cancelled."""
    norms, a = jnp.sqrt(jnp.diagonal(support.gram)), jnp.abs(support.a)
    u = dot(jnp.abs(target.w), jnp.abs(support.alpha).T)
    v = jnp.abs(target.v)
    rows = v * dot(u * norms, a) + u * dot(v * norms, a) + jnp.abs(target.m) * norms
    rows += jnp.abs(target.p) * jnp.sqrt(target.square)[:, None]
    return jnp.sum(rows * rows, axis=1)


def _diagonal_magnitude(support: SupportTerms, target: TargetTerms) -> Float[Array, " n"]:
    """Return a bound of the norm of `diag(m) x_s` if no two terms of `m` cancelled."""
    u, v, b = jnp.abs(target.u), jnp.abs(target.v), jnp.abs(support.b)
    m = jnp.abs(target.ub) + v * dot(u, b.T) + u * dot(v, b.T)
    m += 2 * jnp.abs(target.tau)[:, None] * jnp.diagonal(b)
    return jnp.sqrt(jnp.sum(m * m * jnp.diagonal(support.gram), axis=1))
