"""Records as they were read: stored later as they would have been at once."""

from __future__ import annotations

import datetime
import decimal
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jaxdp.tables import OpenSchema, Schema, SchemaError, cells, frames, raw

SCHEMA = Schema.from_json(
    {
        "missing": ["", "NA", "none"],
        "columns": {
            "age": {"type": "numeric", "lower": 0, "upper": 99, "integer": True},
            "pay": {"type": "numeric", "lower": -5, "upper": 1e6, "prefix": "$", "nullable": True},
            "day": {
                "type": "date",
                "format": "%d.%m.%Y",
                "lower": "01.01.2000",
                "upper": "31.12.2020",
            },
            "hue": {"type": "categorical", "categories": ["red", "none", "2"], "nullable": True},
            "sure": {"type": "boolean"},
            "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        },
    }
)


def frame_of() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": ["18", "120", "7.0", "NA", "-3", "50"],
            "pay": ["$1", "", "-$3", "$1e9", "none", "2"],
            "day": ["01.02.2003", "31.12.2030", "NA", "01.01.1990", "05.06.2007", ""],
            "hue": ["red", "none", "2.0", "green", "", None],
            "sure": ["True", "false", "0", "1", "NA", "TRUE"],
            "ill": ["no", "yes", "yes", "no", "no", "yes."],
        }
    )


def test_records_are_stored_as_if_they_had_been_at_once() -> None:
    x, y = raw.encode(raw.read(frame_of(), SCHEMA), SCHEMA)
    for found, expected in zip((x, y), frames.encode(frame_of(), SCHEMA), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_are_those_of_the_whole() -> None:
    parts = [raw.read(frame_of()[start : start + 2], SCHEMA) for start in (0, 2, 4)]
    whole = raw.joined(parts)
    assert raw.length(whole) == 6
    x, y = frames.encode(frame_of(), SCHEMA)
    chosen = np.array([5, 0, 3])
    for found, expected in zip(
        raw.encode(raw.part(whole, chosen), SCHEMA), (x[chosen], y[chosen]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    hue = raw.part(whole, np.array([0]))["hue"]
    assert isinstance(hue, raw.Texts)
    assert hue.texts == ("red",), "texts of other records are not kept"


def test_typed_columns_are_read_as_texts_are() -> None:
    frame = frame_of().assign(
        age=pd.array([18, 120, 7, None, -3, 50], dtype="Int64"),
        hue=pd.Categorical(["red", "none", "2", "green", "red", None]),
    )
    for found, expected in zip(
        raw.encode(raw.read(frame, SCHEMA), SCHEMA), frames.encode(frame, SCHEMA), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("value", ["x", "$"])
def test_what_is_no_number_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(ValueError, match="is numeric") as caught:
        raw.read(frame_of().assign(pay=value), SCHEMA)
    assert repr(value) not in str(caught.value)


def test_texts_are_compared_as_they_would_have_been_at_once() -> None:
    hue = {"type": "categorical", "categories": ["a", "2020-01-01 00:00:00"], "nullable": True}
    schema = Schema.from_json({"missing": ["1900-01-01"], "columns": {"hue": hue}})
    days = pd.to_datetime(["1900-01-01", "2020-01-01"])
    for values in (["a", "a\0", "\0"], days):
        frame = pd.DataFrame({"hue": values})
        found, _ = raw.encode(raw.read(frame, schema), schema)
        np.testing.assert_array_equal(found, frames.encode(frame, schema)[0])


DAY = datetime.datetime(2020, 1, 1)
GRID: list[Any] = [
    *(kind(7) for kind in (int, float, np.int8, np.uint16, np.int64, np.float16, np.float32)),
    *(kind(1) for kind in (int, float, bool, np.bool_, np.uint8, np.float64)),
    *(0, -0.0, 0.1, np.float32(0.1), -9, -9.0, 2**70, math.inf, np.int64(-9)),
    *map(decimal.Decimal, ("7", "7.0", "7.00", "0.10", "-9")),
    *(DAY, DAY.date(), pd.Timestamp(DAY), np.datetime64(DAY, "D"), np.datetime64(DAY, "ns")),
    *(pd.Timestamp(DAY, tz="UTC"), datetime.timedelta(1), np.timedelta64(1, "D")),
    *("7", "007", "7.", "7.0", " 7 ", "01", "True", "-9", "-9.0", "2020-01-01", "", "NA", "other"),
    *("2020-01-01 00:00:00", "zzz", b"7", b"007", None, math.nan, pd.NA, pd.NaT),
]
LISTS: list[list[str]] = [
    *(["007", "8"], ["07", "007", "8"], ["7", "007"], ["7.", "007"], ["007.", "8"]),
    *(["01", "007", "True"], ["01", "02"], ["-9", "01"], ["0", "1", "2"], ["0.1", "-09"]),
    *(["2020-01-01", "8"], ["2020-01-01 00:00:00", "8"], ["1 days 00:00:00", "8"]),
    *(["2020-01-01", "2020-01-01 00:00:00"], ["NA", "other"], ["7..", "7.", "007"], ["", "7"]),
]
GONE = (["NA"], ["", "-9", "7"], ["2020-01-01"], ["2020-01-01 00:00:00", "007"], ["1 days", "1"])


def stored_or_refused(read: Callable[[Any], Any], cell: Any) -> Any:
    try:
        return read(cell)
    except SchemaError as error:
        return str(error)


@pytest.mark.parametrize("own", [*LISTS, None], ids=str)
@pytest.mark.parametrize("role", ["listed", "first", "target", "classes"])
def test_guarantee_a_cell_of_any_type_is_stored_as_it_would_have_been_at_once(
    own: list[str] | None, role: str
) -> None:
    """A number is a code that begins with zeros where that alone is listed."""
    column: dict[str, Any] = {"type": "categorical", "categories": own}
    if own is None:
        column = {"type": "boolean"}
    if role == "listed":
        column |= {"nullable": True}
    elif role == "first":
        column |= {} if own is None else {"other": False}
    else:
        column |= {"target": True}
    if role == "classes":
        names = own or ["False", "True"]
        column["classes"] = {"one": names[:1], "another": names[1:]}
    number = {"type": "numeric", "lower": 0, "upper": 1}
    for missing in GONE:
        schema = Schema.from_json({"missing": missing, "columns": {"c": column, "x": number}})
        declared = schema.declared[-1 if "target" in column else 0]
        text = cells.text_reader(schema, declared)
        store = cells.place_reader(declared, cells.missing_texts(schema))
        if "target" in column:
            store = cells.label_reader(schema, declared)
        at_once = [stored_or_refused(store, None if pd.isna(cell) else cell) for cell in GRID]
        later = [stored_or_refused(store, None if pd.isna(cell) else text(cell)) for cell in GRID]
        assert later == at_once
        usable = [cell for cell, kept in zip(GRID, at_once, strict=True) if type(kept) is not str]
        frame = pd.DataFrame({"c": pd.Series(usable, dtype=object), "x": 0})
        expected = frames.encode(frame, schema)
        for found, kept in zip(raw.encode(raw.read(frame, schema), schema), expected, strict=True):
            np.testing.assert_array_equal(found, kept)


@pytest.mark.parametrize("dtype", ["int64", "float32", "Int16", "category"])
@pytest.mark.parametrize("role", [{"target": True}, {"other": False}, {"nullable": True}])
def test_guarantee_numbers_are_the_codes_that_are_listed(role: dict[str, bool], dtype: str) -> None:
    """All were "other", or the first category, where another column is bought."""
    ward = {"type": "categorical", "categories": ["001", "002", "015"]} | role
    age = {"type": "numeric", "lower": None, "upper": None}
    opened = OpenSchema.from_json({"columns": {"ward": ward, "age": age}})
    frame = pd.DataFrame({"ward": pd.Series([15, 1, 2, 1], dtype=dtype), "age": [1, 2, 3, 4]})
    read = raw.read(frame, opened.schema)
    whole = Schema.from_json({"columns": {"ward": ward, "age": age | {"lower": 0, "upper": 9}}})
    x, y = raw.encode(read, whole)
    assert (y if "target" in role else x[:, 0]).tolist() == [2, 0, 1, 0]


def test_guarantee_a_long_text_needs_no_more_memory_than_it_has() -> None:
    hue = {"type": "categorical", "categories": ["a"]}
    schema = Schema.from_json({"columns": {"hue": hue}})
    frame = pd.DataFrame({"hue": ["a"] * 5000 + ["b" * 5000]})
    tracemalloc.start()
    raw.read(frame, schema)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**7


def test_guarantee_a_text_with_a_nul_is_taken_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pandas before version 3 finds texts equal that are so up to a NUL, as is done here."""
    original = pd.factorize

    def cut_at_nul(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, _ = original(np.array([value.partition("\0")[0] for value in values], object))
        return at, values[np.unique(at, return_index=True)[1]]

    monkeypatch.setattr(pd, "factorize", cut_at_nul)
    hue = {"type": "categorical", "categories": ["no", "yes"]}
    schema = Schema.from_json({"columns": {"hue": hue}})
    for first in ("yes", "no\0", "no\0 more"):
        frame = pd.DataFrame({"hue": [first, "no", "no", "yes"]})
        assert frames.records(frame, schema)[1:, 0].tolist() == [0, 0, 1]
        read = raw.read(frame, schema)
        assert raw.encode(read, schema)[0][1:, 0].tolist() == [0, 0, 1]
