"""Class-wise mean embeddings of labelled data under features of norm at most 1.

    mu_k = (1/n) sum_{i: y_i = k} phi(x_i),    |phi(x)| <= 1

Examples are worked through where they lie, so that another record in the place of one leaves
what is computed of all others as it was, to the last bit. Sums of float32 are rounded at every
addition, by what depends on all records. So no more than `_ROWS` examples are added up in float32,
their sums in float64 (`jaxdp.privacy.sums` has the bound); features that are known by factors are
added up in float64 alone.

References:
    Gretton et al. (2012), "A kernel two-sample test" (mean embeddings and MMD).
    Harder, Adamczewski & Park (2021), "DP-MERF", section 3 (class-wise embedding, n public).
    Higham (2002), "Accuracy and stability of numerical algorithms", section 4.2 (sums of m rows of
        norm 1 are off by m^2 2^-24 at most).
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxdp import devices, numerics, processes
from jaxdp.privacy import mechanism

# Examples that are added up in float32: two such sums are off by 3e-4 of one example together, and
# the margin that features keep below norm 1 covers it (`jaxdp.features.base`).
_ROWS = 50
# Examples of one class in a product of factors.
_TILE = 128


@runtime_checkable
class Features(Protocol):
    """What sums need of features of norm at most 1: see `jaxdp.features.base.FeatureMap`."""

    @property
    def dim(self) -> int: ...  # noqa: D102
    @property
    def weighted_sum(self) -> Callable[[Array, Array], Array]: ...  # noqa: D102
    @property
    def explicit(self) -> bool: ...  # noqa: D102
    @property
    def factors(self) -> Callable[[Array], Sequence[tuple[Array, Array]]] | None: ...  # noqa: D102


Watch = Callable[[Sequence[int]], Iterable[int]]
"""Yields numbers as they are, and may show how many have had their turn; it sees nothing else."""


class LabelledChunks(NamedTuple):
    """Examples with their classes, in chunks of as many as lie beside each other.

    Which examples share a chunk depends on n and the chunk size alone. Rows stay where they are,
    such as in a file, until their chunk has its turn.

    Attributes:
        x: (n, d) rows as stored.
        labels: (n,) classes, 0..c-1.
        chunk_size: b, what the last chunk is filled up to.
    """

    x: np.ndarray
    labels: np.ndarray
    chunk_size: int

    @property
    def num_chunks(self) -> int:
        """Return how many chunks there are."""
        return -(-len(self.labels) // self.chunk_size)

    def arrays(self, chunk: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a chunk's rows (b, d) and classes (b,): zeros and -1 where it is not full.

        Beyond the last one there are chunks of no examples.
        """
        rows = np.zeros((self.chunk_size, self.x.shape[1]), self.x.dtype)
        labels = np.full(self.chunk_size, -1, np.int32)
        places = slice(chunk * self.chunk_size, (chunk + 1) * self.chunk_size)
        size = len(self.labels[places])
        rows[:size], labels[:size] = self.x[places], self.labels[places]
        return rows, labels


def labelled_chunks(
    x: np.ndarray, labels: np.ndarray, *, num_classes: int, chunk_size: int
) -> LabelledChunks:
    """Return examples in chunks, without a copy of them.

    Args:
        x: (n, d).
        labels: (n,) in 0..c-1; a class may be empty.
        num_classes: c.
        chunk_size: b >= 1.

    Raises:
        ValueError: labels that do not fit, or a chunk size below 1.

    Guarantee:
        Each example appears once, and in which chunk and where there depends on its place alone.

    Examples:
        >>> import numpy as np
        >>> from jaxdp.privacy import labelled_chunks
        >>> x, labels = np.eye(3, dtype=np.float32), np.array([0, 1, 0])
        >>> chunks = labelled_chunks(x, labels, num_classes=2, chunk_size=2)
        >>> chunks.num_chunks, chunks.arrays(1)[1].tolist()
        (2, [0, -1])
    """
    labels = np.asarray(labels)
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be >= 1, got {chunk_size}")
    if labels.shape != (len(x),):
        raise ValueError(f"need one label per row, got {labels.shape} for {len(x)} rows")
    if np.any((labels < 0) | (labels >= num_classes)):
        raise ValueError(f"labels must be in 0..{num_classes - 1}")
    return LabelledChunks(x, labels, chunk_size)


def class_sums(
    features: Features, chunks: LabelledChunks, *, num_classes: int, watch: Watch = iter
) -> Float[Array, "c p"]:
    """Return `sum_{i: y_i = k} phi(x_i)` of every class k.

    Every device of this process takes chunks, two at once on a CPU; the call cannot be inside a
    `jit`. The result does not depend on how many devices there are. It is float64 also outside of
    jax's 64-bit mode, where numpy can work with it. `watch` sees the numbers of the chunks, how
    many of which there are is public. Where several processes share a run, `chunks` are of this
    one's examples and the sums of all.

    Guarantee:
        Replacing one example changes the result by at most 2 in Euclidean norm, and by at most the
        features' diameter; leaving one out in its place, by at most 1. That is so whatever the
        other examples are: the margin that features keep below norm 1 covers what rounding adds,
        where a weighted sum adds up one number of each example. Those of convolutional gradients
        add up one of each place of an image, and have no such bound on rounding.
        Padding and rows that are not finite contribute exactly zero.
    """
    with numerics.float64():
        sums = jnp.zeros((num_classes, features.dim), jnp.float64)
    numbers = watch(range(chunks.num_chunks))
    # The numbers end first: what fills up the last group adds nothing.
    for _, found in zip(numbers, _sums_of_chunks(features, chunks, num_classes), strict=False):
        with numerics.float64():
            sums = _added(sums, found)
    return processes.summed(sums)


def _sums_of_chunks(
    features: Features, chunks: LabelledChunks, num_classes: int
) -> Iterator[Array | np.ndarray]:
    """Yield the sums (c, p) of every chunk's features, in order, and then zeros.

    A group has as many chunks as there are devices, one for each.
    """
    several = devices.local_count()

    def group(first: int) -> list[Array]:
        arrays = zip(*(chunks.arrays(first + at) for at in range(several)), strict=True)
        return [jnp.asarray(np.stack(each)) for each in arrays]

    narrow, wide = (devices.on_each(each) for each in _of_chunk(features, num_classes))
    # Compiled here for the threads that call it. Features are computed without 64-bit mode, where
    # what they draw is another.
    first = group(0)
    parts: Callable[..., PyTree] = jax.jit(narrow).lower(*first).compile()
    like = jax.eval_shape(narrow, *first)
    with numerics.float64():
        total: Callable[..., Array] = jax.jit(wide).lower(like, first[1]).compile()

    def compute(first: int) -> Array:
        x, labels = group(first)
        return total(parts(x, labels), labels)

    starts = range(0, chunks.num_chunks, several)
    for sums in numerics.side_by_side(compute, starts):
        if several == 1:  # stays on its device, which goes on computing meanwhile
            yield sums
        else:
            yield from np.asarray(sums)[:, np.newaxis]


def _of_chunk(features: Features, num_classes: int) -> tuple[Callable[..., PyTree], ...]:
    """Return what is computed in float32 of a chunk, and what makes sums (c, p) of that in float64.

    Both are of one device's chunk, which is the only one along the first axis.
    """
    factors = features.factors

    def narrow(x: Array, labels: Array) -> PyTree:
        rows = x[0].astype(jnp.float32)
        if factors is None:
            return _sums_of_blocks(features, num_classes, rows, labels[0])[None]
        return jax.tree.map(lambda part: part[None], factors(rows))

    def wide(parts: PyTree, labels: Array) -> Array:
        if factors is None:
            return jnp.sum(parts.astype(jnp.float64), axis=1)
        pairs = jax.tree.map(lambda part: part[0], parts)
        return _products(pairs, labels[0], num_classes)[None]

    return narrow, wide


def _sums_of_blocks(
    features: Features, num_classes: int, x: Float[Array, "b d"], labels: Int[Array, " b"]
) -> Float[Array, "k c p"]:
    """Return the sums of every `_ROWS` examples beside each other."""
    sums = jax.vmap(features.weighted_sum, (None, 0))
    size, rows = len(x), min(len(x), _ROWS)
    blocks = -(-size // rows)
    if features.explicit:
        # Weights are 0 beyond a block: zeros are added without rounding.
        inside = np.arange(size) // rows == np.arange(blocks)[:, None]
        weights = inside[:, None] * _marks(labels, num_classes)
        return sums(x, weights.reshape(-1, size)).reshape(blocks, num_classes, -1)
    # What fills up the last block is of no class.
    x = jnp.pad(x, ((0, blocks * rows - size), (0, 0)))
    labels = jnp.pad(labels, (0, blocks * rows - size), constant_values=-1)
    return jax.lax.map(
        lambda block: sums(block[0], _marks(block[1], num_classes)),
        (x.reshape(blocks, rows, -1), labels.reshape(blocks, rows)),
    )


def _marks(labels: Int[Array, " b"], num_classes: int) -> Float[Array, "c b"]:
    return (labels == jnp.arange(num_classes)[:, None]).astype(jnp.float32)


def _products(
    pairs: Sequence[tuple[Array, Array]], labels: Int[Array, " b"], num_classes: int
) -> Float[Array, "c p"]:
    """Multiply factors in float64, class by class: in which order they are added matters not."""

    def add(total: list[Array], tile: tuple[Array, Array]) -> tuple[list[Array], None]:
        places, label = tile
        return [
            each.at[label].add(_product(left, right, places))
            for each, (left, right) in zip(total, pairs, strict=True)
        ], None

    shapes = [(left.shape[-1], right.shape[-1]) for left, right in pairs]
    start = [jnp.zeros((num_classes, *shape), jnp.float64) for shape in shapes]
    total, _ = jax.lax.scan(add, start, _tiles(labels, num_classes))
    return jnp.concatenate([each.reshape(num_classes, -1) for each in total], axis=1)


def _product(left: Array, right: Array, places: Int[Array, " t"]) -> Float[Array, "r o"]:
    left, right = (
        each.at[places].get(mode="fill", fill_value=0).astype(jnp.float64).reshape(-1, width)
        for each, width in ((left, left.shape[-1]), (right, right.shape[-1]))
    )
    return jnp.matmul(left.T, right, precision="highest")


def _tiles(
    labels: Int[Array, " b"], num_classes: int
) -> tuple[Int[Array, "k t"], Int[Array, " k"]]:
    """Return the places of a chunk's examples in tiles of one class each, and the tiles' classes.

    How many tiles there are depends on public sizes alone. A place of b is none.
    """
    size = len(labels)
    tile = min(_TILE, size)
    count = size // tile + num_classes
    marks = labels[:, None] == jnp.arange(num_classes)
    ends = jnp.cumsum(-(-jnp.sum(marks, axis=0) // tile))
    first = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]])
    before = jnp.cumsum(marks, axis=0)[jnp.arange(size), labels] - 1
    # Rows of no class come after all places, where they are dropped.
    slots = jnp.where(labels < 0, count * tile, first[labels] * tile + before)
    places = jnp.full(count * tile, size).at[slots].set(jnp.arange(size), mode="drop")
    classes = jnp.searchsorted(ends, jnp.arange(count), side="right")
    return places.reshape(count, tile), jnp.minimum(classes, num_classes - 1)


@functools.partial(jax.jit, donate_argnums=0)
def _added(sums: Array, parts: Array) -> Array:
    return sums + jnp.sum(parts, axis=0)


def release_sums(
    key: Key[Array, ""],
    features: Features,
    chunks: LabelledChunks,
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
        One Gaussian release: leaving one example out in its place moves the sums by at most 1 in
        Euclidean norm, replacing one by at most the features' diameter, and independent noise,
        drawn in float64, is added to every entry. Nothing else of the data is returned.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxdp import features
        >>> from jaxdp.privacy import labelled_chunks, private_key, release_sums
        >>> x, labels = np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1])
        >>> chunks = labelled_chunks(x, labels, num_classes=2, chunk_size=2)
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
