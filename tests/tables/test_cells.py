"""How a cell is stored: by its value alone, whatever type pandas or pyarrow give to its column."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.toy_tables import TARGET, one_column

from jaxdp.program.data import table_files, tables
from jaxdp.program.errors import InputError
from jaxdp.tables import cells, frames, raw
from jaxdp.tables.columns import SchemaError, as_text
from jaxdp.tables.schema import Schema

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LEAST = -(2**63)
LONG = 2**53 + 1
MISSING = (f"{LEAST}", "9" * 20, "-99.9", "NA", "nan", "1900-01-01", "255", f"{2**64 - 1}")
WIDE = {"type": "numeric", "lower": -1e300, "upper": 1e300}
COLUMNS: dict[str, dict[str, Any]] = {
    "number": {"type": "numeric", "lower": -200, "upper": 300, "nullable": True},
    "wide": WIDE,
    "log": {"type": "numeric", "lower": 0, "upper": 1e5, "log": True, "nullable": True},
    "binned": {"type": "numeric", "lower": 0, "upper": 100, "bins": [1, 10, 50], "nullable": True},
    "choice": {"type": "categorical", "nullable": True}
    | {"categories": [0, 1, LONG, LONG - 1, 0.1, 2.5, "True", "a", "b", "2020-01-01", "1.50"]},
    "plain": {"type": "categorical", "categories": ["x", 1, "", f"{LEAST}"], "other": False},
    "money": {"type": "numeric", "lower": -5, "upper": 300, "suffix": "a", "thousands": ","},
    "flag": {"type": "boolean", "nullable": True},
    "day": {"type": "date", "format": "%Y-%m-%d", "lower": "1950-01-01", "upper": "2030-12-31"}
    | {"nullable": True},
    "clock": {"type": "time", "format": "%H:%M"},
    "instant": {"type": "timestamp", "format": "%Y-%m-%d %H:%M:%S", "zone": "Europe/Berlin"}
    | {"lower": "1950-01-01 00:00:00", "upper": "2030-12-31 00:00:00"},
    "unix": {"type": "timestamp", "format": "unix", "lower": "-1000", "upper": "1000"},
    "length": {"type": "duration", "format": "s", "lower": "-9 s", "upper": "99999 s"},
}
# Cells of other types beside those of a column, which may stand there, too.
BESIDE: dict[str, list[Any]] = {
    "day": ["1999-12-31", None, "NA", datetime.date(2021, 2, 3), np.datetime64("2000-01-01", "h")],
    "clock": ["12:30", None, datetime.time(1, 2), pd.Timestamp("2020-02-02 10:11", tz="UTC")],
    "instant": ["1999-12-31 00:00:00", None, datetime.datetime(2021, 2, 3, tzinfo=datetime.UTC)],
    "unix": ["7", 1.5, None, "NA", math.nan, decimal.Decimal(3), pd.Timestamp("1970-01-01")],
    "length": ["7", "7 s", None, 8, pd.Timedelta("3s"), np.timedelta64(1, "m")],
}


@functools.cache
def schema_of(column: str) -> Schema:
    return Schema.from_json(
        {"columns": {"x": COLUMNS[column], "t": TARGET}, "missing": list(MISSING)}
    )


def stored(values: pd.Series, column: str) -> list[bytes] | None:
    """Return the bits of what is stored of every record; None where they are refused."""
    try:
        x = frames.records(pd.DataFrame({"x": values}), schema_of(column))
    except SchemaError:
        return None
    return [row.tobytes() for row in x]


def arrow(kind: Any) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(pyarrow.array(values, kind), dtype=pd.ArrowDtype(kind))


def typed(dtype: Any) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(values, dtype=dtype)


def unsigned(bits: int) -> Callable[[list[Any]], pd.Series]:
    """Pandas makes floats of a list that mixes small numbers with those from 2^63 on."""

    def make(values: list[Any]) -> pd.Series:
        numbers = np.array([0 if value is None else value for value in values], f"uint{bits}")
        mask = np.array([value is None for value in values])
        return pd.Series(pd.arrays.IntegerArray(numbers, mask))

    return make


WHOLE = [0, 1, 5, 100]
SIGNED = {8: [-128, 127], 16: [-999], 32: [-(2**31), 2**31 - 1], 64: [LEAST, LONG, LONG - 1]}
UNSIGNED = {8: [255], 16: [2**16 - 1], 32: [2**32 - 1], 64: [2**64 - 1, 2**63, LONG]}
FRACTIONS = [0.0, -0.0, 1.0, -1.0, -99.9, 0.1, 2.5, math.inf, -math.inf, math.nan, float(LEAST)]
DOUBLES = [*FRACTIONS, 1e300, float(LONG), 0.1 + 0.2, float(np.float32(-99.9)), 1e20]
TEXTS = ["a", " a ", "a.", "", "NA", "nan", "1", "1.0", "1.", "-99.9", f"{LEAST}", "9" * 20, "0.1",
         f"{LONG}", f"{LONG - 1}", "True", "1900-01-01", "inf", "1e3", "x\0",
         "\u00e9", "1_0"]  # fmt: skip
DECIMALS = [decimal.Decimal(text) for text in ("1.00", "1.50", "-99.90", "0.00", "7.25")]
DAYS = [datetime.date(1900, 1, 1), datetime.date(2020, 1, 1), datetime.date(1969, 7, 20)]
TIMES = [datetime.datetime(1900, 1, 1), datetime.datetime(2020, 1, 1, 10, 30)]
ZONED = [time.replace(tzinfo=datetime.UTC) for time in TIMES]
HOURS = [datetime.time(0), datetime.time(10, 30, 0, 5)]
LENGTHS = [datetime.timedelta(0), datetime.timedelta(days=1, seconds=3)]
OBJECTS = [*TEXTS, *WHOLE, LEAST, LONG, True, False, *FRACTIONS, None, pd.NA, pd.NaT, 2**70,
           10**400, *DECIMALS, decimal.Decimal("NaN"), *DAYS, *TIMES, *LENGTHS,
           pd.Timestamp(TIMES[0]), np.float32(-99.9), np.int64(LEAST), np.uint8(1), np.True_,
           np.datetime64("1900-01-01"), np.timedelta64(1, "D"), (1,), (True,), [1],
           {"a": 1}, b"a"]  # fmt: skip

KINDS: dict[str, tuple[Callable[[list[Any]], pd.Series], list[Any]]] = {
    **{f"int{n}": (typed(f"int{n}"), WHOLE + more) for n, more in SIGNED.items()},
    **{f"uint{n}": (typed(f"uint{n}"), WHOLE + more) for n, more in UNSIGNED.items()},
    **{f"Int{n}": (typed(f"Int{n}"), [*WHOLE, *more, None]) for n, more in SIGNED.items()},
    **{f"UInt{n}": (unsigned(n), [*WHOLE, *more, None]) for n, more in UNSIGNED.items()},
    **{
        f"arrow int{n}": (arrow(getattr(pyarrow, f"int{n}")()), [*WHOLE, *more, None])
        for n, more in SIGNED.items()
    },
    **{
        f"arrow uint{n}": (arrow(getattr(pyarrow, f"uint{n}")()), [*WHOLE, *more, None])
        for n, more in UNSIGNED.items()
    },
    "float16": (typed("float16"), FRACTIONS[:-1]),
    "float32": (typed("float32"), [*FRACTIONS, None]),
    "float64": (typed("float64"), [*DOUBLES, None]),
    "Float32": (typed("Float32"), [*FRACTIONS, None]),
    "Float64": (typed("Float64"), [*DOUBLES, None]),
    "arrow float32": (arrow(pyarrow.float32()), [*FRACTIONS, None]),
    "arrow float64": (arrow(pyarrow.float64()), [*DOUBLES, None]),
    "bool": (typed("bool"), [True, False]),
    "boolean": (typed("boolean"), [True, False, None]),
    "arrow bool": (arrow(pyarrow.bool_()), [True, False, None]),
    "object": (typed(object), OBJECTS),
    "str": (typed("str"), [*TEXTS, None]),
    "string": (typed("string"), [*TEXTS, None]),
    "python string": (typed(pd.StringDtype("python")), [*TEXTS, None]),
    "arrow string": (arrow(pyarrow.string()), [*TEXTS, None]),
    "arrow large_string": (arrow(pyarrow.large_string()), [*TEXTS, None]),
    "arrow binary": (arrow(pyarrow.binary()), [b"a", b"", None]),
    "category of texts": (typed("category"), [*TEXTS, None]),
    "category of whole numbers": (
        typed(pd.CategoricalDtype([LEAST, LONG, 1])),
        [LEAST, LONG, 1, None],
    ),
    "category of floats": (typed(pd.CategoricalDtype([-99.9, 0.1, 1.0])), [-99.9, 0.1, 1.0, None]),
    "arrow dictionary": (
        arrow(pyarrow.dictionary(pyarrow.int8(), pyarrow.string())),
        [*TEXTS, None],
    ),
    "arrow dictionary of numbers": (
        arrow(pyarrow.dictionary(pyarrow.int8(), pyarrow.int64())),
        [LEAST, LONG, 1, None],
    ),
    "arrow decimal": (arrow(pyarrow.decimal128(9, 2)), [*DECIMALS, None]),
    "arrow long decimal": (
        arrow(pyarrow.decimal128(20, 0)),
        [decimal.Decimal(LEAST), decimal.Decimal("9" * 20), decimal.Decimal(1), None],
    ),
    "datetime64": (typed("datetime64[ns]"), [*TIMES, None]),
    "datetime64 with a zone": (typed("datetime64[us, UTC]"), [*ZONED, None]),
    "timedelta64": (typed("timedelta64[ns]"), [*LENGTHS, None]),
    "period": (typed("period[D]"), [pd.Period("1900-01-01", "D"), None]),
    "arrow date": (arrow(pyarrow.date32()), [*DAYS, None]),
    "arrow date64": (arrow(pyarrow.date64()), [*DAYS, None]),
    "arrow time": (arrow(pyarrow.time64("us")), [*HOURS, None]),
    "arrow timestamp": (arrow(pyarrow.timestamp("ms")), [*TIMES, None]),
    "arrow timestamp with a zone": (arrow(pyarrow.timestamp("us", "UTC")), [*ZONED, None]),
    "arrow duration": (arrow(pyarrow.duration("us")), [*LENGTHS, None]),
    "arrow list": (arrow(pyarrow.list_(pyarrow.int64())), [[1, 2], [], None]),
    "arrow null": (arrow(pyarrow.null()), [None]),
}  # fmt: skip
OTHERS = ["7", 1.5, True, 2**70, None, "NA", math.nan, np.float32(0.1), decimal.Decimal(3)]


@functools.cache
def alone(kind: str, column: str) -> list[bytes | None]:
    """Return how each value is stored in a table of its own."""
    make, values = KINDS[kind]
    found = [stored(make([value]), column) for value in values]
    return [None if each is None else each[0] for each in found]


@pytest.mark.parametrize("kind", list(KINDS))
@settings(derandomize=True, deadline=None, max_examples=4, phases=[Phase.generate])
@given(data=st.data())
def test_guarantee_a_cell_is_stored_as_it_is_alone(kind: str, data: st.DataObject) -> None:
    """In any order, twice, beside missing ones, beside those of other types: bit for bit."""
    make, values = KINDS[kind]
    for column in COLUMNS:
        expected = alone(kind, column)
        usable = [at for at in range(len(values)) if expected[at] is not None]
        places = data.draw(st.lists(st.sampled_from(range(len(values))), min_size=1, max_size=6))
        refused = any(expected[at] is None for at in places)
        found = stored(make([values[at] for at in places]), column)
        assert found == (None if refused else [expected[at] for at in places])
        if not usable:
            continue
        chosen = data.draw(st.lists(st.sampled_from(usable), min_size=1, max_size=6))
        batch = make([values[at] for at in chosen])
        assert stored(batch, column) == [expected[at] for at in chosen]
        beside = BESIDE.get(column, OTHERS)
        mixed = pd.Series([*batch.astype(object), *beside], dtype=object)
        for order in (1, -1):
            again = stored(mixed[::order], column)
            assert again is not None
            assert again[::order][: len(chosen)] == [expected[at] for at in chosen]


@pytest.mark.parametrize("kind", list(KINDS))
def test_guarantee_persons_are_named_by_their_own_cell(kind: str) -> None:
    make, values = KINDS[kind]
    expected = [cells.texts(make([value])).tolist()[0] for value in values]
    assert cells.texts(make(values)).tolist() == expected
    assert cells.texts(make(values[::-1])).tolist() == expected[::-1]
    mixed = pd.Series([*make(values).astype(object), *OTHERS], dtype=object)
    assert cells.texts(mixed).tolist()[: len(values)] == expected


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("arrow ")])
def test_guarantee_parts_of_a_parquet_file_decide_about_no_record(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record alone in a file is stored as in the middle of any row group or chunk."""
    make, values = KINDS[kind]
    column = pyarrow.chunked_array([pyarrow.array(make(values))])

    def read(part: Any, rows: int) -> tuple[list[bytes], list[str]]:
        table = pyarrow.table({"x": part, "p": part, "t": ["no"] * len(part)})
        parquet.write_table(table, tmp_path / "a.parquet", row_group_size=rows)
        source = table_files.Source("csv", str(tmp_path / "a.parquet"))
        found = tables.read_table(source, schema_of("choice"), "p")
        assert found.persons is not None
        return [row.tobytes() for row in found.x], found.persons.tolist()

    single = [read(column[at : at + 1], 1) for at in range(len(values))]
    expected = tuple([found[which][0] for found in single] for which in (0, 1))
    assert expected[0] == alone(kind, "choice")
    for chunk, rows in ((200_000, 1000), (2, 3), (3, 2)):
        monkeypatch.setattr(table_files, "_CHUNK", chunk)
        assert read(column, rows) == expected


SICK = {"type": "categorical", "categories": ["no", "yes", "07"], "nullable": True}
WORDS = ["yes", "no", None, "yes", "NA", "07", " no ", "never", "caf\u00e9"]


def table_of(kind: Any, values: list[Any], target: list[Any], folder: Path) -> table_files.Source:
    found = {"x": pyarrow.array(values, kind), "t": pyarrow.array(target, kind)}
    parquet.write_table(pyarrow.table(found), folder / "a.parquet")
    return table_files.Source("csv", str(folder / "a.parquet"))


@pytest.mark.parametrize("kind", ["binary", "large_binary"])
@pytest.mark.parametrize("other", [True, False])
def test_guarantee_bytes_of_a_parquet_file_are_the_text_that_they_hold(
    kind: str, other: bool, tmp_path: Path
) -> None:
    """All were "other", or the first category, and nothing was said."""
    schema = Schema.from_json({"columns": {"x": SICK | {"other": other}, "t": TARGET}})
    encoded = [None if word is None else word.encode() for word in WORDS]
    words = (WORDS, ["yes", "no", "no"] * 3)
    texts = table_of(pyarrow.string(), *words, tmp_path)
    expected, named = tables.read_table(texts, schema), tables.read_table(texts, schema, "x")
    raws = tables.read_raw_table(texts, schema)
    made = table_of(getattr(pyarrow, kind)(), encoded, [w.encode() for w in words[1]], tmp_path)
    found = tables.read_table(made, schema)
    assert len(set(expected.x[:, 0])) > 3
    for again in (found, tables.read_raw_table(made, schema).encoded(schema)):
        np.testing.assert_array_equal(again.x, expected.x)
        np.testing.assert_array_equal(again.y, expected.y)
    assert tables.read_raw_table(made, schema).records["x"].texts == raws.records["x"].texts
    assert tables.read_table(made, schema, "x").persons.tolist() == named.persons.tolist()


@pytest.mark.parametrize("where", ["x", "t", "person"])
@pytest.mark.parametrize("read", [tables.read_table, tables.read_raw_table])
def test_guarantee_bytes_that_are_no_text_are_refused_untold(
    read: Callable[..., Any], where: str, tmp_path: Path
) -> None:
    schema = Schema.from_json({"columns": {"x": SICK, "t": TARGET}})
    columns = {"x": [b"yes"] * 2, "t": [b"no"] * 2, "person": [b"a", b"b"]}
    columns[where][1] = b"\xe4secret"
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    source = table_files.Source("csv", str(tmp_path / "a.parquet"))
    with pytest.raises(InputError, match=f"{where}.*no text in UTF-8") as caught:
        read(source, schema, "person")
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in str(error) + repr(error)
        assert not isinstance(error, UnicodeDecodeError)
        error = error.__cause__ or error.__context__


def test_guarantee_parts_of_a_csv_file_decide_about_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text for text in TEXTS if "\0" not in text]

    def read(part: list[str]) -> list[bytes]:
        frame = pd.DataFrame({"x": part, "t": "no"})
        frame.to_csv(tmp_path / "a.csv", index=False)
        source = table_files.Source("csv", str(tmp_path / "a.csv"))
        return [row.tobytes() for row in tables.read_table(source, schema_of("choice")).x]

    expected = [read([text])[0] for text in texts]
    for chunk in (200_000, 1, 3):
        monkeypatch.setattr(table_files, "_CHUNK", chunk)
        assert read(texts) == expected
        assert read(texts[::-1]) == expected[::-1]


def test_guarantee_a_long_missing_marker_counts_with_and_without_a_null() -> None:
    """With a null, objects were made of int64 and the marker counted; without one it did not."""
    for marker in (LEAST, -(10**16), 2**62):
        schema = Schema.from_json(
            {"columns": {"x": COLUMNS["number"], "t": TARGET}, "missing": [marker]}
        )
        for values in ([marker, 5], [marker, 5, None], [marker - (marker > LEAST), 5]):
            frame = pd.DataFrame(
                {"x": pd.Series(values, dtype="Int64" if None in values else None)}
            )
            found = frames.records(frame, schema)[:, 0]
            assert (found[0] == -1) == (values[0] == marker)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1).map(float)), min_size=1),
    st.sampled_from(["float64", "float32"]),
)
def test_quick_ways_through_numbers_are_those_of_one_cell(values: list[float], kind: str) -> None:
    with np.errstate(over="ignore"):
        found = np.array(values, kind)
    found = found[~np.isnan(found)]
    marks = frozenset(as_text(value) for value in found[::2]) | set(MISSING)
    check_quick_ways(found, marks)
    check_quick_ways(found, marks | {f"{value:.20e}" for value in found[::2]})


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1))
def test_quick_ways_through_whole_numbers_are_those_of_one_cell(values: list[int]) -> None:
    marks = frozenset(map(str, values[::2])) | {f"{value}.00" for value in values[1::3]}
    for kind in ("int64", "uint64", "int8"):
        limits = np.iinfo(kind)
        check_quick_ways(
            np.array([value for value in values if limits.min <= value <= limits.max], kind),
            marks | set(MISSING),
        )


NINES = ["-9", "-9.0", "-9.00", " -9.000", "-9e0", "-09", -9, -9.0, decimal.Decimal("-9.00")]
NO_NINES = ["9", "-9.01", "-8.99", "-90", -9.5, 9, decimal.Decimal("-9.01"), np.float32(-9.1)]


def both_ways(values: Any, schema: Schema) -> list[float]:
    """Return how a column is stored, which is the same where it is read before it is stored."""
    frame = pd.DataFrame({"x": values})
    schema = dataclasses.replace(schema, target=None, order=("x",))
    found = frames.records(frame, schema)
    np.testing.assert_array_equal(raw.encode(raw.read(frame, schema), schema)[0], found)
    return found[:, 0].tolist()


@pytest.mark.parametrize("mark", ["-9", -9, "-9.00", "-9e0", " -9.0 "])
def test_guarantee_a_missing_number_is_missing_however_it_is_written(mark: Any) -> None:
    """With "-9", a cell of "-9.00" was the number -9; with "-9.00", no typed one was missing."""
    schema = one_column(COLUMNS["number"], mark)
    for cell in NINES:
        assert both_ways(pd.Series([cell], dtype=object), schema) == [-1]
    for cell in NO_NINES:
        assert both_ways(pd.Series([cell], dtype=object), schema) != [-1]
    mixed = both_ways(pd.Series([*NO_NINES, *NINES], dtype=object), schema)
    assert [found == -1 for found in mixed] == [False] * len(NO_NINES) + [True] * len(NINES)
    for kind in ("int8", "int64", "Int16", "float16", "float32", "float64", "Float64", "category"):
        found = both_ways(pd.Series([-9, 9, -9], dtype=kind), schema)
        assert [each == -1 for each in found] == [True, False, True]


def test_a_missing_number_of_float32_is_the_one_that_it_rounds_to() -> None:
    schema = one_column(COLUMNS["number"], "-99.90")
    for kind in ("float32", "float64"):
        assert both_ways(pd.Series([-99.9, 5], dtype=kind), schema)[0] == -1
    assert both_ways([np.float32(-99.9), decimal.Decimal("-99.9"), "-99.9"], schema) == [-1] * 3


def test_missing_numbers_that_floats_do_not_tell_apart_are_compared_by_their_text() -> None:
    schema = one_column(WIDE | {"nullable": True}, f"{LONG}.00", 2**53 - 1)
    near = [f"{LONG - 1}", f"{LONG}", LONG - 1, float(LONG), decimal.Decimal(LONG)]
    assert -1 not in both_ways(pd.Series(near, dtype=object), schema)
    gone = [f"{LONG}.00", f"{2**53 - 1}.00", 2**53 - 1, float(2**53 - 1)]
    assert both_ways(pd.Series(gone, dtype=object), schema) == [-1] * 4


@pytest.mark.parametrize("mark", [-9.5, "-9,5", "-9,50 kg"])
def test_missing_numbers_may_be_written_as_their_column_is(mark: Any) -> None:
    marks = {"decimal": ",", "thousands": ".", "suffix": "kg"}
    schema = one_column(COLUMNS["number"] | marks, mark)
    cells = ["-9,5", "-9,500", "-9,50kg", -9.5, decimal.Decimal("-9.50")]
    assert both_ways(pd.Series(cells, dtype=object), schema) == [-1] * 5
    assert -1 not in both_ways(["-95", "9,5", "-9"], schema)


def test_a_missing_text_is_no_number_of_dates_and_times() -> None:
    schema = one_column(COLUMNS["unix"] | {"nullable": True}, "-1")
    found = both_ways(pd.Series(["-1", -1, "-1.00", "5"], dtype=object), schema)
    assert [each == -1 for each in found] == [True, True, False, False]


def check_quick_ways(values: np.ndarray, marks: frozenset[str]) -> None:
    for name in ("number", "money"):
        column = schema_of(name).columns[0]
        read = cells.number_reader(column, marks)
        expected = np.array([read(value.item()) for value in values], float)
        np.testing.assert_array_equal(cells.numbers_of(column, marks)(values, read), expected)
    choice = cells.place_reader(schema_of("choice").columns[0], marks)
    expected = np.array([choice(value.item()) for value in values], float)
    np.testing.assert_array_equal(cells.distinct(values, choice), expected)


def test_a_time_with_a_zone_beyond_the_years_of_python_is_a_text() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    late = pyarrow.array([2**62, 0], pyarrow.timestamp("us", "UTC")).to_pandas()
    assert cells.texts(late).tolist() == [
        "148108-07-06T14:00:27.387904",
        "1970-01-01 00:00:00+00:00",
    ]


def test_a_day_is_missing_whether_or_not_its_midnight_is_written() -> None:
    missing = frozenset({"1900-01-01"})
    column = frames_schema().columns[0]
    read = cells.place_reader(column, missing)
    for day in (pd.Timestamp("1900-01-01"), datetime.datetime(1900, 1, 1), "1900-01-01"):
        assert read(day) == read(None)
    assert read(pd.Timestamp("1900-01-01 01:00")) != read(None)


def frames_schema() -> Schema:
    day = {"type": "categorical", "categories": ["1900-01-02"], "nullable": True}
    target = {"type": "categorical", "categories": ["no", "yes"], "target": True}
    return Schema.from_json({"columns": {"x": day, "t": target}})
