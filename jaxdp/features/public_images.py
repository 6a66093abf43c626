"""Synthetic public images, of things that hide each other, to measure features on.

Privacy in plain words: they are drawn from a public key and constants of natural images; no private
array is given to any function here.

References:
    Lee, Mumford & Huang (2001), "Occlusion models for natural images" (dead leaves).
    Baradad et al. (2021), "Learning to see by looking at noise".
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp import numerics
from jaxdp.features.levels import COARSE
from jaxdp.features.map_parts import OPPONENT

# Typical contrast of the opponent channels of photographs, relative to luminance.
_OPPONENT_CONTRAST = (1.0, 0.35, 0.2)
_RADII = (1.0, 16.0)
_IMAGE_CHUNK = 200


def leaf_radii(image_shape: tuple[int, int, int]) -> tuple[float, float]:
    """Return radii of leaves that look alike in images of all sizes: 1 to 16 pixels up to 32 x 32.

    Examples:
        >>> from jaxdp.features.public_images import leaf_radii
        >>> leaf_radii((28, 28, 1)), leaf_radii((64, 48, 3))
        ((1.0, 16.0), (2.0, 32.0))
    """
    scale = max(1.0, max(image_shape[:2]) / COARSE)
    return scale * _RADII[0], scale * _RADII[1]


def dead_leaves_images(
    key: Key[Array, ""],
    num_images: int,
    image_shape: tuple[int, int, int],
    *,
    num_leaves: int = 150,
    radii: tuple[float, float] = _RADII,
    contrast: float = 0.25,
) -> Float[Array, "n d"]:
    """Return images in [0, 1] of discs that occlude each other: edges at all scales.

    Centres are uniform, radii have a density proportional to `r^-3`, which makes occlusion the
    same at every scale, and grey levels are `clip(1/2 + contrast z, 0, 1)` with z standard normal.
    Three channels are independent in opponent colours, with less contrast in chroma than in
    luminance. A fourth is grey and independent.

    Args:
        key: public and fixed, so that the images are the same in every run.
        num_images: n, >= 1.
        image_shape: (h, w, channels) with 1, 3 or 4 channels; `d = h w channels`.
        num_leaves: discs of an image, >= 1, the last one on top.
        radii: least and largest radius in pixels, 0 < least <= largest.
        contrast: standard deviation of leaves before clipping.

    Raises:
        ValueError: no image, no leaf, another number of channels, or radii out of order.

    References:
        Lee, Mumford & Huang (2001), section 2.

    Examples:
        >>> import jax
        >>> from jaxdp import features
        >>> images = features.dead_leaves_images(jax.random.key(0), 2, (8, 8, 1), num_leaves=5)
        >>> images.shape, bool((images >= 0).all() and (images <= 1).all())
        ((2, 64), True)
    """
    _check_images(num_images, image_shape)
    least, largest = radii
    if num_leaves < 1 or not 0 < least <= largest:
        raise ValueError(
            f"need num_leaves >= 1 and 0 < least <= largest radius, got {num_leaves} and {radii}"
        )
    keys = jax.random.split(key, num_images)

    def paint(start: int) -> Array:
        some = keys[start : start + _IMAGE_CHUNK]
        return _painter()(some, image_shape, num_leaves, radii, contrast)

    starts = range(0, num_images, _IMAGE_CHUNK)
    return jnp.concatenate([*numerics.side_by_side(paint, starts)])


@functools.cache
def _painter() -> Callable[..., Float[Array, "n d"]]:
    """Return the program that paints; to compile it takes longer than to run it."""
    options = numerics.quick_compilation()
    return jax.jit(_paint_leaves, static_argnums=(1, 2, 3), compiler_options=options)


def _paint_leaves(
    keys: Key[Array, " n"],
    image_shape: tuple[int, int, int],
    num_leaves: int,
    radii: tuple[float, float],
    contrast: Array | float,
) -> Float[Array, "n d"]:
    height, width, channels = image_shape
    least, largest = radii
    # Types are named: in 64-bit mode jax would draw other numbers, and so other images.
    rows = jnp.arange(height, dtype=jnp.float32)[:, None] + 0.5
    columns = jnp.arange(width, dtype=jnp.float32)[None, :] + 0.5

    def paint(image: Array, leaf: tuple[Array, Array, Array]) -> tuple[Array, None]:
        radius, (row, column), colour = leaf
        distance = jnp.sqrt((rows - row) ** 2 + (columns - column) ** 2)
        inside = jnp.clip(radius - distance + 0.5, 0.0, 1.0)[..., None]  # one pixel of soft edge
        return image * (1 - inside) + inside * colour, None

    def one(key: Array) -> Array:
        keys = jax.random.split(key, 4)
        u = jax.random.uniform(keys[0], (num_leaves,), jnp.float32)
        radius = 1 / jnp.sqrt(u / least**2 + (1 - u) / largest**2)
        # Centres beyond the border, so that leaves are as frequent at it as in the middle.
        spread = jnp.asarray([height, width], jnp.float32) + largest
        centre = jax.random.uniform(keys[1], (num_leaves, 2), jnp.float32) * spread - largest / 2
        colour = contrast * jax.random.normal(keys[2], (num_leaves, channels), jnp.float32)
        ground = contrast * jax.random.normal(keys[3], (channels,), jnp.float32)
        image = jnp.broadcast_to(ground, image_shape)
        return jax.lax.scan(paint, image, (radius, centre, colour))[0]

    return _coloured(jax.vmap(one)(keys)).reshape(len(keys), -1)


def _check_images(num_images: int, image_shape: tuple[int, int, int]) -> None:
    if num_images < 1:
        raise ValueError(f"num_images must be >= 1, got {num_images}")
    if image_shape[2] not in (1, 3, 4):
        raise ValueError(f"need 1, 3 or 4 channels, got {image_shape[2]}")


def _coloured(images: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
    """Return images of mean 1/2 in [0, 1] from independent grey or opponent channels."""
    channels = images.shape[-1]
    if channels > 1:
        to_rgb = np.eye(channels)
        to_rgb[:3, :3] = np.linalg.inv(OPPONENT) * _OPPONENT_CONTRAST
        images = jnp.matmul(images, jnp.asarray(to_rgb.T, images.dtype), precision="highest")
    return jnp.clip(0.5 + images, 0.0, 1.0)
