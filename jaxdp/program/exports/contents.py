"""What may leave of a run, file by file: what its certificate has digests of, and how to use it.

A pack and every export hold it, beside forms for other programs, and are sealed in the end.
"""

import hashlib
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxdp.methods.base import Story
from jaxdp.methods.made import QUALITY
from jaxdp.methods.record import CERTIFICATE, CONFIG, json_bytes
from jaxdp.program.errors import InputError
from jaxdp.program.runs import generator_file  # imports flax
from jaxdp.program.runs.local_paths import without_folders
from jaxdp.saved import seal
from jaxdp.saved.files import open_plain
from jaxdp.saved.folder import SavedFolder
from jaxdp.saved.loading import Loaded

LICENCE = "LICENSE"
_MOST_BYTES = 2**24
_METHODS = ("dp_kip", "teacher", "dp_ntk", "dp_ntk.labels", "marginals")


def _stories() -> Iterator[Story]:
    for method in _METHODS:
        yield importlib.import_module(f"jaxdp.methods.{method}.story").STORY


def require_own_releases(folder: SavedFolder) -> None:
    """Raise an `InputError` where a release in a folder is of another run than its certificate.

    A release has a ledger of its own in it, which no digest in an edited certificate changes.
    """
    for method, story in zip(_METHODS, _stories(), strict=True):
        if story.released is not None and folder.is_there(story.released):
            form = importlib.import_module(f"jaxdp.methods.{method}.released").FORM
            folder.released(story.released, form)


def described() -> dict[str, str]:
    """Return what is in each file that a run of any method releases, by its name."""
    found: dict[str, str] = {}
    for story in _stories():
        found |= story.files
        found[story.picture] = "a picture of what was made"
    return found


def _released_names() -> set[str]:
    """Return the names of all files that a run of any method releases."""
    found = {QUALITY, generator_file.DESCRIPTION}
    for story in _stories():
        found |= {f"{story.result}.npz", f"{story.result}.csv", story.picture}
        found |= set() if story.released is None else {story.released}
    return found


def released(loaded: Loaded) -> dict[str, bytes]:
    """Return the files that the guarantee of a run is about, and its settings, by name.

    Raises:
        InputError: a file is not the one that the certificate is about, or of another run, or one
            of a kind that no run releases.
    """
    folder, known = loaded.folder, _released_names()
    require_own_releases(folder)
    found = {CONFIG: json_bytes(without_folders(folder.config))}
    for name in sorted(set(folder.digests) - {seal.NAME}):
        if name not in known:
            raise InputError(
                f"{folder.flag}: its {CERTIFICATE} names {name}, which no run releases; put back "
                "the one that the run has written"
            )
        if (folder.path / name).exists():
            found[name] = folder.content(name)
    if generator_file.DESCRIPTION in found:
        found |= _generator(loaded)
    return found


def _generator(loaded: Loaded) -> dict[str, bytes]:
    """Return the files of a generator, once they are those that its run has written."""
    folder = loaded.folder
    generator_file.read(folder.path, folder.flag, folder.certificate)
    if not generator_file.tells_files(folder.path):
        raise InputError(
            f"{folder.flag}: nothing tells which files in generator/ are its generator's; give its "
            "run --resume, which writes it again"
        )
    paths = generator_file.files(folder.path)
    return {path.relative_to(folder.path).as_posix(): path.read_bytes() for path in paths}


def licence(loaded: Loaded) -> bytes | None:
    """Return the licence with which the files were passed on; None without."""
    told = seal.listed(loaded.folder).get(LICENCE)
    if told is None:
        return None
    try:
        with open_plain(loaded.folder.path / LICENCE) as file:
            content = file.read(_MOST_BYTES)  # of a longer one the digest differs
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == told else None


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def sealed(folder: Path, loaded: Loaded, about: Mapping[str, Any]) -> str:
    """Write SHA256SUMS and the certificate into a folder that is complete but for them.

    The certificate is the one that was computed anew.

    Args:
        folder: whose files are listed.
        loaded: what the certificate is of.
        about: what it says beside.

    Returns:
        The fingerprint of all.
    """
    sums = seal.text(folder)
    (folder / seal.NAME).write_bytes(sums)
    digests = {**loaded.folder.digests, seal.NAME: hashlib.sha256(sums).hexdigest()}
    certificate = {**loaded.certificate.facts, **about, "sha256": digests}
    (folder / CERTIFICATE).write_bytes(json_bytes(certificate))
    return seal.fingerprint(certificate)
