"""The file that --out names."""

import os
from pathlib import Path

from jaxdp import new_files
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError


def require(path: str, *, suffix: str) -> Path:
    """Return the path of the file that --out names, before there is anything to write.

    Args:
        path: as given.
        suffix: that the name gets where it has another.

    Raises:
        InputError: it is no name of a file, there is one already, which may be somebody's data, or
            it is in a folder that cannot be written.
    """
    target = user_path(path, "out")
    if not target.name:
        raise InputError(f"--out={path}: is no name of a file")
    target = target if target.suffix == suffix else target.with_name(f"{target.name}{suffix}")
    try:
        if target.is_dir():
            raise InputError(f"--out={path}: is a folder; name a file")
        if os.path.lexists(target):
            raise InputError(f"--out={path}: {target} is there; remove it, or name another file")
        if not target.parent.is_dir():
            raise InputError(f"--out={path}: there is no folder {target.parent}; make it first")
        probe = new_files.part_of(target)
        probe.touch(exist_ok=False)
        probe.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--out={path}: cannot be written ({reason})") from error
    return target


def write(path: str, data: bytes, *, suffix: str) -> Path:
    """Write the file that --out names, whole or not at all; return its path.

    Args:
        path: as given.
        data: all of the content.
        suffix: that the name gets where it has another.

    Raises:
        InputError: it cannot be written.
    """
    target = require(path, suffix=suffix)
    try:
        new_files.write(target, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--out={path}: cannot be written ({reason})") from error
    return target
