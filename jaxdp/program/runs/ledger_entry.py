"""The entry of a run in the ledger of its dataset: made once, and known again on resumption.

config.json has the entry's name. A folder can be copied, restored or emptied, and that name with
it. So the ledger has the digest of the notes, released.json, that the run's folder must hold.
"""

import secrets
import sys
from collections.abc import Mapping
from typing import Any

from jaxdp.methods import bought_schema, certified
from jaxdp.methods.base import Plan
from jaxdp.privacy.dataset_ledger import ReleasedElsewhereError
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.ledger_file import UNKNOWN, Entry, TotalBudget
from jaxdp.program.errors import InputError
from jaxdp.program.runs import dataset_ledgers
from jaxdp.program.runs.folder import TEMPORARY, RunFolder

KEY = "ledger_entry"
"""Where config.json tells a run's name in the ledger of its dataset."""
NOTES = "released.json"
_ANEW = "a run without --resume, in a new folder, is counted as a new release"


class OvertakenError(InputError):
    """What a run would release is not counted, because a copy of it has gone on."""


class LedgerEntry:
    """The entry of a run; without a ledger, it does nothing."""

    def __init__(self, plan: Plan[Any], run_flags: Any, folder: RunFolder) -> None:
        """Find the ledger; nothing is written.

        Raises:
            InputError: the run has an entry, and no ledger is named.
        """
        self._plan, self._folder = plan, folder
        counted = certified.counted(plan)
        self._ledger = None if counted is None else dataset_ledgers.of_run(run_flags)
        self._budget = None
        if run_flags.budget is not None and counted is not None:
            self._budget = TotalBudget(run_flags.budget, counted.delta)
        config = (folder.read_json("config.json") if run_flags.resume else None) or {}
        self._stored = str(config[KEY]) if config.get(KEY) else None
        if counted is not None and self._ledger is None and self._stored is not None:
            given = "" if run_flags.ledger is None else f"={run_flags.ledger}"
            raise InputError(
                f"--ledger{given}: the run in {folder.path} is counted in a ledger, and what it "
                "goes on with would not be; name that file"
            )
        self._known: Entry | None = None
        self.name = self._stored or ""
        self.notes: str | None = None
        self.is_made = False

    @property
    def noted(self) -> dict[str, str]:
        """What config.json tells of it."""
        return {} if self._ledger is None else {KEY: self.name}

    def require_room(self) -> None:
        """Raise an `InputError` where the run may not be entered."""
        if self._ledger is not None:
            with dataset_ledgers.in_one_line(self._ledger):
                self._ledger.require_room(
                    self._counted,
                    name=self.name,
                    budget=self._budget,
                    persons=self._plan.spec.persons_declared,
                    schema=bought_schema.entry(self._plan.spec),
                )

    def require_releasable(self) -> None:
        """Raise an `InputError` where earlier runs would keep the result from being released.

        One that is entered already goes on: what it spends is spent.
        """
        if self._ledger is None:
            return
        with dataset_ledgers.in_one_line(self._ledger):
            contents = self._ledger.read()
        schema = bought_schema.entry(self._plan.spec)
        earlier = contents.before(self.name, but=None if schema is None else schema[0])
        if self._stored and contents.find(self._stored) is not None:
            return
        reason = certified.kept_by(self._plan, earlier)
        if reason is not None:
            raise InputError(f"--ledger={self._path}: {reason}")

    def require_own_notes(self) -> None:
        """Find the entry of a resumed run; nothing is written. The folder is locked.

        A run whose entry is not in the ledger gets another name: it is entered anew.

        Raises:
            InputError: the ledger knows of releases that the folder does not.
        """
        if self._ledger is None:
            return
        with dataset_ledgers.in_one_line(self._ledger):
            contents = self._ledger.read()
        self._known = contents.find(self._stored) if self._stored else None
        if self._known is None:
            self.name = secrets.token_hex(16)
            self.notes = self._folder.digest_of(NOTES)
        elif self._known.notes == UNKNOWN:
            self.notes = self._notes_of_old_run()
        else:
            self.notes = self._known.notes
            self._require(self.notes)

    def _require(self, notes: str | None) -> None:
        found = self._folder.digest_of(NOTES)
        # A run that was killed had told the ledger of what it was about to note.
        next_ones = None if notes is None else self._folder.digest_of(f"{NOTES}{TEMPORARY}")
        if notes not in (found, next_ones or found):
            what = "no released.json" if found is None else "a released.json that is not the last"
            raise InputError(
                f"--resume: {self._path} counts releases of this run that {self._folder.path} does "
                f"not know: it has {what}. A copy of the folder has gone on, or files were removed "
                f"or restored; put them back, or start anew: {_ANEW}"
            )

    def _notes_of_old_run(self) -> str:
        """Return the digest of the notes of a run that was entered before ledgers had them.

        Raises:
            InputError: the run has not finished; how far its copies have gone on, nobody knows.
        """
        found = self._folder.digest_of(NOTES)
        if found is None or not (self._folder.read_json("metrics.json") or {}).get("finished"):
            raise InputError(
                f"--resume: the run in {self._folder.path} was entered into {self._path} by an "
                "earlier version, which did not tell there what it had released; finish it with "
                f"that version, or start anew: {_ANEW}"
            )
        return found

    def made(self) -> tuple[Ledger, ...] | None:
        """Enter the run; return what was entered before it, None where nobody counts."""
        if self._ledger is None:
            return None
        with dataset_ledgers.in_one_line(self._ledger):
            self._ledger.path.parent.mkdir(parents=True, exist_ok=True)
            earlier = self._ledger.enter(
                self.name,
                certified.method_name(self._plan),
                self._counted,
                budget=self._budget,
                persons=self._plan.spec.persons_declared,
                notes=self.notes,
                schema=bought_schema.entry(self._plan.spec),
            )
            if self._known is not None and self._known.notes == UNKNOWN:
                assert self.notes is not None
                self._ledger.note(self.name, self.notes, before=UNKNOWN)
                self._ledger.finish(self.name, {})  # whatever it does, it releases nothing more
        if self._stored is not None and self._known is None and self.notes is not None:
            print(
                f"WARNING: {self._path} does not have the entry of this run, which has released "
                "something: it is entered anew. Other entries may be missing, too; put the file "
                "back if it was cut or restored",
                file=sys.stderr,
            )
        # A run that goes on uses what it was entered with.
        once = (
            "" if self._known is None else " once, as it was entered before: --resume adds nothing"
        )
        print(f"this run is counted in {self._path}{once}", file=sys.stderr)
        self.is_made = True
        return earlier

    def note(self, notes: str) -> None:
        """Tell the ledger of the next notes, before anybody can see what they tell.

        Raises:
            OvertakenError: another copy of the run has gone on.
            InputError: the ledger cannot be written.
        """
        if self._ledger is None:
            return
        try:
            with dataset_ledgers.in_one_line(self._ledger):
                self._ledger.note(self.name, notes, before=self.notes)
        except InputError as error:
            if isinstance(error.__cause__, ReleasedElsewhereError):
                raise OvertakenError(
                    f"--out_dir={self._folder.path}: nothing more is released here, or it would "
                    f"not be counted ({error}); {_ANEW}"
                ) from error
            raise
        self.notes = notes

    def finish(self, files: Mapping[str, str]) -> None:
        """Tell the ledger that the run has finished, with the digests of what it has left."""
        if self._ledger is not None:
            with dataset_ledgers.in_one_line(self._ledger):
                self._ledger.finish(self.name, files)

    @property
    def _counted(self) -> Ledger:
        counted = certified.counted(self._plan)
        assert counted is not None
        return counted

    @property
    def _path(self) -> str:
        return "" if self._ledger is None else str(self._ledger.path)
