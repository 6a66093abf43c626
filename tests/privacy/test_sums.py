"""Sums whose rounding no choice of records can add to what one of them adds."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import products
from support.worst_sums import MANY, worst

from jaxdp import numerics
from jaxdp.methods.teacher import classifier, feature_mean, probabilities
from jaxdp.privacy import sums


def columns(rows: np.ndarray) -> jax.Array:
    return jnp.asarray(np.stack([rows, np.zeros_like(rows)], axis=1))


def test_a_plain_sum_is_moved_by_more_than_a_record() -> None:
    """What the others are tested against."""
    plain = jax.jit(lambda rows, mask: jnp.matmul(jnp.where(mask, 1.0, 0.0), columns_of(rows)))

    def columns_of(rows: Any) -> Any:
        return jnp.stack([rows, jnp.zeros_like(rows)], axis=1)

    assert worst(plain, 0.999) > 1.3


def test_guarantee_no_records_let_one_move_the_mean_of_features_by_more_than_one() -> None:
    total = jax.jit(feature_mean.sum_clipped_rows)
    with numerics.float64():
        assert 0.9 < worst(lambda rows, mask: total(columns(rows), mask), 1.0) <= 1.0


def test_guarantee_no_records_let_one_move_the_gaps_by_more_than_one() -> None:
    total = jax.jit(probabilities.sum_clipped_entries)
    with numerics.float64():
        assert 0.9 < worst(lambda rows, mask: total(columns(rows), mask), 1.0) <= 1.0


def test_guarantee_no_records_let_one_move_gradients_by_more_than_the_clip_norm() -> None:
    weights, labels = jnp.zeros((2, 2)), jnp.zeros(MANY, jnp.int32)
    clip = 0.98 * math.sqrt(0.5)  # the norm of a gradient of length 0.98
    total = jax.jit(functools.partial(classifier.sum_clipped_grads, clip_norm=clip))
    with numerics.float64():
        found = worst(lambda rows, mask: total(weights, columns(rows), labels, mask), 0.98)
    assert 0.9 * clip < found <= clip


@pytest.mark.parametrize("count", [1, 127, 128, 129, 1024, 1025, 3000])
def test_products_are_those_of_numpy(count: int) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(count, 3)), rng.normal(size=(count, 5))
    left, right = left.astype(np.float32), right.astype(np.float32)
    with numerics.float64():
        found = sums.summed_products(jnp.asarray(left), jnp.asarray(right))
        assert found.dtype == jnp.float64
        row = sums.summed_rows(jnp.asarray(left[:, 0]), jnp.asarray(right))
    exact = left.T.astype(np.float64) @ right
    np.testing.assert_allclose(found, exact, atol=1e-3)
    np.testing.assert_allclose(row, exact[0], atol=1e-3)


def test_the_margin_covers_two_sums() -> None:
    assert sums.MARGIN == 1 + 2 * 128**2 * 2.0**-24
    assert sums.MARGIN < 1.002


@pytest.mark.parametrize("count", [200, 3000])
def test_guarantee_no_product_is_rounded_as_gpus_do_by_default(count: int) -> None:
    left, right = jnp.ones((count, 3)), jnp.ones((count, 5))
    assert not products.rounded(sums.summed_products, left, right)
