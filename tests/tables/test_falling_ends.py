"""Numbers that are drawn from long bins at the ends, where those were bought."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from jaxdp.tables import Bought, Column, Layout, Schema
from jaxdp.tables.layout import _falling, edges, values_at

BINS = (10.0, 11.0, 12.0, 13.0)


def values_of(column: Column, cell: int, *, bought: bool = True) -> np.ndarray:
    schema = Schema(columns=(column,), target=None, order=(column.name,))
    if bought:
        facts = Bought("0" * 32, {column.name: ("bins",)}, {})
        schema = dataclasses.replace(schema, bought=facts)
    layout = Layout(schema, "bins")
    cells = np.full((20_000, 1), cell)
    stored = layout.from_cells(cells, np.random.default_rng(0))
    np.testing.assert_array_equal(layout.cells(stored), cells)
    return values_at(column, stored[:, 0])


@pytest.mark.parametrize("whole", [False, True])
def test_values_of_a_long_last_bin_lie_near_the_others(whole: bool) -> None:
    bins = tuple(map(int, BINS)) if whole else BINS
    column = Column(name="x", type="numeric", lower=0, upper=1000, bins=bins, integer=whole)
    last, first = values_of(column, 4), values_of(column, 0)
    assert np.mean(last < 13 + 2 * 2.5) > 0.85
    assert last.max() > 20
    assert np.mean(first > 10 - 2 * 2.5) > 0.85
    assert np.mean(values_of(column, 4, bought=False) < 500) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("facts", [{"bins": (3, 7)}, {"bins": 2}, {"bins": 2, "spikes": (5,)}])
def test_each_whole_number_of_a_bin_is_drawn_as_often(facts: dict[str, Any]) -> None:
    column = Column(name="x", type="numeric", lower=0, upper=9, integer=True, **facts)
    ends = edges(column).astype(int)
    for cell, (low, end) in enumerate(itertools.pairwise(ends)):
        drawn = values_of(column, cell, bought=False).astype(int)
        shares = np.bincount(drawn - low, minlength=end - low) / len(drawn)
        np.testing.assert_allclose(shares, 1 / (end - low), atol=0.02)


def test_whole_numbers_of_a_log_scale_have_its_density_up_to_the_next() -> None:
    column = Column(name="x", type="numeric", lower=10, upper=1000, integer=True, log=True, bins=2)
    low, end = map(int, edges(column)[:2])
    drawn = values_of(column, 0, bought=False).astype(int)
    shares = np.bincount(drawn - low, minlength=end - low) / len(drawn)
    ends = np.log1p(np.arange(low, end + 1) - 10)
    np.testing.assert_allclose(shares, np.diff(ends) / (ends[-1] - ends[0]), atol=0.02)


def test_bins_of_about_one_length_are_drawn_evenly() -> None:
    column = Column(name="x", type="numeric", lower=9, upper=14.5, bins=BINS)
    last = values_of(column, 4)
    assert np.mean(last) == pytest.approx(13.75, abs=0.02)
    assert np.mean(values_of(column, 2)) == pytest.approx(11.5, abs=0.02)


def test_spikes_are_no_measure_of_length() -> None:
    column = Column(name="x", type="numeric", lower=0, upper=16, bins=BINS, spikes=(13.0,))
    assert np.mean(values_of(column, 5)) > 13.9


def test_a_spike_at_the_upper_bound_is_no_measure_either() -> None:
    column = Column(name="x", type="numeric", lower=0, upper=1, bins=(), spikes=(1.0,))
    drawn = values_of(column, 0)
    assert np.mean(drawn) == pytest.approx(0.5, abs=0.02)
    assert len(np.unique(drawn)) > 1000


def test_of_few_bins_the_long_one_falls_by_the_other() -> None:
    """Costs of which most are 0, where noise tells one edge and somebody has declared the end."""
    cost = Column(name="x", type="numeric", lower=0, upper=30_000, bins=(512.0,), spikes=(0.0,))
    last = values_of(cost, 2)
    assert np.median(last) < 512 + 1024
    assert last.max() > 5000
    assert np.mean(values_of(cost, 1)) == pytest.approx(256, rel=0.03)
    negative = Column(name="x", type="numeric", lower=-30_000, upper=0, bins=(-512.0,))
    assert np.median(values_of(negative, 0)) > -512 - 1024
    assert np.mean(values_of(cost, 2, bought=False)) == pytest.approx(15_256, rel=0.03)


@pytest.mark.parametrize("rate", [0.0, 1e-6, 1.0, 30.0, 1e4])
def test_densities_fall_as_exponentials(rate: float) -> None:
    even = np.linspace(0, 1, 10_001)[:-1]
    found = _falling(even, rate)
    assert found.min() == 0
    assert found.max() < 1
    expected = 0.5 if rate == 0 else 1 / rate - np.exp(-rate) / -np.expm1(-rate)
    assert found.mean() == pytest.approx(expected, abs=2e-3)
