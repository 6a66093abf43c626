"""Writing files: never through a link, a pipe or another name of somebody's file.

A file that is there is not opened for writing. Its name is given to a new file.
"""

import contextlib
import io
import os
import secrets
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def opened(path: Path, *, mode: int = 0o666) -> io.BufferedWriter:
    """Open a new file for writing.

    Args:
        path: of the file; a file, a link or a pipe that is there loses this name, and stays as it
            is under its others.
        mode: its permissions, less those that the process withholds.

    Raises:
        OSError: a folder has the name, or the file cannot be made.
    """
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, _NEW, mode), "wb")


def write_part(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a new file, as `opened`, and flush it to disk; leave none where that fails."""
    try:
        with opened(path, mode=mode) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):  # a folder has the name
            path.unlink(missing_ok=True)
        raise


def rename_durably(source: Path, target: Path) -> None:
    """Rename a file, and flush its folder, so that the new name survives a loss of power."""
    source.replace(target)
    flush_folder(target.parent)


def flush_folder(path: Path) -> None:
    """Bring the names in a folder to the disk."""
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file whole or not at all: beside its place, under a name that nobody has, then there.

    Raises:
        OSError: it cannot be written; what is there stays.
    """
    part = part_of(path)
    write_part(part, content, mode=mode)
    try:
        rename_durably(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def part_of(path: Path) -> Path:
    """Return a path beside another one that nobody has."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
