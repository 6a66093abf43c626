"""Features of whole splits, computed once before the first step."""

import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from tqdm import tqdm

_CHUNK = {"cpu": 128}
_CHUNK_ACCELERATOR = 2048
# Beyond this, features are computed again at every step instead of being kept.
MAX_BYTES = 8 * 2**30


def num_features(feature_fn: Callable[[Array], Array], dim: int) -> int:
    """Return how many features a row of `dim` values has."""
    return jax.eval_shape(feature_fn, jax.ShapeDtypeStruct((1, dim), jnp.float32)).shape[1]


def features_of(
    feature_fn: Callable[[Array], Array],
    rows: np.ndarray,
    *,
    description: str,
    dtype: type = np.float32,
) -> np.ndarray:
    """Return the features (n, p) of rows (n, d) as stored, chunk by chunk.

    Args:
        feature_fn: features of a chunk of rows as stored, row by row.
        rows: all rows, in the type they are stored in.
        description: what the progress bar says.
        dtype: float type that the features are kept in.
    """
    size = min(_CHUNK.get(jax.default_backend(), _CHUNK_ACCELERATOR), len(rows))
    compiled = jax.jit(lambda chunk: feature_fn(chunk).astype(dtype))
    features: np.ndarray | None = None
    with tqdm(
        total=len(rows), unit="row", desc=description, disable=not sys.stderr.isatty()
    ) as bar:
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            missing = size - len(chunk)  # the last chunk is filled up, not compiled again
            padded = np.pad(chunk, ((0, missing), (0, 0)))
            part = np.asarray(compiled(jnp.asarray(padded)))[: len(chunk)]
            if features is None:
                features = np.empty((len(rows), part.shape[1]), dtype)
            features[start : start + len(chunk)] = part
            bar.update(len(chunk))
    if features is None:
        raise ValueError("there are no rows")
    return features
