"""The directions of public features in which synthetic images differ most, whitened.

    phi -> (phi - m) V (Lambda + gamma mean(Lambda) I)^(-1/2) / size

`m` is the mean over public images, `V` the first principal directions there, `Lambda` their
variances, and `size` makes the root mean square norm of public images 1. Features of networks and
of scattering are nearly the same for all images: 93 % of the energy of scattering features of
digits is in their mean. Kernel regression, and the norm of a gradient that is clipped, are then
about what does not tell images apart. What is left here does, in a few hundred directions.

Privacy in plain words: mean and directions are of public images, so no private data are used.

References:
    Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue
    problem" (principal directions from the Gram matrix).
    Kessy, Lewin & Strimmer (2018), "Optimal whitening and decorrelation" (PCA whitening).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.features.map_parts import FeatureFn
from jaxdp.rows import require_floats, require_rows

MOST = 256
"""So many directions are kept."""

_CHUNK = 50
_HIGHEST = jax.lax.Precision.HIGHEST
# Of the largest variance; below it there is rounding alone.
_LEAST = 1e-6


def public_directions(
    feature_fn: FeatureFn, images: Float[Array, "n d"], *, gamma: float, most: int = MOST
) -> FeatureFn:
    """Return features in whitened principal directions of public images.

    Args:
        feature_fn: features of rows.
        images: rows that are not private, two or more that differ.
        gamma: > 0: directions weaker than `gamma` of the mean are not amplified further.
        most: how many directions are kept, >= 1; never more than images tell.

    Raises:
        ValueError: `gamma`, `most` or the images are not of this kind.
        TypeError: from the map, rows or features that are not of floats.

    Examples:
        >>> import jax
        >>> from jaxdp import features
        >>> public = jax.random.normal(jax.random.key(0), (50, 4))
        >>> phi = features.public_directions(lambda rows: rows, public, gamma=0.1, most=2)
        >>> phi(public).shape
        (50, 2)
    """
    _check(gamma, most)
    mean, matrix = _fitted(_features(feature_fn, images), gamma, most)

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        phi = feature_fn(x)
        require_floats(phi)
        centred = phi - mean.astype(phi.dtype)
        return jnp.matmul(centred, matrix.astype(phi.dtype), precision=_HIGHEST)

    return features


def directions_of_kernel(
    cross: Callable[[Array, Array], Array],
    images: Float[Array, "n d"],
    *,
    gamma: float,
    most: int = MOST,
) -> FeatureFn:
    """Return the same for the features of a kernel, however many, by its values alone.

    Args:
        cross: `(x (m, d), z (n, d)) -> (m, n)`, inner products of features.
        images: see `public_directions`.
        gamma: see there.
        most: see there.

    Raises:
        ValueError: see there; from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    _check(gamma, most)
    compiled = jax.jit(cross)
    gram = np.asarray(compiled(images, images), np.float64)
    to_mean = gram.mean(axis=0)
    columns = _columns(gram - to_mean - to_mean[:, None] + to_mean.mean(), gamma, most)
    # Columns add up to zero already, but for rounding.
    shift, matrix = jnp.asarray(to_mean, jnp.float32), jnp.asarray(columns, jnp.float32)

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(x, images.shape[1])
        k = cross(x, images.astype(x.dtype)) - shift.astype(x.dtype)
        centred = k - jnp.mean(k, axis=1, keepdims=True)
        return jnp.matmul(centred, matrix.astype(x.dtype), precision=_HIGHEST)

    return features


def _check(gamma: float, most: int) -> None:
    if not 0 < gamma < float("inf") or most < 1:
        raise ValueError(f"need gamma > 0, finite, and most >= 1, got {gamma} and {most}")


def _features(feature_fn: FeatureFn, images: Array) -> np.ndarray:
    compiled = jax.jit(feature_fn)
    starts = range(0, len(images), _CHUNK)
    return np.concatenate([np.asarray(compiled(images[i : i + _CHUNK])) for i in starts])


def _fitted(phi: np.ndarray, gamma: float, most: int) -> tuple[Array, Array]:
    """Return the mean (p,) and the matrix (p, k), by way of the Gram matrix of n rows."""
    mean = phi.mean(axis=0, dtype=np.float64)
    centred = (phi - mean).astype(np.float32)
    gram = np.matmul(centred, centred.T).astype(np.float64)
    matrix = np.matmul(centred.T, _columns(gram, gamma, most).astype(np.float32))
    return jnp.asarray(mean, jnp.float32), jnp.asarray(matrix, jnp.float32)


def _columns(gram: np.ndarray, gamma: float, most: int) -> np.ndarray:
    """Return (n, k): what centred inner products with n images are multiplied by."""
    n = len(gram)
    if not np.all(np.isfinite(gram)):
        raise ValueError("features of public images must be finite, and differ")
    variances, vectors = np.linalg.eigh(gram / n)
    if not variances[-1] > 0:
        raise ValueError("features of public images must be finite, and differ")
    kept = [i for i in reversed(range(n)) if variances[i] > _LEAST * variances[-1]][:most]
    variances, vectors = variances[kept], vectors[:, kept]
    scales = 1 / np.sqrt(variances + gamma * variances.mean())
    # Of whitened rows the variance in a direction is `variances scales^2`.
    size = np.sqrt(np.sum(variances * scales**2))
    return vectors * (scales / (size * np.sqrt(variances * n)))
