"""What made records teach of targets that are no classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jaxdp.program.evaluation import targets
from jaxdp.tables import Schema, encode

SCHEMA = Schema.from_json(
    {
        "columns": {
            "size": {"type": "numeric", "lower": 0, "upper": 10},
            "price": {"type": "numeric", "lower": 0, "upper": 100, "target": True},
            "kind": {"type": "categorical", "categories": ["flat", "house"], "target": True},
        }
    }
)


def records(num: int, seed: int, *, depend: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    size, other = rng.uniform(0, 10, (2, num))
    told = size if depend else other
    frame = pd.DataFrame(
        {"size": size, "price": 9 * told + 3, "kind": np.where(told > 5, "house", "flat")}
    )
    return encode(frame, SCHEMA)


def test_each_target_has_its_figures_of_the_test_records() -> None:
    found = targets.judge(SCHEMA, records(500, 0), records(200, 1))
    assert list(found) == ["price", "kind"]
    assert set(found["price"]) == {"r2"}
    assert set(found["kind"]) == {"auc", "accuracy"}
    assert found["price"]["r2"]["value"] > 0.95
    assert found["kind"]["auc"]["value"] > 0.95
    low, high = found["price"]["r2"]["interval"]
    assert low <= found["price"]["r2"]["value"] <= high


def test_records_whose_columns_do_not_depend_on_each_other_teach_nothing() -> None:
    found = targets.judge(SCHEMA, records(500, 0, depend=False), records(200, 1, depend=False))
    assert found["price"]["r2"]["value"] < 0.9  # kind still tells of price
    alone = Schema.from_json(
        {"columns": {name: SCHEMA.to_json()["columns"][name] for name in ("size", "price")}}
    )
    made, test = (records(300, seed, depend=False)[0][:, :2] for seed in (0, 1))
    nothing = targets.judge(alone, (made, np.zeros(300, int)), (test, np.zeros(300, int)))
    assert nothing["price"]["r2"]["value"] < 0.1


def test_what_test_records_do_not_tell_is_said() -> None:
    x, y = records(5, 0)
    x = x.copy()
    x[:, 2] = x[0, 2]
    found = targets.judge(SCHEMA, records(100, 1), (x, y))
    assert found["kind"]["auc"] == {"value": None, "interval": None}
    lines = list(targets.as_lines({targets.KEY: found}))
    assert lines[0].startswith("price, predicted in the test records: R2 ")
    assert "AUC" not in lines[1]
    assert list(targets.as_lines({})) == []


@pytest.mark.parametrize("name", ["a\x1b[31m", "price"])
def test_names_do_not_steer_a_terminal(name: str) -> None:
    figure = {"r2": {"value": 0.5, "interval": (0.4, 0.6)}}
    (line,) = targets.as_lines({targets.KEY: {name: figure}})
    assert "\x1b" not in line
    assert line.endswith("R2 0.500 (0.400 to 0.600)")
