"""Code on cards reads made tables: numbers are numbers, days are days, codes are texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jaxdp.data import Spec
from jaxdp.methods import table_code
from jaxdp.tables import frames
from jaxdp.tables.schema import Schema

AT = {"type": "timestamp", "zone": "Europe/Berlin"}
COLUMNS: dict[str, dict[str, Any]] = {
    "code": {"type": "categorical", "categories": ["007", "010"]},
    "cost": {"type": "numeric", "lower": -9000, "upper": 90000, "prefix": "$", "thousands": ",",
             "decimal": ".", "decimals": 2, "nullable": True},
    "rate": {"type": "numeric", "lower": 0, "upper": 1, "decimal": ".", "decimals": 3},
    "part": {"type": "numeric", "lower": 0, "upper": 100, "decimal": ",", "suffix": " %"},
    "pay": {"type": "numeric", "lower": -9000, "upper": 90000, "prefix": "EUR ", "thousands": ".",
            "decimal": ",", "decimals": 2},
    "heads": {"type": "numeric", "lower": 0, "upper": 99999, "integer": True,
              "thousands": "\u202f"},
    "plain \U0001f600": {"type": "numeric", "lower": 0, "upper": 1},
    "day": {"type": "date", "format": "%-d.%-m.%Y", "lower": "1.1.2015", "upper": "31.12.2019",
            "nullable": True},
    "month": {"type": "date", "format": "%b %Y", "lower": "Jan 2015", "upper": "Dec 2019"},
    "old": {"type": "date", "format": "%Y-%m-%d", "lower": "1000-01-01", "upper": "1900-01-01"},
    "seen": AT | {"format": "%Y-%m-%dT%H:%M:%S.%3f%:z", "lower": "2015-01-01T00:00:00.000+01:00",
                  "upper": "2019-01-01T00:00:00.000+01:00"},
    "left": AT | {"format": "%d/%m/%y %I:%M %p", "lower": "01/01/15 01:00 AM",
                  "upper": "01/01/19 01:00 AM"},
    "stamp": {"type": "timestamp", "format": "unix", "lower": "1500000000", "upper": "1600000000"},
    "open": {"type": "time", "format": "%H:%M"},
    "stay": {"type": "duration", "format": "H:MM", "lower": "0:00", "upper": "500:00"},
}  # fmt: skip
NUMBERS = ("cost", "rate", "part", "pay", "heads", "plain \U0001f600")
DAYS = ("day", "month", "seen", "left", "stamp")


def blocks_of(schema: Schema, file: Path) -> dict[str, str]:
    text = table_code.reading(str(file), Spec.table("stays", schema, 50))
    return dict(re.findall(r"^```(python|r)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("csv", [{}, {"separator": ";", "decimal": ",", "encoding": "utf-8"}])
def test_pandas_reads_numbers_and_days_as_what_they_are(
    csv: dict[str, Any], tmp_path: Path
) -> None:
    schema = Schema.from_json({"columns": COLUMNS, "csv": csv})
    x = np.random.default_rng(0).random((50, len(COLUMNS)), np.float32)
    x[:, 0] = np.arange(50) % 2
    x[:5, list(COLUMNS).index("cost")] = x[:5, list(COLUMNS).index("day")] = -1  # missing
    made = frames.of_made(x, None, schema)
    file = tmp_path / "synthetic.csv"
    file.write_bytes(schema.csv.encode(frames.to_csv(made, schema)))
    session: dict[str, Any] = {}
    exec(blocks_of(schema, file)["python"], session)
    found = session["frame"]
    assert list(found.columns) == list(COLUMNS)
    for name in NUMBERS:
        assert found[name].dtype.kind in "if"
        column = next(each for each in schema.declared if each.name == name)
        form = column.number_format
        read = [
            np.nan if pd.isna(each) else form.read(each) if isinstance(each, str) else each
            for each in made[name]
        ]
        np.testing.assert_allclose(found[name], read)
    assert found["cost"].isna().sum() == found["day"].isna().sum() == 5
    assert (found["cost"] < 0).any()
    for name in DAYS:
        column = next(each for each in schema.declared if each.name == name)
        for shown, text in zip(found[name], made[name], strict=True):
            if not pd.isna(shown):
                moment = column.moment
                told = moment.read(shown) if shown.tzinfo else moment.read(shown.tz_localize(None))
                assert told == moment.read(str(text))
    assert set(found["code"]) == {"007", "010"}
    assert (
        '# Days and times that stay as they are written: "old", "open", "stay"'
        in (blocks_of(schema, file)["python"])
    )


def test_r_is_told_the_same_of_numbers_and_days(tmp_path: Path) -> None:
    lines = blocks_of(Schema.from_json({"columns": COLUMNS}), tmp_path / "x.csv")["r"].split("\n")
    for line in (
        'frame[["cost"]] <- gsub("$", "", frame[["cost"]], fixed = TRUE)',
        'frame[["cost"]] <- gsub(",", "", frame[["cost"]], fixed = TRUE)',
        'frame[["cost"]] <- as.numeric(frame[["cost"]])',
        'frame[["heads"]] <- gsub("\\u202f", "", frame[["heads"]], fixed = TRUE)',
        'frame[["day"]] <- as.Date(frame[["day"]], format = "%d.%m.%Y")',
        'frame[["old"]] <- as.Date(frame[["old"]], format = "%Y-%m-%d")',
    ):
        assert lines.count(line) == 1
    assert lines.index('frame[["pay"]] <- gsub(".", "", frame[["pay"]], fixed = TRUE)') < (
        lines.index('frame[["pay"]] <- gsub(",", ".", frame[["pay"]], fixed = TRUE)')
    )
    assert not any("as.Date" in line and "month" in line for line in lines)
    assert '"plain' not in lines[0]
