"""Conditions on records to make: what a text says, and which records meet it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxdp
from jaxdp.methods.marginals import given
from jaxdp.tables import Schema
from jaxdp.tables.written import numbers

SCHEMA = Schema.from_json(
    {
        "columns": {
            "age": {"type": "numeric", "lower": 0, "upper": 100, "integer": True, "nullable": True},
            "day": {"type": "date", "format": "%d.%m.%Y", "lower": "01.01.2000",
                    "upper": "31.12.2009"},
            "city": {"type": "categorical", "categories": ["Rome", "Oslo, old"], "nullable": True},
            "ill": {"type": "categorical", "categories": ["no", "mild", "bad"],
                    "classes": {"well": ["no"], "sick": ["mild", "bad"]}, "target": True},
        }
    }
)  # fmt: skip
# Ages 20, 40 and a missing one; days at the beginning, the middle, the end; cities; classes.
X = np.array([[0.2, 0.0, 0], [0.4, 0.5, 1], [-1.0, 1.0, 3]], np.float32)
Y = np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age=20", [1, 0, 0]),
        ("age=20..40", [1, 1, 0]),
        ("age=..30", [1, 0, 0]),
        ("age=30..", [0, 1, 0]),
        ("age=-10..30", [1, 0, 0]),
        ("age=30..500", [0, 1, 0]),
        ("age=", [0, 0, 1]),
        ("day=01.01.2000..31.12.2005", [1, 1, 0]),
        ("city=Rome", [1, 0, 0]),
        ("city=Oslo, old", [0, 1, 0]),
        ("city=", [0, 0, 1]),
        ("city=Oslo, old, age=40", [0, 1, 0]),
        ("ill=well", [1, 0, 0]),
        ("ill=bad", [0, 1, 1]),
        ("ill=sick,age=20..100", [0, 1, 0]),
        ("ill=well,age=40", [0, 0, 0]),
    ],
)
def test_records_meet_what_is_said(text: str, expected: list[int]) -> None:
    assert given.parse(text, SCHEMA).holds(X, Y).astype(int).tolist() == expected


def test_an_end_of_a_range_may_be_a_number_that_is_missing_in_a_cell() -> None:
    degrees = {"type": "numeric", "lower": -20, "upper": 20, "nullable": True}
    schema = Schema.from_json({"missing": ["-9"], "columns": {"degrees": degrees}})
    x, y = np.array([[0.0], [0.4], [0.9], [-1.0]], np.float32), np.zeros(4, int)
    assert given.parse("degrees=-9..10", schema).holds(x, y).tolist() == [False, True, False, False]
    assert given.parse("degrees=-9", schema).holds(x, y).tolist() == [False, False, False, True]


@pytest.mark.parametrize("facts", [{"integer": True}, {"decimals": 1}, {}])
def test_what_is_never_missing_is_not_asked_to_be(facts: dict[str, Any]) -> None:
    """It was a range without ends, which every record is in."""
    column = {"type": "numeric", "lower": 0, "upper": 9, **facts}
    with pytest.raises(jaxdp.SettingsError, match=r"--given=x=: it is never missing"):
        given.parse("x=", Schema.from_json({"columns": {"x": column}}))
    with pytest.raises(jaxdp.SettingsError, match=r"--given=day=: it is never missing"):
        given.parse("day=,age=20", SCHEMA)


def test_a_missing_value_is_an_empty_one_however_a_table_writes_it() -> None:
    columns = {
        "x": {"type": "numeric", "lower": 0, "upper": 9, "integer": True, "nullable": True},
        "c": {"type": "categorical", "categories": ["a"], "other": False, "nullable": True},
    }
    schema = Schema.from_json({"missing": ["-9"], "columns": columns})
    x = np.array([[0.5, 1], [-1, 0]], np.float32)
    for text, expected in (("x=", [0, 1]), ("c=", [1, 0]), ("c=-9", [1, 0])):
        found = given.parse(text, schema).holds(x, np.zeros(2, int))
        assert found.astype(int).tolist() == expected


def test_a_number_is_one_as_it_is_written() -> None:
    """With its digits it may leave its bin, and the first of the bin is written for it."""
    score = {"type": "numeric", "lower": 0, "upper": 10, "decimals": 1}
    schema = Schema.from_json({"columns": {"score": score}})
    x = np.array([[0.936], [0.92], [0.946]], np.float32)  # bins begin at 8.75 and 9.375
    written = numbers(schema.columns[0], x[:, 0])
    assert written.tolist() == [8.8, 9.2, 9.5]
    condition = given.parse("score=9.1..9.4", schema)
    assert condition.holds(x, np.zeros(3, int)).tolist() == [False, True, False]


@pytest.mark.parametrize(
    "text", ["", "age", "town=1", "city=Bern", "age=30..20", "age=200..300", "age=-9..-1"]
)
def test_what_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(jaxdp.SettingsError, match="--given="):
        given.parse(text, SCHEMA)
