"""The picture of a made table: correlations leave missing values out."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.program.report import tables
from jaxdp.tables.columns import Column

NUMBER = Column(name="n", type="numeric", lower=0, upper=1, nullable=True)
HUE = Column(name="h", type="categorical", categories=("red", "blue"), other=False, nullable=True)


def test_missing_values_are_no_values() -> None:
    stored = np.float32([[0.5, 0], [-1, 1], [0, 2]])
    found = tables.present(stored, [NUMBER, HUE])
    np.testing.assert_array_equal(np.isnan(found), [[False, False], [True, False], [False, True]])
    assert found[0].tolist() == [0.5, 0]


def test_what_is_missing_makes_no_correlation() -> None:
    """As of two columns that are missing together and depend on each other in no other way."""
    rng = np.random.default_rng(0)
    stored = rng.random((4000, 2)).astype(np.float32)
    gone = rng.random(4000) < 0.3
    stored[gone] = -1
    found = tables.correlations(tables.present(stored, [NUMBER, NUMBER]))
    there = stored[~gone]
    assert found[0, 1] == pytest.approx(np.corrcoef(there.T)[0, 1], abs=1e-6)
    assert abs(found[0, 1]) < 0.05
    assert np.corrcoef(stored.T)[0, 1] > 0.5  # what it was with -1 as a number


def test_a_column_of_one_value_or_of_none_has_no_correlation() -> None:
    values = np.column_stack([np.ones(9), np.arange(9.0), np.full(9, np.nan)])
    np.testing.assert_array_equal(tables.correlations(values)[[0, 2]], 0)
    assert tables.correlations(values)[1, 1] == 1


def test_bins_of_unequal_width_are_found() -> None:
    for bins, unequal in ((7, False), ((0.25, 0.5, 0.75), False), ((0.1, 0.2), True)):
        column = Column(name="n", type="numeric", lower=0, upper=1, bins=bins)
        assert tables.has_unequal_bins(column) == unequal
    whole = Column(name="n", type="numeric", lower=0, upper=120, integer=True, bins=16)
    assert tables.has_unequal_bins(whole), "of 7 and 8 years"
    assert not tables.has_unequal_bins(HUE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        (" two\n words ", "two words"),
        ("blood_pressure_1", "blood_pressure_1"),
        ("blood_pressure_10", "blood_pres…re_10"),
        ("income of a year in $", r"income of … in \$"),
    ],
)
def test_long_names_keep_both_ends_and_no_dollar_begins_a_formula(text: str, shown: str) -> None:
    assert tables.short(text) == shown
    assert len(shown.replace("\\", "")) <= 16
