"""Levels of an image: its pixels averaged down to a few public sizes, so that no size costs more.

    level L = the image with every side above L averaged down to L,   L = 32, 64, 128

The first level has all channels. The others are there for larger images, in brightness alone: the
eye, too, sees fine detail without colour. Nothing here depends on data but a row on itself.

References:
    Burt & Adelson (1983), "The Laplacian pyramid as a compact image code" (levels of an image).
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.features.map_parts import FeatureFn
from jaxdp.rows import require_rows

COARSE = 32
"""Images whose sides are at most so long are seen as they are."""
FINE = (64, 128)
"""Sides of the levels that larger images have beside."""

Shape = tuple[int, int, int]


class Level(NamedTuple):
    """A part of the features of an image.

    Attributes:
        shape: (h, w, channels) of what it sees.
        see: from rows of the whole image to rows of `shape`.
        feature_fn: features of these.
    """

    shape: Shape
    see: FeatureFn
    feature_fn: FeatureFn


def shrunk_shape(image_shape: Shape, largest: int) -> Shape:
    """Return the shape of images whose sides above `largest` are averaged down to it."""
    height, width, channels = image_shape
    return min(height, largest), min(width, largest), channels


def shrunk(image_shape: Shape, largest: int) -> FeatureFn:
    """Return the map of rows to those of images of `shrunk_shape`: each pixel a mean over its area.

    Args:
        image_shape: (h, w, channels) of the rows to be given.
        largest: longest side of what is returned, >= 1.

    Raises:
        ValueError: `largest` is below 1 or, from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    if largest < 1:
        raise ValueError(f"largest must be >= 1 pixel, got {largest}")
    smaller = shrunk_shape(image_shape, largest)
    if smaller == image_shape:
        return _as_they_are(image_shape)
    high, wide = (averaging(*sizes) for sizes in zip(image_shape[:2], smaller[:2], strict=True))

    def see(rows: Float[Array, "n d"]) -> Float[Array, "n e"]:
        require_rows(rows, math.prod(image_shape))
        images = rows.reshape(-1, *image_shape)
        over_rows, over_columns = (jnp.asarray(matrix, rows.dtype) for matrix in (high, wide))
        images = jnp.einsum("ih,nhwc->niwc", over_rows, images, precision="highest")
        images = jnp.einsum("jw,niwc->nijc", over_columns, images, precision="highest")
        return jax.lax.collapse(images, 1)

    return see


def _as_they_are(image_shape: Shape) -> FeatureFn:
    def see(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
        require_rows(rows, math.prod(image_shape))
        return rows

    return see


def averaging(size: int, smaller: int) -> Float[np.ndarray, "k n"]:
    """Return the matrix of means over `smaller` equal parts of `size` pixels, which may be cut."""
    edges = np.arange(smaller + 1) * (size / smaller)
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.maximum(overlap, 0) * (smaller / size)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def region_means(
    values: Float[Array, "n a b k"], rows: int, columns: int
) -> Float[Array, "n rows columns k"]:
    """Return means over so many equal parts of the places of both axes, which may be cut.

    As sums over slices: on a CPU these take what is below them along, where a product with
    `averaging` waits until all of it is in memory. The VJP is given because XLA would derive one
    that adds up as many arrays of the size of `values` as there are slices.
    """
    return _part_means(_part_means(values, rows, axis=1), columns, axis=2)


def _region_means_forward(
    values: Float[Array, "n a b k"], rows: int, columns: int
) -> tuple[Float[Array, "n rows columns k"], tuple[int, ...]]:
    return region_means(values, rows, columns), values.shape


def _region_means_backward(
    rows: int,
    columns: int,
    shape: tuple[int, ...],
    cotangent: Float[Array, "n rows columns k"],
) -> tuple[Float[Array, "n a b k"]]:
    del rows, columns
    return (_spread(_spread(cotangent, shape[1], axis=1), shape[2], axis=2),)


region_means.defvjp(_region_means_forward, _region_means_backward)


def _part_means(values: Array, num_parts: int, *, axis: int) -> Array:
    size = values.shape[axis]

    def until(part: int) -> tuple[int, float]:
        """Return how many places are before a part, and which share of the next one is."""
        places, rest = divmod(part * size, num_parts)
        return places, rest / num_parts

    def mean(part: int) -> Array:
        (first, before), (last, share) = until(part), until(part + 1)
        total = jnp.sum(jax.lax.slice_in_dim(values, first, last, axis=axis), axis=axis)
        for place, weight in ((first, -before), (last, share)):
            if weight:
                total += weight * jax.lax.index_in_dim(values, place, axis, keepdims=False)
        return total * (num_parts / size)

    return jnp.stack([mean(part) for part in range(num_parts)], axis=axis)


def _spread(parts: Array, size: int, *, axis: int) -> Array:
    """Return at every place what the parts that it is in have, each by its weight."""

    def at(weights: np.ndarray) -> Array:
        having = (int(part) for part in np.flatnonzero(weights))
        each = (weights[part] * jax.lax.index_in_dim(parts, part, axis) for part in having)
        return functools.reduce(jnp.add, each)

    of_places = averaging(size, parts.shape[axis]).astype(parts.dtype).T
    return jnp.concatenate([at(weights) for weights in of_places], axis=axis)


def brightness(image_shape: Shape) -> FeatureFn:
    """Return the map of rows to those of grey images, the mean over up to three colours.

    Args:
        image_shape: (h, w, channels) of the rows to be given.

    Raises:
        TypeError: from the map, rows that are not of floats.
        ValueError: from the map, rows of another width.
    """
    if image_shape[2] == 1:
        return _as_they_are(image_shape)

    def see(rows: Float[Array, "n d"]) -> Float[Array, "n e"]:
        require_rows(rows, math.prod(image_shape))
        pixels = rows.reshape(-1, math.prod(image_shape[:2]), image_shape[2])
        return jnp.mean(pixels[..., :3], axis=2)

    return see


def then(first: FeatureFn, second: FeatureFn) -> FeatureFn:
    """Return the second map of what the first one returns."""
    return lambda rows: second(first(rows))


def levels(
    image_shape: Shape, coarse: Callable[[Shape], FeatureFn], fine: Callable[[Shape], FeatureFn]
) -> tuple[Level, ...]:
    """Return the levels of an image: one up to 32 pixels, two up to 64, three above.

    Args:
        image_shape: (h, w, channels).
        coarse: makes the features of the first level from its shape.
        fine: makes those of another level, of grey images.

    Raises:
        ValueError: neither 1, 3 nor 4 channels.
    """
    height, width, channels = image_shape
    if channels not in (1, 3, 4):
        raise ValueError(
            f"images have {channels} channels, and features are of 1, 3 or 4; leave some out, or "
            "make their mean a grey image"
        )
    shape = shrunk_shape(image_shape, COARSE)
    found = [Level(shape, shrunk(image_shape, COARSE), coarse(shape))]
    grey = (height, width, 1)
    for largest in FINE:
        if max(height, width) > largest // 2:
            shape = shrunk_shape(grey, largest)
            see = then(brightness(image_shape), shrunk(grey, largest))
            found.append(Level(shape, see, fine(shape)))
    return tuple(found)


def side_by_side(parts: Sequence[Level]) -> FeatureFn:
    """Return the features of all levels of an image, one after another."""

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        each = [part.feature_fn(part.see(rows)) for part in parts]
        return each[0] if len(each) == 1 else jnp.concatenate(each, axis=1)

    return features
