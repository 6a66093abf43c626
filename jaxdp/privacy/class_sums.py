"""Class-wise mean embeddings of labelled data under features of norm at most 1.

    mu_k = (1/n) sum_{i: y_i = k} phi(x_i),    |phi(x)| <= 1

Examples are sorted by class and worked through in chunks of one class, so that a chunk touches one
row of the embedding.

References:
    Gretton et al. (2012), "A kernel two-sample test" (mean embeddings and MMD).
    Harder, Adamczewski & Park (2021), "DP-MERF", section 3 (class-wise embedding, n public).
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp import numerics
from jaxdp.features.base import FeatureMap

# Most classes that are written out one after the other.
_UNROLLED = 16


class ClassChunks(NamedTuple):
    """Examples sorted by class, in chunks of one class each.

    How many chunks there are depends on n, the number of classes and the chunk size alone: class
    counts stay private. Shard the second axis of `x` and `weights` to use several devices.

    Attributes:
        x: rows, zeros where a chunk is not full.
        weights: 1 for an example, 0 for padding.
        labels: each chunk's class.
    """

    x: Any
    weights: Any
    labels: Any


def arrange_by_class(
    x: np.ndarray, labels: np.ndarray, *, num_classes: int, chunk_size: int
) -> ClassChunks:
    """Sort examples by class into chunks (on the host, in the type they are stored in).

    Args:
        x: (n, d).
        labels: (n,) in 0..c-1; a class may be empty.
        num_classes: c.
        chunk_size: b >= 1.

    Raises:
        ValueError: labels that do not fit, or a chunk size below 1.

    Guarantee:
        Each example appears once, with weight 1, in a chunk of its class. The number of chunks is
        ceil(n / b) + c for whatever labels.
    """
    labels = np.asarray(labels)
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be >= 1, got {chunk_size}")
    if labels.shape != (len(x),):
        raise ValueError(f"need one label per row, got {labels.shape} for {len(x)} rows")
    if np.any((labels < 0) | (labels >= num_classes)):
        raise ValueError(f"labels must be in 0..{num_classes - 1}")
    count = -(-len(x) // chunk_size) + num_classes
    rows = np.zeros((count, chunk_size, x.shape[1]), x.dtype)
    weights = np.zeros((count, chunk_size), np.float32)
    classes = np.zeros(count, np.int32)
    chunk = 0
    for label in range(num_classes):
        members = np.flatnonzero(labels == label)
        for start in range(0, len(members), chunk_size):
            part = members[start : start + chunk_size]
            rows[chunk, : len(part)] = x[part]
            weights[chunk, : len(part)] = 1.0
            classes[chunk] = label
            chunk += 1
    return ClassChunks(rows, weights, classes)


def class_sums(
    features: FeatureMap, chunks: ClassChunks, *, num_classes: int
) -> Float[Array, "c p"]:
    """Return `sum_{i: y_i = k} phi(x_i)` of every class k: a chunk in float32, chunks in float64.

    Chunks go to the device one after another; the call cannot be inside a `jit`. The result is
    float64 also outside of jax's 64-bit mode, where numpy can work with it.

    Guarantee:
        Adding or removing one example changes one row by at most 1 in Euclidean norm; replacing
        one changes the result by at most 2, whatever the label. Padding and rows that are not
        finite contribute exactly zero. The margin that features keep below norm 1 covers that a
        change shifts later rows of its class between chunks, whose float32 sums round differently:
        that moved the sum of a million rows by up to 2e-4, and grows with the root of their number.
    """
    chunk_sum = jax.jit(lambda x, weights: features.weighted_sum(x.astype(jnp.float32), weights))
    with numerics.float64():
        sums = jnp.zeros((num_classes, features.dim), jnp.float64)
    for x, weights, label in zip(*chunks, strict=True):
        part = chunk_sum(jnp.asarray(x), jnp.asarray(weights))
        with numerics.float64():
            sums = _added(sums, jnp.asarray(label, jnp.int32), part)
    return sums


@functools.partial(jax.jit, donate_argnums=0)
def _added(sums: Array, label: Array, part: Array) -> Array:
    return sums.at[label].add(part.astype(sums.dtype))


def block_means(
    features: FeatureMap, x: Float[Array, "c b d"], class_weights: Float[Array, " c"]
) -> Float[Array, "c p"]:
    """Return `w_k (1/b) sum_j phi(x_kj)`, the embedding of b generated examples per class."""
    each = jnp.full(x.shape[1], 1 / x.shape[1], x.dtype)

    def of_class(block: tuple[Array, Array]) -> Array:
        rows, weight = block
        return features.weighted_sum(rows, weight * each)

    if x.shape[1] <= features.together:
        return jax.vmap(features.weighted_sum)(x, class_weights[:, None] * each)
    if features.inline and x.shape[0] <= _UNROLLED:
        return jnp.stack([of_class(block) for block in zip(x, class_weights, strict=True)])
    return jax.lax.map(of_class, (x, class_weights))


def squared_distance(mu: Float[Array, "c p"], nu: Float[Array, "c p"]) -> Float[Array, ""]:
    """Return `|mu - nu|^2`, the squared maximum mean discrepancy of two embeddings."""
    return jnp.sum((mu - nu) ** 2)
