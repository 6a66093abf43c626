"""What a run has let out, so that a resumed run never lets it out twice; released.json.

A release that is drawn again under the same certificate is a second release: two of them average
the noise away. So a run notes what it has released before anybody can see it:

* A released file is written beside its place, then its digest is noted, then it is renamed. A run
  that is killed in between finishes the renaming when it is resumed.
* Steps of DP-SGD are noted once their checkpoint is whole. Nothing shows a state before.

Where a noted file, or the checkpoint of a noted step, is gone or has changed, the run is refused.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.errors import InputError
from experiments.runs.folder import TEMPORARY, RunFolder, rename_durably
from jaxdp.saved.files import digest

NAME = "released.json"


class ReleaseLog:
    """The notes of one run."""

    def __init__(self, folder: RunFolder) -> None:
        """Read the notes, and finish what a killed run had begun to release.

        Raises:
            InputError: a released file is gone or has changed, or the notes are no notes.
        """
        self._folder = folder
        stored = folder.read_json(NAME) or {"files": {}, "step": 0}
        files, step = stored.get("files"), stored.get("step")
        if not isinstance(files, dict) or type(step) is not int or step < 0:
            raise InputError(f"{folder.path / NAME}: is not what a run writes; start a new run")
        self._files, self._step = files, step
        for name, expected in files.items():
            self._finish(name, expected)
            self._require(name, expected)

    def _finish(self, name: str, expected: str) -> None:
        path, part = self._folder.path / name, self._folder.path / f"{name}{TEMPORARY}"
        if not path.exists() and part.exists() and digest(part) == expected:
            rename_durably(part, path)

    def _require(self, name: str, expected: str) -> None:
        path = self._folder.path / name
        if not path.exists():
            raise InputError(
                f"{path}: was released and is gone; a new one would be a second release under the "
                "same certificate. Put the file back, or start a new run in another folder"
            )
        if digest(path) != expected:
            raise InputError(
                f"{path}: is not the file that was released; put that back, or start a new run in "
                "another folder"
            )

    def require_unless_begun(self, name: str, *results: str) -> None:
        """Raise an `InputError` where results are there, and what they were made from is not.

        Versions before 0.2.0 took no notes.
        """
        path = self._folder.path / name
        for result in results:
            if not path.exists() and _holds_something(self._folder.path / result):
                raise InputError(
                    f"{path}: is gone, and {result} was made from it; a new one would be a second "
                    "release. Put the file back, or start a new run"
                )

    def write(self, name: str, content: bytes) -> None:
        """Write a released file: whole, noted before it can be seen, once."""
        if name in self._files:
            raise ValueError(f"{name} has been released before")
        self._folder.write_part(name, content)
        self._files[name] = hashlib.sha256(content).hexdigest()
        self._write_notes()
        rename_durably(self._folder.path / f"{name}{TEMPORARY}", self._folder.path / name)

    @contextlib.contextmanager
    def saving(self, step: int) -> Iterator[None]:
        """Note, after the checkpoint of a step is whole, that steps up to it are released."""
        yield
        self._step = max(step, self._step)
        self._write_notes()

    def require_step(self, step: int) -> None:
        """Raise an `InputError` where a run would repeat steps that it has released."""
        if step < self._step:
            raise InputError(
                f"--out_dir={self._folder.path}: steps up to {self._step} were released, and the "
                f"last checkpoint there is of step {step}; going on would release steps "
                f"{step + 1} to {self._step} a second time, beyond what privacy.json counts. Put "
                "checkpoints/ back, or start a new run in another folder"
            )

    def _write_notes(self) -> None:
        content: dict[str, Any] = {"files": self._files, "step": self._step}
        self._folder.write_json(NAME, content)


def _holds_something(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()
