"""Features of random networks: against one network at a time, and the norm that is accounted."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import public_images, random_networks
from jaxdp.features.perceptual import random_weights
from jaxdp.features.random_networks import RandomNetworks
from jaxdp.images.siamese import siamese_augmented
from jaxdp.methods.steps import compute_anew
from jaxdp.networks.classifiers import ConvNetTrunk

SHAPE, DIM, K = (8, 8, 3), 192, 3
# First features of a ramp, not centred, in the first two networks.
GOLDEN = (
    [0.1761, 0.1944, 0.1695, 0.1971, 0.1641, 0.1962],
    [0.1710, 0.2049, 0.1649, 0.1721, 0.1720, 0.1701],
)


@pytest.fixture(scope="module")
def networks() -> RandomNetworks:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_networks, "_NUM_IMAGES", 20)
        return random_networks.random_networks(SHAPE, K, cached=compute_anew)


@pytest.fixture(scope="module")
def weighted_sum(networks: RandomNetworks) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return the sum over all networks, compiled once for every test."""
    return jax.jit(networks.all().weighted_sum)


@pytest.fixture(scope="module")
def rows() -> jax.Array:
    return jax.random.uniform(jax.random.key(0), (5, DIM))


@jax.jit
def naive(number: int | jax.Array, rows: jax.Array) -> jax.Array:
    """Return what one network makes of images that are moved, each drawn as the module says."""
    key = jax.random.fold_in(jax.random.key(random_networks._SEED), jnp.uint32(number))
    weights_key, movement_key = jax.random.split(key)
    images = (rows.reshape(-1, *SHAPE) - 0.5) / 0.25
    moved = siamese_augmented(movement_key, images, reflect=True, alike=True)
    trunk = ConvNetTrunk(32)
    shapes = jax.eval_shape(trunk.init, weights_key, moved[:1])
    return trunk.apply(random_weights(shapes, weights_key), moved)


def test_features_are_those_of_networks_less_their_public_means(
    networks: RandomNetworks, weighted_sum: Callable, rows: jax.Array
) -> None:
    key = jax.random.key(random_networks._IMAGES_SEED)
    leaves = public_images.dead_leaves_images(key, 20, SHAPE)
    weights = jax.random.uniform(jax.random.key(1), (5,))
    expected = []
    for number in range(K):
        phi = np.asarray(naive(number, rows)) - np.asarray(naive(number, leaves)).mean(axis=0)
        phi = phi / np.linalg.norm(phi, axis=1, keepdims=True) / np.sqrt(K)
        expected.append(np.asarray(weights) @ phi)
    found = weighted_sum(rows, weights)
    assert found.shape == (networks.all().dim,)
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-3)


def test_a_part_of_all_is_the_map_of_one_network(
    networks: RandomNetworks, weighted_sum: Callable, rows: jax.Array
) -> None:
    weights = jnp.ones(5)
    means = weighted_sum(rows, weights)[None]
    one = jax.jit(lambda number: networks.one(number).weighted_sum(rows, weights))
    for number in range(K):
        np.testing.assert_allclose(networks.part(means, number)[0], one(number), atol=1e-4)
    assert networks.one(0).dim == random_networks.num_features(SHAPE)


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1.0, 1e6, 1e30, float("nan")])
def test_guarantee_features_of_any_row_have_norm_at_most_one(
    weighted_sum: Callable, rows: jax.Array, scale: float
) -> None:
    for row in scale * (rows - 0.5):
        norm = float(jnp.linalg.norm(weighted_sum(row[None], jnp.ones(1)).astype(jnp.float32)))
        assert norm <= 1
        assert norm == 0 or norm > 0.99 or scale not in (0.0, 1.0)
    assert float(jnp.linalg.norm(weighted_sum(rows[:1], jnp.ones(1)))) > 0.999


def test_guarantee_a_row_counts_for_itself_alone(weighted_sum: Callable, rows: jax.Array) -> None:
    first = jnp.zeros(5).at[0].set(1.0)
    others = rows.at[1].set(7.0).at[2].set(jnp.nan)
    np.testing.assert_array_equal(weighted_sum(rows, first), weighted_sum(others, first))
    # Nor does its place matter: a record that is left out moves all that come after it.
    moved = weighted_sum(rows[::-1], first[::-1])
    np.testing.assert_allclose(moved, weighted_sum(rows, first), atol=1e-5)


def test_networks_are_the_same_in_every_version() -> None:
    """Released class means are of them for ever."""
    networks = RandomNetworks(SHAPE, np.zeros((2, 32), np.float32))
    ramp = jnp.linspace(0, 1, DIM)[None]
    one = jax.jit(lambda number: networks.one(number).weighted_sum(ramp, jnp.ones(1)))
    for number, golden in enumerate(GOLDEN):
        np.testing.assert_allclose(one(number)[:6], golden, atol=1e-3)


def test_large_images_are_seen_as_their_averages() -> None:
    small = jax.random.uniform(jax.random.key(0), (1, 32 * 32))
    large = jnp.repeat(jnp.repeat(small.reshape(32, 32), 3, axis=0), 3, axis=1).reshape(1, -1)
    means = np.zeros((1, random_networks.num_features((32, 32, 1))), np.float32)
    few, many = (RandomNetworks((side, side, 1), means).one(0) for side in (32, 96))
    assert few.dim == many.dim
    np.testing.assert_allclose(
        jax.jit(many.weighted_sum)(large, jnp.ones(1)),
        jax.jit(few.weighted_sum)(small, jnp.ones(1)),
        atol=1e-4,
    )


def test_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="need a network or more"):
        random_networks.random_networks(SHAPE, 0, cached=compute_anew)
