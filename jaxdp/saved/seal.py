"""SHA256SUMS: the digests of all files of a folder that was packed or exported.

`privacy.json` has the digest of this file, so whoever compares a fingerprint of `privacy.json` has
compared every file. Its form is the one that `sha256sum --check SHA256SUMS` reads.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from jaxdp.methods.card import NAME as CARD
from jaxdp.methods.record import CERTIFICATE, CONFIG
from jaxdp.methods.settings import InputError
from jaxdp.saved.files import MOST_JSON_BYTES, digest, open_plain
from jaxdp.saved.folder import SavedFolder

NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)")
# Of files that were packed before there was this list, these had no digest.
_BEFORE = (CONFIG, CARD)
_DESCRIPTION, _NUMBERS_OF_GENERATOR = "generator/description.json", "generator/variables"
_OF_FILE_MANAGERS = (".ds_store", "thumbs.db", "desktop.ini")
_GROUP, _GROUPS = 4, 5


def text(folder: Path) -> bytes:
    """Return the content of SHA256SUMS for what is in a folder now."""
    names = (name for name in names_in(folder) if name not in (NAME, CERTIFICATE))
    return "".join(f"{digest(folder / name)}  {name}\n" for name in names).encode()


def names_in(folder: Path) -> list[str]:
    """Return the names of everything in a folder that is no folder, in order."""
    found = (each for each in folder.rglob("*") if each.is_symlink() or not each.is_dir())
    return sorted(each.relative_to(folder).as_posix() for each in found)


def listed(folder: SavedFolder) -> dict[str, str]:
    """Return the digests that SHA256SUMS has, by name; none where a folder has no such file.

    Raises:
        InputError: it is gone, not the one that the certificate names, or no such list.
    """
    if not folder.has(NAME):
        return {}
    with open_plain(folder.checked(NAME)) as file:
        content = file.read(MOST_JSON_BYTES + 1)
    found = dict[str, str]()
    for line in content.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        name = "" if match is None else match[2]
        plain = PurePosixPath(name).as_posix() == name and name.isprintable()
        if match is None or not plain or name in found or not _is_inside(name):
            raise InputError(f"{folder.flag}: its {NAME} is no list of digests")
        found[name] = match[1]
    return found


def _is_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return not name.startswith("/") and ".." not in parts and "\\" not in name


def check(folder: SavedFolder, *, every: bool) -> None:
    """Check the files of a folder against SHA256SUMS, where it has one.

    Args:
        folder: that was packed or exported, or of a run.
        every: whether all that are there are checked; `config.json` always is.

    Raises:
        InputError: a file is not the one that is listed.
    """
    for name, told in listed(folder).items():
        path = folder.path / name
        if (every or name == CONFIG) and path.exists():
            try:
                found = digest(path)
            except OSError as error:
                raise InputError(f"{folder.flag}: {name} cannot be read ({error})") from error
            if found != told:
                raise InputError(f"{folder.flag}: {name} is not the file that {NAME} lists")


def require_whole(folder: SavedFolder, *, packed: bool) -> None:
    """Check that a folder holds what is listed, and nothing beside.

    Args:
        folder: that was packed or exported.
        packed: whether it is a zip file still; elsewhere a file manager may have left files of its
            own, where somebody has looked at it.

    Raises:
        InputError: a file is covered by no digest, or one that is listed is missing.
    """
    before = () if folder.has(NAME) else _BEFORE
    strangers = [
        name
        for name in uncovered(folder)
        if name not in before and (packed or not _of_file_manager(name))
    ]
    if strangers:
        raise InputError(f"{folder.flag}: holds {strangers[0]}, which is covered by no digest")
    gone = missing(folder)
    if gone:
        raise InputError(f"{folder.flag}: lacks {gone[0]}, which {NAME} lists")


def _of_file_manager(name: str) -> bool:
    return PurePosixPath(name).name.lower() in _OF_FILE_MANAGERS


def uncovered(folder: SavedFolder) -> list[str]:
    """Return the names of files in a folder of which there is no digest.

    The numbers of a generator have one in its description, where that has one itself.
    """
    known = {CERTIFICATE, NAME, *folder.digests, *listed(folder)}
    names = [name for name in names_in(folder.path) if name not in known]
    if folder.has(NAME) or not folder.has(_DESCRIPTION):
        return names
    return [name for name in names if not name.startswith(_NUMBERS_OF_GENERATOR)]


def missing(folder: SavedFolder) -> list[str]:
    """Return the names of files that SHA256SUMS lists and that are not there."""
    return [name for name in listed(folder) if not (folder.path / name).exists()]


def fingerprint(certificate: Mapping[str, Any]) -> str:
    """Return what two people compare by telephone: 80 bits of a certificate's SHA-256.

    It is of canonical JSON: sorted names, no spaces. Where the certificate names SHA256SUMS, it is
    of every file.

    Args:
        certificate: as it is stored in privacy.json.

    Examples:
        >>> from jaxdp.saved import seal
        >>> seal.fingerprint({"epsilon": 1.0, "delta": 1e-5})
        '19c5 1353 1c53 77b2 12a8'
    """
    canonical = json.dumps(certificate, sort_keys=True, separators=(",", ":"), allow_nan=False)
    found = hashlib.sha256(canonical.encode()).hexdigest()
    return " ".join(found[_GROUP * n : _GROUP * (n + 1)] for n in range(_GROUPS))
