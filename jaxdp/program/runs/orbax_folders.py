"""Folders of orbax that anybody may have written, looked at before orbax reads them.

Orbax follows links and waits for pipes, and takes as much memory as arrays declare.
"""

import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from jaxdp.saved.files import json_file

_MOST_ENTRIES = 20_000
_METADATA = "_METADATA"
# What arrays may take beside the bytes of their files: zeros shrink, trained weights hardly.
_RATIO, _FREE, _LARGEST_VALUE = 100, 2**26, 8


def require_plain(folder: Path) -> None:
    """Raise unless a folder holds folders and plain files alone, and not too many.

    Raises:
        OSError: there is no such folder, or it cannot be read.
        ValueError: it is a link, or holds one, or something else that is no plain file.
    """
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise ValueError(f"{folder.name} is a link, or no folder")
    for number, entry in enumerate(_entries(folder)):
        if number >= _MOST_ENTRIES:
            raise ValueError(f"{folder.name} holds more than {_MOST_ENTRIES} files")
        if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
            raise ValueError(f"{entry.name} in {folder.name} is a link, or no plain file")


def require_own_names(folder: Path) -> None:
    """Raise unless the arrays of a folder, which `require_plain` has let pass, lie within it.

    Raises:
        OSError: it cannot be read.
        ValueError: an array's name would lead out, or what tells of the names is no JSON.
    """
    for entry in _entries(folder):
        if entry.name == _METADATA:
            _require_names(json_file(Path(entry.path)))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield what is below a folder, links not followed."""
    folders = [os.fspath(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def _require_names(metadata: Any) -> None:
    """Raise a `ValueError` where an array's name would lead out of the folder."""
    for value in metadata.values():
        if isinstance(value, dict):
            _require_names(value)
        for part in value if isinstance(value, list) else ():
            name = str(part.get("key")) if isinstance(part, dict) else ""
            if "/" in name or ".." in name:
                raise ValueError(f"it has an array of the name {name[:40]}")


def require_small(metadata: Any, folder: Path) -> None:
    """Raise a `ValueError` where arrays declare more memory than their files can have filled.

    Args:
        metadata: a pytree of what orbax tells of arrays, of which it has read none.
        folder: that holds them.
    """
    stored = sum(entry.stat().st_size for entry in _entries(folder) if entry.is_file())
    total = sum(_num_values(leaf) for leaf in jax.tree.leaves(metadata)) * _LARGEST_VALUE
    if total > _FREE + _RATIO * stored:
        raise ValueError(f"its arrays take {total / 1e9:.3g} GB, and their files {stored} bytes")


def _num_values(leaf: Any) -> int:
    chunk = getattr(getattr(leaf, "storage", None), "chunk_shape", None)
    return max(math.prod(shape) for shape in (leaf.shape, chunk or ()))
