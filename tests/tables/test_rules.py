"""Rules of a schema: what a file says, and which of them cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import ruled_tables

from jaxdp.tables import OpenSchema, Schema, SchemaError, rules

NUMBER = {"type": "numeric", "lower": 0, "upper": 10}
WHOLE = NUMBER | {"integer": True}
WORD = {"type": "categorical", "categories": ["a", "b"]}


def schema_with(*found: Any, **columns: Any) -> Schema:
    each = {"x": NUMBER, "y": NUMBER, "z": NUMBER, "n": WHOLE, "w": WORD, "v": WORD}
    each |= {"gone": {"drop": True}, "id": {"type": "identifier", "pattern": "counter"}}
    return Schema.from_json({"columns": each | columns, "rules": list(found)})


def test_a_schema_with_rules_is_written_as_it_was_read() -> None:
    schema = ruled_tables.schema_of()
    assert [column.name for column in schema.derived] == ["cost"]
    assert "cost" not in [column.name for column in schema.columns]
    assert schema.derived[0].bounds == (0, 7000)
    stored = schema.to_json()
    assert stored["rules"] == ruled_tables.RULES
    assert "lower" not in stored["columns"]["cost"]
    assert Schema.from_json(json.loads(json.dumps(stored))) == schema


def test_rules_are_said_in_words() -> None:
    assert list(map(str, ruled_tables.schema_of().rules)) == [
        "start <= end",
        "pregnant is missing unless sex is f and age is 15..45",
        "weeks is missing unless pregnant is yes",
        "cost = drugs + care",
        "city determines land",
    ]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (5, "must be one of"),
        ({"is": "x"}, "must be one of"),
        ({"order": "x"}, '"order" must be two names'),
        ({"order": ["x", "x"]}, "each once"),
        ({"order": ["x", "y"], "strict": 1}, '"strict" must be true or false'),
        ({"order": ["x", "y"], "strict": True}, '"strict" needs'),
        ({"order": ["x", "y"], "when": 1}, "'when' is unknown"),
        ({"order": ["x", "w"]}, "numbers, dates or times"),
        ({"order": ["x", "nobody"]}, "there is no column 'nobody'"),
        ({"order": ["x", "gone"]}, "is dropped"),
        ({"order": ["x", "id"]}, "made without the data"),
        ({"order": ["z", "low"]}, "can never hold"),
        ({"order": ["x", "day"]}, "one type"),
        ({"total": "x", "sum": ["y"]}, "two names"),
        ({"total": "x", "sum": ["x", "y"]}, "names 'x' twice"),
        ({"total": "n", "sum": ["x", "y"]}, "is whole"),
        ({"total": "x", "sum": ["y", "w"]}, "numbers or durations"),
        ({"total": "cents", "sum": ["x", "y"]}, "fewer digits"),
        ({"total": "low", "sum": ["z", "n"]}, "can never hold"),
        ({"total": "x", "sum": ["short", "y"]}, "float64"),
        ({"missing": "x"}, '"unless" must be'),
        ({"missing": "x", "unless": {}}, '"unless" must be'),
        ({"missing": "x", "unless": {"w": []}}, "values must be"),
        ({"missing": "x", "unless": {"w": "c"}}, "is never 'c'"),
        ({"missing": "x", "unless": {"w": None}}, "is never missing"),
        ({"missing": "x", "unless": {"n": "20..30"}}, "can never hold"),
        ({"missing": "x", "unless": {"n": "5..4"}}, "neither a value nor a range"),
        ({"missing": "x", "unless": {"n": ".."}}, "neither a value nor a range"),
        ({"missing": "here", "unless": {"w": "a"}}, "can be missing"),
        ({"missing": "x", "unless": {"x": "3"}}, "names 'x' twice"),
        ({"determined": "w", "by": []}, '"by" must be'),
        ({"determined": "w", "by": "n"}, "must be of categories"),
        ({"determined": "w", "by": "v", "map": 3}, '"map" must be'),
        ({"determined": "w", "by": "v", "map": {"a": ["b"]}}, '"map" must end'),
        ({"determined": "w", "by": "v", "map": {"a": "q"}}, "has 'q'"),
        ({"determined": "w", "by": "v", "map": {"q": "a"}}, "has 'q'"),
        ({"determined": "w", "by": "v", "map": {"a": None}}, "has null"),
        ({"order": ["x", "y"], "proposed": 1}, '"proposed" must be'),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_is_refused(rule: Any, why: str) -> None:
    more = {
        "low": {"type": "numeric", "lower": -9, "upper": -5},
        "cents": NUMBER | {"decimals": 1},
        "short": NUMBER | {"dtype": "float32"},
        "here": NUMBER | {"nullable": False},
        "day": {"type": "date", "format": "%Y", "lower": "2000", "upper": "2020"},
    }
    with pytest.raises(SchemaError) as caught:
        schema_with(rule, **more)
    assert why in str(caught.value)
    assert "rule" in str(caught.value)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ([{"order": ["x", "y"]}, {"order": ["y", "x"]}], "circle, x -> y -> x"),
        ([{"total": "x", "sum": ["y", "z"]}, {"total": "y", "sum": ["x", "z"]}], "circle"),
        ([{"total": "x", "sum": ["y", "z"]}, {"order": ["x", "n"]}], "is a total"),
        ([{"determined": "w", "by": "v"}, {"missing": "w", "unless": {"n": "1..3"}}], "leave one"),
        ([{"missing": "x", "unless": {"w": "a"}},
          {"missing": "w", "unless": {"x": None}}], "circle"),
    ],
)  # fmt: skip
def test_rules_that_speak_against_each_other_are_refused(found: list[Any], why: str) -> None:
    with pytest.raises(SchemaError, match="rules: ") as caught:
        schema_with(*found)
    assert why in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    """Those of columns, of what is no rule, and of names that no column has."""
    with pytest.raises(SchemaError) as caught:
        schema_with(7, {"order": ["x", "nobody"]}, {"order": ["y", "gone"]}, y={"type": "numeric"})
    told = str(caught.value).split("; ")
    assert len(told) == 4
    assert all(any(word in line for line in told) for word in ("rule 1", "nobody", "gone", "'y'"))
    with pytest.raises(SchemaError) as caught:
        schema_with({"total": "t", "sum": ["x", "nobody"]}, t={"type": "numeric"})
    assert "bounds" not in str(caught.value)
    assert ";" not in str(caught.value)


def test_targets_follow_from_nothing() -> None:
    target = WORD | {"target": True}
    for rule, why in (
        ({"determined": "t", "by": "w"}, "no target"),
        ({"determined": "w", "by": "t"}, "is the target"),
        ({"missing": "t", "unless": {"w": "a"}}, "cannot be missing"),
    ):
        with pytest.raises(SchemaError, match=why):
            schema_with(rule, t=target)
    with pytest.raises(SchemaError, match="no target"):
        schema_with({"total": "x", "sum": ["y", "z"]}, x=NUMBER | {"target": True})


def test_a_rule_that_is_proposed_does_not_hold() -> None:
    rule = {"order": ["x", "y"]}
    assert schema_with({"proposed": True, **rule}).rules == ()
    assert schema_with({"proposed": False, **rule}).rules == (rules.Order(("x", "y")),)


def test_what_rules_tell_is_not_bought() -> None:
    """Nor are bounds that mean nothing yet compared: a rule may hold of those that are bought."""
    opened = {"type": "numeric", "lower": None, "upper": None, "nullable": None}
    found = OpenSchema.from_json(
        {
            "columns": {
                "a": opened,
                "b": {"type": "numeric", "lower": -9, "upper": -5},
                "t": opened,
                "w": {"type": "categorical", "categories": None},
            },
            "rules": [
                {"total": "t", "sum": ["a", "b"]},
                {"order": ["a", "b"]},
                {"missing": "a", "unless": {"w": "any"}},
            ],
        }
    )
    assert found.open == {"a": ("bounds", "bins"), "b": ("bins",), "w": ("categories",)}
    assert found.schema.derived[0].nullable


def test_maps_may_be_of_several_columns() -> None:
    rule = rules.from_json(
        {"determined": "w", "by": ["v", "u"], "map": {"a": {"x": "b"}, "b": {"x": None}}}
    )
    assert rule.map == ((("a", "x"), "b"), (("b", "x"), None))
    assert rules.from_json(rule.to_json()) == rule
    assert str(rule) == "v and u determine w"
