"""Factors by which columns move together: against closed forms, and tables that are known."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from scipy.special import ndtri
from support.toy_tables import schema_of

from jaxdp.methods.marginals import apart, factors, model
from jaxdp.methods.marginals.estimates import Counts, counts_of
from jaxdp.tables.domain import Domain

HALVES = np.array([[0.5], [0.5]])
ONE = np.ones(1)
NUMBER = {"type": "numeric", "lower": 0, "upper": 1, "bins": 5}
DOMAIN = Domain(
    schema_of(
        **{f"n{k}": NUMBER for k in range(30)},
        **dict.fromkeys(("age", "income", "debt", "smoker", "stage", "name")),
    )
)
NUM = 20_000


def cells_of(loadings: np.ndarray, shares: np.ndarray, num: int = NUM) -> np.ndarray:
    """Return cells (num, q) by the model itself."""
    rng = np.random.default_rng(0)
    left = np.sqrt(1 - np.sum(loadings**2, axis=1))
    z = rng.normal(size=(num, loadings.shape[1])) @ loadings.T
    z = z + left * rng.normal(size=z.shape)
    return np.searchsorted(ndtri(np.cumsum(shares)[:-1]), z).astype(np.int32)


def moments_of(cells: np.ndarray, scores: factors.Scores) -> np.ndarray:
    cells = np.column_stack([cells, np.zeros(len(cells), int)])
    rows = np.stack([own[cells[:, j], 0] for j, own in enumerate(scores.values)], axis=1)
    return rows.T @ rows / len(rows)


def test_scores_are_those_of_the_normal_law() -> None:
    scores = factors.scores_of([HALVES, HALVES], ONE)
    length = 1.1 * np.sqrt(2.5) * ndtri(0.75) + 1e-3
    np.testing.assert_allclose(scores.values[0][:, 0], np.array([-1, 1]) * ndtri(0.75) / length)
    np.testing.assert_allclose(scores.variances, ndtri(0.75) ** 2 / length**2)
    # A half of a normal number has mean sqrt(2 / pi).
    np.testing.assert_allclose(scores.slopes, ndtri(0.75) * np.sqrt(2 / np.pi) / length)
    total = np.sum(scores.variances) + scores.values[-1] ** 2
    np.testing.assert_allclose(total, [[1 / 1.21]], rtol=0.01)


def test_scores_of_cells_that_nobody_has_are_finite() -> None:
    scores = factors.scores_of([np.array([[1.0], [0.0]]), np.array([[1.0]])], ONE)
    assert all(np.all(np.isfinite(own)) for own in scores.values)
    assert np.all(np.isfinite(factors.loadings(np.eye(3), 0.1, 100, scores)))


@pytest.mark.parametrize("width", [2, 9])
def test_loadings_are_found_again(width: int) -> None:
    """Also of columns of two cells, whose correlations are smaller than those behind them."""
    rng = np.random.default_rng(1)
    expected = rng.uniform(-0.6, 0.6, (60, 2))
    shares = rng.dirichlet(np.full(width, 9.0))
    scores = factors.scores_of([shares[:, None]] * 60, ONE)
    found = factors.loadings(moments_of(cells_of(expected, shares), scores), 1e-5, NUM, scores)
    off = found @ found.T - expected @ expected.T
    assert np.sqrt(np.mean(off**2)) < 0.25 * np.sqrt(np.mean((expected @ expected.T) ** 2))


def test_nothing_moves_together_where_noise_or_chance_explains_all() -> None:
    shares = np.full(4, 0.25)
    scores = factors.scores_of([shares[:, None]] * 60, ONE)
    for seed, (stddev, num) in enumerate([(1e-3, NUM), (1e-2, NUM), (1e-6, 300), (1e-6, NUM)]):
        cells = np.random.default_rng(seed).integers(0, 4, (num, 60))
        noise = np.random.default_rng(seed + 9).normal(size=(61, 61)) * stddev / np.sqrt(2)
        noise = np.triu(noise, 1) + np.triu(noise, 1).T + np.diag(noise.diagonal()) * np.sqrt(2)
        found = factors.loadings(moments_of(cells, scores) + noise, stddev, num, scores)
        assert found.shape[1] == 0
        assert factors.noise_edge(stddev, 60) > 0.8 * np.linalg.eigvalsh(noise).max()


def test_shares_that_noise_has_moved_are_no_factor() -> None:
    """All scores are too high by as much as the shares are wrong."""
    rng = np.random.default_rng(0)
    scores = factors.scores_of([np.array([[0.3], [0.3], [0.4]])] * 60, ONE)
    cells = rng.choice(3, size=(NUM, 60), p=[0.1, 0.3, 0.6])
    found = factors.loadings(moments_of(cells, scores), 1e-5, NUM, scores)
    assert found.shape[1] == 0


def test_a_column_keeps_a_part_of_its_own() -> None:
    scores = factors.scores_of([HALVES] * 40, ONE)
    same = np.full((41, 41), scores.variances[0])
    same[-1] = same[:, -1] = 0.0
    found = factors.loadings(same, 1e-6, NUM, scores)
    assert 0.9 < np.max(np.sum(found**2, axis=1)) <= 0.97 + 1e-9


def counts_with(cells: np.ndarray) -> Counts:
    """Return exact counts of columns, pairs with the target, and second moments."""
    target = len(DOMAIN.widths) - 1
    columns = [
        np.bincount(own, minlength=w) / len(cells)
        for own, w in zip(cells.T, DOMAIN.widths, strict=True)
    ]
    pairs = [pair for pair in DOMAIN.pairs if target in pair]
    found = []
    for j, k in pairs:
        left, right = DOMAIN.features[j][cells[:, j]], DOMAIN.features[k][cells[:, k]]
        found.append(left.T @ right / len(cells))
    single = np.concatenate(columns)
    counts = counts_of(DOMAIN, len(cells), single, 1e-5, [(pairs, found, 1e-5)])
    values = apart.scores_of(counts).values
    ends = np.column_stack([cells[:, :target], np.zeros(len(cells), int)])
    rows = np.stack([own[ends[:, j], cells[:, target]] for j, own in enumerate(values)], axis=1)
    return dataclasses.replace(counts, moments=rows.T @ rows / len(rows), moment_stddev=1e-5)


def test_made_records_move_together_and_keep_their_shares() -> None:
    """Given the target, which moves columns by itself."""
    rng = np.random.default_rng(2)
    shares = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    numbers = cells_of(np.full((30, 1), 0.7), shares)
    classes = (rng.random(NUM) < 0.3).astype(np.int32)
    numbers[classes == 1] = 4 - numbers[classes == 1]
    cells = np.column_stack([numbers, classes])
    counts = counts_with(cells)

    def made(counts: Counts) -> np.ndarray:
        training = model.train_model(counts, 1)
        return model.draw(training, training.init(jax.random.key(0)), jax.random.key(1), NUM)

    drawn, alone = made(counts), made(dataclasses.replace(counts, moments=np.empty((0, 0))))

    def within(found: np.ndarray) -> float:
        return float(np.corrcoef(found[found[:, -1] == 0][:, :30].T)[np.triu_indices(30, 1)].mean())

    assert abs(within(drawn) - within(cells)) < 0.05
    assert abs(within(alone)) < 0.02
    for found in (drawn, alone):
        for kind in (0, 1):
            own, theirs = found[found[:, -1] == kind][:, 3], cells[classes == kind][:, 3]
            off = np.bincount(own, minlength=5) / len(own) - np.bincount(theirs) / len(theirs)
            assert np.abs(off).sum() / 2 < 0.02
