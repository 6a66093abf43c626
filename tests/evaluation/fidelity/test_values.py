"""What is compared is what stands in the tables: numbers as written, missing values, categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.toy_tables import TARGET, frame_of, schema_of

from jaxdp.program.evaluation.fidelity import values
from jaxdp.tables import frames, raw
from jaxdp.tables.schema import Schema


def test_values_are_those_of_decoded_tables() -> None:
    schema = schema_of()
    real, made = (frames.encode(frame_of(50, seed=seed), schema) for seed in (0, 1))
    found = values.read(schema, real, made, made, labelled=True)
    assert [column.name for column in found] == ["age", "income", "debt", "smoker", "stage", "ill"]
    for side, (x, y) in (("real", real), ("made", made), ("test", made)):
        frame = frames.decode(x, y, schema)
        for column in found:
            mine, expected = getattr(column, side), frame[column.name]
            if column.is_number:
                np.testing.assert_array_equal(mine, expected.to_numpy(np.float64, na_value=np.nan))
            else:
                texts = [None if at < 0 else column.names[at] for at in mine]
                assert texts == expected.astype(object).where(expected.notna(), None).tolist()
    assert any(np.isnan(found[2].real))
    assert -1 in found[3].real


def test_numbers_are_rounded_as_they_are_written() -> None:
    """Else a made 0.30000001 would be another value than a private 0.3."""
    facts = {"type": "numeric", "lower": 0, "upper": 1, "decimals": 1, "dtype": "Float64"}
    schema = Schema.from_json({"columns": {"x": facts, "t": TARGET}})
    stored = np.float32([[0.3], [0.30001], [0.26]]), np.zeros(3, np.int32)
    assert values.read(schema, stored, stored, stored, labelled=False)[0].real.tolist() == [0.3] * 3


def test_dates_are_compared_as_numbers_and_told_as_texts() -> None:
    facts = {"type": "date", "format": "%Y-%m-%d", "lower": "2020-01-01", "upper": "2020-12-31"}
    schema = Schema.from_json({"columns": {"day": {**facts, "nullable": True}, "t": TARGET}})
    frame = pd.DataFrame({"day": ["2020-01-01", "2020-03-01", ""], "t": "no"})
    split = frames.encode(frame, schema)
    (day,) = values.read(schema, split, split, split, labelled=False)
    assert day.told(day.real[1]) == "2020-03-01"
    assert np.isnan(day.real).tolist() == [False, False, True]


def test_of_many_records_a_sample_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_RECORDS", 30)
    monkeypatch.setattr(values, "MOST_TEST_RECORDS", 20)
    schema = schema_of()
    split: Any = frames.encode(frame_of(50), schema)
    found = values.read(schema, split, split, split, labelled=True)
    again = values.read(schema, split, split, split, labelled=True)
    for column, other in zip(found, again, strict=True):
        assert [len(side) for side in column[2:]] == [30, 30, 20]
        np.testing.assert_array_equal(column.real, other.real)
    # Records stay whole: ages go with their classes.
    whole = values.read(schema, tuple(part[:30] for part in split), split, split, labelled=True)
    pairs = set(zip(*frames_of(split), strict=True))
    assert set(zip(found[0].real, found[5].real, strict=True)) <= pairs
    assert len(whole[0].real) == 30


def frames_of(split: Any) -> tuple[Any, Any]:
    ages = frames.decode(*split, schema_of())["age"]
    return ages.to_numpy(), split[1]


def test_records_as_they_were_read_keep_what_storing_takes_away() -> None:
    age = {"type": "numeric", "lower": 0, "upper": 90, "integer": True}
    ward = {"type": "categorical", "categories": ["a", "b"], "other": False}
    kind = {"type": "categorical", "categories": ["x", "y"], "other": True}
    schema = Schema.from_json({"columns": {"age": age, "ward": ward, "kind": kind, "t": TARGET}})
    frame = pd.DataFrame(
        {
            "age": ["-3", "50", "120", ""],
            "ward": ["a", "c", "", "b"],
            "kind": ["x", "z", "", "y"],
            "t": ["no", "yes", "no", "yes"],
        }
    )
    stored, read = frames.encode(frame, schema), raw.read(frame, schema)
    found = values.read(schema, read, stored, read, labelled=True)
    np.testing.assert_array_equal(found[0].real, [-3, 50, 120, np.nan])
    assert found[1].real.tolist() == [0, 2, -1, 1]
    assert found[1].names == ("a", "b", values.UNLISTED)
    assert found[2].real.tolist() == [0, 2, -1, 1]
    assert found[2].names == ("x", "y", "other")
    assert found[3].real.tolist() == found[3].made.tolist() == [0, 1, 0, 1]
    for column in found:
        np.testing.assert_array_equal(column.real, column.test)
    # What was stored has none of it.
    assert found[0].made.tolist()[::2] == [0, 90]
    assert found[1].made.tolist()[:2] == [0, 0]
