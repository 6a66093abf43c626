"""Scattering features against kymatio's JAX backend and their definitions."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kymatio.scattering2d.frontend.jax_frontend import ScatteringJax2D

from jaxdp import kernels
from jaxdp.features import scattering
from jaxdp.numerics import ByBackend

CASES = [(8, 8, 2, 8), (12, 10, 1, 3), (16, 8, 3, 1)]


def images(n: int, *shape: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, *shape)), jnp.float32)


@pytest.mark.parametrize(("height", "width", "scales", "angles"), CASES)
def test_coefficients_and_vjp_equal_kymatio(
    height: int, width: int, scales: int, angles: int
) -> None:
    oracle = ScatteringJax2D(scales, (height, width), L=angles)
    x = images(3, height, width)

    def ours(x: jax.Array) -> jax.Array:
        return scattering.scattering(x, max_scale=scales, num_angles=angles)

    expected, actual = jax.jit(oracle)(x), jax.jit(ours)(x)
    assert (
        actual.shape
        == expected.shape
        == (3, scattering.num_paths(scales, angles), *actual.shape[2:])
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5 * scale)
    cotangent = images(*expected.shape, seed=1)

    @functools.partial(jax.jit, static_argnums=0)
    def gradient(function: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
        return jax.vjp(function, x)[1](cotangent)[0]

    expected_grad = gradient(oracle, x)
    tolerance = 1e-5 * np.abs(expected_grad).max()
    np.testing.assert_allclose(gradient(ours, x), expected_grad, atol=tolerance)


def test_real_sizes_have_the_papers_number_of_features() -> None:
    for shape, length in (((28, 28, 1), 3969), ((32, 32, 3), 15552)):
        features = scattering.scatter_features(shape)
        rows = jax.ShapeDtypeStruct((2, int(np.prod(shape))), jnp.float32)
        assert jax.eval_shape(features, rows).shape == (2, length)


@pytest.mark.parametrize("fill", [0.0, 1.0, -3.0])
def test_gradients_of_constant_images_are_finite(fill: float) -> None:
    def coefficients(x: jax.Array) -> jax.Array:
        return scattering.scattering(x, num_angles=2)

    x = jnp.full((1, 8, 8), fill)
    values = jax.jit(coefficients)(x)
    assert np.all(np.isfinite(jax.jit(jax.grad(lambda x: jnp.sum(coefficients(x) ** 2)))(x)))
    np.testing.assert_allclose(values[:, 0], fill, rtol=1e-4)  # the average keeps means
    np.testing.assert_allclose(values[:, 1:], 0.0, atol=1e-4)  # wavelets have none


def test_gradient_is_right_in_float64(float64: None) -> None:
    x = jnp.asarray(np.random.default_rng(2).normal(size=(1, 8, 8)))
    direction = jnp.asarray(np.random.default_rng(3).normal(size=(1, 8, 8)))

    @jax.jit
    def energy(t: float) -> jax.Array:
        return jnp.sum(scattering.scattering(x + t * direction, num_angles=2) ** 2)

    step = 1e-5
    assert energy(0.0).dtype == jnp.float64
    difference = (energy(step) - energy(-step)) / (2 * step)
    np.testing.assert_allclose(jax.jit(jax.grad(energy))(0.0), difference, rtol=1e-7)


def test_chunks_and_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    x = images(5, 8, 8)

    def both(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        @jax.jit
        def compiled(x: jax.Array) -> tuple[jax.Array, jax.Array]:
            value, pullback = jax.vjp(lambda x: scattering.scattering(x, num_angles=2), x)
            return value, pullback(jnp.ones_like(value))[0]

        return compiled(x)

    whole = both(x)
    rows = [both(x[i : i + 1]) for i in (0, 4)]
    monkeypatch.setattr(scattering, "_CHUNK", ByBackend(2, 2))
    chunked = both(x)
    for k in range(2):
        np.testing.assert_allclose(chunked[k], whole[k], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            np.concatenate([row[k] for row in rows]),
            whole[k][jnp.array([0, 4])],
            rtol=1e-5,
            atol=1e-6,
        )


def test_colours_are_transformed_one_by_one() -> None:
    colour = images(2, 8, 8, 3)
    grey = jax.jit(functools.partial(scattering.scattering, num_angles=2))
    features = jax.jit(scattering.scatter_features((8, 8, 3), num_angles=2))(colour.reshape(2, -1))
    each = [grey(colour[..., k]).reshape(2, -1) for k in range(3)]
    np.testing.assert_allclose(features, np.concatenate(each, axis=1), rtol=1e-5, atol=1e-6)


def test_normalisations_follow_their_definitions() -> None:
    c = images(2, 54, 3, 3)
    flat = np.asarray(c, np.float64)
    np.testing.assert_array_equal(scattering.normalise(c, "none"), flat.reshape(2, -1))
    unit = np.asarray(scattering.normalise(c, "unit"))
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, rtol=1e-5)

    pairs = flat.reshape(2, 27, 2, 9)
    for kind, axes in (("pointwise", (2,)), ("group", (2, 3))):
        mean, variance = pairs.mean(axes, keepdims=True), pairs.var(axes, keepdims=True)
        expected = (pairs - mean) / np.sqrt(variance + 1e-5)
        actual = scattering.normalise(c, kind)
        np.testing.assert_allclose(actual, expected.reshape(2, -1), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", scattering.NORMALISATIONS)
def test_normalised_features_of_a_blank_image_have_finite_gradients(kind: str) -> None:
    c = jnp.zeros((1, 27, 2, 2))
    assert np.all(np.isfinite(jax.grad(lambda c: jnp.sum(scattering.normalise(c, kind)))(c)))


def test_guarantee_a_row_of_features_depends_on_its_own_image_only() -> None:
    x = images(3, 64)
    features = jax.jit(scattering.scatter_features((8, 8, 1), num_angles=1, normalisation="unit"))
    other = x.at[0].set(100.0)
    np.testing.assert_array_equal(features(x)[1:], features(other)[1:])


def test_odd_sides_repeat_their_last_pixels() -> None:
    x = images(2, 9, 12)
    transform = jax.jit(functools.partial(scattering.scattering, num_angles=2))
    even = np.pad(x, ((0, 0), (0, 1), (0, 0)), mode="edge")
    np.testing.assert_array_equal(transform(x), transform(jnp.asarray(even)))
    features = scattering.scatter_features((9, 13, 1), num_angles=1)
    assert jax.eval_shape(features, jnp.zeros((2, 117))).shape == (2, 4 * 2 * 3)


def test_tiny_images_are_refused() -> None:
    with pytest.raises(ValueError, match="sides of at least 4 pixels, got 3 x 8; use fewer"):
        scattering.scatter_features((3, 8, 1))


@pytest.mark.parametrize(
    ("channels", "scales", "angles"), [(1, 2, 8), (3, 2, 8), (2, 2, 4), (3, 2, 4), (1, 1, 4)]
)
def test_has_groups_tells_what_can_be_normalised(channels: int, scales: int, angles: int) -> None:
    paths = channels * scattering.num_paths(scales, angles)
    try:
        scattering.normalise(jnp.ones((1, paths, 1, 1)), "group")
        can_be = True
    except ValueError:
        can_be = False
    assert scattering.has_groups(channels, scales, angles) == can_be


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="num_angles >= 1"):
        scattering.filter_bank(8, 8, 2, 0)
    with pytest.raises(ValueError, match="do not divide into 27 groups"):
        scattering.scatter_features((8, 8, 1), num_angles=2, normalisation="group")
    with pytest.raises(ValueError, match="kind must be one of none, pointwise"):
        scattering.scatter_features((8, 8, 1), normalisation="batch")


def test_kernel_is_the_inner_product_of_features() -> None:
    features = jax.jit(scattering.scatter_features((8, 8, 1), num_angles=2))
    x = images(4, 64)
    phi = np.asarray(features(x), np.float64)
    np.testing.assert_allclose(kernels.from_features(features).symmetric(x), phi @ phi.T, rtol=1e-5)
