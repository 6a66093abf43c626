"""Compiled programs are kept between runs: most of the time to a first step is compilation.

A program is a function of settings and shapes. Private data are its arguments and never constants
in it, so neither a kept program nor its name tells anything of them; a test runs every driver on
two datasets and finds that the second one adds no program. Whoever may write to the folder may have
their code run: it is the user's own.
"""

import contextlib
import importlib.metadata
import os
import warnings
from pathlib import Path

from jaxdp.saved.cache_folder import cache_folder

_MOST_BYTES, _MOST_FILES, _LAST_WRITTEN = 2**30, 20_000, 2
# A kept program of jax 0.5.3 returned a state without its steps, on CPUs.
_OLDEST_JAX = (0, 10)
# Most programs are tiny, and there are a hundred of them to a first step.
_SETTINGS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def is_right() -> bool:
    """Return whether kept programs of the installed jax do what was compiled."""
    version = importlib.metadata.version("jax").split(".")
    return tuple(map(int, version[:2])) >= _OLDEST_JAX


def use() -> None:
    """Let jax keep programs, unless the environment says where; before jax is imported."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or not is_right():
        return
    folder = cache_folder() / "programs"
    with contextlib.suppress(OSError, RuntimeError):  # no home, or one that cannot be written
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(folder, os.W_OK):
            os.environ.update(_SETTINGS | {"JAX_COMPILATION_CACHE_DIR": str(folder)})
            _remove_unreadable(folder)
            _make_room(folder)
    # Where the disk is full, or another run makes room.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")


def _remove_unreadable(folder: Path) -> None:
    """Remove what jax cannot read: it would compile that in every run, and never write it anew.

    Earlier versions wrote zlib. A killed run may have left what it last wrote, on two cores two
    programs at most, half written.
    """
    import zstandard  # after all that ends a command sooner

    files = [(each.stat(), Path(each)) for each in os.scandir(folder)]
    files.sort(key=lambda each: each[0].st_mtime_ns)
    for place, (stat, path) in enumerate(files, _LAST_WRITTEN - len(files)):
        with path.open("rb") as file:
            begins = file.read(len(zstandard.FRAME_HEADER))
            rest = file.read() if place >= 0 else None
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # this was no use of it
        try:
            if begins != zstandard.FRAME_HEADER:
                path.unlink()
            elif rest is not None:
                zstandard.ZstdDecompressor().decompress(begins + rest)
        except zstandard.ZstdError:
            path.unlink()


def _make_room(folder: Path) -> None:
    """Remove the programs that were not used for longest until the others are few and small enough.

    Where jax does that itself it looks through all of them whenever it adds one. Another run that
    is about to read one of these compiles it anew.
    """
    files = [(each.stat(), each.path) for each in os.scandir(folder)]
    files.sort(key=lambda each: each[0].st_atime, reverse=True)
    left = _MOST_BYTES
    for number, (stat, path) in enumerate(files):
        left -= stat.st_size
        if left < 0 or number >= _MOST_FILES:
            with contextlib.suppress(OSError):  # another run has removed it
                os.unlink(path)
