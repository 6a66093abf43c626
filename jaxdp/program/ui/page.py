"""The page: choose data, say what is public, choose epsilon, run, look, pack.

Whatever comes from data or files is shown as text, never as markup.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nicegui import run, ui

from jaxdp.methods.settings import Budget, SettingsError
from jaxdp.program.ui import columns, inputs
from jaxdp.program.ui.guard import REPORTS
from jaxdp.program.ui.jobs import Job, Jobs
from jaxdp.tables import rules as table_rules

_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
_MOST_SHOWN, _MOST_FILES = 200, 300
_POLL_SECONDS = 0.5
_STYLE = """
body { font-size: 16px; }
.nicegui-content { max-width: 64rem; margin: 0 auto; padding: 1rem; gap: 1rem; }
.q-card { width: 100%; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.log { font-family: monospace; font-size: 13px; max-height: 16rem; overflow-y: auto; width: 100%; }
.column { border-top: 1px solid #8884; padding: .5rem 0; width: 100%; }
iframe.report { width: 100%; height: 70vh; border: 1px solid #8886; background: #fff; }
"""


def build(jobs: Jobs, folder: Path) -> None:
    """Put the page together, for one tab of a browser.

    Args:
        jobs: of the server, which all tabs see.
        folder: where looking for data begins.
    """
    ui.add_css(_STYLE)
    ui.colors(primary="#2f7fb8")  # for light and dark alike
    _Page(jobs, folder).show()


class _Page:
    """What one tab shows, and what somebody has chosen there."""

    def __init__(self, jobs: Jobs, folder: Path) -> None:
        self.jobs, self.folder, self.client = jobs, folder, ui.context.client
        self.word, self.image_size = "", ""
        self.chosen: inputs.Images | inputs.Table | None = None
        self.rows: list[columns.Row] = []
        self.agreed: set[int] = set()
        self.spec: Any = None
        self.line, self.spent = "", list[str]()
        self.stored: dict[str, Any] | None = None
        self.epsilon, self.out = 1.0, ""
        self.job: Job | None = None
        self.packing: Job | None = None
        self.ended: Job | None = None
        self.said = 0

    def show(self) -> None:
        """Show all parts, of which those appear that can be used."""
        with ui.column().classes("w-full gap-0"):
            ui.label("jaxdp").classes("text-2xl font-bold")
            ui.label(
                "Private data in, something that may be released out. All of it happens on this "
                "machine; nothing is sent anywhere."
            )
        self._data()
        self._facts()
        self._budget()
        self._run()
        self._runs()
        ui.timer(_POLL_SECONDS, self._poll)

    # -- 1: data

    @ui.refreshable_method
    def _data(self) -> None:
        with _card("1  Data"):
            path = ui.input(
                "Folder of images (CLASS/*.png in it), npz file, or table (CSV, Parquet)",
                value=self.word,
                on_change=_sets(self, "word"),
            ).props("outlined")
            path.classes("w-full").on("keydown.enter", self._read)
            with ui.row().classes("items-center"):
                ui.button("Read", on_click=self._read).mark("read")
                ui.button("Look for it", on_click=self._look).props("flat")
                ui.button("Try bundled digits", on_click=self._digits).props("flat")
                ui.input(
                    "size of images, as 64 or 48x32",
                    placeholder="by default",
                    value=self.image_size,
                    on_change=_sets(self, "image_size"),
                ).props("stack-label").classes("w-60")

    async def _digits(self) -> None:
        self.word = inputs.DIGITS
        await self._read()

    async def _read(self) -> None:
        """Read what was named; show what it is."""
        size = self.image_size.strip()
        more = {"image_size": size} if size else {}
        self._forget()
        with self._working("reading"):
            found = await self._told(inputs.read, self.word, more)
            if found is not None:
                self.spent = await self._told(inputs.spent_before, found) or []
        if found is None:
            return
        self.chosen = found
        stem = Path(self.word).expanduser().name.split(".")[0]
        self.out = str(_free(Path("runs") / (stem or inputs.DIGITS)))
        if isinstance(found, inputs.Images):
            self.spec, self.line = found.spec, found.line
        else:
            self.rows = columns.rows_of(found.columns)
        self._refresh()

    def _forget(self) -> None:
        self.chosen, self.spec, self.stored, self.job = None, None, None, None
        self.rows, self.agreed, self.spent = [], set(), []
        self._refresh()

    def _refresh(self) -> None:
        for part in (self._data, self._facts, self._budget, self._run, self._runs):
            part.refresh()

    def _look(self) -> None:
        """Show the folders of this machine, to choose from."""
        with ui.dialog() as dialog, ui.card().classes("w-full"):
            self._folders(dialog)
        dialog.open()

    @ui.refreshable_method
    def _folders(self, dialog: Any) -> None:
        def take(path: Path) -> None:
            self.word = str(path)
            dialog.close()
            self._data.refresh()

        def enter(path: Path) -> None:
            self.folder = path
            self._folders.refresh()

        ui.label(str(self.folder)).classes("said")
        with ui.row():
            ui.button("Up", on_click=lambda: enter(self.folder.parent)).props("flat")
            ui.button("Take this folder", on_click=lambda: take(self.folder))
        try:
            there = sorted(self.folder.iterdir(), key=lambda path: (path.is_file(), path.name))
        except OSError:
            there = []
            ui.label("This folder cannot be read.")
        shown = [path for path in there if not path.name.startswith(".") and _is_of_use(path)]
        with ui.column().classes("gap-0"):
            for path in shown[:_MOST_FILES]:
                act, end = (enter, "/") if path.is_dir() else (take, "")
                ui.button(
                    f"{path.name}{end}", on_click=lambda _, path=path, act=act: act(path)
                ).props("flat no-caps align=left")
        if len(shown) > _MOST_FILES:
            ui.label(f"and {len(shown) - _MOST_FILES} more: type the path")

    # -- 2: what is public

    @ui.refreshable_method
    def _facts(self) -> None:
        if isinstance(self.chosen, inputs.Images):
            with _card("2  What was read"):
                _said(self.line)
                for note in self.chosen.notes:
                    _said(note)
        elif self.chosen is not None:
            with _card("2  What can stand in each column"):
                self._columns(self.chosen)

    def _columns(self, table: inputs.Table) -> None:
        if table.schema is not None:
            _said(
                f"{table.schema.name} is there, beside the table, and is used. Remove it to say "
                "anew what can stand in each column."
            )
        else:
            ui.label(
                "What you say counts as public. What you leave empty is bought with a part of "
                "epsilon. The first values are shown to you alone."
            )
            for row in self.rows[:_MOST_SHOWN]:
                self._column(row, table.first.get(row.name, ""))
            if len(self.rows) > _MOST_SHOWN:
                ui.label(f"{len(self.rows) - _MOST_SHOWN} more columns are as guessed.")
            self._rules(table)
        ui.button("These are right", on_click=self._agree).mark("agree")
        _said(self.line)

    def _column(self, row: columns.Row, first: str) -> None:
        with ui.column().classes("column gap-1") as box:
            with ui.row().classes("items-baseline"):
                ui.label(row.name).classes("font-bold said")
                ui.label(first).classes("text-sm opacity-70 said")
            fields = ui.row().classes("items-center")
            box.mark(f"column {row.name}")

        def choose(event: Any) -> None:
            row.kind = event.value
            show()

        def show() -> None:
            fields.clear()
            with fields:
                kinds = {columns.GUESSED: row.guess} | {kind: kind for kind in columns.KINDS}
                ui.select(kinds, label="holds", value=row.kind, on_change=choose).classes("w-48")
                if row.kind == "dates":
                    _field("format", row, "format")
                if row.has_bounds:
                    _field("least", row, "lower")
                    _field("largest", row, "upper")
                if row.has_categories:
                    _field("all categories, commas between", row, "categories", wide=True)
                if row.may_be_missing:
                    words = {columns.BUY: "buy it", columns.NO: "never", columns.YES: "may be"}
                    ui.select(
                        words, label="missing", value=row.missing, on_change=_sets(row, "missing")
                    ).classes("w-28")
                ui.checkbox("is predicted", value=row.is_target, on_change=_sets(row, "is_target"))

        show()

    def _rules(self, table: inputs.Table) -> None:
        if table.rules:
            ui.label("Does this hold in every record that can occur?").classes("font-bold")
        for number, rule in enumerate(table.rules):
            text = str(table_rules.from_json(rule))
            ui.checkbox(
                text,
                value=number in self.agreed,
                on_change=lambda event, number=number: (
                    self.agreed.add(number) if event.value else self.agreed.discard(number)
                ),
            )

    async def _agree(self) -> None:
        """Look whether the table fits what was said; go on to the budget."""
        table = self.chosen
        assert isinstance(table, inputs.Table)
        self.stored = None
        if table.schema is None:
            found, faults = columns.facts_of(self.rows)
            if faults:
                for fault in faults:
                    self._wrong(fault)
                return
            held = [
                {key: value for key, value in rule.items() if key != table_rules.PROPOSED}
                for number, rule in enumerate(table.rules)
                if number in self.agreed
            ]
            self.stored = inputs.schema_of(table, found, held)
        with self._working("reading all records"):
            facts = await self._told(inputs.spec_of, table, self.stored)
        if facts is not None:
            self.spec, self.line = facts
            self._refresh()

    # -- 3: epsilon

    @ui.refreshable_method
    def _budget(self) -> None:
        if self.spec is None:
            return
        with _card("3  Epsilon"):
            with ui.row().classes("items-center"):
                ui.select(
                    {each: f"{each:g}" for each in _EPSILONS},
                    label="epsilon",
                    value=self.epsilon,
                    on_change=self._choose_epsilon,
                ).classes("w-32").mark("epsilon")
                ui.label("Smaller is more private; 1 is strong, 10 is weak.")
            self._outlook()
            ui.label("Spent on these data so far").classes("font-bold")
            if not self.spent:
                ui.label("Nothing: no run is in a ledger beside the data.")
            for line in self.spent:
                _said(line)

    def _choose_epsilon(self, event: Any) -> None:
        self.epsilon = event.value
        self._outlook.refresh()

    @ui.refreshable_method
    def _outlook(self) -> None:
        _said(f"Expected: {inputs.expected(self.spec, self.epsilon)}")
        _said(inputs.attack(self.epsilon, Budget().delta))

    # -- 4 to 6: run, look, pack

    @ui.refreshable_method
    def _run(self) -> None:
        if self.job is None and self.spec is None:
            return
        with _card("4  Run"):
            if self.job is None:
                ui.input(
                    "Folder for the result, a new one",
                    value=self.out,
                    on_change=_sets(self, "out"),
                ).classes("w-full")
                ui.button("Run", on_click=self._start).mark("run")
            else:
                self._progress()
        if self.job is not None and self.job.code == 0 and self.job.folder is not None:
            self._result(self.job)

    def _start(self) -> None:
        out = Path(self.out.strip()).expanduser()
        if not self.out.strip() or out.exists():
            self._wrong(f"{self.out}: is there already; name a new folder")
            return
        chosen, words = self.chosen, [f"--eps={self.epsilon:g}", f"--out_dir={out}"]
        if isinstance(chosen, inputs.Images):
            size = self.image_size.strip()
            sized = [f"--image_size={size}"] if size else []
            words = ["images", chosen.word, *words, *sized]
        else:
            assert chosen is not None
            if self.stored is not None:
                try:
                    inputs.write_schema(chosen, self.stored)
                except SettingsError as error:
                    self._wrong(str(error))
                    return
            words = ["table", str(chosen.path), *words]
        self.job = self.jobs.start(words, f"{out.name}, epsilon {self.epsilon:g}", out)
        self.packing = None
        self._refresh()

    @ui.refreshable_method
    def _progress(self) -> None:
        job = self.job
        if job is None:
            return
        _said(f"{job.title}: {_state(job)}").mark("state")
        if job.progress is not None:
            what, part = job.progress
            ui.label(what)
            ui.linear_progress(part, show_value=False).props("instant-feedback")
        elif not job.is_done:
            ui.linear_progress(show_value=False).props("indeterminate")
        with ui.column().classes("log gap-0"):
            for line in job.lines:
                _said(line)
        if not job.is_done:
            ui.button("Stop", on_click=job.stop).props("flat color=negative")
            ui.label("You may close this page: the run goes on while `jaxdp ui` does.")
        else:
            ui.button("Another run", on_click=self._again).props("flat")

    def _again(self) -> None:
        self.job = None
        self.out = str(_free(Path(self.out)))
        self._refresh()

    def _result(self, job: Job) -> None:
        assert job.folder is not None
        with _card("5  Look"):
            _said(inputs.verdict(job.folder)).classes("font-bold")
            source = f"{REPORTS}{job.name}"  # nothing but digits and letters
            ui.html(
                f'<iframe class="report" sandbox title="report" src="{source}"></iframe>',
                sanitize=False,
            ).classes("w-full")
        with _card("6  Pack what may leave"):
            file = ui.input("File to write", value=f"{job.folder}.zip").classes("w-full")
            ui.button("Pack", on_click=lambda: self._pack(job, file.value)).mark("pack")
            self._packed()

    def _pack(self, job: Job, path: str) -> None:
        words = ["pack", str(job.folder), "-o", path]
        self.packing = self.jobs.start(words, f"pack {Path(path).name}")
        self._packed.refresh()

    @ui.refreshable_method
    def _packed(self) -> None:
        if self.packing is not None:
            _said(f"{self.packing.title}: {_state(self.packing)}").mark("packed")
            _said("\n".join(self.packing.lines))

    # -- what all tabs see

    @ui.refreshable_method
    def _runs(self) -> None:
        jobs = list(self.jobs)
        if not jobs:
            return
        with _card("Runs since this page was started"):
            for job in reversed([job for job in jobs if job.folder is not None]):
                with ui.row().classes("items-center"):
                    _said(f"{job.title}: {_state(job)}")
                    ui.button("Show", on_click=lambda _, job=job: self._choose(job)).props(
                        "flat dense"
                    )

    # What is said stands in no part of the page: a part may be gone by then.

    def _wrong(self, text: str) -> None:
        with self.client:
            ui.notify(text, type="negative", multi_line=True, timeout=0, close_button="Close")

    async def _told(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function does, away from the page; say what is wrong, and return None."""
        try:
            return await run.io_bound(function, *args)
        except SettingsError as error:
            self._wrong(str(error))
        except OSError as error:
            self._wrong(f"{error.strerror or error}")
        return None

    @contextlib.contextmanager
    def _working(self, what: str) -> Iterator[None]:
        """Show that something takes a while."""
        with self.client:
            note = ui.notification(what, spinner=True, timeout=None, close_button=False)
        try:
            yield
        finally:
            note.dismiss()

    def _choose(self, job: Job) -> None:
        self.job, self.packing = job, None
        self._refresh()

    def _poll(self) -> None:
        """Show what has changed since the last look."""
        now = hash(tuple((job.name, job.code, len(job.lines), job.progress) for job in self.jobs))
        if now == self.said:
            return
        self.said = now
        self._runs.refresh()
        self._packed.refresh()
        if self.job is None or self.job is self.ended:
            return
        if self.job.is_done:
            self.ended = self.job
            self._run.refresh()
        else:
            self._progress.refresh()


def _card(title: str) -> Any:
    card = ui.card().classes("w-full")
    with card:
        ui.label(title).classes("text-lg font-bold")
    return card


def _said(text: str) -> Any:
    return ui.label(text).classes("said")


def _field(label: str, row: columns.Row, name: str, *, wide: bool = False) -> None:
    place = {"lower": "buy it", "upper": "buy it", "categories": "buy those that are frequent"}
    ui.input(
        label,
        placeholder=place.get(name, ""),
        value=getattr(row, name),
        on_change=_sets(row, name),
    ).classes("w-72" if wide else "w-32").props("stack-label")


def _sets(target: Any, name: str) -> Callable[[Any], None]:
    """Return what takes over the value of a widget."""
    return lambda event: setattr(target, name, event.value if event.value is not None else "")


def _state(job: Job) -> str:
    if job.code is None:
        return "running"
    return {0: "done", 130: "stopped"}.get(job.code, "ended with an error")


def _is_of_use(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".npz" or inputs.looks_like_a_table(path)


def _free(path: Path) -> Path:
    """Return a path at which nothing is: the same with a number behind, if need be."""
    stem = re.sub(r"-\d+$", "", path.name)
    names: Mapping[int, Path] = {0: path.with_name(stem)}
    number = 0
    while names.get(number, path.with_name(f"{stem}-{number}")).exists():
        number += 1 if number else 2
    return names.get(number, path.with_name(f"{stem}-{number}"))
