"""Cosine and sine of many angles: oracle in float64, the circle at every size, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import numerics
from jaxdp.features.circle import cos_sin
from jaxdp.features.fourier import fourier_features

_EDGES = (0.0, -0.0, np.pi / 4, np.pi / 2, np.pi, -3 * np.pi / 4, 100 * np.pi, 1e-38)


def angles_up_to(size: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    drawn = rng.uniform(-size, size, 100_000)
    return np.asarray([*drawn, size, -size, *(edge for edge in _EDGES if edge < size)], np.float32)


@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_both_are_those_of_float64(size: float) -> None:
    x = angles_up_to(size)
    cosine, sine = jax.jit(cos_sin)(x)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(cosine, np.cos(exact), atol=2e-7, rtol=0)
    np.testing.assert_allclose(sine, np.sin(exact), atol=2e-7, rtol=0)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e3, 1e5, 1e7, 1e12, 3.4e38])
def test_guarantee_they_are_on_the_circle_at_every_angle(size: float) -> None:
    """Features of these have norm 1 whatever the row: clipping relies on it."""
    cosine, sine = (np.asarray(z, np.float64) for z in jax.jit(cos_sin)(angles_up_to(size)))
    np.testing.assert_allclose(cosine**2 + sine**2, 1.0, atol=5e-7, rtol=0)


def test_guarantee_features_of_huge_rows_have_norm_one() -> None:
    features = fourier_features(jax.random.key(0), 5, num_features=200, length_scale=1.0)
    sizes = np.asarray([[1e-20], [1.0], [1e6], [1e15], [1e37]], np.float32)
    rows = sizes * np.random.default_rng(1).standard_normal((5, 5)).astype(np.float32)
    norms = np.linalg.norm(np.asarray(features(jnp.asarray(rows)), np.float64), axis=1)
    np.testing.assert_allclose(norms, 1.0, atol=1e-5)


def test_derivatives_are_those_of_cosine_and_sine() -> None:
    x = jnp.asarray(angles_up_to(20.0)[:500])

    def weighed(pair: tuple[jax.Array, jax.Array]) -> jax.Array:
        return jnp.sum(pair[0] * 2 + pair[1] ** 2 * jnp.arange(len(x)))

    found = jax.grad(lambda x: weighed(cos_sin(x)))(x)
    expected = jax.grad(lambda x: weighed((jnp.cos(x), jnp.sin(x))))(x)
    np.testing.assert_allclose(found, expected, atol=1e-3, rtol=1e-5)


def test_float64_keeps_its_precision() -> None:
    with numerics.float64():
        x = jnp.linspace(-50, 50, 1001, dtype=jnp.float64)
        cosine, sine = cos_sin(x)
        assert cosine.dtype == jnp.float64
        np.testing.assert_allclose(cosine, np.cos(np.asarray(x)), atol=1e-14)
        np.testing.assert_allclose(sine, np.sin(np.asarray(x)), atol=1e-14)
