"""What all runs on one dataset have released: a file that they share, and that limits their sum.

A file has one JSON object a line, and lines are only ever added. A run adds its line before it
draws any noise, under a lock, and on disk before the call returns. So a run that is killed has
either released nothing or is in the file. A half-written last line is one whose run has not begun;
the next run removes it.

Every line holds the SHA-256 of all that stands before it: who changes a line, or takes one out of
the middle, is found. Who takes lines from the end, or keeps two files for one dataset, is not.
"""

import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jaxdp.privacy.ledger import Ledger, joint_epsilon, joint_relation

_FIRST = {"jaxdp": "dataset ledger", "version": 1}
_LONGEST = 200
_OTHER_THAN_WRITTEN = (
    *(ValueError, KeyError, TypeError, AttributeError),
    *(RecursionError, OverflowError),
)
_ENTRY, _BUDGET, _BEFORE, _PERSONS = "entry", "budget", "before", "persons"


class BudgetExceededError(ValueError):
    """A run would release more of a dataset than its budget allows."""


@dataclasses.dataclass(frozen=True)
class TotalBudget:
    """The most that all runs on a dataset may spend together.

    Attributes:
        epsilon: > 0; the relation is that of the sum, `jaxdp.privacy.ledger.joint_relation`.
        delta: in (0, 1), at which it is meant.

    Raises:
        ValueError: a number is out of range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and 0 < self.delta < 1):
            raise ValueError(f"a budget needs epsilon > 0 and delta in (0, 1), got {self}")


class Entry(NamedTuple):
    """One run.

    Attributes:
        name: 32 hexadecimal digits that nobody else has drawn.
        method: that has released.
        at: when it was entered, in UTC.
        ledger: what it releases.
        persons: whether somebody has declared how many records a person has at most.
    """

    name: str
    method: str
    at: str
    ledger: Ledger
    persons: bool = False

    @property
    def is_of_persons(self) -> bool:
        """Whether it protects all records of a person together."""
        return self.persons or self.ledger.records_per_person > 1


class Contents(NamedTuple):
    """What a file says: its runs in order, and the budget that was given last."""

    entries: tuple[Entry, ...] = ()
    budget: TotalBudget | None = None

    def before(self, name: str) -> tuple[Ledger, ...]:
        """Return the ledgers of the runs that were entered before one; of all if it is not."""
        return tuple(entry.ledger for entry in self.entries_before(name))

    def entries_before(self, name: str) -> tuple[Entry, ...]:
        """Return the runs that were entered before one; all if it is not."""
        names = [entry.name for entry in self.entries]
        return self.entries[: names.index(name) if name in names else len(names)]


class DatasetLedger:
    """The file of one dataset."""

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
                return _parsed(_content(file), self.path)[0]
        except FileNotFoundError:
            return Contents()

    def require_room(
        self,
        ledger: Ledger,
        *,
        name: str = "",
        budget: TotalBudget | None = None,
        persons: bool = False,
    ) -> None:
        """Raise where a run may not be entered; nothing is written.

        Args:
            ledger: what it would release.
            name: of its entry, where it may be there already.
            budget: that is to hold from now on; None for the one in the file.
            persons: whether somebody has declared how many records a person has at most.

        Raises:
            BudgetExceededError: it would exceed the budget.
            ValueError: as `read`, or runs in the file protect another unit.
        """
        _require_room(self.read(), Entry(name, "", "", ledger, persons), budget, self.path)

    def enter(
        self,
        name: str,
        method: str,
        ledger: Ledger,
        *,
        budget: TotalBudget | None = None,
        persons: bool = False,
    ) -> tuple[Ledger, ...]:
        """Enter a run, before its first release; a run that is there already is not entered again.

        Args:
            name: 32 hexadecimal digits, drawn for this run alone.
            method: that releases.
            ledger: all that it releases.
            budget: that is to hold from now on; None for the one in the file.
            persons: whether somebody has declared how many records a person has at most.

        Returns:
            The ledgers of all runs that were entered before it.

        Raises:
            BudgetExceededError: it would exceed the budget.
            ValueError: as `require_room`, or the entry has another ledger, or it has no noise.
            OSError: the file cannot be written.

        Guarantee:
            When this returns, the run is in the file, on disk. Of runs that are entered at the same
            time, each is checked against all that are before it. All that is returned protects
            what the run protects: persons, if `persons`.
        """
        run = Entry(name, method, _now(), ledger, persons)
        if not ledger.is_private:
            raise ValueError("a run with no noise releases without limit; it is not entered")
        with self._locked(os.O_RDWR | os.O_CREAT | os.O_APPEND, fcntl.LOCK_EX) as file:
            content = _content(file)
            contents, whole = _parsed(content, self.path)
            _require_room(contents, run, budget, self.path)
            there = {entry.name: entry.ledger for entry in contents.entries}
            if name not in there:
                os.ftruncate(file, whole)
                lines = [] if whole else [_FIRST]
                if budget is not None and budget != contents.budget:
                    lines.append({_BUDGET: dataclasses.asdict(budget)})
                lines.append(_line(run))
                _append(file, content[:whole], lines)
                if not whole:
                    _flush_folder(self.path.parent)
            elif there[name] != ledger:
                raise ValueError(f"{self.path}: the run is in it, with other numbers")
        return contents.before(name)

    @contextlib.contextmanager
    def _locked(self, flags: int, lock: int) -> Iterator[int]:
        # Without O_NONBLOCK, opening a pipe waits for somebody at its other end.
        file = os.open(self.path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise ValueError(f"{self.path}: is no plain file")
            fcntl.flock(file, lock)
            yield file
        finally:
            os.close(file)


def _line(run: Entry) -> dict[str, Any]:
    persons = {_PERSONS: True} if run.persons else {}
    return {
        _ENTRY: run.name,
        "method": run.method,
        "at": run.at,
        "ledger": run.ledger.to_json(),
        **persons,
    }


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _content(file: int) -> bytes:
    with open(file, "rb", closefd=False) as reader:
        return reader.read()


def _append(file: int, content: bytes, lines: list[dict[str, Any]]) -> None:
    """Append lines, each with the digest of all before it, in one write that reaches the disk."""
    added = b""
    for line in lines:
        digest = {} if not content + added else {_BEFORE: _sha256(content + added)}
        added += json.dumps(line | digest, allow_nan=False).encode() + b"\n"
    left = memoryview(added)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)


def _flush_folder(path: Path) -> None:
    """Bring the name of a new file to the disk, too."""
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parsed(content: bytes, path: Path) -> tuple[Contents, int]:
    """Return what a file says, and the number of bytes of its whole lines.

    Raises:
        ValueError: it is no such file, or it was changed.
    """
    whole = content.rfind(b"\n") + 1
    entries: list[Entry] = []
    budget, start = None, 0
    for number, line in enumerate(content[:whole].splitlines(keepends=True), 1):
        try:
            found = _object(line)
            if number == 1:
                _require(found == _FIRST, "it does not begin as one")
            else:
                _require(found[_BEFORE] == _sha256(content[:start]), "what is before was changed")
                if _BUDGET in found:
                    budget = TotalBudget(**found[_BUDGET])
                else:
                    entries.append(_entry(found, {entry.name for entry in entries}))
        except _OTHER_THAN_WRITTEN as error:
            why = " ".join(str(error).split())[:_LONGEST]
            raise ValueError(
                f"{path}: is no dataset ledger, or was changed (line {number}: {why}); put the "
                "file back, or name another one"
            ) from error
        start += len(line)
    return Contents(tuple(entries), budget), whole


def _object(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    _require(isinstance(found, dict), "it is no object")
    return found


def _entry(found: dict[str, Any], names: set[str]) -> Entry:
    ledger, persons = Ledger.from_json(found["ledger"]), found.get(_PERSONS) is True
    entry = Entry(found[_ENTRY], found["method"], found["at"], ledger, persons)
    _require(all(isinstance(text, str) for text in entry[:3]), "a name is no text")
    _require(entry.name not in names, "a run is in it twice")
    _require(entry.ledger.is_private, "a run has no noise")
    return entry


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _require_room(contents: Contents, run: Entry, budget: TotalBudget | None, path: Path) -> None:
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
    budget = budget or contents.budget
    if budget is None:
        return
    spent = joint_epsilon((*earlier, ledger), delta=budget.delta)
    if spent > budget.epsilon:
        relation = joint_relation((*earlier, ledger))
        left = f"earlier runs ({len(earlier)}) have spent {_so_far(earlier, budget):.4g} of it"
        raise BudgetExceededError(
            f"--budget={budget.epsilon:g}: {left}, and this one would make it {spent:.4g} (at "
            f"delta {budget.delta:g}, {relation}, by {path}); lower --eps, or raise --budget"
        )


def _so_far(earlier: tuple[Ledger, ...], budget: TotalBudget) -> float:
    return joint_epsilon(earlier, delta=budget.delta) if earlier else 0.0
