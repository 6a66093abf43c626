"""How stored values become what kernels see: by public constants alone."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Codec


def codec(*, shift: float, scale: float) -> Codec:
    return Codec(low=0.0, high=255.0, shift=shift, scale=scale)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32])
def test_kernels_see_shifted_and_scaled_values(dtype: Any) -> None:
    x = np.arange(256).reshape(16, 16).astype(dtype)
    scaled = codec(shift=127.5, scale=127.5).to_kernel(jnp.asarray(x))
    assert scaled.dtype == jnp.float32
    np.testing.assert_allclose(scaled, (x.astype(np.float64) - 127.5) / 127.5, rtol=1e-6)
    assert float(scaled.min()) == -1.0
    assert float(scaled.max()) == 1.0


@pytest.mark.usefixtures("float64")
def test_kernels_see_float32_in_64_bit_mode_too() -> None:
    assert codec(shift=0.0, scale=2.0).to_kernel(jnp.ones((2, 2))).dtype == jnp.float32


def test_a_codec_uses_no_statistic_of_the_rows() -> None:
    """A row's result does not depend on the other rows."""
    x = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    alone = codec(shift=0.3, scale=0.7).to_kernel(x[:1])
    x[1:] *= 1e6
    np.testing.assert_array_equal(alone[0], codec(shift=0.3, scale=0.7).to_kernel(x)[0])


def test_jit_changes_nothing() -> None:
    x = jnp.asarray(np.arange(12).reshape(3, 4), jnp.uint8)
    plain = codec(shift=3.0, scale=7.0)
    np.testing.assert_allclose(jax.jit(plain.to_kernel)(x), plain.to_kernel(x), rtol=1e-6)
