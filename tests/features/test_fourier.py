"""Random Fourier features against exact kernels."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_maps import EXTREMES, fourier, gaussian, rows

from jaxdp.features import fourier as random_features


def frequencies(features: Any, d: int, p: int) -> np.ndarray:
    """Return W (p / 2, d), from the sines of small inputs."""
    sines = np.asarray(features(np.eye(d, dtype=np.float32) * 0.01), np.float64)[:, p // 2 :]
    return np.arcsin(sines * math.sqrt(p / 2)).T / 0.01


@pytest.mark.parametrize("length_scale", [0.5, 2.0])
def test_fourier_features_estimate_the_gaussian_kernel(length_scale: float) -> None:
    x = rows(6, 3).astype(np.float32)
    phi = np.asarray(fourier(3, 40000, length_scale)(x), np.float64)
    expected = gaussian(x, x, length_scale**2).prod(-1)
    # Off the diagonal an entry is a mean of 20000 cosines, each of variance at most 1.
    np.testing.assert_allclose(phi @ phi.T, expected, atol=4.5 / math.sqrt(20000))


def test_fourier_features_are_cosines_then_sines() -> None:
    x = rows(4, 3).astype(np.float32)
    features = fourier(3, 10)
    angles = x @ frequencies(features, 3, 10).T
    expected = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / math.sqrt(5)
    np.testing.assert_allclose(features(x), expected, atol=1e-5)


def test_guarantee_fourier_mean_moves_by_at_most_two_over_n() -> None:
    d, p, n = 12, 8, 10
    features = fourier(d, p)
    x = rows(n, d).astype(np.float32)
    mean = np.asarray(features(x)).mean(0)
    moves = []
    for other in (rows(1, d, 1), 100 * rows(1, d, 2), np.zeros((1, d))):
        neighbour = np.concatenate([other, x[1:]]).astype(np.float32)
        moves.append(np.linalg.norm(features(neighbour).mean(0) - mean))
    assert max(moves) <= 2 / n
    # With more columns than frequencies some shift turns every angle by pi: phi' = -phi.
    shift = np.linalg.pinv(frequencies(features, d, p)) @ np.full(p // 2, np.pi)
    opposite = x.copy()
    opposite[0] += shift
    moved = np.linalg.norm(np.asarray(features(opposite)).mean(0) - mean)
    assert moved == pytest.approx(2 / n, rel=1e-4)
    removed = np.linalg.norm(features(x)[0] / n)
    assert removed == pytest.approx(1 / n, rel=1e-6)


MIXING = rows(6, 4, seed=1).astype(np.float32)


def waves_of_squares(num_features: int, length_scale: float = 0.7) -> Any:
    return jax.jit(
        random_features.directional_fourier_features(
            lambda x: jnp.concatenate([x, x**2], axis=1),
            jnp.asarray(MIXING),
            jax.random.key(0),
            num_features=num_features,
            length_scale=length_scale,
        )
    )


def test_directional_fourier_features_have_the_kernel_of_directions() -> None:
    x = rows(6, 3).astype(np.float32)
    g = np.concatenate([x, x**2], axis=1) @ MIXING
    u = g / np.linalg.norm(g, axis=1, keepdims=True)
    squares = np.sum((u[:, None] - u[None]) ** 2, axis=2)
    phi = np.asarray(waves_of_squares(40000)(x))
    np.testing.assert_allclose(phi @ phi.T, np.exp(-squares / (2 * 0.7**2)), atol=0.03)


def test_guarantee_directional_fourier_features_have_norm_at_most_one() -> None:
    features = waves_of_squares(8)
    x = np.concatenate([rows(300, 3), np.zeros((1, 3)), [EXTREMES[:3]]]).astype(np.float32)
    for scale in (1e-20, 1e-3, 1.0, 1e10, 1e30):
        norms = np.linalg.norm(np.asarray(features(x * np.float32(scale)), np.float64), axis=1)
        assert np.all(norms <= 1 + 1e-6)
    # A row without a direction has a gradient, and it is 0.
    gradient = jax.grad(lambda x: jnp.sum(features(x)))(jnp.zeros((1, 3)))
    np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_guarantee_rows_without_a_direction_have_directional_features_of_zero(bad: float) -> None:
    """They had those of a row of zeros, of norm 1, as if they were one."""
    features = waves_of_squares(8)
    x = np.array([[1, 2, 3], [bad, 0, 1], [0, 0, 0]], np.float32)
    found = np.asarray(features(x))
    np.testing.assert_array_equal(found[1], 0.0)
    np.testing.assert_allclose(np.linalg.norm(found[[0, 2]], axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(found[[0, 2]], np.asarray(features(x[[0, 2]])))


def test_a_row_without_a_direction_has_no_gradient() -> None:
    linear = random_features.directional_fourier_features(
        lambda x: x, jnp.eye(3), jax.random.key(0), num_features=8, length_scale=0.7
    )
    x = jnp.array([[1.0, 2.0, 3.0], [jnp.nan, 0.0, 1.0], [jnp.inf, 0.0, 1.0]])
    gradient = np.asarray(jax.grad(lambda x: jnp.sum(linear(x)))(x))
    np.testing.assert_array_equal(gradient[1:], 0.0)
    assert np.all(np.isfinite(gradient))
    assert np.any(gradient[0] != 0)


def test_same_key_gives_the_same_features() -> None:
    x = rows(2, 3).astype(np.float32)
    np.testing.assert_array_equal(fourier(3, 4)(x), fourier(3, 4)(x))
    assert np.any(fourier(3, 4)(x) != fourier(3, 4, seed=1)(x))
