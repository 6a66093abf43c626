"""No text that a schema, a folder or a stored run brings runs as a formula in a spreadsheet."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support import saved_folders
from support.toy_tables import NUMBER, TARGET, schema_of

from jaxdp.program.csv_lines import csv_path, csv_text
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError
from jaxdp.program.exports import formats, huggingface
from jaxdp.saved import loading
from jaxdp.saved.sets import SavedSet
from jaxdp.tables import frames
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.formulas import opens_as_formula
from jaxdp.tables.schema import BUILT_IN, Schema, read_schema

FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "+1+cmd", "-2+3+cmd|' /C calc'!A0", "@SUM(A1:A9)", "-ill",
            "+ve", "=HYPERLINK(\"a\")", " =1+1", "\t=1", "\r=1", "\ufeff=1", "\u200b=1", "a;=1+1",
            "a\n=1", "\uff1d1+1", "\uff0b1+a",
            "\uff0d1+a", "\uff20A1", "-1+A1", "-(1)", "x\t@A1")  # fmt: skip
HARMLESS = ("-5", "+1.5", "-1e-3", "- 50000", "-50000.", "-5%", "-0,5", "-", "+", "+/-", "--", "",
            "a-b", "a=b", "<=50K", "x@y", "1-2", "1;2", "'=1")  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_refused_wherever_a_schema_has_them(text: str) -> None:
    assert opens_as_formula(text)
    choice = {"type": "categorical", "categories": ["a", text]}
    of_names: dict[str, Any] = {"categories": ["a", "b"], "classes": {"c": ["a"], text: ["b"]}}
    for columns in (
        {"x": choice, "t": TARGET},
        {text: NUMBER, "t": TARGET},
        {"x": NUMBER, "t": choice | {"target": True}},
        {"x": NUMBER, "t": choice | {"target": True} | of_names},
    ):
        with pytest.raises(SchemaError, match="run as a formula") as caught:
            Schema.from_json({"columns": columns})
        assert str(caught.value).isprintable()
    with pytest.raises(SchemaError, match="run as a formula") as caught:
        Schema.from_json({"columns": {"x": NUMBER, "t": TARGET}, "missing": [f"{text}!"]})
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_signs_stay_and_come_back(text: str) -> None:
    assert not opens_as_formula(text)
    choice = {"type": "categorical", "categories": ["x", text], "other": False}
    schema = Schema.from_json({"columns": {"x": choice, "t": TARGET}, "missing": ["?", text]})
    stored = np.float32([[1], [0]])
    made = frames.decode(stored, np.zeros(2, int), schema)
    np.testing.assert_array_equal(frames.records(made, schema), stored)
    lines = list(csv.reader(frames.to_csv(made, schema).splitlines()))
    assert lines[1][0] == schema.columns[0].categories[1]


def test_built_in_schemas_have_no_formulas() -> None:
    for name in BUILT_IN:
        assert read_schema(name).to_json()


def test_a_stored_run_brings_no_formula_into_a_table(tmp_path: Path) -> None:
    """Whoever has written the folder has written its schema, too."""
    folder = saved_folders.table(tmp_path / "run")
    text = (folder / "config.json").read_text()
    assert text.count('"smoker"') > 0
    changed = text.replace('"yes"', json.dumps(FORMULAS[1]))
    assert changed != text
    (folder / "config.json").write_text(changed)
    with pytest.raises(ValueError, match="formula"):
        loading.opened(folder, "--run=run")


@pytest.mark.parametrize("name", ["=1+1", "-ill", "@a"])
def test_classes_of_images_are_no_formulas(name: str, tmp_path: Path) -> None:
    for split in ("train", "test"):
        for number, each in enumerate((name, "well")):
            (tmp_path / "toy" / split / each).mkdir(parents=True)
            Image.new("L", (4, 4), number).save(tmp_path / "toy" / split / each / "a.png")
    with pytest.raises(InputError, match=r"--dataset=toy: class .* would run as a formula"):
        load_dataset("toy", data_dir=tmp_path, download=False)
    names = Wanted(class_names=("-1", "+"))
    for old, new in ((name, "-1"), ("well", "+")):
        for split in ("train", "test"):
            (tmp_path / "toy" / split / old).rename(tmp_path / "toy" / split / new)
    assert load_dataset("toy", data_dir=tmp_path, wanted=names).spec.class_names == ("-1", "+")


@pytest.mark.parametrize("write", [formats.write_png, huggingface.write_huggingface])
def test_exports_of_a_stored_run_hold_no_formula(write: Any, tmp_path: Path) -> None:
    names = ("well", "=1+1")
    folder = saved_folders.images(tmp_path / "run", names=names)
    loaded = loading.opened(folder, "--run=run")
    assert isinstance(loaded.made, SavedSet)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="formula"):
        write(tmp_path / "out", loaded, loaded.made)
    assert not list((tmp_path / "out").rglob("*.csv"))


def test_lines_of_csv_files_hold_no_formula() -> None:
    assert csv_text([["file", "p"], ["a.png", -0.5], ["-5", "a, b"]]).splitlines() == [
        "file,p",
        "a.png,-0.5",
        '-5,"a, b"',
    ]
    assert csv_path("=1.png") == "./=1.png"
    assert csv_path("a.png") == "a.png"
    assert csv_path("-5") == "-5"
    for text in FORMULAS:
        with pytest.raises(InputError, match="formula") as caught:
            csv_text([["a", text]])
        assert str(caught.value).isprintable()


def test_columns_that_are_dropped_may_have_any_name() -> None:
    assert "=x" in schema_of(**{"=x": {"drop": True}}).dropped
