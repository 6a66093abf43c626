"""Opponent colours, margins, pooling, mirror symmetry, bounds and shares of feature maps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import map_parts, public_images, scattering


def identity(rows: jax.Array) -> jax.Array:
    return rows


@pytest.fixture(scope="module")
def colour_rows() -> jax.Array:
    return jax.random.uniform(jax.random.key(1), (3, 16 * 16 * 3))


def test_opponent_colours_of_grey_and_of_primaries() -> None:
    pixels = jnp.asarray([[0.5, 0.5, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1]])
    expected = [[0.5, 0, 0, 1 / 3, 0.5, -0.25, 1 / 3, 0, 0.5, 1 / 3, -0.5, -0.25]]
    np.testing.assert_allclose(
        map_parts.with_opponent_colours(identity)(pixels), expected, atol=1e-6
    )


def test_padding_puts_the_image_into_the_middle() -> None:
    rows = jax.random.normal(jax.random.key(0), (2, 2 * 3 * 2))
    larger = map_parts.padded(identity, (2, 3, 2), margins=(1, 2))
    images = np.asarray(larger(rows)).reshape(2, 4, 7, 2)
    np.testing.assert_array_equal(images[:, 1:3, 2:5], rows.reshape(2, 2, 3, 2))
    np.testing.assert_allclose(np.abs(images).sum(), jnp.abs(rows).sum(), rtol=1e-6)
    with pytest.raises(ValueError, match="margins"):
        map_parts.padded(identity, (2, 3, 2), margins=(0, -1))


def test_pooling_is_the_mean_over_windows() -> None:
    maps = np.random.default_rng(0).normal(size=(2, 5, 4, 6)).astype(np.float32)
    expected = [
        [maps[n, m, 2 * i : 2 * i + 2, 3 * j : 3 * j + 3].mean() for m, i, j in np.ndindex(5, 2, 2)]
        for n in range(2)
    ]
    pooled = map_parts.pooled(identity, (4, 6), window=(2, 3))
    np.testing.assert_allclose(pooled(jnp.asarray(maps.reshape(2, -1))), expected, rtol=1e-5)


def test_pooling_needs_windows_that_fit() -> None:
    with pytest.raises(ValueError, match="do not divide"):
        map_parts.pooled(identity, (7, 7))


@pytest.mark.parametrize(("max_scale", "num_angles"), [(2, 5), (3, 4)])
def test_mirror_paths_are_those_of_mirrored_images(max_scale: int, num_angles: int) -> None:
    """Against the transform of a mirrored image, summed over space, where no grid matters."""
    size = 32
    x = public_images.dead_leaves_images(jax.random.key(1), 2, (size, size, 1)).reshape(
        -1, size, size
    )
    x = (x - 0.5) * np.outer(np.hanning(size), np.hanning(size)).astype(np.float32) ** 2

    @jax.jit
    def summed(x: jax.Array) -> jax.Array:
        phi = scattering.scattering(x, max_scale=max_scale, num_angles=num_angles)
        return jnp.sum(phi, axis=(2, 3))

    sums, mirrored = summed(x), summed(x[:, :, ::-1])
    paths = map_parts.mirror_paths(max_scale, num_angles, channels=1)
    assert len(paths) == scattering.num_paths(max_scale, num_angles)
    np.testing.assert_array_equal(paths[paths], np.arange(len(paths)))
    scale = jnp.max(jnp.abs(mirrored), axis=0)
    assert jnp.mean(jnp.abs(sums[:, paths] - mirrored) / scale) < 0.02
    assert jnp.mean(jnp.abs(sums - mirrored) / scale) > 0.1


def test_channels_have_mirror_paths_of_their_own() -> None:
    one, three = (map_parts.mirror_paths(2, 4, channels=channels) for channels in (1, 3))
    np.testing.assert_array_equal(three, np.concatenate([one, one + len(one), one + 2 * len(one)]))


@pytest.mark.parametrize("columns", [4, 5])
def test_symmetrised_features_are_a_projection(columns: int) -> None:
    """Mirrored maps give the same; symmetric ones keep their norm, antisymmetric ones vanish."""
    paths = np.array([0, 2, 1])
    grid = (2, columns)
    symmetric = map_parts.symmetrised(identity, grid, paths)
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
        map_parts.symmetrised(identity, (2, 2), np.array([1, 2, 0]))


def test_the_maps_compose_with_scattering(colour_rows: jax.Array) -> None:
    """Rows are mapped each by itself, and the whole is differentiable."""
    grid = (4, 4)
    phi = scattering.scatter_features((16, 16, 3), num_angles=2, normalisation="none")
    phi = map_parts.pooled(map_parts.with_opponent_colours(phi), grid)
    phi = jax.jit(map_parts.symmetrised(phi, (2, 2), map_parts.mirror_paths(2, 2, channels=3)))
    together = phi(colour_rows)
    assert together.shape == (3, 3 * scattering.num_paths(2, 2) * 2 * 1)
    others = jnp.zeros_like(colour_rows).at[1].set(colour_rows[1])
    np.testing.assert_allclose(phi(others)[1], together[1], atol=1e-6)
    grads = jax.jit(jax.grad(lambda rows: jnp.sum(phi(rows) ** 2)))(colour_rows)
    assert np.all(np.isfinite(grads))
    assert np.any(grads != 0)


def test_kernel_of_joined_maps_is_the_weighted_mean_of_theirs(colour_rows: jax.Array) -> None:
    parts = [(identity, 0.75), (lambda rows: rows[:, :5] ** 2, 0.25)]
    phi = np.asarray(map_parts.joined(parts)(colour_rows), np.float64)
    one, other = (np.asarray(part(colour_rows), np.float64) for part, _ in parts)
    np.testing.assert_allclose(phi @ phi.T, 0.75 * one @ one.T + 0.25 * other @ other.T, rtol=1e-5)


@pytest.mark.parametrize("shares", [[], [0.5], [0.5, 0.6], [1.5, -0.5], [1.0, 0.0]])
def test_shares_of_joined_maps_are_parts_of_one(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="shares"):
        map_parts.joined([(identity, share) for share in shares])


def test_bounded_features_keep_their_direction_and_what_is_short() -> None:
    rows = jnp.asarray([[3e-4, 4e-4], [3.0, 4.0], [3e4, 4e4]])
    phi = np.asarray(map_parts.bounded(identity)(rows), np.float64)
    assert phi[:, 1] / phi[:, 0] == pytest.approx(4 / 3)
    norms = np.sqrt(np.sum(phi**2, axis=1))
    assert norms == pytest.approx([5e-4, 5 / np.sqrt(26), 1], rel=1e-5)
