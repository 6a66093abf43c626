"""The augmentation that distilled images are usually judged with: one of six movements at a time.

Of every batch one is drawn: brightness, saturation and contrast; a shift; a square that is blanked;
a reflection; a scaling; a rotation. How much each image is moved is drawn by itself, or once for
all, where two batches are to be compared that were moved alike.

References:
    Zhao & Bilen (2021), "Dataset condensation with differentiable Siamese augmentation"
        (the movements and their limits).
"""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.images.views import resampled, turned_and_stretched
from jaxdp.rows import require_floats

_BRIGHTNESS, _SATURATION, _CONTRAST = 0.5, 1.0, 0.5
_SHIFT, _BLANK = 0.125, 0.5  # parts of a side
_SCALING, _ROTATION = 1.2, 15.0


def siamese_augmented(
    key: Key[Array, ""],
    images: Float[Array, "n h w ch"],
    *,
    reflect: bool,
    alike: bool = False,
) -> Float[Array, "n h w ch"]:
    """Return images that are changed by one movement, drawn for all of them.

    Pixels from outside are the nearest of the border, and a blanked square has the image's mean, so
    that no background has to be known; the published code has zeros there.

    Args:
        key: of the draws.
        images: brought to deviation 1, as brightness is moved by up to a half.
        reflect: whether left and right may be changed: for photographs, not for digits.
        alike: whether all images are moved in the same way, which the key alone decides.

    Raises:
        TypeError: images are not of floats.
    """
    require_floats(images)
    kind_key, draw_key = jax.random.split(key)
    movements = [
        _coloured,
        _shifted,
        _blanked,
        _scaled,
        _rotated,
        *([_reflected] if reflect else []),
    ]
    number = jax.random.randint(kind_key, (), 0, len(movements), jnp.int32)
    count = 1 if alike else len(images)
    branches = [functools.partial(movement, draw_key, count=count) for movement in movements]
    return jax.lax.switch(number, branches, images)


def _draws(key: Array, count: int, sides: int, low: float, high: float) -> Array:
    return jax.random.uniform(key, (count, sides), jnp.float32, low, high)


def _coloured(key: Array, x: Array, *, count: int) -> Array:
    keys = jax.random.split(key, 3)

    def each(number: int, low: float, high: float) -> Array:
        return _draws(keys[number], count, 1, low, high)[:, :, None, None]

    x = x + each(0, -_BRIGHTNESS, _BRIGHTNESS)
    grey = jnp.mean(x, axis=3, keepdims=True)
    x = grey + (x - grey) * each(1, 1 - _SATURATION, 1 + _SATURATION)
    mean = jnp.mean(x, axis=(1, 2, 3), keepdims=True)
    return mean + (x - mean) * each(2, 1 - _CONTRAST, 1 + _CONTRAST)


def _moved(x: Array, matrices: Array, shifts: Array) -> Array:
    """Move images by a matrix and a shift of each, or by one for all."""
    matrices = jnp.broadcast_to(matrices, (len(x), 2, 2)).astype(x.dtype)
    shifts = jnp.broadcast_to(shifts, (len(x), 2)).astype(x.dtype)
    return jax.vmap(resampled)(x, matrices, shifts)


def _shifted(key: Array, x: Array, *, count: int) -> Array:
    sides = jnp.array(x.shape[1:3])
    shifts = jnp.round(_draws(key, count, 2, -_SHIFT, _SHIFT) * sides)
    return _moved(x, jnp.eye(2), shifts)


def _blanked(key: Array, x: Array, *, count: int) -> Array:
    sides = jnp.array(x.shape[1:3])
    middles = _draws(key, count, 2, 0.0, 1.0) * sides
    rows, columns = (
        jnp.abs(jnp.arange(x.shape[axis + 1], dtype=jnp.float32) + 0.5 - middles[:, axis, None])
        <= _BLANK * x.shape[axis + 1] / 2
        for axis in (0, 1)
    )
    inside = (rows[:, :, None] & columns[:, None, :])[..., None]
    return jnp.where(inside, jnp.mean(x, axis=(1, 2, 3), keepdims=True), x)


def _scaled(key: Array, x: Array, *, count: int) -> Array:
    factors = _draws(key, count, 2, 1 / _SCALING, _SCALING)
    return _moved(x, turned_and_stretched(jnp.zeros(count, jnp.float32), factors), jnp.zeros(2))


def _rotated(key: Array, x: Array, *, count: int) -> Array:
    degrees = _draws(key, count, 1, -_ROTATION, _ROTATION)[:, 0]
    return _moved(x, turned_and_stretched(degrees, jnp.ones((count, 2), jnp.float32)), jnp.zeros(2))


def _reflected(key: Array, x: Array, *, count: int) -> Array:
    turned = jax.random.bernoulli(key, jnp.float32(0.5), (count, 1, 1, 1))
    return jnp.where(turned, x[:, :, ::-1], x)
