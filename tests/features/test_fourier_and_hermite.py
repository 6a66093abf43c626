"""What random Fourier and Hermite features have in common: norms, types, gradients, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_maps import EXTREMES, MAPS, fourier, product, rows, single_columns

from jaxdp.features import hermite


@pytest.mark.parametrize("name", MAPS)
def test_float32_equals_float64(name: str, float64: None) -> None:
    x = rows(5, 3).astype(np.float32)
    features = MAPS[name](3)
    narrow, wide = features(x), features(x.astype(np.float64))
    assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
    # phi_0 is rounded down by 104 epsilons of float32.
    np.testing.assert_allclose(narrow, wide, atol=2e-5)


@pytest.mark.parametrize("name", ["fourier", "product"])
def test_jit_equals_no_jit(name: str) -> None:
    x = jnp.asarray(rows(5, 3), jnp.float32)
    features = MAPS[name](3)
    np.testing.assert_allclose(features.__wrapped__(x), features(x), atol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_guarantee_norms_are_at_most_one(name: str) -> None:
    features = MAPS[name](3)
    grid = np.linspace(-15, 15, 999).reshape(-1, 3)
    extremes = np.stack(np.meshgrid(EXTREMES, EXTREMES, [0.3]), axis=-1).reshape(-1, 3)
    x = np.concatenate([rows(300, 3), 5 * rows(300, 3), grid, extremes]).astype(np.float32)
    phi = np.asarray(features(x), np.float64)
    norms = np.linalg.norm(phi, axis=1)
    assert np.all(norms <= 1 + 1e-6)
    if name == "fourier":
        assert np.all((np.abs(norms - 1) < 1e-6) | (norms == 0))
        assert np.all(norms[np.abs(x).max(1) < 1e30] > 0)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_guarantee_of_rows_that_are_not_finite(name: str, bad: float) -> None:
    x = np.full((2, 3), 0.5, np.float32)
    x[0] = bad
    phi = np.asarray(MAPS[name](3)(x))
    np.testing.assert_array_equal(phi[0], 0.0)
    assert np.any(phi[1] != 0)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", MAPS)
def test_gradients_equal_difference_quotients(name: str) -> None:
    features = MAPS[name](3)
    x, direction = rows(4, 3), rows(4, 3, 1)
    cotangent = np.random.default_rng(2).normal(size=features(x).shape)

    @jax.jit
    def value_and_slopes(t: float) -> Any:
        def value(t: Any) -> Any:
            return jnp.sum(features(x + t * direction) * cotangent)

        return value(t), jax.grad(value)(t), jax.jvp(value, (t,), (1.0,))[1]

    step = 1e-5
    difference = (value_and_slopes(step)[0] - value_and_slopes(-step)[0]) / (2 * step)
    for slope in value_and_slopes(0.0)[1:]:
        np.testing.assert_allclose(slope, difference, rtol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_gradients_are_finite_everywhere(name: str) -> None:
    features = MAPS[name](3)
    values = np.array([*EXTREMES, np.inf, np.nan], np.float32)
    x = np.stack([values, values[::-1], np.full_like(values, 0.3)], axis=1)
    assert np.all(np.isfinite(jax.jit(jax.grad(lambda x: jnp.sum(features(x))))(x)))
    weighted_sum = hermite.hermite_weighted_sum(3, order=100, variance=0.15)
    w = jnp.ones(len(x))
    assert np.all(np.isfinite(jax.jit(jax.grad(lambda x: jnp.sum(weighted_sum(x, w))))(x)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fourier(3, 5), "num_features must be even and >= 2, got 5"),
        (lambda: fourier(3, 0), "num_features must be even and >= 2, got 0"),
        (lambda: fourier(0, 4), "dim must be >= 1, got 0"),
        (lambda: fourier(3, 4, 0.0), "length_scale must be > 0 and finite, got 0.0"),
        (lambda: fourier(3, 4, math.inf), "length_scale must be > 0 and finite, got inf"),
        (lambda: fourier(3, 4)(np.zeros((2, 4), np.float32)), "rows of width 3, got 4"),
        (lambda: single_columns(0), "dim must be >= 1, got 0"),
        (lambda: single_columns(3, -1), "order must be >= 0, got -1"),
        (lambda: single_columns(3, 5, math.nan), "variance must be > 0 and finite, got nan"),
        (lambda: single_columns(3, 5)(np.zeros((2, 1), np.float32)), "rows of width 3, got 1"),
        (
            lambda: hermite.hermite_weighted_sum(3, order=5, variance=-1.0),
            "variance must be > 0 and finite, got -1.0",
        ),
        (lambda: product([[0, 1]], -2), "order must be >= 0, got -2"),
        (lambda: product([[0, -1]]), "columns must be >= 0, got -1"),
        (lambda: product([[0, 3]])(np.zeros((2, 3), np.float32)), "no column 3 in rows of width 3"),
        (lambda: hermite.random_pairs(jax.random.key(0), 1, 1), "dim >= 2"),
        (lambda: hermite.random_pairs(jax.random.key(0), 2, 0), "num_pairs >= 1"),
    ],
)
def test_bad_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
