"""Features of whole splits, computed once before the first step, or once for several runs."""

import contextlib
import dataclasses
import errno
import hmac
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jaxdp import large_arrays, new_files
from jaxdp.methods.runner import PlainRunner, in_chunks
from jaxdp.methods.steps import RowMap
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.saved.files import open_plain

# How far kept features may be from new ones, in parts of the largest.
_TOLERANCE = 2e-3


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

    def path(self, rows: np.ndarray, dtype: DTypeLike) -> Path:
        """Return the file of these rows under this map."""
        what = {"config": self.config, "dtype": np.dtype(dtype).name, "shape": list(rows.shape)}
        digest = hmac.new(self.secret, json.dumps(what, sort_keys=True).encode(), "sha256")
        digest.update(np.ascontiguousarray(rows).data)
        return self.folder / f"features_{digest.hexdigest()[:24]}.npy"


def require_apart(folder: str | None, out_dir: Path) -> None:
    """Raise an `InputError` where `--feature_cache` would lie in the folder of a run.

    Guarantee:
        Features, which are as private as the data, are not among files that may leave.
    """
    if folder is not None:
        path, run = user_path(folder, "feature_cache").resolve(), out_dir.resolve()
        if path.is_relative_to(run):
            raise InputError(
                f"--feature_cache={folder}: lies in --out_dir={out_dir}, which is to be passed on; "
                "features are as private as the data, so name a folder elsewhere"
            )


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
        temporary = new_files.part_of(path)
        new_files.write_part(temporary, os.urandom(32), mode=0o600)
        with contextlib.suppress(FileExistsError):  # another run was first
            os.link(temporary, path)
        temporary.unlink()
    with open_plain(path) as file:
        return file.read()


def features_of(
    row_map: RowMap,
    rows: np.ndarray,
    *,
    description: str,
    cache: FeatureCache | None = None,
    runner: PlainRunner | None = None,
) -> np.ndarray:
    """Return the features (n, p) of rows (n, d) as stored, chunk by chunk.

    Without a cache, those that take more than a quarter of the memory are in a file without a name.
    Kept features are mapped into memory where their first rows are what the map makes of them now:
    files of another version of the code, or cut short, are made anew.

    Args:
        row_map: of rows as stored.
        rows: all rows, in the type they are stored in.
        description: what the progress bar says.
        cache: where they are kept between runs.
        runner: shows progress.

    Raises:
        InputError: features cannot be written to the cache, or take more room than there is.
    """
    runner = runner or PlainRunner()
    first, rest = in_chunks(row_map, rows)
    shape, dtype = (len(rows), first.shape[1]), first.dtype

    def fill(features: np.ndarray) -> np.ndarray:
        return runner.filled(features, first, rest, description)

    if cache is None:
        return fill(_empty(shape, dtype))
    path = cache.path(rows, dtype)
    kept = _kept(path, shape, dtype, first)
    return _written(path, shape, dtype, fill) if kept is None else kept


def _empty(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    try:
        return large_arrays.empty(shape, dtype)
    except large_arrays.NoRoomError as error:
        raise InputError(
            f"--feature_cache: the features of {shape[0]} examples {error}; name a folder that has "
            "room, or give another one as TMPDIR"
        ) from error


def _kept(
    path: Path, shape: tuple[int, int], dtype: np.dtype, first: np.ndarray
) -> np.ndarray | None:
    """Return the features in a file, or None where it does not hold these."""
    if not path.is_file():  # numpy would wait for a pipe
        return None
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
    dtype: np.dtype,
    fill: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Fill a new file, which takes its name when it is whole."""
    temporary = new_files.part_of(path)
    needed = math.prod(shape) * dtype.itemsize
    try:
        # A mapped file on a full disk would end the process by a signal, without a word.
        if needed > shutil.disk_usage(path.parent).free:
            raise OSError(errno.ENOSPC, f"needs {needed / 1e9:.2g} GB, more than is free")
        new_files.opened(temporary, mode=0o600).close()
        features = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        fill(features)
        features.flush()
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"--feature_cache={path.parent}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return features
