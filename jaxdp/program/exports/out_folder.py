"""The folder that --out names: it appears whole, or not at all."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError


def path_of(out: str) -> Path:
    """Return the path of a folder that is new or empty.

    Raises:
        InputError: it is a file, holds something, or cannot be looked at.
    """
    path = user_path(out, "out").absolute()
    try:
        if path.exists() and not path.is_dir():
            raise InputError(f"--out={out}: is a file; name a folder")
        if path.is_dir() and any(path.iterdir()):
            raise InputError(f"--out={out}: the folder is not empty; name a new one")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--out={out}: cannot be read ({reason})") from error
    return path


@contextlib.contextmanager
def written(out: str) -> Iterator[Path]:
    """Give an empty folder beside the place of --out, and put it there in the end.

    Raises:
        InputError: it cannot be written.
    """
    target = path_of(out)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part"))
        try:
            yield aside
            aside.chmod(0o755)  # mkdtemp makes it for its owner alone
            aside.replace(target)  # an empty folder gives way, another one does not
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(f"--out={out}: cannot be written ({error.strerror})") from error
