"""What a run has let out, so that a resumed run never lets it out twice; released.json.

A release that is drawn again under the same certificate is a second release: two of them average
the noise away. So a run notes what it has released before anybody can see it:

1. What is to be seen is written beside its place, whole and flushed to disk: a file that is
   released, or the state after some steps of DP-SGD.
2. The notes that tell of it, with its digest, are written beside theirs.
3. The ledger of the dataset gets the digest of these notes, if it had that of the ones before.
4. The notes take their place, then what they tell takes its own.

A run that is killed before 3 has released nothing, and draws anew. One that is killed after it
finishes 4 when it is resumed. A copy of its folder, or a backup, has other notes than the ledger
knows by then, and cannot pass 3. Where a noted file, or the checkpoint of a noted step, is gone or
has changed, the run is refused.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxdp.methods import record
from jaxdp.new_files import rename_durably
from jaxdp.program.errors import InputError
from jaxdp.program.runs.folder import TEMPORARY, RunFolder
from jaxdp.program.runs.ledger_entry import NOTES as NAME
from jaxdp.program.runs.ledger_entry import LedgerEntry, OvertakenError
from jaxdp.saved.files import digest, open_plain

STATE = "state"
"""The state after the noted steps, beside the place of a checkpoint that is not there yet."""


class ReleaseLog:
    """The notes of one run."""

    def __init__(self, folder: RunFolder, entry: LedgerEntry | None = None) -> None:
        """Read the notes, and finish what a killed run had begun to release.

        Args:
            folder: of the run, locked.
            entry: of the run in the ledger of its dataset; None where nobody counts.

        Raises:
            InputError: a released file is gone or has changed, or the notes are no notes.
        """
        self._folder, self._entry = folder, entry
        told = None if entry is None else entry.notes
        if told is not None and told != folder.digest_of(NAME):
            self._take_place(NAME, told)
        stored = folder.read_json(NAME) or {"files": {}, "step": 0}
        files, step = stored.get("files"), stored.get("step")
        if not isinstance(files, dict) or type(step) is not int or step < 0:
            raise InputError(f"{folder.path / NAME}: is not what a run writes; start a new run")
        # Versions before noted no digest of the state.
        self._files, self._step, self._state = files, step, stored.get("state")
        for name, expected in files.items():
            self._take_place(name, expected)
            self._require(name, expected)
        folder.remove_leftovers(keep=(STATE,) if self._state else ())

    def _take_place(self, name: str, expected: str) -> None:
        path, part = self._folder.path / name, self._folder.path / f"{name}{TEMPORARY}"
        if (name == NAME or not path.exists()) and part.exists() and digest(part) == expected:
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
        """Write a released file: whole, noted before it can be seen, once.

        Raises:
            InputError: a copy of the run has gone on; nothing can be seen then.
        """
        if name in self._files:
            raise ValueError(f"{name} has been released before")
        found = hashlib.sha256(content).hexdigest()
        self._note(name, content, {**self._notes, "files": {**self._files, name: found}})
        rename_durably(self._folder.path / f"{name}{TEMPORARY}", self._folder.path / name)

    @contextlib.contextmanager
    def saving(self, step: int, state: bytes) -> Iterator[None]:
        """Note that steps are released, before their checkpoint is made in this context.

        Args:
            step: the last one.
            state: what the checkpoint is to hold; kept until it is there.

        Raises:
            InputError: a copy of the run has gone on; nothing can be seen then.
        """
        if step >= self._step:
            found = hashlib.sha256(state).hexdigest()
            self._note(STATE, state, {**self._notes, "step": step, "state": found})
        yield
        (self._folder.path / f"{STATE}{TEMPORARY}").unlink(missing_ok=True)

    @contextlib.contextmanager
    def unsaved(self) -> Iterator[tuple[int, bytes] | None]:
        """Give the noted step, and its state, where a killed run has made no checkpoint of it."""
        part = self._folder.path / f"{STATE}{TEMPORARY}"
        if self._state is None or not part.exists() or digest(part) != self._state:
            yield None
        else:
            with open_plain(part) as file:
                state = file.read()
            yield self._step, state
        part.unlink(missing_ok=True)

    def require_step(self, step: int, state: bytes | None = None) -> None:
        """Raise an `InputError` where a run would repeat steps that it has released.

        Args:
            step: that it would go on from.
            state: of that step; None where it was made from a finished result.
        """
        if step < self._step:
            raise InputError(
                f"--out_dir={self._folder.path}: steps up to {self._step} were released, and the "
                f"last checkpoint there is of step {step}; going on would release steps "
                f"{step + 1} to {self._step} a second time, beyond what privacy.json counts. Put "
                "checkpoints/ back, or start a new run in another folder"
            )
        found = None if state is None else hashlib.sha256(state).hexdigest()
        noted = (self._step, self._state)
        if found is not None and self._state is not None and (step, found) != noted:
            raise InputError(
                f"--out_dir={self._folder.path}: the checkpoint of step {step} is not the one that "
                f"was released, of step {self._step}; put checkpoints/ back, or start a new run in "
                "another folder"
            )

    def finish(self, files: dict[str, str]) -> None:
        """Tell the ledger that nothing more is released, with the digests of what is left."""
        if self._entry is not None:
            self._entry.finish(files)

    @property
    def _notes(self) -> dict[str, Any]:
        state = {} if self._state is None else {"state": self._state}
        return {"files": self._files, "step": self._step, **state}

    def _note(self, name: str, content: bytes, notes: dict[str, Any]) -> None:
        """Write what is to be seen beside its place, and note it."""
        text = record.json_bytes(notes)
        self._folder.write_part(name, content)
        self._folder.write_part(NAME, text)
        if self._entry is not None:
            try:
                self._entry.note(hashlib.sha256(text).hexdigest())
            except OvertakenError:
                for each in (name, NAME):
                    (self._folder.path / f"{each}{TEMPORARY}").unlink(missing_ok=True)
                raise
        rename_durably(self._folder.path / f"{NAME}{TEMPORARY}", self._folder.path / NAME)
        self._files, self._step = notes["files"], notes["step"]
        self._state = notes.get("state")


def _holds_something(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()
