"""The exact clipped gradient sums against per-example gradients by automatic differentiation.

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

from jaxdp import kernels, kip_grads

KERNELS = {
    "ntk": kernels.fc_ntk(),
    "ntk without bias": kernels.fc_ntk(bias_std=0.0),
    "ntk of depth 2": kernels.fc_ntk(depth=2),
    "ntk of depth 3": kernels.fc_ntk(depth=3, weight_std=1.1, bias_std=0.5),
    "nngp": kernels.fc_nngp(depth=1),
    "linear": kernels.fc_ntk(depth=0),
}
RIDGES = [1e-8, 1e-4, 1.0]
S, D, N, C = 6, 10, 8, 2

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


def oracle_loss(kernel: kernels.Kernel, y_s: Any, ridge: Any, x_s: Any, target: Any) -> Any:
    """Return `|K_ts (K_ss + ridge tr(K_ss)/s I)^-1 y_s - y_t|^2 / (2 c)` for one target."""
    t, y = target
    k_ss = kernel.symmetric(x_s)
    shift = ridge * jnp.trace(k_ss) / k_ss.shape[0]
    alpha = jnp.linalg.solve(k_ss + shift * jnp.eye(k_ss.shape[0]), y_s)
    residual = kernel.cross(t[None], x_s)[0] @ alpha - y
    return jnp.sum(residual**2) / (2 * y.shape[0])


@functools.partial(jax.jit, static_argnums=0)
def _oracle(kernel: kernels.Kernel, ridge: Any, x_s: Any, y_s: Any, x_t: Any, y_t: Any) -> Any:
    one = jax.grad(functools.partial(oracle_loss, kernel, y_s, ridge))
    return jax.vmap(one, (None, 0))(x_s, (x_t, y_t))


def gradients(kernel: kernels.Kernel, p: Problem, ridge: float) -> np.ndarray:
    """Return every target's gradient (n, s, d) by automatic differentiation in float64."""
    assert jnp.zeros(()).dtype == jnp.float64
    return np.asarray(_oracle(kernel, ridge, *(jnp.asarray(z, jnp.float64) for z in p)))


def norms_of(g: Any) -> np.ndarray:
    return np.sqrt(np.sum(np.square(np.asarray(g)), axis=(1, 2)))


def clip(g: np.ndarray, clip_norm: float) -> np.ndarray:
    norms = np.maximum(norms_of(g), 1e-300)
    return g * np.minimum(1.0, clip_norm / norms)[:, None, None]


def arrays(p: Problem) -> tuple[Any, ...]:
    return tuple(jnp.asarray(z) for z in p)


def terms(
    kernel: kernels.Kernel, p: Problem, ridge: float, shared: bool = False
) -> tuple[Any, Any]:
    """Return the terms of the support and of the targets; `shared` picks the way to norms."""
    assert kernel.dot_product is not None
    x_s, y_s, x_t, y_t = arrays(p)
    support = kip_grads.support_terms(
        kernel.dot_product, x_s, y_s, ridge, num_targets=1e9 if shared else 1e-9
    )
    assert (support.pairs is not None) == shared
    return support, kip_grads.target_terms(kernel.dot_product, support, x_t, y_t)


def clipped_sum(
    kernel: kernels.Kernel,
    p: Problem,
    ridge: float,
    clip_norm: float,
    *,
    shared: bool = False,
    mask: Any = None,
) -> np.ndarray:
    """Return what `jaxdp.dp_kip` adds noise to."""
    assert kernel.dot_product is not None
    support, _ = terms(kernel, p, ridge, shared)
    _, _, x_t, y_t = arrays(p)
    mask = jnp.ones(len(x_t), bool) if mask is None else jnp.asarray(mask)
    moments = kip_grads.clipped_moments(kernel.dot_product, support, x_t, y_t, mask, clip_norm)
    return np.asarray(kip_grads.assemble(support, moments))


def contributions(
    kernel: kernels.Kernel, p: Problem, ridge: float, clip_norm: float, *, shared: bool = False
) -> np.ndarray:
    """Return what every target alone adds to the sum (n, s, d), as released."""
    assert kernel.dot_product is not None
    support, _ = terms(kernel, p, ridge, shared)
    _, _, x_t, y_t = arrays(p)

    def alone(mask: Any) -> Any:
        moments = kip_grads.clipped_moments(kernel.dot_product, support, x_t, y_t, mask, clip_norm)
        return kip_grads.assemble(support, moments)

    return np.asarray(jax.vmap(alone)(jnp.eye(len(x_t), dtype=bool)))


def magnitudes(support: Any, target: Any) -> np.ndarray:
    return np.sqrt(np.asarray(kip_grads._magnitude_square(support, target)))


def assert_sums_match(kernel: kernels.Kernel, p: Problem, ridge: float, rtol: float = 1e-5) -> None:
    """Compare sums with all, half, one and none of the targets clipped, computed in both ways."""
    g = gradients(kernel, p, ridge)
    norms = np.sort(norms_of(g))
    assert norms[-1] > 0
    half = float(np.sqrt(norms[3] * norms[4])) or float(norms[-1]) / 2
    for clip_norm in (1e-3 * norms[-1], half, 0.99 * norms[-1], 2 * norms[-1], math.inf):
        want = np.sum(clip(g, float(clip_norm)), axis=0)
        for shared in (False, True):
            ours = clipped_sum(kernel, p, ridge, float(clip_norm), shared=shared)
            assert ours.dtype == np.float64
            error = np.linalg.norm(ours - want) / np.linalg.norm(want)
            assert error <= rtol, (clip_norm / norms[-1], shared, error)


@wide
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ridge", RIDGES)
def test_clipped_sum_equals_the_oracle(case: str, ridge: float) -> None:
    assert_sums_match(KERNELS["ntk"], problem(case), ridge)


@wide
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "ntk"])
@pytest.mark.parametrize("case", ["random", "nearly collinear", "mixed"])
def test_clipped_sum_equals_the_oracle_for_other_kernels(name: str, case: str) -> None:
    for ridge in (1e-6, 1.0):
        assert_sums_match(KERNELS[name], problem(case), ridge)


@wide
@pytest.mark.parametrize("case", ["random", "nearly collinear", "duplicated", "mixed"])
def test_clipped_sum_equals_the_oracle_with_more_rows_than_columns(case: str) -> None:
    for ridge in RIDGES:
        assert_sums_match(KERNELS["ntk"], problem(case, s=9, d=4), ridge)
