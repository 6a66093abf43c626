"""Paths that flags name."""

import os
from pathlib import Path

from jaxdp.program.errors import InputError


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
