"""Numbers as people write them: by the declaration alone, and never as formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_tables import TARGET, one_column, stored_of

from jaxdp.tables import frames
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.formats import NumberFormat
from jaxdp.tables.formulas import opens_as_formula
from jaxdp.tables.schema import Schema

FORMS = (
    NumberFormat(prefix="$", thousands=",", decimals=0),
    NumberFormat(prefix="$", thousands=",", decimals=2),
    NumberFormat(suffix="%", decimals=1),
    NumberFormat(decimal=",", decimals=2),
    NumberFormat(suffix=" \u20ac", thousands=".", decimal=",", decimals=2),
    NumberFormat(prefix="CHF ", thousands="'", decimals=2),
    *(NumberFormat(thousands=mark, suffix="%") for mark in "'\u2019_ \u202f"),
    NumberFormat(thousands="\u00a0", decimal=","),
    NumberFormat(suffix=" kg"),
    NumberFormat(prefix="USD "),
)


@settings(deadline=None)
@given(st.sampled_from(FORMS), st.floats(-1e12, 1e12))
def test_every_number_comes_back_and_is_no_formula(form: NumberFormat, number: float) -> None:
    if form.decimals is not None:
        number = round(number, form.decimals)
    text = form.write(number)
    assert form.read(text) == pytest.approx(number, rel=1e-15, abs=1e-300)
    assert form.read(f"  {text} ") == form.read(text)
    assert not opens_as_formula(text)


@pytest.mark.parametrize(
    ("form", "text", "number"),
    [
        (FORMS[0], "$46,002", 46002),
        (FORMS[0], "46002", 46002),
        (FORMS[0], "-$5", -5),
        (FORMS[0], "$-5", -5),
        (FORMS[0], "1,65", None),
        (FORMS[0], "$1,2345", None),
        (FORMS[0], "1234,567", None),
        (FORMS[0], "--5", None),
        (FORMS[0], "-$-5", None),
        (FORMS[0], "$", None),
        (FORMS[0], "EUR 5", None),
        (FORMS[0], "1_000", None),
        (FORMS[0], "\u0661", None),
        (FORMS[0], "$(1)", None),
        (FORMS[2], "4.1%", 4.1),
        (FORMS[2], "4.1%%", None),
        (FORMS[3], "1,65", 1.65),
        (FORMS[3], ",5", 0.5),
        (FORMS[3], "5,", 5),
        (FORMS[3], "1.65", None),
        (FORMS[3], ",", None),
        (FORMS[3], "1,5e3", 1500),
        (FORMS[3], "nan", None),
        (FORMS[3], "inf", None),
        (FORMS[4], "1.234,50 \u20ac", 1234.5),
        (FORMS[5], "CHF 1'234.50", 1234.5),
    ],
)
def test_texts_of_a_form_and_others(form: NumberFormat, text: str, number: float | None) -> None:
    assert form.read(text) == number


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ({"thousands": ".", "decimal": "."}, "two meanings"),
        ({"thousands": ";"}, '"thousands" must be'),
        ({"decimal": ""}, '"decimal" must be'),
        ({"decimals": 13}, '"decimals" must be'),
        ({"decimals": -1}, '"decimals" must be'),
        ({"prefix": "1"}, "neither signs nor digits"),
        ({"suffix": "\t"}, "neither signs nor digits"),
        ({"suffix": "-x"}, "neither signs nor digits"),
        ({"lower": 0.005, "decimals": 2}, "bounds have more digits"),
        ({"spikes": [1, 4.95], "decimals": 1}, '"spikes" have more digits than "decimals": 1'),
        ({"format": "%Y"}, "is of dates"),
        ({"zone": "UTC"}, "is of timestamps"),
    ],
)
def test_forms_of_two_meanings_are_refused(marks: dict[str, Any], expected: str) -> None:
    with pytest.raises(SchemaError, match=expected):
        one_column({"type": "numeric", "lower": 0, "upper": 5} | marks)


SIGNS = ("=", "+", "-", "@", "=1+", "@SUM(", "a;=", "\uff1d", "x\t=", "=cmd|' /C calc'!")


@pytest.mark.parametrize("sign", SIGNS)
def test_guarantee_nothing_that_is_written_runs_in_a_spreadsheet(sign: str) -> None:
    """Prefixes, suffixes, formats, patterns and constants, wherever a schema has them."""
    number: dict[str, Any] = {"type": "numeric", "lower": -5, "upper": 5}
    day = {"type": "date", "lower": f"{sign}2020 01", "upper": f"{sign}2021 01"}
    new = [
        {"type": "identifier", "pattern": f"\\{sign[0]}A{{2}}"},
        {"type": "identifier", "pattern": f"[A{sign[0]}]\\d"},
        {"type": "constant", "value": f"{sign}1+A1"},
    ]
    columns = [number | {"prefix": sign}, day | {"format": f"{sign}%Y %m"}]
    columns += [] if sign[0] in "ax" else new
    for facts in columns:
        with pytest.raises(SchemaError):
            Schema.from_json({"columns": {"x": facts, "n": number, "t": TARGET}})


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("side", ["prefix", "suffix"])
def test_guarantee_no_form_of_numbers_begins_a_formula(side: str, sign: str) -> None:
    """By itself, whatever bounds a column has."""
    with pytest.raises(ValueError, match=f'"{side}"'):
        NumberFormat(**{side: sign})


def test_negative_clock_durations_are_refused_and_units_are_not() -> None:
    bounds = {"lower": "-1:00:00", "upper": "1:00:00"}
    with pytest.raises(SchemaError, match="run as a formula"):
        one_column({"type": "duration", "format": "H:MM:SS"} | bounds)
    one_column({"type": "duration", "format": "s", "lower": "-60 s", "upper": "60 s"})


AMOUNTS = ("-$5", "-5 kg", "-4 \u00b0C", "-1,234.50", "-\u20ac5", "-1'234.50", "-1 234 567,50",
           "-1\u2019234", "-1_234", "-\u20ac 1\u202f234,5")  # fmt: skip
NO_AMOUNTS = ("-5+A1", "-5 kg+cmd|'!'", "-$A1", "-5 kilo", "-5(1)", "-A5", "-1'234'!A1", "-1 23",
              "-1 2345", "-1 234+5", "-1 A12", "-1:05", "-1''234", "-'234")  # fmt: skip


@pytest.mark.parametrize("text", AMOUNTS)
def test_amounts_below_zero_are_no_formulas(text: str) -> None:
    assert not opens_as_formula(text)


@pytest.mark.parametrize("text", NO_AMOUNTS)
def test_what_only_begins_as_an_amount_is_one(text: str) -> None:
    assert opens_as_formula(text)


@pytest.mark.parametrize("mark", ["'", "\u2019", " ", "\u00a0", "\u202f", "_"])
def test_bounds_below_zero_may_have_marks_of_thousands(mark: str) -> None:
    bounds = {"type": "numeric", "lower": -1234567, "upper": 5, "decimals": 1, "thousands": mark}
    schema = one_column(bounds)
    made = frames.decode(np.zeros((1, 1), np.float32), None, schema)
    assert frames.to_csv(made, schema) == f"x\n-1{mark}234{mark}567.0\n"


def test_typed_numbers_are_taken_as_they_are() -> None:
    schema = one_column({"type": "numeric", "lower": 0, "upper": 10, "decimal": ",", "decimals": 1})
    found = stored_of(pd.Series(["2,5", 2.5, 2.5], dtype=object), schema)
    assert found[0] == found[1] == found[2]
    with pytest.raises(SchemaError, match="texts there that are no numbers"):
        stored_of(["2.5"], schema)


def test_decimals_are_what_is_written_and_bounds_hold() -> None:
    schema = one_column(
        {"type": "numeric", "lower": 0.25, "upper": 9.99, "decimals": 2, "suffix": "%"}
    )
    made = frames.decode(
        frames.records(pd.DataFrame({"x": [3.14159, 99, -1]}), schema), None, schema
    )
    assert made["x"].tolist() == [3.14, 9.99, 0.25]
    assert frames.to_csv(made, schema) == "x\n3.14%\n9.99%\n0.25%\n"


def test_whole_numbers_have_as_many_zeros_as_are_declared() -> None:
    whole = {"type": "numeric", "lower": -5, "upper": 9, "integer": True, "nullable": True}
    schema = one_column(whole | {"decimals": 1})
    made = frames.decode(
        frames.records(pd.DataFrame({"x": ["-3.0", "7", "", "9.0"]}), schema), None, schema
    )
    assert made["x"].tolist() == [-3, 7, pd.NA, 9]
    assert frames.to_csv(made, schema).split() == ["x", "-3.0", "7.0", '""', "9.0"]


@pytest.mark.parametrize("dtype", ["float64", "Int64", "int8", "category", "object"])
def test_numbers_that_come_again_are_written_as_each_alone(dtype: str) -> None:
    schema = one_column({"type": "numeric", "lower": -9, "upper": 9, "suffix": " kg"})
    numbers: list[float | None] = [3, -5, 3, 0, -5, 7]
    if dtype not in ("int8", "object"):
        numbers[4] = None
    column = pd.Series(numbers, dtype=dtype)
    alone = [
        frames.to_csv(pd.DataFrame({"x": column[at : at + 1]}), schema).splitlines()[1]
        for at in range(len(column))
    ]
    assert frames.to_csv(pd.DataFrame({"x": column}), schema).splitlines()[1:] == alone
    assert alone[:4] == ["3 kg", "-5 kg", "3 kg", "0 kg"]
