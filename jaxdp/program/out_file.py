"""The file that --out names."""

import os
from pathlib import Path

from jaxdp import new_files
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError


def require_place(path: str) -> None:
    """Raise an `InputError` where the folder of the file that --out names is not there."""
    folder = user_path(path, "out").parent
    if not folder.is_dir():
        raise InputError(f"--out={path}: there is no folder {folder}; make it first")


def require(path: str, *, suffix: str, is_given: bool = True) -> Path:
    """Return the path of the file that --out names, before there is anything to write.

    Args:
        path: as given.
        suffix: that the name gets where it has another.
        is_given: whether somebody gave it; errors name no flag that nobody gave.

    Raises:
        InputError: it is no name of a file, there is one already, which may be somebody's data, or
            it is in a folder that cannot be written.
    """
    target = user_path(path, "out")
    where = f"--out={path}"
    if not target.name:
        raise InputError(f"{where}: is no name of a file")
    target = target if target.suffix == suffix else target.with_name(f"{target.name}{suffix}")
    if not is_given:
        where = str(target)
    try:
        if target.is_dir():
            raise InputError(f"{where}: is a folder; name a file{_by_flag(is_given)}")
        if os.path.lexists(target):
            there = f"{target} is there" if is_given else "is there"
            raise InputError(
                f"{where}: {there}; remove it, or name another file{_by_flag(is_given)}"
            )
        if not target.parent.is_dir():
            raise InputError(f"{where}: there is no folder {target.parent}; make it first")
        probe = new_files.part_of(target)
        probe.touch(exist_ok=False)
        probe.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{where}: cannot be written ({reason})") from error
    return target


def _by_flag(is_given: bool) -> str:
    return "" if is_given else " by --out"


def write(path: str, data: bytes, *, suffix: str, is_given: bool = True) -> Path:
    """Write the file that --out names, whole or not at all; return its path.

    Args:
        path: as given.
        data: all of the content.
        suffix: that the name gets where it has another.
        is_given: as for `require`.

    Raises:
        InputError: it cannot be written.
    """
    target = require(path, suffix=suffix, is_given=is_given)
    try:
        new_files.write(target, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        where = f"--out={path}" if is_given else str(target)
        raise InputError(f"{where}: cannot be written ({reason})") from error
    return target
