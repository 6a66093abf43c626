"""The page: choose data, say what is public, choose epsilon, run, look, pack.

Whatever comes from data or files is shown as text, never as markup.
"""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from jaxdp.program.ui.budget_part import BudgetPart
from jaxdp.program.ui.columns_part import ColumnsPart
from jaxdp.program.ui.data_part import DataPart
from jaxdp.program.ui.jobs import Jobs
from jaxdp.program.ui.run_part import RunPart, RunsPart
from jaxdp.program.ui.style import CSS, PRIMARY
from jaxdp.program.ui.tab import Tab

_POLL_SECONDS = 0.5


def build(jobs: Jobs, folder: Path) -> None:
    """Put the page together, for one tab of a browser.

    Args:
        jobs: of the server, which all tabs see.
        folder: where looking for data begins.
    """
    ui.add_css(CSS)
    ui.colors(primary=PRIMARY)
    tab = Tab(jobs, folder)
    with ui.column().classes("w-full gap-0"):
        ui.label("jaxdp").classes("name").props("role=heading aria-level=1")
        ui.label(
            "Private data in, something that may be released out. All of it happens on this "
            "machine; nothing is sent anywhere."
        )
    budget, running, listed = BudgetPart(tab), RunPart(tab), RunsPart(tab)
    for part in (DataPart(tab), ColumnsPart(tab), budget, running, listed):
        tab.shows(part)

    async def update() -> None:
        await running.update()
        listed.update()
        await budget.update()

    ui.timer(_POLL_SECONDS, update)
