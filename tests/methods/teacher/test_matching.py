"""Distribution matching: the distance against its definition, what it can tell, what it draws."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdp.methods.teacher.matching import MatchingConfig, matching_distance, random_movement
from jaxdp.networks.classifiers import ConvNetTrunk

pytestmark = pytest.mark.usefixtures("quick_compilation")

SHAPE, C, IPC, M = (8, 8, 1), 3, 2, 40
CONFIG = MatchingConfig(image_shape=SHAPE, batch_size=30, width=8)
STILL = dataclasses.replace(CONFIG, max_shift=0.0, max_scaling=0.0, max_rotation=0.0)
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
        features = np.asarray(apply(variables, rows.reshape(-1, *SHAPE)), np.float64)
        return features.reshape(C, -1, features.shape[1]).mean(axis=1)

    target = means(only)
    expected = np.sum((means(x) - target) ** 2) / np.sum((target - target.mean(axis=0)) ** 2)
    found = float(compiled(x, KEY, only, config=STILL))
    assert found == pytest.approx(expected, rel=1e-3)


def test_it_is_small_for_images_of_the_same_kind_and_large_for_exchanged_classes(
    images: jax.Array,
) -> None:
    x = some(images)
    assert distance(x, images) < 0.3
    assert distance(jnp.roll(x, IPC, axis=0), images) > 1


def test_both_sides_are_moved_alike(images: jax.Array) -> None:
    """The same images on both sides stay equal, however far they are moved."""
    only = images[:, :1]
    assert distance(only[:, 0], only, max_shift=0.3, max_rotation=90.0) < 1e-6


def test_network_batch_and_movement_are_drawn_by_the_key(images: jax.Array) -> None:
    x, other = some(images), jax.random.key(6)
    assert distance(x, images) == distance(x, images)
    assert distance(x, images) != distance(x, images, other)
    movements = [random_movement(key, CONFIG, (8, 8)) for key in (KEY, other)]
    assert np.all(np.asarray(movements[0][0]) != np.asarray(movements[1][0]))


def test_movements_stay_within_their_limits() -> None:
    config = dataclasses.replace(CONFIG, max_shift=0.25, max_scaling=0.2, max_rotation=30.0)
    keys = jax.random.split(jax.random.key(0), 500)
    matrices, shifts = jax.vmap(lambda key: random_movement(key, config, (8, 12)))(keys)
    limits = np.array([2.0, 3.0])
    assert np.all(np.abs(shifts) <= limits)
    assert np.all(np.max(np.abs(shifts), axis=0) > 0.9 * limits)
    scales = 1 / np.linalg.norm(matrices, axis=2)
    assert 0.8 - 1e-5 <= scales.min() < 0.85
    assert 1.15 < scales.max() <= 1.2 + 1e-5
    angles = np.degrees(
        np.arctan2(matrices[:, 1, 0] * scales[:, 1], matrices[:, 1, 1] * scales[:, 1])
    )
    assert 27 < np.max(np.abs(angles)) <= 30 + 1e-4


def test_descending_it_gives_each_class_its_row(images: jax.Array) -> None:
    slope = jax.jit(jax.grad(matching_distance), static_argnames="config")
    x, adam = jnp.full((C, 64), 0.3), optax.adam(0.1)
    state = adam.init(x)
    for number in range(60):
        gradient = slope(x, jax.random.key(number), images, config=STILL)
        updates, state = adam.update(gradient, state)
        x = optax.apply_updates(x, updates)
    bright = np.asarray(x).reshape(C, 8, 8).mean(axis=2)
    np.testing.assert_array_equal(np.argmax(bright, axis=1), [1, 3, 5])


@pytest.mark.parametrize(
    "changes", [{"batch_size": 0}, {"width": 0}, {"max_shift": -0.1}, {"max_scaling": 1.0}]
)
def test_impossible_configurations_are_refused(changes: dict) -> None:
    with pytest.raises(ValueError, match=r">= 1|>= 0"):
        dataclasses.replace(CONFIG, **changes)
