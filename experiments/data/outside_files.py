"""Reading what anybody may have written: plain files only, and strict JSON objects."""

import errno
import io
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from experiments.errors import InputError

_LARGEST = 2**63


def user_path(path: str | os.PathLike[str], flag: str) -> Path:
    """Return the path that a flag names, ~ replaced by the home folder.

    Raises:
        InputError: there is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"--{flag}={path}: there is no such home folder; write the path in full"
        ) from error


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
