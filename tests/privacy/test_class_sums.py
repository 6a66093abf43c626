"""Sums by class against per-example float64 oracles, and the bounds that privacy rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from support.example_maps import CLASSES, NETWORKS, explicit_maps, labels, network_map, rows
from support.worst_sums import MANY, worst

from jaxdp import numerics
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.privacy import class_sums
from jaxdp.privacy.mechanism import private_key


def naive_features(module: Any, params: Any, x: np.ndarray) -> np.ndarray:
    """Each example's gradient by itself, in float64, divided by its norm."""
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), params)
    gradient = jax.jit(jax.grad(lambda theta, row: module.apply(theta, row[None])[0]))
    found = []
    for row in x.astype(np.float64):
        leaves = jax.tree.leaves(gradient(wide, jnp.asarray(row)))
        g = np.concatenate([np.asarray(leaf).reshape(-1) for leaf in leaves])
        found.append(g / np.linalg.norm(g))
    return np.array(found)


def sums_of(features: FeatureMap, x: np.ndarray, y: np.ndarray, chunk_size: int = 7) -> np.ndarray:
    chunks = class_sums.labelled_chunks(x, y, num_classes=CLASSES, chunk_size=chunk_size)
    return np.asarray(class_sums.class_sums(features, chunks, num_classes=CLASSES))


@pytest.mark.parametrize("name", list(NETWORKS))
def test_embedding_equals_the_naive_one_per_example(name: str, float64: None) -> None:
    features, module, params, dim = network_map(name)
    x, y = rows(dim), labels()
    oracle = np.eye(CLASSES)[y].T @ naive_features(module, params, x)
    found = sums_of(features, x, y)
    scale = np.abs(oracle).max()
    # 5e-4 of it is the margin that keeps norms below 1.
    np.testing.assert_allclose(found * (1 + 5e-4), oracle, atol=1e-6 * scale)


@pytest.mark.parametrize("name", ["entk", "unit", "two moments", "joined"])
def test_guarantee_replacing_one_example_moves_the_sum_by_at_most_two(name: str) -> None:
    features, dim = explicit_maps()[name]
    x, y = rows(dim), labels()
    before = sums_of(features, x, y)
    for row, label in ((np.zeros(dim), 0), (-x[5] * 100, y[5]), (x[7], (y[5] + 1) % CLASSES)):
        x2, y2 = x.copy(), y.copy()
        x2[5], y2[5] = row, label
        assert np.linalg.norm(sums_of(features, x2, y2) - before) <= 2


def test_guarantee_the_bound_of_two_is_attained() -> None:
    """Odd features: an example and its mirror image are opposite, as far apart as can be."""
    features, dim = explicit_maps()["unit"]
    x, y = rows(dim), labels()
    mirrored = x.copy()
    mirrored[5] = -x[5]
    moved = np.linalg.norm(sums_of(features, mirrored, y) - sums_of(features, x, y))
    assert moved == pytest.approx(2, abs=1e-3)
    other_class = y.copy()
    other_class[5] = (y[5] + 1) % CLASSES
    moved = np.linalg.norm(sums_of(features, x, other_class) - sums_of(features, x, y))
    assert moved == pytest.approx(np.sqrt(2), abs=1e-3)


@pytest.mark.parametrize("name", ["entk", "unit", "two moments", "joined"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_guarantee_rows_that_are_not_finite_contribute_exactly_zero(name: str, bad: float) -> None:
    features, dim = explicit_maps()[name]
    x, y = rows(dim), labels()
    spoilt = np.concatenate([x, np.full((1, dim), bad, np.float32)])
    with_bad = sums_of(features, spoilt, np.append(y, 0).astype(np.int32), chunk_size=64)
    without = sums_of(features, x, y, chunk_size=64)
    assert np.all(np.isfinite(with_bad))
    difference = with_bad - without
    if np.isfinite(bad):  # a huge row may have features, of norm at most 1
        assert np.linalg.norm(difference) <= 1
    else:
        np.testing.assert_allclose(difference, 0, atol=1e-6)


def test_guarantee_chunks_hold_every_example_once_in_its_place() -> None:
    x, y = rows(4, 23), labels(23)
    chunks = class_sums.labelled_chunks(x, y, num_classes=CLASSES, chunk_size=5)
    assert chunks.num_chunks == 5
    # One chunk beyond the last one, as devices may ask for, holds nothing.
    held, classes = (
        np.concatenate(each) for each in zip(*(chunks.arrays(at) for at in range(6)), strict=True)
    )
    np.testing.assert_array_equal(held, np.concatenate([x, np.zeros((7, 4))]))
    np.testing.assert_array_equal(classes, [*y, *[-1] * 7])
    assert chunks.x is x  # no copy


def test_guarantee_who_watches_sums_sees_numbers_of_chunks_alone() -> None:
    """A bar moves as often, and by as much, for whatever data and classes."""
    features, dim = explicit_maps()["unit"]
    seen = []

    def watch(parts: Sequence[int]) -> Sequence[int]:
        seen.append(list(parts))
        return parts

    for y in (np.zeros(23, int), np.arange(23) % CLASSES):
        chunks = class_sums.labelled_chunks(rows(dim, 23), y, num_classes=CLASSES, chunk_size=5)
        watched = class_sums.class_sums(features, chunks, num_classes=CLASSES, watch=watch)
        np.testing.assert_array_equal(watched, sums_of(features, rows(dim, 23), y, 5))
    assert seen == [list(range(5))] * 2


@pytest.mark.parametrize("chunk_size", [1, 7, 100])
def test_chunk_size_does_not_matter(chunk_size: int) -> None:
    features, dim = explicit_maps()["unit"]
    x, y = rows(dim), labels()
    np.testing.assert_allclose(
        sums_of(features, x, y, chunk_size), sums_of(features, x, y), atol=1e-5
    )


def test_bad_arguments_are_refused() -> None:
    x = rows(4)
    with pytest.raises(ValueError, match="chunk_size"):
        class_sums.labelled_chunks(x, labels(), num_classes=CLASSES, chunk_size=0)
    with pytest.raises(ValueError, match="labels must be"):
        class_sums.labelled_chunks(x, labels() + 1, num_classes=CLASSES, chunk_size=4)
    with pytest.raises(ValueError, match="one label per row"):
        class_sums.labelled_chunks(x, labels(3), num_classes=CLASSES, chunk_size=4)
    with pytest.raises(ValueError, match="moments"):
        feature_maps.unit_features(lambda x: x, 4, moments=3)


def test_block_means_is_the_embedding_of_equal_blocks() -> None:
    features, dim = explicit_maps()["unit"]
    x = rows(dim, 4 * CLASSES)
    y = np.repeat(np.arange(CLASSES), 4).astype(np.int32)
    blocks = jnp.asarray(x).reshape(CLASSES, 4, dim)
    weights = jnp.full(CLASSES, 1 / CLASSES)
    found = jax.jit(lambda x: feature_maps.block_means(features, x, weights))(blocks)
    np.testing.assert_allclose(found, sums_of(features, x, y) / len(x), atol=1e-6)


def test_guarantee_class_sums_are_float64() -> None:
    """Four thousand chunks of the same row: in float32 their sum would lose digits."""
    features = feature_maps.summed_features(lambda x, w: jnp.sum(w)[None] / 3, 1)

    def sums(count: int) -> np.ndarray:
        x, y = np.zeros((count, 1), np.float32), np.zeros(count, np.int32)
        chunks = class_sums.labelled_chunks(x, y, num_classes=1, chunk_size=1)
        return np.asarray(class_sums.class_sums(features, chunks, num_classes=1))

    assert sums(1).dtype == np.float64
    np.testing.assert_allclose(sums(4000), 4000 * sums(1), rtol=1e-12)


def of_values(kind: str) -> FeatureMap:
    """Features that are a row's two values, as each kind of map has them; added up in order."""

    def weighted_sum(x: jax.Array, weights: jax.Array) -> jax.Array:
        def add(total: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
            return total + row, None

        return jax.lax.scan(add, jnp.zeros(2), weights[:, None] * x)[0]

    def factors(x: jax.Array) -> list[tuple[jax.Array, jax.Array]]:
        return [(jnp.ones((len(x), 1, 1)), x[:, None])]

    return FeatureMap(
        2,
        weighted_sum,
        explicit=kind == "explicit",
        factors=factors if kind == "factors" else None,
    )


@pytest.mark.parametrize("kind", ["explicit", "summed"])
def test_guarantee_no_examples_let_one_move_the_sum_by_more_than_one(kind: str) -> None:
    """Examples that were chosen so that sums of float32 move by 1.3 (`test_sums`)."""
    features = of_values(kind)

    def total(rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
        # An example of a class of its own is left out in its place.
        y = np.where(mask, 0, 1)
        return sums_of(features, np.stack([rows, np.zeros_like(rows)], axis=1), y, MANY)[0]

    assert 0.9 < worst(total, 1 / (1 + 5e-4)) <= 1.0


def test_guarantee_factors_are_added_up_in_float64() -> None:
    x = np.random.default_rng(0).random((1000, 2)).astype(np.float32)
    y = labels(1000)
    exact = np.eye(CLASSES)[y].T @ x.astype(np.float64)
    np.testing.assert_allclose(sums_of(of_values("factors"), x, y, 500), exact, rtol=1e-14)


@pytest.mark.parametrize("kind", ["explicit", "summed", "factors"])
def test_guarantee_another_class_of_one_example_moves_no_other(kind: str) -> None:
    """Chunks that were sorted by class moved all later examples of both classes."""
    x = np.random.default_rng(0).random((2000, 2)).astype(np.float32)
    y = np.arange(2000) % CLASSES
    other = y.copy()
    other[3] = (y[3] + 1) % CLASSES
    features = of_values(kind)
    moved = sums_of(features, x, other, 500) - sums_of(features, x, y, 500)
    # Two blocks of fifty at most are rounded otherwise, each by 50^2 2^-24.
    np.testing.assert_allclose(moved[other[3]], x[3], atol=1.5e-4)
    np.testing.assert_allclose(moved[y[3]], -x[3], atol=1.5e-4)
    assert np.count_nonzero(np.any(moved, axis=1)) == 2


@pytest.mark.parametrize("name", list(NETWORKS))
@pytest.mark.parametrize("skewed", [False, True])
def test_class_sums_are_those_of_weights(name: str, skewed: bool) -> None:
    """Whatever way a map has of summing, and for classes of any size."""
    features, _, _, dim = network_map(name)
    x, y = rows(dim, 60), labels(60)
    if skewed:
        y = np.where(np.arange(60) < 50, 0, y)
    found = sums_of(features, x, y, 33)
    weights = jnp.asarray(np.arange(CLASSES)[:, None] == y, jnp.float32)
    expected = [features.weighted_sum(jnp.asarray(x), each) for each in weights]
    np.testing.assert_allclose(found, np.stack(expected), atol=1e-5)


def test_the_margin_of_features_covers_sums_of_float32() -> None:
    assert 1 / feature_maps.SUMMED_SCALE - 1 > 2 * 51 * 50 * 2.0**-24 + 1e-5
    assert class_sums._ROWS == 50


def test_guarantee_noisy_sums_have_independent_noise_on_every_entry() -> None:
    with numerics.float64():
        exact = jnp.full((3, 20_000), 7.0)
    noisy = class_sums.noisy_sums(private_key(0), exact, stddev=4.0, divisor=2.0)
    assert noisy.dtype == jnp.float32
    noise = (2 * np.asarray(noisy) - 7.0) / 4.0
    assert scipy.stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    correlations = np.corrcoef(noise)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.04  # 5.6 standard deviations
    with pytest.raises(TypeError):
        class_sums.noisy_sums(private_key(0), jnp.ones((2, 3)), stddev=4.0, divisor=2.0)
    with pytest.raises(TypeError):
        class_sums.noisy_sums(jax.random.key(0), exact, stddev=4.0, divisor=2.0)
