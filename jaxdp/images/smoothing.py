"""Gaussian smoothing of image-shaped rows: a public prior for noisy gradients.

Neighbouring pixels of an image want to move together; independent noise does not. Smoothing a
noisy gradient keeps most of the signal and removes most of the noise, and as post-processing of
a release it costs no privacy.
"""

import math

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from jaxdp.rows import require_rows


def smooth_rows(
    x: Float[Array, "s d"], *, shape: tuple[int, int, int], width: float
) -> Float[Array, "s d"]:
    """Return every row, seen as an image, after a Gaussian filter over space.

    Weights at the border are renormalised, so a constant image stays as it is.

    Args:
        x: flattened images.
        shape: height, width and channels, whose product is d.
        width: standard deviation of the filter in pixels, > 0.

    Raises:
        TypeError: rows are not of floats.
        ValueError: rows are of another width.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import images
        >>> rows = jnp.zeros((1, 25)).at[0, 12].set(1.0)
        >>> smooth = images.smooth_rows(rows, shape=(5, 5, 1), width=1.0)
        >>> int(smooth.argmax()), bool(smooth.max() < 1)
        (12, True)
    """
    require_rows(x, math.prod(shape))
    height, columns, channels = shape
    images = x.reshape(-1, height, columns, channels)
    rows, cols = (jnp.asarray(_filter(size, width), x.dtype) for size in (height, columns))
    smooth = jnp.einsum("ij,sjkc,lk->silc", rows, images, cols, precision="highest")
    return smooth.reshape(x.shape)


def _filter(size: int, width: float) -> np.ndarray:
    distance = np.arange(size)[:, None] - np.arange(size)[None, :]
    weights = np.exp(-(distance**2) / (2 * width**2))
    return weights / weights.sum(axis=1, keepdims=True)


def smooth_gradients(shape: tuple[int, int, int], width: float) -> optax.GradientTransformation:
    """Return `smooth_rows` as the first link of an optax chain; width 0 changes nothing.

    Raises:
        ValueError: `width` is negative.

    Examples:
        >>> import optax
        >>> from jaxdp import images
        >>> optimizer = optax.chain(images.smooth_gradients((28, 28, 1), 1.5), optax.adam(0.1))
    """
    if not width >= 0:
        raise ValueError(f"width must be >= 0 pixels, got {width}")
    if width == 0:
        return optax.identity()
    return optax.stateless(lambda grads, _: smooth_rows(grads, shape=shape, width=width))
