"""A small table with rules of every kind, and its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jaxdp.tables.schema import Schema

MONEY = {"type": "numeric", "prefix": "$", "thousands": ",", "decimals": 2}
DAY = {"type": "date", "format": "%d.%m.%Y", "lower": "01.01.2020", "upper": "31.12.2022"}
COLUMNS: dict[str, dict[str, Any]] = {
    "start": DAY,
    "end": DAY | {"nullable": True},
    "sex": {"type": "categorical", "categories": ["f", "m"], "other": False},
    "age": {"type": "numeric", "lower": 0, "upper": 90, "integer": True},
    "pregnant": {"type": "categorical", "categories": ["no", "yes"], "other": False},
    "weeks": {"type": "numeric", "lower": 0, "upper": 42, "integer": True},
    "drugs": MONEY | {"lower": 0, "upper": 2000},
    "care": MONEY | {"lower": 0, "upper": 5000, "spikes": [0], "nullable": True},
    "cost": MONEY | {"lower": None, "upper": None},
    "city": {"type": "categorical", "categories": ["Bern", "Bonn", "Graz", "Rome"]},
    "land": {"type": "categorical", "categories": ["A", "CH", "D", "I"], "other": False},
    "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
}
RULES: list[dict[str, Any]] = [
    {"order": ["start", "end"]},
    {"missing": "pregnant", "unless": {"sex": "f", "age": "15..45"}},
    {"missing": "weeks", "unless": {"pregnant": "yes"}},
    {"total": "cost", "sum": ["drugs", "care"]},
    {"determined": "land", "by": "city", "map": {"Bern": "CH", "Bonn": "D"}},
]


def stored_schema(**changed: Any) -> dict[str, Any]:
    """Return the content of the schema's file, with entries changed."""
    return {"columns": json.loads(json.dumps(COLUMNS)), "rules": RULES} | changed


def schema_of(**changed: Any) -> Schema:
    """Return the schema, with entries of its file changed."""
    return Schema.from_json(stored_schema(**changed))


def drawn(schema: Schema, num: int, seed: int = 0) -> np.ndarray:
    """Return records as stored that know no rule."""
    rng, found = np.random.default_rng(seed), []
    for column in schema.columns:
        if column.is_numeric:
            values = rng.random(num)
            values = np.where(rng.random(num) < 0.3 * column.nullable, -1.0, values)
        else:
            values = rng.integers(0, len(column.values) + column.nullable, num)
        found.append(values)
    return np.column_stack(found).astype(np.float32)


def frame_of(num: int, seed: int = 0) -> pd.DataFrame:
    """Return records of texts that obey, each tenth of which breaks every rule."""
    rng = np.random.default_rng(seed)
    day = pd.Timestamp("2020-01-01")
    start = rng.integers(0, 900, num)
    end = start + rng.geometric(0.2, num) - 1
    sex, age = rng.choice(["f", "m"], num), rng.integers(0, 90, num)
    asked = (sex == "f") & (age >= 15) & (age <= 45)
    pregnant = np.where(asked, rng.choice(["no", "yes"], num), "")
    weeks = np.where(pregnant == "yes", rng.integers(4, 41, num).astype(str), "")
    drugs, care = (np.round(rng.gamma(2, 100, num), 2) for _ in range(2))
    cost = np.round(drugs + care, 2)
    city = rng.choice(["Bern", "Bonn", "Graz", "Rome"], num)
    land = np.array(["CH", "D", "A", "I"])[np.searchsorted(["Bern", "Bonn", "Graz", "Rome"], city)]
    bad = np.arange(num) % 10 == 0
    end, weeks = np.where(bad, start - 30, end), np.where(bad, "7", weeks)
    pregnant = np.where(bad, "yes", pregnant)
    cost, land = np.where(bad, 1.0, cost), np.where(bad, "I", land)
    days = [[f"{day + pd.Timedelta(days=int(n)):%d.%m.%Y}" for n in each] for each in (start, end)]
    return pd.DataFrame(
        {
            "start": days[0],
            "end": days[1],
            "sex": sex,
            "age": age.astype(str),
            "pregnant": pregnant,
            "weeks": weeks,
            "drugs": [f"${each:,.2f}" for each in drugs],
            "care": [f"${each:,.2f}" for each in care],
            "cost": [f"${each:,.2f}" for each in cost],
            "city": city,
            "land": land,
            "ill": rng.choice(["no", "yes"], num),
        }
    )


def write_table(folder: Path, frame: pd.DataFrame | None = None, **changed: Any) -> tuple[str, str]:
    """Write a table and its schema; return the flags that name them."""
    csv, schema = folder / "ruled.csv", folder / "ruled.json"
    (frame_of(400) if frame is None else frame).to_csv(csv, index=False)
    schema.write_text(json.dumps(stored_schema(**changed)))
    return f"--csv={csv}", f"--schema={schema}"


def broken(made: pd.DataFrame) -> dict[str, int]:
    """Return how many records of a table of texts break each rule: as they are written."""
    start, end = (pd.to_datetime(made[name], format="%d.%m.%Y") for name in ("start", "end"))
    age = made.age.astype(int)
    asked = (made.sex == "f") & (age >= 15) & (age <= 45)
    drugs, care, cost = (
        [0 if text == "" else round(100 * float(text.replace("$", "").replace(",", "")))
         for text in made[name]]
        for name in ("drugs", "care", "cost")
    )  # fmt: skip
    known = made[made.city.isin(["Bern", "Bonn"])]
    lands = made[made.city != "other"].groupby("city").land.nunique()
    return {
        "order": int((end < start).sum()),
        "pregnant": int(((made.pregnant != "") != asked).sum()),
        "weeks": int(((made.weeks != "") != (made.pregnant == "yes")).sum()),
        # A total may be missing where a part is.
        "cost": sum(
            a + b != c and not (is_gone and "" in parts)
            for a, b, c, is_gone, *parts in zip(
                *(drugs, care, cost, made.cost == "", made.drugs, made.care), strict=True
            )
        ),
        "map": int((known.land != known.city.map({"Bern": "CH", "Bonn": "D"})).sum()),
        "land": int((lands > 1).sum()),
    }
