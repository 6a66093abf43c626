"""Gradients of kernels against finite differences, and where kernels have corners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fully_connected import FACTORIES, KINDS

from jaxdp import kernels


def special_points() -> tuple[np.ndarray, np.ndarray]:
    """Return stacks of (x, z): every way to lie on a corner of the kernel, or near one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 6))
    pairs = [
        (x, x),
        (x, -x),
        (x, np.array([[2.0], [1e-3], [1e4]]) * x),
        (x, x * (1 + 1e-7 * rng.normal(size=x.shape))),
        (1e15 * x, 1e15 * x[::-1]),
        (x[[0, 0, 1]], x[[1, 0, 0]]),
        (1e-20 * x, 1e-20 * x[::-1]),
        (x * [[1], [0], [1]], x * [[0], [0], [1]]),
        (0 * x, 0 * x),
    ]
    return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias_std", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_gradients_are_finite_everywhere(
    kind: str, bias_std: float, dtype: Any, float64: None
) -> None:
    kernel = FACTORIES[kind](depth=2, bias_std=bias_std)

    def total(x: Any, z: Any) -> Any:
        return jnp.sum(kernel.cross(x, z)) + jnp.sum(kernel.symmetric(x))

    x, z = (jnp.asarray(rows, dtype) for rows in special_points())
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(total, argnums=(0, 1))))(x, z)
    assert np.all(np.isfinite(values))
    for gradient in gradients:
        assert np.all(np.isfinite(gradient))
    assert np.all(np.any(gradients[0][:6] != 0, axis=2))  # all but those at zero


def finite_difference(f: Callable[[Any], Any], x: Any, step: float) -> np.ndarray:
    """Return the central difference of a scalar function of an array, of fourth order."""
    steps = step * np.eye(x.size).reshape(-1, *x.shape)
    points = np.concatenate([np.asarray(x) + m * steps for m in (1, -1, 2, -2)])
    values = np.asarray(jax.jit(jax.vmap(f))(jnp.asarray(points))).reshape(4, x.size)
    near, far = values[0] - values[1], values[2] - values[3]
    return ((8 * near - far) / (12 * step)).reshape(x.shape)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias_std", [0.0, 0.3])
def test_gradients_match_finite_differences(kind: str, bias_std: float) -> None:
    rng = np.random.default_rng(0)
    w, w_s = rng.normal(size=(3, 2)), rng.normal(size=(3, 3))
    rows = jnp.asarray(rng.normal(size=(5, 4)))
    kernel = FACTORIES[kind](depth=2, bias_std=bias_std)

    def total(rows: Any) -> Any:
        x, z = rows[:3], rows[3:]
        return jnp.sum(w * kernel.cross(x, z)) + jnp.sum(w_s * kernel.symmetric(x))

    want = finite_difference(total, rows, 1e-3)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(rows), want, rtol=1e-7, atol=1e-8)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("bias_std", [0.0, 0.3])
def test_nngp_gradient_is_right_at_coincident_and_antipodal_points(bias_std: float) -> None:
    """The NNGP is differentiable there (the tangent kernel has a kink)."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 4)))
    kernel = kernels.fc_nngp(depth=1, bias_std=bias_std)

    def total(rows: Any) -> Any:  # points at x, -x and 2 x, each against x
        return jnp.sum(kernel.cross(rows, x))

    # The second derivative jumps at the point itself: the difference is good to its step.
    rows = jnp.concatenate([x, -x, 2 * x])
    want = finite_difference(total, rows, 1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(rows), want, atol=1e-5)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("bias_std", [0.0, 0.3])
def test_tangent_kernel_slopes_along_the_diagonal(bias_std: float) -> None:
    """Where both arguments move together there is no kink, and the derivative is exact."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 4)))
    kernel = kernels.fc_ntk(depth=1, bias_std=bias_std)
    on = jax.jit(jax.grad(lambda x: kernel.symmetric(x)[0, 0]))(x)
    both = jax.jit(jax.grad(lambda x: kernel.cross(x, x)[0, 0]))(x)
    want = finite_difference(lambda x: kernel.symmetric(x)[0, 0], x, 1e-3)
    np.testing.assert_allclose(on, want, rtol=1e-9)
    np.testing.assert_allclose(both, on, rtol=1e-9)
