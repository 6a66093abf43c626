"""Arrays that are computed from public seeds alone, kept between runs.

`python -m experiments.runs.public_cache` lists them, and `--clear` removes them.
"""

import argparse
import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.program_cache import cache_folder

_MOST_BYTES = 2**29
_HEADER = 128  # bytes of a file beside its array
_PART_SECONDS = 24 * 3600


def cached(description: dict[str, Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the array that a description stands for, computed only where it is not kept.

    A file that cannot be read is computed anew; where none can be written, none is. All arrays
    together take at most 512 MB: those that were not used for longest give way.

    Args:
        description: everything that the array depends on, as JSON.
        compute: makes it, from public constants.
    """
    text = json.dumps(description, sort_keys=True)
    path = cache_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):
        kept = np.load(path, allow_pickle=False)
        with contextlib.suppress(OSError):
            os.utime(path)
        return kept
    array = np.asarray(compute())
    with contextlib.suppress(OSError):
        _write(path, text, array)
    return array


def _write(path: Path, description: str, array: np.ndarray) -> None:
    if array.nbytes > _MOST_BYTES:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _make_room(array.nbytes + _HEADER)
    temporary = path.with_suffix(f".{os.getpid()}.part.npy")
    try:
        np.save(temporary, array)
        path.with_suffix(".json").write_text(description)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _make_room(num_bytes: int) -> None:
    """Remove the arrays that were not used for longest until so many bytes more are few enough."""
    now, newest_first = time.time(), sorted(_files(), key=lambda each: -each[1].st_mtime)
    for path, stat in newest_first:
        if path.name.endswith(".part.npy"):
            # Another run may be writing it.
            if now - stat.st_mtime > _PART_SECONDS:
                _remove(path)
            continue
        num_bytes += stat.st_size
        if num_bytes > _MOST_BYTES:
            _remove(path)


def _files() -> list[tuple[Path, os.stat_result]]:
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(cache_folder().glob("*.npy")):
            with contextlib.suppress(OSError):  # another run has removed it
                found.append((path, path.stat()))
    return found


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
        path.with_suffix(".json").unlink()


def _line(path: Path, stat: os.stat_result) -> str:
    try:
        what = path.with_suffix(".json").read_text()
    except (OSError, ValueError):
        what = "kept by an earlier version"
    day = time.strftime("%Y-%m-%d", time.localtime(stat.st_mtime))
    return f"{stat.st_size / 1e6:8.1f} MB  {day}  {path.name}  {what}"


def main(arguments: Sequence[str] | None = None) -> int:
    """List the arrays that are kept, with the day of their last use, or remove them all."""
    parser = argparse.ArgumentParser(description="Public arrays that runs keep; none is private.")
    parser.add_argument("--clear", action="store_true", help="Remove them all.")
    clear = parser.parse_args(arguments).clear
    files = _files()
    for path, stat in files:
        if clear:
            _remove(path)
        else:
            print(_line(path, stat))
    total = sum(stat.st_size for _, stat in files)
    verb = "removed" if clear else f"of at most {_MOST_BYTES / 1e6:.0f} MB"
    print(f"{len(files)} arrays, {total / 1e6:.1f} MB {verb}, in {cache_folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
