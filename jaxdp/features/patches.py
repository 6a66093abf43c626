"""How strongly the patches of an image look like those of a public dictionary.

    q = (p - mean(p)) / sqrt(var(p) + floor)       a patch by itself
    a_k = <d_k, Z q>                               d_k of norm 1, Z whitens patches of dead leaves
    f = mean over a region of max(0, a - t) and of max(0, -a - t)

The words of the dictionary are random patches of synthetic images (`jaxdp.features.public_images`),
and the same mirrored. Features are added over a word and its mirror image in mirrored
places where only what mirror images share is wanted.

A word and its mirror image are compared with a patch by one product: with `e` what sums of its
left and right columns tell, and `o` what differences do, they find `e + o` and `e - o`.

Privacy in plain words: words and whitening come from synthetic images, so no private data are used,
and an image's features are of that image alone.

References:
    Coates, Ng & Lee (2011), "An analysis of single-layer networks in unsupervised feature learning"
        (whitened patches, pooling over parts of an image).
    Coates & Ng (2011), "The importance of encoding versus training with sparse coding and vector
        quantization" (random patches as words, soft thresholds).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp.features.levels import region_means
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.public_images import dead_leaves_images
from jaxdp.features.whitening import whitening
from jaxdp.numerics import ByBackend, map_rows
from jaxdp.rows import require_rows

SIDE = 6
"""Pixels of a side of a patch."""
_REGIONS = 2  # along a side of an image
_THRESHOLD = 0.5
_GAMMA = 0.1  # of the whitening of patches
_VARIANCE_FLOOR = 0.01  # of pixels in [0, 1]
# Of the synthetic images that words and whitening come from.
_NUM_IMAGES, _PATCHES_OF_AN_IMAGE = 2000, 50
_LEAST_DEVIATION = 0.05  # of a word: flat patches say nothing
# Whitening as many features takes minutes; a stored file cannot ask for more.
_MOST_WORDS = 1024
# Images at once: what every word makes of every patch of few images stays in a CPU's cache.
_CHUNK = ByBackend(cpu=8, accelerator=256)

Shape = tuple[int, int, int]
Half = Float[Array, "n a b v"]


class Strengths(NamedTuple):
    """How strongly every place looks like the first half of the words, and their mirror images.

    Attributes:
        like: words, then mirrored ones, both (n, a, b, k / 2).
        unlike: the same of their opposites.
    """

    like: tuple[Half, Half]
    unlike: tuple[Half, Half]


def dictionary(key: Key[Array, ""], num_words: int, channels: int) -> Float[np.ndarray, "s s ch k"]:
    """Return filters `Z d_k` of random patches of dead leaves, then the same mirrored.

    Args:
        key: public and fixed, so that the words are the same in every run.
        num_words: k, even: a half is mirrored.
        channels: 1, 3 or 4.

    Raises:
        ValueError: see `require`.
    """
    require((SIDE, SIDE, channels), num_words)
    patches = _public_patches(key, channels)
    flat = patches.reshape(len(patches), -1)
    normal = _normalised(flat)
    z = np.asarray(whitening(jnp.asarray(normal.T @ normal / len(normal)), gamma=_GAMMA))
    busy = np.flatnonzero(flat.std(axis=1) > _LEAST_DEVIATION)[: num_words // 2]
    words = normal[busy] @ z
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    filters = (z @ words.T).reshape(SIDE, SIDE, channels, -1).astype(np.float32)
    return np.concatenate([filters, filters[:, ::-1]], axis=3)


def _public_patches(key: Array, channels: int) -> np.ndarray:
    """Return patches at random places of dead leaves, those of an image far from each other."""
    size = 32
    images = np.asarray(dead_leaves_images(key, _NUM_IMAGES, (size, size, channels)))
    images = images.reshape(-1, size, size, channels)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    shape = (_PATCHES_OF_AN_IMAGE, _NUM_IMAGES)
    rows, columns = (rng.integers(0, size - SIDE + 1, shape).reshape(-1, 1, 1) for _ in range(2))
    which = np.broadcast_to(np.arange(_NUM_IMAGES), shape).reshape(-1, 1, 1)
    steps = np.arange(SIDE)
    return images[which, rows + steps[:, None], columns + steps]


def _normalised(flat: np.ndarray) -> np.ndarray:
    centred = flat - flat.mean(axis=1, keepdims=True)
    return centred / np.sqrt(centred.var(axis=1, keepdims=True) + _VARIANCE_FLOOR)


def require(image_shape: Shape, num_words: int) -> None:
    """Raise a `ValueError` unless images have patches, and a dictionary can have so many words."""
    height, width, _ = image_shape
    if min(height, width) < SIDE:
        raise ValueError(f"images need sides of at least {SIDE} pixels, got {height} x {width}")
    if num_words < 2 or num_words % 2 or num_words > _MOST_WORDS:
        raise ValueError(f"words must be an even number from 2 to {_MOST_WORDS}, got {num_words}")


def num_features(image_shape: Shape, num_words: int, *, mirror: bool) -> int:
    """Return how many features `patch_features` has."""
    rows, columns = _regions(image_shape)
    return 2 * rows * columns * num_words // (2 if mirror else 1)


def _regions(image_shape: Shape) -> tuple[int, int]:
    """Return how many parts of an image patches are pooled over, along both sides."""
    height, width, _ = image_shape
    return min(_REGIONS, height - SIDE + 1), min(_REGIONS, width - SIDE + 1)


def patch_features(
    image_shape: Shape, filters: Float[np.ndarray, "s s ch k"], *, mirror: bool
) -> FeatureFn:
    """Return features of rows of images in [0, 1].

    Args:
        image_shape: (h, w, channels); no side below `SIDE` pixels.
        filters: of `dictionary`.
        mirror: whether to keep only what an image and its mirror image share, which is half of the
            features.

    Raises:
        ValueError: a side is too short, or filters are of another number of channels; from the
            map, rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    found = strengths(image_shape, filters)
    return in_chunks(lambda rows: pooled(found(rows), mirror=mirror))


def strengths(
    image_shape: Shape, filters: Float[np.ndarray, "s s ch k"]
) -> Callable[[Float[Array, "n d"]], Strengths]:
    """Return how strongly every place of rows of images looks like words, and like their opposites.

    Args:
        image_shape: (h, w, channels); no side below `SIDE` pixels.
        filters: of `dictionary`.

    Raises:
        ValueError: a side is too short, filters are of another number of channels, or their second
            half does not mirror the first; from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    channels, num_words = filters.shape[2:]
    require(image_shape, num_words)
    if channels != image_shape[2]:
        raise ValueError(f"filters are of {channels} channels, and images have {image_shape[2]}")
    words, mirrored = np.split(filters, 2, axis=3)
    if not np.array_equal(mirrored, words[:, ::-1]):
        raise ValueError("the second half of the filters must mirror the first")
    # Of words without their means, those of patches do not matter.
    even_words, odd_words = _halves_of_words(words - words.mean(axis=(0, 1, 2), keepdims=True))

    def found(rows: Float[Array, "n d"]) -> Strengths:
        require_rows(rows, math.prod(image_shape))
        even, odd = _halves(rows.reshape(-1, *image_shape))
        values = SIDE**2 * channels
        mean = np.sqrt(2) / values * jnp.sum(even, axis=-1, keepdims=True)
        squares = sum(jnp.sum(each**2, axis=-1, keepdims=True) for each in (even, odd))
        variance = jnp.maximum(squares / values - mean**2, 0)
        scale = jax.lax.rsqrt(variance + _VARIANCE_FLOOR)
        by_even = jnp.matmul(even * scale, even_words, precision="highest")
        by_odd = jnp.matmul(odd * scale, odd_words, precision="highest")
        looks = (by_even + by_odd, by_even - by_odd)
        like, unlike = ((_above(sign * looks[0]), _above(sign * looks[1])) for sign in (1, -1))
        return Strengths(like, unlike)

    return found


def _above(looks: Half) -> Half:
    return jnp.maximum(looks - _THRESHOLD, 0)


def _halves_of_words(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return words (s, s, ch, h) in the coordinates of `_halves`, (s s ch / 2, h) each."""
    left, right = words[:, : SIDE // 2], words[:, : SIDE // 2 - 1 : -1]
    root = np.float32(np.sqrt(0.5))
    size = words.shape[-1]
    even, odd = (root * half.reshape(-1, size) for half in (left + right, left - right))
    return even, odd


def _halves(images: Float[Array, "n h w ch"]) -> tuple[Half, Half]:
    """Return the patch at every place, as sums and as differences of its left and right columns."""
    down, across = (side - SIDE + 1 for side in images.shape[1:3])
    columns = [images[:, :, start : start + across] for start in range(SIDE)]
    root = np.float32(np.sqrt(0.5))
    pairs = [(columns[at], columns[SIDE - 1 - at]) for at in range(SIDE // 2)]
    sums = jnp.concatenate([root * (left + right) for left, right in pairs], axis=-1)
    differences = jnp.concatenate([root * (left - right) for left, right in pairs], axis=-1)
    even, odd = (
        jnp.concatenate([each[:, start : start + down] for start in range(SIDE)], axis=-1)
        for each in (sums, differences)
    )
    return even, odd


def pooled(strengths: Strengths, *, mirror: bool) -> Float[Array, "n p"]:
    """Return means over the parts of an image; with mirror, of a word and its mirror image."""

    def of_sign(of_words: Half, of_mirrored: Half) -> Float[Array, "n i j m"]:
        parts = [min(_REGIONS, side) for side in of_words.shape[1:3]]
        plain, mirrored = (region_means(each, *parts) for each in (of_words, of_mirrored))
        if mirror:
            return plain + mirrored[:, :, ::-1]
        return jnp.concatenate([plain, mirrored], axis=-1)

    means = jnp.stack([of_sign(*both) for both in strengths], axis=1)
    return jax.lax.collapse(means, 1)


def in_chunks(of_chunk: FeatureFn) -> FeatureFn:
    """Return features of many images, few of them at once.

    Args:
        of_chunk: features of rows, each row's by itself.
    """

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        if len(rows) <= _CHUNK.here:
            return of_chunk(rows)
        return map_rows(lambda row: of_chunk(row[None])[0], rows, at_most=_CHUNK.here)

    return features
