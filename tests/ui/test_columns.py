"""What a form says of columns, as the facts of a schema."""

from __future__ import annotations

from typing import Any

import pytest

from jaxdp.program.data import answers
from jaxdp.program.ui.columns import BUY, KINDS, NO, YES, Row, facts_of, rows_again, rows_of
from jaxdp.tables import OpenSchema

AGE = answers.WHOLE


def test_what_nobody_changes_is_as_guessed() -> None:
    columns = {"age": AGE, "id": answers.COUNTER, "note": {"drop": True}}
    assert facts_of(rows_of(columns, {})) == (columns, {})


def test_a_target_of_few_numbers_is_one_of_classes() -> None:
    row, age = rows_of({"ill": AGE, "age": AGE}, {"ill": answers.CATEGORY})
    assert (row.guess, age.guess) == ("whole numbers", "whole numbers")
    row.is_target = age.is_target = True
    assert (row.guess, age.guess) == ("categories", "whole numbers")
    assert row.facts() == answers.CATEGORY | {"target": True}
    row.kind = "whole numbers"
    assert row.facts()["type"] == "numeric", "a person decides"


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
        "other": False,
        "nullable": False,
    }
    day = Row("day", AGE, kind="dates", format="%d.%m.%Y", lower="01.01.2000", upper="31.12.2020")
    assert day.facts()["lower"] == "01.01.2000"
    assert OpenSchema.from_json({"columns": {"day": day.facts()}}).open == {
        "day": ("bins", "nullable")
    }


def test_a_category_may_have_a_comma() -> None:
    row = Row("job", AGE, kind="ordered categories", categories='low, "middle, or so", high')
    assert row.facts()["categories"] == ["low", "middle, or so", "high"]


def test_all_mistakes_are_told_at_once_by_their_columns() -> None:
    rows = [
        Row("a", AGE, lower="one", upper="2"),
        Row("b", AGE, upper="3"),
        Row("c", AGE),
        Row("d", AGE, lower="5", upper="2"),
        Row("e", AGE, kind="ordered categories"),
        Row("f", AGE, kind="dates", lower="2020", upper="2021"),
        Row("g", AGE, kind="dates", lower="2020-01-01"),
        Row("h", AGE, kind="dates", format="%Q"),
        Row("i", AGE, lower="1.5", upper="3"),
        Row("j", AGE, lower="1.5", upper="inf"),
    ]
    _, faults = facts_of(rows)
    assert faults == {
        "a": "the least and the largest value are numbers; give both or none",
        "b": "the least and the largest value are numbers; give both or none",
        "d": "least must be below largest, and 5 is not below 2",
        "e": "name all categories, in their order",
        "f": "least: 2020 is not written as %Y-%m-%d, which is like 2024-12-31",
        "g": "give both least and largest, or none",
        "h": "'%Q' is unknown; known are %Y %y %m %b %B %d %j %a %A %H %I %p %M %S %f %3f %z %:z, "
        "%%, and %-d",
        "i": "bounds of whole numbers are whole, not 1.5 and 3",
        "j": "largest: inf is no finite number",
    }


@pytest.mark.parametrize("name", ["x'y", '<img src=x onerror="1">', "two\nlines"])
def test_a_mistake_of_a_column_with_an_odd_name_is_told_without_it(name: str) -> None:
    _, faults = facts_of([Row(name, AGE, lower="5", upper="2")])
    assert faults[name].startswith("least must be below largest")


@pytest.mark.parametrize(
    ("kind", "format", "example"),
    [
        ("dates", "%d.%m.%Y", "31.12.2024"),
        ("dates", "%Y", "2024"),
        ("dates with times", "%d.%m.%Y %H:%M", "31.12.2024 18:00"),
        ("durations", "H:MM:SS", "1:30:00"),
    ],
)
def test_a_date_that_is_none_is_told_with_an_example(kind: str, format: str, example: str) -> None:
    _, faults = facts_of([Row("at", AGE, kind=kind, format=format, lower="x", upper="y")])
    assert faults["at"] == f"least: x is not written as {format}, which is like {example}"


def test_a_schema_tells_its_mistakes_by_the_names_of_the_form() -> None:
    _, faults = facts_of([Row("x", AGE | {"decimals": 1}, lower="1", upper="2")])
    assert not any(f'"{key}"' in text for text in faults.values() for key in ("lower", "upper"))
    _, faults = facts_of([Row("x", AGE | {"bins": [5]}, lower="1", upper="2")])
    assert faults["x"] == '"bins" must be ascending edges between least and largest'


@pytest.mark.parametrize(
    "facts",
    [
        {"type": "numeric", "lower": 0, "upper": 5, "integer": True, "nullable": True},
        {"type": "categorical", "categories": ["a", "b, c", 'q"'], "other": True, "nullable": None},
        {"type": "boolean", "nullable": False},
        {"type": "date", "format": "%Y", "lower": "1990", "upper": "2000", "nullable": False},
        {"type": "time", "format": "%H:%M", "nullable": False},
        {"type": "numeric", "lower": None, "upper": None, "nullable": False, "target": True},
        {"drop": True},
        answers.COUNTER,
    ],
)
def test_columns_that_were_said_come_back_into_the_form(facts: dict[str, Any]) -> None:
    (row,) = rows_again({"x": facts}, {})
    assert row.facts() == facts
    assert row.is_known


@pytest.mark.parametrize("type", ["categorical", "ordinal"])
@pytest.mark.parametrize(("target", "other"), [({}, True), ({"target": True}, False)])
def test_others_that_a_file_allows_by_default_stay(
    type: str, target: dict[str, Any], other: bool
) -> None:
    facts = {"type": type, "categories": ["a", "b"], "nullable": False, **target}
    (row,) = rows_again({"x": facts}, {})
    assert row.facts() == {**facts, "other": other}
    assert ("others" in row.guess) == other
    columns = [{"columns": {"x": each, "y": AGE}} for each in (facts, row.facts())]
    before, after = (OpenSchema.from_json(each).schema.columns[0] for each in columns)
    assert before == after
    row.kind = "categories"
    assert row.facts()["other"] is False, "all are listed anew"


def test_categories_that_were_bought_and_are_listed_now_are_all() -> None:
    facts = {"type": "categorical", "categories": ["a", "b"], "other": True, "nullable": False}
    (row,) = rows_again({"x": facts}, {"x": ["categories"]})
    assert row.facts() == {"type": "categorical", "categories": None, "nullable": False}
    row.categories = "a, b, c"
    assert row.facts()["other"] is False


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_a_schema(kind: str) -> None:
    row = Row("x", AGE, kind=kind, is_target=True)
    if row.needs_categories:
        row.categories = "low, high"
    found, faults = facts_of([row, Row("age", AGE)])
    assert not faults
    OpenSchema.from_json({"columns": found})
    assert ("target" in found["x"]) == row.may_be_predicted
    row.is_target = False
    if not row.needs_categories:
        assert row.facts() == KINDS[kind], "facts of a kind are not changed"


def test_a_kind_can_be_written_otherwise() -> None:
    row = Row("at", AGE, kind="dates with times", format="%d.%m.%Y %H:%M")
    assert row.has_format
    assert row.facts()["format"] == "%d.%m.%Y %H:%M"
    assert row.usual_format == "%Y-%m-%dT%H:%M:%S"
    assert not Row("at", row.facts()).has_format, "a guess says it itself"
