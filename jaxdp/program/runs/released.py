"""What a run has released: written once, and read again where a flag names it."""

from pathlib import Path
from typing import Any

from jaxdp.methods import record
from jaxdp.methods.stored import Form, Stored
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.runs.release_log import ReleaseLog
from jaxdp.saved import released


def write(log: ReleaseLog, name: str, form: Form, stored: Stored[Any]) -> None:
    """Write a release with everything that is needed to use it, once.

    Args:
        log: of the run; the file is noted before it can be seen.
        name: of the file.
        form: how such a release is kept.
        stored: the release.
    """
    log.write(name, record.release_bytes(form, stored))


def read(path: str | Path, form: Form) -> Stored[Any]:
    """Read the release that the flag of its form names.

    Raises:
        InputError: there is no such file, or it is not what its flag asks for.
    """
    flag = str(form.flag)  # without one no run names such a file
    return released.read(user_path(path, flag), form, f"--{flag}={path}")
