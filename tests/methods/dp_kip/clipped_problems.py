"""What tests of the exact clipped sums share: problems, gradients by autodiff, and the sums.

Inputs are float32, the oracle is float64 throughout. Where several gradient terms cancel the
error is stated relative to their `magnitude`, what the norm would be if they did not.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import kernels
from jaxdp.kernels import krr
from jaxdp.methods.dp_kip.clipped import norms as kip_norms
from jaxdp.methods.dp_kip.clipped import sums as kip_grads
from jaxdp.methods.dp_kip.clipped import terms as kip_terms

KERNELS = {
    "ntk": kernels.fc_ntk(),
    "ntk without bias": kernels.fc_ntk(bias_std=0.0),
    "ntk of depth 2": kernels.fc_ntk(depth=2),
    "ntk of depth 3": kernels.fc_ntk(depth=3, weight_std=1.1, bias_std=0.5),
    "nngp": kernels.fc_nngp(depth=1),
    "linear": kernels.linear(),
}
RIDGES = (1e-8, 1e-4, 1.0)
WAYS = (False, True)  # to norms: from each target's own matrix, or from matrices all share
S, D, N, C = 6, 10, 8, 2
BATCH = 12
EPS = float(np.finfo(np.float64).eps)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

wide = pytest.mark.usefixtures("float64")


class Problem(NamedTuple):
    """A support set and targets, in float32."""

    x_s: np.ndarray
    y_s: np.ndarray
    x_t: np.ndarray
    y_t: np.ndarray


def problem(case: str = "random", *, seed: int = 0, s: int = S, d: int = D, n: int = N) -> Problem:
    rng = np.random.default_rng(seed)
    x_s, x_t = rng.normal(size=(s, d)), rng.normal(size=(n, d))
    y_s, y_t = rng.normal(size=(s, C)), rng.normal(size=(n, C))
    one = rng.normal(size=(1, d))
    if case == "nearly collinear":  # angles of about 1e-2
        x_s, x_t = one + 1e-2 * x_s, one + 1e-2 * x_t
    elif case == "nearly antipodal":
        signs = rng.choice([-1, 1], size=(s + n, 1))
        x_s, x_t = (one + 1e-2 * x_s) * signs[:s], (one + 1e-2 * x_t) * signs[s:]
    elif case == "collinear":
        x_s = one * rng.uniform(0.5, 2, size=(s, 1))
    elif case == "duplicated":
        x_s = x_s[[0, 0, 0, 1, 1, *range(2, s - 3)]]
    elif case == "all equal":
        x_s, y_s = np.repeat(one, s, axis=0), np.repeat(y_s[:1], s, axis=0)
    elif case == "targets equal support":
        x_t = x_s[rng.integers(0, s, size=n)]
    elif case == "zero rows":
        x_s[::2], x_t[:3] = 0, 0
    elif case == "zero targets":
        x_t[:] = 0
    elif case == "tiny":
        x_s, x_t = 1e-6 * x_s, 1e-6 * x_t
    elif case == "huge":
        x_s, x_t = 1e4 * x_s, 1e4 * x_t
    elif case == "mixed":  # from 1e-6 to 1e4 in one support
        x_s = x_s * np.logspace(-6, 4, s)[:, None]
        x_t = x_t * np.logspace(4, -6, n)[:, None]
    elif case != "random":
        raise ValueError(case)
    return Problem(*(np.asarray(z, np.float32) for z in (x_s, y_s, x_t, y_t)))


CASES = [
    "random",
    "nearly collinear",
    "nearly antipodal",
    "collinear",
    "duplicated",
    "all equal",
    "targets equal support",
    "zero rows",
    "zero targets",
    "tiny",
    "huge",
    "mixed",
]


def loss(kernel: kernels.Kernel, y_s: Any, ridge: Any, x_s: Any, target: Any) -> Any:
    """Return `|K_ts (K_ss + ridge tr(K_ss)/s I)^-1 y_s - y_t|^2 / (2 c)` for one target."""
    t, y = target
    alpha = krr.fit(kernel.symmetric(x_s), y_s, ridge=ridge)
    residual = krr.predict(kernel.cross(t[None], x_s), alpha)[0] - y
    return jnp.sum(residual**2) / (2 * y.shape[0])


def stack(problems: list[Problem]) -> list[Any]:
    """Stack to a batch of fixed size, so that everything below compiles once."""
    assert len(problems) <= BATCH
    padded = problems + [problems[-1]] * (BATCH - len(problems))
    return [jnp.asarray(np.stack(part)) for part in zip(*padded, strict=True)]


@functools.cache
def _oracle(kernel: kernels.Kernel, ridge: float) -> Any:
    def one(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> Any:
        gradient = jax.grad(functools.partial(loss, kernel, y_s, ridge))
        return jax.vmap(gradient, (None, 0))(x_s, (x_t, y_t))

    return jax.jit(jax.vmap(one), compiler_options=QUICK)


def gradients(kernel: kernels.Kernel, problems: list[Problem], ridge: float) -> np.ndarray:
    """Return every target's gradient (.., n, s, d) by automatic differentiation in float64."""
    assert jnp.zeros(()).dtype == jnp.float64
    inputs = [z.astype(jnp.float64) for z in stack(problems)]
    return np.asarray(_oracle(kernel, ridge)(*inputs))[: len(problems)]


class Result(NamedTuple):
    """What the module makes of a batch of problems, at clip norms 1 and infinity.

    `total` is the sum over targets and `each` (.., n, s, d) what every target alone adds to it.
    `bound` are the norms that clipping uses, `magnitude` and `diagonal` what their margins are
    in proportion to.
    """

    total: np.ndarray
    each: np.ndarray
    plain_total: np.ndarray
    plain_each: np.ndarray
    bound: np.ndarray
    magnitude: np.ndarray
    diagonal: np.ndarray


@functools.cache
def _module(kernel: kernels.Kernel, ridge: float, shared: bool) -> Any:
    dot_product = kernel.dot_product
    assert dot_product is not None

    def one(x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> tuple[Any, ...]:
        support = kip_terms.support_terms(
            dot_product, x_s, y_s, ridge, num_targets=1e9 if shared else 1e-9
        )
        assert (support.pairs is not None) == shared

        n = x_t.shape[0]
        masks = jnp.concatenate([jnp.ones((1, n), bool), jnp.eye(n, dtype=bool)])

        def assembled(clip_norm: float) -> Any:
            def with_mask(mask: Any) -> Any:
                moments = kip_grads.clipped_moments(dot_product, support, x_t, y_t, mask, clip_norm)
                return kip_grads.assemble(support, moments)

            sums = jax.vmap(with_mask)(masks)
            return sums[0], sums[1:]

        target = kip_terms.target_terms(dot_product, support, x_t, y_t)
        if dot_product is kernels.LINEAR:
            bound = kip_norms.linear_norm_bounds(support, target)
            square = kip_norms._linear_magnitude(support, target)
            diagonal = jnp.zeros_like(bound)
        else:
            bound = kip_norms.norm_bounds(support, target)
            square = kip_norms._magnitude_square(support, target)
            diagonal = kip_norms._diagonal_magnitude(support, target)
        return *assembled(1.0), *assembled(math.inf), bound, jnp.sqrt(square), diagonal

    # Most of the time here is compilation; one kernel and ridge gets all of it.
    options = None if kernel is KERNELS["ntk"] and ridge == RIDGES[0] else QUICK
    return jax.jit(jax.vmap(one), compiler_options=options)


def run(
    kernel: kernels.Kernel, problems: list[Problem], ridge: float, *, shared: bool = False
) -> Result:
    """Run the module, at clip norm 1, on float32 inputs."""
    results = _module(kernel, ridge, shared)(*stack(problems))
    return Result(*(np.asarray(z)[: len(problems)] for z in results))


def norms_of(g: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(np.square(g), axis=(-2, -1)))


def clip(g: np.ndarray) -> np.ndarray:
    """Clip to norm 1."""
    return g / np.maximum(norms_of(g), 1.0)[..., None, None]


def scaled(p: Problem, factor: float) -> Problem:
    """Scale all labels, and so gradients by the square of the factor."""
    return p._replace(y_s=np.float32(factor) * p.y_s, y_t=np.float32(factor) * p.y_t)


def clipping_levels(kernel: kernels.Kernel, p: Problem, ridge: float) -> list[Problem]:
    """Return the problem scaled so that norm 1 clips all of its targets, half, and none."""
    norms = np.sort(norms_of(gradients(kernel, [p], ridge)[0]))
    assert norms[-1] > 0
    levels = norms[norms > 0][0] / 10, math.sqrt(norms[N // 2 - 1] * norms[N // 2]), 2 * norms[-1]
    return [scaled(p, level**-0.5) for level in levels if level > 0]


def quadratic(xz: Any, xx: Any, zz: Any, d: int) -> Any:
    return (xz / d + 0.3) ** 2 + 0.1 * jnp.sqrt(1 + xx) * jnp.sqrt(1 + zz)


# Not one of ours: anything with these two functions will do.
CUSTOM = kernels.DotProduct(cross=quadratic, diagonal=lambda xx, d: quadratic(xx, xx, xx, d))


@functools.partial(jax.jit, static_argnums=2)
def _custom_terms(x_s: Any, y_s: Any, shared: bool) -> Any:
    return kip_terms.support_terms(CUSTOM, x_s, y_s, 1e-3, num_targets=1e9 if shared else 1e-9)


@functools.partial(jax.jit, static_argnums=4)
def _custom_moments(support: Any, x_t: Any, y_t: Any, mask: Any, clip_norm: float) -> Any:
    return kip_grads.clipped_moments(CUSTOM, support, x_t, y_t, mask, clip_norm)


def custom_terms(p: Problem, *, shared: bool = False) -> Any:
    return _custom_terms(p.x_s, p.y_s, shared)


def custom_moments(
    p: Problem, mask: Any = None, *, clip_norm: float = 0.1, shared: bool = False
) -> kip_grads.Moments:
    mask = np.ones(len(p.x_t), bool) if mask is None else mask
    return _custom_moments(custom_terms(p, shared=shared), p.x_t, p.y_t, mask, clip_norm)


def custom_sum(p: Problem, mask: Any = None, **options: Any) -> np.ndarray:
    return np.asarray(kip_grads.assemble(custom_terms(p), custom_moments(p, mask, **options)))
