"""The classes' shares of the data, as a released embedding tells them.

The embedding of a class is its share times the mean of its features. In the direction of the mean
features `v` of synthetic public examples those of all examples are about the same, so

    told_k = <mu_k, v> / sum_j <mu_j, v>

is about the share of class k. It has two errors: of noise, and of examples whose features are
more or less alike to `v`. What the told shares vary by beyond these is taken for the data's:

    share_k = 1/c + max(0, 1 - error^2 / S) (told_k - 1/c),    S = sum_k (told_k - 1/c)^2 / (c - 1)

A generator that takes unequal classes for equal ones cannot have the embedding: what it draws of
a large class comes out too much alike, of a small one too varied.

Nothing here is given private data, only the noisy embedding: it is post-processing.

References:
    Efron & Morris (1973), "Stein's estimation rule and its competitors - an empirical Bayes
        approach" (how far to trust estimates that are spread about a common value).
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.features.base import FeatureMap
from jaxdp.features.public_images import dead_leaves_images, leaf_radii
from jaxdp.methods.dp_ntk.released import Released

# Of the synthetic public examples; part of the method, not of a run.
_SEED, _NUM_ROWS, _CHUNK = 0, 200, 50
_CHANNELS = (1, 3, 4)
# How much told shares of equal classes vary without noise, over their mean: the largest of MNIST,
# Fashion-MNIST and CIFAR-10, rounded up. docs/tried.md has them, and those of tables.
_MISREAD = {"scatter_rbf": 0.03, "encoder_rbf": 0.03, "rff": 0.07, "hermite": 0.07, "scatter": 0.1}
_MISREAD_OTHERS = 0.2
# Of an equal share: a class that noise hides is still drawn.
_LEAST = 0.01


def with_shares(
    released: Released,
    features: FeatureMap,
    name: str,
    *,
    shape: tuple[int, ...],
    stddev: float,
) -> Released:
    """Return an embedding with the classes' shares that it tells; a single class has them all.

    Args:
        released: the embedding.
        features: the map that it was made with.
        name: of the features.
        shape: height, width and channels of an image, or the length of other rows.
        stddev: of the embedding's noise.

    Guarantee:
        Post-processing: no argument takes private data.
    """
    if released.num_classes < 2:
        return released
    direction = _mean_features(features, _public_rows(shape))
    told = np.asarray(released.mu @ direction, np.float64)
    shares = _drawn_together(
        told,
        noise=stddev * float(jnp.linalg.norm(direction)),
        misread=_MISREAD.get(name, _MISREAD_OTHERS),
    )
    return released._replace(class_weights=jnp.asarray(shares, jnp.float32))


def _public_rows(shape: tuple[int, ...]) -> Float[Array, "n d"]:
    """Return synthetic public examples: images of discs that hide each other, or any values."""
    key = jax.random.key(_SEED)
    if len(shape) != 3 or shape[2] not in _CHANNELS:
        return jax.random.uniform(key, (_NUM_ROWS, math.prod(shape)), jnp.float32)
    height, width, channels = shape
    image = (height, width, channels)
    return dead_leaves_images(key, _NUM_ROWS, image, radii=leaf_radii(image))


def _mean_features(features: FeatureMap, rows: Float[Array, "n d"]) -> Float[Array, " p"]:
    part, each = jax.jit(features.weighted_sum), jnp.full(_CHUNK, 1 / len(rows), rows.dtype)
    parts = [part(some, each) for some in jnp.split(rows, len(rows) // _CHUNK)]
    return jnp.sum(jnp.stack(parts), axis=0)


def _drawn_together(
    told: Float[np.ndarray, " c"], *, noise: float, misread: float
) -> Float[np.ndarray, " c"]:
    """Return shares between told ones and equal ones, as far as errors explain how they differ.

    Args:
        told: the classes' shares times any positive number.
        noise: standard deviation of the error of each.
        misread: that of an error in proportion to a share, over it.
    """
    num_classes, total = len(told), float(told.sum())
    equal = np.full(num_classes, 1 / num_classes)
    if total <= 0:
        return equal
    beyond = told / total - equal
    error = (noise / total) ** 2 + (misread / num_classes) ** 2
    varied = float(np.sum(beyond**2)) / (num_classes - 1)
    trusted = max(0.0, 1 - error / varied) if varied > 0 else 0.0
    shares = np.maximum(equal + trusted * beyond, _LEAST * equal)
    return shares / shares.sum()
