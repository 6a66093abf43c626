"""Values that all readers read alike: `numerics.rounded_once`, and who clips or divides by it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import unlucky_compiler

from jaxdp import numerics
from jaxdp.features.base import unit_features
from jaxdp.features.tangent import entk_map
from jaxdp.methods.teacher import classifier
from jaxdp.networks import tangent
from jaxdp.privacy import clipping

SEEDS = range(16)


def few_digits(x: Any) -> Any:
    """Return about 1e-6 x, of which rounding leaves one digit."""
    return jnp.sin(x) - jnp.sin(x * (1 + 1e-6))


def rows(n: int = 1, dim: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def norm(value: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(value, np.float64)))


def test_values_and_derivatives_are_those_that_went_in() -> None:
    values = {"a": jnp.asarray([1.5, np.nan]), "b": jnp.asarray([True]), "c": jnp.arange(3)}
    for first in (0.0, np.nan):
        found = jax.jit(numerics.rounded_once)(values, jnp.asarray([first]))
        assert jax.tree.map(lambda z: z.dtype, found) == jax.tree.map(lambda z: z.dtype, values)
        jax.tree.map(np.testing.assert_array_equal, found, values)

    def square(x: Any) -> Any:
        return numerics.rounded_once(x, x) ** 2

    assert jax.grad(square)(3.0) == 6
    np.testing.assert_array_equal(jax.vmap(jax.grad(square))(jnp.arange(3.0)), [0, 2, 4])


def test_examples_that_differ_in_what_is_unknown_share_one_loop() -> None:
    def each(unknown: Any) -> Any:
        return jax.vmap(lambda u: numerics.rounded_once(jnp.ones(2), u))(unknown)

    unknown = jnp.asarray([[1.0], [np.nan], [2.0]])
    program = str(jax.make_jaxpr(each)(unknown))
    assert program.count("while[") == 1
    assert "select_n" not in program
    np.testing.assert_array_equal(each(unknown), np.ones((3, 2)))


def test_guarantee_xla_keeps_the_loop() -> None:
    """In what it makes of a program. A loop of a known number of rounds would be gone."""

    def fn(x: Any, unknown: Any) -> Any:
        y = numerics.rounded_once(few_digits(x), unknown)
        return y / jnp.linalg.norm(y)

    def known(x: Any, unknown: Any) -> Any:
        y = jax.lax.fori_loop(0, 1, lambda _, __: few_digits(x), jnp.zeros_like(x))
        return y / jnp.linalg.norm(y) + unknown

    loops = [
        (jax.jit(each).lower(rows(), jnp.ones(1)).compile().as_text() or "").count(" while(")
        for each in (fn, known)
    ]
    assert loops == [1, 0]


@pytest.mark.parametrize("moments", [1, 2])
def test_guarantee_unit_features_of_few_digits_have_norm_at_most_one(moments: int) -> None:
    features = unit_features(lambda x: 1e6 * few_digits(x), 6, moments=moments)
    for seed in SEEDS:
        (found,) = unlucky_compiler.computed(
            features.weighted_sum, rows(seed=seed), np.ones(1, np.float32), seed=seed
        )
        assert norm(found) <= 1


def test_guarantee_gradients_of_dense_networks_have_norm_at_most_one() -> None:
    """Of hidden units whose inputs cancel."""
    module = tangent.FullyConnected1(8, 2)
    params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, 6)))

    def apply_fn(theta: Any, x: Any) -> Any:
        return module.apply(theta, 1e6 * few_digits(x))

    features = entk_map(apply_fn, params, 6)
    for seed in SEEDS:
        (found,) = unlucky_compiler.computed(
            features.weighted_sum, rows(seed=seed), np.ones(1, np.float32), seed=seed
        )
        assert norm(found) <= 1


def test_guarantee_gradients_of_few_digits_are_clipped_by_their_own_norm() -> None:
    def loss(theta: Any, x: Any) -> Any:
        return few_digits(x @ theta["w"])[0] + jnp.sum(few_digits(theta["b"] * x))

    def total(w: Any, b: Any, x: Any, mask: Any) -> Any:
        params = {"w": w, "b": b}
        found = clipping.sum_clipped_grads(loss, params, x, mask, clip_norm=1e-9)
        return jnp.concatenate([found["w"].reshape(-1), found["b"]])

    with numerics.float64():
        for seed in SEEDS:
            args = rows(6, 1, seed), rows(1, 6, seed + 50)[0], rows(1, 6, seed + 99)
            (found,) = unlucky_compiler.computed(total, *args, np.ones(1, bool), seed=seed)
            assert norm(found) <= 1e-9 * (1 + 1e-9)


def test_guarantee_confident_teachers_clip_residuals_of_few_digits() -> None:
    """Softmax gives 1 - 1e-7, and the label takes 1 from that."""

    def total(weights: Any, phi: Any, labels: Any, mask: Any) -> Any:
        return classifier.sum_clipped_grads(weights, phi, labels, mask, clip_norm=1e-9)

    weights = np.zeros((6, 3), np.float32)
    weights[:, 0] = 16.0 / 6
    for seed in SEEDS:
        phi = (1 + 0.01 * rows(seed=seed)).astype(np.float32)
        args = weights, phi, np.zeros(1, np.int32), np.ones(1, bool)
        (found,) = unlucky_compiler.computed(total, *args, seed=seed)
        assert 0 < norm(found) <= 1e-9 * (1 + 2e-6)
