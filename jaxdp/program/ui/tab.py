"""What one tab of a browser has chosen so far, and what all parts of its page share."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import run, ui

from jaxdp.methods.settings import SettingsError
from jaxdp.program.ui import faults

if TYPE_CHECKING:
    from jaxdp.data import Spec
    from jaxdp.program.ui import columns, inputs
    from jaxdp.program.ui.jobs import Job, Jobs
    from jaxdp.tables.open_schema import OpenSchema

_OWN_FLAGS = re.compile(r"^--(csv|dataset|data_dir|schema|out_dir|out)=")
_IN_WORDS = {
    "--image_size=": '"Size of images" ',
    "take back what was changed there, or give this file by --schema. Who removes it": (
        "say of columns what was said then. Who moves that file away"
    ),
}


class Tab:
    """One tab.

    Attributes:
        jobs: of the server, which all tabs see.
        folder: where looking for data goes on.
        word: path or name of the data.
        reading: further flags that say how these are read, as typed, by name.
        chosen: what was read; None before.
        rows: what is said of each column of a table.
        agreed: places of the rules that hold.
        stored: content of the schema that is to be written; None where there is one already.
        spec: facts about the data, once they are settled.
        opened: schema of a table where something of it is still to be bought.
        line: what was read, in words.
        spent: what the ledger of the data has, in words; empty before it was read.
        epsilon: of the next run.
        budget: most of all runs together, as typed.
        way: place in `inputs.ways`.
        more: further flags, as typed.
        out: folder of the next run.
        job: the run that is shown.
        packing: of its result.
        comparing: of that with private records.
        turn: number that grows whenever what was read, or was agreed on, holds no longer.
    """

    def __init__(self, jobs: Jobs, folder: Path) -> None:
        """Nothing is chosen yet.

        Args:
            jobs: as above.
            folder: as above.
        """
        self.jobs, self.folder = jobs, folder
        self.word = self.line = self.spent = self.budget = self.more = self.out = ""
        self.reading: dict[str, str] = {}
        self.chosen: inputs.Images | inputs.Table | None = None
        self.rows: list[columns.Row] = []
        self.agreed: set[int] = set()
        self.stored: dict[str, Any] | None = None
        self.spec: Spec | None = None
        self.opened: OpenSchema | None = None
        self.epsilon, self.way, self.turn = 1.0, 0, 0
        self.job: Job | None = None
        self.packing: Job | None = None
        self.comparing: Job | None = None
        self._client = ui.context.client
        self._shown: list[tuple[Any, Callable[[], None]]] = []
        self._faults: dict[str, Any] = {}

    def shows(self, part: Any) -> None:
        """Show a part of the page, and show it anew whenever something is chosen.

        Args:
            part: its `show` is refreshable.
        """
        self._shown.append((part, part.show.refresh))
        part.show()

    def changed(self, *, but: Any = None) -> None:
        """Show all parts anew.

        Args:
            but: the one in which somebody types, who would lose the place; None for none.
        """
        for part, refresh in self._shown:
            if part is not but:
                refresh()

    def forget(self) -> None:
        """Forget what was read, and all that was said of it."""
        self.disagree()
        self.chosen, self.rows, self.agreed, self.spent = None, [], set(), ""
        self.way = 0

    def disagree(self) -> None:
        """Forget what was agreed on; what is read at the moment is dropped when it comes."""
        self.spec, self.opened, self.stored, self.line = None, None, None, ""
        self.turn += 1

    def look_at(self, job: Job | None) -> None:
        """Take the run that is shown from now on, or none."""
        self.job, self.packing, self.comparing = job, None, None

    def place_for_faults(self, step: str) -> None:
        """Make the place where a step says what is wrong; nothing is so far.

        Args:
            step: its name.
        """
        self._faults[step] = said("").classes("wrong").props("role=alert")

    def wrong(self, step: str, text: str) -> None:
        """Say in a step what is wrong; nothing is where the text is empty."""
        for flag, words in _IN_WORDS.items():
            text = text.replace(flag, words)
        place, text = self._faults.get(step), _OWN_FLAGS.sub("", text)
        if place is not None and not place.is_deleted:
            place.text = text
        elif text:  # the step is not shown any more
            with self._client:
                ui.notify(text, type="negative", multi_line=True, timeout=0, close_button="Close")

    async def told(self, step: str, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function does, away from the page.

        Say in a step what is wrong with it, and return None. Return None and say nothing where what
        it is of holds no longer by then: a later turn has begun.
        """
        self.wrong(step, "")
        turn, found, fault = self.turn, None, ""
        try:
            found = await run.io_bound(function, *args)
        except Exception as error:
            fault = _in_a_sentence(error)
        if turn != self.turn:
            return None
        if fault:
            self.wrong(step, fault)
        return found

    @contextlib.contextmanager
    def telling(self, step: str) -> Iterator[None]:
        """Say in a step what is wrong with what is done within."""
        self.wrong(step, "")
        try:
            yield
        except Exception as error:
            self.wrong(step, _in_a_sentence(error))

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something takes a while, in no part of the page: a part may be gone by then."""
        with self._client:
            note = ui.notification(what, spinner=True, timeout=None, close_button=False)
        try:
            yield
        finally:
            note.dismiss()


def _in_a_sentence(error: Exception) -> str:
    """Return what a step says of an error."""
    if isinstance(error, SettingsError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.strerror or error}"
    return faults.reported(error)  # of the program: where it is goes to the terminal


def card(title: str) -> Any:
    """Return a part of the page, with its title."""
    found = ui.card().props("flat bordered").classes("w-full")
    with found:
        ui.label(title).classes("title").props("role=heading aria-level=2")
    return found


def said(text: str) -> Any:
    """Show a text as it is, line breaks included."""
    return ui.label(text).classes("said")


def sets(target: Any, name: str) -> Callable[[Any], None]:
    """Return what takes over the value of a widget."""
    return lambda event: setattr(target, name, event.value if event.value is not None else "")


def free(path: Path) -> Path:
    """Return a path at which nothing is: the same with a number behind, if need be.

    A number that is there goes on where it is one of these, beside a path without it; that of
    patients-2023 is a part of the name.
    """
    if not path.name or not path.exists():
        return path
    ending, stem = path.suffix if path.suffix == ".zip" else "", path.name.removesuffix(".zip")
    before = re.sub(r"-\d{1,2}$", "", stem)
    stem = before if path.with_name(before + ending).exists() else stem
    names = (path.with_name(f"{stem}-{number}{ending}") for number in itertools.count(2))
    return next(each for each in names if not each.exists())
