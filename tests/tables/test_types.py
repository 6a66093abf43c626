"""Columns of every type through a schema: read, stored, made, and written as they were read."""

from __future__ import annotations

import datetime
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.toy_tables import NUMBER, TARGET, one_column

from jaxdp.program.data import table_files, tables
from jaxdp.tables import frames
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.new_columns import NewColumn
from jaxdp.tables.schema import Schema


def made_of(values: Any, schema: Schema) -> pd.DataFrame:
    x = frames.records(pd.DataFrame({"x": values}), schema)
    return frames.decode(x, None, schema)


DAY = {"type": "date", "format": "%d.%m.%Y", "lower": "01.01.2000", "upper": "31.12.2030"}
COMPACT = {"type": "date", "format": "%Y%m%d", "lower": "20000101", "upper": 20301231}
STAMP = {"type": "timestamp", "format": "%Y-%m-%dT%H:%MZ", "lower": "2020-01-01T00:00Z"} | {
    "upper": "2022-12-31T23:59Z"
}
LONG = {"type": "duration", "format": "H:MM:SS", "lower": "0:00:00", "upper": "100:00:00"}
TEXTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "numeric", "lower": 0, "upper": 10**6, "integer": True, "prefix": "$"}
     | {"thousands": ","}, ["$46,002", "$7", "$999,999"]),
    ({"type": "numeric", "lower": -100, "upper": 100, "decimals": 1, "suffix": "%"},
     ["4.1%", "-5.5%", "100.0%"]),
    ({"type": "numeric", "lower": 0, "upper": 100, "decimal": ",", "decimals": 2},
     ["1,65", "93,51", "0,00"]),
    (DAY, ["29.02.2024", "01.01.2000", "31.12.2030"]),
    (COMPACT, ["20240531", "20000101"]),
    ({"type": "date", "format": "%b %Y", "lower": "Jan 2000", "upper": "Dec 2030"}, ["Jun 2021"]),
    ({"type": "date", "format": "%Y%m", "lower": "200001", "upper": "203012"}, ["202106"]),
    ({"type": "date", "format": "%Y", "lower": "1900", "upper": "2030"}, ["1999"]),
    ({"type": "time", "format": "%H:%M:%S"}, ["15:17:00", "00:00:00", "23:59:59"]),
    (STAMP, ["2021-06-29T15:17Z", "2020-02-29T00:00Z"]),
    ({"type": "timestamp", "format": "unix", "lower": 1600000000, "upper": 1609000000},
     ["1600000123", "1608999999"]),
    (LONG, ["1:02:03", "99:59:59"]),
    ({"type": "boolean", "categories": ["n", "y"]}, ["y", "n"]),
    ({"type": "boolean"}, ["True", "False"]),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "texts"), TEXTS)
@pytest.mark.parametrize("nullable", [False, True])
def test_csv_files_are_written_as_they_were_read(
    facts: dict[str, Any], texts: list[str], nullable: bool
) -> None:
    texts = [*texts, "NA"] if nullable else texts
    schema = one_column(facts | {"nullable": nullable}, "NA")
    assert Schema.from_json(schema.to_json()) == schema
    written = frames.to_csv(made_of(texts, schema), schema)
    assert pd.read_csv(io.StringIO(written), dtype=str, na_filter=False)["x"].tolist() == texts


MOMENT = datetime.datetime(2021, 6, 29, 15, 17)
TYPED: list[tuple[dict[str, Any], str, list[Any]]] = [
    (DAY, "datetime64[ns]", ["2021-06-29", "2024-02-29"]),
    (DAY, "datetime64[s]", ["2021-06-29"]),
    (DAY, "date32", [datetime.date(2021, 6, 29), datetime.date(2000, 1, 1)]),
    (COMPACT, "int64", [20210629, 20240229]),
    (COMPACT, "Int32", [20210629, None]),
    (STAMP, "datetime64[us]", [MOMENT]),
    (STAMP, "datetime64[ns, UTC]", [pd.Timestamp(MOMENT, tz="UTC")]),
    (STAMP, "datetime64[ns, Europe/Berlin]", [pd.Timestamp(MOMENT, tz="Europe/Berlin")]),
    ({"type": "time", "format": "%H:%M"}, "time64", [datetime.time(15, 17)]),
    (LONG, "timedelta64[ns]", [pd.Timedelta("1h"), pd.Timedelta("99h")]),
    (NUMBER | {"integer": True}, "Int64", [1, None]),
    (NUMBER | {"integer": True, "nullable": False}, "int8", [1, 10]),
    (NUMBER | {"integer": True}, "float32", [1.0, None]),
    (NUMBER, "Float64", [2.5, None]),
    (NUMBER, "float32", [2.5, 0.0]),
    ({"type": "boolean"}, "bool", [True, False]),
    ({"type": "boolean", "nullable": True}, "boolean", [True, None]),
    ({"type": "categorical", "categories": ["a", "b"]}, "category", ["a", "b"]),
    ({"type": "ordinal", "categories": ["b", "a"], "nullable": True}, "category", ["a", None]),
    ({"type": "categorical", "categories": ["a", "b"]}, "string", ["a", "b"]),
    ({"type": "categorical", "categories": [1, 2], "other": False}, "int16", [1, 2]),
]


def typed_column(dtype: str, values: list[Any]) -> pd.Series:
    if dtype in ("date32", "time64"):
        return pd.Series(values, dtype=object)
    if ", " in dtype:
        return pd.Series(values).astype(dtype)
    return pd.Series(values, dtype=dtype)


@pytest.mark.parametrize(("facts", "dtype", "values"), TYPED)
def test_types_of_frames_and_of_parquet_come_back(
    facts: dict[str, Any], dtype: str, values: list[Any], tmp_path: Path
) -> None:
    nullable = facts.get("nullable", False) or None in values
    schema = one_column(facts | {"dtype": dtype, "nullable": nullable})
    assert Schema.from_json(schema.to_json()) == schema
    frame = pd.DataFrame({"x": typed_column(dtype, values)})
    made = made_of(frame["x"], schema)
    if dtype != "category":
        pd.testing.assert_frame_equal(made, frame)
    assert str(made["x"].dtype) == str(frame["x"].dtype)
    assert made["x"].isna().tolist() == [value is None for value in values]
    pytest.importorskip("pyarrow")
    made["t"] = "no"
    made.to_parquet(tmp_path / "made.parquet")
    found = tables.read_table(table_files.Source("csv", str(tmp_path / "made.parquet")), schema)
    np.testing.assert_array_equal(found.x, frames.records(frame, schema))
    csv = frames.to_csv(made, schema)
    again = pd.read_csv(io.StringIO(csv), dtype=str, na_filter=False)
    np.testing.assert_array_equal(frames.records(again, schema), found.x)


@pytest.mark.parametrize(
    ("facts", "dtype", "expected"),
    [
        (NUMBER | {"integer": True}, "int64", "take 'Int64'"),
        (NUMBER | {"integer": True, "upper": 300, "nullable": False}, "int8", "too small"),
        (NUMBER | {"integer": True, "lower": -1}, "UInt8", "too small"),
        (NUMBER, "Int64", "holds no numeric column"),
        (NUMBER, "category", "holds no numeric column"),
        (NUMBER, "int65", "holds no numeric column"),
        ({"type": "boolean", "nullable": True}, "bool", "take 'boolean'"),
        ({"type": "boolean", "categories": ["n", "y"]}, "bool", "holds no boolean column"),
        ({"type": "categorical", "categories": ["a"]}, "Int64", "holds no categorical column"),
        (DAY, "datetime64[D]", "holds no date column"),
        (DAY, "datetime64[ns, UTC]", "a date has none"),
        (DAY, "int64", "holds no date column"),
        (DAY | {"lower": "01.01.1600"}, "datetime64[ns]", "1678 to 2261"),
        (DAY | {"upper": "31.12.9999"}, "datetime64[ns]", "1678 to 2261"),
        (STAMP, "datetime64[ns, Mars/Base]", '"zone" must be'),
        (STAMP | {"format": "%Y-%m-%dT%H:%M:%S.%f", "lower": "2020-01-01T00:00:00.0"}
         | {"upper": "2021-01-01T00:00:00.0"}, "datetime64[s]", "loses"),
    ],
)  # fmt: skip
def test_types_that_cannot_hold_a_column_are_refused(
    facts: dict[str, Any], dtype: str, expected: str
) -> None:
    with pytest.raises(SchemaError, match=re.escape(expected)):
        one_column(facts | {"dtype": dtype})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (DAY | {"lower": "2000-01-01"}, '"lower" must be a text of its "format"'),
        (DAY | {"lower": "30.02.2000"}, '"lower" must be a text of its "format"'),
        (DAY | {"lower": "31.12.2030"}, '"lower" < "upper"'),
        (DAY | {"upper": "31.12.1999"}, '"lower" < "upper"'),
        (DAY | {"upper": None}, 'needs "lower" and "upper"'),
        (DAY | {"format": "%d.%m."}, "loses information"),
        ({"type": "date", "lower": 1, "upper": 2}, 'needs "format"'),
        (DAY | {"bins": ["01.01.2000"]}, "ascending edges"),
        (DAY | {"bins": ["2005"]}, "as values are"),
        (DAY | {"log": True}, "is of numeric columns"),
        (DAY | {"zone": "UTC"}, "is of timestamps"),
        (STAMP | {"zone": "Mars/Base"}, '"zone" must be'),
        (STAMP | {"format": "%Y-%m-%dT%H:%M:%S.%f", "lower": "0001-01-01T00:00:00.0"}
         | {"upper": "9999-01-01T00:00:00.0"}, "too large"),
        (STAMP | {"lower": "0001-01-01T00:00Z", "zone": "+14:00"}, "beyond the years 1 to 9999"),
        ({"type": "time", "format": "%H:%M", "lower": "24:00"}, '"lower" must be a text'),
        ({"type": "boolean", "categories": ["a"]}, "two"),
        ({"type": "boolean", "categories": ["a", "b", "c"]}, "two"),
        (NUMBER | {"lower": "0"}, "must be a number"),
    ],
)  # fmt: skip
def test_dates_and_booleans_that_cannot_be(facts: dict[str, Any], expected: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(expected)):
        one_column(facts)


def test_dates_beyond_all_limits_are_moved_to_the_bounds() -> None:
    schema = one_column(DAY)
    cells = [np.datetime64("-9999-01-01"), "01.01.0001", "31.12.9999", np.datetime64("30000-01-01")]
    assert made_of(pd.Series(cells, dtype=object), schema)["x"].tolist() == [
        "01.01.2000", "01.01.2000", "31.12.2030", "31.12.2030"]  # fmt: skip


def test_what_is_no_date_stops_without_its_text() -> None:
    with pytest.raises(SchemaError, match="none of its") as caught:
        made_of(["secret"], one_column(DAY))
    assert "secret" not in str(caught.value)


def test_edges_of_dates_are_texts_of_their_format() -> None:
    schema = one_column(DAY | {"bins": ["01.01.2010", "01.01.2020"]})
    layout = one_column(DAY).columns[0]
    assert schema.columns[0].inner_edges == tuple(
        float(layout.moment.read(text) or 0) for text in ("01.01.2010", "01.01.2020")
    )
    texts = ["05.07.2009", "01.01.2010", "31.12.2030"]
    assert made_of(texts, schema)["x"].tolist() == texts


def test_a_boolean_target_has_two_classes() -> None:
    schema = Schema.from_json({"columns": {"x": NUMBER, "t": {"type": "boolean", "target": True}}})
    cells = pd.Series([True, "false", 1, "TRUE"], dtype=object)
    frame = pd.DataFrame({"x": 1, "t": cells})
    x, y = frames.encode(frame, schema)
    assert y.tolist() == [1, 0, 1, 1]
    assert frames.decode(x, y, schema)["t"].tolist() == [True, False, True, True]


NEW: dict[str, dict[str, Any]] = {
    "id": {"type": "identifier", "pattern": "[A-C]{2}\\d{3}-x"},
    "uuid": {"type": "identifier", "pattern": "uuid"},
    "number": {"type": "identifier", "pattern": "counter", "start": 7},
    "site": {"type": "constant", "value": "north"},
    "empty": {"type": "constant", "value": None},
    "one": {"type": "constant", "value": 1},
}


def new_schema(**more: dict[str, Any]) -> Schema:
    return Schema.from_json({"columns": {**NEW, "x": NUMBER, **more, "t": TARGET}})


def test_new_columns_are_made_and_complete_the_file() -> None:
    schema = new_schema()
    assert Schema.from_json(schema.to_json()) == schema
    frame = pd.DataFrame({"x": np.linspace(0, 10, 500), "t": "no"})
    made = frames.decode(*frames.encode(frame, schema), schema)
    assert list(made) == [*NEW, "x", "t"]
    assert made["id"].map(lambda text: bool(re.fullmatch(r"[A-C]{2}\d{3}-x", text))).all()
    for name in ("id", "uuid", "number"):
        assert made[name].is_unique
    assert made["number"].tolist() == list(range(7, 507))
    assert (made["site"] == "north").all()
    assert made["empty"].isna().all()
    assert frames.to_csv(made, schema).splitlines()[1].split(",")[3:6] == ["north", "", "1"]


def test_guarantee_nothing_in_a_table_is_looked_at_for_new_columns() -> None:
    """Whatever stands there, text, secret or nothing, what is made is the same."""
    schema, made = new_schema(), []
    for place, cells in enumerate((None, "secret", 5)):
        frame = pd.DataFrame({"x": [1.0, place], "t": "no"})
        if cells is not None:
            frame = frame.assign(**dict.fromkeys(NEW, cells))
        made.append(frames.decode(*frames.encode(frame, schema), schema))
    for other in made[1:]:
        pd.testing.assert_frame_equal(other[list(NEW)], made[0][list(NEW)])


def test_other_records_that_were_made_have_other_identifiers() -> None:
    """So a table and a further sample of it can be joined."""
    schema = new_schema(id={"type": "identifier", "pattern": r"\d{9}"})
    stored = np.linspace(0, 1, 40, dtype=np.float32).reshape(-1, 1)
    first, same, other = (
        frames.of_made(each, None, schema).id for each in (stored, stored.copy(), stored[::-1])
    )
    assert first.tolist() == same.tolist()
    assert not set(first) & set(other)


def test_identifiers_stay_different_beyond_their_pattern() -> None:
    column = NewColumn(name="x", type="identifier", pattern=r"\d")
    made = column.make(25)
    assert len(set(made)) == 25
    assert set(made[:10]) == set("0123456789")
    assert made[10].endswith("-2")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"type": "identifier", "pattern": "a*"}, '"pattern"'),
        ({"type": "identifier", "pattern": "(a)"}, '"pattern"'),
        ({"type": "identifier", "pattern": "[a"}, '"pattern"'),
        ({"type": "identifier", "pattern": "[z-a]"}, "wrong order"),
        ({"type": "identifier", "pattern": ""}, "1 to 64"),
        ({"type": "identifier", "pattern": "a{99}"}, "1 to 64"),
        ({"type": "identifier", "pattern": "a{0}"}, "1 to 64"),
        ({"type": "identifier", "pattern": "a,b"}, "commas and quotes"),
        ({"type": "identifier", "pattern": "\u00e9"}, "ASCII"),
        ({"type": "identifier", "pattern": " a"}, "begins with a sign"),
        ({"type": "identifier", "value": 1}, "is of the type 'constant'"),
        ({"type": "constant", "value": True}, "a text or a number"),
        ({"type": "text"}, '"fake" must be one of'),
        ({"type": "text", "fake": "__init__"}, '"fake" must be one of'),
        ({"type": "constant", "lower": 1}, "'lower' is unknown"),
        ({"type": "constant", "target": True}, "is no target"),
    ],
)
def test_new_columns_that_cannot_be_made(facts: dict[str, Any], expected: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(expected)):
        new_schema(new=facts)


def test_invented_texts_are_the_same_each_time_and_no_formulas() -> None:
    pytest.importorskip("faker")
    from jaxdp.tables.formulas import opens_as_formula
    from jaxdp.tables.new_columns import FAKES

    for fake in FAKES:
        column = NewColumn(name="x", type="text", fake=fake, locale="de_DE")
        made = column.make(200).tolist()
        assert made == column.make(200).tolist()
        assert not any(map(opens_as_formula, made))
        assert all(text.isprintable() for text in made)
    schema = new_schema(who={"type": "text", "fake": "name", "locale": "xx_XX"})
    with pytest.raises(SchemaError, match='"locale"'):
        frames.encode(pd.DataFrame({"x": [1.0], "t": "no"}), schema)


def test_without_faker_a_run_ends_before_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "faker", None)
    schema = new_schema(who={"type": "text", "fake": "name"})
    with pytest.raises(SchemaError, match=r"column 'who': texts need the extra \[fake\]"):
        frames.encode(pd.DataFrame({"x": [1.0], "t": "no"}), schema)


def test_all_mistakes_of_a_schema_are_told_at_once() -> None:
    columns = {"a": {"type": "numeric"}, "b": {"type": "no"}, "c": {"type": "numeric", "low": 1},
               "d": DAY | {"lower": "x"}, "e": {"type": "constant", "value": "=1"},
               "f": NUMBER | {"nullable": None, "integer": 1}}  # fmt: skip
    with pytest.raises(SchemaError) as caught:
        Schema.from_json({"columns": columns})
    said = str(caught.value)
    assert all(f"column {name!r}: " in said for name in columns)
    assert "'nullable'" in said
    assert "'integer'" in said
    assert "\n" not in said


def test_all_names_that_do_not_fit_are_told_at_once() -> None:
    schema = one_column(NUMBER)
    with pytest.raises(SchemaError, match=r"'x': there is no such column; column 't': it is there"):
        frames.records(pd.DataFrame([[1, 2]], columns=["t", "t"]), schema)
    with pytest.raises(SchemaError, match="column 'p', 'q': the schema does not declare it"):
        frames.records(pd.DataFrame({"x": [1], "p": 1, "q": 2}), schema)


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ({"separator": "x"}, '"separator" must be'),
        ({"separator": 1}, "must be a text"),
        ({"decimal": ";"}, '"decimal" must be'),
        ({"encoding": "utf-7"}, '"encoding" must be'),
        ({"encoding": "rot13"}, '"encoding" must be'),
        ({"quoting": "none"}, '"quoting" must be'),
        ({"header": "no"}, '"header" must be'),
        ({"lines": "\n"}, "must be an object with"),
        ([], "must be an object with"),
    ],
)
def test_dialects_that_there_are_not(dialect: Any, expected: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(expected)):
        Schema.from_json({"columns": {"x": NUMBER, "t": TARGET}, "csv": dialect})


def test_names_that_an_encoding_lacks_are_refused() -> None:
    choice = {"type": "categorical", "categories": ["\u20ac", "$"]}
    columns = {"x": choice, "t": TARGET}
    Schema.from_json({"columns": columns, "csv": {"encoding": "cp1252"}})
    with pytest.raises(SchemaError, match="has no '\u20ac'"):
        Schema.from_json({"columns": columns, "csv": {"encoding": "latin-1"}})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", ["all", "minimal"])
def test_made_files_have_the_dialect_of_their_table(
    separator: str, quoting: str, tmp_path: Path
) -> None:
    """Also where texts hold separators, quotes and quotes in quotes."""
    hard = ['a "b, c"', "d;e", "f|g", "'h'", '""']
    columns = {"x": NUMBER, "c": {"type": "categorical", "categories": hard}, "t": TARGET}
    dialect = {"separator": separator, "decimal": ",", "encoding": "cp1252", "quoting": quoting}
    schema = Schema.from_json({"columns": columns, "csv": dialect})
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.25, 3.0, 10.0], "c": hard, "t": "no"})
    x, y = frames.encode(frame, schema)
    made = frames.decode(x, y, schema)
    content = schema.csv.encode(frames.to_csv(made, schema))
    assert b"2,25" in content
    (tmp_path / "made.csv").write_bytes(content)
    found = tables.read_table(table_files.Source("csv", str(tmp_path / "made.csv")), schema)
    np.testing.assert_array_equal(found.x, x)
