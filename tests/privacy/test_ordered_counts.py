"""Counts of ordered cells by the root of the matrix of sums: values, sensitivity, noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import toeplitz

from jaxdp.privacy import GaussianRelease, ordered_counts, private_key

SIZES = (1, 2, 3, 17, 64)


def release_of(stddev: float, sensitivity: float = math.sqrt(2)) -> GaussianRelease:
    return GaussianRelease(name="sums", sensitivity=sensitivity, stddev=stddev)


def matrix_of(size: int) -> np.ndarray:
    return np.tril(toeplitz(ordered_counts.root(size)))


@pytest.mark.parametrize("size", SIZES)
def test_the_root_times_itself_sums(size: int) -> None:
    root = matrix_of(size)
    np.testing.assert_allclose(root @ root, np.tril(np.ones((size, size))), atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_without_noise_sums_are_exact(size: int) -> None:
    cells = np.random.default_rng(size).integers(-1, size, 50)
    (found,) = ordered_counts.release_ordered(private_key(0), [(cells, size)], release_of(0.0))
    expected = np.cumsum(np.bincount(cells[cells >= 0], minlength=size))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def sums_that_are_noised(
    monkeypatch: pytest.MonkeyPatch, columns: list[tuple[np.ndarray, int]]
) -> np.ndarray:
    seen = []

    def noisy(key: object, exact: np.ndarray, release: object) -> np.ndarray:
        seen.append(exact)
        return exact

    monkeypatch.setattr(ordered_counts, "noisy_sums", noisy)
    ordered_counts.release_ordered(private_key(0), columns, release_of(1.0))
    return np.concatenate(seen)


def test_guarantee_replacing_a_record_moves_sums_by_at_most_the_sensitivity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    largest = 0.0
    others = np.array([3, 3, 5])
    for old in range(-1, 9):
        for new in range(-1, 9):
            before, after = (
                sums_that_are_noised(
                    monkeypatch, [(np.append(others, cell), 9), (np.append(others, cell), 9)]
                )
                for cell in (old, new)
            )
            largest = max(largest, float(np.linalg.norm(after - before)))
    assert 1.0 < largest <= math.sqrt(2)


def test_guarantee_a_record_has_norm_one_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for cell in range(9):
        one = sums_that_are_noised(monkeypatch, [(np.array([cell]), 9)])
        assert 0.2 < np.linalg.norm(one) <= 1
        assert np.min(one) >= 0


def test_guarantee_noise_of_sums_is_that_of_the_release() -> None:
    size, stddev, num = 64, 3.0, 400
    nothing = (np.array([-1]), size)
    found = np.array(
        [
            ordered_counts.release_ordered(
                private_key(seed), [nothing, nothing], release_of(stddev)
            )
            for seed in range(num)
        ]
    )
    root = matrix_of(size)
    norm = np.linalg.norm(ordered_counts.root(size))
    expected = stddev * math.sqrt(2) * norm * np.linalg.norm(root, axis=1)
    assert found.std(axis=0)[0] == pytest.approx(expected, rel=0.2)
    assert found[:, :, -1].std() == pytest.approx(expected[-1], rel=0.08)
    assert abs(np.corrcoef(found[:, 0, -1], found[:, 1, -1])[0, 1]) < 0.2
    step = np.diff(found, axis=2).std()
    assert step <= stddev * math.sqrt(2) * norm * ordered_counts.DIFFERENCE * 1.05


@pytest.mark.parametrize("size", SIZES)
def test_the_covariance_with_the_last_sum_is_that_of_the_matrix(size: int) -> None:
    root = matrix_of(size)
    expected = (root @ root.T)[:, -1]
    np.testing.assert_allclose(ordered_counts.covariance_with_last(size), expected, atol=1e-12)


def test_guarantee_what_breaks_the_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="sensitivity is"):
        ordered_counts.release_ordered(
            private_key(0), [(np.array([0]), 2)], release_of(1.0, sensitivity=1.0)
        )
    for cell in (-2, 2):
        with pytest.raises(ValueError, match="no cell"):
            ordered_counts.release_ordered(private_key(0), [(np.array([cell]), 2)], release_of(1.0))
