"""Reading of npz files that anybody may have written."""

import zipfile
import zlib
from collections.abc import Container
from pathlib import Path

import numpy as np

# What numpy raises for files that are cut off, empty, damaged, or of another kind.
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


class UnreadableError(ValueError):
    """A file is not an npz file of plain arrays."""


def load(path: Path, names: Container[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file by name.

    Args:
        path: of the file.
        names: of the arrays that are read where they are there; all by default.

    Raises:
        FileNotFoundError: there is no such file.
        UnreadableError: it cannot be read.
    """
    try:
        with path.open("rb") as file:  # numpy.load leaks the file it opens if it cannot read it
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            wanted = [name for name in stored.files if names is None or name in names]
            return {name: np.asarray(stored[name]) for name in wanted}
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error
