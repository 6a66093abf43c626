"""The model of largest entropy, against tables that are small enough to write down."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_count_estimates import DOMAIN, cells_of, noisy_counts

from jaxdp.methods.marginals import model
from jaxdp.methods.marginals.estimates import Counts
from jaxdp.methods.marginals.points import drawn_chance, spread_points

KEY = jax.random.key(0)
A, C = (next(k for k, c in enumerate(DOMAIN.columns) if c.name == name) for name in "ac")


class Fitted(NamedTuple):
    """A model after its training."""

    counts: Counts
    training: model.Training
    state: model.ModelState

    def cells(self, count: int) -> np.ndarray:
        return model.draw(self.training, self.state, KEY, count)


def fitted(counts: Counts, steps: int = 150) -> Fitted:
    training = model.train_model(counts, steps)
    state = training.init(KEY)
    for _ in range(steps):
        state, _ = training.update(state, KEY)
    return Fitted(counts, training, state)


def exact_shares(found: Fitted) -> np.ndarray:
    """Return the probability of every record, as the model's formula has it."""
    single, pairs = (np.asarray(each) for each in found.state.coefficients)
    shape, places = DOMAIN.widths, DOMAIN.places
    energy = np.zeros(shape)
    for column, place in enumerate(places):
        energy += single[place].reshape([-1 if k == column else 1 for k in range(len(shape))])
    for j, k in DOMAIN.pairs:
        left, right = found.counts.bases[j], found.counts.bases[k]
        table = left @ pairs[places[j], places[k]] @ right.T
        energy += table.reshape([shape[c] if c in (j, k) else 1 for c in range(len(shape))])
    powers = np.exp(energy - energy.max())
    return powers / powers.sum()


def shares_of(cells: np.ndarray, j: int, k: int) -> np.ndarray:
    found = np.zeros((DOMAIN.widths[j], DOMAIN.widths[k]))
    np.add.at(found, (cells[:, j], cells[:, k]), 1 / len(cells))
    return found


def differences(cells: np.ndarray, expected: Any) -> list[float]:
    return [
        float(np.abs(shares_of(cells, *pair) - expected(pair)).sum() / 2) for pair in DOMAIN.pairs
    ]


@pytest.fixture(scope="module")
def found() -> Fitted:
    return fitted(noisy_counts(cells_of(5000), 0.002))


def test_records_are_drawn_as_the_formula_has_it(found: Fitted) -> None:
    exact = exact_shares(found)

    def expected(pair: tuple[int, int]) -> np.ndarray:
        return exact.sum(axis=tuple(axis for axis in range(exact.ndim) if axis not in pair))

    assert max(differences(found.cells(30_000), expected)) < 0.04


def test_the_model_fits_the_records_that_were_counted(found: Fitted) -> None:
    cells = cells_of(5000)
    away = differences(found.cells(20_000), lambda pair: shares_of(cells, *pair))
    assert max(away) < 0.25
    apart = found.cells(20_000)
    apart[:, C] = np.random.default_rng(0).permutation(apart[:, C])
    assert max(differences(apart, lambda pair: shares_of(cells, *pair))) > 0.5


def test_columns_are_independent_where_noise_hides_everything() -> None:
    counts = noisy_counts(cells_of(200), 0.5)
    assert not counts.dependences
    found = fitted(counts, steps=20)
    assert not np.any(found.state.coefficients.pairs)
    assert abs(np.corrcoef(found.cells(9000)[:, [A, C]].T)[0, 1]) < 0.05


def test_columns_that_depend_on_no_other_are_drawn_by_their_shares() -> None:
    counts = noisy_counts(cells_of(200), 0.5)
    drawn = fitted(counts, steps=3).cells(9000)
    for column, shares in enumerate(counts.shares):
        told = np.bincount(drawn[:, column], minlength=len(shares)) / len(drawn)
        np.testing.assert_allclose(told, shares, atol=2e-3)  # by chance alone .005
    rounds = drawn.reshape(3, -1, drawn.shape[1])
    assert not np.array_equal(rounds[0], rounds[1])


def test_only_columns_that_depend_on_others_have_a_part_in_steps(found: Fitted) -> None:
    depending = set(itertools.chain.from_iterable(found.counts.dependences))
    alone = set(range(len(DOMAIN.widths))) - depending
    assert {A, C} <= depending
    assert alone
    after, _ = found.training.update(found.state, KEY)
    drawn = found.training.records(after, KEY)
    for column in range(len(DOMAIN.widths)):
        before, now, last = (
            np.asarray(cells[:, column]) for cells in (found.state.cells, after.cells, drawn)
        )
        assert np.array_equal(before, now) == (column in alone)
        assert np.array_equal(now, last) == (column in depending)


def test_programs_do_not_depend_on_counts() -> None:
    """Programs are kept, and counts without noise are private."""
    model._moved.clear_cache()
    for seed in (0, 1):
        fitted(noisy_counts(cells_of(5000, seed), 0.002), steps=2)
    assert model._moved._cache_size() == 1


def test_no_column_has_a_part_in_itself(found: Fitted) -> None:
    pairs = np.asarray(found.state.coefficients.pairs)
    np.testing.assert_allclose(pairs, pairs.T, rtol=1e-4, atol=1e-5)
    for place in DOMAIN.places:
        assert not np.any(pairs[place, place])


@pytest.mark.parametrize("count", [1, 7, 3001])
def test_as_many_records_are_drawn_as_are_asked_for(found: Fitted, count: int) -> None:
    drawn = found.cells(count)
    assert drawn.shape == (count, len(DOMAIN.widths))
    assert np.all((drawn >= 0) & (drawn < DOMAIN.widths))
    np.testing.assert_array_equal(drawn, found.cells(count))


def test_points_are_even_in_every_group() -> None:
    groups = jnp.asarray(np.random.default_rng(0).integers(0, 4, 2000))
    points = np.asarray(spread_points(drawn_chance(KEY, len(groups), 1).of(0), groups, 4))
    for group in range(4):
        own = np.sort(points[np.asarray(groups) == group])
        even = (np.arange(len(own)) + 0.5) / len(own)
        assert np.max(np.abs(own - even)) < 0.02  # chance alone would be off by 0.04


@pytest.mark.parametrize("num_groups", [1, 4, 2**20])
def test_points_are_in_another_order_for_each_column(num_groups: int) -> None:
    """Of as many groups as fit no bit is left to chance, and a group has few records."""
    count = 3000
    groups = jnp.asarray(np.random.default_rng(0).integers(0, min(num_groups, 4), count))
    chance = drawn_chance(KEY, count, 2)
    points = [np.asarray(spread_points(chance.of(column), groups, num_groups)) for column in (0, 1)]
    if num_groups < 2**20:
        for group in range(min(num_groups, 4)):
            first, second = (each[np.asarray(groups) == group] for each in points)
            assert abs(np.corrcoef(first, second)[0, 1]) < 0.15
    for each in points:
        assert len(np.unique(each)) > 0.99 * count
        assert 0 <= each.min() < 0.01
        assert 0.99 < each.max() < 1


def test_more_groups_than_whole_numbers_can_tell_are_refused() -> None:
    with pytest.raises(AssertionError, match="too many groups"):
        spread_points(drawn_chance(KEY, 3000, 1).of(0), jnp.zeros(3000, jnp.int32), 2**20 + 1)
