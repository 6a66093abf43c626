"""The folder a run leaves behind: exclusive, atomic, resumable.

    distilled.npz  distilled.png  teacher.npz     results of distillation
    synthetic.npz  samples.png  embedding.npz  generator/    results of generation
    report.html                                   all of it on one page
    README.md                                     the card: what it is, and how to use it
    metrics.json  privacy.json  config.json       stable keys for scripts
    released.json                                 what has been let out (see release_log)
    checkpoints/ teacher_checkpoints/             orbax; states that the certificate covers

Every file appears whole or not at all: it is written beside its place, flushed to disk and
renamed. A lock that the operating system drops with the process keeps a second run out.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp import new_files
from jaxdp.methods import card, record
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError, StoppedError
from jaxdp.program.runs.local_paths import without_folders
from jaxdp.saved.files import digest, json_file

_LOCK = ".lock"
# What runs of before there were such settings had, and do not tell.
_UNTOLD = {
    **{"patches": 0, "teacher_patches": 0},
    **{"second_layer": 0, "teacher_second_layer": 0},
    **{"encoder": False, "teacher_encoder": False},
    **{"brightness": 0.0, "teacher_brightness": 0.0},
    **{"unit_norm": False, "teacher_unit_norm": False},
    **{"priors": "data", "teacher_priors": "data"},
    **{"relation": "zero-out", "quality_share": 0.0},
}
_CONFIG = "config.json"
OWN_FILES = (
    "distilled.npz",
    "distilled.csv",
    "distilled.png",
    "synthetic.npz",
    "synthetic.csv",
    "samples.png",
    "embedding.npz",
    "labelled.npz",
    "teacher.npz",
    "counts.npz",
    "quality.json",
    "not_for_release.json",
    "report.html",
    "metrics.json",
    "privacy.json",
    "released.json",
    _CONFIG,
)
"""Files that a run writes; `--overwrite` removes them."""
_COMPARISONS = (
    *("copies.json", "fidelity.json", "fidelity.html"),
    *("side_by_side.html", "ceiling.json"),
)
_CHECKPOINTS, _TEACHER_CHECKPOINTS = "checkpoints", "teacher_checkpoints"
_GENERATOR = "generator"
TEMPORARY = ".part"


def require_one(*, resume: bool, overwrite: bool) -> None:
    """Raise an `InputError` where a run is both to go on and to be replaced."""
    if resume and overwrite:
        raise InputError("--resume and --overwrite: give one of the two, they contradict")


class RunFolder:
    """An output folder that this process holds alone; use as a context manager."""

    def __init__(self, path: str | os.PathLike[str], *, resume: bool, overwrite: bool) -> None:
        """Check the folder without writing to it.

        Raises:
            InputError: it is a file, holds a run and neither `resume` nor `overwrite` is given,
                or holds files that no run has written.
        """
        self.path = user_path(path, "out_dir")
        self._resume, self._overwrite = resume, overwrite
        self._lock: int | None = None
        require_one(resume=resume, overwrite=overwrite)
        self._require_usable()

    def _require_usable(self) -> None:
        """Raise an `InputError` where the run may not write into the folder."""
        path = self.path
        try:
            if path.exists() and not path.is_dir():
                raise InputError(f"--out_dir={path}: is a file; name a folder")
            found = self._entries()
        except OSError as error:
            raise InputError(f"--out_dir={path}: cannot be read ({error.strerror})") from error
        if not found or (self._resume and _CONFIG in found):
            return
        if _CONFIG not in found:
            raise InputError(
                f"--out_dir={path}: the folder holds other files ({found[0]}) and no run; "
                "name an empty or a new folder"
            )
        if not self._overwrite:
            raise InputError(
                f"--out_dir={path}: already holds a run; give --resume to continue it, "
                "--overwrite to replace it, or another --out_dir"
            )

    def _entries(self) -> list[str]:
        if not self.path.exists():
            return []
        names = (p.name for p in self.path.iterdir())
        return sorted(n for n in names if n != _LOCK and not n.endswith(TEMPORARY))

    @property
    def checkpoints(self) -> Path:
        """Where orbax keeps its checkpoints."""
        return self.path / _CHECKPOINTS

    @property
    def teacher_checkpoints(self) -> Path:
        """Those of a teacher, beside those of the generator that is trained after it."""
        return self.path / _TEACHER_CHECKPOINTS

    @property
    def not_for_release(self) -> Path:
        """A folder beside it, for what is as private as the data."""
        path = Path(os.path.abspath(self.path))  # `.` has no name
        return path.with_name(f"{path.name}.not_for_release")

    def require_not_for_release(self) -> None:
        """Raise an `InputError` unless comparisons with private data can go beside the run."""
        path = self.not_for_release
        taken = path.is_symlink() or (path.exists() and not path.is_dir())
        if taken or (path / _CONFIG).exists():
            raise InputError(
                f"--out_dir={self.path}: {path} is where comparisons with private data go, and it "
                "is a link, a file or holds a run; name another --out_dir"
            )

    def write_not_for_release(self, name: str, content: bytes) -> Path:
        """Write a file into the folder beside, for its owner alone; return its path."""
        self.require_not_for_release()
        self.not_for_release.mkdir(mode=0o700, exist_ok=True)
        self.not_for_release.chmod(0o700)  # it may have been there
        path = self.not_for_release / name
        new_files.write(path, content)
        return path

    @property
    def generator(self) -> Path:
        """Where orbax keeps the finished generator."""
        return self.path / _GENERATOR

    def require_writable(self) -> None:
        """Raise an `InputError` where the folder cannot be written, or made."""
        whole = self.path.absolute()
        place = next(each for each in (whole, *whole.parents) if each.exists())
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            raise InputError(
                f"--out_dir={self.path}: cannot be written, as {place} is not a folder that you "
                "may write in; name another one"
            )

    def require_space(self, num_bytes: int) -> None:
        """Raise an `InputError` unless the disk has room for `num_bytes` more."""
        place = self.path
        while not place.exists():
            place = place.parent
        free = shutil.disk_usage(place).free
        if free < num_bytes:
            raise InputError(
                f"--out_dir={self.path}: no space, the run needs {num_bytes / 2**20:.0f} MB "
                f"and {free / 2**20:.0f} MB are free"
            )

    def __enter__(self) -> "RunFolder":
        """Create the folder, lock it, and remove an earlier run if it is to be replaced."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = self._opened_lock()
        except OSError as error:
            raise InputError(
                f"--out_dir={self.path}: cannot be written ({error.strerror})"
            ) from error
        try:
            is_mine = self._locked()
        except OSError as error:
            os.close(self._lock)
            raise InputError(
                f"--out_dir={self.path}: cannot be locked ({error.strerror}), so that another run "
                "could write there at once; name a folder on another disk"
            ) from error
        if not is_mine:
            os.close(self._lock)
            raise InputError(
                f"--out_dir={self.path}: in use, another run is writing there; "
                "wait for it or name another folder"
            )
        try:
            self._require_usable()  # another run may have ended here since
            self._require_own_folders()
            if self._overwrite:
                self._remove_run()
        except BaseException:
            self._unlock()
            raise
        return self

    def _opened_lock(self) -> int:
        """Open the lock, or make it.

        Raises:
            InputError: what is there is not a lock of a run, but somebody's.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        lock, found = -1, None
        try:
            lock = os.open(self.path / _LOCK, flags, 0o666)
            found = os.fstat(lock)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
        if found is None or not stat.S_ISREG(found.st_mode) or found.st_size > 0:
            if lock >= 0:
                os.close(lock)
            raise InputError(
                f"--out_dir={self.path}: {_LOCK} in it is no lock of a run, but a link, a folder "
                "or a file of somebody; remove it, or name another folder"
            )
        return lock

    def _require_own_folders(self) -> None:
        """Raise an `InputError` where what a run writes would go elsewhere, through a link."""
        for name in (_CHECKPOINTS, _TEACHER_CHECKPOINTS, _GENERATOR):
            if (self.path / name).is_symlink():
                raise InputError(
                    f"--out_dir={self.path}: {name} in it is a link, and would be written through; "
                    "put the folder itself there"
                )

    def _unlock(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):
                (self.path / _LOCK).unlink(missing_ok=True)
            os.close(self._lock)

    def _locked(self) -> bool:
        """Lock, unless another run has the lock, or has just removed the file with its own."""
        assert self._lock is not None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(self._lock)  # since when this run is here
            return os.path.samestat(os.fstat(self._lock), os.lstat(self.path / _LOCK))
        except (BlockingIOError, FileNotFoundError):
            return False

    def remove_leftovers(self, *, keep: Container[str] = ()) -> None:
        """Remove what a killed run has left half written.

        Args:
            keep: names of files that are to be finished.
        """
        for leftover in self.path.glob(f"*{TEMPORARY}"):
            if leftover.name.removesuffix(TEMPORARY) in keep:
                continue
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()

    def _remove_run(self) -> None:
        # Whatever moment this is interrupted at, what is left is a whole run or an empty one:
        # checkpoints vanish at once, and config.json, which marks a run, goes last.
        for name in (_CHECKPOINTS, _TEACHER_CHECKPOINTS, _GENERATOR):
            if (self.path / name).exists():
                (self.path / name).rename(self.path / f"{name}{TEMPORARY}")
        # Comparisons with private data would be those of a run that is gone.
        for path in map(self.not_for_release.joinpath, _COMPARISONS):
            if path.is_file():
                path.unlink()
        if card.may_write(self.path / card.NAME):
            (self.path / card.NAME).unlink(missing_ok=True)
        for name in OWN_FILES:
            (self.path / name).unlink(missing_ok=True)
        self.remove_leftovers()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Release the lock; say how to go on where the user or the disk has ended the run."""
        self._unlock()
        if isinstance(error, KeyboardInterrupt):
            raise StoppedError(self.path) from error
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            what = "" if error.filename is None else f" with {error.filename}"
            raise InputError(
                f"--out_dir={self.path}: {error.strerror or error}{what}; put that right and give "
                "--resume, nothing is lost"
            ) from error

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all.

        Raises:
            InputError: the disk is full.
        """
        self.write_part(name, content)
        new_files.rename_durably(self.path / f"{name}{TEMPORARY}", self.path / name)

    def write_part(self, name: str, content: bytes) -> None:
        """Write what is to become a file beside its place, flushed to disk.

        Raises:
            InputError: the disk is full.
        """
        temporary = self.path / f"{name}{TEMPORARY}"
        try:
            new_files.write_part(temporary, content)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise InputError(
                    f"--out_dir={self.path}: no space left while writing {name}; free some and "
                    "give --resume"
                ) from error
            raise

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Write strict JSON: no NaN, no Infinity."""
        self.write_bytes(name, record.json_bytes(content))

    def write_card(self, text: str) -> None:
        """Write README.md, unless somebody else has put one there."""
        if card.may_write(self.path / card.NAME):
            self.write_bytes(card.NAME, text.encode())

    def write_npz(self, name: str, **arrays: np.ndarray | np.generic) -> None:
        """Write a compressed npz without pickled objects."""
        self.write_bytes(name, record.npz_bytes(**arrays))

    def digest_of(self, name: str) -> str | None:
        """Return the SHA-256 of a file of the run, or None where there is none.

        Raises:
            InputError: it is no plain file, or cannot be read.
        """
        try:
            return digest(self.path / name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(
                f"--out_dir={self.path}: {name} cannot be read ({error.strerror})"
            ) from error

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return a JSON file of the run, or None where there is none."""
        try:
            return json_file(self.path / name)
        except FileNotFoundError:
            return None
        except (ValueError, OSError) as error:
            raise InputError(
                f"--out_dir={self.path}: {name} is not readable JSON ({error}); "
                "give --overwrite to start anew"
            ) from error

    def require_same_config(
        self, config: dict[str, Any], *, open_before: Container[str] = ()
    ) -> None:
        """Raise an `InputError` where a stored run was started with other settings.

        Args:
            config: as it would be stored now.
            open_before: settings that are not given, which earlier versions stored as null.
        """
        stored = self.read_json(_CONFIG)
        if stored is None:
            return
        # Versions before kept the folders of files, too.
        stored = _UNTOLD | without_folders(stored)
        for key, value in without_folders(config).items():
            if stored.get(key) is None and key in open_before:
                continue
            if stored.get(key) != value:
                raise InputError(
                    f"--{key}={value}: the run in --out_dir={self.path} was started with "
                    f"{key}={stored.get(key)}; resume with the same settings or give --overwrite"
                )
