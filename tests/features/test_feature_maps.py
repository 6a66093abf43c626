"""Norms of features, which privacy rests on, and maps that are made of others."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from support.example_maps import CLASSES, explicit_maps, rows

from jaxdp.data import Codec
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.tangent import entk_map
from jaxdp.networks import tangent


@pytest.mark.parametrize("name", ["entk", "unit", "two moments", "joined"])
def test_guarantee_features_have_norm_at_most_one(name: str) -> None:
    features, dim = explicit_maps()[name]
    one = jax.jit(lambda row: features.weighted_sum(row[None], jnp.ones(1)))
    for scale in (1e-12, 1e-3, 1.0, 1e3, 1e15):
        for row in rows(dim, 5) * np.float32(scale):
            norm = float(np.linalg.norm(np.asarray(one(jnp.asarray(row)), np.float64)))
            assert norm <= 1
            if scale >= 1e-3:  # squares of smaller ones vanish in float32
                assert norm > 1 - 1e-3


def test_joined_maps_have_the_mean_of_their_kernels_and_distances() -> None:
    def one(by: float) -> FeatureMap:
        return feature_maps.summed_features(lambda x, w: w @ jnp.tanh(by * x) / 3, 5, diameter=by)

    a, b = one(1.5), one(2.0)
    both = feature_maps.joined([(a, 0.2), (b, 0.8)])
    x, z = rows(5, 2)[:, None]

    def kernel(features: FeatureMap) -> float:
        phi, other = (features.weighted_sum(jnp.asarray(row), jnp.ones(1)) for row in (x, z))
        assert phi.shape == (features.dim,)
        return float(phi @ other)

    assert kernel(both) == pytest.approx(0.2 * kernel(a) + 0.8 * kernel(b), rel=1e-5)
    assert both.diameter**2 == pytest.approx(0.2 * 1.5**2 + 0.8 * 2.0**2)
    for shares in ((0.5, 0.6), (1.0, 0.0), (1.5, -0.5)):
        with pytest.raises(ValueError, match="shares must be above 0"):
            feature_maps.joined(list(zip((a, b), shares, strict=True)))
    with pytest.raises(ValueError, match="shares must be above 0"):
        feature_maps.joined([])


def unit_maps() -> dict[str, FeatureMap]:
    module = tangent.FullyConnected1(16, CLASSES)
    params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, 6)))
    bare = jax.tree.map(lambda leaf: leaf if leaf.ndim == 2 else jnp.zeros_like(leaf), params)
    return {
        "unit": feature_maps.unit_features(lambda rows: rows, 6),
        "two moments": feature_maps.unit_features(lambda rows: rows, 6, moments=2),
        "entk": entk_map(module.apply, bare, 6),
    }


@pytest.mark.parametrize("name", ["unit", "two moments", "entk"])
def test_guarantee_no_row_has_features_of_a_norm_above_one(name: str) -> None:
    """Squares of small values underflow, those of large ones overflow; neither may show."""
    features = unit_maps()[name]
    total = jax.jit(features.weighted_sum)
    direction = np.random.default_rng(0).normal(size=6)
    for exponent in (*range(-45, 0), 0, *range(1, 38)):
        row = (direction * 10.0**exponent).astype(np.float32)[None]
        norm = np.linalg.norm(np.asarray(total(jnp.asarray(row), jnp.ones(1)), np.float64))
        assert norm <= 1
    assert np.linalg.norm(total(jnp.asarray(direction[None], jnp.float32), jnp.ones(1))) > 0.99


@pytest.mark.parametrize("name", ["unit", "two moments", "entk"])
def test_guarantee_no_row_spoils_the_sum_of_the_others(name: str) -> None:
    features = unit_maps()[name]
    good = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    total = jax.jit(features.weighted_sum)
    alone = np.asarray(total(jnp.asarray(good), jnp.ones(3)))
    for bad in (1e20, 3e38, np.inf, np.nan):
        both = np.concatenate([good, np.full((1, 6), bad, np.float32)])
        found = np.asarray(total(jnp.asarray(both), jnp.ones(4)))
        assert np.linalg.norm(found - alone) <= 1 + 1e-6


def test_guarantee_gradients_that_are_no_numbers_add_exactly_nothing() -> None:
    """Their norm is no number either: 0 in its place would be taken for a row of zeros."""

    def network(params: Any, x: Array) -> Array:
        squares = x * x
        return jnp.sum((squares - squares / 2) * params["scale"], axis=1)

    features = entk_map(network, {"scale": jnp.ones(3)}, 3)
    good = jnp.array([[1.0, 2.0, 3.0]])
    both = jnp.concatenate([good, jnp.full((1, 3), 1e20)])  # infinity less infinity
    total = jax.jit(features.weighted_sum)
    np.testing.assert_allclose(total(both, jnp.ones(2)), total(good, jnp.ones(1)), rtol=1e-6)


def test_gradients_of_a_network_move_no_row_that_has_none() -> None:
    """A black image may have a gradient of 0, and its generator learns from the other images."""

    def network(params: Any, x: Array) -> Array:
        return jax.nn.relu(x @ params["first"]) @ params["last"]

    params = {"first": jnp.eye(3, 4), "last": jnp.ones(4)}
    features = entk_map(network, params, 3)
    assert features.factors is None  # two passes
    rows = jnp.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])

    @jax.jit
    @jax.grad
    def moved(x: Array) -> Array:
        return jnp.sum(features.weighted_sum(x, jnp.ones(len(x))) ** 2)

    found = np.asarray(moved(rows))
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_allclose(found[1:], moved(rows[1:]), rtol=1e-6)


@pytest.mark.parametrize("moments", [1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_guarantee_a_row_that_is_not_finite_adds_exactly_nothing(moments: int, bad: float) -> None:
    """Also where the features of a row of zeros, which takes its place, are not zero."""
    features = feature_maps.unit_features(jnp.cos, 6, moments=moments)
    good = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    total = jax.jit(features.weighted_sum)
    alone = total(jnp.asarray(np.insert(good, 1, 0, axis=0)), jnp.asarray([1.0, 0, 1, 1]))
    spoiled = np.insert(good, 1, 0, axis=0)
    spoiled[1, 2] = bad
    np.testing.assert_array_equal(total(jnp.asarray(spoiled), jnp.ones(4)), alone)
    assert np.linalg.norm(alone) > 0.5


def test_guarantee_features_known_by_sums_stay_below_one() -> None:
    """By the margin that changes of later chunks need: these have norm 1 without it."""
    features = feature_maps.summed_features(lambda x, w: jnp.sum(w)[None], 1)
    one = float(features.weighted_sum(jnp.zeros((1, 3)), jnp.ones(1))[0])
    assert 0.999 < one < 1 - 4e-4


def test_features_of_stored_examples_are_those_of_their_rows() -> None:
    features = feature_maps.unit_features(jnp.tanh, 4)
    stored = jnp.arange(12, dtype=jnp.uint8).reshape(3, 4)
    weights = jnp.array([1.0, -2.0, 0.5])
    codec = Codec(low=2.0, high=18.0, shift=0.0, scale=1.0)
    found = feature_maps.of_stored(features, codec.to_unit).weighted_sum(stored, weights)
    expected = features.weighted_sum((jnp.asarray(stored, jnp.float32) - 2) / 16, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["unit", "two moments", "joined"])
def test_all_classes_are_embedded_in_one_product(name: str) -> None:
    """With the same result and gradient as class by class; a broken row leaves the others alone."""
    features, dim = explicit_maps()[name]
    assert features.explicit
    blocks = jnp.asarray(rows(dim, 4 * CLASSES)).reshape(CLASSES, 4, dim)
    blocks = blocks.at[1, 2, 0].set(jnp.inf)
    weights = jnp.asarray([0.5, 0.3, 0.2])

    def of(features: FeatureMap) -> tuple[jax.Array, jax.Array]:
        def embedding(x: jax.Array) -> jax.Array:
            return feature_maps.block_means(features, x, weights)

        slope = jax.grad(lambda x: jnp.sum(embedding(x) ** 3))
        return jax.jit(lambda x: (embedding(x), slope(x)))(blocks)

    for found, expected in zip(of(features), of(features._replace(explicit=False)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
