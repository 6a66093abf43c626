"""What a form says of columns, as the facts of a schema."""

from __future__ import annotations

from typing import Any

import pytest

from jaxdp.program.data import answers
from jaxdp.program.ui.columns import BUY, KINDS, NO, YES, Row, facts_of, rows_of
from jaxdp.tables import OpenSchema

AGE = answers.WHOLE


def test_what_nobody_changes_is_as_guessed() -> None:
    columns = {"age": AGE, "id": answers.COUNTER, "note": {"drop": True}}
    assert facts_of(rows_of(columns)) == (columns, [])


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ({"lower": "0", "upper": "120"}, {"lower": 0, "upper": 120}),
        ({"missing": YES}, {"nullable": True}),
        ({"missing": NO}, {"nullable": False}),
        ({"missing": BUY}, {}),
        ({"is_target": True}, {"target": True}),
        ({"kind": "left out", "is_target": True}, None),
    ],
)
def test_what_is_said_of_a_number(said: dict[str, Any], facts: dict[str, Any] | None) -> None:
    found = Row("age", AGE, **said).facts()
    assert found == ({"drop": True} if facts is None else AGE | facts)


def test_what_is_said_of_categories_and_dates() -> None:
    row = Row("sex", AGE, kind="categories", categories=" f, m,, f ", missing=NO)
    assert row.facts() == {
        "type": "categorical",
        "categories": ["f", "m"],
        "other": True,
        "nullable": False,
    }
    row.is_target = True
    assert row.facts()["other"] is False, "classes are all listed"
    day = Row("day", AGE, kind="dates", format="%d.%m.%Y", lower="01.01.2000", upper="31.12.2020")
    assert day.facts()["lower"] == "01.01.2000"
    assert OpenSchema.from_json({"columns": {"day": day.facts()}}).open == {
        "day": ("bins", "nullable")
    }


def test_all_mistakes_are_told_at_once() -> None:
    rows = [Row("a", AGE, lower="one", upper="2"), Row("b", AGE, upper="3"), Row("c", AGE)]
    _, faults = facts_of(rows)
    assert [fault.split(":")[0] for fault in faults] == ["column 'a'", "column 'b'"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_a_schema(kind: str) -> None:
    row = Row("x", AGE, kind=kind)
    OpenSchema.from_json({"columns": {"x": row.facts(), "age": dict(AGE)}})
    assert row.facts() == KINDS[kind], "facts of a kind are not changed"
