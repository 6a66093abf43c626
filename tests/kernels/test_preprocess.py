"""Scaling and labels against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.kernels import preprocess


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32])
def test_scale(dtype: Any) -> None:
    x = np.arange(256).reshape(16, 16).astype(dtype)
    scaled = preprocess.scale(jnp.asarray(x), shift=127.5, scale=127.5)
    assert scaled.dtype == jnp.float32
    np.testing.assert_allclose(scaled, (x.astype(np.float64) - 127.5) / 127.5, rtol=1e-6)
    assert float(scaled.min()) == -1.0
    assert float(scaled.max()) == 1.0


@pytest.mark.usefixtures("float64")
def test_scale_is_float32_in_64_bit_mode_too() -> None:
    assert preprocess.scale(jnp.ones((2, 2)), shift=0.0, scale=2.0).dtype == jnp.float32
    assert preprocess.centred_one_hot(jnp.array([0]), 3).dtype == jnp.float32


def test_scale_uses_no_statistic_of_the_rows() -> None:
    """A row's result does not depend on the other rows."""
    x = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    alone = preprocess.scale(jnp.asarray(x[:1]), shift=0.3, scale=0.7)
    x[1:] *= 1e6
    together = preprocess.scale(jnp.asarray(x), shift=0.3, scale=0.7)
    np.testing.assert_array_equal(alone[0], together[0])


@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_centred_one_hot(num_classes: int) -> None:
    labels = np.random.default_rng(0).integers(0, num_classes, size=20)
    rows = np.asarray(preprocess.centred_one_hot(jnp.asarray(labels), num_classes))
    want = np.eye(num_classes)[labels] - 1 / num_classes
    np.testing.assert_allclose(rows, want, atol=1e-7)
    np.testing.assert_allclose(rows.sum(axis=1), 0.0, atol=1e-6)
    np.testing.assert_array_equal(rows.argmax(axis=1), labels)


def test_jit_changes_nothing() -> None:
    x = jnp.asarray(np.arange(12).reshape(3, 4), jnp.uint8)
    plain = preprocess.scale(x, shift=3.0, scale=7.0)
    compiled = jax.jit(lambda x: preprocess.scale(x, shift=3.0, scale=7.0))(x)
    np.testing.assert_allclose(compiled, plain, rtol=1e-6)
