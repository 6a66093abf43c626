"""Features of patches: against loops over patches, and what mirror images share."""

import functools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import patches
from jaxdp.numerics import ByBackend

SIDE = patches.SIDE


@pytest.fixture(scope="module", autouse=True)
def few_images() -> Iterator[None]:
    """Take words from few images: drawing them is nearly all that a dictionary takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patches, "_NUM_IMAGES", 60)
        yield


@functools.cache
def filters_of(channels: int, num_words: int = 8) -> np.ndarray:
    return patches.dictionary(jax.random.key(3), num_words, channels)


def rows_of(count: int, shape: tuple[int, int, int]) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(size=(count, int(np.prod(shape)))).astype(np.float32)


def naive_features(row: np.ndarray, shape: tuple[int, int, int], filters: np.ndarray) -> np.ndarray:
    """Return `(2, 2, 2, k)` means over quarters of the places, for sides that have whole halves."""
    image = row.reshape(shape).astype(np.float64)
    down, across = shape[0] - SIDE + 1, shape[1] - SIDE + 1
    found = np.zeros((2, 2, 2, filters.shape[3]))
    for i in range(down):
        for j in range(across):
            patch = image[i : i + SIDE, j : j + SIDE].reshape(-1)
            patch = (patch - patch.mean()) / np.sqrt(patch.var() + 0.01)
            looks = patch @ filters.reshape(len(patch), -1)
            where = 2 * i // down, 2 * j // across
            found[0][where] += np.maximum(looks - 0.5, 0)
            found[1][where] += np.maximum(-looks - 0.5, 0)
    return found / (down * across / 4)


@pytest.mark.parametrize("shape", [(11, 13, 1), (13, 11, 3), (7, 9, 4)])
def test_features_are_those_of_loops_over_patches(shape: tuple[int, int, int]) -> None:
    filters = filters_of(shape[2])
    rows = rows_of(2, shape)
    found = jax.jit(patches.patch_features(shape, filters, mirror=False))(jnp.asarray(rows))
    expected = np.stack([naive_features(row, shape, filters).reshape(-1) for row in rows])
    assert np.ptp(expected, axis=1).min() > 0.1
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert found.shape[1] == patches.num_features(shape, 8, mirror=False)


def test_with_mirror_an_image_and_its_mirror_image_have_the_same_features() -> None:
    shape = (13, 12, 3)
    filters = filters_of(3)
    image = rows_of(1, shape).reshape(shape)
    both = jnp.asarray(np.stack([image, image[:, ::-1]]).reshape(2, -1))
    symmetric = jax.jit(patches.patch_features(shape, filters, mirror=True))(both)
    np.testing.assert_allclose(symmetric[0], symmetric[1], atol=2e-5)
    assert symmetric.shape[1] == patches.num_features(shape, 8, mirror=True)
    every = np.asarray(jax.jit(patches.patch_features(shape, filters, mirror=False))(both))
    assert np.abs(every[0] - every[1]).max() > 0.01
    # Words and their mirror images in mirrored places.
    grid = every[0].reshape(2, 2, 2, 8)
    expected = grid[..., :4] + grid[:, :, ::-1, 4:]
    np.testing.assert_allclose(symmetric[0], expected.reshape(-1), atol=2e-5)


def test_many_images_are_taken_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = (8, 7, 3)
    features = patches.patch_features(shape, filters_of(3), mirror=True)
    rows = jnp.asarray(rows_of(5, shape))

    def both(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        slope = jax.grad(lambda x: jnp.sum(features(x) ** 2))
        return jax.jit(lambda x: (features(x), slope(x)))(x)  # compiled anew by each call

    at_once = both(rows)
    monkeypatch.setattr(patches, "_CHUNK", ByBackend(cpu=2, accelerator=2))
    assert "scan" not in str(jax.make_jaxpr(features)(rows[:2]))
    assert "scan" in str(jax.make_jaxpr(features)(rows))
    for found, expected in zip(both(rows), at_once, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_images_of_one_value_have_no_features() -> None:
    features = jax.jit(patches.patch_features((9, 9, 1), filters_of(1), mirror=False))
    rows = np.tile(np.array([[0.0], [0.3], [1.0]], np.float32), (1, 81))
    np.testing.assert_array_equal(features(rows), 0.0)


def test_a_dictionary_is_the_same_every_time_and_holds_mirror_images() -> None:
    filters = filters_of(3)
    np.testing.assert_array_equal(filters, patches.dictionary(jax.random.key(3), 8, 3))
    assert filters.shape == (SIDE, SIDE, 3, 8)
    np.testing.assert_array_equal(filters[..., 4:], filters[:, ::-1, :, :4])
    other = patches.dictionary(jax.random.key(4), 8, 3)
    assert np.abs(other - filters).max() > 0.1


def test_the_least_images_have_one_region() -> None:
    shape = (SIDE, SIDE, 1)
    rows = rows_of(1, shape)
    features = patches.patch_features(shape, filters_of(1), mirror=False)
    found = jax.eval_shape(features, jnp.asarray(rows))
    assert found.shape == (1, 2 * 8) == (1, patches.num_features(shape, 8, mirror=False))


@pytest.mark.parametrize(
    ("shape", "num_words", "message"),
    [
        ((5, 9, 1), 8, "at least 6 pixels, got 5 x 9"),
        ((9, 9, 1), 7, "an even number from 2 to 1024, got 7"),
        ((9, 9, 1), 0, "got 0"),
        ((9, 9, 1), 1026, "got 1026"),
    ],
)
def test_other_images_and_numbers_are_refused(
    shape: tuple[int, int, int], num_words: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        patches.require(shape, num_words)


def test_filters_that_do_not_mirror_each_other_are_refused() -> None:
    filters = filters_of(3).copy()
    filters[0, 0, 0, -1] += 1
    with pytest.raises(ValueError, match="the second half of the filters must mirror the first"):
        patches.patch_features((9, 9, 3), filters, mirror=False)


def test_filters_of_other_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="filters are of 3 channels, and images have 1"):
        patches.patch_features((9, 9, 1), filters_of(3), mirror=False)
