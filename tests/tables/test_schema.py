"""Schemas: what is refused and why, what a file holds, and those that come with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.toy_tables import COLUMNS, schema_of

from jaxdp.tables import schema as schemas
from jaxdp.tables.columns import Column, SchemaError, as_text
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import BUILT_IN, FORMS, Schema, read_schema

NUMBER = {"type": "numeric", "lower": 0, "upper": 10}
CHOICE = {"type": "categorical", "categories": ["a", "b"]}
CLASSES = CHOICE | {"target": True}


def refused(facts: Any, expected: str) -> None:
    """Check that a column is refused in one line that names it."""
    with pytest.raises(SchemaError) as caught:
        Schema.from_json({"columns": {"odd": facts, "class": CLASSES}})
    assert expected in str(caught.value)
    assert "'odd'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"type": "numeric"}, "tell about single records"),
        ({"type": "numeric", "lower": 0}, '"lower" and "upper"'),
        ({"type": "numeric", "lower": None, "upper": None}, '"lower" and "upper"'),
        ({"type": "categorical", "categories": None}, "tell about single records"),
        ({"type": "ordinal"}, 'needs "categories"'),
        ({"type": "categorical", "categories": []}, "not empty"),
        ({"type": "categorical", "categories": "ab"}, "a list"),
        ({"type": "categorical", "categories": [["a"]]}, "texts or numbers"),
        ({"type": "categorical", "categories": [True, False]}, "texts or numbers"),
        ({"type": "categorical", "categories": ["a", "b", " a"]}, "'a' twice"),
        ({"type": "categorical", "categories": [1, "1.0"]}, "'1' twice"),
        ({"type": "categorical", "categories": list(range(10**5))}, "100000 categories"),
        (CHOICE | {"lower": 0}, "no bounds"),
        (CHOICE | {"integer": True}, "no bounds"),
        (CHOICE | {"classes": {"A": ["a"], "B": ["b"]}}, "only the target"),
        ({"lower": 0, "upper": 1}, 'needs "type"'),
        ({"type": "words"}, "numeric, categorical, ordinal"),
        ({"type": None}, "one of numeric"),
        (NUMBER | {"min": 0}, "'min' is unknown"),
        (NUMBER | {"lower": "0"}, "must be a number"),
        (NUMBER | {"lower": True}, "must be a number"),
        (NUMBER | {"nullable": "yes"}, "true or false"),
        (NUMBER | {"drop": "yes"}, "true or false"),
        (NUMBER | {"target": 1}, "true or false"),
        (NUMBER | {"categories": ["a"]}, 'no "categories"'),
        (NUMBER | {"upper": 0}, '"lower" < "upper"'),
        (NUMBER | {"lower": float("nan")}, "finite numbers"),
        (NUMBER | {"upper": float("inf")}, "finite numbers"),
        (NUMBER | {"lower": float("-inf")}, "finite numbers"),
        (NUMBER | {"upper": 10**400}, "too large"),
        (NUMBER | {"lower": -1.7e308, "upper": 1.7e308}, "too large"),
        (NUMBER | {"lower": 10**17, "upper": 10**17 + 1}, "too near"),
        (NUMBER | {"upper": 2**60, "integer": True}, "too large"),
        (NUMBER | {"upper": 9.5, "integer": True}, "are whole"),
        (NUMBER | {"bins": 0}, "between 1 and"),
        (NUMBER | {"bins": 10**9}, "between 1 and"),
        (NUMBER | {"bins": 2.5}, "a number of bins or"),
        (NUMBER | {"bins": True}, "a number of bins or"),
        (NUMBER | {"bins": [3, 2]}, "ascending"),
        (NUMBER | {"bins": [2, 2]}, "ascending"),
        (NUMBER | {"bins": [0, 2]}, "ascending"),
        (NUMBER | {"bins": [2, 10]}, "ascending"),
        (NUMBER | {"bins": [float("nan")]}, "ascending"),
        (NUMBER | {"bins": [i / 10**4 for i in range(1, 10**5)]}, "fewer than"),
        (NUMBER | {"bins": [1.5], "integer": True}, "are whole"),
        (NUMBER | {"bins": [2, 5], "log": True}, 'leave out "log"'),
        ("numeric", "must be an object"),
        (None, "must be an object"),
    ],
)
def test_bad_columns_are_refused(facts: Any, expected: str) -> None:
    refused(facts, expected)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ([], "a schema is"),
        ({}, "a schema is"),
        ({"columns": []}, "a schema is"),
        ({"columns": {}}, "at least one column"),
        ({"columns": {"a": NUMBER, "b": CLASSES | {"nullable": True}}}, "cannot be missing"),
        ({"columns": {"b": CLASSES}}, "at least one column"),
        ({"columns": {"a": {"drop": True}, "b": CLASSES}}, "at least one column"),
        ({"columns": {"a": NUMBER, "b": CLASSES}, "rows": 3}, "'rows' is unknown"),
        ({"columns": {"a": NUMBER, "b": CLASSES}, "missing": []}, "missing must be a list"),
        ({"columns": {"a": NUMBER, "b": CLASSES}, "missing": [None]}, "texts or numbers"),
    ],
)
def test_bad_schemas_are_refused(stored: Any, expected: str) -> None:
    with pytest.raises(SchemaError, match=expected):
        Schema.from_json(stored)


@pytest.mark.parametrize(
    "classes",
    [
        {"A": ["a"], "B": []},
        {"A": ["a"]},
        {"A": ["a", "b"], "B": ["b"]},
        {"A": ["a"], "B": ["b", "c"]},
        {"A": ["a", "b"]},
        {"A": "ab"},
        ["a", "b"],
    ],
)
def test_classes_must_cover_every_category_once(classes: Any) -> None:
    with pytest.raises(SchemaError, match="'t'"):
        Schema.from_json({"columns": {"x": NUMBER, "t": CLASSES | {"classes": classes}}})


def test_a_class_may_stand_for_several_categories() -> None:
    target = {"type": "categorical", "categories": ["a", "b", "c"], "target": True}
    target |= {"classes": {"first": ["a"], "later": ["b", "c"]}}
    found = Schema.from_json({"columns": {"x": NUMBER, "t": target}})
    assert found.class_names == ("first", "later")
    assert found.groups == {"first": ("a",), "later": ("b", "c")}
    assert Schema.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_schema_survives_its_file() -> None:
    found = schema_of()
    again = Schema.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
    assert again == found
    assert again.to_json() == found.to_json()
    assert found.order == tuple(name for name in COLUMNS if name != "name")
    assert found.dropped == ("name",)
    assert found.target.name == "ill"
    assert found.columns[1].bins == (1, 10, 100)


@pytest.mark.parametrize("mark", [".", ","])
def test_decimal_marks_of_columns_survive_the_file(mark: str) -> None:
    """A column without one has that of the table."""
    pay = {"type": "numeric", "lower": 0, "upper": 9, "decimals": 1}
    columns = {"own": pay, "point": pay | {"decimal": "."}, "comma": pay | {"decimal": ","}}
    columns |= {"whole": pay | {"decimals": None, "integer": True}}
    columns |= {"sum": pay | {"upper": 27, "decimal": "," if mark == "." else "."}}
    rules = [{"total": "sum", "sum": ["own", "point", "comma"]}]
    dialect = {"separator": ";", "decimal": mark}
    schema = Schema.from_json({"columns": columns, "csv": dialect, "rules": rules})
    assert [column.decimal for column in schema.columns] == [mark, ".", ",", "."]
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_names_that_are_numbers_are_those_of_a_frame() -> None:
    found = Schema.from_json({"columns": {0: NUMBER, 1: CLASSES}})
    assert found.order == ("0", "1")
    assert Schema.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "is not JSON"),
        (b"{'columns': 1}", "is not JSON"),
        (b"[" * 10**5, "nested too deeply"),
        (b"[1, 2]", "a schema is"),
        (b'{"columns": {"a": 1}, "columns": {}}', "'columns' is there twice"),
        (b'{"columns": {"a": {"type": "numeric", "type": "ordinal"}}}', "'type' is there twice"),
        (b'{"columns": {"\xff": 1}}', "not UTF-8"),
        (b'{"columns": {"a": {"type": "numeric", "lower": NaN, "upper": 1}, "t": T}}', "finite"),
        (b'{"columns": {"a": {"type": "numeric", "lower": 0, "upper": 1e999}, "t": T}}', "finite"),
        (b'{"columns": {"a": {"lower": ' + b"9" * 5000 + b"}}}", "digits"),
    ],
)
def test_bad_files_are_refused_by_name(text: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.replace(b"T", json.dumps(CLASSES).encode()))
    with pytest.raises(SchemaError, match=expected) as caught:
        read_schema(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there_are_told_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="known by name are adult"):
        read_schema(tmp_path / "none.json")
    with pytest.raises(SchemaError, match="cannot be read"):
        read_schema(tmp_path)


def test_a_file_that_need_not_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "_MOST_BYTES", 2**20)
    (tmp_path / "s.json").symlink_to("/dev/zero")
    with pytest.raises(SchemaError, match="is larger than 1 MB, as no schema is"):
        read_schema(tmp_path / "s.json")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mark.json"
    path.write_text(json.dumps(schema_of().to_json()), encoding="utf-8-sig")
    assert read_schema(str(path)) == schema_of()


CLASS_NAMES = {
    "adult": 2,
    "census": 2,
    "cervical": 2,
    "covtype": 7,
    "credit": 2,
    "epileptic": 2,
    "intrusion": 5,
    "isolet": 2,
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_schemas_are_whole(name: str) -> None:
    found = read_schema(name)
    assert len(found.class_names) == CLASS_NAMES[name]
    assert Schema.from_json(json.loads(json.dumps(found.to_json()))) == found
    for form in FORMS:
        layout = Layout(found, form)
        assert layout.dim >= len(found.columns)
        assert sum(block.width for block in layout.blocks) == layout.dim
    assert {path.stem for path in schemas._DIRECTORY.glob("*.json")} == set(BUILT_IN)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (" 1", "1"),
        ("1.0", "1"),
        ("-3.0", "-3"),
        (-0.0, "0"),
        (1e20, "100000000000000000000"),
        (0.5, "0.5"),
        (float("inf"), "inf"),
        (True, "True"),
        ("a.0", "a.0"),
        ("1.00", "1.00"),
        ("v1.0", "v1.0"),
        (".0", ".0"),
    ],
)
def test_categories_are_compared_by_their_text(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_other_has_a_place_only_where_it_is_wanted() -> None:
    wanted = Column(name="a", type="categorical", categories=("x",))
    assert wanted.values == ("x", "other")
    assert Column(name="a", type="categorical", categories=("x",), other=False).values == ("x",)
    listed = Column(name="a", type="categorical", categories=("other", "x"))
    assert listed.values == ("other", "x")
    assert "other" not in schema_of().target.values
