"""Noisy second moments: what is summed, and what a record moves."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from jaxdp.privacy import GaussianRelease, private_key, second_moments
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.privacy.second_moments import LENGTH

WIDTHS, CLASSES = (3, 2, 4), 2
RNG = np.random.default_rng(0)
SCORES = [RNG.normal(size=(width, CLASSES)) for width in WIDTHS]
RECORDS = np.array(list(itertools.product(*map(range, (*WIDTHS, CLASSES)))))
UPPER = np.triu_indices(3)


def moments_of(
    records: np.ndarray,
    stddev: float = 0.0,
    seed: int = 0,
    *,
    sensitivity: float = math.sqrt(2),
    scores: Any = SCORES,
    num: int | None = None,
) -> np.ndarray:
    release = GaussianRelease(name="moments", sensitivity=sensitivity, stddev=stddev)
    return second_moments.release_moments(
        private_key(seed),
        records[:, :3],
        scores,
        records[:, 3],
        release,
        num_records=len(records) if num is None else num,
    )


def vector_of(record: np.ndarray) -> np.ndarray:
    return np.array([scores[cell, record[3]] for cell, scores in zip(record, SCORES, strict=False)])


def test_moments_are_means_of_products_of_scores_that_are_shortened() -> None:
    vectors = np.stack([vector_of(record) for record in RECORDS])
    norms = np.linalg.norm(vectors, axis=1)
    assert np.min(norms) < 1 < np.max(norms)
    short = vectors / np.maximum(norms, 1)[:, None]
    expected = short.T @ short / len(short)
    np.testing.assert_allclose(moments_of(RECORDS), expected, atol=3 / LENGTH)
    assert np.array_equal(moments_of(RECORDS, 5.0), moments_of(RECORDS, 5.0).T)


def test_guarantee_a_record_moves_what_gets_noise_by_at_most_the_sensitivity() -> None:
    """Every record against every other and against none, as it is noised."""
    scores = [np.concatenate([each, -9 * each]) for each in SCORES]
    scores[0][0] = 1.0
    for number in (1, 2):
        scores[number][0] = 0.0
    records = np.array(list(itertools.product(*(range(len(each)) for each in scores), (0, 1))))
    records = records[RNG.permutation(len(records))[:200]]
    records = np.concatenate([records, [[0, 0, 0, 0]]])
    found = np.stack([moments_of(record[None], scores=scores)[UPPER] for record in records])
    noised = found * np.where(UPPER[0] == UPPER[1], 1.0, math.sqrt(2))
    apart = np.linalg.norm(noised[:, None] - noised[None, :], axis=2)
    assert 0.99 < np.max(np.linalg.norm(noised, axis=1)) <= 1
    assert 0.99 * math.sqrt(2) < np.max(apart) <= math.sqrt(2)
    assert second_moments.cell_counts.sensitivity(REPLACE) >= np.max(apart)
    assert second_moments.cell_counts.sensitivity(ZERO_OUT) == 1


def test_guarantee_vectors_are_no_longer_than_claimed_whatever_they_are() -> None:
    edges = np.array([[1.0, 0, 0], [3, 4, 0], [1e-300, 0, 0], [1e150, 1e150, 0], [1e305, 9e307, 0]])
    rows = np.concatenate([edges, RNG.normal(size=(5000, 3)) * RNG.lognormal(0, 3, (5000, 1))])
    whole = second_moments.whole_rows(rows)
    assert np.max(np.sum(whole**2, axis=1)) <= LENGTH**2
    np.testing.assert_array_equal(whole[7:9], second_moments.whole_rows(rows[7:9]))


def test_guarantee_noise_of_the_release_is_on_each_number_once() -> None:
    exact = moments_of(RECORDS)
    drawn = np.stack([moments_of(RECORDS, 20.0, seed)[UPPER] for seed in range(400)])
    noise = (drawn - exact[UPPER]) * len(RECORDS) / 20
    spread = np.std(noise, axis=0)
    expected = np.where(UPPER[0] == UPPER[1], 1, math.sqrt(0.5))
    np.testing.assert_allclose(spread, expected, rtol=0.2)
    together = np.corrcoef(noise.T) - np.eye(6)
    assert np.max(np.abs(together)) < 6 / math.sqrt(len(noise))


def test_guarantee_sums_are_the_same_in_any_order_and_in_parts() -> None:
    records = RECORDS[RNG.integers(0, len(RECORDS), 9000)]
    whole = moments_of(records)
    np.testing.assert_array_equal(moments_of(records[RNG.permutation(len(records))]), whole)
    parts = [moments_of(part, num=len(records)) for part in np.split(records, [7, 5000])]
    np.testing.assert_allclose(sum(parts), whole, rtol=1e-14)


def test_guarantee_what_claims_less_or_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="sensitivity is"):
        moments_of(RECORDS, 1.0, sensitivity=1.4)
    with pytest.raises(ValueError, match="finite"):
        moments_of(RECORDS, scores=[SCORES[0] * np.nan, *SCORES[1:]])
    with pytest.raises(ValueError, match="columns"):
        moments_of(RECORDS, scores=SCORES[:2])
    with pytest.raises(ValueError, match="no cell"):
        moments_of(RECORDS, scores=[SCORES[0][:1], *SCORES[1:]])
    with pytest.raises(ValueError, match="no class"):
        moments_of(RECORDS, scores=[each[:, :1] for each in SCORES])
