"""Clipped gradient sums of the KIP loss for kernels of features, `k(x, z) = phi(x) . phi(z)`.

To rows of features such a kernel is linear, so `jaxdp.methods.dp_kip.clipped.sums` gives the exact
gradient of every target with respect to `phi(x_s)` without forming it. From there to pixels leads
one linear map per support row, the transposed Jacobian `J_j` of `phi` at `x_j`. There are two
places to clip:

`clip_space="features"`: clip, sum and add noise in feature space, then apply the Jacobians to the
    noisy sum, which is post-processing. Costs nothing beyond the Gram matrices and one VJP per
    support row and step. Clipping by `C / L` with a Lipschitz constant `L` of `phi` and adding
    noise to pixels is private as well, but never better: its clipped signal is the same, its noise
    has the covariance `L^2 sigma^2 I`, ours has `J_j^T J_j sigma^2`, which is below that in every
    direction, and ours needs no bound of `L`.
`clip_space="pixels"`: clip by the norm of the gradient with respect to pixels, as Vinaroz & Park
    (2024) do. The norm takes one VJP for every target and support row; a target's VJPs share the
    support's forward pass. Costs `targets * s` VJPs per step for the norms and `s` for the sum:
    12 million for 20 epochs of MNIST at one image per class. Memory is that of one chunk of
    targets: `chunk_size` times the features and what a VJP of one row keeps.

References:
    Vinaroz & Park (2024), "Differentially private kernel inducing points using features from
    ScatterNets (DP-KIP-ScatterNet) for privacy preserving data distillation", algorithm 1.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxdp.methods.dp_kip.clipped.norms import lost_to_rounding
from jaxdp.methods.dp_kip.clipped.terms import SupportTerms, TargetTerms

FeatureFn = Callable[[Array], Array]

# Far above what float64 loses in a VJP, far below what clipping could notice.
_ROUNDING = 1e-9
# Random directions that a Jacobian is measured by. What they tell of its norm is too small by more
# than this factor once in 10^13 times, whatever the Jacobian.
_PROBES, _TOO_SMALL = 16, 10.0


def pixel_norms(
    feature_fn: FeatureFn,
    x_s: Float[Array, "s d"],
    support: SupportTerms,
    target: TargetTerms,
    *,
    free: Bool[Array, " d"] | None = None,
) -> Float[Array, " n"]:
    """Return the norm of every target's gradient with respect to the support's pixels.

    Args:
        feature_fn: the feature map, in the float type of its argument.
        x_s: support rows, whose features are `support.x`.
        support: terms of the linear kernel on features.
        target: the same of the targets.
        free: columns of `x_s` that have a gradient, all by default.

    Raises:
        TypeError: `feature_fn` does not compute in float64.

    Guarantee:
        No norm is below the true one: clipping by it bounds what a record adds to the sum. What
        rounding may change in a gradient of features, whose terms cancel where the kernel matrix
        is nearly singular, is added by way of a bound of the Jacobians' norms.
    """
    wide, t = x_s.astype(jnp.float64), target.t
    _require_float64(feature_fn, wide)
    u_phi = jnp.matmul(target.u, support.x, precision="highest")
    v_phi = jnp.matmul(target.v, support.x, precision="highest")

    probes = np.random.default_rng(0).normal(size=(_PROBES, t.shape[1]))

    def add(
        found: tuple[Array, Array], row: tuple[Array, Array, Array, Array]
    ) -> tuple[tuple[Array, Array], None]:
        (total, largest), (x_j, phi_j, u_j, v_j) = found, row
        # Row j of `p t^T + M phi(x_s)` in the notation of `kip_grads`, with a = b = 1.
        cotangents = u_j[:, None] * (t - v_phi) - v_j[:, None] * u_phi
        cotangents += 2 * target.tau[:, None] * phi_j
        _, pullback = jax.vjp(lambda x: feature_fn(x[None])[0], x_j)
        grads = jax.vmap(lambda cotangent: pullback(cotangent)[0])(cotangents)
        if free is not None:
            grads = jnp.where(free, grads, 0.0)
        probed = jax.vmap(lambda probe: pullback(probe)[0])(jnp.asarray(probes, x_j.dtype))
        size = jnp.sum(probed**2) / _PROBES  # of the Jacobian: its Frobenius norm squared
        return (total + jnp.sum(grads**2, axis=1), jnp.maximum(largest, size)), None

    rows = (wide, support.x, target.u.T, target.v.T)
    start = (jnp.zeros_like(target.tau), jnp.zeros((), jnp.float64))
    (squares, largest), _ = jax.lax.scan(add, start, rows)
    lost = _TOO_SMALL * jnp.sqrt(largest) * lost_to_rounding(support, target)
    return jnp.sqrt(squares) * (1 + _ROUNDING) + lost


def _require_float64(feature_fn: FeatureFn, x: Array) -> None:
    dtype = jax.eval_shape(feature_fn, x).dtype
    if dtype != jnp.float64:
        raise TypeError(
            f"clipping in pixels needs features in float64, the feature map gives {dtype}"
        )
