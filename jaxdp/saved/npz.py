"""Reading of npz files that anybody may have written: plain arrays, never pickled objects.

What a file declares is checked before memory is taken for it: a small file can declare arrays
that no machine holds.
"""

import math
import os
import zipfile
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.saved.files import open_plain

_SUFFIX = ".npy"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class UnreadableError(ValueError):
    """A file is not an npz file of plain arrays."""


def load(path: Path, names: Container[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file by name.

    Args:
        path: of the file.
        names: of the arrays that are read where they are there; all by default.

    Raises:
        FileNotFoundError: there is no such file.
        UnreadableError: it cannot be read, or takes more than half of the machine's memory.
    """
    try:
        with open_plain(path) as file, zipfile.ZipFile(file) as stored:
            members = _members(stored, names)
            total = sum(info.file_size for info in members.values())
            if total > max_bytes():
                raise ValueError(
                    f"its arrays take {total / 1e9:.3g} GB, more than half of the memory"
                )
            return {name: _array(stored, name, info) for name, info in members.items()}
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error
    except Exception as error:  # what damaged files raise is not limited to what is documented
        reason = " ".join(str(error).split())[:200]
        raise UnreadableError(f"{type(error).__name__}: {reason}") from error


def max_bytes() -> int:
    """Return how much of the machine's memory what is read may take: half, as work needs more."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _members(stored: zipfile.ZipFile, names: Container[str] | None) -> dict[str, zipfile.ZipInfo]:
    """Return the members that hold the wanted arrays, by the arrays' names."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in stored.infolist():
        name = info.filename.removesuffix(_SUFFIX)
        if names is not None and name not in names:
            continue
        if name in found:
            raise ValueError(f"it holds two arrays of the name {name}")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _COMPRESSIONS:
            raise ValueError(f"{name} is encrypted, or compressed in a way that numpy does not use")
        found[name] = info
    return found


def _array(stored: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> np.ndarray:
    """Read one array whose header fits the bytes that are there."""
    with stored.open(info) as member:
        _check_header(member, name, info.file_size)
    with stored.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _check_header(member: Any, name: str, size: int) -> None:
    """Raise a `ValueError` unless an array has the size of its file: before numpy takes memory."""
    version = np.lib.format.read_magic(member)
    if version not in _HEADERS:
        raise ValueError(f"{name} is written in version {version} of numpy's format")
    shape, _, dtype = _HEADERS[version](member)
    if dtype.hasobject or dtype.names is not None or dtype.itemsize == 0:
        raise ValueError(f"{name} is no plain array, its type is {str(dtype)[:40]}")
    needed = member.tell() + math.prod(shape) * dtype.itemsize
    if needed != size or min(shape, default=0) < 0:
        raise ValueError(f"{name} declares {needed} bytes of shape {shape} and has {size}")
