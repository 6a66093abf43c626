"""Step 1, data: a path that is typed, or looked for in the folders of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui

from jaxdp.escapes import for_terminal
from jaxdp.program.data.outside_files import table_name
from jaxdp.program.ui import columns, inputs, typed_words
from jaxdp.program.ui.tab import Tab, card, free, said

_STEP = "data"
_MOST_FILES = 300


class DataPart:
    """The step, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._is_read = -1  # the turn of which data are read at the moment

    @ui.refreshable_method
    def show(self) -> None:
        """Show it."""
        tab = self._tab
        with card("1  Data"):
            path = ui.input("Path of the data", value=tab.word, on_change=self._name).props(
                "outlined"
            )
            path.classes("w-full").on("keydown.enter", self._read)
            ui.label(
                "A folder of images with a folder for each class in it, an npz file, or a table: "
                "CSV or Parquet."
            ).classes("faint")
            with ui.row().classes("items-center"):
                self._button = ui.button("Read", on_click=self._read)
                self._button.set_enabled(self._is_read != tab.turn)
                ui.button("Look for it", on_click=self._look).props("outline")
                ui.button("Try bundled digits", on_click=self._digits).props("flat")
            tab.place_for_faults(_STEP)
            with (
                ui.expansion("How it is read: size of images, lines of a table, persons")
                .classes("w-full")
                .props("dense"),
                ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-x-8 gap-y-3 w-full"),
            ):
                for name, (label, hint) in typed_words.READING.items():
                    ui.input(
                        label,
                        value=tab.reading.get(name, ""),
                        on_change=lambda event, name=name: self._say(name, event.value),
                    ).classes("w-full").props["hint"] = hint

    async def _digits(self) -> None:
        self._tab.word = inputs.DIGITS
        await self._read()

    def _name(self, event: Any) -> None:
        """Take another path."""
        self._tab.word = event.value or ""
        self._forget()

    def _say(self, name: str, text: str) -> None:
        """Take another text for how data are read."""
        self._tab.reading[name] = text or ""
        self._forget()

    def _forget(self) -> None:
        """Forget what was read, as it is of other words than those that are here now."""
        self._tab.forget()
        self._button.enable()
        self._tab.changed(but=self)

    async def _read(self) -> None:
        """Read what was named; show what it is."""
        tab = self._tab
        tab.forget()
        tab.look_at(None)
        turn, word = tab.turn, tab.word
        self._is_read = turn
        tab.changed()
        with tab.working("Reading"):
            found = await tab.told(_STEP, inputs.read, word, dict(tab.reading))
        if turn != tab.turn:  # something else was named, or is read
            return
        self._is_read = -1
        self._button.enable()
        if found is None:
            return
        tab.chosen = found
        stem = table_name(Path(word).expanduser()).removesuffix(".npz")
        tab.out = str(free(Path.cwd() / "runs" / (stem or inputs.DIGITS)))
        if isinstance(found, inputs.Images):
            tab.spec, tab.line = found.spec, found.line
        else:
            tab.rows = columns.rows_of(found.columns, found.classes)
        tab.changed()

    def _look(self) -> None:
        """Show the folders of this machine, to choose from."""
        with ui.dialog() as dialog, ui.card().classes("w-full"):
            self._folders(dialog)
        dialog.open()

    @ui.refreshable_method
    def _folders(self, dialog: Any) -> None:
        tab = self._tab

        def take(path: Path) -> None:
            if not _is_text(path):
                name = for_terminal(str(path))
                ui.notify(f"{name}: this is no UTF-8 text; give it another name", type="negative")
                return
            tab.word = str(path)
            dialog.close()
            tab.forget()
            tab.changed()

        def enter(path: Path) -> None:
            tab.folder = path
            self._folders.refresh()

        said(for_terminal(str(tab.folder)))
        with ui.row():
            ui.button("Up", on_click=lambda: enter(tab.folder.parent)).props("outline")
            ui.button("Take this folder", on_click=lambda: take(tab.folder))
            ui.button("Close", on_click=dialog.close).props("flat")
        try:
            there = sorted(tab.folder.iterdir(), key=lambda path: (path.is_file(), path.name))
            shown = [path for path in there if not path.name.startswith(".") and _is_of_use(path)]
        except OSError:
            shown = []
            ui.label("This folder cannot be read.")
        with ui.column().classes("w-full gap-0"):
            for path in shown[:_MOST_FILES]:
                act, end = (enter, "/") if path.is_dir() else (take, "")
                ui.button(
                    f"{for_terminal(path.name)}{end}",
                    on_click=lambda _, path=path, act=act: act(path),
                ).props("flat align=left").classes("w-full said")
        if not shown:
            ui.label("Neither folders, npz files nor tables are in it.").classes("faint")
        if len(shown) > _MOST_FILES:
            ui.label(f"and {len(shown) - _MOST_FILES} more: type the path")


def _is_text(path: Path) -> bool:
    """Whether a path can be shown in a field, and named to a command."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_of_use(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".npz" or inputs.looks_like_a_table(path)
