"""The folder a run leaves behind: exclusive, atomic, resumable.

    distilled.npz  distilled.png  teacher.npz     results of distillation
    synthetic.npz  samples.png  embedding.npz  generator/    results of generation
    report.html                                   all of it on one page
    metrics.json  privacy.json  config.json       stable keys for scripts
    checkpoints/                                  orbax; states that the certificate covers

Every file appears whole or not at all: it is written beside its place, flushed to disk and
renamed. A lock that the operating system drops with the process keeps a second run out.
"""

import errno
import fcntl
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from experiments.errors import InputError

_LOCK = ".lock"
_CONFIG = "config.json"
_OWN_FILES = (
    "distilled.npz",
    "distilled.png",
    "synthetic.npz",
    "samples.png",
    "embedding.npz",
    "teacher.npz",
    "not_for_release.json",
    "report.html",
    "metrics.json",
    "privacy.json",
    _CONFIG,
)
_CHECKPOINTS = "checkpoints"
_GENERATOR = "generator"
_TEMPORARY = ".part"


class RunFolder:
    """An output folder that this process holds alone; use as a context manager."""

    def __init__(self, path: str | os.PathLike[str], *, resume: bool, overwrite: bool) -> None:
        """Check the folder without writing to it.

        Raises:
            InputError: it is a file, holds a run and neither `resume` nor `overwrite` is given,
                or holds files that no run has written.
        """
        self.path = Path(path).expanduser()
        self._overwrite = overwrite
        self._lock: TextIO | None = None
        if resume and overwrite:
            raise InputError("--resume and --overwrite: give one of the two, they contradict")
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"--out_dir={path}: is a file; name a folder")
        found = self._entries()
        if not found or (resume and _CONFIG in found):
            return
        if _CONFIG not in found:
            raise InputError(
                f"--out_dir={path}: the folder holds other files ({found[0]}) and no run; "
                "name an empty or a new folder"
            )
        if not overwrite:
            raise InputError(
                f"--out_dir={path}: already holds a run; give --resume to continue it, "
                "--overwrite to replace it, or another --out_dir"
            )

    def _entries(self) -> list[str]:
        if not self.path.exists():
            return []
        names = (p.name for p in self.path.iterdir())
        return sorted(n for n in names if n != _LOCK and not n.endswith(_TEMPORARY))

    @property
    def checkpoints(self) -> Path:
        """Where orbax keeps its checkpoints."""
        return self.path / _CHECKPOINTS

    @property
    def generator(self) -> Path:
        """Where orbax keeps the finished generator."""
        return self.path / _GENERATOR

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
            self._lock = (self.path / _LOCK).open("w")
        except OSError as error:
            raise InputError(
                f"--out_dir={self.path}: cannot be written ({error.strerror})"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise InputError(
                f"--out_dir={self.path}: in use, another run is writing there; "
                "wait for it or name another folder"
            ) from error
        self._remove_leftovers()
        if self._overwrite:
            self._remove_run()
        return self

    def _remove_leftovers(self) -> None:
        for leftover in self.path.glob(f"*{_TEMPORARY}"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()

    def _remove_run(self) -> None:
        # Whatever moment this is interrupted at, what is left is a whole run or an empty one:
        # checkpoints vanish at once, and config.json, which marks a run, goes last.
        for name in (_CHECKPOINTS, _GENERATOR):
            if (self.path / name).exists():
                (self.path / name).rename(self.path / f"{name}{_TEMPORARY}")
        for name in _OWN_FILES:
            (self.path / name).unlink(missing_ok=True)
        self._remove_leftovers()

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            (self.path / _LOCK).unlink(missing_ok=True)

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all.

        Raises:
            InputError: the disk is full.
        """
        temporary = self.path / f"{name}{_TEMPORARY}"
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path / name)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise InputError(
                    f"--out_dir={self.path}: no space left while writing {name}; free some and "
                    "give --resume"
                ) from error
            raise

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Write strict JSON: no NaN, no Infinity."""
        text = json.dumps(content, indent=2, allow_nan=False) + "\n"
        self.write_bytes(name, text.encode())

    def write_npz(self, name: str, **arrays: np.ndarray | np.generic) -> None:
        """Write a compressed npz without pickled objects."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        self.write_bytes(name, buffer.getvalue())

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return a JSON file of the run, or None where there is none."""
        path = self.path / name
        try:
            return json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise InputError(
                f"--out_dir={self.path}: {name} is not readable JSON; "
                "give --overwrite to start anew"
            ) from error

    def require_same_config(self, config: dict[str, Any]) -> None:
        """Raise an `InputError` where a stored run was started with other settings."""
        stored = self.read_json(_CONFIG)
        if stored is None:
            return
        for key, value in config.items():
            if stored.get(key) != value:
                raise InputError(
                    f"--{key}={value}: the run in --out_dir={self.path} was started with "
                    f"{key}={stored.get(key)}; resume with the same settings or give --overwrite"
                )
