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


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object of finite numbers.

    Raises:
        ValueError: it is something else.
    """
    try:
        found = json.loads(
            text, parse_constant=_finite, parse_float=_finite, parse_int=_bounded_whole
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number


def _bounded_whole(text: str) -> int:
    number = int(text)
    if abs(number) >= _LARGEST:
        raise ValueError(f"{text[:20]}... is too large a number")
    return number
