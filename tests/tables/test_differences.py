"""Ordered columns are counted as differences, one record at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support import ruled_tables

from jaxdp.tables import Domain, Schema, frames
from jaxdp.tables.differences import Differences
from jaxdp.tables.layout import values_at

SCHEMA = ruled_tables.schema_of()


def schema_with(*names: str, **facts: object) -> Schema:
    column = {"type": "numeric", "lower": 0, "upper": 1000, "integer": True} | facts
    columns = dict.fromkeys(names, column)
    return Schema.from_json({"columns": columns, "rules": [{"order": list(names)}]})


def test_guarantee_one_record_moves_no_cell_of_another() -> None:
    domain = Domain(SCHEMA)
    x, y = frames.encode(ruled_tables.frame_of(80), SCHEMA)
    cells = domain.cells(x, y)
    assert cells.min() >= 0
    assert (cells.max(axis=0) < domain.widths).all()
    for place in range(80):
        np.testing.assert_array_equal(domain.cells(x[[place]], y[[place]])[0], cells[place])
    changed = x.copy()
    changed[3] = x[0]
    np.testing.assert_array_equal(
        np.delete(domain.cells(changed, y), 3, axis=0), np.delete(cells, 3, axis=0)
    )


def test_guarantee_whether_two_numbers_are_alike_is_told_by_their_record_alone() -> None:
    """Numbers of a long bin are stored coarsely, and those of a short one are not."""
    pay = {"type": "numeric", "lower": 0, "upper": 1e6, "bins": [1, 10, 100]}
    columns = {"net": pay, "gross": pay | {"upper": 2e6}}
    schema = Schema.from_json({"columns": columns, "rules": [{"order": ["net", "gross"]}]})
    domain, net = Domain(schema), np.geomspace(0.5, 9e5, 60)
    frame = pd.DataFrame({"net": net, "gross": net * (1 + 1e-3 * (np.arange(60) % 3))})
    x, y = frames.encode(frame, schema)
    together = domain.cells(x, y)
    alone = [domain.cells(x[[place]], y[[place]])[0] for place in range(60)]
    np.testing.assert_array_equal(together, alone)
    assert len(np.unique(together[:, 1])) > 2


def test_guarantee_differences_have_features_of_a_norm_of_at_most_one() -> None:
    for features in Domain(SCHEMA).features:
        assert np.linalg.norm(features, axis=1).max() <= 1


def test_differences_come_back_as_what_they_are_of() -> None:
    counted = Differences(SCHEMA)
    assert counted.before == {"end": "start"}
    x, _ = frames.encode(ruled_tables.frame_of(500), SCHEMA)
    back = counted.back(counted.of(x))
    obey = np.arange(500) % 10 > 0
    np.testing.assert_allclose(back[obey], x[obey], atol=2e-6)
    # One that ends before it starts is counted as one that ends at once.
    start, end = (values_at(SCHEMA.columns[place], back[:, place]) for place in (0, 1))
    np.testing.assert_array_equal(end[~obey], start[~obey])


def test_drawn_differences_obey_by_themselves() -> None:
    schema = schema_with("a", "b", "c")
    domain = Domain(schema)
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, width, 3000) for width in domain.widths])
    x, _ = domain.stored(cells, rng)
    a, b, c = (values_at(column, x[:, at]) for at, column in enumerate(schema.columns))
    assert (a <= b).all()
    assert (b <= c).all()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"nullable": True}, {}),
        ({}, {"b": "a"}),
        ({"integer": False}, {"b": "a"}),
        ({"upper": 1}, {"b": "a"}),
    ],
)
def test_columns_that_cannot_be_missing_are_counted_from(
    facts: dict[str, object], expected: dict[str, str]
) -> None:
    schema = schema_with("a", "b", **facts)
    counted = Differences(schema)
    assert counted.before == expected
    if not expected:
        assert counted.counted is schema
    else:
        assert 2 <= Domain(schema).widths[1] <= 27


def test_without_an_order_columns_are_counted_as_they_are() -> None:
    schema = ruled_tables.schema_of(rules=ruled_tables.RULES[1:])
    assert schema.rules
    assert Differences(schema).counted is schema


def test_numbers_that_are_both_0_stay_so() -> None:
    """The bin of a difference of 0 has two numbers, and a spike at 0 ends at the second."""
    pay = {"type": "numeric", "lower": 0, "upper": 1e6, "spikes": [0]}
    columns = {"paid": pay, "billed": pay}
    schema = Schema.from_json({"columns": columns, "rules": [{"order": ["paid", "billed"]}]})
    domain, frame = Domain(schema), pd.DataFrame({"paid": np.zeros(300), "billed": np.zeros(300)})
    cells = domain.cells(*frames.encode(frame, schema))
    made = frames.decode(*domain.stored(cells, np.random.default_rng(0)), schema)
    assert (made.astype(float) == 0).all(axis=None)


@pytest.mark.parametrize("decimals", [None, 2])
def test_numbers_that_are_alike_stay_so(decimals: int | None) -> None:
    """Stored with float32 they lie a little apart, wherever their bounds do."""
    pay: dict[str, object] = {"type": "numeric", "lower": 0, "upper": 700, "decimals": decimals}
    columns = {"net": pay, "gross": pay | {"upper": 1300.5, "spikes": [19.5]}}
    schema = Schema.from_json({"columns": columns, "rules": [{"order": ["net", "gross"]}]})
    net = np.round(np.random.default_rng(0).uniform(0, 700, 400), 2)
    gross = np.where(np.arange(400) < 300, net, net + 40)
    frame = pd.DataFrame({"net": net, "gross": gross})
    domain = Domain(schema)
    x, y = frames.encode(frame, schema)
    cells = domain.cells(x, y)
    assert (cells[:300, 1] == 0).all()
    assert (cells[300:, 1] > 1).all()
    made = frames.decode(*domain.stored(cells, np.random.default_rng(1)), schema)
    made = made.astype(float).to_numpy()
    np.testing.assert_array_equal(made[:300, 0], made[:300, 1])
    assert (made[300:, 1] > made[300:, 0] + 20).all()
