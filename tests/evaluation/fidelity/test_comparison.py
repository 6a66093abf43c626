"""The whole comparison: which columns, which targets, and what a file says."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.toy_tables import COLUMNS, frame_of, schema_of

from jaxdp.program.evaluation.fidelity import comparison
from jaxdp.tables import frames
from jaxdp.tables.schema import Schema

SCHEMA = schema_of()
Split = tuple[np.ndarray, np.ndarray]


def split_of(num: int, seed: int, schema: Schema = SCHEMA) -> Split:
    return frames.encode(frame_of(num, seed=seed), schema)


def compared(
    real: Split, made: Split, schema: Schema = SCHEMA, *, labelled: bool = True
) -> tuple[comparison.Fidelity, dict[str, Any]]:
    found = comparison.compare(schema, real, made, split_of(40, 9, schema), labelled=labelled)
    return found, json.loads(json.dumps(comparison.figures(found), allow_nan=False))


def test_equal_tables_score_1_and_others_do_not() -> None:
    split = split_of(200, 0)
    found, said = compared(split, split)
    assert said["score"]["score"] == 1
    assert said["queries"]["largest_error"] == 0
    assert all(each.apart is not None and each.apart.distance == 0 for each in found.compared)
    rng = np.random.default_rng(0)
    _, said = compared(split, (split[0], rng.permutation(split[1])))
    assert said["score"]["columns"] == 1
    assert said["score"]["pairs"] < 0.97
    ages = {tuple(pair["columns"]): pair for pair in said["associations"]["pairs"]}["age", "ill"]
    assert ages["correlation_ratio"]["private"] > 0.6 > 0.2 > ages["correlation_ratio"]["made"]
    assert said["told_apart"]["value"] > 0.5


def test_a_file_says_what_it_is_and_how_many_records_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison.values, "MOST_RECORDS", 50)
    _, said = compared(split_of(60, 0), split_of(30, 1))
    assert said["computed_on_private_data"] is True
    assert "do not release it" in said["note"]
    assert said["records"] == {"private": 60, "made": 30, "test": 40}
    assert said["sampled"].startswith("50 of 60 private records were compared")
    assert said["compared_in_pairs"] == "all 6 columns"
    assert {model["target"] for model in said["models"]} == {"ill"}
    measures = {*said, *said["associations"]["differences"], *said["columns"]["age"]}
    assert set(said["measures"]) - measures == {"total_variation"}
    assert "total_variation" in said["columns"]["smoker"]


def test_what_is_to_be_predicted_is_judged_whatever_it_is() -> None:
    ill, smoker, debt = (COLUMNS[name] | {"target": False} for name in ("ill", "smoker", "debt"))
    marked = {"target": True}
    classes = {(name, measure) for name in ("ill", "smoker") for measure in ("auc", "accuracy")}
    for schema, expected in (
        (schema_of(ill=ill, debt=debt | marked), {("debt", "r2")}),
        (schema_of(smoker=smoker | marked, debt=debt | marked), {("debt", "r2"), *classes}),
        (schema_of(ill=ill), set()),
    ):
        real, made = split_of(80, 0, schema), split_of(60, 1, schema)
        _, said = compared(real, made, schema, labelled=False)
        assert {(each["target"], each["measure"]) for each in said["models"]} == expected
        assert set(said["columns"]) == {*COLUMNS} - {"name"}
    _, said = compared(split_of(80, 0), split_of(60, 1), labelled=False)
    assert said["models"] == []
    assert "ill" not in said["columns"]


def test_a_table_of_one_record_or_one_column_is_compared() -> None:
    compared(split_of(1, 0), split_of(1, 1))
    schema = Schema.from_json({"columns": {"x": COLUMNS["debt"]}})
    split = frames.encode(pd.DataFrame({"x": ["1", "", "3"]}), schema)
    found = comparison.compare(schema, split, split, split, labelled=False)
    assert found.pairs == []
    assert found.score == (1, 1, None, None)
    json.dumps(comparison.figures(found), allow_nan=False)


def test_of_many_columns_the_first_and_the_target_are_paired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "MOST_COLUMNS", 3)
    found, said = compared(split_of(60, 0), split_of(30, 1))
    assert found.paired == [0, 1, 2, 5]
    assert len(found.pairs) == 6
    assert len(found.compared) == 6
    assert said["compared_in_pairs"] == "4 of 6 columns: the first 3, and targets"
