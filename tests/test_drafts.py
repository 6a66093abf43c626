"""Drafts of schemas: types and formats from the looks of records, and never a value of them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.drivers import assert_refused, drive

from jaxdp.program.commands import dp_ntk, draft_schema
from jaxdp.program.data import answers, drafts, guesses, headers, table_files, tables
from jaxdp.tables import OpenSchema, raw
from jaxdp.tables.moments import Moment
from jaxdp.tables.schema import BUILT_IN, Schema, read_schema

N = 120
DAYS = [datetime.date(2019, 1, 5) + datetime.timedelta(days=11 * n) for n in range(N)]
PLACES = range(N)


def draft_of(content: str | bytes | pd.DataFrame, folder: Path, *flags: str) -> dict[str, Any]:
    """Return the draft of a file, by the command."""
    path = folder / ("table.parquet" if isinstance(content, pd.DataFrame) else "table.csv")
    if isinstance(content, pd.DataFrame):
        content.to_parquet(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    out = folder / "draft.json"
    out.unlink(missing_ok=True)
    assert drive(draft_schema.main, f"--csv={path}", f"--out={out}", *flags) == 0
    return json.loads(out.read_text(encoding="utf-8"))


def column_of(values: list[str], folder: Path, name: str = "x") -> dict[str, Any]:
    frame = pd.DataFrame({name: values, "second": ["a", "b"] * (len(values) // 2)})
    return draft_of(frame.to_csv(index=False), folder)["columns"][name]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"{day:%d.%m.%Y}" for day in DAYS], ("date", "%d.%m.%Y")),
        ([f"{day.day}.{day.month}.{day.year}" for day in DAYS], ("date", "%-d.%-m.%Y")),
        ([f"{day:%Y%m%d}" for day in DAYS], ("date", "%Y%m%d")),
        ([f"{day:%Y%m}" for day in DAYS], ("date", "%Y%m")),
        ([f"{day:%b %Y}" for day in DAYS], ("date", "%b %Y")),
        ([f"{day:%d-%b-%Y}" for day in DAYS], ("date", "%d-%b-%Y")),
        ([f"{day:%Y-%m-%d}T10:20:30Z" for day in DAYS], ("timestamp", "%Y-%m-%dT%H:%M:%SZ")),
        ([f"{day:%Y-%m-%d} 10:20+0200" for day in DAYS], ("timestamp", "%Y-%m-%d %H:%M%z")),
        ([f"{n % 24:02}:{n % 60:02}:00" for n in PLACES], ("time", "%H:%M:%S")),
        ([f"{n % 24}:{n % 60:02}" for n in PLACES], ("time", "%-H:%M")),
        ([f"{n}:{n % 60:02}:07" for n in PLACES], ("duration", "H:MM:SS")),
    ],
)
def test_dates_and_times_are_what_they_look_like(
    texts: list[str], expected: tuple[str, str], tmp_path: Path
) -> None:
    found = column_of(texts, tmp_path)
    assert (found["type"], found["format"]) == expected
    assert found["nullable"] is None
    assert found.get("lower") is None


@pytest.mark.parametrize(
    ("after", "format", "zone"),
    [
        (":30+01:00", "%Y-%m-%d %H:%M:%S%:z", "+01:00"),
        (":30-0930", "%Y-%m-%d %H:%M:%S%z", "-09:30"),
        (":30+00:00", "%Y-%m-%d %H:%M:%S%:z", None),
        (":30Z", "%Y-%m-%d %H:%M:%SZ", None),
        (":30.123Z", "%Y-%m-%d %H:%M:%S.%3fZ", None),
        (":30.123456+05:45", "%Y-%m-%d %H:%M:%S.%f%:z", "+05:45"),
        ("", "%Y-%m-%d %H:%M", None),
    ],
)
def test_instants_are_written_as_they_were(
    after: str, format: str, zone: str | None, tmp_path: Path
) -> None:
    texts = [f"{day:%Y-%m-%d} 10:20{after}" for day in DAYS]
    found = column_of(texts, tmp_path)
    assert (found["format"], found.get("zone")) == (format, zone)
    moment = Moment("timestamp", format, zone or "UTC")
    assert [moment.write(moment.read(text) or 0) for text in texts] == texts


def test_several_zones_of_a_column_are_no_zone_of_it(tmp_path: Path) -> None:
    texts = [f"{day:%Y-%m-%d} 10:20:30+0{day.month // 6}:00" for day in DAYS]
    found = column_of(texts, tmp_path)
    assert (found["format"], "zone" in found) == ("%Y-%m-%d %H:%M:%S%:z", False)


@pytest.mark.parametrize(
    ("texts", "decimals"),
    [
        ([f"{n / 4}" for n in PLACES], 2),
        ([f"{n / 7:.5f}" for n in PLACES], None),  # measured, and not rounded to a few digits
        ([str(n // 2) for n in PLACES], None),
    ],
)
def test_a_draft_says_how_many_digits_numbers_have(
    texts: list[str], decimals: int | None, tmp_path: Path
) -> None:
    assert column_of(texts, tmp_path).get("decimals") == decimals


def test_seconds_since_1970_are_such_where_the_name_tells(tmp_path: Path) -> None:
    seconds = [str(1600000000 + 86400 * n) for n in PLACES]
    assert column_of(seconds, tmp_path, "unixtime")["format"] == "unix"
    assert column_of(seconds, tmp_path, "phone")["type"] is None  # all different: asked


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"${n * 997:,}" for n in PLACES], {"prefix": "$", "thousands": ",", "integer": True}),
        ([f"{n / 7:.1f}%" for n in PLACES], {"suffix": "%", "decimals": 1}),
        ([f"{n / 7:.2f}".replace(".", ",") for n in PLACES], {"decimal": ",", "decimals": 2}),
        ([f"{n}.{n:03},50 EUR" for n in range(1, N + 1)],
         {"suffix": " EUR", "thousands": ".", "decimal": ",", "decimals": 2}),
        ([f"0,{n:03}" for n in PLACES], {"decimal": ",", "decimals": 3}),
        ([f"1.{n:03}.{n:03}" for n in PLACES],
         {"thousands": ".", "decimal": ",", "integer": True}),
        ([f"\u20ac {n},50" for n in PLACES], {"prefix": "\u20ac ", "decimal": ",", "decimals": 2}),
        ([f"{n},50\u00a0\u20ac" for n in PLACES],
         {"suffix": " \u20ac", "decimal": ",", "decimals": 2}),
        *(([f"{n + 1}{mark}{n:03}{decimal}6" for n in PLACES],
           {"thousands": mark, "decimals": 1} | ({"decimal": ","} if decimal == "," else {}))
          for mark in " \u00a0\u202f'\u2019" for decimal in ",."),
        ([f"{n + 1}\u202f{n:03}" for n in PLACES], {"thousands": "\u202f", "integer": True}),
        ([f"{n},{575 + n}e+02" for n in PLACES], {"decimal": ",", "decimals": 1}),
        ([f"{n}.{575 + n}e-07 kg" for n in PLACES], {"suffix": " kg"}),
        ([f"{n},{n:014}" for n in PLACES], {"decimal": ","}),
        ([f"\u20ac{n}.{n:014}" for n in PLACES], {"prefix": "\u20ac"}),
    ],
)  # fmt: skip
def test_numbers_are_as_people_write_them(
    texts: list[str], expected: dict[str, Any], tmp_path: Path
) -> None:
    found = column_of(texts, tmp_path)
    assert found == {"type": "numeric", "lower": None, "upper": None, "nullable": None} | expected
    opened = OpenSchema.from_json({"columns": {"x": found}})
    assert len(raw.read(pd.DataFrame({"x": texts}), opened.schema)["x"]) == len(texts)


@pytest.mark.parametrize(
    ("text", "number"),
    [("8,575e+02", 857.5), ("8,575E-07", 8.575e-7), ("0,12345678901234", 0.12345678901234),
     ("6 547.64", 6547.64), ("1\u202f234,5", 1234.5), ("\u20ac 12,50", 12.5), ("5 \u20ac", 5)],
)  # fmt: skip
def test_a_draft_reads_numbers_as_they_were_meant(text: str, number: float) -> None:
    facts = {"x": guesses.column("x", pd.Series([text] + [f"-{text}"] * 3))}
    frame = pd.DataFrame({"x": [text]})
    opened = OpenSchema.from_json({"columns": answers.settled(facts, frame)})
    assert raw.read(frame, opened.schema)["x"] == [number]
    assert raw.read(pd.DataFrame({"x": [f"-{text}"]}), opened.schema)["x"] == [-number]


def test_whole_numbers_that_floats_do_not_tell_apart_are_numbers_without_decimals(
    tmp_path: Path,
) -> None:
    nanos = [str(1_600_000_000_000_000_001 + 10**12 * (n // 2)) for n in PLACES]
    found = column_of(nanos, tmp_path)
    assert (found["type"], found.get("integer"), found["decimals"]) == ("numeric", None, 0)
    powers = column_of([f"{n // 2}e20" for n in PLACES], tmp_path)
    assert (powers.get("integer"), powers.get("decimals")) == (None, None)
    typed = draft_of(pd.DataFrame({"x": pd.array(list(map(int, nanos)), "UInt64")}), tmp_path)
    assert typed["columns"]["x"] == found
    assert "integer" in column_of([str(2**53 - 1 - n // 2) for n in PLACES], tmp_path)
    different = pd.Series([str(int(each) + n) for n, each in enumerate(nanos)], name="x")
    settled = answers.settled({"x": guesses.column("x", different)}, different.to_frame())
    assert settled["x"] == answers.NUMBER | {"decimals": 0}


@pytest.mark.parametrize(
    ("odd", "decimals"),
    [("8.575e-07", None), ("4e-9", None), ("1.5E+01", 1), ("1.25e-1", 3), ("2.5e2", 1)],
)
def test_powers_of_ten_count_among_the_digits_of_numbers(odd: str, decimals: int | None) -> None:
    """One digit of 8.575e-07 is 0.0."""
    texts = [odd, *(f"{n}.5" for n in PLACES)]
    for values in (pd.Series(texts, name="x"), pd.Series(list(map(float, texts)), name="x")):
        drafted = {"x": guesses.column("x", values)}
        assert answers.settled(drafted, values.to_frame())["x"].get("decimals") == decimals


@pytest.mark.parametrize(
    ("write", "said"),
    [("{}.0", {"decimals": 1}), ("-{}.000", {"decimals": 3}), ("{}", {}), ("{}e1", {})],
)
def test_zeros_behind_whole_numbers_are_kept(
    write: str, said: dict[str, Any], tmp_path: Path
) -> None:
    texts = ["" if n % 5 == 0 else write.format(n // 2) for n in PLACES]
    found = column_of(texts, tmp_path)
    whole = {"type": "numeric", "lower": None, "upper": None, "integer": True, "nullable": None}
    assert found == whole | said
    mixed = column_of([*texts[:-1], "12"], tmp_path)
    assert mixed == whole
    frame = pd.DataFrame({"x": texts, "y": [f"{n},5" for n in PLACES]})
    drafted = drafts.draft(frame, {"separator": ";", "decimal": ","})
    assert drafted["columns"]["x"] == whole | said | ({"decimal": "."} if said else {})
    raw.read(frame, OpenSchema.from_json(drafted).schema)


def thousands(mark: str, *, are_large: bool = False) -> list[str]:
    """Return whole numbers with a mark between thousands; a third is below, or none."""
    numbers = [997 * (n + 2) if n % 3 or are_large else 7 * n + 1 for n in PLACES]
    return [f"{number:,}".replace(",", mark) for number in numbers]


LARGE = thousands(".", are_large=True)
POINTS = {"integer": True, "thousands": ".", "decimal": ","}
THREE = {"decimals": 3}
COMMAS = THREE | {"decimal": ","}
DECIMAL, BETWEEN = "taken for a decimal mark", "taken for one between thousands"


@pytest.mark.parametrize(
    ("texts", "marks", "doubt"),
    [
        (LARGE, THREE, DECIMAL),
        (thousands("."), POINTS, BETWEEN),
        ([f"-{text} EUR" for text in thousands(".")], POINTS | {"suffix": " EUR"}, BETWEEN),
        (thousands(",", are_large=True), {"integer": True, "thousands": ","}, BETWEEN),
        (thousands(","), {"integer": True, "thousands": ","}, None),
        ([*thousands(".")[1:], "1.234.567"], POINTS, None),
        ([*thousands(".")[1:], "0.125"], THREE, None),
        ([*thousands(".")[1:], "12.5"], THREE, None),
        ([*thousands(".")[1:], "1234.567"], THREE, None),
        ([*thousands(".")[1:], "5.0"], THREE, None),
        ([*LARGE[1:], "5.0"], THREE, None),
    ],
)
def test_marks_that_may_be_of_thousands_or_of_decimals_are_told(
    texts: list[str], marks: dict[str, Any], doubt: str | None, tmp_path: Path
) -> None:
    found = column_of(texts, tmp_path)
    about = found.pop("about", None)
    assert about is None if doubt is None else doubt in about
    assert found == {"type": "numeric", "lower": None, "upper": None, "nullable": None} | marks


@pytest.mark.parametrize(
    ("texts", "other", "marks"),
    [
        (LARGE, [f"{n},5" for n in PLACES], POINTS),
        (thousands("."), [f"{n},5" for n in PLACES], POINTS),
        (LARGE, [f"1.{n:03}.{n:03}" for n in PLACES], POINTS),
        (LARGE, [f"{n}.5" for n in PLACES], THREE),
        (thousands("."), [f"{n}.5" for n in PLACES], THREE),
        (thousands(",", are_large=True), [f"{n},5 kg" for n in PLACES], COMMAS),
        (thousands(","), [f"{n}.5" for n in PLACES], {"integer": True, "thousands": ","}),
    ],
)
def test_other_columns_tell_what_a_mark_is(
    texts: list[str], other: list[str], marks: dict[str, Any]
) -> None:
    frame = pd.DataFrame({"x": texts, "other": other, "whole": list(map(str, PLACES))})
    found = drafts.draft(frame, {})["columns"]["x"]
    assert found == {"type": "numeric", "lower": None, "upper": None, "nullable": None} | marks


def test_thousands_that_are_all_different_are_told_too(tmp_path: Path) -> None:
    found = column_of([f"{n + 1}.000" for n in PLACES], tmp_path)
    assert (found["type"], found["decimals"]) == ("numeric", 3)
    assert DECIMAL in found["about"]
    drafted = {"x": [f"{n + 1}.000" for n in PLACES], "y": [f"{n},5" for n in PLACES]}
    found = drafts.draft(pd.DataFrame(drafted), {})["columns"]["x"]
    assert {key: found.get(key) for key in POINTS} == POINTS


def test_columns_that_differ_or_are_typed_tell_no_mark() -> None:
    others = {"a": [f"{n},5" for n in PLACES], "b": [f"{n}.5" for n in PLACES]}
    typed = {"a": [n / 4 for n in PLACES], "b": [str(10**17 + n // 2) for n in PLACES]}
    for more in (others, typed, {"a": LARGE}):
        columns = drafts.draft(pd.DataFrame({"x": LARGE} | more), {})["columns"]
        assert DECIMAL in columns["x"]["about"]
    numbers = pd.Series([1.125 + n for n in PLACES], name="x")
    assert "about" not in guesses.column("x", numbers)


@pytest.mark.parametrize("mark", ["#N/A", "-", "n/a", "NULL", "None", "nan", "<NA>"])
def test_usual_texts_for_missing_values_are_named(mark: str, tmp_path: Path) -> None:
    texts = [mark if n % 9 == 0 else str(n // 2) for n in PLACES]
    drafted = draft_of(pd.DataFrame({"x": texts, "y": "ab" * 60}).to_csv(index=False), tmp_path)
    assert drafted["columns"]["x"]["type"] == "numeric"
    assert mark in drafted["missing"]
    secret = [text.replace(mark, "secret") for text in texts]
    other = draft_of(pd.DataFrame({"x": secret, "y": "ab"}).to_csv(index=False), tmp_path)
    assert other["columns"]["x"]["type"] == "categorical"
    assert "secret" not in json.dumps(other)


@pytest.mark.parametrize("mark", ["N/A", "NaN", "null"])
def test_a_missing_answer_is_none_of_two(mark: str, tmp_path: Path) -> None:
    texts = ["True", "False", mark] * 40
    drafted = draft_of(pd.DataFrame({"x": texts, "y": "ab" * 60}).to_csv(index=False), tmp_path)
    assert drafted["columns"]["x"]["type"] == "boolean"
    assert mark in drafted["missing"]
    assert "None" not in drafted["missing"]
    assert column_of(["True", "False", "None"] * 40, tmp_path)["type"] == "categorical"


@pytest.mark.parametrize("text", ["(12.50)", "inf", "n.d.", "<0.01"])
def test_numbers_with_some_odd_texts_are_told(text: str, tmp_path: Path) -> None:
    texts = [text if n % 4 == 0 else f"{n // 2}.5" for n in PLACES]
    found = column_of(texts, tmp_path)
    assert (found["type"], found["about"]) == ("categorical", guesses.MIXED)
    assert text not in json.dumps(found)
    assert "about" not in column_of([text if n % 3 else f"{n // 2}.5" for n in PLACES], tmp_path)
    assert "about" not in column_of([text if n % 4 == 0 else str(n % 5) for n in PLACES], tmp_path)


def test_codes_of_which_one_means_missing_are_told(tmp_path: Path) -> None:
    codes = ["NA", *(f"{a}{b}" for a in "BCDE" for b in "ABC")]
    assert column_of([codes[n % 13] for n in PLACES], tmp_path)["about"] == guesses.NAMIBIA
    assert "about" not in column_of([codes[1 + n % 12] for n in PLACES], tmp_path)
    assert "about" not in column_of([codes[n % 3] for n in PLACES], tmp_path)


def test_codes_with_zeros_in_front_are_no_numbers(tmp_path: Path) -> None:
    zips = column_of([f"{n % 40:05}" for n in PLACES], tmp_path)
    assert zips["type"] == "categorical"
    phones = column_of([f"0{55500000 + n}" for n in PLACES], tmp_path)
    assert (phones["type"], phones["pattern"]) == ("identifier", r"\d{9}")


def test_whole_numbers_that_are_all_different_are_asked_about(tmp_path: Path) -> None:
    found = column_of([str(100000 + n) for n in PLACES], tmp_path)
    assert found["type"] is None
    assert "identifier" in found["about"]
    with pytest.raises(ValueError, match="'type' must be"):
        Schema.from_json({"columns": {"x": found}})


def test_columns_of_one_value_are_constants_to_be_filled_in(tmp_path: Path) -> None:
    frame = pd.DataFrame({"empty": "", "one": "secret", "two": ["a", "b"] * 60})
    drafted = draft_of(frame.to_csv(index=False), tmp_path)
    for name in ("empty", "one"):
        assert drafted["columns"][name]["type"] == "constant"
        assert drafted["columns"][name]["value"] is None
    assert drafted["columns"]["two"]["type"] == "categorical"
    assert "secret" not in json.dumps(drafted)


@pytest.mark.parametrize(
    ("name", "texts", "are"),
    [
        ("name", ["David Huber", "Meier, Anna", "Cleo van Rossi", "Eva O'Neill"], True),
        ("patient_name", ["Huber", "Meier", "Novak", "Rossi"], True),
        ("firstName", ["Ada", "Bea", "Cid", "Dan"], True),
        ("E-Mail", ["a@b.org", "c@d.org", "e@f.org", "g@h.org"], True),
        ("nurse_notes", ["stable", "see letter", "none", "allergic"], True),
        ("name", ["Amy", "Bob", "Claudette", "Danny"], False),  # of storms
        ("country_name", ["New Zealand", "South Sudan", "Sri Lanka", "Costa Rica"], False),
        ("has_phone", ["yes", "no", "yes", "no"], False),
        ("ward", ["David Huber", "Anna Meier", "Cleo Rossi", "Eva Novak"], False),
    ],
)
def test_names_and_notes_of_persons_are_left_out(name: str, texts: list[str], are: bool) -> None:
    frame = pd.DataFrame({name: texts * 20, "age": range(80)})
    drafted = drafts.draft(frame, {})["columns"]
    assert (drafted[name].get("about") == guesses.OF_PERSONS) == are
    assert (answers.settled(drafted, frame)[name] == {"drop": True}) == are


def test_true_and_false_are_booleans(tmp_path: Path) -> None:
    assert column_of(["True", "False"] * 60, tmp_path)["type"] == "boolean"
    assert column_of(["true", "false"] * 60, tmp_path)["categories"] == ["false", "true"]


def test_declared_types_come_from_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime([f"{day}" for day in DAYS]),
            "at": pd.to_datetime([f"{day} 10:00" for day in DAYS]).tz_localize("UTC"),
            "date": DAYS,
            "yes": [True, False] * 60,
            "long": pd.to_timedelta(list(PLACES), unit="s"),
            "kind": pd.Categorical(["a", "b"] * 60),
            "single": np.arange(N, dtype="float32") / 2,
        }
    )
    found = draft_of(frame, tmp_path)["columns"]
    said = {name: (facts["type"], facts["dtype"].split("[")[0]) for name, facts in found.items()}
    assert said == {
        "day": ("date", "datetime64"),
        "at": ("timestamp", "datetime64"),
        "date": ("date", "date32"),
        "yes": ("boolean", "bool"),
        "long": ("duration", "timedelta64"),
        "kind": ("categorical", "category"),
        "single": ("numeric", "float32"),
    }


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_dialects_are_found_and_read_as_they_are(
    separator: str, encoding: str, tmp_path: Path
) -> None:
    euro = "\u20ac" if encoding == "cp1252" else "\xe4"
    lines = [["gr\xf6\xdfe", "krank"]]
    lines += [[f"{n},5", f"ja{euro}" if n % 2 else "nein"] for n in PLACES]
    content = "\n".join(separator.join(line) for line in lines) + "\n"
    drafted = draft_of(content.encode(encoding), tmp_path)
    said = {"separator": separator, "decimal": ",", "encoding": encoding}
    assert drafted["csv"] == {k: v for k, v in said.items() if v != "utf-8"}
    choice = {"type": "categorical", "categories": [f"ja{euro}", "nein"], "target": True}
    drafted["columns"]["gr\xf6\xdfe"] |= {"lower": 0, "upper": 200, "nullable": False}
    drafted["columns"]["krank"] = choice
    schema = Schema.from_json(drafted)
    found = tables.read_table(table_files.Source("csv", str(tmp_path / "table.csv")), schema)
    np.testing.assert_allclose(found.x[:, 0] * 200, np.arange(N) + 0.5, atol=1e-4)
    assert found.y.tolist() == [0 if n % 2 else 1 for n in PLACES]


def test_a_draft_of_several_decimal_marks_reads_its_own_file(tmp_path: Path) -> None:
    columns = {
        "comma": [f"{n},5" for n in PLACES],
        "point": [f"{n}.25" for n in PLACES],
        "thousands": [f"{n + 1},200.5" for n in PLACES],
        "whole": [f"{n // 2}" for n in PLACES],
        "large": [f"1.{n // 2:03}.300" for n in PLACES],
        "longest": [f"{n // 2 + 10**17}" for n in PLACES],
        "also": [f"0,{n:03}" for n in PLACES],
    }
    text = pd.DataFrame(columns).to_csv(index=False, sep=";")
    drafted = draft_of(text, tmp_path)
    assert drafted["csv"] == {"separator": ";", "decimal": ","}
    marks = {name: facts.get("decimal") for name, facts in drafted["columns"].items()}
    own = {"point": ".", "thousands": ".", "large": ",", "longest": "."}
    assert marks == dict.fromkeys(columns) | own
    opened = OpenSchema.from_json(drafted)
    source = table_files.Source("csv", str(tmp_path / "table.csv"))
    found = tables.read_raw_table(source, opened.schema).records
    assert [found[name][3] for name in columns] == [3.5, 3.25, 4200.5, 1, 1001300, 10**17, 0.003]


def test_a_draft_of_fields_with_line_breaks_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'x,y\n"1\n\nmore",a\n' + "2,b\n" * 20
    (tmp_path / "t.csv").write_text(text)
    words = "record 1 has a line break in quotes, as two stray quotes"
    assert_refused(draft_schema.main, capsys, words, f"--csv={tmp_path / 't.csv'}")
    assert not (tmp_path / "t.json").exists()
    assert draft_of(text, tmp_path, "--line_breaks")["csv"] == {"line_breaks": True}


def test_quotes_around_everything_are_found(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x, y", 'z "z"'] * 60, "b": list(PLACES)})
    assert draft_of(frame.to_csv(index=False, quoting=1), tmp_path)["csv"] == {"quoting": "all"}
    assert "csv" not in draft_of(frame.to_csv(index=False), tmp_path)


RECORDS = {
    "numbers": "\n".join(f"{n}.5,{100 - n},{n % 7},{n % 2}" for n in PLACES),
    "categories": "\n".join("red,low,ill" if n % 3 else "blue,high,well" for n in PLACES),
    "twice": "\n".join(f"{n % 5},{n % 5},{n % 5}" for n in PLACES),
    "quoted": "\n".join(f"0.{n},{n}.7,'-1'" for n in PLACES),
}


@pytest.mark.parametrize("kind", list(RECORDS))
def test_guarantee_a_record_in_the_place_of_a_header_is_refused(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no value of it is in what is said, nor in a file."""
    path, out = tmp_path / "table.csv", tmp_path / "draft.json"
    path.write_text(RECORDS[kind] + "\n")
    assert drive(draft_schema.main, f"--csv={path}", f"--out={out}") == 2
    said = capsys.readouterr().err.replace(str(path), "")
    assert "no header line?" in said
    assert not any(value in said for value in ("red", "ill ", "0.5", "100", "'0'", "-1'"))
    assert not out.exists()
    drafted = draft_of(RECORDS[kind] + "\n", tmp_path, "--no_header")
    assert list(drafted["columns"])[:2] == ["column_1", "column_2"]
    assert drafted["csv"]["header"] is False


@pytest.mark.parametrize("names", ["0,1,2", "1990,2000,2010", "a,b,1", "country,1990,1991,1992"])
def test_headers_of_ascending_numbers_are_headers(names: str, tmp_path: Path) -> None:
    width = names.count(",") + 1
    lines = [names, *(",".join(f"v{n * k % 31}" for k in range(1, width + 1)) for n in PLACES)]
    assert list(draft_of("\n".join(lines), tmp_path)["columns"]) == names.split(",")


def test_columns_of_one_name_are_to_be_renamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("secret,b, secret\n" + "1,x,2\n2,y,1\n" * 9)
    words = "columns 1 and 3 have the same name: rename all but one of them"
    assert_refused(draft_schema.main, capsys, f"{words}; has the file no", f"--csv={path}")
    assert drive(draft_schema.main, f"--csv={path}", "--no_header=false") == 2
    said = capsys.readouterr().err
    assert said.rstrip().endswith(words)
    assert "secret" not in said


def test_who_knows_that_numbers_are_names_says_so(tmp_path: Path) -> None:
    found = draft_of("7.5,3\n" + "1,x\n2,y\n" * 60, tmp_path, "--no_header=false")
    assert list(found["columns"]) == ["7.5", "3"]


RECORD_SCHEMA = {
    "39": {"type": "numeric", "lower": 0, "upper": 100},
    "13": {"type": "numeric", "lower": 0, "upper": 100},
    "ill": {"type": "categorical", "categories": ["well", "ill"], "target": True},
}


def test_guarantee_a_run_asks_the_schema_alone_whether_there_is_a_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the table holds, the answer is the same; records decide about nothing."""
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"columns": RECORD_SCHEMA}))
    said = []
    for content in ("39,13,ill\n1,2,ill\n3,4,well\n", "a,b,c\n", "39,13,ill\n39,13,ill\n"):
        (tmp_path / "t.csv").write_text(content)
        flags = (f"--csv={tmp_path / 't.csv'}", f"--schema={schema}")
        assert_refused(
            dp_ntk.main, capsys, "no header line?", *flags, "--eps=1", out=tmp_path / "run"
        )
        drive(dp_ntk.main, *flags, "--eps=1", f"--out_dir={tmp_path / 'run'}")
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("name", BUILT_IN)
def test_schemas_that_come_with_the_package_have_names(name: str) -> None:
    assert headers.fault_of_schema(read_schema(name)) is None


def test_a_run_without_a_header_reads_every_line(tmp_path: Path) -> None:
    columns = {f"column_{n + 1}": facts for n, facts in enumerate(RECORD_SCHEMA.values())}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns}))
    (tmp_path / "t.csv").write_text("39,13,ill\n50,0,well\n")
    schema = tables.schema_of(str(tmp_path / "s.json"), told={"header": False})
    found = tables.read_table(table_files.Source("csv", str(tmp_path / "t.csv")), schema)
    assert found.y.tolist() == [1, 0]
    assert np.round(found.x[:, 0] * 100).tolist() == [39, 50]


def test_all_columns_without_a_name_are_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,,b,,\n" + "1,2,3,,\n" * 3)
    assert drive(draft_schema.main, f"--csv={path}") == 2
    assert "columns 2, 4 and 5 have no name" in capsys.readouterr().err


def test_guarantee_a_draft_holds_no_value_beside_formats(tmp_path: Path) -> None:
    """Two tables of the same look and of other values have the same draft."""
    rng = np.random.default_rng(0)
    drafts = []
    for shift in (0, 40):
        days = [day + datetime.timedelta(days=shift) for day in DAYS]
        frame = pd.DataFrame(
            {
                "day": [f"{day:%d.%m.%Y}" for day in days],
                "money": [f"${n:,}" for n in rng.integers(1000, 9_000_000, N)],
                "zip": [f"{n % 40 + shift:05}" for n in PLACES],
                "who": [f"{chr(97 + n % 26)}{rng.integers(10**6, 10**7)}" for n in PLACES],
                "kind": rng.choice([f"a{shift}", f"b{shift}"], N),
                "same": f"c{shift}",
            }
        )
        drafts.append(draft_of(frame.to_csv(index=False), tmp_path))
    assert drafts[0] == drafts[1]
