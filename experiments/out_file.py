"""The file that --out names."""

import contextlib
import os
from pathlib import Path

from experiments.data.outside_files import user_path
from experiments.errors import InputError


def write(path: str, data: bytes, *, suffix: str) -> Path:
    """Write the file that --out names, whole or not at all; return its path.

    Args:
        path: as given.
        data: all of the content.
        suffix: that the name gets where it has another.

    Raises:
        InputError: it cannot be written.
    """
    target = user_path(path, "out")
    if not target.name:
        raise InputError(f"--out={path}: is no name of a file")
    target = target if target.suffix == suffix else target.with_name(f"{target.name}{suffix}")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--out={path}: cannot be written ({reason})") from error
    return target
