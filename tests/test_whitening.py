"""Public feature maps: spectra of synthetic images, pooling, mirror symmetry, whitening."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import scatter, whitening


def identity(rows: jax.Array) -> jax.Array:
    return rows


@pytest.fixture(scope="module")
def colour_rows() -> jax.Array:
    return jax.random.uniform(jax.random.key(1), (3, 16 * 16 * 3))


@pytest.mark.parametrize("model", [whitening.noise_images, whitening.dead_leaves_images])
def test_synthetic_images_are_images_and_repeatable(model: Callable[..., jax.Array]) -> None:
    shape = (6, 8, 3)
    images = model(jax.random.key(0), 50, shape)
    assert images.shape == (50, 6 * 8 * 3)
    assert images.dtype == jnp.float32
    assert float(images.min()) >= 0
    assert float(images.max()) <= 1
    np.testing.assert_array_equal(images, model(jax.random.key(0), 50, shape))
    assert len(np.unique(images, axis=0)) == 50


def test_one_leaf_is_a_disc() -> None:
    images = whitening.dead_leaves_images(
        jax.random.key(0), 100, (16, 16, 1), num_leaves=1, radii=(3.0, 3.0)
    )
    covered = [256 - np.unique(row, return_counts=True)[1].max() for row in np.asarray(images)]
    # A disc of radius 3 whose centre is within the image, and half a pixel of soft edge.
    assert np.pi * 3**2 < max(covered) < np.pi * 3.8**2


def test_leaves_have_edges_where_noise_has_none() -> None:
    """Differences of neighbours are mostly none, and sometimes large."""

    def kurtosis(model: Callable[..., jax.Array]) -> float:
        images = model(jax.random.key(0), 200, (32, 32, 1)).reshape(-1, 32, 32)
        difference = np.diff(images, axis=2).ravel()
        return float(np.mean(difference**4) / np.mean(difference**2) ** 2)

    assert kurtosis(whitening.dead_leaves_images) > 2 * kurtosis(whitening.noise_images)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_spectra_of_noise_images_fall_off_as_asked(exponent: float) -> None:
    size = 64
    images = whitening.noise_images(
        jax.random.key(0), 200, (size, size, 1), exponent=exponent, contrast=0.02
    ).reshape(-1, size, size)
    window = np.outer(np.hanning(size), np.hanning(size))
    power = np.mean(np.abs(np.fft.fft2((images - 0.5) * window)) ** 2, axis=0)
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.fftfreq(size)[None, :])
    middle = (frequency > 0.06) & (frequency < 0.4)
    slope = np.polyfit(np.log(frequency[middle]), np.log(power[middle]), 1)[0]
    assert abs(slope + 2 * exponent) < 0.15


def test_noise_has_the_contrast_and_the_colours_asked_for() -> None:
    images = whitening.noise_images(jax.random.key(0), 500, (16, 16, 3), contrast=0.05)
    pixels = np.asarray(images).reshape(-1, 3) - 0.5
    luminance = pixels.mean(axis=1)
    red_blue, green = (pixels[:, 0] - pixels[:, 2]) / 2, pixels[:, 1] - luminance
    for channel, expected in ((luminance, 1.0), (red_blue, 0.35), (green, 4 / 3 * 0.2)):
        assert abs(np.std(channel) / (0.05 * expected) - 1) < 0.02
    assert np.abs(np.corrcoef([luminance, red_blue, green]) - np.eye(3)).max() < 0.1


@pytest.mark.parametrize("model", [whitening.noise_images, whitening.dead_leaves_images])
@pytest.mark.parametrize(
    ("num", "shape", "match"), [(0, (8, 8, 1), "num_images"), (1, (8, 8, 2), "channels")]
)
def test_impossible_images_are_refused(
    model: Callable[..., jax.Array], num: int, shape: tuple, match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        model(jax.random.key(0), num, shape)


@pytest.mark.parametrize(
    "changes", [{"num_leaves": 0}, {"radii": (0.0, 1.0)}, {"radii": (3.0, 2.0)}]
)
def test_impossible_leaves_are_refused(changes: dict) -> None:
    with pytest.raises(ValueError, match="num_leaves"):
        whitening.dead_leaves_images(jax.random.key(0), 1, (8, 8, 1), **changes)


def test_opponent_colours_of_grey_and_of_primaries() -> None:
    pixels = jnp.asarray([[0.5, 0.5, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1]])
    expected = [[0.5, 0, 0, 1 / 3, 0.5, -0.25, 1 / 3, 0, 0.5, 1 / 3, -0.5, -0.25]]
    np.testing.assert_allclose(
        whitening.with_opponent_colours(identity)(pixels), expected, atol=1e-6
    )


def test_padding_puts_the_image_into_the_middle() -> None:
    rows = jax.random.normal(jax.random.key(0), (2, 2 * 3 * 2))
    larger = whitening.padded(identity, (2, 3, 2), margins=(1, 2))
    images = np.asarray(larger(rows)).reshape(2, 4, 7, 2)
    np.testing.assert_array_equal(images[:, 1:3, 2:5], rows.reshape(2, 2, 3, 2))
    np.testing.assert_allclose(np.abs(images).sum(), jnp.abs(rows).sum(), rtol=1e-6)
    with pytest.raises(ValueError, match="margins"):
        whitening.padded(identity, (2, 3, 2), margins=(0, -1))


def test_pooling_is_the_mean_over_windows() -> None:
    maps = np.random.default_rng(0).normal(size=(2, 5, 4, 6)).astype(np.float32)
    expected = [
        [maps[n, m, 2 * i : 2 * i + 2, 3 * j : 3 * j + 3].mean() for m, i, j in np.ndindex(5, 2, 2)]
        for n in range(2)
    ]
    pooled = whitening.pooled(identity, (4, 6), window=(2, 3))
    np.testing.assert_allclose(pooled(jnp.asarray(maps.reshape(2, -1))), expected, rtol=1e-5)


def test_pooling_needs_windows_that_fit() -> None:
    with pytest.raises(ValueError, match="do not divide"):
        whitening.pooled(identity, (7, 7))


@pytest.mark.parametrize(("max_scale", "num_angles"), [(2, 5), (3, 4)])
def test_mirror_paths_are_those_of_mirrored_images(max_scale: int, num_angles: int) -> None:
    """Against the transform of a mirrored image, summed over space, where no grid matters."""
    size = 32
    x = whitening.noise_images(jax.random.key(0), 2, (size, size, 1)).reshape(-1, size, size)
    x = (x - 0.5) * np.outer(np.hanning(size), np.hanning(size)).astype(np.float32) ** 2

    @jax.jit
    def summed(x: jax.Array) -> jax.Array:
        phi = scatter.scattering(x, max_scale=max_scale, num_angles=num_angles)
        return jnp.sum(phi, axis=(2, 3))

    sums, mirrored = summed(x), summed(x[:, :, ::-1])
    paths = whitening.mirror_paths(max_scale, num_angles, channels=1)
    assert len(paths) == scatter.num_paths(max_scale, num_angles)
    np.testing.assert_array_equal(paths[paths], np.arange(len(paths)))
    scale = jnp.max(jnp.abs(mirrored), axis=0)
    assert jnp.max(jnp.abs(sums[:, paths] - mirrored) / scale) < 0.1
    assert jnp.max(jnp.abs(sums - mirrored) / scale) > 0.15


def test_channels_have_mirror_paths_of_their_own() -> None:
    one, three = (whitening.mirror_paths(2, 4, channels=channels) for channels in (1, 3))
    np.testing.assert_array_equal(three, np.concatenate([one, one + len(one), one + 2 * len(one)]))


@pytest.mark.parametrize("columns", [4, 5])
def test_symmetrised_features_are_a_projection(columns: int) -> None:
    """Mirrored maps give the same; symmetric ones keep their norm, antisymmetric ones vanish."""
    paths = np.array([0, 2, 1])
    grid = (2, columns)
    symmetric = whitening.symmetrised(identity, grid, paths)
    maps = jax.random.normal(jax.random.key(0), (6, 3, *grid))
    mirrored = maps[:, paths, :, ::-1]

    def of(z: jax.Array) -> jax.Array:
        return symmetric(z.reshape(len(z), -1))

    assert of(maps).shape == (6, 3 * 2 * ((columns + 1) // 2))
    np.testing.assert_allclose(of(maps), of(mirrored), atol=1e-6)
    np.testing.assert_allclose(of(maps - mirrored), 0, atol=1e-6)
    norms = jnp.linalg.norm((maps + mirrored).reshape(6, -1), axis=1)
    np.testing.assert_allclose(jnp.linalg.norm(of(maps + mirrored), axis=1), norms, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(of)(maps), of(maps), atol=1e-6)


def test_symmetrised_needs_an_involution() -> None:
    with pytest.raises(ValueError, match="twice"):
        whitening.symmetrised(identity, (2, 2), np.array([1, 2, 0]))


def test_second_moment_is_chunked() -> None:
    images = jax.random.normal(jax.random.key(0), (23, 5))
    expected = np.asarray(images.T @ images) / 23
    for chunk_size in (4, 23, 100):
        moment = whitening.second_moment(identity, images, chunk_size=chunk_size)
        np.testing.assert_allclose(moment, expected, rtol=1e-4, atol=1e-5)


def test_whitening_is_the_inverse_root() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    moment = root @ root.T
    gamma = 0.3
    w = np.asarray(whitening.whitening(jnp.asarray(moment, jnp.float32), gamma=gamma), np.float64)
    ridge = moment + gamma * np.trace(moment) / 6 * np.eye(6)
    np.testing.assert_allclose(w @ ridge @ w, np.eye(6), atol=1e-4)
    np.testing.assert_allclose(w, w.T, atol=1e-6)


def test_whitened_features_have_unit_second_moment() -> None:
    mix = jax.random.normal(jax.random.key(1), (4, 4))
    images = jax.random.normal(jax.random.key(0), (500, 4)) @ mix
    moment = whitening.second_moment(identity, images)
    white = whitening.transformed(identity, whitening.whitening(moment, gamma=1e-6))
    np.testing.assert_allclose(whitening.second_moment(white, images), np.eye(4), atol=1e-3)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf])
def test_whitening_needs_a_positive_gamma(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma"):
        whitening.whitening(jnp.eye(3), gamma=gamma)


def test_whitening_needs_a_moment() -> None:
    with pytest.raises(ValueError, match="second moment"):
        whitening.whitening(jnp.zeros((3, 3)), gamma=0.1)


@pytest.mark.parametrize(("num", "chunk_size"), [(0, 5), (4, 0)])
def test_second_moment_needs_images_and_chunks(num: int, chunk_size: int) -> None:
    with pytest.raises(ValueError, match="chunk_size"):
        whitening.second_moment(identity, jnp.zeros((num, 3)), chunk_size=chunk_size)


def test_the_maps_compose_with_scattering(colour_rows: jax.Array) -> None:
    """Rows are mapped each by itself, and the whole is differentiable."""
    grid = (4, 4)
    phi = scatter.scatter_features((16, 16, 3), num_angles=2, normalisation="none")
    phi = whitening.pooled(whitening.with_opponent_colours(phi), grid)
    phi = jax.jit(whitening.symmetrised(phi, (2, 2), whitening.mirror_paths(2, 2, channels=3)))
    together = phi(colour_rows)
    assert together.shape == (3, 3 * scatter.num_paths(2, 2) * 2 * 1)
    others = jnp.zeros_like(colour_rows).at[1].set(colour_rows[1])
    np.testing.assert_allclose(phi(others)[1], together[1], atol=1e-6)
    grads = jax.jit(jax.grad(lambda rows: jnp.sum(phi(rows) ** 2)))(colour_rows)
    assert np.all(np.isfinite(grads))
    assert np.any(grads != 0)
