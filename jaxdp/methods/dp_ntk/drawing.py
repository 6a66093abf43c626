"""Drawing examples from a trained generator: post-processing, in whatever number."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxdp.data import Codec, TableCodec
from jaxdp.methods.steps import Watch, unwatched
from jaxdp.networks import generators
from jaxdp.tables.obeying import obey

_CHUNK = 1000


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Generator:
    """A trained generator: `generator(labels, seed=1)` draws one example per label.

    Attributes:
        module: the network.
        variables: its weights.
        code_dim: length of a latent code.
        class_names: in the order of the labels.
        shape: of an example.
        codec: between [0, 1] and values as stored.
        class_weights: shares in which classes are drawn where nobody says; None for equal ones.
    """

    module: Any
    variables: Any
    code_dim: int
    class_names: tuple[str, ...]
    shape: tuple[int, ...]
    codec: Codec | TableCodec
    class_weights: tuple[float, ...] | None = None

    def rows(self, labels: np.ndarray, key: Array, *, watch: Watch = unwatched) -> np.ndarray:
        """Return one row in [0, 1] per label."""
        return draw_rows(
            self.module, self.variables, labels, key, code_dim=self.code_dim, watch=watch
        )

    def stored(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return rows in [0, 1] as examples, typed as the training data were."""
        found = self.codec.from_unit(rows).reshape(len(rows), *self.shape)
        if isinstance(self.codec, TableCodec):
            return obey(found, labels, self.codec.schema)
        return found

    def drawn(
        self, labels: np.ndarray, key: Array, *, watch: Watch = unwatched
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return examples as stored, and their rows in [0, 1] as the features see them."""
        rows = self.rows(labels, key, watch=watch)
        stored = self.stored(rows, labels)
        # Not what the network gives for a category, but the one that is written.
        return stored, self.codec.to_unit(stored) if isinstance(self.codec, TableCodec) else rows

    def __call__(self, labels: np.ndarray, *, seed: int) -> np.ndarray:
        """Return one example per label, scaled and typed as the training data were.

        Raises:
            ValueError: there are no labels, or they are not those of classes.
        """
        labels = checked_labels(labels, len(self.class_names))
        return self.stored(self.rows(labels, jax.random.key(seed)), labels)


def checked_labels(labels: Any, num_classes: int) -> np.ndarray:
    """Return labels (m,) of classes as int32.

    Raises:
        ValueError: there are no labels, or they are not those of classes.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"labels must be (m,) with m >= 1, got shape {labels.shape}")
    if labels.dtype.kind not in "iu":
        raise ValueError(f"labels must be whole numbers, got {labels.dtype}")
    if labels.min() < 0 or labels.max() >= num_classes:
        raise ValueError(f"labels must be in 0..{num_classes - 1}")
    return labels.astype(np.int32)


def draw_rows(
    module: Any,
    variables: Any,
    labels: np.ndarray,
    key: Array,
    *,
    code_dim: int,
    watch: Watch = unwatched,
) -> np.ndarray:
    """Return one generated row in [0, 1] per label, in chunks of one size."""
    size = min(_CHUNK, len(labels))
    chunk_rows = _program(module, code_dim)
    found = np.empty(0, np.float32)
    for number in watch(range(-(-len(labels) // size))):
        chunk = labels[number * size : (number + 1) * size]
        padded = jnp.asarray(np.resize(chunk, size))
        chunk_key = jax.random.fold_in(key, number)
        rows = np.asarray(chunk_rows(variables, chunk_key, padded))
        # All at once, as parts to join would take as much again. Not `empty`, which holds what was
        # in memory before: these rows are released, and private data have been there.
        if number == 0:
            found = np.zeros((len(labels), rows.shape[1]), rows.dtype)
        found[number * size : number * size + len(chunk)] = rows[: len(chunk)]
    return found


def _program(module: Any, code_dim: int) -> Callable[[Any, Array, Array], Array]:
    """Return the compiled map from weights, a key and labels to rows, the same for one network."""
    try:
        return _kept_program(module, code_dim)
    except TypeError:  # a network that a list describes has no hash
        return _new_program(module, code_dim)


def _new_program(module: Any, code_dim: int) -> Callable[[Any, Array, Array], Array]:
    @jax.jit
    def chunk_rows(variables: Any, chunk_key: Array, chunk: Array) -> Array:
        codes = generators.sample_codes(chunk_key, chunk, code_dim)
        rows, _ = generators.generate(module, variables, codes, chunk, train=False)
        return rows

    return chunk_rows


# Weights are arguments of a program: none is kept with it.
_kept_program = functools.lru_cache(maxsize=8)(_new_program)


def balanced_labels(class_weights: np.ndarray, count: int, *, seed: int) -> np.ndarray:
    """Return `count` classes in the given shares, exact up to one each, in random order."""
    weights = np.asarray(class_weights, np.float64)
    counts = np.floor(weights / weights.sum() * count + 1e-6).astype(int)
    order = np.argsort(-weights, kind="stable")
    counts[order[: count - counts.sum()]] += 1
    labels = np.repeat(np.arange(len(weights)), counts).astype(np.int32)
    return np.random.default_rng(seed).permutation(labels)
