"""Step 2, what is public: the classes of images, or what can stand in each column of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from jaxdp.program.data import answers
from jaxdp.program.ui import columns, inputs
from jaxdp.program.ui.tab import Tab, card, said, sets
from jaxdp.tables import rules as table_rules

_STEP = "columns"
_MOST_SHOWN = 200
_MISSING = {columns.BUY: "buy it", columns.NO: "never", columns.YES: "may be"}


class ColumnsPart:
    """The step, for one tab."""

    def __init__(self, tab: Tab) -> None:
        """Take the tab."""
        self._tab = tab
        self._faults: dict[str, Any] = {}

    @ui.refreshable_method
    def show(self) -> None:
        """Show it, once data are read."""
        tab, chosen = self._tab, self._tab.chosen
        if isinstance(chosen, inputs.Images):
            with card("2  Classes"):
                said(f"Of {chosen.word}:").classes("faint")
                said(tab.line)
                ui.label("Names of classes count as public.").classes("faint")
                for note in chosen.notes:
                    said(note)
        elif chosen is not None:
            with card("2  Columns"):
                said(f"Of {chosen.path}:").classes("faint")
                self._table(chosen)

    def _table(self, table: inputs.Table) -> None:
        if table.schema is not None:
            said(f"{table.schema.name} is there, beside the table, and is used. It says:")
            with ui.column().classes("gap-0"):
                for name, words in table.known.items():
                    said(f"{name}: {words}")
            ui.button("Change what is said", on_click=self._change).props("outline")
            self._note(table)
        else:
            ui.label(
                "Say what you know without this table: that counts as public. What you leave empty "
                "is bought with a part of epsilon. The values shown are the first ones of the "
                "table, for you alone."
            )
            reading = answers.reading_in_words(table.drafted)
            if reading:
                said(f"How the file is written: {reading}.")
            self._note(table)
            self._faults = {}
            for row in self._tab.rows[:_MOST_SHOWN]:
                self._column(row, table.first.get(row.name, ""))
            if len(self._tab.rows) > _MOST_SHOWN:
                ui.label(
                    f"{len(self._tab.rows) - _MOST_SHOWN} more columns are as guessed, and count "
                    "as accepted. To say something of them, edit the file of the schema."
                )
            self._rules(table)
        self._tab.place_for_faults(_STEP)
        ui.button("These are right", on_click=self._agree)
        self._line = said(self._tab.line)

    def _column(self, row: columns.Row, first: str) -> None:
        with ui.column().classes("of-column gap-1"):
            with ui.row().classes("items-baseline"):
                said(row.name).classes("font-bold")
                said(first).classes("faint")
            fields = ui.row().classes("items-start w-full")
            self._faults[row.name] = said("").classes("wrong")

        def choose(event: Any) -> None:
            row.kind = event.value
            self._edited()
            show()

        def show() -> None:
            fields.clear()
            with fields:
                kinds = {
                    columns.GUESSED: f"{'as before' if row.is_known else 'guess'}: {row.guess}"
                }
                kinds |= {kind: kind for kind in columns.KINDS}
                ui.select(kinds, label="holds", value=row.kind, on_change=choose).classes("w-72")
                self._fields(row)

        show()

    def _fields(self, row: columns.Row) -> None:
        """Show what can be said of a column of its kind."""
        if row.has_format:
            self._field("written as", row, "format", row.usual_format)
        if row.has_bounds:
            self._field("least", row, "lower", "buy it")
            self._field("largest", row, "upper", "buy it")
        if row.has_categories:
            place = (
                "all of them, in order" if row.needs_categories else "buy those that are frequent"
            )
            self._field("all categories, commas between", row, "categories", place, wide=True)
        if row.may_be_missing:
            ui.select(
                _MISSING, label="missing", value=row.missing, on_change=self._sets(row, "missing")
            ).classes("w-28")
        if row.may_be_predicted:
            ui.checkbox(
                "is predicted", value=row.is_target, on_change=self._sets(row, "is_target")
            ).classes("mt-3")

    def _field(
        self, label: str, row: columns.Row, name: str, placeholder: str, *, wide: bool = False
    ) -> None:
        ui.input(
            label,
            placeholder=placeholder,
            value=getattr(row, name),
            on_change=self._sets(row, name),
        ).classes("w-72" if wide else "w-32").props("stack-label")

    def _sets(self, row: columns.Row, name: str) -> Callable[[Any], None]:
        """Return what takes over the value of a widget, by which nothing is agreed on any more."""
        take = sets(row, name)

        def changed(event: Any) -> None:
            take(event)
            self._edited()

        return changed

    def _edited(self) -> None:
        """Forget what was agreed on before something was changed."""
        self._tab.disagree()
        self._line.text = ""
        self._tab.changed(but=self)

    def _rules(self, table: inputs.Table) -> None:
        agreed = self._tab.agreed

        def tick(number: int, holds: bool) -> None:
            (agreed.add if holds else agreed.discard)(number)
            self._edited()

        if table.rules:
            ui.label("Does this hold in every record that can occur?").classes("font-bold")
        for number, rule in enumerate(table.rules):
            ui.checkbox(
                str(table_rules.from_json(rule)),
                value=number in agreed,
                on_change=lambda event, number=number: tick(number, event.value),
            )

    def _note(self, table: inputs.Table) -> None:
        """Say which files play a part that nobody has named."""
        if table.bought.exists():
            ui.label(
                f"{table.bought.name} has what was bought before. It is used again at no cost, "
                "as long as the rest is said as it was then."
            ).classes("faint")
        if table.replaced is not None:
            ui.label(
                f"Where anything is said otherwise, a run writes {table.own_schema.name} anew, and "
                f"keeps the file that is there now as {table.own_schema.name}.old."
            ).classes("faint")

    async def _change(self) -> None:
        """Show the columns in a form again, as the file has them."""
        tab = self._tab
        found = await tab.told(_STEP, inputs.again, tab.chosen)
        if found is None:
            return
        table, tab.rows = found
        tab.disagree()
        tab.chosen = table
        tab.agreed = {
            number for number, rule in enumerate(table.rules) if table_rules.PROPOSED not in rule
        }
        tab.changed()

    async def _agree(self) -> None:
        """Look whether the table fits what was said; go on to the budget."""
        tab, table = self._tab, self._tab.chosen
        assert isinstance(table, inputs.Table)
        self._edited()  # the last agreement ends here, whatever comes of this one
        stored = None
        if table.schema is None:
            found, faults = columns.facts_of(tab.rows)
            self._mark(faults)
            if faults:
                return
            held = [
                {key: value for key, value in rule.items() if key != table_rules.PROPOSED}
                for number, rule in enumerate(table.rules)
                if number in tab.agreed
            ]
            stored = inputs.schema_of(table, found, held, num_seen=_MOST_SHOWN)
        with tab.working("Reading all records"):
            facts = await tab.told(_STEP, inputs.spec_of, table, stored)
        if facts is not None:
            tab.stored = stored
            tab.spec, tab.line, tab.opened = facts
            tab.changed()

    def _mark(self, faults: dict[str, str]) -> None:
        """Show mistakes, each beside its column."""
        for name, label in self._faults.items():
            label.text = faults.get(name, "")
        many = f"{len(faults)} columns have" if len(faults) > 1 else "A column has"
        self._tab.wrong(_STEP, f"{many} mistakes: see above." if faults else "")
