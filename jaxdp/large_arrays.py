"""Arrays in memory, or in a file without a name where they are large."""

import errno
import math
import os
import tempfile

import numpy as np

_MOST_MEMORY = 1 / 4


class NoRoomError(Exception):
    """The folder for temporary files has too little room; the message says what was needed."""


def most_bytes() -> int:
    """Return how much an array may take of this machine's memory: a quarter."""
    return int(_MOST_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def empty(shape: tuple[int, ...], dtype: np.dtype | type) -> np.ndarray:
    """Return an array whose values are not set.

    One that takes more than a quarter of the machine's memory is mapped from a file in the folder
    for temporary files. The file has no name: nobody else finds it, and it ends with the program,
    however that ends.

    Raises:
        NoRoomError: the folder has too little room.

    Examples:
        >>> import numpy as np
        >>> from jaxdp import large_arrays
        >>> large_arrays.empty((2, 3), np.float32).shape
        (2, 3)
    """
    needed = math.prod(map(int, shape)) * np.dtype(dtype).itemsize  # numpy's numbers wrap around
    if needed <= most_bytes():
        return np.empty(shape, dtype)
    folder = tempfile.gettempdir()
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            _reserve(file.fileno(), needed)
        except (OSError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno not in (
                errno.ENOSPC,
                errno.EFBIG,
                errno.EDQUOT,
            ):
                raise
            raise NoRoomError(
                f"take {needed / 1e9:.3g} GB, more than a quarter of the memory, and {folder} has "
                "no room for them"
            ) from error
        return np.memmap(file, dtype, "r+", shape=shape)


def _reserve(file: int, size: int) -> None:
    """Bring an empty file to a size, with room on the disk where the system can tell."""
    if hasattr(os, "posix_fallocate"):  # macOS has none
        # Pages that a full disk cannot take later would end the program by a signal.
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)
