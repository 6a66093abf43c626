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
For the kernel `x . z`, that of features, `a_ss` is 1 and it is `O(s^2)`: see `linear_norm_bounds`.
The clipped sum is linear in a few moments of `(u, v, t)` and needs no per-example object of the
gradient's size.

Precision: the coefficients pass through an ill-conditioned solve, and the terms of `|g|^2` may
cancel. Here, in `kip_terms` and in `kip_norms` everything is float64 whatever the type of the
inputs, and a bound of what rounding can take away from a norm is added before clipping, so no
clipped record exceeds the clip norm, however ill-conditioned the kernel. The functions need jax's
64-bit mode (`jaxdp.numerics.float64()`, which `jaxdp.methods.dp_kip.release` enters by itself).

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression", eq. 7.
    Vinaroz & Park (2024), "Differentially private kernel inducing points", algorithm 1.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxdp.kernels import LINEAR, DotProduct
from jaxdp.methods.dp_kip.clipped.norms import linear_norm_bounds, norm_bounds
from jaxdp.methods.dp_kip.clipped.terms import SupportTerms, TargetTerms, dot, target_terms
from jaxdp.numerics import rounded_once


class Moments(NamedTuple):
    """Sums over targets from which the clipped sum follows; they add over chunks.

    `pt` (s, d) sum of `p t^T`, `vu` (s, s) sum of `v u^T`, `ub` (s,) and `tau` () likewise,
    every term with its clipping factor.
    """

    pt: Array
    vu: Array
    ub: Array
    tau: Array


def clipped_moments(
    dot_product: DotProduct,
    support: SupportTerms,
    x_t: Float[Array, "n d"],
    y_t: Float[Array, "n c"],
    mask: Bool[Array, " n"],
    clip_norm: float,
    *,
    norms_fn: Callable[[SupportTerms, TargetTerms], Array] | None = None,
) -> Moments:
    """Return the moments of the clipped gradients of the targets that `mask` selects.

    Args:
        clip_norm: bound C on a record's contribution, > 0; `math.inf` switches clipping off
            (and skips the norms).
        norms_fn: `(support, target) -> (n,)`, upper bounds of what is to be clipped;
            `norm_bounds` by default, or `linear_norm_bounds` for the kernel `x . z`.

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
        bounds = linear_norm_bounds if dot_product is LINEAR else norm_bounds
        norms = norms_fn(support, target) if norms_fn else bounds(support, target)
        norms = rounded_once(norms, support.x)  # a gradient's parts need one factor
        factor = jnp.minimum(1.0, clip_norm / jnp.where(norms > 0, norms, 1.0))
        finite = jnp.isfinite(norms)
    keep = mask & finite & jnp.all(jnp.isfinite(x_t), axis=1)

    def kept(z: Array) -> Array:
        return jnp.where(keep.reshape((-1,) + (1,) * (z.ndim - 1)), z, 0.0)

    factor = kept(factor)
    return Moments(
        # The barrier keeps XLA from folding the transpose into a product half as fast on CPUs.
        pt=dot(jax.lax.optimization_barrier(kept(target.p).T * factor), kept(target.t)),
        vu=dot(kept(target.v).T * factor, kept(target.u)),
        ub=dot(factor, kept(target.ub)),
        tau=dot(factor, kept(target.tau)),
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
    grad = moments.pt + dot(cotangent * support.a, support.x) + diagonal[:, None] * support.x
    return grad if support.free is None else jnp.where(support.free, grad, 0.0)
