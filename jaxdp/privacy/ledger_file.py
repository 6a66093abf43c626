"""The lines of a dataset ledger: what they say, how they are checked, how they are added.

A file has one JSON object a line. The first one names the kind of file. The others:

    {"budget": {"epsilon": 3.0, "delta": 1e-5}}             holds from here on
    {"entry": NAME, "method": ..., "ledger": {...}, ...}    a run is entered
    {"run": NAME, "notes": DIGEST}                          it releases what its notes tell
    {"run": NAME, "finished": {FILE: DIGEST}}               it has, and releases nothing more

Each ends in `"digest"`: the SHA-256 of all that is before it in the file, its own line included.
So damage and careless edits are found in any line, the last one included. There is no secret in
it: who computes the digests anew is not found, nor is who takes whole lines from the end or
puts an older file in the place.

Files of version 1 had digests of what is before a line, and no lines of what a run releases. They
are read, and continued with lines of this version.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxdp.privacy.ledger import Ledger

UNKNOWN = "unknown"
"""What the notes of a run are that was entered by version 1, which did not tell."""
_FIRST = {"jaxdp": "dataset ledger", "version": 2}
_FIRST_LINES = tuple(
    json.dumps(_FIRST | {"version": version}).encode() + b"\n" for version in (1, 2)
)
_LONGEST = 200
_OTHER_THAN_WRITTEN = (
    *(ValueError, KeyError, TypeError, AttributeError),
    *(RecursionError, OverflowError),
)
_ENTRY, _BUDGET, _PERSONS, _RUN, _NOTES = "entry", "budget", "persons", "run", "notes"
_FINISHED, _BEFORE, _DIGEST = "finished", "before", "digest"


@dataclasses.dataclass(frozen=True)
class TotalBudget:
    """The most that all runs on a dataset may spend together.

    Attributes:
        epsilon: > 0; the relation is that of the sum, `jaxdp.privacy.ledger.joint_relation`.
        delta: in (0, 1), at which it is meant.

    Raises:
        ValueError: a number is out of range.

    Examples:
        >>> from jaxdp.privacy import TotalBudget
        >>> TotalBudget(epsilon=3.0, delta=1e-5)
        TotalBudget(epsilon=3.0, delta=1e-05)
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
        notes: digest of the run's notes of what it has released; None where it has not begun.
        finished: digests of the files that it has left, by name; None where it has not finished.
    """

    name: str
    method: str
    at: str
    ledger: Ledger
    persons: bool = False
    notes: str | None = None
    finished: Mapping[str, str] | None = None

    @property
    def is_of_persons(self) -> bool:
        """Whether it protects all records of a person together."""
        return self.persons or self.ledger.records_per_person > 1


class Contents(NamedTuple):
    """What a file says: its runs in order, and the budget that was given last."""

    entries: tuple[Entry, ...] = ()
    budget: TotalBudget | None = None

    def find(self, name: str) -> Entry | None:
        """Return a run; None where it is not in the file."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def before(self, name: str, *, but: str | None = None) -> tuple[Ledger, ...]:
        """Return the ledgers of the runs that were entered before one; of all if it is not.

        Args:
            name: of the run.
            but: name of an entry that is left out: the run's own ledger has it.
        """
        entries = self.entries_before(name)
        return tuple(entry.ledger for entry in entries if entry.name != but)

    def entries_before(self, name: str) -> tuple[Entry, ...]:
        """Return the runs that were entered before one; all if it is not."""
        names = [entry.name for entry in self.entries]
        return self.entries[: names.index(name) if name in names else len(names)]


def budget_line(budget: TotalBudget) -> dict[str, Any]:
    """Return the line of a budget that holds from now on."""
    return {_BUDGET: dataclasses.asdict(budget)}


def entry_line(run: Entry) -> dict[str, Any]:
    """Return the line of a run that is entered."""
    persons = {_PERSONS: True} if run.persons else {}
    notes = {} if run.notes is None else {_NOTES: run.notes}
    facts = {"method": run.method, "at": run.at, "ledger": run.ledger.to_json()}
    return {_ENTRY: run.name, **facts, **persons, **notes}


def notes_line(name: str, notes: str) -> dict[str, Any]:
    """Return the line of a run that is about to release something."""
    return {_RUN: name, _NOTES: notes}


def finished_line(name: str, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the line of a run that has finished."""
    return {_RUN: name, _FINISHED: dict(files)}


def added(content: bytes, lines: list[dict[str, Any]]) -> bytes:
    """Return what lines add to the whole lines of a file, its first one included."""
    new = b"" if content else _FIRST_LINES[-1]
    digest = hashlib.sha256(content + new)
    for line in lines:
        text = json.dumps(line, allow_nan=False)[:-1].encode()  # less its last brace
        digest.update(text)
        end = _end(digest.hexdigest())
        digest.update(end)
        new += text + end
    return new


def _end(digest: str) -> bytes:
    return f', "{_DIGEST}": "{digest}"}}\n'.encode()


def parsed(content: bytes, path: Path) -> tuple[Contents, int]:
    """Return what a file says, and the number of bytes of its whole lines.

    Raises:
        ValueError: it is no such file, or it was changed.
    """
    whole = content.rfind(b"\n") + 1
    lines = content[:whole].splitlines(keepends=True)
    if not whole and not any(first.startswith(content) for first in _FIRST_LINES):
        lines = [content]  # somebody's file, and not the beginning of one of these
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        try:
            reader.take(line)
        except _OTHER_THAN_WRITTEN as error:
            why = " ".join(str(error).split())[:_LONGEST]
            raise ValueError(
                f"{path}: is no dataset ledger, or was changed (line {number}: {why}); put the "
                "file back, or name another one"
            ) from error
    return Contents(tuple(reader.entries.values()), reader.budget), whole


class _Reader:
    """What the lines so far have said."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.budget: TotalBudget | None = None
        self._digest = hashlib.sha256()
        self._version = 0

    def take(self, line: bytes) -> None:
        """Take the next line.

        Raises:
            Exception: of _OTHER_THAN_WRITTEN, where it is none that a run writes.
        """
        if not self._version:
            _require(line in _FIRST_LINES, "it does not begin as one")
            self._version = 1 + _FIRST_LINES.index(line)
        else:
            found = json.loads(line)
            _require(isinstance(found, dict), "it is no object")
            self._require_unchanged(line, found)
            self._understand(found)
        self._digest.update(line)

    def _require_unchanged(self, line: bytes, found: dict[str, Any]) -> None:
        if _DIGEST not in found and self._version == 1:
            unchanged = found[_BEFORE] == self._digest.hexdigest()
            _require(unchanged, "what is before was changed")
            return
        self._version = 2  # from here on, the older lines are none
        digest, length = self._digest.copy(), len(_end("0" * 64))
        digest.update(line[:-length])
        _require(line[-length:] == _end(digest.hexdigest()), "it, or what is before, was changed")

    def _understand(self, found: dict[str, Any]) -> None:
        if _BUDGET in found:
            self.budget = TotalBudget(**found[_BUDGET])
        elif _ENTRY in found:
            entry = _entry(found)
            _require(entry.name not in self.entries, "a run is in it twice")
            self.entries[entry.name] = entry
        else:
            run = self.entries[found[_RUN]]
            if _NOTES in found:
                _require(run.finished is None, "a run releases after it has finished")
                run = run._replace(notes=found[_NOTES])
            else:
                run = run._replace(finished=found[_FINISHED])
            self.entries[run.name] = _checked(run)


def _entry(found: dict[str, Any]) -> Entry:
    ledger, persons = Ledger.from_json(found["ledger"]), found.get(_PERSONS) is True
    notes = found.get(_NOTES) if _DIGEST in found else UNKNOWN
    return _checked(Entry(found[_ENTRY], found["method"], found["at"], ledger, persons, notes))


def _checked(entry: Entry) -> Entry:
    files = entry.finished
    texts = [*entry[:3], *([] if entry.notes is None else [entry.notes])]
    if files is not None:
        _require(isinstance(files, dict), "it names no files")
        texts += [*files, *files.values()]
    _require(all(isinstance(text, str) for text in texts), "a name is no text")
    _require(entry.ledger.is_private, "a run has no noise")
    return entry


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
