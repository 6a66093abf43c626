"""A schema of which facts are open, and one of which these were bought."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from jaxdp.tables import Bought, OpenSchema, Schema, SchemaError
from jaxdp.tables.open_schema import completed

DRAFT: dict[str, Any] = {
    "columns": {
        "age": {"type": "numeric", "lower": None, "upper": None, "integer": True, "nullable": None},
        "score": {"type": "numeric", "lower": 0, "upper": 1},
        "day": {"type": "date", "format": "%Y", "lower": None, "upper": None},
        "hue": {"type": "categorical", "categories": None, "nullable": None},
        "sure": {"type": "boolean", "nullable": None},
        "note": {"drop": True},
        "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
    }
}
FACTS = {
    "age": {"lower": 0, "upper": 90, "bins": [20, 40], "nullable": False},
    "score": {"bins": [0.5], "spikes": [0.0]},
    "day": {"lower": "1990", "upper": "2020", "bins": ["2000"]},
    "hue": {"categories": ["red"], "other": True, "nullable": True},
    "sure": {"nullable": False},
}
OPEN = {
    "age": ("bounds", "bins", "nullable"),
    "score": ("bins",),
    "day": ("bounds", "bins"),
    "hue": ("categories", "nullable"),
    "sure": ("nullable",),
}
NAME = "0123456789abcdef" * 2


def bought_schema(**changes: Any) -> Schema:
    bought = Bought(NAME, OPEN, {"any": "ledger"}).to_json()
    return Schema.from_json(completed(DRAFT, FACTS | changes) | {"bought": bought})


def test_what_is_open_is_found() -> None:
    opened = OpenSchema.from_json(DRAFT)
    assert dict(opened.open) == OPEN
    assert opened.must_be_bought
    assert [column.name for column in opened.schema.declared] == [*OPEN, "ill"]


def test_a_draft_is_left_as_it_was() -> None:
    before = copy.deepcopy(DRAFT)
    OpenSchema.from_json(DRAFT)
    completed(DRAFT, FACTS)
    assert before == DRAFT


def test_bins_alone_need_not_be_bought() -> None:
    columns = {"score": {"type": "numeric", "lower": 0, "upper": 1}}
    opened = OpenSchema.from_json({"columns": columns})
    assert dict(opened.open) == {"score": ("bins",)}
    assert not opened.must_be_bought
    for facts in ({"bins": 16}, {"bins": [0.5]}, {"log": True}):
        assert not OpenSchema.from_json({"columns": {"score": columns["score"] | facts}}).open


def test_a_purchase_is_known_by_its_draft() -> None:
    opened = OpenSchema.from_json(DRAFT)
    assert opened.filled_by(bought_schema()) == bought_schema()
    assert opened.filled_by(Schema.from_json(completed(DRAFT, FACTS))) is None, "it was declared"
    for name, facts in (
        ("score", {"lower": None, "upper": None}),  # more is open
        ("score", {"integer": True}),
        ("age", {"thousands": ","}),
        ("day", {"format": "%y"}),
        ("hue", {"type": "numeric", "lower": None, "upper": None, "categories": []}),
        ("note", {"type": "boolean", "nullable": None, "drop": False}),
    ):
        other: dict[str, Any] = copy.deepcopy(DRAFT)
        other["columns"][name] = {**other["columns"][name], **facts}
        if name == "hue":
            del other["columns"][name]["categories"]
        if name == "note":
            del other["columns"][name]["drop"]
        assert OpenSchema.from_json(other).filled_by(bought_schema()) is None, facts
    for changes in ({"missing": ["-9"]}, {"csv": {"separator": ";"}}):
        assert OpenSchema.from_json(DRAFT | changes).filled_by(bought_schema()) is None


def test_what_was_bought_may_be_declared_now_and_columns_left_out() -> None:
    said: dict[str, Any] = copy.deepcopy(DRAFT)
    said["columns"]["age"] |= {"lower": 30, "upper": 110}
    said["columns"]["day"] |= {"lower": "1980", "upper": "1999"}
    said["columns"]["hue"] |= {"categories": ["red", "green"], "other": False}
    said["columns"]["sure"] = {"drop": True}
    said["columns"]["score"]["bins"] = [0.25]
    said["rules"] = [{"missing": "age", "unless": {"hue": "red"}}]
    found = OpenSchema.from_json(said).filled_by(bought_schema())
    assert found is not None
    age, score, day, hue = (found.to_json()["columns"][n] for n in ("age", "score", "day", "hue"))
    # An edge that was bought lies within the bounds now, and so may what was the upper bound.
    assert (age["lower"], age["upper"], age["bins"]) == (30, 110, [40, 91])
    assert (day["lower"], day["upper"], day.get("bins", 16)) == ("1980", "1999", ["1990"])
    assert score["bins"] == [0.25]
    assert "spikes" not in score
    assert hue["categories"] == ["red", "green"]
    assert set(found.dropped) == {"note", "sure"}
    assert len(found.rules) == 1
    assert found.bought is not None
    assert dict(found.bought.facts) == {"age": ("bins",), "day": ("bins",), "hue": ("nullable",)}
    assert found.bought.ledger == {"any": "ledger"}, "the purchase counts as a whole"


def test_a_spike_that_bounds_leave_out_is_none_any_more() -> None:
    said: dict[str, Any] = copy.deepcopy(DRAFT)
    said["columns"]["age"] |= {"lower": 1, "upper": 90}
    with_spike = FACTS["age"] | {"spikes": [0]}
    found = OpenSchema.from_json(said).filled_by(bought_schema(age=with_spike))
    assert found is not None
    assert "spikes" not in found.to_json()["columns"]["age"]


def test_bins_of_single_numbers_stay_so_between_wider_bounds() -> None:
    said: dict[str, Any] = copy.deepcopy(DRAFT)
    said["columns"]["age"] |= {"lower": 0, "upper": 30}
    few = {"lower": 2, "upper": 6, "bins": 5, "nullable": False}
    found = OpenSchema.from_json(said).filled_by(bought_schema(age=few))
    assert found is not None
    assert found.to_json()["columns"]["age"]["bins"] == [2, 3, 4, 5, 6, 7]


def test_a_purchase_serves_files_whose_fields_may_hold_line_breaks() -> None:
    opened = OpenSchema.from_json(DRAFT).with_csv({"line_breaks": True})
    found = opened.filled_by(bought_schema())
    assert found is not None
    assert found.csv.line_breaks
    assert OpenSchema.from_json(DRAFT).filled_by(found) == bought_schema()


def test_a_purchase_serves_another_target() -> None:
    opened = OpenSchema.from_json(DRAFT, target="sure")
    found = opened.filled_by(bought_schema())
    assert found is not None
    assert found.target is not None
    assert found.target.name == "sure"
    # Of a class nobody asks whether it may be missing.
    left = {name: facts for name, facts in OPEN.items() if name != "sure"}
    assert found.bought == Bought(NAME, left, {"any": "ledger"})
    none = copy.deepcopy(DRAFT)
    del none["columns"]["ill"]["target"]
    without = OpenSchema.from_json(none).filled_by(bought_schema())
    assert without is not None
    assert without.target is None


def test_a_bought_schema_comes_back() -> None:
    schema = bought_schema()
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.bought is not None
    assert dict(schema.bought.facts) == OPEN


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "short"}, "hexadecimal"),
        ({"facts": {"age": ["width"]}}, "facts are bounds"),
        ({"facts": {"age": "bounds"}}, "lists of names"),
        ({"facts": {"nobody": ["bounds"]}}, "not there"),
        ({"ledger": 3}, "another kind"),
        ({"more": 1}, "has name, facts, ledger"),
    ],
)
def test_guarantee_what_no_purchase_writes_is_refused(change: dict[str, Any], said: str) -> None:
    stored = bought_schema().to_json()
    with pytest.raises(SchemaError, match=said):
        Schema.from_json(stored | {"bought": stored["bought"] | change})


def test_what_nobody_can_buy_is_an_error_as_before() -> None:
    with pytest.raises(SchemaError, match='needs "categories"'):
        OpenSchema.from_json({"columns": {"x": {"type": "ordinal", "categories": None}}})
    with pytest.raises(SchemaError, match="'type' must be"):
        OpenSchema.from_json({"columns": {"x": {"type": None}}})
    with pytest.raises(SchemaError, match="a schema is"):
        OpenSchema.from_json([])


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ({"missing": "age", "unless": {"hue": None}}, "hue"),
        ({"determined": "sure", "by": "hue", "map": {"red": None}}, "sure"),
        ({"missing": "age", "unless": {"sure": [None, "True"]}}, "sure"),
    ],
)
def test_what_a_rule_calls_missing_need_not_be_bought(rule: dict[str, Any], column: str) -> None:
    """Else noise could say that it never is, when the budget was spent."""
    draft = copy.deepcopy(DRAFT) | {"rules": [rule]}
    opened = OpenSchema.from_json(draft)
    assert "nullable" not in opened.open.get(column, ())
    assert {each.name: each.nullable for each in opened.schema.declared}[column]
    facts = {name: {k: v for k, v in own.items() if k != "nullable"} for name, own in FACTS.items()}
    filled = completed(draft, facts)
    assert filled["columns"][column]["nullable"] is True
