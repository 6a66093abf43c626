"""What noisy counts tell of a column: without noise the truth, with noise no more than is there."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.bought import estimates, grids
from jaxdp.bought.buying import _sums
from jaxdp.bought.estimates import Cuts, Leaf
from jaxdp.tables import Column
from jaxdp.tables.scales import scales

NUMBER = Column(name="x", type="numeric", lower=0, upper=1)
WHOLE = Column(name="x", type="numeric", lower=0, upper=1, integer=True)


def cuts_of(column: Column, values: np.ndarray, stddev: float = 0.0, seed: int = 0) -> Cuts:
    """Return how a column is cut, with noise on its counts that is drawn here."""
    rng = np.random.default_rng(seed)
    edges = scales(column)
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
    noisy = counts + rng.normal(0, stddev, len(counts))
    likely = grids.likely(column, edges)
    part = estimates.range_of(noisy, max(stddev, 1e-6), edges, likely)
    leaves = grids.leaves(part.edges, part.shares, column)
    cells = np.searchsorted(leaves[1:-1], values, side="right")
    exact = np.bincount(cells, minlength=len(leaves) - 1)
    from jaxdp.privacy import ordered_counts

    r = ordered_counts.root(len(exact))
    norm = float(np.linalg.norm(r))
    released = np.convolve(r, exact)[: len(r)] + rng.normal(0, stddev * norm, len(r))
    counted = np.convolve(r, released)[: len(r)]
    sums = _sums(leaves, counted, float(len(values)), max(stddev, 1e-6))
    return estimates.cuts_of(sums, zero_is_least=column.type == "numeric")


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(50, 10, 20_000),
        lambda rng: rng.lognormal(3, 1, 20_000),
        lambda rng: -rng.exponential(1e-3, 20_000),
        lambda rng: rng.normal(1.6e4, 100, 20_000),
        lambda rng: rng.uniform(-1, 1, 20_000),
    ],
)
def test_without_noise_bins_hold_equally_many(draw: object) -> None:
    values = draw(np.random.default_rng(0))  # type: ignore[operator]
    cuts = cuts_of(NUMBER, values)
    assert len(cuts.inner) >= 30
    assert cuts.low <= values.min()
    assert cuts.high >= values.max()
    edges = [cuts.low, *cuts.inner, cuts.high]
    shares = np.histogram(values, edges)[0] / len(values)
    # A leaf of the grid is the least that can be told apart.
    assert np.max(shares) < 0.06
    assert not cuts.heavy


def test_spikes_are_bins_of_their_own() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(10, 4, 20_000)
    values[:4000], values[4000:6000] = -200, 0
    cuts = cuts_of(NUMBER, values)
    spikes = [grids.roundest(leaf.low, leaf.high) for leaf in cuts.heavy]
    assert spikes == [-200, 0]
    for low, high, _ in cuts.heavy:
        assert {low, high} - {cuts.low, cuts.high} <= set(cuts.inner)


def test_a_leaf_of_nothing_but_its_spike_is_no_bin() -> None:
    leaves = (Leaf(0.0, 0.5, 90.0), Leaf(7.0, 8.0, 50.0), Leaf(9.0, 10.0, 40.0))
    cuts = Cuts(0.0, 10.0, (0.5, 3.0, 7.0, 8.0, 9.0), leaves)
    assert cuts.without([]) == cuts
    assert cuts.without(leaves[:2]).inner == (3.0, 7.0, 9.0)
    assert cuts.without(leaves[2:]).inner == (0.5, 3.0, 7.0, 8.0), "the last has none behind it"


def test_numbers_hardly_below_0_are_0() -> None:
    values = np.random.default_rng(5).uniform(0, 3, 5000)
    values[:2500], values[2500:2600] = 0, -1e-6
    cuts = cuts_of(NUMBER, values)
    assert cuts.low == 0
    assert [(leaf.low, cuts.is_short(leaf)) for leaf in cuts.heavy] == [(0, True)]
    values[2500:2600] = -1e-3
    assert cuts_of(NUMBER, values).low < -1e-4


_DAYS = {"lower": "1950-01-01", "upper": "2020-01-01", "format": "%Y-%m-%d"}
DAY = Column(name="x", type="date", **_DAYS)


@pytest.mark.parametrize("column", [NUMBER, WHOLE])
def test_room_for_what_noise_hides_ends_at_0(column: Column) -> None:
    rng = np.random.default_rng(6)
    values = np.floor(rng.exponential(10, 3000))
    lows = [cuts_of(column, values, stddev=30.0, seed=seed).low for seed in range(8)]
    assert min(lows) == 0
    assert max(lows) <= 1, "which noise does not tell from 0"
    beside = np.concatenate([values, -values[:1500] - 1])
    lows = [cuts_of(column, beside, stddev=30.0, seed=seed).low for seed in range(8)]
    assert max(lows) < -10


def test_the_day_that_has_number_0_ends_nothing() -> None:
    days = np.floor(np.random.default_rng(7).exponential(2000, 3000))  # from 1970 on
    lows = [cuts_of(DAY, days, stddev=30.0, seed=seed).low for seed in range(8)]
    assert min(lows) < 0
    numbers = [cuts_of(WHOLE, days, stddev=30.0, seed=seed).low for seed in range(8)]
    assert min(numbers) == 0


def test_whole_numbers_are_cut_between_them() -> None:
    values = np.random.default_rng(2).integers(1, 13, 5000).astype(float)
    cuts = cuts_of(WHOLE, values)
    assert (cuts.low, cuts.high) == (0, 13) or (cuts.low, cuts.high) == (1, 13)
    assert all(edge % 1 == 0 for edge in cuts.inner)


def test_noise_makes_fewer_bins_and_never_none() -> None:
    values = np.random.default_rng(3).normal(50, 10, 3000)
    numbers = [len(cuts_of(NUMBER, values, stddev).inner) for stddev in (1.0, 20.0, 100.0, 2000.0)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > 25
    assert numbers[-1] <= 2 * estimates.FEWEST_BINS


@pytest.mark.parametrize("seed", range(8))
def test_noise_does_not_stretch_bounds(seed: int) -> None:
    values = np.random.default_rng(seed).normal(50, 10, 5000)
    cuts = cuts_of(NUMBER, values, stddev=40.0, seed=seed)
    assert -60 < cuts.low < 45
    assert 55 < cuts.high < 160


def test_few_whole_numbers_have_room_for_what_noise_hides() -> None:
    """Two quantiles at an end lie in one leaf, and tell nothing of what is beyond."""
    lost = []
    for seed in range(20):
        values = np.random.default_rng(seed).poisson(3.0, 1500).astype(np.float64)
        cuts = cuts_of(WHOLE, values, stddev=9.0, seed=seed)
        lost.append(np.mean((values < cuts.low) | (values >= cuts.high)))
    assert np.mean(lost) < 0.02


def test_a_heavy_end_has_no_room_around_it() -> None:
    """Nobody has a rating above the best."""
    values = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], [300, 100, 200, 300, 600])
    for seed in range(10):
        assert cuts_of(WHOLE, values, stddev=9.0, seed=seed).high == 6


def test_nothing_but_noise_is_no_error() -> None:
    for seed in range(5):
        cuts = cuts_of(NUMBER, np.array([3.0]), stddev=50.0, seed=seed)
        assert cuts.low < cuts.high


def test_a_column_of_one_value_does_not_reach_far_beyond() -> None:
    values = np.zeros(5000)
    values[:40] = 400
    for seed in range(6):
        cuts = cuts_of(WHOLE, values, stddev=60.0, seed=seed)
        assert (cuts.low, [leaf[:2] for leaf in cuts.heavy]) == (0, [(0, 1)])
        assert cuts.high <= 4


def test_records_are_found_where_noise_of_one_cell_is_larger() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(3000) < 0.15, 0, rng.gamma(2, 230, 3000)).round()
    for seed in range(8):
        cuts = cuts_of(WHOLE, values, stddev=350.0, seed=seed)
        assert abs(cuts.low) < 2000
        assert cuts.high < 200_000, "and 2^31 is as far from 1000 as noise would have it"


@pytest.mark.parametrize("stddev", [1.0, 60.0])
def test_numbers_of_both_signs_are_found(stddev: float) -> None:
    rng = np.random.default_rng(0)
    for draw in (rng.normal(0, 1, 4000), rng.uniform(-90, 90, 4000), -rng.lognormal(2, 1, 4000)):
        cuts = cuts_of(NUMBER, draw, stddev=stddev)
        assert cuts.low < np.quantile(draw, 0.15)
        assert cuts.high > np.quantile(draw, 0.85)


def test_constant_columns_have_one_spike() -> None:
    cuts = cuts_of(NUMBER, np.full(500, 7.0))
    assert [grids.roundest(leaf.low, leaf.high) for leaf in cuts.heavy] == [7.0]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (97.5, 102.5, 100.0),
        (-203.0, -198.0, -200.0),
        (-1.0, 1.0, 0.0),
        (0.311, 0.33, 0.32),
        (7.0, 7.005, 7.0),
    ],
)
def test_the_roundest_number_is_found(low: float, high: float, expected: float) -> None:
    assert grids.roundest(low, high) == pytest.approx(expected, abs=1e-12)


def test_leaves_are_round_and_finer_where_records_are() -> None:
    leaves = grids.leaves(np.array([0.0, 64.0, 128.0]), np.array([0.95, 0.05]), NUMBER)
    steps = np.diff(leaves)
    assert np.all(steps > 0)
    assert steps[leaves[:-1] < 64].max() < steps[leaves[:-1] >= 64].min()
    assert 500 < len(leaves) < 2 * grids.NUM_LEAVES
    whole = grids.leaves(np.array([0.0, 64.0]), np.ones(1), WHOLE)
    np.testing.assert_array_equal(whole, np.arange(65))
