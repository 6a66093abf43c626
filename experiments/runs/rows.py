"""Features of whole splits, computed once before the first step, or once for several runs."""

import contextlib
import dataclasses
import errno
import hmac
import json
import math
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from tqdm import tqdm

from experiments.data.outside_files import open_plain, user_path
from experiments.errors import InputError

_CHUNK = {"cpu": 128}
_CHUNK_ACCELERATOR = 2048
# Beyond this, features are computed again at every step instead of being kept.
MAX_BYTES = 8 * 2**30
# How far kept features may be from new ones, in parts of the largest.
_TOLERANCE = 2e-3

FeatureFn = Callable[[Array], Array]


@dataclasses.dataclass(frozen=True)
class FeatureCache:
    """A folder that keeps features between runs; those of private data are private.

    Attributes:
        folder: where; files in it are readable by their owner alone.
        config: what the map is made from, as JSON.
        secret: keys the names of files: who lists the folder cannot tell whose features they hold.
    """

    folder: Path
    config: dict[str, Any]
    secret: bytes

    def path(self, rows: np.ndarray, dtype: type) -> Path:
        """Return the file of these rows under this map."""
        what = {"config": self.config, "dtype": np.dtype(dtype).name, "shape": list(rows.shape)}
        digest = hmac.new(self.secret, json.dumps(what, sort_keys=True).encode(), "sha256")
        digest.update(np.ascontiguousarray(rows).data)
        return self.folder / f"features_{digest.hexdigest()[:24]}.npy"


def cache_for(folder: str | None, config: dict[str, Any]) -> FeatureCache | None:
    """Return the cache that `--feature_cache` asks for.

    Raises:
        InputError: the folder cannot be made.
    """
    if folder is None:
        return None
    path = user_path(folder, "feature_cache")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret = _secret_of(path / ".secret")
    except OSError as error:
        raise InputError(f"--feature_cache={folder}: {error.strerror}") from error
    return FeatureCache(path, config, secret)


def _secret_of(path: Path) -> bytes:
    """Return the secret of a folder, drawn when it is first used; unreadable for others."""
    if not path.exists():
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        temporary.touch(mode=0o600)
        temporary.write_bytes(os.urandom(32))
        with contextlib.suppress(FileExistsError):  # another run was first
            os.link(temporary, path)
        temporary.unlink()
    with open_plain(path) as file:
        return file.read()


def num_features(feature_fn: FeatureFn, dim: int) -> int:
    """Return how many features a row of `dim` values has."""
    return jax.eval_shape(feature_fn, jax.ShapeDtypeStruct((1, dim), jnp.float32)).shape[1]


def features_of(
    feature_fn: FeatureFn,
    rows: np.ndarray,
    *,
    description: str,
    dtype: type = np.float32,
    cache: FeatureCache | None = None,
) -> np.ndarray:
    """Return the features (n, p) of rows (n, d) as stored, chunk by chunk.

    Kept features are mapped into memory where their first rows are what the map makes of them now:
    files of another version of the code, or cut short, are made anew.

    Args:
        feature_fn: features of a chunk of rows as stored, row by row.
        rows: all rows, in the type they are stored in.
        description: what the progress bar says.
        dtype: float type that the features are kept in.
        cache: where they are kept between runs.

    Raises:
        InputError: features cannot be written to the cache.
    """
    if len(rows) == 0:
        raise ValueError("there are no rows")
    compiled = jax.jit(lambda chunk: feature_fn(chunk).astype(dtype))
    size = min(_CHUNK.get(jax.default_backend(), _CHUNK_ACCELERATOR), len(rows))

    def part(start: int) -> np.ndarray:
        chunk = rows[start : start + size]
        missing = size - len(chunk)  # the last chunk is filled up, not compiled again
        padded = np.pad(chunk, ((0, missing), (0, 0)))
        return np.asarray(compiled(jnp.asarray(padded)))[: len(chunk)]

    first = part(0)
    shape = (len(rows), first.shape[1])

    def fill(features: np.ndarray) -> np.ndarray:
        features[:size] = first
        with tqdm(
            total=len(rows),
            initial=len(first),
            unit="row",
            desc=description,
            disable=not sys.stderr.isatty(),
        ) as bar:
            for start in range(size, len(rows), size):
                features[start : start + size] = part(start)
                bar.update(min(size, len(rows) - start))
        return features

    if cache is None:
        return fill(np.empty(shape, dtype))
    path = cache.path(rows, dtype)
    kept = _kept(path, shape, dtype, first)
    return _written(path, shape, dtype, fill) if kept is None else kept


def _kept(path: Path, shape: tuple[int, int], dtype: type, first: np.ndarray) -> np.ndarray | None:
    """Return the features in a file, or None where it does not hold these."""
    with contextlib.suppress(OSError, ValueError, EOFError):
        kept = np.load(path, mmap_mode="r", allow_pickle=False)
        if kept.shape == shape and kept.dtype == dtype:
            difference = np.abs(kept[: len(first)].astype(np.float32) - first).max()
            if difference <= _TOLERANCE * np.abs(first).max():
                return kept
    return None


def _written(
    path: Path,
    shape: tuple[int, int],
    dtype: type,
    fill: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Fill a new file, which takes its name when it is whole."""
    temporary = path.with_suffix(f".{os.getpid()}.part")
    needed = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        # A mapped file on a full disk would end the process by a signal, without a word.
        if needed > shutil.disk_usage(path.parent).free:
            raise OSError(errno.ENOSPC, f"needs {needed / 1e9:.2g} GB, more than is free")
        temporary.touch(mode=0o600)
        features = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        fill(features)
        features.flush()
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"--feature_cache={path.parent}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return features
