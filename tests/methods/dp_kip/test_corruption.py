"""Which pixels are corrupted: how many, all channels together, by the key alone."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxdp.methods.dp_kip import corruption


@pytest.mark.parametrize(("corrupt", "fixed"), [(0.0, 0), (0.01, 1), (0.5, 32), (0.99, 63)])
def test_the_fraction_of_positions_is_corrupted_in_every_channel(
    corrupt: float, fixed: int
) -> None:
    free = corruption.free_columns(jax.random.key(0), num_pixels=64, channels=3, corrupt=corrupt)
    by_pixel = np.asarray(free).reshape(64, 3)
    assert np.all(by_pixel == by_pixel[:, :1])
    assert np.sum(~by_pixel[:, 0]) == fixed


def test_the_key_decides() -> None:
    first, same, other = (
        np.asarray(
            corruption.free_columns(jax.random.key(k), num_pixels=64, channels=1, corrupt=0.5)
        )
        for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)


@pytest.mark.parametrize("corrupt", [-0.1, 1.0, float("nan")])
def test_other_fractions_are_refused(corrupt: float) -> None:
    with pytest.raises(ValueError, match="corrupt must be in"):
        corruption.free_columns(jax.random.key(0), num_pixels=4, channels=1, corrupt=corrupt)
