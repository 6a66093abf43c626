"""Steps 4 to 6: the run with its progress, the report of its result, and the pack of it."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from nicegui import ui

from jaxdp.program.errors import InputError
from jaxdp.program.ui import inputs, results, spending, typed_words
from jaxdp.program.ui.guard import COMPARISON, REPORTS
from jaxdp.program.ui.jobs import Job, Jobs
from jaxdp.program.ui.tab import Tab, card, free, said, sets

_STEP, _RESULT, _PACK = "run", "result", "pack"
# The log goes to its end by itself where it was shown before, and lines were added to it alone.
_TO_THE_END = (
    "setTimeout(() => getElement({log})?.$refs.qRef?.setScrollPosition('vertical', 1e9), 100)"
)


class RunPart:
    """The steps, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._seen: tuple[Job | None, bool] = (None, False)
        self._is_packed = self._is_compared = False
        self._verdicts: dict[str, str] = {}  # by names of runs

    @ui.refreshable_method
    def show(self) -> None:
        """Show them, once something can be run, or was."""
        tab = self._tab
        self._seen = (tab.job, tab.job is not None and tab.job.is_done)
        if tab.job is None and tab.spec is None:
            return
        with card("4  Run"):
            if tab.job is None:
                self._form()
            else:
                self._progress(tab.job)
        if tab.job is not None and tab.job.code == 0:
            self._result(tab.job)

    async def update(self) -> None:
        """Show what the run has done since the last look."""
        job, packing, comparing = self._tab.job, self._tab.packing, self._tab.comparing
        if job is None:
            return
        if self._seen != (job, job.is_done):
            self.show.refresh()
            return
        if not job.is_done:
            self._watch(job)
            return
        if packing is not None and packing.is_done != self._is_packed:
            self._packed.refresh()
        if comparing is not None and comparing.is_done != self._is_compared:
            self._compared.refresh()
        if job.code == 0 and job.name not in self._verdicts:
            turn, tab = self._tab.turn, self._tab
            verdict = await tab.told(_RESULT, results.verdict, job.folder)
            if turn == tab.turn:  # else it was dropped, and is asked for again
                self._verdicts[job.name] = verdict or "Nobody can say."
                self._verdict.refresh()

    # -- before

    def _form(self) -> None:
        tab = self._tab
        ui.input(
            "Folder for the result, a new one", value=tab.out, on_change=self._choose_out
        ).classes("w-full")
        with ui.expansion("More flags").classes("w-full").props("dense"):
            command = "images" if isinstance(tab.chosen, inputs.Images) else "table"
            ui.input(
                f"As `jaxdp {command} --help` lists them",
                value=tab.more,
                on_change=sets(tab, "more"),
            ).classes("w-full")
        self._tab.place_for_faults(_STEP)
        self._begun = ui.label("An unfinished run is in this folder. It goes on where it was.")
        self._button = ui.button("Run", on_click=self._start)
        self._show_begun()

    def _choose_out(self, event: Any) -> None:
        self._tab.out = event.value or ""
        self._show_begun()

    def _show_begun(self) -> None:
        begun = typed_words.is_begun(self._tab.out)
        self._begun.visible = begun
        self._button.text = "Go on with it" if begun else "Run"

    def _start(self) -> None:
        """Start the run, or show the one of this folder that another tab has started."""
        tab = self._tab
        with tab.telling(_STEP):
            out = typed_words.folder_of(tab.out)
            job = tab.jobs.of_folder(out)
            if job is None:
                title = f"{out.name}, epsilon {tab.epsilon:g}"
                job = tab.jobs.start(self._words(out), title, out)
            self._show(job)

    def _words(self, out: Path) -> list[str]:
        """Return the command; write the schema that it uses.

        Args:
            out: its folder.

        Raises:
            SettingsError: something in the form cannot be used.
        """
        tab = self._tab
        assert tab.chosen is not None
        assert tab.spec is not None
        own = [f"--eps={tab.epsilon:g}", f"--out_dir={out}"]
        own += inputs.ways(tab.spec, tab.epsilon)[tab.way].words
        own += inputs.reading_words(tab.chosen)
        own += typed_words.budget_words(tab.budget)
        own += typed_words.more_words(tab.more, own)
        if typed_words.is_unfinished(out):
            own.append("--resume")
        if isinstance(tab.chosen, inputs.Images):
            return ["images", tab.chosen.word, *own]
        self._require_alone(tab.chosen)
        if tab.stored is not None:
            inputs.write_schema(tab.chosen, tab.stored)
            tab.stored = None  # it is beside the table now, and of this page
            tab.chosen = dataclasses.replace(tab.chosen, replaced=tab.chosen.own_schema)
        return ["table", str(tab.chosen.path), *own]

    def _require_alone(self, table: inputs.Table) -> None:
        """Raise an `InputError` where another run buys the schema that this one would buy, too."""
        tab = self._tab
        assert tab.spec is not None
        first = ["table", str(table.path)]
        if tab.opened is None or table.bought.exists() or tab.jobs.of_words(first) is None:
            return
        spends = spending.of_next_run(
            tab.epsilon, tab.spec, tab.opened, tab.more, counts_cells=tab.way == 0
        )
        if spends.buys:
            raise InputError(
                f"another run buys what is open of the schema of {table.path.name} now; wait until "
                "it has: this one uses that at no cost"
            )

    def _show(self, job: Job) -> None:
        self._tab.look_at(job)
        self._tab.changed()

    # -- while it runs

    def _progress(self, job: Job) -> None:
        said(_line(job)).classes("font-bold")
        self._bars: dict[str, Any] = {}
        self._phases = ui.column().classes("w-full gap-1")
        self._waiting = ui.linear_progress(show_value=False).props("indeterminate")
        self._log = ui.log().classes("log")
        self._heard = 0
        self._watch(job)
        if not job.is_done:
            ui.button("Stop", on_click=job.stop).props("outline color=negative")
            ui.label(
                "You may close this page: the run goes on while `jaxdp ui` does. A run that was "
                "stopped can go on later; what it has spent stays spent."
            ).classes("faint")
            return
        with ui.row():
            if job.code != 0 and typed_words.is_unfinished(job.folder):
                ui.button("Go on with it", on_click=lambda: self._go_on(job))
            if self._tab.spec is not None:
                ui.button("Another run", on_click=self._again).props("outline")
        if self._tab.spec is None:
            ui.label("For another run, read data in step 1.").classes("faint")

    def _watch(self, job: Job) -> None:
        """Bring bars and lines up to date."""
        for what, part in tuple(job.phases.items()):
            if what not in self._bars:
                with self._phases, ui.column().classes("w-full gap-0"):
                    ui.label(what).classes("faint")
                    self._bars[what] = ui.linear_progress(show_value=False).props(
                        "instant-feedback"
                    )
            self._bars[what].value = part
        is_still = all(part >= 1 for part in job.phases.values())
        self._waiting.visible = is_still and not job.is_done
        new, self._heard = job.lines_since(self._heard)
        for line in new:
            self._log.push(line)
        if new:
            ui.run_javascript(_TO_THE_END.format(log=self._log.id))

    def _go_on(self, job: Job) -> None:
        jobs = self._tab.jobs
        assert job.folder is not None
        goes = jobs.of_folder(job.folder)  # by another tab, or another press
        self._show(goes or jobs.start(_resumed(job), job.title, job.folder))

    def _again(self) -> None:
        tab = self._tab
        tab.look_at(None)
        with contextlib.suppress(OSError):  # of what was typed; a run says what is wrong with it
            tab.out = str(free(Path(tab.out)))
        tab.changed()

    # -- afterwards

    def _result(self, job: Job) -> None:
        with card("5  Look"):
            self._verdict(job)
            self._tab.place_for_faults(_RESULT)
            for warning in job.warnings:
                said(f"WARNING: {warning}").classes("wrong warning")
            _made(job.folder)
            source = f"{REPORTS}{job.name}"  # nothing but digits and letters
            _frame("Report", source)
            ui.link("The report in a tab of its own", source, new_tab=True)
            self._compared(job)
        with card("6  Pack what may leave"):
            file = ui.input("File to write", value=str(free(Path(f"{job.folder}.zip"))))
            file.classes("w-full")
            ui.button("Pack", on_click=lambda: self._pack(job, file.value))
            self._tab.place_for_faults(_PACK)
            self._packed()

    @ui.refreshable_method
    def _verdict(self, job: Job) -> None:
        text = self._verdicts.get(job.name, "Its files are compared with their digests.")
        said(text).classes("font-bold")

    @ui.refreshable_method
    def _compared(self, job: Job) -> None:
        comparing = self._tab.comparing
        self._is_compared = comparing is not None and comparing.is_done
        if comparing is None:
            ui.button(
                "Compare with the private records (stays here)", on_click=lambda: self._compare(job)
            ).props("outline")
            return
        said(_line(comparing)).classes("font-bold")
        if comparing.code == 0 and results.comparison(job.folder) is not None:
            said(
                "NOT FOR RELEASE: this was computed from private records without noise. The "
                f"guarantee does not cover it. It stays in {results.not_for_release(job.folder)}"
            ).classes("wrong")
            _frame("Comparison with private records", f"{REPORTS}{job.name}{COMPARISON}")
        elif comparing.is_done:
            said("\n".join(comparing.lines)).classes("wrong")

    def _compare(self, job: Job) -> None:
        words = [*_resumed(job), "--check_fidelity"]
        jobs = self._tab.jobs
        self._tab.comparing = jobs.of_words(words) or jobs.start(
            words, "compare with private records"
        )
        self._compared.refresh(job)

    @ui.refreshable_method
    def _packed(self) -> None:
        packing = self._tab.packing
        self._is_packed = packing is not None and packing.is_done
        if packing is not None:
            said(_line(packing)).classes("font-bold")
            said("\n".join(packing.lines))

    def _pack(self, job: Job, path: str) -> None:
        jobs = self._tab.jobs
        with self._tab.telling(_PACK):
            file = typed_words.new_file_of(path or "")
            words = ["pack", str(job.folder), "-o", str(file)]
            self._tab.packing = jobs.of_words(words) or jobs.start(words, f"pack {file.name}")
            self._packed.refresh()


class RunsPart:
    """All runs of this server, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._lines: dict[Job, Any] = {}

    @ui.refreshable_method
    def show(self) -> None:
        """Show them, the last one first."""
        found = runs(self._tab.jobs)
        self._lines = {}
        if not found:
            return
        with card("Runs since this page was started"):
            for job in reversed(found):
                with ui.row().classes("items-center"):
                    self._lines[job] = said(_line(job))
                    ui.button("Show", on_click=lambda _, job=job: self._choose(job)).props(
                        "outline dense"
                    )

    def update(self) -> None:
        """Show what has changed since the last look.

        Buttons stay where only a line has changed: a press on one that goes is lost.
        """
        if runs(self._tab.jobs) != list(reversed(self._lines)):
            self.show.refresh()
        for job, line in self._lines.items():
            line.text = _line(job)

    def _choose(self, job: Job) -> None:
        self._tab.look_at(job)
        self._tab.changed(but=self)


def _resumed(job: Job) -> list[str]:
    """Return the command that goes on with a run, or looks at what it has made."""
    words = (word for word in job.words if word not in ("--resume", "--overwrite"))
    return [*words, "--resume"]


def _frame(title: str, source: str) -> None:
    """Show a page in a frame that may run nothing."""
    frame = ui.element("iframe").classes("report").props(f'title="{title}" src="{source}"')
    frame.props["sandbox"] = ""  # nothing is allowed


def _made(folder: Path | None) -> None:
    """Show what a run has made: the first records of a table, or a picture of images."""
    records, picture = results.first_records(folder), results.picture(folder)
    if records is not None:
        ui.label("The first records of what was made").classes("font-bold")
        places = [str(place) for place in range(len(records.names))]
        columns = [
            {"name": place, "field": place, "label": name, "align": "left"}
            for place, name in zip(places, records.names, strict=True)
        ]
        rows = [dict(zip(places, row, strict=True)) for row in records.rows]
        ui.table(columns=columns, rows=rows).classes("made").props(
            "flat bordered dense hide-bottom"
        )
    elif picture is not None:
        ui.label("What was made").classes("font-bold")
        data = base64.b64encode(picture).decode()
        ui.image(f"data:image/png;base64,{data}").classes("made").props(
            'no-spinner no-transition fit=contain alt="What was made"'
        )


def runs(jobs: Jobs) -> list[Job]:
    """Return the commands that are runs, and no packs of them."""
    return [job for job in jobs if job.is_run]


def _line(job: Job) -> str:
    """Return what a command is, and how far."""
    states = {None: "running", 0: "done", 130: "stopped"}
    return f"{job.title}: {states.get(job.code, 'ended with an error')}"
