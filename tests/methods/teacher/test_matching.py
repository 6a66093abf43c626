"""Distribution matching: the distance against its definition, what it can tell, what it draws."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdp.methods.teacher import matching
from jaxdp.methods.teacher.matching import MatchingConfig, config_for, matching_distance
from jaxdp.networks.classifiers import ConvNetTrunk

SHAPE, C, IPC, M = (8, 8, 1), 3, 2, 40
CONFIG = MatchingConfig(image_shape=SHAPE, batch_size=30, width=8)
KEY = jax.random.key(5)


@pytest.fixture(scope="module")
def images() -> jax.Array:
    """Every class has a bright row of pixels of its own."""
    rows = np.random.default_rng(0).random((C, M, *SHAPE)) / 4
    for label in range(C):
        rows[label, :, 2 * label + 1] += 0.7
    return jnp.asarray(rows.reshape(C, M, -1), jnp.float32)


def some(images: jax.Array) -> jax.Array:
    return images[:, :IPC].reshape(C * IPC, -1)


compiled = jax.jit(matching_distance, static_argnames="config")


def still_distance(x: jax.Array, key: jax.Array, images: jax.Array, *, config: Any) -> jax.Array:
    """The distance without movements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "siamese_augmented", lambda key, x, **_: x)
        return matching_distance(x, key, images, config=config)


still = jax.jit(still_distance, static_argnames="config")
slope = jax.jit(jax.grad(still_distance), static_argnames="config")


def distance(x: jax.Array, images: jax.Array, key: jax.Array = KEY, **changes: object) -> float:
    return float(compiled(x, key, images, config=dataclasses.replace(CONFIG, **changes)))


def test_without_movement_it_is_the_distance_of_class_means_in_a_random_network() -> None:
    """One image for each class to draw from, so the batch is known."""
    only = jax.random.uniform(jax.random.key(1), (C, 1, 64))
    x = jax.random.uniform(jax.random.key(2), (C * IPC, 64))
    network = ConvNetTrunk(8)
    variables = jax.jit(network.init)(jax.random.split(KEY, 3)[0], jnp.zeros((1, *SHAPE)))
    apply = jax.jit(network.apply)

    def means(rows: jax.Array) -> np.ndarray:
        seen = (rows - 0.4) / 0.3
        features = np.asarray(apply(variables, seen.reshape(-1, *SHAPE)), np.float64)
        return features.reshape(C, -1, features.shape[1]).mean(axis=1)

    target = means(only)
    expected = np.sum((means(x) - target) ** 2) / np.sum((target - target.mean(axis=0)) ** 2)
    scaled = dataclasses.replace(CONFIG, mean=0.4, deviation=0.3)
    found = float(still(x, KEY, only, config=scaled))
    assert found == pytest.approx(expected, rel=1e-3)


def test_it_is_small_for_images_of_the_same_kind_and_large_for_exchanged_classes(
    images: jax.Array,
) -> None:
    x = some(images)
    assert distance(x, images) < 0.3
    assert distance(jnp.roll(x, IPC, axis=0), images) > 1


def test_both_sides_are_moved_alike(images: jax.Array) -> None:
    """The same images on both sides stay equal, whatever the movement is."""
    only = images[:, :1]
    for seed in range(12):  # more than there are movements
        assert distance(only[:, 0], only, jax.random.key(seed)) < 1e-6


def test_network_batch_and_movement_are_drawn_by_the_key(images: jax.Array) -> None:
    x, other = some(images), jax.random.key(6)
    assert distance(x, images) == distance(x, images)
    assert distance(x, images) != distance(x, images, other)


def test_images_are_moved(images: jax.Array) -> None:
    """Movements leave means of other images no longer where they were."""
    x, only = some(images), images[:, :1]
    differences = [
        distance(x, only, jax.random.key(seed))
        != float(still(x, jax.random.key(seed), only, config=CONFIG))
        for seed in range(4)
    ]
    assert all(differences)


def test_images_that_are_all_the_same_give_a_finite_slope() -> None:
    same = jnp.full((C, M, 64), 0.5)
    x = jax.random.uniform(KEY, (C * IPC, 64))
    assert config_for(np.asarray(same), SHAPE).deviation > 0
    assert np.all(np.isfinite(slope(x, KEY, same, config=CONFIG)))


def test_descending_it_makes_images_of_each_class(images: jax.Array) -> None:
    x, adam = 0.3 + 0.05 * jax.random.uniform(KEY, (C, 64)), optax.adam(0.05)
    state = adam.init(x)
    for number in range(300):
        gradient = slope(x, jax.random.key(number), images, config=CONFIG)
        updates, state = adam.update(gradient, state)
        x = optax.apply_updates(x, updates)
    alike = np.corrcoef(x, jnp.mean(images, axis=1))[:C, C:]
    assert np.all(np.diag(alike) > 0.5)
    assert np.all(alike[~np.eye(C, dtype=bool)] < 0.2)


@pytest.mark.parametrize("changes", [{"batch_size": 0}, {"width": 0}, {"deviation": 0.0}])
def test_impossible_configurations_are_refused(changes: dict) -> None:
    with pytest.raises(ValueError, match=r">= 1|> 0"):
        dataclasses.replace(CONFIG, **changes)
