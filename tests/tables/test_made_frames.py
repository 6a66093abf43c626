"""Records as stored to frames and files: valid, and stored again as they were."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from support.toy_tables import MADE, NUMBER, frame_of, one_column, schema_of, stored_of

from jaxdp.tables import Column, frames, written
from jaxdp.tables.layout import MISSING_NUMBER, edges, positions


def test_a_made_table_is_as_declared() -> None:
    schema = schema_of()
    rng = np.random.default_rng(0)
    stored = np.column_stack(
        [
            rng.random(500),
            rng.random(500),
            np.where(rng.random(500) < 0.2, MISSING_NUMBER, rng.random(500)),
            rng.integers(0, 4, 500),
            rng.integers(0, 3, 500),
        ]
    ).astype(np.float32)
    y = rng.integers(0, 2, 500)
    made = frames.decode(stored, y, schema)
    assert list(made.columns) == MADE
    assert made["age"].dtype == np.int64
    assert made["age"].between(0, 120).all()
    assert made["income"].between(0, 1000).all()
    np.testing.assert_array_equal(made["debt"].isna(), stored[:, 2] < 0)
    assert made["debt"].dropna().between(0, 1e5).all()
    assert set(made["smoker"].dropna()) == {"no", "yes", "other"}
    np.testing.assert_array_equal(made["smoker"].isna(), stored[:, 3] == 3)
    assert set(made["stage"]) == {"I", "II", "III"}
    assert made["ill"].tolist() == [["no", "yes"][label] for label in y]


def test_a_made_table_is_stored_again_as_it_was() -> None:
    """Whole numbers exactly, others up to the digits that are written, also through a file."""
    schema = schema_of()
    frame = frame_of(300)
    x, y = frames.encode(frame, schema)
    made = frames.decode(x, y, schema)
    text = frames.to_csv(made, schema)
    read = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    for again in (made, read):
        x_again, y_again = frames.encode(again, schema)
        np.testing.assert_allclose(x_again, x, atol=2e-6)
        np.testing.assert_array_equal(x_again[:, 3:], x[:, 3:])
        np.testing.assert_array_equal(y_again, y)
    # a missing value, the first text for one, is not told from others where it may not occur
    assert made["age"].tolist() == frame["age"].astype(int).tolist()


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 123456.7), (1e6, 1e6 + 1), (-1e-3, 1e-3), (1.6e9, 1.7e9), (-1e299, 1e299), (0, 1e-200)],
)
def test_numbers_keep_their_bounds_and_their_digits(low: float, high: float) -> None:
    facts = {"type": "numeric", "lower": low, "upper": high, "nullable": False}
    schema = one_column(facts)
    stored = np.linspace(0, 1, 1001, dtype=np.float32)[:, None]
    made = frames.decode(stored, np.zeros(1001, int), schema)
    assert made["x"].between(low, high).all()
    np.testing.assert_allclose(frames.records(made, schema), stored, atol=2e-5)
    assert made["x"].iloc[0] == low
    assert made["x"].iloc[-1] == high


def test_missing_whole_numbers_and_categories_stay_whole() -> None:
    schema = one_column(NUMBER | {"integer": True})
    made = frames.decode(np.float32([[0.5], [MISSING_NUMBER]]), np.array([0, 1]), schema)
    assert made["x"].isna().tolist() == [False, True]
    assert frames.to_csv(made, schema) == "x,t\n5,no\n,yes\n"
    named = one_column(NUMBER | {"integer": True}, "?", "")
    assert frames.to_csv(made, named) == "x,t\n5,no\n?,yes\n"
    schema = one_column({"type": "categorical", "categories": [7, 8], "other": False})
    made = frames.decode(np.float32([[0], [1]]), np.array([0, 1]), schema)
    assert made["x"].tolist() == [7, 8]
    assert made["x"].dtype == np.int64


@pytest.mark.parametrize("categories", [["²", "1"], ["1-", "2"], ["007", "8"], ["9" * 30, "1"]])
def test_categories_that_look_like_numbers_are_written_as_declared(categories: list[str]) -> None:
    schema = one_column({"type": "categorical", "categories": categories, "other": False})
    made = frames.decode(np.float32([[0], [1]]), np.array([0, 1]), schema)
    assert made["x"].astype(str).tolist() == categories
    assert stored_of(made["x"], schema) == [0, 1]


def test_fields_with_marks_of_a_table_survive_the_file() -> None:
    categories = ["a, b", 'say "so"', "two\nlines", "1+1"]
    schema = one_column({"type": "categorical", "categories": categories, "other": False})
    made = frames.decode(np.arange(4, dtype=np.float32)[:, None], np.zeros(4, int), schema)
    text = frames.to_csv(made, schema)
    read = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    assert stored_of(read["x"], schema) == [0, 1, 2, 3]


def test_spikes_come_back_with_all_of_their_digits() -> None:
    spikes = (0.1234567, 1.098612289, 1234.56789)
    column = Column(name="x", type="numeric", lower=0, upper=2000, bins=4, spikes=spikes)
    within = 0.5 / (len(edges(column)) - 1)  # records are drawn within cells
    stored = (positions(column, np.array([*spikes, 3.123456789])) + within).astype(np.float32)
    *found, other = written.numbers(column, stored)
    assert tuple(found) == spikes
    assert other not in spikes
    assert len(f"{other:.12g}") < 9


def test_a_rounded_number_stays_in_the_bin_that_it_was_drawn_in() -> None:
    """Half of a bin of one number, as of costs of 0, would be another one."""
    inner = (0.01, 0.05, 1.0, 7.31)
    cost = Column(name="cost", type=NUMBER["type"], lower=0, upper=9, decimals=2, bins=inner)
    where = np.linspace(0, 1, 100_001)[:-1]
    made = written.numbers(cost, where)
    places = np.searchsorted(edges(cost)[:-1], made + 1e-9, side="right") - 1
    np.testing.assert_array_equal(places, (where * (len(inner) + 1)).astype(int))
    assert set(made[places == 0]) == {0.0}
    numbers, counts = np.unique(made[places == 1], return_counts=True)
    assert numbers.tolist() == [0.01, 0.02, 0.03, 0.04]
    assert np.ptp(counts) < 0.01 * counts.max(), "each as often as others"
    assert made.max() == 9.0
    # Numbers as they are written come back, those on an edge too.
    again = written.numbers(cost, positions(cost, made))
    np.testing.assert_allclose(again, made, atol=1e-9)


@pytest.mark.parametrize("decimals", [None, 1, 2])
@pytest.mark.parametrize(("low", "high"), [(0.0, 300.0), (-1000.0, 50.0), (0.0, 2e4)])
def test_spikes_and_edges_survive_being_stored(
    decimals: int | None, low: float, high: float
) -> None:
    """Positions are float32, so an edge lies a little before its bin or in it."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        digits = 3 if decimals is None else decimals
        values = np.unique(np.round(rng.uniform(low, high, rng.integers(4, 20)), digits))
        spikes, inner = values[::3], np.delete(values, np.s_[::3])
        facts = {"lower": low, "upper": high, "decimals": decimals, "spikes": list(spikes)}
        schema = one_column({"type": "numeric", **facts, "bins": list(inner)})
        stored = frames.records(pd.DataFrame({"x": values, "t": "no"}), schema)
        made = frames.decode(stored, np.zeros(len(values), int), schema)["x"].to_numpy()
        np.testing.assert_array_equal(made[::3], spikes)
        far = 0.0 if decimals is not None else 1e-5 * (high - low)
        np.testing.assert_allclose(made, values, atol=far + 1e-9)


def test_a_spike_without_few_digits_survives_being_stored() -> None:
    spikes = [0.1234567, 1.098612289, 1234.56789, 2000.123456]
    facts = {"lower": 0, "upper": 2000.123456, "bins": 4, "spikes": spikes}
    schema = one_column({"type": "numeric", **facts})
    stored = frames.records(pd.DataFrame({"x": spikes, "t": "no"}), schema)
    assert frames.decode(stored, np.zeros(4, int), schema)["x"].tolist() == spikes


def test_digits_finer_than_bins_leave_no_bin_empty() -> None:
    """A bin without a number of so few digits has the nearest one."""
    cost = Column(name="cost", type=NUMBER["type"], lower=0, upper=1, decimals=1, bins=(0.02, 0.04))
    assert set(written.numbers(cost, np.linspace(0, 0.6, 50))) == {0.0}
