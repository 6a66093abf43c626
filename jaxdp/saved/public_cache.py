"""Arrays that are computed from public seeds alone, kept between runs.

They stand in the user's own cache folder. `jaxdp cache` lists and
removes them.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp import new_files
from jaxdp.methods.steps import Watch, unwatched
from jaxdp.saved.cache_folder import cache_folder
from jaxdp.saved.files import open_plain

MOST_BYTES = 2**29
_HEADER = 128  # bytes of a file beside its array
_PART_SECONDS = 24 * 3600


def cached(
    description: dict[str, Any],
    compute: Callable[[Watch], np.ndarray],
    *,
    watch: Watch = unwatched,
) -> np.ndarray:
    """Return the array that a description stands for, computed only where it is not kept.

    A file that cannot be read is computed anew; where none can be written, none is. All arrays
    together take at most 512 MB: those that were not used for longest give way.

    Args:
        description: everything that the array depends on, as JSON.
        compute: makes it, from public constants.
        watch: shows how many parts of that are done.
    """
    text = json.dumps(description, sort_keys=True)
    path = cache_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):
        with open_plain(path) as file:
            kept = np.load(file, allow_pickle=False)
        with contextlib.suppress(OSError):
            os.utime(path)
        return kept
    array = np.asarray(compute(watch))
    with contextlib.suppress(OSError):
        _write(path, text, array)
    return array


def _write(path: Path, description: str, array: np.ndarray) -> None:
    if array.nbytes > MOST_BYTES:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _make_room(array.nbytes + _HEADER)
    temporary = path.with_suffix(f".{os.getpid()}.part.npy")
    try:
        with new_files.opened(temporary) as file:
            np.save(file, array)
        new_files.write(path.with_suffix(".json"), description.encode())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _make_room(num_bytes: int) -> None:
    """Remove the arrays that were not used for longest until so many bytes more are few enough."""
    now, newest_first = time.time(), sorted(files(), key=lambda each: -each[1].st_mtime)
    for path, stat in newest_first:
        if path.name.endswith(".part.npy"):
            # Another run may be writing it.
            if now - stat.st_mtime > _PART_SECONDS:
                remove(path)
            continue
        num_bytes += stat.st_size
        if num_bytes > MOST_BYTES:
            remove(path)


def files() -> list[tuple[Path, os.stat_result]]:
    """Return what is kept."""
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(cache_folder().glob("*.npy")):
            with contextlib.suppress(OSError):  # another run has removed it
                found.append((path, path.stat()))
    return found


def remove(path: Path) -> None:
    """Remove an array."""
    with contextlib.suppress(OSError):
        path.unlink()
        path.with_suffix(".json").unlink()
