"""Features of neighbourhoods of patches: against loops over them, and what mirror images share."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import patches, second_layer
from jaxdp.features.levels import averaging
from jaxdp.features.second_layer import Layer, Words
from jaxdp.methods.teacher import schedule

KEY = jax.random.key(4)
WORDS, PATCHES, GAMMA = 12, 8, 0.3


@pytest.fixture(scope="module", autouse=True)
def few_images() -> Iterator[None]:
    """Take words from few images: drawing them is nearly all that a layer takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patches, "_NUM_IMAGES", 60)
        patch.setattr(second_layer, "_NUM_IMAGES", 40)
        patch.setattr(second_layer, "_CELL_IMAGES", 20)
        yield


@functools.cache
def filters_of(channels: int) -> np.ndarray:
    return patches.dictionary(jax.random.key(3), PATCHES, channels)


@functools.cache
def layer_of(channels: int, *, mirror: bool) -> Layer:
    return second_layer.fitted(KEY, filters_of(channels), WORDS, mirror=mirror)


def rows_of(count: int, shape: tuple[int, int, int]) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(size=(count, int(np.prod(shape)))).astype(np.float32)


def features_of(shape: tuple[int, int, int], *, mirror: bool) -> Any:
    """Return the jitted map of a shape."""
    layer = layer_of(shape[2], mirror=mirror)
    filters = filters_of(shape[2])
    return jax.jit(second_layer.layer_features(shape, filters, layer, gamma=GAMMA, mirror=mirror))


def white(regions: np.ndarray, layer: Layer) -> np.ndarray:
    """Return the features of (regions, 2m) of a row."""
    variances = layer.variances.astype(np.float64)
    scales = 2 * np.sqrt(variances + GAMMA * variances.mean())
    return ((regions.reshape(-1, WORDS) - layer.mean) @ layer.leading / scales).reshape(-1)


def plain_words(chosen: Words) -> np.ndarray:
    """The words as arrays (row, column, direction, m), out of coordinates of the mirror."""
    r, even, m = chosen.directions.shape[1], chosen.num_even, chosen.words.shape[1]
    odd = r - even
    halves = chosen.words.astype(np.float64)
    split = 3 * (r + even)  # a row of the first half: even, odd, and even ones of the middle
    first = halves[:split].reshape(3, r + even, m)
    second = halves[split:].reshape(3, r + odd, m)
    words = np.zeros((3, 3, r, m))
    for row in range(3):
        total = np.concatenate([first[row, :even], second[row, even:r]])
        difference = np.concatenate([second[row, :even], first[row, even:r]])
        words[row, 0], words[row, 2] = (total + difference, total - difference)
        words[row, 1] = np.sqrt(2) * np.concatenate([first[row, r:], second[row, r:]])
    return words / np.sqrt(2)


def naive_regions(row: np.ndarray, shape: tuple[int, int, int], chosen: Words) -> np.ndarray:
    """Return (2, 2, 2 m) means of what the words find in quarters, of both signs."""
    found = patches.strengths(shape, filters_of(shape[2]))(jnp.asarray(row[None]))
    high, wide = (averaging(side - 5, round((side - 5) / 3)) for side in shape[:2])
    cells = np.concatenate(
        [
            np.einsum("ia,abk,jb->ijk", high, np.asarray(half)[0], wide)
            for half in jax.tree.leaves(found)
        ],
        axis=-1,
    )
    z = (cells - chosen.centre) @ chosen.directions
    words = plain_words(chosen)
    down, across = len(z) - 2, z.shape[1] - 2
    looks = np.zeros((down, across, words.shape[-1]))
    for i in range(down):
        for j in range(across):
            window = z[i : i + 3, j : j + 3]
            q = window / np.sqrt(np.mean(window**2) + 0.01)
            looks[i, j] = np.einsum("abr,abrm->m", q, words)
    both = np.concatenate([np.maximum(sign * looks - 0.75, 0) for sign in (1, -1)], axis=-1)
    return np.einsum("ia,abk,jb->ijk", averaging(down, 2), both, averaging(across, 2))


@pytest.mark.parametrize("shape", [(16, 19, 1), (24, 16, 3)])
def test_features_are_those_of_loops_over_neighbourhoods(shape: tuple[int, int, int]) -> None:
    rows = rows_of(2, shape)
    layer = layer_of(shape[2], mirror=False)
    found = np.asarray(features_of(shape, mirror=False)(rows))
    below = patches.num_features(shape, PATCHES, mirror=False)
    plain = jax.jit(patches.patch_features(shape, filters_of(shape[2]), mirror=False))(rows)
    np.testing.assert_array_equal(found[:, :below], plain)
    for row, above in zip(rows, found[:, below:], strict=True):
        turned = row.reshape(shape)[:, ::-1].reshape(-1)
        regions = naive_regions(row, shape, layer.words)
        mirrored = naive_regions(turned, shape, layer.words)
        # The image's regions, then those of its mirror image.
        expected = white(np.concatenate([regions, mirrored]), layer)
        assert np.ptp(expected) > 0.1
        np.testing.assert_allclose(above, expected, atol=1e-4)
    assert found.shape[1] == below + second_layer.num_features(WORDS, mirror=False)


def test_with_mirror_an_image_and_its_mirror_image_have_the_same_features() -> None:
    shape = (18, 21, 3)
    image = rows_of(1, shape).reshape(shape)
    both = np.stack([image, image[:, ::-1]]).reshape(2, -1)
    found = np.asarray(features_of(shape, mirror=True)(both))
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)
    below = patches.num_features(shape, PATCHES, mirror=True)
    assert found.shape[1] == below + second_layer.num_features(WORDS, mirror=True)
    layer = layer_of(3, mirror=True)
    plain, turned = (naive_regions(row, shape, layer.words) for row in both)
    np.testing.assert_allclose(found[0, below:], white(plain + turned, layer), atol=1e-4)
    every = np.asarray(features_of(shape, mirror=False)(both))
    assert np.abs(every[0] - every[1]).max() > 0.01


@pytest.mark.parametrize("mirror", [False, True])
def test_guarantee_a_row_has_the_same_features_whatever_others_are_beside_it(
    mirror: bool,
) -> None:
    shape = (16, 17, 3)
    rows = rows_of(20, shape)
    features = features_of(shape, mirror=mirror)
    alone = np.concatenate([np.asarray(features(rows[place : place + 1])) for place in range(6)])
    assert 6 <= patches._CHUNK.here < len(rows)  # seen at once, and in several chunks
    for count in (6, len(rows)):
        np.testing.assert_allclose(np.asarray(features(rows[:count]))[:6], alone, atol=1e-4)


def test_a_layer_is_the_same_every_time_and_is_kept_as_one_array() -> None:
    layer = layer_of(3, mirror=True)
    again = second_layer.fitted(KEY, filters_of(3), WORDS, mirror=True)
    kept = second_layer.unpacked(second_layer.packed(again), PATCHES, WORDS, mirror=True)
    for found, expected in zip(jax.tree.leaves(kept), jax.tree.leaves(layer), strict=True):
        np.testing.assert_array_equal(found, expected)
    other = second_layer.fitted(jax.random.key(5), filters_of(3), WORDS, mirror=True)
    assert np.abs(other.words.words - layer.words.words).max() > 0.1
    with pytest.raises(ValueError, match=r"a second layer has \d+ numbers, got 7"):
        second_layer.unpacked(np.zeros(7, np.float32), PATCHES, WORDS, mirror=True)


def test_directions_are_even_or_odd_and_words_have_norm_1() -> None:
    chosen = layer_of(3, mirror=True).words
    half = PATCHES // 2
    mirrored = chosen.directions.reshape(2, 2, half, -1)[:, ::-1].reshape(2 * PATCHES, -1)
    signs = np.where(np.arange(mirrored.shape[1]) < chosen.num_even, 1.0, -1.0)
    np.testing.assert_allclose(mirrored, chosen.directions * signs, atol=1e-5)
    assert 0 < chosen.num_even < mirrored.shape[1]
    np.testing.assert_allclose(np.linalg.norm(chosen.words, axis=0), 1, atol=1e-5)


def test_public_images_have_white_features_of_mean_0() -> None:
    shape = (32, 32, 3)
    layer = layer_of(3, mirror=True)
    images = second_layer.dead_leaves_images(KEY, 40, shape)
    below = patches.num_features(shape, PATCHES, mirror=True)
    above = np.asarray(features_of(shape, mirror=True)(images))[:, below:]
    regions = above.reshape(40 * 4, -1)
    np.testing.assert_allclose(regions.mean(axis=0), 0, atol=1e-3)
    expected = layer.variances / (layer.variances + GAMMA * layer.variances.mean()) / 4
    np.testing.assert_allclose(regions.T @ regions / len(regions), np.diag(expected), atol=1e-3)
    assert expected[0] > 0.2


def test_leading_directions_hold_nearly_all_that_any_as_many_do() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((400, 30)) * 0.7 ** np.arange(30)
    leading, variances = second_layer._leading(samples.astype(np.float32), 6, rng)
    values, vectors = np.linalg.eigh(samples.T @ samples / len(samples))
    np.testing.assert_allclose(variances, values[::-1][:6], rtol=0.01)
    np.testing.assert_allclose(leading.T @ leading, np.eye(6), atol=1e-5)
    assert np.abs(np.sum(leading[:, :3] * vectors[:, ::-1][:, :3], axis=0)).min() > 0.99


@pytest.mark.parametrize("mirror", [False, True])
def test_features_are_counted_without_jax(mirror: bool) -> None:
    for words in (2, 12, 300, 512, 4096):
        counted = schedule.features_of_second_layer(words, mirror=mirror)
        assert counted == second_layer.num_features(words, mirror=mirror)


@pytest.mark.parametrize(
    ("shape", "num_words", "message"),
    [
        ((15, 20, 1), 8, "at least 16 pixels, got 15 x 20"),
        ((16, 16, 1), 7, "an even number from 2 to 8192, got 7"),
        ((16, 16, 1), 0, "got 0"),
        ((16, 16, 1), 8194, "got 8194"),
    ],
)
def test_other_images_and_numbers_are_refused(
    shape: tuple[int, int, int], num_words: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        second_layer.require(shape, num_words)
    if num_words == 8:
        layer = layer_of(1, mirror=False)
        with pytest.raises(ValueError, match=message):
            second_layer.layer_features(shape, filters_of(1), layer, gamma=GAMMA, mirror=False)
