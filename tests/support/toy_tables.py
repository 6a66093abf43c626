"""A small table with columns of every kind, and its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jaxdp.tables import frames
from jaxdp.tables.schema import Schema

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric", "lower": 0, "upper": 120, "integer": True},
    "income": {"type": "numeric", "lower": 0, "upper": 1000, "bins": [1, 10, 100]},
    "debt": {"type": "numeric", "lower": 0, "upper": 1e5, "log": True, "nullable": True},
    "smoker": {"type": "categorical", "categories": ["no", "yes"], "nullable": True},
    "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
    "stage": {"type": "ordinal", "categories": ["I", "II", "III"], "other": False},
    "name": {"drop": True},
}
MADE = [name for name in COLUMNS if name != "name"]
"""The columns of a table that is made."""

NUMBER = {"type": "numeric", "lower": 0, "upper": 10, "nullable": True}
TARGET = {"type": "categorical", "categories": ["no", "yes"], "target": True}


def schema_of(**columns: dict[str, Any] | None) -> Schema:
    """Return the toy schema with columns changed or, where None, left out."""
    changed = {k: v for k, v in (COLUMNS | columns).items() if v is not None}
    return Schema.from_json({"columns": changed})


def one_column(facts: dict[str, Any], *missing: str) -> Schema:
    """Return the schema of a table of one column `x` and a target."""
    more = {"missing": list(missing)} if missing else {}
    return Schema.from_json({"columns": {"x": facts, "t": TARGET}, **more})


def stored_of(values: Any, schema: Schema) -> list[float]:
    """Return how values of the column `x` are stored."""
    return frames.records(pd.DataFrame({"x": values}), schema)[:, 0].tolist()


def frame_of(num: int, *, seed: int = 0) -> pd.DataFrame:
    """Return a table of texts in which ill people are older, a third of them."""
    rng = np.random.default_rng(seed)
    ill = rng.random(num) < 1 / 3
    debt = np.where(rng.random(num) < 0.2, "", rng.integers(0, 10**5, num).astype(str))
    return pd.DataFrame(
        {
            "name": [f"person {number}" for number in range(num)],
            "age": (rng.integers(10, 60, num) + 40 * ill).astype(str),
            "income": rng.exponential(50, num).round(2).astype(str),
            "debt": debt,
            "smoker": rng.choice(["no", "yes", ""], num),
            "stage": rng.choice(["I", "II", "III"], num),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def strange_frame_of(num: int) -> pd.DataFrame:
    """Return a table of values that no schema declares, the target's aside."""
    return pd.DataFrame(
        {
            "name": "x",
            "age": "-999",
            "income": "1e99",
            "debt": "inf",
            "smoker": "sometimes",
            "stage": "IV",
            "ill": np.where(np.arange(num) % 2, "yes", "no"),
        }
    )


def write_table(folder: Path, frame: pd.DataFrame, columns: dict[str, Any] = COLUMNS) -> list[str]:
    """Write a table and its schema; return the flags that name them."""
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "people.json").write_text(json.dumps({"columns": columns}))
    return [f"--csv={folder / 'people.csv'}", f"--schema={folder / 'people.json'}"]
