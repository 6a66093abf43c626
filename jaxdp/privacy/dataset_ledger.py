"""What all runs on one dataset have released: a file that they share, and that limits their sum.

`jaxdp.privacy.ledger_file` says what its lines are, and which changes of them are found. Lines are
only ever added, under a lock, and on disk before the call returns.

* A run is entered before it draws any noise. So a run that is killed has either released nothing
  or is in the file.
* A run that can be resumed keeps notes of what it has released. The digest of its next notes is
  in the file before anybody can see what they tell, and it is taken only from who has the last
  ones. So of two copies of a run one releases, and the other one is refused.
* A run that has finished releases nothing more.

A half-written last line is one whose run has not gone on; the next line takes its place. No clock
decides anything. The file may be a link to a file that is there, on a share for instance.
"""

import contextlib
import dataclasses
import datetime
import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxdp import new_files
from jaxdp.privacy import ledger_file
from jaxdp.privacy.ledger import Ledger, joint_epsilon, joint_relation
from jaxdp.privacy.ledger_file import Contents, Entry, TotalBudget

# Tens of thousands of runs; the whole file is read each time.
_MOST_BYTES = 2**26
# Noise is found by bisection, and epsilon may pass what was asked for in its last digits.
_CALIBRATED = 1 + 1e-6

SCHEMA = "schema"
"""What entries of a purchase have for a method."""


class BudgetExceededError(ValueError):
    """A run would release more of a dataset than its budget allows."""


class ReleasedElsewhereError(ValueError):
    """A run would release what its entry does not count: it has gone on elsewhere, or finished."""


class DatasetLedger:
    """The file of one dataset.

    Examples:
        >>> import secrets
        >>> from jaxdp.privacy import DatasetLedger, GaussianRelease, Ledger, TotalBudget
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> file = DatasetLedger("mine.jsonl")
        >>> budget = TotalBudget(epsilon=1.2, delta=1e-5)
        >>> earlier = file.enter(secrets.token_hex(16), "means", ledger, budget=budget)
        >>> file.enter(secrets.token_hex(16), "means", ledger)  # twice is beyond the budget
        Traceback (most recent call last):
            ...
        jaxdp.privacy.dataset_ledger.BudgetExceededError: ...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Name the file, which need not be there yet."""
        self.path = Path(path)

    def read(self) -> Contents:
        """Return what the file says; nothing where there is none.

        Raises:
            ValueError: it is no such file, or it was changed.
            OSError: it cannot be read.
        """
        try:
            with self._locked(os.O_RDONLY, fcntl.LOCK_SH) as file:
                return ledger_file.parsed(_content(file), self.path)[0]
        except FileNotFoundError:
            return Contents()

    def require_room(
        self,
        ledger: Ledger,
        *,
        name: str = "",
        budget: TotalBudget | None = None,
        persons: bool = False,
        schema: tuple[str, Ledger] | None = None,
    ) -> None:
        """Raise where a run may not be entered; nothing is written.

        Args:
            ledger: what it would release.
            name: of its entry, where it may be there already.
            budget: that is to hold from now on, at its delta or the file's if that is less; None
                for the one in the file.
            persons: whether somebody has declared how many records a person has at most.
            schema: as for `enter`.

        Raises:
            BudgetExceededError: it would exceed the budget.
            ValueError: as `read`, or runs in the file protect another unit.
        """
        contents, run = self.read(), Entry(name, "", "", ledger, persons)
        contents, _ = self._with_schema(contents, schema, persons)
        _require_room(contents, run, _at_least_delta(budget, contents), self.path)

    def require_left(self, budget: float | None, delta: float) -> None:
        """Raise where runs in the file have spent a budget already, whatever comes next.

        Args:
            budget: that is to hold; None for the one in the file.
            delta: of that budget, or more than the file's.

        Raises:
            BudgetExceededError: nothing of it is left.
            ValueError: as `read`.
        """
        contents = self.read()
        given = None if budget is None else TotalBudget(float(budget), delta)
        total = _at_least_delta(given, contents) or contents.budget
        others = [entry.ledger for entry in contents.entries]
        if total is None or not others:
            return
        spent = joint_epsilon(others, delta=total.delta)
        if spent >= total.epsilon:
            raise BudgetExceededError(
                f"--budget={total.epsilon:g}: earlier runs ({len(others)}) have spent {spent:.4g}, "
                f"all of it (at delta {total.delta:g}, {joint_relation(others)}, by {self.path}); "
                "raise it, or use again what they have released"
            )

    def enter(
        self,
        name: str,
        method: str,
        ledger: Ledger,
        *,
        budget: TotalBudget | None = None,
        persons: bool = False,
        notes: str | None = None,
        schema: tuple[str, Ledger] | None = None,
    ) -> tuple[Ledger, ...]:
        """Enter a run, before its first release; a run that is there already is not entered again.

        Args:
            name: 32 hexadecimal digits, drawn for this run alone.
            method: that releases.
            ledger: all that it releases.
            budget: that is to hold from now on; None for the one in the file.
            persons: whether somebody has declared how many records a person has at most.
            notes: digest of its notes, of a run that has begun to release; see `note`.
            schema: the name of the purchase of its schema, and what was released for that. It has
                an entry of its own, which is made if it is not there.

        Returns:
            The ledgers of all runs that were entered before it; not that of its own schema.

        Raises:
            BudgetExceededError: it would exceed the budget.
            ValueError: as `require_room`, or the entry has another ledger, or it has no noise.
            OSError: the file cannot be written.

        Guarantee:
            When this returns, the run and the budget are in the file, on disk. Of runs that are
            entered at the same time, each is checked against all that are before it. All that is
            returned protects what the run protects: persons, if `persons`.
        """
        run = Entry(name, method, _now(), ledger, persons, notes)
        if not ledger.is_private:
            raise ValueError("a run with no noise releases without limit; it is not entered")
        with self._adding(os.O_CREAT) as (contents, add):
            budget = _at_least_delta(budget, contents)
            contents, lines = self._with_schema(contents, schema, persons)
            _require_room(contents, run, budget, self.path)
            there = contents.find(name)
            if there is not None and there.ledger != ledger:
                raise ValueError(f"{self.path}: the run is in it, with other numbers")
            if budget is not None and budget != contents.budget:
                lines.append(ledger_file.budget_line(budget))
            if there is None:
                lines.append(ledger_file.entry_line(run))
            add(lines)
        return contents.before(name, but=None if schema is None else schema[0])

    def _with_schema(
        self, contents: Contents, schema: tuple[str, Ledger] | None, persons: bool
    ) -> tuple[Contents, list[dict[str, Any]]]:
        """Return what a file says with the purchase of a schema in it, and the lines that are new.

        Raises:
            ValueError: it is in it with other numbers.
        """
        if schema is None:
            return contents, []
        name, ledger = schema
        there = contents.find(name)
        if there is not None:
            if there.ledger != ledger:
                raise ValueError(f"{self.path}: what the schema cost is in it, with other numbers")
            return contents, []
        bought = Entry(name, SCHEMA, _now(), ledger, persons, finished={})
        lines = [ledger_file.entry_line(bought), ledger_file.finished_line(name, {})]
        return contents._replace(entries=(*contents.entries, bought)), lines

    def note(self, name: str, notes: str, *, before: str | None) -> None:
        """Note what a run is about to release, before anybody can see it.

        Args:
            name: of its entry.
            notes: digest of its notes with what it is about to release.
            before: digest of its notes so far; None where it has released nothing.

        Raises:
            ReleasedElsewhereError: it has finished, or its last notes are others, or its entry
                is gone: another copy of it has gone on, or the file was cut.
            ValueError: as `read`.
            OSError: the file cannot be written.

        Guarantee:
            Of all copies of a run that have the same notes, one can go on.
        """
        with self._adding() as (contents, add):
            run = contents.find(name)
            if run is None:
                raise ReleasedElsewhereError(f"{self.path}: the run is not in it any more")
            if run.finished is not None:
                raise ReleasedElsewhereError(f"{self.path}: the run has finished")
            if run.notes != before:
                raise ReleasedElsewhereError(f"{self.path}: the run has gone on elsewhere")
            add([ledger_file.notes_line(name, notes)])

    def finish(self, name: str, files: Mapping[str, str]) -> None:
        """Note that a run has finished; from then on it releases nothing more.

        Args:
            name: of its entry.
            files: SHA-256 of what it has left, by name.

        Raises:
            ReleasedElsewhereError: its entry is gone.
            ValueError: as `read`.
            OSError: the file cannot be written.
        """
        with self._adding() as (contents, add):
            run = contents.find(name)
            if run is None:
                raise ReleasedElsewhereError(f"{self.path}: the run is not in it any more")
            add([] if run.finished == files else [ledger_file.finished_line(name, files)])

    @contextlib.contextmanager
    def _adding(self, flags: int = 0) -> Iterator[tuple[Contents, Any]]:
        """Lock the file; give what it says, and a function that adds lines to it."""
        with self._locked(flags | os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as file:
            content = _content(file)
            contents, whole = ledger_file.parsed(content, self.path)

            def add(lines: list[dict[str, Any]]) -> None:
                if lines:
                    os.ftruncate(file, whole)  # a half-written line gives way
                    _append(file, ledger_file.added(content[:whole], lines))
                    if not whole:
                        new_files.flush_folder(self.path.parent)

            yield contents, add

    @contextlib.contextmanager
    def _locked(self, flags: int, lock: int) -> Iterator[int]:
        if self.path.is_symlink():
            flags &= ~os.O_CREAT
            if not self.path.exists():  # a new file would begin to count at nothing
                raise ValueError(
                    f"{self.path}: is a link to a file that is not there, on a share that is not "
                    "mounted for instance; put that right, or remove the link"
                )
        # Without O_NONBLOCK, opening a pipe waits for somebody at its other end.
        file = os.open(self.path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            status = os.fstat(file)
            if stat.S_ISDIR(status.st_mode):  # opened for writing, the system says so itself
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.path))
            if not stat.S_ISREG(status.st_mode):
                raise ValueError(f"{self.path}: is no plain file")
            if status.st_size > _MOST_BYTES:
                raise ValueError(
                    f"{self.path}: is larger than {_MOST_BYTES >> 20} MB, as no dataset ledger is; "
                    "name another one"
                )
            fcntl.flock(file, lock)
            yield file
        finally:
            os.close(file)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _content(file: int) -> bytes:
    with open(file, "rb", closefd=False) as reader:
        return reader.read()


def _append(file: int, added: bytes) -> None:
    """Append to a file, in one write that reaches the disk."""
    left = memoryview(added)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)


def _at_least_delta(budget: TotalBudget | None, contents: Contents) -> TotalBudget | None:
    """Return a budget at the least delta of any so far: a larger one would loosen it unsaid."""
    if budget is None or contents.budget is None:
        return budget
    return dataclasses.replace(budget, delta=min(budget.delta, contents.budget.delta))


def _require_room(contents: Contents, run: Entry, budget: TotalBudget | None, path: Path) -> None:
    """Raise where a run may not be entered, or not go on.

    Raises:
        BudgetExceededError: it would exceed the budget together with all others, before and after.
        ValueError: runs before it protect another unit.
    """
    ledger, earlier = run.ledger, contents.before(run.name)
    units = {each.records_per_person for each in earlier} - {ledger.records_per_person}
    if units:
        raise ValueError(
            f"{path}: holds runs for --records_per_person={units.pop()}, whose sum with one for "
            f"{ledger.records_per_person} is unknown; give that, or name another --ledger"
        )
    others = (entry for entry in contents.entries_before(run.name) if not entry.is_of_persons)
    if run.is_of_persons and any(others):
        raise ValueError(
            f"{path}: holds runs for which nobody has declared how many records a person has: they "
            "protect single records, and so does their sum with this one; leave "
            f"--records_per_person={ledger.records_per_person} out, or name another --ledger"
        )
    _require_budget(contents, run, budget or contents.budget, path)


def _require_budget(contents: Contents, run: Entry, budget: TotalBudget | None, path: Path) -> None:
    if budget is None:
        return
    others = [entry.ledger for entry in contents.entries if entry.name != run.name]
    spent = joint_epsilon((*others, run.ledger), delta=budget.delta)
    if spent > budget.epsilon * _CALIBRATED:
        so_far = joint_epsilon(others, delta=budget.delta) if others else 0.0
        which = "earlier" if contents.find(run.name) is None else "other"
        raise BudgetExceededError(
            f"--budget={budget.epsilon:g}: {which} runs ({len(others)}) have spent {so_far:.4g} of "
            f"it, and this one would make it {spent:.4g} (at delta {budget.delta:g}, "
            f"{joint_relation((*others, run.ledger))}, by {path}); lower --eps, or raise --budget"
        )
