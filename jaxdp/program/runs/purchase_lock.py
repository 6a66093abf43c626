"""The lock of a purchase: of runs that would buy the schema of one table at once, one buys it."""

import contextlib
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from jaxdp.program.errors import InputError

_OPENED = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock beside the file of a purchase; wait while another run holds it.

    Its folder is made where it is missing. Where the lock can be made, so can the file.

    Args:
        path: of what is bought.

    Raises:
        InputError: there can be no lock.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error
    place = path.with_name(f".{path.name}.lock")
    lock = None
    while lock is None:
        lock = _locked(place, path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink()
        os.close(lock)


def _locked(place: Path, path: Path) -> int | None:
    """Return the lock, opened; None where a run that had it has removed its file meanwhile."""
    try:
        lock = os.open(place, _OPENED, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _no_lock(place) from error
        raise _not_written(path, error) from error
    try:
        found = os.fstat(lock)
        if not stat.S_ISREG(found.st_mode) or found.st_size > 0:
            raise _no_lock(place)
        _wait(lock, path)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(found, os.lstat(place)):
                return lock
    except OSError as error:
        os.close(lock)
        raise InputError(
            f"{place}: cannot be locked ({error.strerror}), so that another run could buy the same "
            "schema; name a file on another disk by --schema_out"
        ) from error
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _wait(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"{path}: another run buys it now; this one waits, and uses it then", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)


def _not_written(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path}: cannot be written ({error.strerror}); name another file by --schema_out"
    )


def _no_lock(place: Path) -> InputError:
    return InputError(
        f"{place}: is no lock of a purchase, but a link, a folder or a file of somebody; remove it"
    )
