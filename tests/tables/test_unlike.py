"""What is said of new records that hold what a schema does not list."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jaxdp.data import Spec
from jaxdp.methods import warned
from jaxdp.tables import frames, unlike
from jaxdp.tables.schema import Schema

SCHEMA = Schema.from_json(
    {
        "columns": {
            "postcode": {"type": "categorical", "categories": ["01067", "10115"], "other": True},
            "ward": {"type": "categorical", "categories": ["a", "b"], "nullable": True},
            "age": {"type": "numeric", "lower": 0, "upper": 120, "nullable": True},
            "seen": {
                "type": "date",
                "format": "%d.%m.%Y",
                "lower": "01.01.2023",
                "upper": "31.12.2024",
            },
            "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        }
    }
)


def frame(**columns: object) -> pd.DataFrame:
    plain = {"postcode": ["01067"], "ward": ["a"], "age": [30], "seen": ["05.06.2023"]}
    return pd.DataFrame(plain | columns)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({}, {}),
        ({"ward": [None], "age": [np.nan]}, {}),
        ({"postcode": ["1067"]}, {"postcode": 1}),
        ({"ward": ["c"]}, {"ward": 1}),
        ({"age": [-1]}, {"age": 1}),
        ({"age": [121]}, {"age": 1}),
        ({"age": [0]}, {}),
        ({"seen": ["01.01.2025"]}, {"seen": 1}),
    ],
)
def test_a_record_that_the_schema_does_not_know_is_counted(
    columns: dict[str, list[object]], found: dict[str, int]
) -> None:
    assert unlike.counts(frame(**columns), SCHEMA) == found


def test_lines_hold_no_value_of_a_record() -> None:
    new = pd.concat([frame(), frame(ward=["SECRET"], age=[987])])
    lines = unlike.lines(unlike.counts(new, SCHEMA), SCHEMA, len(new))
    assert [line.split(":")[0] for line in lines] == ["column 'ward'", "column 'age'"]
    assert all("1 of 2 records" in line for line in lines)
    assert not any("SECRET" in line or "987" in line for line in lines)


@pytest.mark.parametrize("codes", [[1067, 10115], [1067.0, 10115.0], ["01067", "10115"]])
def test_a_code_that_pandas_reads_as_a_number_is_the_code(codes: list[object]) -> None:
    new = pd.concat([frame(), frame()]).assign(postcode=codes)
    assert not unlike.counts(new, SCHEMA)
    assert frames.records(new, SCHEMA)[:, 0].tolist() == [0, 1]


def test_a_number_stands_for_no_code_where_two_codes_are_that_number() -> None:
    columns = {"code": {"type": "categorical", "categories": ["07", "007", "08"]}}
    schema = Schema.from_json({"columns": columns})
    assert unlike.counts(pd.DataFrame({"code": [7, 8]}), schema) == {"code": 1}


def test_a_target_of_codes_is_read_from_numbers() -> None:
    columns = {
        "age": {"type": "numeric", "lower": 0, "upper": 120},
        "code": {"type": "categorical", "categories": ["01", "02"], "target": True},
    }
    schema = Schema.from_json({"columns": columns})
    assert frames.labels(pd.DataFrame({"age": [1, 2], "code": [2, 1]}), schema).tolist() == [1, 0]


def test_of_arrays_nothing_is_said() -> None:
    spec = Spec.table("visits", SCHEMA, 10)
    assert warned.of_new(np.zeros((1, 4)), spec) == []
    assert len(warned.of_new(frame(ward=["c"]), spec)) == 1
