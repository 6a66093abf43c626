"""The built-in schemas fit the papers' tables, where their files are there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jaxdp.tables import Layout, decode, encode, read_schema

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = {
    "adult": ("adult", 14),
    "adult, test": ("adult_test", 14),
    "census": ("census_test", 39),
    "cervical": ("cervical", 34),
    "covtype": ("covtype_first20000", 54),
    "credit": ("credit_subset", 29),
    "epileptic": ("epileptic", 178),
    "intrusion": ("intrusion", 40),
    "isolet": ("isolet", 617),
}


@pytest.mark.parametrize("name", FILES)
def test_a_built_in_schema_fits_the_file_that_it_is_of(name: str) -> None:
    file, num_columns = FILES[name]
    path = FOLDER / f"{file}.csv.gz"
    if not path.exists():
        pytest.skip(f"there is no {path.name} beside the checkout")
    schema = read_schema(name.split(",")[0])
    frame = pd.read_csv(path, dtype=str, na_filter=False, nrows=400, skipinitialspace=True)
    stored, y = encode(frame[frame.columns[::-1]], schema)
    assert stored.shape == (400, num_columns)
    assert set(y) <= set(range(len(schema.class_names)))
    np.testing.assert_array_equal(stored, Layout(schema).nearest(stored))
    made = decode(stored, y, schema)
    assert list(made) == [column for column in frame if column not in schema.dropped]
    for column in schema.columns:  # whatever is declared leaves as it came
        if not column.is_numeric and not column.nullable:
            assert list(made[column.name].astype(str)) == [
                str(value).strip().removesuffix(".0") for value in frame[column.name]
            ]
