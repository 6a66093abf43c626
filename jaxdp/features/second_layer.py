"""How strongly neighbourhoods of patches look like those of public images: a second layer.

    z = D^T (m - centre)                m: means over 3 x 3 places of what the words of patches find
    q = z / sqrt(mean(z^2) + floor)     z of 3 x 3 neighbours, side by side
    a_k = <e_k, q>                      e_k of norm 1: random neighbourhoods of synthetic images
    b = mean over a region of (max(0, a - t), max(0, -a - t))
    f = (V + gamma mean(V) I)^(-1/2) R^T (b - mean) / 2

D are whitened leading directions of m. R are leading directions of b, and V are its variances in
them, the same for all regions. All are measured on dead leaves. Many words matter: what they find
is nearly a kernel of neighbourhoods, and R keeps the part of it in which images differ.

A neighbourhood and its mirror image are seen by one product: in coordinates that are even or odd
under the mirror, what a word finds in the mirror image is `even - odd` where it is `even + odd`
in the image.

Privacy in plain words: words, directions and means come from synthetic images, so no private data
are used, and an image's features are of that image alone.

References:
    Coates & Ng (2011), "Selecting receptive fields in deep networks" (layers of words).
    Mairal et al. (2014), "Convolutional kernel networks" (kernels of neighbourhoods in layers).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp import numerics
from jaxdp.features import patches
from jaxdp.features.levels import region_means
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.patches import Shape, Strengths
from jaxdp.features.public_images import dead_leaves_images

LEAST_SIDE = 16
"""Shortest side in pixels of images that have a second layer: four cells."""
_SIDE = 3  # cells of a side of a neighbourhood
_CELL = 3  # places of patches along a side of a cell
_REGIONS = 2  # along a side of an image
_THRESHOLD = 0.75
_FLOOR = 0.01  # of the mean square of z, which is about 1
_GAMMA = 0.1  # of the whitening of what words of patches find
# Photographs have twice the length in these directions that they have in others, and it is clipped.
_SCALE = 0.5
# Directions of what words of patches find in a cell, and of what those of neighbourhoods do in a
# region.
_DIRECTIONS, _LEADING = 128, 1024
# Of the synthetic images: those that D and words are of, and those that R is of.
_CELL_IMAGES, _NUM_IMAGES, _SIZE = 1000, 4000, 32
_FITTED_AT_ONCE = 100
# Until leading directions stand still: eigenvalues fall by a hundred within as many as are kept.
_ROUNDS = 3
_MOST_WORDS = 8192


class Words(NamedTuple):
    """Public words of neighbourhoods, for images of any size.

    Attributes:
        centre: (2k,), mean of what k words of patches find in a cell, of both signs.
        directions: (2k, r), D: those that are even under the mirror, then those that are odd.
        num_even: how many of them are even.
        words: (9 r, m), in the coordinates of `_halves`, even ones first.
    """

    centre: Float[np.ndarray, " c"]
    directions: Float[np.ndarray, "c r"]
    num_even: int
    words: Float[np.ndarray, "w m"]


class Layer(NamedTuple):
    """A second layer: words, and how what they find differs between public images.

    Attributes:
        words: of neighbourhoods.
        mean: (2m,), of what they find in a region, of both signs.
        leading: (2m, q), R.
        variances: (q,), V, from the largest.
    """

    words: Words
    mean: Float[np.ndarray, " v"]
    leading: Float[np.ndarray, "v q"]
    variances: Float[np.ndarray, " q"]


def require(image_shape: Shape, num_words: int) -> None:
    """Raise a `ValueError` unless images have four cells, and a layer can have so many words."""
    height, width, _ = image_shape
    if min(height, width) < LEAST_SIDE:
        raise ValueError(
            f"images need sides of at least {LEAST_SIDE} pixels, got {height} x {width}"
        )
    if num_words < 2 or num_words % 2 or num_words > _MOST_WORDS:
        raise ValueError(f"words must be an even number from 2 to {_MOST_WORDS}, got {num_words}")


def num_features(num_words: int, *, mirror: bool) -> int:
    """Return how many features a layer of so many words has."""
    return _REGIONS**2 * (1 if mirror else 2) * _num_leading(num_words, mirror=mirror)


def _num_leading(num_words: int, *, mirror: bool) -> int:
    return min(num_words, _LEADING if mirror else _LEADING // 2)


def packed(layer: Layer) -> Float[np.ndarray, " s"]:
    """Return a layer as one array, to be kept."""
    parts = [np.ravel(part) for part in jax.tree.leaves(layer)]
    return np.concatenate(parts).astype(np.float32)


def unpacked(
    array: Float[np.ndarray, " s"], num_patches: int, num_words: int, *, mirror: bool
) -> Layer:
    """Return the layer that `packed` made an array of.

    Raises:
        ValueError: it is of another size.
    """
    r, q = min(_DIRECTIONS, 2 * num_patches), _num_leading(num_words, mirror=mirror)
    shapes = [
        (2 * num_patches,),
        (2 * num_patches, r),
        (),
        (_SIDE**2 * r, num_words // 2),
        (num_words,),
        (num_words, q),
        (q,),
    ]
    sizes = [int(np.prod(shape)) for shape in shapes]
    if array.size != sum(sizes):
        raise ValueError(f"a second layer has {sum(sizes)} numbers, got {array.size}")
    parts = np.split(array, np.cumsum(sizes)[:-1])
    found = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    centre, directions, num_even, words, *above = found
    return Layer(Words(centre, directions, int(num_even), words), *above)


def fitted(
    key: Key[Array, ""], filters: Float[np.ndarray, "s s ch k"], num_words: int, *, mirror: bool
) -> Layer:
    """Return the layer above a dictionary of patches.

    Args:
        key: public and fixed, so that the layer is the same in every run.
        filters: of `patches.dictionary`.
        num_words: m of the formulas, even: a half is mirrored.
        mirror: see `layer_features`.

    Raises:
        ValueError: see `require`.
    """
    shape = (_SIZE, _SIZE, filters.shape[2])
    require(shape, num_words)
    with numerics.float32():
        images = dead_leaves_images(key, _NUM_IMAGES, shape)
        found = patches.strengths(shape, filters)
        cells = _in_chunks(lambda rows: _cells(found(rows)), images[:_CELL_IMAGES])
        cells = cells.reshape(len(cells), *_grid(shape), -1)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        centre, directions, num_even = _parity_directions(cells.reshape(-1, cells.shape[-1]))
        words = _random_words((cells - centre) @ directions, num_even, num_words // 2, rng)
        chosen = Words(centre, directions, num_even, words)
        regions = _in_chunks(lambda rows: _regions(chosen, found(rows), mirror=mirror), images)
        regions = regions.reshape(-1, num_words)
        mean = regions.mean(axis=0)
        count = _num_leading(num_words, mirror=mirror)
        return Layer(chosen, mean, *_leading(regions - mean, count, rng))


def layer_features(
    image_shape: Shape,
    filters: Float[np.ndarray, "s s ch k"],
    layer: Layer,
    *,
    gamma: float,
    mirror: bool,
) -> FeatureFn:
    """Return features of rows of images in [0, 1]: those of patches, then those of the layer.

    Args:
        image_shape: (h, w, channels); no side below `LEAST_SIDE` pixels.
        filters: of `patches.dictionary`.
        layer: of `fitted`, with the same `filters` and `mirror`.
        gamma: of the layer's whitening, > 0; features of patches are as `patch_features` has them.
        mirror: whether to keep only what an image and its mirror image share.

    Raises:
        ValueError, TypeError: see `require` and `patches.strengths`.
    """
    require(image_shape, len(layer.mean))
    found = patches.strengths(image_shape, filters)
    scales = _SCALE / np.sqrt(layer.variances + gamma * layer.variances.mean())
    to_white = (layer.leading * scales).astype(np.float32)

    def both(rows: Float[Array, "n d"]) -> Float[Array, "n v"]:
        strengths = found(rows)
        regions = _regions(layer.words, strengths, mirror=mirror)
        below = patches.pooled(strengths, mirror=mirror)
        return jnp.concatenate([below, jax.lax.collapse(regions, 1)], axis=1)

    seen = patches.in_chunks(both)
    num_below = patches.num_features(image_shape, filters.shape[3], mirror=mirror)

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        below, regions = jnp.split(seen(rows), [num_below], axis=1)
        num_regions = regions.shape[1] // len(layer.mean)
        # Of all rows at once, as few at a time would wait for these many numbers.
        regions = regions.reshape(-1, len(layer.mean)) - layer.mean
        above = jnp.matmul(regions, to_white, precision="highest")
        above = above.reshape(len(rows), num_regions * above.shape[1])
        return jnp.concatenate([below, above], axis=1)

    return features


def _cells(strengths: Strengths) -> Float[Array, "n i j c"]:
    """Return the means over cells of what words find, the words of both signs side by side."""
    halves = [*strengths.like, *strengths.unlike]
    cells = [_num_cells(side) for side in halves[0].shape[1:3]]
    return jnp.concatenate([region_means(half, *cells) for half in halves], axis=-1)


def _num_cells(places: int) -> int:
    return round(places / _CELL)


def _grid(image_shape: Shape) -> tuple[int, int]:
    """Return how many cells there are along the sides of an image."""
    height, width = (_num_cells(side - patches.SIDE + 1) for side in image_shape[:2])
    return height, width


def _mirrored_words(num: int) -> np.ndarray:
    """Return the places of the words' mirror images, for words of both signs."""
    half = num // 4
    first = np.concatenate([np.arange(half, 2 * half), np.arange(half)])
    return np.concatenate([first, 2 * half + first])


def _parity_directions(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return centre, whitened leading directions, even ones first, and how many of them are even.

    Mirror images of cells count as much as the cells.
    """
    num = cells.shape[1]
    mirrored = _mirrored_words(num)
    centre = cells.mean(axis=0)
    centre = (centre + centre[mirrored]) / 2
    centred = cells - centre
    moment = (centred.T @ centred / len(cells)).astype(np.float64)
    moment = (moment + moment[np.ix_(mirrored, mirrored)]) / 2
    # An orthonormal basis of what is even, and one of what is odd: no direction mixes them.
    one_of_two = np.flatnonzero(np.arange(num) < mirrored)
    values, vectors = [], []
    for sign in (1.0, -1.0):
        basis = np.zeros((num, len(one_of_two)))
        basis[one_of_two, np.arange(len(one_of_two))] = np.sqrt(0.5)
        basis[mirrored[one_of_two], np.arange(len(one_of_two))] = sign * np.sqrt(0.5)
        each, inside = np.linalg.eigh(basis.T @ moment @ basis)
        values.append(np.maximum(each[::-1], 0))
        vectors.append(basis @ inside[:, ::-1])
    kept = min(_DIRECTIONS, num)
    # The leading ones of both kinds together.
    least = np.sort(np.concatenate(values))[-kept]
    num_even = min(int(np.sum(values[0] >= least)), kept)
    chosen = [values[0][:num_even], values[1][: kept - num_even]]
    floor = _GAMMA * np.trace(moment) / kept
    scales = 1 / np.sqrt(np.concatenate(chosen) + floor)
    directions = np.concatenate(
        [vectors[0][:, :num_even], vectors[1][:, : kept - num_even]], axis=1
    )
    return centre, (directions * scales).astype(np.float32), num_even


def _halves(cells: Float[Array, "n i j r"], num_even: int) -> tuple[Array, Array]:
    """Return neighbourhoods (n, a, b, .) in coordinates that the mirror keeps, and that it turns.

    A mirror image has its left and right columns exchanged, and odd directions turned: so sums of
    both columns are even in even directions, and differences in odd ones.
    """
    down, across = (side - _SIDE + 1 for side in cells.shape[1:3])
    left, middle, right = (cells[:, :, start : start + across] for start in range(_SIDE))
    root = np.float32(np.sqrt(0.5))
    total, difference = root * (left + right), root * (left - right)
    parts = [
        (total[..., :num_even], difference[..., num_even:], middle[..., :num_even]),
        (difference[..., :num_even], total[..., num_even:], middle[..., num_even:]),
    ]
    columns = [jnp.concatenate(part, axis=-1) for part in parts]
    even, odd = (
        jnp.concatenate([each[:, start : start + down] for start in range(_SIDE)], axis=-1)
        for each in columns
    )
    return even, odd


def _random_words(
    cells: np.ndarray, num_even: int, count: int, rng: np.random.Generator
) -> Float[np.ndarray, "w m"]:
    """Return random neighbourhoods of norm 1."""
    even, odd = (np.asarray(half) for half in _halves(jnp.asarray(cells), num_even))
    both = np.concatenate([even, odd], axis=-1)
    both = both.reshape(-1, both.shape[-1])
    words = both[rng.choice(len(both), count, replace=count > len(both))]
    norms = np.linalg.norm(words, axis=1, keepdims=True)
    return (words / np.maximum(norms, np.finfo(np.float32).tiny)).T.astype(np.float32)


def _regions(chosen: Words, strengths: Strengths, *, mirror: bool) -> Float[Array, "n g v"]:
    """Return the means of what words find over regions, of both signs; with mirror, added up."""
    cells = _cells(strengths) - chosen.centre
    z = jnp.matmul(cells, chosen.directions, precision="highest")
    even, odd = _halves(z, chosen.num_even)
    squares = jnp.sum(even**2, axis=-1, keepdims=True) + jnp.sum(odd**2, axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(squares / len(chosen.words) + _FLOOR)
    split = even.shape[-1]
    by_even = jnp.matmul(even * scale, chosen.words[:split], precision="highest")
    by_odd = jnp.matmul(odd * scale, chosen.words[split:], precision="highest")

    def pooled(looks: Array) -> Float[Array, "n i j v"]:
        signs = (jnp.maximum(sign * looks - _THRESHOLD, 0) for sign in (1, -1))
        means = [region_means(each, _REGIONS, _REGIONS) for each in signs]
        return jnp.concatenate(means, axis=-1)

    plain, mirrored = pooled(by_even + by_odd), pooled(by_even - by_odd)
    turned = mirrored[:, :, ::-1]  # the mirror image, region by region
    regions = plain + turned if mirror else jnp.concatenate([plain, turned], axis=1)
    return jax.lax.collapse(regions, 1, -1)


def _leading(
    samples: Float[np.ndarray, "n v"], count: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "v q"], Float[np.ndarray, " q"]]:
    """Return leading directions of centred samples, and their variances, from the largest.

    References:
        Halko, Martinsson & Tropp (2011), "Finding structure with randomness", algorithm 4.4.
    """
    moment = samples.T @ samples / len(samples)
    basis = rng.standard_normal((len(moment), count)).astype(np.float32)
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(moment @ basis)
    variances, turn = np.linalg.eigh(basis.T @ moment @ basis)
    return basis @ turn[:, ::-1], np.maximum(variances[::-1], 0)


def _in_chunks(feature_fn: Callable[[Array], Array], rows: Float[Array, "n d"]) -> np.ndarray:
    """Return what a function finds in rows, as many as memory holds at once."""
    flat = patches.in_chunks(lambda rows: feature_fn(rows).reshape(len(rows), -1))
    program = jax.jit(flat)
    starts = range(0, len(rows), _FITTED_AT_ONCE)
    return np.concatenate(
        [np.asarray(program(rows[start : start + _FITTED_AT_ONCE])) for start in starts]
    )
