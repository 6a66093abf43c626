"""Drawing examples from a generator, and back from [0, 1] to how data are stored."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxdp.networks import generators

_CHUNK = 1000


def draw_rows(
    module: Any, variables: Any, labels: np.ndarray, key: Array, *, code_dim: int
) -> np.ndarray:
    """Return one generated row in [0, 1] per label, in chunks of one size."""
    size = min(_CHUNK, len(labels))

    @jax.jit
    def chunk_rows(variables: Any, chunk_key: Array, chunk: Array) -> Array:
        codes = generators.sample_codes(chunk_key, chunk, code_dim)
        rows, _ = generators.generate(module, variables, codes, chunk, train=False)
        return rows

    parts = []
    for number, start in enumerate(range(0, len(labels), size)):
        chunk = labels[start : start + size]
        padded = jnp.asarray(np.resize(chunk, size))
        chunk_key = jax.random.fold_in(key, number)
        parts.append(np.asarray(chunk_rows(variables, chunk_key, padded))[: len(chunk)])
    return np.concatenate(parts)


def as_stored(
    rows: np.ndarray, shape: Sequence[int], *, low: float, high: float, as_bytes: bool
) -> np.ndarray:
    """Return rows in [0, 1] as examples of a shape between `low` and `high`."""
    x = rows * (high - low) + low
    if as_bytes:
        x = np.clip(np.rint(x), 0, 255).astype(np.uint8)
    return x.reshape(len(x), *shape)


def balanced_labels(class_weights: np.ndarray, count: int, *, seed: int) -> np.ndarray:
    """Return `count` classes in the given shares, exact up to one each, in random order."""
    weights = np.asarray(class_weights, np.float64)
    counts = np.floor(weights / weights.sum() * count + 1e-6).astype(int)
    order = np.argsort(-weights, kind="stable")
    counts[order[: count - counts.sum()]] += 1
    labels = np.repeat(np.arange(len(weights)), counts).astype(np.int32)
    return np.random.default_rng(seed).permutation(labels)
