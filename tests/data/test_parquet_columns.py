"""Columns of Parquet files: each has a name of its own, and pandas' index is one of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from jaxdp.program.data import table_files
from jaxdp.program.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def test_an_index_with_a_name_is_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"pid": ["a", "b"], "age": [3, 4]})
    for name, stored in (
        ("named", frame.set_index("pid")),
        ("plain", frame),
        ("filtered", frame[frame.age > 3]),
    ):
        path = tmp_path / f"{name}.parquet"
        stored.to_parquet(path)
        found, _ = table_files.header(table_files.Source("csv", str(path)), rows=10)
        assert list(found.columns) == ["pid", "age"]


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    table = pyarrow.table([[1, 2], [3, 4]], names=["age", "age "])
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(InputError, match="columns 1 and 2 have the same name"):
        table_files.header(table_files.Source("csv", str(path)), rows=10)
