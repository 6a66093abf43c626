"""Step 3, epsilon: what to expect, what it means, what was spent and what it will be with this."""

from __future__ import annotations

import base64
from typing import Any

from nicegui import ui

from jaxdp.methods.settings import SettingsError
from jaxdp.program.ui import inputs, spending, typed_words
from jaxdp.program.ui.tab import Tab, card, said, sets

_STEP = "budget"
_EPSILONS = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)


class BudgetPart:
    """The step, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._stamp: Any = None
        self._more = tab.more  # by which the outlook is shown

    async def update(self) -> None:
        """Read again what was spent, once the ledger has changed: by a run of whatever program.

        And say anew what is expected, once further flags are others.
        """
        tab = self._tab
        if tab.chosen is None or tab.spec is None:
            return
        turn, chosen, more = tab.turn, tab.chosen, tab.more
        stamp = (turn, spending.ledger_stamp(chosen, more), more)
        if stamp == self._stamp:
            return
        spent = await tab.told(_STEP, spending.spent_before, chosen, more) or "Nobody can say."
        facts, found = inputs.Facts(tab.spec, tab.line, tab.opened), None
        if isinstance(chosen, inputs.Table) and tab.opened is not None:
            found = await tab.told(_STEP, inputs.as_bought, chosen, facts)
        if turn != tab.turn:  # other data are shown by now
            return
        found = found or facts
        # The outlook of a new reading is there already: shown again, it closes a list in it.
        is_known = self._stamp is not None and self._stamp[0] == turn
        is_new = is_known or more != self._more or found is not facts
        self._stamp, self._more, tab.spent = stamp, more, spent
        tab.spec, _, tab.opened = found
        self._spent.refresh()
        if is_new:
            self._outlook.refresh()

    @ui.refreshable_method
    def show(self) -> None:
        """Show it, once facts are settled."""
        tab = self._tab
        if tab.spec is None:
            return
        with card("3  Epsilon"):
            ui.label(
                f"Epsilon bounds what anybody can learn about a single {_unit(tab)} from what is "
                "made. Smaller is more private and less accurate: up to 1 is a strong guarantee, "
                "up to 10 a medium one."
            )
            ui.radio(
                {each: f"{each:g}" for each in _EPSILONS},
                value=tab.epsilon,
                on_change=self._choose,
            ).props("inline")
            self._outlook()
            self._before()
            tab.place_for_faults(_STEP)

    def _choose(self, event: Any) -> None:
        self._tab.epsilon = event.value
        self._outlook.refresh()

    def _before(self) -> None:
        """Show what was spent before, and ask for a limit."""
        tab = self._tab
        assert tab.chosen is not None
        ui.label("Spent on these data so far").classes("font-bold")
        self._spent()
        if spending.has_ledger(tab.chosen):
            ui.input(
                "Limit for all runs together", value=tab.budget, on_change=sets(tab, "budget")
            ).classes("w-72").props('hint="The most epsilon from now on; may stay empty"')

    @ui.refreshable_method
    def _spent(self) -> None:
        said(self._tab.spent or "Their ledger is read at the moment.")

    @ui.refreshable_method
    def _outlook(self) -> None:
        tab = self._tab
        assert tab.spec is not None
        assert tab.chosen is not None
        relation = typed_words.relation_of(tab.more)
        ways = inputs.ways(tab.spec, tab.epsilon, relation)
        tab.way = min(tab.way, len(ways) - 1)
        if len(ways) > 1:
            ui.select(
                {place: way.purpose for place, way in enumerate(ways)},
                label="What to make",
                value=tab.way,
                on_change=self._choose_way,
            ).classes("w-full")
        with ui.element("div").classes("outlook"):
            _curve(inputs.curve(tab.spec, tab.epsilon, relation) if tab.way == 0 else None)
            with ui.column().classes("gap-3"):
                self._say(ways[tab.way])

    def _say(self, way: inputs.Way) -> None:
        """Say what an epsilon and a way lead to."""
        tab = self._tab
        assert tab.chosen is not None
        assert tab.spec is not None
        try:
            spends = spending.of_next_run(
                tab.epsilon, tab.spec, tab.opened, tab.more, counts_cells=tab.way == 0
            )
            means = spending.attack(spends)
            together = spending.together(tab.chosen, spends, tab.more)
        except SettingsError as error:
            means, together = f"nobody can say: {error}", ""
        with_what = "with this one" if tab.job is None else "with one more like this"
        for what, text in (
            ("Expected", way.expected),
            ("What it means", means),
            (f"All runs together, {with_what}", together),
            ("Takes", way.takes),
        ):
            if text:
                with ui.column().classes("w-full gap-0"):
                    ui.label(what).classes("font-bold")
                    said(text)

    def _choose_way(self, event: Any) -> None:
        self._tab.way = event.value
        self._outlook.refresh()


def _people(tab: Tab) -> int:
    """Return how many records a person has at most."""
    return 1 if tab.spec is None else tab.spec.records_per_person


def _unit(tab: Tab) -> str:
    return "record" if _people(tab) == 1 else "person"


def _curve(svg: str | None) -> None:
    """Show a picture of what is expected over epsilon, where there is one."""
    if svg is not None:
        data = base64.b64encode(svg.encode()).decode()
        ui.image(f"data:image/svg+xml;base64,{data}").classes("curve").props(
            'no-spinner no-transition fit=contain alt="What is expected over epsilon"'
        )
