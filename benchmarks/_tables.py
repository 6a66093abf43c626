"""The papers' tables as they split them: files, the class that is thinned out, the tested part.

References:
    Yang et al. (2023), DP-NTK, and Vinaroz & Park (2023), DP-KIP: their codes' loaders.
"""

from pathlib import Path
from typing import NamedTuple

import _harness  # noqa: F401  finds `experiments`
import numpy as np

from jaxdp.program.data.table_files import Source
from jaxdp.program.data.tables import read_table
from jaxdp.tables import Schema, read_schema


class Table(NamedTuple):
    """One of the papers' tables.

    Attributes:
        files: names of what is read, without `.csv.gz`.
        test: part that is tested on.
        thinned: the class of which only a part is kept.
        kept: how many of it, by protocol.
        note: what differs from the papers' data.
    """

    files: tuple[str, ...]
    test: float
    thinned: int
    kept: dict[str, int]
    note: str = ""


# Kept: the rates of the papers times the sizes of their own data.
TABLES = {
    "adult": Table(("adult", "adult_test"), 0.1, 0, {"ntk": 14862, "kip": 2600}),
    "census": Table(
        ("census_test",), 0.2, 0, {"ntk": 18715, "kip": 3743}, "the test file, half as large"
    ),
    "cervical": Table(("cervical",), 0.2, 0, {"ntk": 210, "kip": 14}, "all 858 records"),
    "credit": Table(("credit_subset",), 0.2, 0, {"ntk": 568, "kip": 2843}, "a subset of normal"),
    "epileptic": Table(("epileptic",), 0.3, 0, {"ntk": 9200, "kip": 2760}),
    "isolet": Table(("isolet",), 0.3, 0, {"ntk": 5038, "kip": 50}),
    "covtype": Table(
        ("covtype_first20000",), 0.3, 1, {"ntk": 290, "kip": 680}, "the first 20,000, not shuffled"
    ),
    "intrusion": Table(("intrusion",), 0.3, 0, {"ntk": 11743, "kip": 3914}),
}


class Split(NamedTuple):
    """A table, split in two."""

    schema: Schema
    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def problem(name: str, data_dir: str, *, protocol: str, seed: int) -> Split:
    """Return a table as a protocol splits it: one class thinned out, then shuffled and cut.

    Args:
        name: of the table.
        data_dir: folder of the files, `NAME.csv.gz`.
        protocol: "ntk", "kip", or "natural", which keeps every record.
        seed: of the choice.
    """
    table, schema = TABLES[name], read_schema(name)
    parts = [
        read_table(Source("data_dir", str(Path(data_dir) / f"{file}.csv.gz")), schema)[:2]
        for file in table.files
    ]
    x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    rng = np.random.default_rng(seed)
    thinned = rng.permutation(np.flatnonzero(y == table.thinned))
    kept = thinned[: table.kept.get(protocol, len(thinned))]
    rows = rng.permutation(np.concatenate([np.flatnonzero(y != table.thinned), kept]))
    test, train = np.split(rows, [int(table.test * len(rows))])
    return Split(schema, x[train], y[train], x[test], y[test])


def toy_problem(seed: int) -> Split:
    """Return a table of random numbers."""
    schema = Schema.from_json(
        {
            "columns": {
                "size": {"type": "numeric", "lower": 0, "upper": 1, "bins": 4},
                "kind": {"type": "categorical", "categories": ["a", "b"], "other": False},
                "class": {"type": "categorical", "categories": ["no", "yes"], "target": True},
            }
        }
    )
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300).astype(np.int32)
    x = np.stack([np.clip(rng.random(300) * 0.6 + 0.4 * y, 0, 1), rng.integers(0, 2, 300)], axis=1)
    x = x.astype(np.float32)
    return Split(schema, x[:200], y[:200], x[200:], y[200:])
