"""Noisy counts of cells and of pairs of cells: what is counted, and what a record moves."""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import Any

import numpy as np
import pytest

from jaxdp.privacy import GaussianRelease, cell_counts, private_key
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.tables.columns import Column
from jaxdp.tables.domain import Query, cell_features

WIDTHS = (5, 3, 7)
COLUMNS = (
    Column(name="a", type="numeric", lower=0, upper=1),
    Column(name="b", type="categorical", categories=("x", "y"), other=True),
    Column(name="c", type="numeric", lower=0, upper=1, nullable=True),
)
FEATURES = [cell_features(column, width) for column, width in zip(COLUMNS, WIDTHS, strict=True)]
PAIRS = tuple(itertools.combinations(range(3), 2))
QUIET = contextlib.nullcontext()
RECORDS = np.array(list(itertools.product(*map(range, WIDTHS))))


def release_of(stddev: float, sensitivity: float = math.sqrt(2)) -> GaussianRelease:
    return GaussianRelease(name="counts", sensitivity=sensitivity, stddev=stddev)


def some_cells(num: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, WIDTHS, (num, 3))


def columns_of(cells: np.ndarray, stddev: float = 0.0, seed: int = 0, **options: Any) -> np.ndarray:
    release, num = release_of(stddev, **options), len(cells)
    return cell_counts.release_columns(private_key(seed), cells, WIDTHS, release, num_records=num)


def pairs_of(cells: np.ndarray, stddev: float = 0.0, seed: int = 0, **options: Any) -> np.ndarray:
    release, num = release_of(stddev, **options), len(cells)
    return cell_counts.release_pairs(
        private_key(seed), cells, FEATURES, PAIRS, release, num_records=num
    )


QUERIES: tuple[Query, ...] = tuple(
    {column: np.arange(WIDTHS[column]) % 2 == odd for column in columns}
    for columns in ((0,), (1,), (0, 2), (0, 1, 2))
    for odd in (0, 1)
)


def queries_of(cells: np.ndarray, stddev: float = 0.0, seed: int = 0, **options: Any) -> np.ndarray:
    release, num = release_of(stddev, **({"sensitivity": 1.0} | options)), len(cells)
    return cell_counts.release_queries(
        private_key(seed), cells, WIDTHS, QUERIES, release, num_records=num
    )


def test_queries_are_answered_by_records_that_meet_all_conditions() -> None:
    cells = some_cells(60)
    expected = [
        np.mean([all(inside[record[j]] for j, inside in query.items()) for record in cells])
        for query in QUERIES
    ]
    np.testing.assert_allclose(queries_of(cells), expected, atol=1e-12)


def test_guarantee_a_record_moves_answers_by_at_most_the_sensitivity() -> None:
    """Every record against every other and against none, in the units in which noise is added."""
    of_each = np.stack([queries_of(record[None]) for record in RECORDS]) / math.sqrt(len(QUERIES))
    apart = np.linalg.norm(of_each[:, None] - of_each[None, :], axis=2)
    assert 0.6 < np.max(apart) <= cell_counts.SENSITIVITY_OF_ANSWERS
    assert np.max(np.linalg.norm(of_each, axis=1)) <= cell_counts.SENSITIVITY_OF_ANSWERS
    with pytest.raises(ValueError, match="sensitivity is"):
        queries_of(some_cells(5), 10.0, sensitivity=0.99)
    with pytest.raises(ValueError, match="no cell"):
        queries_of(some_cells(5) + 3)


def test_columns_are_counted() -> None:
    cells = some_cells(40)
    expected = [
        np.mean(cells[:, column] == cell)
        for column, width in enumerate(WIDTHS)
        for cell in range(width)
    ]
    np.testing.assert_allclose(columns_of(cells), expected, atol=1e-12)


def test_pairs_are_sums_over_records_of_products_of_features() -> None:
    cells = some_cells(40)
    expected = [
        sum(np.outer(FEATURES[j][record[j]], FEATURES[k][record[k]]) for record in cells) / 40
        for j, k in PAIRS
    ]
    np.testing.assert_allclose(
        pairs_of(cells), np.concatenate([each.ravel() for each in expected]), atol=1e-12
    )


@pytest.mark.parametrize(("counted", "number"), [(columns_of, len(WIDTHS)), (pairs_of, len(PAIRS))])
def test_guarantee_replacing_a_record_moves_counts_by_at_most_the_sensitivity(
    counted: Any, number: int
) -> None:
    """Every record against every other, in the units in which noise is added."""
    of_each = np.stack([counted(record[None]) for record in RECORDS]) / math.sqrt(number)
    apart = np.linalg.norm(of_each[:, None] - of_each[None, :], axis=2)
    assert np.max(apart) <= cell_counts.sensitivity(REPLACE)
    assert np.max(apart) > 0.99 * cell_counts.sensitivity(REPLACE)  # and no less is possible
    assert np.max(np.linalg.norm(of_each, axis=1)) <= cell_counts.sensitivity(ZERO_OUT)


@pytest.mark.parametrize(
    ("counted", "number"),
    [(columns_of, len(WIDTHS)), (pairs_of, len(PAIRS)), (queries_of, len(QUERIES))],
)
def test_guarantee_independent_noise_of_the_release_is_on_every_count(
    counted: Any, number: int
) -> None:
    cells = some_cells(10)
    exact = counted(cells)
    drawn = np.stack([counted(cells, 30.0, seed) for seed in range(200)]) - exact
    noise = drawn * len(cells) / (30.0 * math.sqrt(number))
    assert abs(np.mean(noise)) < 4 / math.sqrt(noise.size)
    assert abs(np.std(noise) - 1) < 4 / math.sqrt(2 * noise.size)
    together = np.corrcoef(noise.T) - np.eye(noise.shape[1])
    assert np.max(np.abs(together)) < 6 / math.sqrt(len(noise))


def test_guarantee_noise_of_many_counts_repeats_nowhere() -> None:
    """Counts get noise a block at a time, each block by a key of its own."""
    features = [np.eye(150), np.eye(150)]
    found = cell_counts.release_pairs(
        private_key(1),
        np.zeros((1, 2), int),
        features,
        [(0, 1)],
        release_of(50.0),
        num_records=1,
    )
    # Rounded noise meets a place more than once, and eight places in a row never.
    some = found[: len(found) // 8 * 8].reshape(-1, 8)
    assert len(np.unique(some.round(9), axis=0)) == len(some)


@pytest.mark.parametrize("counted", [columns_of, pairs_of])
def test_guarantee_a_release_that_claims_less_is_refused(counted: Any) -> None:
    with pytest.raises(ValueError, match="sensitivity is"):
        counted(some_cells(5), 10.0, sensitivity=1.4)
    for relation, least in ((REPLACE, 2**0.5), (ZERO_OUT, 1.0)):
        for claimed in (least, 0.99 * least):
            release = GaussianRelease(
                name="counts", sensitivity=claimed, stddev=1.0, relation=relation
            )
            with pytest.raises(ValueError, match="sensitivity is") if claimed < least else QUIET:
                cell_counts.require_sensitivity(release)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (1.01 * np.eye(3), "norm 1"),
        (np.array([[1.0, 0, 0], [-0.5, 0.5, 0], [0, 0, 1.0]]), "no negative"),
    ],
)
def test_guarantee_features_that_break_the_bound_are_refused(
    features: np.ndarray, said: str
) -> None:
    cells = np.zeros((4, 2), int)
    with pytest.raises(ValueError, match=said):
        cell_counts.release_pairs(
            private_key(0), cells, [features, np.eye(2)], [(0, 1)], release_of(9.0), num_records=4
        )


def test_guarantee_a_pair_is_counted_once_and_a_record_once() -> None:
    cells = some_cells(5)
    with pytest.raises(ValueError, match="there twice"):
        cell_counts.release_pairs(
            private_key(0), cells, FEATURES, [(0, 1), (0, 1)], release_of(9.0), num_records=5
        )
    for wrong in (np.full((5, 3), 9), np.full((5, 3), -1)):
        with pytest.raises(ValueError, match="no cell"):
            columns_of(wrong)
    with pytest.raises(ValueError, match="columns"):
        columns_of(cells[:, :2])
