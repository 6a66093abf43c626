"""The file that --out names."""

from pathlib import Path

from jaxdp import new_files
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError


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
    try:
        new_files.write(target, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--out={path}: cannot be written ({reason})") from error
    return target
