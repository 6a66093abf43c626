"""Whitening of public features by their second moment on synthetic images.

    phi -> phi (Sigma + gamma mean(eig) I)^(-1/2)

DP-SGD adds the same noise to every direction of a feature space, so it costs least where all
directions matter alike.

Privacy in plain words: the second moment is computed on synthetic images
(`jaxdp.features.public_images`), so no private data are used.

References:
    Kessy, Lewin & Strimmer (2018), "Optimal whitening and decorrelation" (ZCA).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp import numerics
from jaxdp.features.levels import COARSE, Level
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.public_images import dead_leaves_images, leaf_radii

Watch = Callable[[Sequence[int]], Iterable[int]]
Cached = Callable[[dict[str, Any], Callable[[Watch], np.ndarray]], np.ndarray]
Drawn = dict[tuple[int, ...], Array]
"""Images that were drawn before, by their number and shape."""

# Of the synthetic public images; part of the method, not of a run.
_SEED, _NUM_IMAGES = 20240, 10000
_FEW = 5  # of all, one in so many
_CHUNK = 500
_HIGHEST = jax.lax.Precision.HIGHEST


class Postponed:
    """Keeps public arrays, and lets none be computed before whoever asks for them may begin.

    Until then the identity stands for a whitening, so that who asks for shapes and bounds alone
    waits for nothing.

    Attributes:
        may_begin: whether work may begin.
        is_needed: whether something was asked for before.
    """

    def __init__(self, cached: Cached) -> None:
        """Take what keeps arrays."""
        self._cached = cached
        self.may_begin = self.is_needed = False

    def __call__(
        self, description: dict[str, Any], compute: Callable[[Watch], np.ndarray]
    ) -> np.ndarray:
        """Return the array that a description stands for."""
        return self._cached(description, compute)


def second_moment(
    feature_fn: FeatureFn,
    images: Float[Array, "n d"],
    *,
    chunk_size: int = _CHUNK,
    watch: Watch = iter,
) -> Float[Array, "p p"]:
    """Return `Sigma = Phi^T Phi / n` of public images, a chunk at a time.

    Args:
        feature_fn: of rows.
        images: rows.
        chunk_size: rows of a chunk.
        watch: yields the chunks' places as they are, and may show how many are done.

    Raises:
        ValueError: no image, or a chunk without one.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> features.second_moment(lambda rows: rows, jnp.array([[1.0, 1.0], [1.0, -1.0]])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    n, dim = images.shape
    if n < 1 or chunk_size < 1:
        raise ValueError(f"need images and chunk_size >= 1, got {n} and {chunk_size}")
    programs = _sums_of_products(feature_fn, (n, dim), images.dtype, chunk_size)
    return _mean_product(programs, images, chunk_size, watch)


_Programs = dict[int, Callable[[Array], Array]]


def _sums_of_products(
    feature_fn: FeatureFn, shape: tuple[int, int], dtype: Any, chunk_size: int
) -> _Programs:
    """Return the compiled programs of `Phi^T Phi` of a chunk, by its number of rows."""

    def part(rows: Float[Array, "n d"]) -> Float[Array, "p p"]:
        phi = feature_fn(rows)
        return jnp.matmul(phi.T, phi, precision=_HIGHEST)

    n, dim = shape
    program = jax.jit(part, compiler_options=numerics.quick_compilation())
    return {
        size: program.lower(jax.ShapeDtypeStruct((size, dim), dtype)).compile()
        for size in {min(chunk_size, n - start) for start in range(0, n, chunk_size)}
    }


def _mean_product(
    programs: _Programs, images: Float[Array, "n d"], chunk_size: int, watch: Watch
) -> Float[Array, "p p"]:
    def part(start: int) -> Array:
        rows = images[start : start + chunk_size]
        return programs[len(rows)](rows)

    total: Array | float = 0.0
    for found in numerics.side_by_side(part, watch(range(0, len(images), chunk_size))):
        total = total + found
    return jnp.asarray(total) / len(images)


def whitening(moment: Float[Array, "p p"], *, gamma: float) -> Float[Array, "p p"]:
    """Return `(Sigma + gamma mean(eig) I)^(-1/2)`, symmetric.

    Args:
        moment: Sigma, symmetric positive semi-definite; not zero.
        gamma: > 0: directions weaker than `gamma` of the mean are not amplified further.

    Raises:
        ValueError: `gamma` or the moment is not of this kind.

    References:
        Kessy, Lewin & Strimmer (2018), table 1 ("ZCA").
    """
    if not 0 < gamma < float("inf"):
        raise ValueError(f"gamma must be > 0 and finite, got {gamma}")
    eigenvalues, vectors = np.linalg.eigh(np.asarray(moment))
    if not eigenvalues[-1] > 0:
        raise ValueError("the second moment must be finite, positive semi-definite and not zero")
    eigenvalues = np.maximum(eigenvalues, 0)  # rounding
    scales = 1 / np.sqrt(eigenvalues + gamma * eigenvalues.mean())
    return jnp.asarray((vectors * scales) @ vectors.T, moment.dtype)


def transformed(feature_fn: FeatureFn, matrix: Float[Array, "p k"]) -> FeatureFn:
    """Return `phi(x) matrix`, e.g. whitened features.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.transformed(lambda rows: rows, 2 * jnp.eye(2))
        >>> phi(jnp.ones((1, 2))).tolist()
        [[2.0, 2.0]]
    """

    def features(x: Float[Array, "n d"]) -> Float[Array, "n k"]:
        return jnp.matmul(feature_fn(x), matrix, precision=_HIGHEST)

    return features


def on_dead_leaves(
    feature_fn: FeatureFn,
    image_shape: tuple[int, int, int],
    *,
    gamma: float,
    what: dict[str, Any],
    cached: Cached,
    drawn: Drawn,
    few: bool = False,
) -> Float[Array, "p p"]:
    """Return what whitens a public map's second moment on synthetic images from a fixed seed.

    Images above 32 pixels are larger drawings of the same things, and a fifth as many: they have
    few features.

    Args:
        feature_fn: features of rows in [0, 1].
        image_shape: (h, w, channels) of a row.
        gamma: see `whitening`.
        what: tells this map from others.
        cached: `(description, compute) -> array`; may keep what it has computed once.
        drawn: images that were drawn before; these are added.
        few: whether a fifth of the images is enough.
    """
    scale = max(1.0, max(image_shape[:2]) / COARSE)
    count = _NUM_IMAGES // _FEW if few or scale > 1 else _NUM_IMAGES
    # Memory for features of one chunk does not grow with the images.
    chunk_size = max(1, int(_CHUNK / scale**2))

    def draw() -> Array:
        if (count, *image_shape) in drawn:
            return drawn[count, *image_shape]
        key, radii = jax.random.key(_SEED), leaf_radii(image_shape)
        images = dead_leaves_images(key, count, image_shape, radii=radii)
        if scale == 1:  # larger ones are of one level alone
            drawn[count, *image_shape] = images
        return images

    def compiled() -> _Programs:
        shape = count, math.prod(image_shape)
        return _sums_of_products(feature_fn, shape, jnp.float32, chunk_size)

    def moment(watch: Watch) -> np.ndarray:
        # Each takes about as long as the other.
        work: list[Callable[[], Any]] = [draw, compiled]
        images, programs = numerics.side_by_side(lambda each: each(), work)
        return np.asarray(_mean_product(programs, images, chunk_size, watch))

    def matrix(watch: Watch) -> np.ndarray:
        with numerics.float32():
            return np.asarray(whitening(jnp.asarray(moment(watch)), gamma=gamma))

    if isinstance(cached, Postponed) and not cached.may_begin:
        cached.is_needed = True
        return jnp.eye(_num_features(feature_fn, math.prod(image_shape)))
    # The matrix is kept, not the moment: of 3888 features it takes half of the time.
    description = what | {"seed": _SEED, "images": count, "shape": list(image_shape)}
    return jnp.asarray(cached(description | {"gamma": gamma}, matrix))


def _num_features(feature_fn: FeatureFn, dim: int) -> int:
    """Return how many features a map has."""
    return jax.eval_shape(feature_fn, jax.ShapeDtypeStruct((1, dim), jnp.float32)).shape[1]


def of_levels(
    parts: Sequence[Level], *, gamma: float, what: dict[str, Any], cached: Cached, drawn: Drawn
) -> list[Float[Array, "p p"]]:
    """Return what whitens the features of each level by themselves; see `on_dead_leaves`."""
    return [
        on_dead_leaves(
            part.feature_fn,
            part.shape,
            gamma=gamma,
            what=what | ({"level": number} if number else {}),
            cached=cached,
            drawn=drawn,
        )
        for number, part in enumerate(parts)
    ]
