"""Public maps and images are the same where a user has switched jax's 64-bit mode on.

They are public constants of a run, and some are kept in a cache that runs of both modes read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import features, kernels, numerics
from jaxdp.features import hermite, patches, random_networks, second_layer, whitening
from jaxdp.images import augmentation
from jaxdp.images.siamese import siamese_augmented

ROWS = np.random.default_rng(0).random((6, 64)).astype(np.float32)
IMAGES = ROWS.reshape(-1, 8, 8, 1)
SHAPE = (8, 8, 1)


def key(number: int = 0) -> jax.Array:
    return jax.random.key(number)


def whitened() -> Any:
    def anew(what: dict, compute: Callable) -> np.ndarray:
        return compute(iter)

    fourier = features.fourier_features(key(), 64, num_features=8, length_scale=1.0)
    return whitening.on_dead_leaves(fourier, SHAPE, gamma=0.1, what={}, cached=anew, drawn={})


def directional() -> Any:
    phi = features.directional_fourier_features(
        lambda x: x, jnp.eye(64, dtype=jnp.float32), key(), num_features=8, length_scale=1.0
    )
    return phi(jnp.asarray(ROWS))


def augmented() -> Any:
    limits = {"max_shift": 1.0, "max_scaling": 0.1, "max_rotation": 5.0}
    return augmentation.augmented(key(), jnp.asarray(IMAGES), **limits)


def of_two_layers() -> Any:
    filters = patches.dictionary(key(), 8, 1)
    layer = second_layer.fitted(key(), filters, 8, mirror=True)
    return [filters, *layer.words, *layer[1:]]


MADE: dict[str, Callable[[], Any]] = {
    "images": lambda: features.dead_leaves_images(key(), 2, SHAPE, num_leaves=9),
    "images in colour": lambda: features.dead_leaves_images(key(), 2, (8, 8, 3), num_leaves=9),
    "fourier": lambda: features.fourier_features(key(), 64, num_features=8, length_scale=1.0)(
        jnp.asarray(ROWS)
    ),
    "fourier of directions": directional,
    "pairs of hermite": lambda: hermite.random_pairs(key(), 9, 5),
    "kernel of a layer": lambda: kernels.one_layer_entk(key(), dim=64, width=5).symmetric(
        jnp.asarray(ROWS)
    ),
    "movements": lambda: [
        siamese_augmented(key(number), jnp.asarray(IMAGES), reflect=True) for number in range(24)
    ],
    "changed images": augmented,
    "random networks": lambda: random_networks._public_means((8, 8, 1), 2, iter),
    "whitening": whitened,
    "dictionary and second layer": of_two_layers,
}


@pytest.mark.usefixtures("few_public_images")
@pytest.mark.parametrize("name", MADE)
def test_what_is_public_is_the_same_in_64_bit_mode(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_networks, "_NUM_IMAGES", 20)
    plain = jax.tree.map(np.asarray, MADE[name]())
    with numerics.float64():
        wide = jax.tree.map(np.asarray, MADE[name]())
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(wide), strict=True):
        assert other.dtype == one.dtype
        np.testing.assert_array_equal(other, one)
