"""A packed run, one zip file, unpacked to be read: `jaxdp pack` writes it."""

import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from jaxdp.methods.settings import InputError
from jaxdp.saved.files import open_plain
from jaxdp.saved.npz import max_bytes

SUFFIX = ".zip"
_MOST_FILES = 10_000
_BLOCK = 2**20
# What a run leaves is noisy, or compressed before: it becomes hardly smaller. Texts of a table that
# are nearly all the same become a hundred times smaller at most.
_LITTLE, _MOST_TIMES = 2**26, 200
# Unpacked zip files stay until the program ends: what was loaded from them may read on.
_UNPACKED: list[tempfile.TemporaryDirectory[str]] = []


def is_packed(path: Path) -> bool:
    """Whether a path is of a zip file, by its name."""
    return path.suffix == SUFFIX and path.is_file()


def folder_of(path: Path, flag: str) -> Path:
    """Return the folder of a run: the path itself, or what a zip file holds.

    Args:
        path: of a folder or of a zip file.
        flag: that names it, with its value.

    Raises:
        InputError: the zip file is none that `jaxdp pack` writes.
    """
    if not is_packed(path):
        return path
    target = tempfile.TemporaryDirectory(prefix="jaxdp-")
    _UNPACKED.append(target)
    try:
        with open_plain(path) as file, zipfile.ZipFile(file) as packed:
            top = _unpack(packed, Path(target.name))
    except OSError as error:
        target.cleanup()
        raise InputError(f"{flag}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # what damaged zip files raise is not limited to what is documented
        target.cleanup()
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{flag}: is not a file that jaxdp packs ({reason})") from None
    return Path(target.name) / top


def remove(folder: Path) -> None:
    """Remove what a zip file was unpacked to, as `folder_of` returned it: it was refused."""
    for unpacked in _UNPACKED:
        if Path(unpacked.name) == folder.parent:
            unpacked.cleanup()


def _unpack(packed: zipfile.ZipFile, target: Path) -> str:
    """Write all files into a folder; return the name of the one folder that they are in."""
    members = [info for info in packed.infolist() if not info.is_dir()]
    if not members or len(members) > _MOST_FILES:
        raise ValueError(f"it holds {len(members)} files")
    size = sum(info.file_size for info in members)
    if size > max_bytes():
        raise ValueError("its files take more than half of the memory")
    packed_size = sum(info.compress_size for info in members)
    if size > _LITTLE + _MOST_TIMES * packed_size:
        raise ValueError(f"its files take {size} bytes of {packed_size}, as nothing made does")
    tops, seen = set(), set()
    for info in members:
        parts = PurePosixPath(info.filename).parts
        kind = stat.S_IFMT(info.external_attr >> 16)
        if len(parts) < 2 or not all(map(_is_plain, parts)) or kind not in (0, stat.S_IFREG):
            raise ValueError("it holds what is no plain file of a run")
        if info.filename.casefold() in seen:  # on some systems the same file
            raise ValueError("it holds two files of one name")
        seen.add(info.filename.casefold())
        tops.add(parts[0])
        if len(tops) > 1:
            raise ValueError("it holds more than one folder")
        place = target.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        with packed.open(info) as source, place.open("xb") as file:
            shutil.copyfileobj(source, file, _BLOCK)
    return tops.pop()


def _is_plain(part: str) -> bool:
    shown = part.isprintable()  # or it would steer a terminal
    return part not in ("", ".", "..") and shown and not any(mark in part for mark in "/\\:\0")
