"""Columns that depend on the target alone: against closed forms, and tables that are known."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import jax
import numpy as np
import pytest
from support.toy_tables import schema_of

from jaxdp.methods.marginals import alike, apart, estimates, model
from jaxdp.methods.marginals.estimates import Counts
from jaxdp.privacy import cell_counts
from jaxdp.tables.domain import Domain

NUMBER = {"type": "numeric", "lower": 0, "upper": 1, "bins": 3}
_LEFT_OUT = dict.fromkeys(("age", "income", "debt", "smoker", "stage", "name"))
NUM = 40
DOMAIN = Domain(schema_of(**{f"n{k}": NUMBER for k in range(NUM)}, **_LEFT_OUT))
TARGET = len(DOMAIN.widths) - 1
KEY = jax.random.key(0)


def cells_of(num: int, seed: int = 0, *, strength: float = 0.2) -> np.ndarray:
    """Return records in which neighbouring numbers depend on a rare class in like ways."""
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, width, num) for width in DOMAIN.widths])
    cells[:, TARGET] = rng.random(num) < 0.2
    for column in range(NUM):
        moved = (rng.random(num) < strength) & (cells[:, TARGET] == 1)
        cells[moved, column] = 2 * (np.sin(column / 6) > 0)
    return cells


def noisy_counts(cells: np.ndarray, noise: float, seed: int = 0, **options: Any) -> Counts:
    """Return counts of columns and of pairs with the target, with noise in shares of records."""
    rng = np.random.default_rng(seed)
    widths, features = DOMAIN.widths, DOMAIN.features
    columns = [np.bincount(cells[:, k], minlength=w) / len(cells) for k, w in enumerate(widths)]
    pairs = options.get("pairs", [pair for pair in DOMAIN.pairs if TARGET in pair])
    found = []
    for j, k in pairs:
        exact = cell_counts.pair_counts(cells[:, j], cells[:, k], widths[j], widths[k])
        found.append(features[j].T @ exact @ features[k] / len(cells))
    loud = [each + noise * rng.normal(size=each.shape) for each in found]
    single = np.concatenate(columns)
    single = single + noise * rng.normal(size=single.shape)
    return estimates.counts_of(DOMAIN, len(cells), single, noise, [(pairs, loud, noise)])


def off(given: dict[int, np.ndarray], cells: np.ndarray) -> float:
    """Return the mean total variation of shares given the target from those of records."""
    found = []
    for column, shares in given.items():
        exact = cell_counts.pair_counts(
            cells[:, column], cells[:, TARGET], DOMAIN.widths[column], DOMAIN.widths[TARGET]
        )
        found.append(np.abs(shares - exact / exact.sum(axis=0)).sum(axis=0).mean() / 2)
    return float(np.mean(found))


def test_shares_given_the_target_are_those_of_the_records_where_noise_is_small() -> None:
    cells = cells_of(4000)
    given, misfit = apart.shares_given_target(noisy_counts(cells, 1e-5))
    assert sorted(given) == list(range(TARGET))
    assert off(given, cells) < 0.01
    assert misfit < 1
    for shares in given.values():
        np.testing.assert_allclose(shares.sum(axis=0), 1)
        assert shares.min() > 0


def test_columns_that_are_alike_are_told_better_together(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = cells_of(20_000)

    def found() -> list[float]:
        each = [noisy_counts(cells, 0.02, seed) for seed in range(2)]
        return [off(apart.shares_given_target(counts)[0], cells) for counts in each]

    together = found()
    monkeypatch.setattr(alike, "LEAST_ALIKE", NUM + 9)
    assert sum(together) < 0.75 * sum(found())


def test_nothing_departs_where_noise_hides_everything() -> None:
    for seed in range(5):
        counts = noisy_counts(cells_of(500, seed, strength=0.0), 0.05, seed)
        assert np.abs(apart.departures_of(counts, range(NUM)).means).max() < 0.03


def test_a_share_that_is_wrong_is_no_dependence() -> None:
    """Columns' own counts may be off; a pair's margin says how the pair departs."""
    cells = cells_of(20_000, strength=0.0)
    right = noisy_counts(cells, 1e-3)
    columns = right.columns.copy()
    for column in range(NUM):
        columns[DOMAIN.places[column]] = (0.8, 0.1, 0.1)
    wrong = dataclasses.replace(right, columns=columns, column_stddev=1e-4)
    assert wrong.shares[0][0] > 0.7
    assert np.abs(apart.departures_of(wrong, range(NUM)).means).max() < 0.02


def test_numbers_that_are_likely_are_those_of_the_normal_law() -> None:
    """Against the posterior mean and the likelihood, written down with inverses."""
    rng, places = np.random.default_rng(0), np.arange(9)
    noisy, variance = rng.normal(size=(9, 2)) + 1, np.array([0.5, 0.2])
    found = alike.likeliest(noisy, variance, places)
    apart_ = np.abs(places[:, None] - places[None, :])
    near = [np.exp(-apart_ / each) for each in (2, 5, 15, 50)]
    kernels = [(np.eye(9), (0.0,), 1)]
    kernels += [(each, (0.0, 0.1, 0.3, 1.0), 2) for each in (np.ones((9, 9)), *near)]
    kernels += [(each + 1, (0.0, 0.1, 0.3, 1.0), 2) for each in near]
    best = (-1.0, noisy)
    for kernel, owns, settings in kernels:
        gain, means = 0.0, np.zeros_like(noisy)
        for kind, v in enumerate(variance):
            z, tried = noisy[:, kind], []
            for size, own in itertools.product(10.0 ** np.arange(-3, 3.1, 0.25), owns):
                prior = v * size * (kernel + own * np.eye(9))
                total = prior + v * np.eye(9)
                more = -0.5 * (np.linalg.slogdet(total)[1] + z @ np.linalg.solve(total, z))
                less = -0.5 * (9 * np.log(v) + z @ z / v)
                tried.append((more - less, prior @ np.linalg.solve(total, z)))
            value, mean = max(tried, key=lambda each: each[0])
            if value > settings:
                gain, means[:, kind] = gain + value - settings, mean
        if gain > best[0]:
            best = (gain, means)
    assert found.gain == pytest.approx(best[0])
    np.testing.assert_allclose(found.means, best[1], atol=1e-8)


def test_columns_with_the_same_cells_are_alike() -> None:
    """An ordered category of three stages has the features of a number, and is none."""
    domain = Domain(schema_of(n=NUMBER, m=NUMBER, age=None, income=None, debt=None, smoker=None))
    names = [column.name for column in domain.columns]
    found = alike.groups(domain, range(len(names) - 1))
    assert [[names[column] for column in group] for group in found] == [["stage"], ["n", "m"]]


def test_records_are_drawn_as_the_shares_have_it() -> None:
    counts = noisy_counts(cells_of(3000), 0.005)
    training = model.train_model(counts, 50)
    assert training.num_steps == 1
    drawn = model.draw(training, training.init(KEY), KEY, 15_000)
    assert drawn.shape == (15_000, TARGET + 1)
    given, _ = apart.shares_given_target(counts)
    assert off(given, drawn) < 0.01
    rare = drawn[:, TARGET] == 1
    assert rare.mean() == pytest.approx(counts.shares[TARGET][1], abs=0.002)
    assert abs(np.corrcoef(drawn[rare, :2].T)[0, 1]) < 0.06


def test_without_pairs_columns_are_drawn_by_their_shares() -> None:
    counts = noisy_counts(cells_of(3000), 0.01, pairs=[])
    drawn = model.draw(training := model.train_model(counts, 50), training.init(KEY), KEY, 9000)
    for column, shares in enumerate(counts.shares):
        found = np.bincount(drawn[:, column], minlength=len(shares)) / 9000
        np.testing.assert_allclose(found, shares, atol=0.01)
