"""A table of one column, where a missing value is a blank line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxdp.program.data import table_files, tables
from jaxdp.program.errors import InputError
from jaxdp.tables.schema import Schema

NUMBER = {"type": "numeric", "lower": 0, "upper": 999, "integer": True, "nullable": True}
SCHEMA = Schema.from_json({"columns": {"x": NUMBER}})
NUM = 200


def splits(folder: Path, lines: list[str]) -> list[np.ndarray]:
    path = folder / "one.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    flags = SimpleNamespace(csv=str(path), test_csv=None, test_fraction=None, person_column=None)
    return [part.x for part in tables.read_splits(flags, SCHEMA, seed=0)]


def test_guarantee_a_blank_line_is_a_record_and_moves_no_other(tmp_path: Path) -> None:
    lines = ["x", *map(str, range(NUM))]
    before = splits(tmp_path, lines)
    for place in (1, 4, NUM):
        after = splits(tmp_path, [*lines[:place], "", *lines[place + 1 :]])
        pairs = list(zip(before, after, strict=True))
        assert [len(one) for one, _ in pairs] == [len(other) for _, other in pairs]
        assert sum(int((one != other).any(axis=1).sum()) for one, other in pairs) == 1


def test_a_blank_line_in_the_place_of_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="begins with a blank line"):
        splits(tmp_path, ["", "x", "1", "2", "3"])


@pytest.mark.parametrize("read", [tables.read_table, tables.read_raw_table, tables.read_records])
def test_guarantee_a_stray_quote_takes_no_other_record_along(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two records begin with a quote: all between them would be one record with them."""
    monkeypatch.setattr(table_files, "_CHUNK", 7)
    columns = {"x": NUMBER, "y": {"type": "categorical", "categories": ["a"]}}
    lines = ["y,x", *(f"a,{number}" for number in range(NUM))]
    lines[20], lines[40] = '"a,1', 'a",1'
    source = table_files.Source("csv", str(tmp_path / "two.csv"))
    Path(source.path).write_text("\n".join(lines))
    with pytest.raises(InputError, match="record 20 has a line break in quotes"):
        read(source, Schema.from_json({"columns": columns}))
    said = Schema.from_json({"columns": columns, "csv": {"line_breaks": True}})
    read(source, said)


@pytest.mark.parametrize("read", [tables.read_table, tables.read_raw_table, tables.read_records])
def test_guarantee_a_nul_hides_no_line_break(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pandas before version 3 cuts a field at its NUL, and the line break stands behind it."""
    monkeypatch.setattr(table_files, "_CHUNK", 7)
    columns = {"x": NUMBER, "y": {"type": "categorical", "categories": ["a"], "other": True}}
    lines = ["x,y", *(f"{number},a" for number in range(NUM))]
    lines[20], lines[40] = '1,"a\0', '1,a"'
    source = table_files.Source("csv", str(tmp_path / "two.csv"))
    for end in ("\n", "\r\n", "\r"):
        Path(source.path).write_text(end.join(lines), newline="")
        with pytest.raises(InputError, match="line 21 holds a NUL"):
            read(source, Schema.from_json({"columns": columns}))


def test_a_long_field_is_read_beside_a_blank_one(tmp_path: Path) -> None:
    columns = {"x": {"type": "categorical", "categories": ["a"], "other": True}, "y": NUMBER}
    source = table_files.Source("csv", str(tmp_path / "two.csv"))
    Path(source.path).write_text(f"x,y\na,\n{'b' * 140_000},1\n")
    found = tables.read_records(source, Schema.from_json({"columns": columns}))
    assert found[:, 0].tolist() == [0, 1]


def test_a_first_record_may_be_missing_where_there_is_no_header(tmp_path: Path) -> None:
    schema = Schema.from_json({"columns": {"column_1": NUMBER}, "csv": {"header": False}})
    (tmp_path / "one.csv").write_text("\n5\n\n7\n")
    found = tables.read_records(table_files.Source("csv", str(tmp_path / "one.csv")), schema)
    assert (found[:, 0] < 0).tolist() == [True, False, True, False]
