"""Drawn images that are moved to where they have the released embedding.

A generator has few weights, and comes near the embedding at best. Images have a value for each
pixel. With `nu` the embedding of all that was drawn, and `mu` the released one, an image x of class
k moves down the gradient of their squared distance:

    x <- x - eta g / |g|,    g = s(x) B grad_x <nu_k - mu_k, phi(x)>,
    s(x) = sqrt(x (1 - x) + 0.001)

`B` smooths over pixels, as neighbours move together: otherwise images get a grain that no real one
has. By `s` black and white stay what they are, as in the last layer of a generator. `eta` falls to
0 as the distance falls to that of the noise: who came nearer would have its features.

Nothing here is given private data, only the noisy embedding: it is post-processing.

References:
    Arbel, Korba, Salim & Gretton (2019), "Maximum mean discrepancy gradient flow" (moving examples
        down the gradient of the squared distance between their embedding and another).
    Neuberger (1997), "Sobolev gradients and differential equations" (smoothed gradients).
    Morozov (1966), "On the solution of functional equations by the method of regularization" (no
        nearer to noisy data than their noise).
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxdp.features.base import FeatureMap, squared_distance
from jaxdp.images.smoothing import smooth_rows
from jaxdp.methods.dp_ntk.released import Released
from jaxdp.methods.steps import Watch, unwatched
from jaxdp.numerics import ByBackend, side_by_side

# Images of a chunk: what stays in a CPU's cache, what fills a GPU. So many chunks, which a CPU
# computes side by side, move at one embedding of all images.
_CHUNK = ByBackend(cpu=16, accelerator=250)
_AT_ONCE = 2
# By held-out training images, as docs/tried.md tells. Lengths are those of a usual move of a pixel,
# whose range is 1; they end at 0 as a cosine does.
_LONGEST, _WIDTH = 0.03, 0.8
_LEAST_SLOPE, _TINY = 1e-3, 1e-30


class _Chunk(NamedTuple):
    """Places of rows (b,), and which class each is of, (c, b)."""

    at: np.ndarray
    of_class: np.ndarray


class _Aim(NamedTuple):
    """Where images are moved to, and what decides on how far.

    Attributes:
        mu: the released embedding.
        each: the weight of one image of each class.
        noise: expected squared norm of the embedding's noise.
    """

    mu: Float[Array, "c p"]
    each: Float[Array, " c"]
    noise: Float[Array, ""]


class _Mover(NamedTuple):
    """Compiled functions of a chunk of rows (b, d) and which class each is of, (c, b).

    What was released is an argument: compiled programs are kept, and hold public constants alone.

    Attributes:
        sums: of features, (c, p).
        step: `(rows, of_class, nu, length, aim) -> (rows, change of nu)`, moved; rows of no class,
            which fill up a chunk, change nothing.
    """

    sums: Callable[[ArrayLike, ArrayLike], Array]
    step: Callable[[ArrayLike, ArrayLike, Array, ArrayLike, _Aim], tuple[Array, Array]]


def moved(
    features: FeatureMap,
    rows: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    released: Released,
    *,
    shape: tuple[int, int, int],
    noise: float,
    passes: int,
    seed: int,
    watch: Watch = unwatched,
) -> Float[np.ndarray, "n d"]:
    """Return drawn images after so many moves of each.

    Args:
        features: the map that the embedding was made with; its features are computed.
        rows: of drawn images, in [0, 1].
        labels: the class that each was drawn for.
        released: the embedding.
        shape: height, width and channels, whose product is d.
        noise: expected squared norm of the embedding's noise.
        passes: moves of each image, >= 0.
        seed: public; of the order in which they are moved.
        watch: sees the numbers of chunks of images.

    Guarantee:
        Post-processing: no argument takes private data.
    """
    found = np.array(rows, np.float32)
    counts = np.bincount(labels, minlength=len(released.mu))
    each = np.asarray(released.class_weights, np.float32) / np.maximum(counts, 1)
    size = min(_CHUNK.here, len(found))
    aim = _Aim(jnp.asarray(released.mu), jnp.asarray(each), jnp.float32(noise))
    mover = _mover(features, aim, shape, size)
    num_chunks = -(-len(found) // size)
    nu = jnp.zeros(released.mu.shape, jnp.float32)
    drawn = _chunks(np.arange(len(found)), size, labels, len(counts))
    for part in side_by_side(lambda chunk: mover.sums(found[chunk.at], chunk.of_class), drawn):
        nu += part * each[:, None]
    rng = np.random.default_rng(seed)
    numbers = iter(watch(range(passes * num_chunks)))
    for number in range(passes):
        length = np.float32(_LONGEST * (1 + math.cos(math.pi * number / passes)) / 2)
        order = rng.permutation(len(found))
        chunks = list(_chunks(order, size, labels, len(counts)))
        for first in range(0, num_chunks, _AT_ONCE):
            some = chunks[first : first + _AT_ONCE]
            nu = _step(mover, found, some, nu, length, aim)
            for _ in some:
                next(numbers)
    next(numbers, None)  # the last part is counted when the next one is asked for
    return found


def _step(
    mover: _Mover,
    found: Float[np.ndarray, "n d"],
    chunks: list[_Chunk],
    nu: Array,
    length: np.float32,
    aim: _Aim,
) -> Array:
    """Move chunks of the images found where they lie, and return the embedding of all."""
    after = nu
    steps = side_by_side(
        lambda chunk: mover.step(found[chunk.at], chunk.of_class, nu, length, aim), chunks
    )
    for chunk, (rows, change) in zip(chunks, steps, strict=True):
        there = chunk.of_class.any(axis=0)
        found[chunk.at[there]] = np.asarray(rows)[there]
        after += change
    return after


def _mover(features: FeatureMap, aim: _Aim, shape: tuple[int, int, int], size: int) -> _Mover:
    """Return what moves chunks of a size."""
    sums = jax.vmap(features.weighted_sum, in_axes=(None, 0))

    def step(
        rows: Array, of_class: Array, nu: Array, length: Array, aim: _Aim
    ) -> tuple[Array, Array]:
        before, pull = jax.vjp(lambda rows: sums(rows, of_class), rows)
        (gradient,) = pull(nu - aim.mu)
        slope = jnp.sqrt(rows * (1 - rows) + _LEAST_SLOPE)
        ahead = slope * smooth_rows(gradient, shape=shape, width=_WIDTH)
        usual = jnp.sqrt(jnp.mean(ahead**2, axis=1, keepdims=True) + _TINY)
        after = jnp.clip(rows - _beyond(aim, nu) * length * ahead / usual, 0, 1)
        return after, (sums(after, of_class) - before) * aim.each[:, None]

    rows, of_class, length = (
        jax.ShapeDtypeStruct(form, jnp.float32)
        for form in ((size, math.prod(shape)), (len(aim.each), size), ())
    )
    # Compiled here for the threads that call them.
    return _Mover(
        jax.jit(sums).lower(rows, of_class).compile(),
        jax.jit(step).lower(rows, of_class, aim.mu, length, aim).compile(),
    )


def _beyond(aim: _Aim, nu: Float[Array, "c p"]) -> Float[Array, ""]:
    """Return which part of the squared distance is more than noise: 0 where nothing is."""
    distance = squared_distance(aim.mu, nu)
    return jnp.where(distance > aim.noise, 1 - aim.noise / jnp.maximum(distance, _TINY), 0.0)


def _chunks(order: np.ndarray, size: int, labels: np.ndarray, num_classes: int) -> Iterator[_Chunk]:
    """Yield chunks of one size; rows of no class fill up the last one."""
    for start in range(0, len(order), size):
        part = order[start : start + size]
        of_class = np.zeros((num_classes, size), np.float32)
        of_class[labels[part], np.arange(len(part))] = 1
        yield _Chunk(np.resize(part, size), of_class)
