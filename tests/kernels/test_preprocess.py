"""Labels against NumPy."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.kernels import preprocess


@pytest.mark.usefixtures("float64")
def test_labels_are_float32_in_64_bit_mode_too() -> None:
    assert preprocess.centred_one_hot(jnp.array([0]), 3).dtype == jnp.float32


@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_centred_one_hot(num_classes: int) -> None:
    labels = np.random.default_rng(0).integers(0, num_classes, size=20)
    rows = np.asarray(preprocess.centred_one_hot(jnp.asarray(labels), num_classes))
    want = np.eye(num_classes)[labels] - 1 / num_classes
    np.testing.assert_allclose(rows, want, atol=1e-7)
    np.testing.assert_allclose(rows.sum(axis=1), 0.0, atol=1e-6)
    np.testing.assert_array_equal(rows.argmax(axis=1), labels)
