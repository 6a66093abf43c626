"""The page without a browser: its widgets are changed and pressed by a script."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.testing import user_simulation
from nicegui.testing.user_interaction import UserInteraction

from jaxdp.program.ui import page
from jaxdp.program.ui.jobs import Job, Jobs
from jaxdp.program.ui.tab import Tab

_LIMIT_SECONDS = 20.0
_PAUSE_SECONDS = 0.02


class StubbedJobs(Jobs):
    """Commands that are kept and not started, and so run until a test ends them."""

    def start(self, words: Sequence[str], title: str, folder: Path | None = None) -> Job:
        """Keep a command."""
        job = Job(["--version"], title, folder)
        job.wait()
        job.words, job.code = tuple(words), None
        self._all[job.name] = job
        return job


class Simulated:
    """A tab, and what somebody does in it.

    Attributes:
        tab: what is chosen in it.
        jobs: of the server.
    """

    def __init__(self, user: Any, tab: Tab, jobs: StubbedJobs) -> None:
        """Take the tab."""
        self._user, self.tab, self.jobs = user, tab, jobs

    @property
    def _elements(self) -> list[Any]:
        # A copy, as the page changes them; what it shows is what is not hidden.
        return [each for each in tuple(self._user.client.elements.values()) if each.visible]

    @property
    def texts(self) -> list[str]:
        """What is said in the page, from its top to its end."""
        return [each.text for each in self._elements if isinstance(each, ui.label) and each.text]

    @property
    def buttons(self) -> list[str]:
        """What is written on its buttons."""
        return [each.text for each in self._elements if isinstance(each, ui.button)]

    def field(self, label: str) -> Any:
        """Return the first field with a label."""
        kinds = (ui.input, ui.select)
        fields = (each for each in self._elements if isinstance(each, kinds))
        return next(each for each in fields if each.props.get("label") == label)

    def boxes(self) -> list[Any]:
        """Return the boxes that can be ticked."""
        return [each for each in self._elements if isinstance(each, ui.checkbox)]

    def type(self, label: str, text: Any) -> None:
        """Put a text into a field."""
        self.field(label).value = text

    async def press(self, name: str) -> None:
        """Press the first button of a name, once it is there."""
        await self.until(lambda: name in self.buttons, name)
        found = next(
            each for each in self._elements if isinstance(each, ui.button) and each.text == name
        )
        UserInteraction(self._user, {found}, None).click()

    async def until(self, holds: Callable[[], Any], what: str = "") -> None:
        """Wait until something holds."""
        for _ in range(int(_LIMIT_SECONDS / _PAUSE_SECONDS)):
            if holds():
                return
            await asyncio.sleep(_PAUSE_SECONDS)
        raise AssertionError(f"{what or 'it'} never held; the page says {self.texts}")

    async def says(self, words: str) -> None:
        """Wait until the page says something."""
        await self.until(lambda: any(words in text for text in self.texts), words)

    async def reads(self, word: str) -> None:
        """Name data and read them."""
        self.type("Path of the data", word)
        turn = self.tab.turn
        await self.press("Read")
        await self.until(lambda: self.tab.turn > turn and self.tab.chosen, "a reading")

    async def agrees(self) -> None:
        """Say that what is said of columns is right."""
        turn = self.tab.turn
        await self.press("These are right")
        await self.until(lambda: self.tab.turn > turn and self.tab.spec, "an agreement")
        await self.until(lambda: "Run" in self.buttons, "the next steps")


@contextlib.asynccontextmanager
async def opened(monkeypatch: Any, folder: Path) -> AsyncIterator[Simulated]:
    """Open the page in a folder."""
    monkeypatch.chdir(folder)
    tabs, jobs = [], StubbedJobs()

    class Kept(Tab):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            tabs.append(self)

    monkeypatch.setattr(page, "Tab", Kept)
    async with user_simulation(lambda: page.build(jobs, folder)) as user:
        await user.open("/")
        yield Simulated(user, tabs[-1], jobs)
