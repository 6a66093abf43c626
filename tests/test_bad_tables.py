"""Tables, schemas and flags that are refused: one line, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.drivers import assert_refused, drive
from support.toy_tables import COLUMNS, frame_of, write_table

from jaxdp.program.commands import dp_ntk, draft_schema
from jaxdp.program.data import table_files
from jaxdp.program.errors import InputError

HEADER = "name,age,income,debt,smoker,stage,ill\n"
LINE = "x,50,10,,no,I,yes\n"


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, expected: str, *flags: str) -> None:
    assert_refused(dp_ntk.main, capsys, expected, *flags, "--eps=1", out=tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (HEADER, "holds no records"),
        (HEADER + LINE, "two records are needed"),
        (HEADER + LINE + "x,50,10,,no,I\n", "fewer fields"),
        (HEADER + "x,50\n" + LINE, "fewer fields"),
        (HEADER + ",\n" + LINE, "fewer fields"),
        (HEADER + LINE + "x,50,10,,no,I,yes,more\n", "as many fields as the header"),
        (HEADER + "x,50,10,,no,I,yes,more\n" + LINE, "more fields"),
        (HEADER + 'x,50,10,,no,I,"yes\n', "is not a table with commas"),
        (
            HEADER + LINE + LINE.replace("x", '"x') + LINE * 9 + LINE.replace("x", 'x"'),
            "record 2 has a line break in quotes",
        ),
        (HEADER + '"x",50,10,,no,I,"yes\r"\n' + LINE, "record 1 has a line break in quotes"),
        (
            HEADER.replace("name", '"name') + LINE + LINE.replace("x", 'x"') + LINE,
            "the first line has a line break in quotes",
        ),
        ((HEADER + LINE).replace(",", ";"), "separated by semicolons"),
        ((HEADER + LINE).replace(",", "\t"), "separated by tabs"),
        ((HEADER + LINE).replace(",", ";").replace("age", '"age, years"'), "by semicolons"),
        ("age," + HEADER + "1," + LINE, "'age' is there twice"),
        ("more," + HEADER + "1," + LINE, "'more': the schema does not declare it"),
        (HEADER.replace("age", "years") + LINE, "'age': there is no such column"),
        (HEADER.replace("ill", "well") + LINE, "'well': the schema does not declare it"),
        ((HEADER + LINE).encode("utf-16"), "not UTF-8"),
        ((HEADER + LINE).replace("x", "\xe9").encode("latin-1"), "not UTF-8"),
        (HEADER + LINE.replace("50", "old"), "column 'age'"),
        (HEADER + LINE.replace("50", '"1,200"'), "column 'age'"),
        (HEADER + LINE.replace("yes", "maybe"), "column 'ill'"),
        (
            HEADER + LINE.replace("yes", ""),
            "column 'ill': is the target, and values are missing there",
        ),
    ],
)
def test_bad_tables_are_refused(
    content: str | bytes, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = write_table(tmp_path, frame_of(2))
    text = content.encode() if isinstance(content, str) else content
    (tmp_path / "people.csv").write_bytes(text)
    refused(capsys, tmp_path, expected, *flags)


def workbook(part: str) -> bytes:
    """Return a zip file as spreadsheets write it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr(part, "secret")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (workbook("xl/workbook.xml"), "is an Excel workbook, and no CSV file: open it"),
        (workbook("content.xml"), "is an OpenDocument sheet, and no CSV file"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\x00\x81" * 99, "is an Excel workbook of the old"),
    ],
)
def test_workbooks_are_told_from_tables(
    content: bytes, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = write_table(tmp_path, frame_of(2))
    (tmp_path / "people.csv").write_bytes(content)
    refused(capsys, tmp_path, what, *flags)
    for name in ("people.xlsx", "people.csv.gz"):
        packed = gzip.compress(content) if name.endswith(".gz") else content
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(InputError, match=what):
            table_files.header(table_files.Source("csv", str(tmp_path / name)), rows=5)


def test_what_begins_as_a_workbook_may_be_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04,b\n1,x\n2,y\n")
    found, _ = table_files.header(table_files.Source("csv", str(tmp_path / "t.csv")), rows=5)
    assert len(found) == 2


def test_text_of_no_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\x81\x80\n")
    with pytest.raises(InputError, match="is text in no encoding that is tried: save it as UTF-8"):
        table_files.header(table_files.Source("csv", str(tmp_path / "t.csv")), rows=5)


def test_fields_with_commas_in_quotes_are_fine(tmp_path: Path) -> None:
    flags = write_table(tmp_path, frame_of(2))
    lines = [LINE, LINE.replace("x", '"a, b"'), "\n", LINE.replace("no,", '"no", ')]
    (tmp_path / "people.csv").write_text(HEADER + "".join(lines) * 10)
    options = ("--evaluate=none", "--num_synthetic=9", "--eps=1", "--delta=1e-2")
    assert drive(dp_ntk.main, *flags, *options, f"--out_dir={tmp_path / 'run'}") == 0


@pytest.mark.parametrize("said", ["flag", "schema"])
def test_fields_with_line_breaks_are_read_where_somebody_says_so(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = write_table(tmp_path, frame_of(2))
    lines = [LINE, LINE.replace("x", '"a\n\nb"'), "\n", LINE.replace("no,", '"no\r\n",')]
    (tmp_path / "people.csv").write_text(HEADER + "".join(lines) * 10, newline="")
    if said == "flag":
        flags = [*flags, "--line_breaks"]
    else:
        schema = tmp_path / "people.json"
        stored = json.loads(schema.read_text()) | {"csv": {"line_breaks": True}}
        schema.write_text(json.dumps(stored))
    options = ("--evaluate=none", "--num_synthetic=9", "--eps=1", "--delta=1e-2")
    assert drive(dp_ntk.main, *flags, *options, f"--out_dir={tmp_path / 'run'}") == 0
    assert "27 training records; 2 classes (no, yes); 3 test" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"plain", "cannot be read"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12], "cannot be read"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:30] + b"x" * 30, "cannot be read"),
    ],
)
def test_broken_compressed_tables_are_refused(
    content: bytes, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = write_table(tmp_path, frame_of(2))[1]
    (tmp_path / "bad.csv.gz").write_bytes(content)
    refused(capsys, tmp_path, expected, f"--csv={tmp_path / 'bad.csv.gz'}", schema)


def test_what_is_no_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, schema = write_table(tmp_path, frame_of(2))
    os.mkfifo(tmp_path / "pipe.csv")
    for name, expected in {
        "none.csv": "there is no such file",
        "pipe.csv": "cannot be read",
        "": "cannot be read",
    }.items():
        refused(capsys, tmp_path, expected, f"--csv={tmp_path / name}", schema)


def test_bad_flags_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv, schema = write_table(tmp_path, frame_of(20))
    refused(capsys, tmp_path, "--schema: say what", csv)
    refused(capsys, tmp_path, "name it by --csv", schema)
    refused(capsys, tmp_path, "name it by --csv", "--codes=raw")
    refused(capsys, tmp_path, "leave --test_fraction=0.5 out", "--test_fraction=0.5")
    refused(capsys, tmp_path, "leave it out", csv, schema, "--dataset=mnist")
    refused(capsys, tmp_path, "there is no such file", csv, "--schema=nothing.json")
    refused(capsys, tmp_path, "--codes", csv, schema, "--codes=cooked")
    refused(capsys, tmp_path, "--test_fraction", csv, schema, "--test_fraction=0")
    refused(capsys, tmp_path, "--test_fraction", csv, schema, "--test_fraction=1")
    more = (f"--test_csv={tmp_path / 'people.csv'}", "--test_fraction=0.5")
    refused(capsys, tmp_path, "--test_csv has the test data", csv, schema, *more)
    refused(capsys, tmp_path, "no such file", csv, schema, f"--test_csv={tmp_path / 'no.csv'}")
    refused(capsys, tmp_path, "features", csv, schema, "--features=scatter")
    refused(capsys, tmp_path, "--generator", csv, schema, "--features=rff", "--generator=cells")
    refused(capsys, tmp_path, "--generator", csv, schema, "--generator=conv")
    refused(capsys, tmp_path, "--features=marginals", "--features=marginals")


def test_a_draft_must_be_filled_in_where_nothing_is_bought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv, _ = write_table(tmp_path, frame_of(50))
    out = tmp_path / "draft.json"
    assert drive(draft_schema.main, csv, f"--out={out}") == 0
    text = out.read_text()
    drafted = json.loads(text)["columns"]
    assert list(drafted) == list(frame_of(1).columns)
    assert drafted["age"] == {"type": "numeric", "lower": None, "upper": None, "integer": True} | {
        "nullable": None
    }
    assert drafted["smoker"] == {"type": "categorical", "categories": None, "nullable": None}
    for value in ("person", "yes", "III", str(frame_of(50)["income"].max())):
        assert value not in text
    capsys.readouterr()
    nothing = (csv, f"--schema={out}", "--schema_share=0")
    refused(capsys, tmp_path, "age: bounds, nullable", *nothing)
    drafted["ill"] = COLUMNS["ill"]
    out.write_text(json.dumps({"columns": drafted}))
    refused(capsys, tmp_path, "age: bounds, nullable", *nothing)
    for facts in drafted.values():
        facts.pop("nullable", None)
    out.write_text(json.dumps({"columns": drafted}))
    refused(capsys, tmp_path, "age: bounds", *nothing)
    assert not (tmp_path / "people.bought.json").exists()
    before = out.read_bytes()
    assert drive(draft_schema.main, csv, f"--out={out}") == 2
    assert out.read_bytes() == before
    assert "is there already" in capsys.readouterr().err


def drafted(frame: pd.DataFrame, path: Path) -> dict[str, Any]:
    """Return the columns of a draft of a frame in a file."""
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    out = path.with_suffix(".draft.json")
    assert drive(draft_schema.main, f"--csv={path}", f"--out={out}") == 0
    assert "\\u" not in out.read_text(encoding="utf-8")
    return json.loads(out.read_text(encoding="utf-8"))["columns"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_drafts_take_numbers_with_missing_values_as_numbers(ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    column = [1.5 * n if n % 7 else None for n in range(100)]
    found = drafted(pd.DataFrame({"gr\xf6\xdfe, cm": column}), tmp_path / f"table.{ending}")
    assert found["gr\xf6\xdfe, cm"]["type"] == "numeric"


def test_drafts_say_what_to_do_with_names(tmp_path: Path) -> None:
    found = drafted(
        pd.DataFrame(
            {
                "who": [f"person {n}" for n in range(60)],
                "ward": [f"ward {n % 30}" for n in range(60)],
                "ratio": ["1-2", "1-3"] * 30,
            }
        ),
        tmp_path / "table.csv",
    )
    assert "drop it" in found["who"]["about"]
    assert "about" not in found["ward"]
    assert "about" not in found["ratio"]


def test_drafts_of_bytes_that_are_no_text(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    found = drafted(pd.DataFrame({"scan": [b"\xff\0", b"yes"] * 5}), tmp_path / "table.parquet")
    assert found["scan"]["type"] == "categorical"


def test_a_draft_says_that_its_types_were_guessed_from_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One record of many turns a guess, so nobody may take a draft for what is public."""
    guessed = []
    for last in ("17", "a text"):
        frame = pd.DataFrame({"a": [f"{n}" for n in range(200)] + [last]})
        guessed.append(drafted(frame, tmp_path / f"{len(guessed)}.csv")["a"]["type"])
    assert guessed == ["numeric", "categorical"]
    about = json.loads((tmp_path / "0.draft.json").read_text())["about"]
    assert "guessed from records of the table" in about
    assert "check every one" in about
    said = capsys.readouterr().out
    assert "guessed from the table's records" in said
    assert "nothing of the data" not in said


def test_what_is_wrong_with_a_table_is_told_without_its_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither what stands in a line, nor how much, nor what a part of a Parquet file holds."""
    csv, schema = write_table(tmp_path, frame_of(2))
    said = []
    for more in (",1", ",1,secret,3"):
        (tmp_path / "people.csv").write_text(HEADER + LINE * 3 + LINE.strip() + more + "\n")
        refused(capsys, tmp_path, "(line 5): every line needs", csv, schema)
        drive(dp_ntk.main, csv, schema, "--eps=1", f"--out_dir={tmp_path / 'run'}")
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    day = pyarrow.array([0, 98765432], pyarrow.date32())
    text = pyarrow.array([b"1", b"\xffsecret"]).view(pyarrow.string())
    file, said = f"--csv={tmp_path / 'people.parquet'}", []
    for bad in (day, text):  # the error of one quotes the year, that of the other the text
        values = {name: bad if name == "age" else ["1", "1"] for name in COLUMNS}
        parquet.write_table(pyarrow.table(values), tmp_path / "people.parquet")
        drive(dp_ntk.main, file, schema, "--eps=1", f"--out_dir={tmp_path / 'run'}")
        said.append(capsys.readouterr().err)
    assert "has a part that cannot be read" in said[0]
    assert said[0] == said[1]


def test_drafts_of_tables_without_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.csv").write_text(HEADER)
    out = f"--out={tmp_path / 'draft.json'}"
    assert_refused(
        draft_schema.main, capsys, "holds no records", f"--csv={tmp_path / 'empty.csv'}", out
    )
    assert not (tmp_path / "draft.json").exists()
    assert drive(draft_schema.main, out) == 2
    assert drive(draft_schema.main, f"--csv={tmp_path / 'none.csv'}", out) == 2
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": pyarrow.array([], "int64")}), tmp_path / "e.parquet")
    capsys.readouterr()
    assert drive(draft_schema.main, f"--csv={tmp_path / 'e.parquet'}", out) == 2
    assert "holds no records" in capsys.readouterr().err
