"""Distances of single columns against naive ones, and where there is nothing to compare."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from support.two_tables import categories, numbers

from jaxdp.program.evaluation.fidelity import columns, shares

RNG = np.random.default_rng(0)
REAL = np.r_[RNG.integers(0, 40, 70) / 2, [3.5] * 30, [np.nan] * 25]
MADE = np.r_[RNG.normal(9, 4, 50), [np.nan] * 3]


def functions(real: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the distribution functions change, and their difference from there on."""
    at = np.unique(np.r_[real, made])
    return at, np.array([np.mean(real <= v) - np.mean(made <= v) for v in at])


def test_numbers_are_compared_by_their_distribution_functions() -> None:
    found = columns.compare(numbers(REAL, MADE))
    real, made = REAL[:100], MADE[:50]
    at, difference = functions(real, made)
    assert found.measure == "ks"
    assert found.apart is not None
    assert found.apart.distance == pytest.approx(np.abs(difference).max())
    assert found.apart.distance == pytest.approx(ks_2samp(real, made).statistic)
    assert found.missing == (25 / 125, 3 / 53)
    assert found.numbers is not None
    moved = np.sum(np.abs(difference[:-1]) * np.diff(at))
    assert found.numbers.wasserstein == pytest.approx(moved / (real.max() - real.min()))
    for share, (mine, other) in found.numbers.quantiles.items():
        part = float(share.split()[0]) / 100
        assert mine == np.sort(real)[math.ceil(part * 100) - 1]
        assert other == np.sort(made)[math.ceil(part * 50) - 1]


def test_spikes_are_values_that_many_records_of_either_table_have() -> None:
    found = columns.compare(numbers(REAL, np.r_[MADE, [99.0] * 9])).numbers
    assert found is not None
    assert [spike.value for spike in found.spikes] == [3.5, 99.0]
    real, made = np.sum(REAL == 3.5) / 125, np.sum(MADE == 3.5) / 62
    assert found.spikes[0][1:] == (pytest.approx(real), pytest.approx(made))
    assert found.spikes[1][1:] == (0, pytest.approx(9 / 62))


def test_values_inside_of_a_bin_are_seen() -> None:
    """Of a column with one bin: ages as they are and ages drawn evenly."""
    ages = RNG.normal(50, 5, 500).round()
    found = columns.compare(numbers(ages, RNG.uniform(0, 100, 500), bins=1))
    assert found.apart is not None
    assert found.apart.distance > 0.3


def test_categories_are_compared_by_total_variation() -> None:
    real, made = RNG.integers(-1, 5, 90), RNG.integers(0, 8, 40)
    found = columns.compare(categories(real, made))
    held = [pd.Series(side[side >= 0]).value_counts(normalize=True) for side in (real, made)]
    apart = held[0].sub(held[1], fill_value=0).abs().sum() / 2
    assert found.measure == "total_variation"
    assert found.apart is not None
    assert found.apart.distance == pytest.approx(apart)
    assert found.missing == (pytest.approx(np.mean(real < 0)), 0)
    assert found.numbers is None


def test_what_differs_by_chance_is_what_samples_differ_by() -> None:
    p = RNG.dirichlet(np.full(30, 0.5))
    drawn = [np.stack([RNG.multinomial(n, p) for n in (500, 120)]) for _ in range(300)]
    of_shares = [shares.total_variation(counts) for counts in drawn]
    of_numbers = [columns.ks(RNG.random(500), RNG.random(120)) for _ in range(300)]
    for found in (of_shares, of_numbers):
        differ, said = (np.mean([d[place] for d in found]) for place in (0, 1))
        assert said == pytest.approx(differ, rel=0.05)
    assert shares.total_variation(np.array([[5, 0], [0, 9]])).distance == 1


@pytest.mark.parametrize("size", [12, 2_000_000])  # in arrays, or looked up
def test_cells_are_counted(size: int) -> None:
    first, second = RNG.integers(0, 12, 50), RNG.integers(0, 12, 30)
    counts, kept = shares.counted((first, second), size)
    for row, codes in zip(counts, (first, second), strict=True):
        held = pd.Series(codes).value_counts()
        assert {k: n for k, n in zip(kept, row, strict=True) if n} == held.to_dict()


def test_equal_columns_are_at_distance_0() -> None:
    for column in (numbers(REAL, REAL), categories([0, 1, -1], [0, 1, -1])):
        found = columns.compare(column)
        assert found.apart is not None
        assert found.apart.distance == 0


def test_columns_of_one_value_or_one_record() -> None:
    same = columns.compare(numbers([7] * 5, [7] * 9))
    other = columns.compare(numbers([7] * 5, [8] * 9))
    one = columns.compare(numbers([7], [8]))
    assert same.numbers is not None
    assert same.numbers.wasserstein == 0
    for found in (other, one):
        assert found.apart is not None
        assert found.numbers is not None
        assert found.apart.distance == 1
        assert found.numbers.wasserstein is None  # there is no range to take a share of
    assert one.apart is not None
    assert one.apart.by_chance == 1
    assert columns.compare(categories([2], [2])).apart == (0, 0)


def test_a_column_without_values_in_one_table_is_as_far_as_can_be() -> None:
    gone = [np.nan] * 3
    for column in (
        numbers(gone, [1, 2]), numbers([1, 2], gone), categories([-1], [2]), categories([1], [-1])
    ):  # fmt: skip
        found = columns.compare(column)
        assert (found.apart, found.numbers) == ((1, None), None)
        assert set(found.missing) == {0, 1}
    for column in (numbers(gone, gone), categories([-1], [-1, -1])):
        found = columns.compare(column)
        assert (found.apart, found.missing) == (None, (1, 1))
        assert columns.figures(found)["by_chance"] is None
