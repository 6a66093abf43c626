"""Reading what anybody may have written: plain files only, and strict JSON objects."""

import errno
import hashlib
import io
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

_LARGEST = 2**63
MOST_JSON_BYTES = 2**24
"""A certificate beside ten thousand earlier runs has half of it."""


def open_plain(path: Path) -> io.BufferedReader:
    """Open a file for reading, but neither a pipe nor a device, which might never end.

    Raises:
        OSError: it is none, or cannot be read.
    """
    # Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    raise OSError(errno.EINVAL, "it is not a plain file", str(path))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        OSError: it is no plain file, or cannot be read.
    """
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_file(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; as `json_object`.

    Raises:
        OSError: it is no plain file, or cannot be read.
        ValueError: it is something else.
    """
    with open_plain(path) as file:
        return json_object(file.read(MOST_JSON_BYTES + 1))


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object of finite numbers, in UTF-8, in which no name is there twice.

    Raises:
        ValueError: it is something else, or larger than anything that a run writes.
    """
    if len(text) > MOST_JSON_BYTES:
        raise ValueError(f"it is larger than {MOST_JSON_BYTES >> 20} MB")
    try:
        found = json.loads(
            text if isinstance(text, str) else text.decode(),
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_bounded_whole,
            object_pairs_hook=_once,
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of two values of one name a person may see one, and json takes the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)[:40]} is there twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number


def _bounded_whole(text: str) -> int:
    if len(text) > 20 or abs(int(text)) >= _LARGEST:
        raise ValueError(f"{text[:20]}... is too large a number")
    return int(text)
