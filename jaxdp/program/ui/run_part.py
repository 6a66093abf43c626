"""Steps 4 to 6: the run with its progress, the report of its result, and the pack of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui

from jaxdp.methods.settings import SettingsError
from jaxdp.program.ui import inputs
from jaxdp.program.ui.guard import REPORTS
from jaxdp.program.ui.jobs import Job, Jobs
from jaxdp.program.ui.tab import Tab, card, free, said, sets

_STEP = "run"


class RunPart:
    """The steps, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._seen: tuple[Job | None, bool] = (None, False)
        self._is_packed = False

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

    def update(self) -> None:
        """Show what the run has done since the last look."""
        job, packing = self._tab.job, self._tab.packing
        if job is None:
            return
        if self._seen != (job, job.is_done):
            self.show.refresh()
        elif not job.is_done:
            self._watch(job)
        elif packing is not None and packing.is_done != self._is_packed:
            self._packed.refresh()

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
        begun = inputs.is_unfinished(Path(self._tab.out.strip()).expanduser())
        self._begun.visible = begun
        self._button.text = "Go on with it" if begun else "Run"

    def _start(self) -> None:
        """Start the run, or show the one of this folder that another tab has started."""
        tab = self._tab
        try:
            words, out = self._words()
        except SettingsError as error:
            tab.wrong(_STEP, str(error))
            return
        title = f"{out.name}, epsilon {tab.epsilon:g}"
        self._show(tab.jobs.of_folder(out) or tab.jobs.start(words, title, out))

    def _words(self) -> tuple[list[str], Path]:
        """Return the command, its folder made absolute; write the schema that it uses.

        Raises:
            SettingsError: something in the form cannot be used.
        """
        tab = self._tab
        assert tab.chosen is not None
        assert tab.spec is not None
        out = inputs.folder_of(tab.out)
        own = [f"--eps={tab.epsilon:g}", f"--out_dir={out}"]
        own += inputs.ways(tab.spec, tab.epsilon)[tab.way].words
        own += inputs.reading_words(tab.chosen)
        own += inputs.budget_words(tab.budget)
        own += inputs.more_words(tab.more, own)
        if inputs.is_unfinished(out):
            own.append("--resume")
        if isinstance(tab.chosen, inputs.Images):
            return ["images", tab.chosen.word, *own], out
        if tab.stored is not None:
            inputs.write_schema(tab.chosen, tab.stored)
            tab.stored = None  # it is beside the table now
        return ["table", str(tab.chosen.path), *own], out

    def _show(self, job: Job) -> None:
        self._tab.job, self._tab.packing = job, None
        self._tab.changed()

    # -- while it runs

    def _progress(self, job: Job) -> None:
        said(f"{job.title}: {state(job)}").classes("font-bold")
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
            if job.code != 0 and inputs.is_unfinished(job.folder):
                ui.button("Go on with it", on_click=lambda: self._go_on(job))
            ui.button("Another run", on_click=self._again).props("outline")

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
        for line in job.lines_since(self._heard):
            self._log.push(line)
        self._heard = job.num_lines

    def _go_on(self, job: Job) -> None:
        words = [*(word for word in job.words if word != "--resume"), "--resume"]
        self._show(self._tab.jobs.start(words, job.title, job.folder))

    async def _again(self) -> None:
        tab = self._tab
        tab.job = None
        tab.out = str(free(Path(tab.out)))
        tab.changed()
        if tab.chosen is not None:
            tab.spent = await tab.told(_STEP, inputs.spent_before, tab.chosen) or []
            tab.changed()

    # -- afterwards

    def _result(self, job: Job) -> None:
        with card("5  Look"):
            said(inputs.verdict(job.folder)).classes("font-bold")
            source = f"{REPORTS}{job.name}"  # nothing but digits and letters
            frame = ui.element("iframe").classes("report").props(f'title="Report" src="{source}"')
            frame.props["sandbox"] = ""  # nothing is allowed
            ui.link("The report in a tab of its own", source, new_tab=True)
        with card("6  Pack what may leave"):
            file = ui.input("File to write", value=f"{job.folder}.zip").classes("w-full")
            ui.button("Pack", on_click=lambda: self._pack(job, file.value))
            self._packed()

    @ui.refreshable_method
    def _packed(self) -> None:
        packing = self._tab.packing
        self._is_packed = packing is not None and packing.is_done
        if packing is not None:
            said(f"{packing.title}: {state(packing)}").classes("font-bold")
            said("\n".join(packing.lines))

    def _pack(self, job: Job, path: str) -> None:
        words = ["pack", str(job.folder), "-o", path]
        self._tab.packing = self._tab.jobs.start(words, f"pack {Path(path).name}")
        self._packed.refresh()


class RunsPart:
    """All runs of this server, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._seen: list[tuple[Job, bool]] = []

    @ui.refreshable_method
    def show(self) -> None:
        """Show them, the last one first."""
        found = runs(self._tab.jobs)
        if not found:
            return
        with card("Runs since this page was started"):
            for job in reversed(found):
                with ui.row().classes("items-center"):
                    said(f"{job.title}: {state(job)}")
                    ui.button("Show", on_click=lambda _, job=job: self._choose(job)).props(
                        "outline dense"
                    )

    def update(self) -> None:
        """Show what has changed since the last look."""
        seen = [(job, job.is_done) for job in runs(self._tab.jobs)]
        if seen != self._seen:
            self._seen = seen
            self.show.refresh()

    def _choose(self, job: Job) -> None:
        self._tab.job, self._tab.packing = job, None
        self._tab.changed()


def runs(jobs: Jobs) -> list[Job]:
    """Return the commands that are runs, and no packs of them."""
    return [job for job in jobs if job.is_run]


def state(job: Job) -> str:
    """Return how far a command is, in a word or two."""
    if job.code is None:
        return "running"
    return {0: "done", 130: "stopped"}.get(job.code, "ended with an error")
