"""Random shifts, scalings and rotations of images, for classifiers that are trained on few."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.images.views import resampled, turned_and_stretched

_KINDS = 3


def augmented(
    key: Key[Array, ""],
    images: Float[Array, "n h w ch"],
    *,
    max_shift: float,
    max_scaling: float,
    max_rotation: float,
) -> Float[Array, "n h w ch"]:
    """Return every image shifted, scaled or rotated, one of the three at random.

    Pixels between others are interpolated; those from outside are the nearest of the border, so no
    background has to be known.

    Args:
        key: of the draws.
        images: on any scale.
        max_shift: in pixels, along each side; uniform in [-max_shift, max_shift].
        max_scaling: each side's factor is uniform in [1 - max_scaling, 1 + max_scaling]; below 1.
        max_rotation: in degrees, uniform in [-max_rotation, max_rotation].

    Raises:
        TypeError: images are not of floats.

    References:
        Zhao, Mopuri & Bilen (2021), "Dataset condensation with gradient matching" (one of crop,
            scale and rotate at a time, for digits).
    """
    num_images = len(images)
    kind_key, *keys = jax.random.split(key, 1 + _KINDS)
    kind = jax.random.randint(kind_key, (num_images, 1), 0, _KINDS, jnp.int32)

    def drawn(number: int, sides: int, limit: float) -> Array:
        draws = jax.random.uniform(keys[number], (num_images, sides), jnp.float32, -limit, limit)
        return jnp.where(kind == number, draws, 0.0)

    shift = drawn(0, 2, max_shift)
    scale = 1 + drawn(1, 2, max_scaling)
    matrices = turned_and_stretched(drawn(2, 1, max_rotation)[:, 0], scale)
    return jax.vmap(resampled)(images, matrices, shift)
