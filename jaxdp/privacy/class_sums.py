"""Class-wise mean embeddings of labelled data under features of norm at most 1.

    mu_k = (1/n) sum_{i: y_i = k} phi(x_i),    |phi(x)| <= 1

Examples are sorted by class and worked through in chunks of one class, so that a chunk touches one
row of the embedding.

References:
    Gretton et al. (2012), "A kernel two-sample test" (mean embeddings and MMD).
    Harder, Adamczewski & Park (2021), "DP-MERF", section 3 (class-wise embedding, n public).
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxdp import devices, numerics, processes
from jaxdp.privacy import mechanism


@runtime_checkable
class Features(Protocol):
    """What sums need of features of norm at most 1: how many there are, and their weighted sums."""

    @property
    def dim(self) -> int: ...  # noqa: D102
    @property
    def weighted_sum(self) -> Callable[[Array, Array], Array]: ...  # noqa: D102


Watch = Callable[[Sequence[int]], Iterable[int]]
"""Yields numbers as they are, and may show how many have had their turn; it sees nothing else."""


class ClassChunks(NamedTuple):
    """Examples sorted by class, in chunks of one class each.

    How many chunks there are depends on n, the number of classes and the chunk size alone: class
    counts stay private. Rows stay where they are, such as in a file, until their chunk has its
    turn.

    Attributes:
        x: (n, d) rows as stored.
        order: (n,) numbers of rows, class by class.
        starts: of each chunk, its first place in `order`.
        sizes: of each chunk, how many examples it has; 0 for one that is there for the count alone.
        labels: each chunk's class.
        chunk_size: b, what a chunk is filled up to.
    """

    x: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray
    chunk_size: int

    def arrays(self, chunk: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a chunk's rows (b, d), zeros where it is not full, and their weights (b,), 0 or 1.

        Beyond the last one there are chunks of no examples.
        """
        rows = np.zeros((self.chunk_size, self.x.shape[1]), self.x.dtype)
        weights = np.zeros(self.chunk_size, np.float32)
        if chunk < len(self.labels):
            start, size = self.starts[chunk], self.sizes[chunk]
            rows[:size] = self.x[self.order[start : start + size]]
            weights[:size] = 1.0
        return rows, weights


def arrange_by_class(
    x: np.ndarray, labels: np.ndarray, *, num_classes: int, chunk_size: int
) -> ClassChunks:
    """Sort examples by class into chunks, without a copy of them.

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

    Examples:
        >>> import numpy as np
        >>> from jaxdp.privacy import arrange_by_class
        >>> x, labels = np.eye(5, dtype=np.float32), np.array([0, 1, 0, 0, 1])
        >>> chunks = arrange_by_class(x, labels, num_classes=2, chunk_size=2)
        >>> chunks.labels, chunks.sizes
        (array([0, 0, 1, 0, 0], dtype=int32), array([2, 1, 2, 0, 0]))
    """
    labels = np.asarray(labels)
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be >= 1, got {chunk_size}")
    if labels.shape != (len(x),):
        raise ValueError(f"need one label per row, got {labels.shape} for {len(x)} rows")
    if np.any((labels < 0) | (labels >= num_classes)):
        raise ValueError(f"labels must be in 0..{num_classes - 1}")
    count = -(-len(x) // chunk_size) + num_classes
    starts, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    classes = np.zeros(count, np.int32)
    chunk = done = 0
    for label, members in enumerate(np.bincount(labels, minlength=num_classes)):
        for start in range(0, members, chunk_size):
            starts[chunk], classes[chunk] = done + start, label
            sizes[chunk] = min(chunk_size, members - start)
            chunk += 1
        done += members
    order = np.argsort(labels, kind="stable")
    return ClassChunks(x, order, starts, sizes, classes, chunk_size)


def class_sums(
    features: Features, chunks: ClassChunks, *, num_classes: int, watch: Watch = iter
) -> Float[Array, "c p"]:
    """Return `sum_{i: y_i = k} phi(x_i)` of every class k: a chunk in float32, chunks in float64.

    Every device of this process takes chunks, two at once on a CPU; the call cannot be inside a
    `jit`. The result does not depend on how many devices there are. It is float64 also outside of
    jax's 64-bit mode, where numpy can work with it. `watch` sees the numbers of the chunks, how
    many of which there are is public. Where several processes share a run, `chunks` are of this
    one's examples and the sums of all.

    Guarantee:
        Adding or removing one example changes one row by at most 1 in Euclidean norm; replacing
        one changes the result by at most 2, whatever the label. Padding and rows that are not
        finite contribute exactly zero. The margin that features keep below norm 1 covers that a
        change shifts later rows of its class between chunks, whose float32 sums round differently:
        that moved the sum of a million rows by up to 2e-4, and grows with the root of their number.
    """
    with numerics.float64():
        sums = jnp.zeros((num_classes, features.dim), jnp.float64)
    numbers = watch(range(len(chunks.labels)))
    # The numbers end first: what fills up the last group adds nothing.
    for at, found in zip(numbers, _sums_of_chunks(features, chunks), strict=False):
        with numerics.float64():
            sums = _added(sums, jnp.asarray(chunks.labels[at], jnp.int32), found)
    return processes.summed(sums)


def _sums_of_chunks(features: Features, chunks: ClassChunks) -> Iterator[Array]:
    """Yield the sum of every chunk's features, in order, and then zeros.

    A group has as many chunks as there are devices, one for each.
    """
    several = devices.local_count()

    def group(first: int) -> list[Array]:
        arrays = zip(*(chunks.arrays(first + at) for at in range(several)), strict=True)
        return [jnp.asarray(np.stack(each)) for each in arrays]

    def one(x: Array, weights: Array) -> Array:
        return features.weighted_sum(x[0].astype(jnp.float32), weights[0])[None]

    # Compiled here for the threads that call it.
    compiled: Callable[..., Array] = jax.jit(devices.on_each(one)).lower(*group(0)).compile()
    starts = range(0, len(chunks.labels), several)
    for sums in numerics.side_by_side(lambda first: compiled(*group(first)), starts):
        if several == 1:  # stays on its device, which goes on computing meanwhile
            yield sums[0]
        else:
            yield from (jnp.asarray(each) for each in np.asarray(sums))


@functools.partial(jax.jit, donate_argnums=0)
def _added(sums: Array, label: Array, part: Array) -> Array:
    return sums.at[label].add(part.astype(sums.dtype))


def release_sums(
    key: Key[Array, ""],
    features: Features,
    chunks: ClassChunks,
    *,
    num_classes: int,
    stddev: float,
    divisor: float,
    watch: Watch = iter,
) -> Float[Array, "c p"]:
    """Return the noisy sums of every class's features over a public constant.

    Args:
        key: of the noise, fresh and secret.
        features: `phi`, chosen without the data.
        chunks: the private data.
        num_classes: c.
        stddev: of the noise on every entry of the sums.
        divisor: public; noisy sums are divided by it before they are rounded to float32.
        watch: sees the numbers of the chunks, and nothing of what is in them.

    Raises:
        TypeError: the key is not of `mechanism.private_key`.

    Guarantee:
        One Gaussian release: adding or removing one example moves the exact sums by at most 1 in
        Euclidean norm, replacing one by at most the features' diameter, and independent
        noise, drawn in float64, is added to every entry. Nothing else of the data is returned.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxdp import features
        >>> from jaxdp.privacy import arrange_by_class, private_key, release_sums
        >>> x, labels = np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1])
        >>> chunks = arrange_by_class(x, labels, num_classes=2, chunk_size=2)
        >>> phi = features.unit_features(lambda rows: rows, 4)
        >>> release_sums(private_key(), phi, chunks, num_classes=2, stddev=5.0, divisor=4.0).shape
        (2, 4)
    """
    mechanism.require_private(key)
    sums = class_sums(features, chunks, num_classes=num_classes, watch=watch)
    return noisy_sums(key, sums, stddev=stddev, divisor=divisor)


def noisy_sums(
    key: Key[Array, ""], exact: Float[Array, "c p"], *, stddev: float, divisor: float
) -> Float[Array, "c p"]:
    """Return noisy sums over a public constant, row by row: a large one needs no second copy.

    Args:
        key: of the noise, fresh and secret.
        exact: sums, float64.
        stddev: of the noise on every entry of the sums.
        divisor: public; noisy sums are divided by it before they are rounded to float32.

    Raises:
        TypeError: the sums are not float64, or the key is not of `mechanism.private_key`.

    Guarantee:
        One Gaussian release: independent noise of this standard deviation is on every entry.
    """
    with numerics.float64():
        noisy = [
            mechanism.add_gaussian_noise(jax.random.fold_in(key, i), row, stddev=stddev) / divisor
            for i, row in enumerate(exact)
        ]
        rows = [row.astype(jnp.float32) for row in noisy]
    return jnp.stack(rows)
