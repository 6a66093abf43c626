"""Features of an image in many small random ConvNets, each of which sees it moved in its own way.

    phi(x) = (phi_1(x), ..., phi_K(x)) / sqrt(K),
    phi_k(x) = (f_k(T_k x) - m_k) / |f_k(T_k x) - m_k|

`f_k` is the trunk of a ConvNet with random weights, `T_k` one movement of dataset condensation,
drawn once, and `m_k` the mean of `f_k(T_k z)` over synthetic images z: what all images have in
common would take most of the norm and tell nothing. Class means of phi are one release. Images that
agree with them in every network train networks, which are random when they begin.

Privacy in plain words: weights, movements and means come from public constants alone.

References:
    Zhao & Bilen (2023), "Dataset condensation with distribution matching", equation 6 (networks and
        movements, drawn anew at every step there).
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxdp import numerics
from jaxdp.features import base as feature_maps
from jaxdp.features import levels
from jaxdp.features.base import FeatureMap
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.perceptual import random_weights
from jaxdp.features.public_images import dead_leaves_images
from jaxdp.features.whitening import Cached, Watch
from jaxdp.images.siamese import siamese_augmented
from jaxdp.networks.classifiers import ConvNetTrunk

_WIDTH = 32
# Of weights, movements and synthetic images; part of the method, not of a run.
_SEED, _IMAGES_SEED, _NUM_IMAGES = 20242, 20243, 1000
# Brings images to mean 0 and deviation 1, about: movements change brightness by up to a half.
_GREY, _CONTRAST = 0.5, 0.25

Number = int | Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class RandomNetworks:
    """The networks of images of one shape.

    Attributes:
        image_shape: (h, w, channels) of the rows in [0, 1] that are seen; sides above 32 pixels are
            averaged down to 32.
        means: (K, p) of every network's features on synthetic images.
    """

    image_shape: tuple[int, int, int]
    means: np.ndarray

    @property
    def num_networks(self) -> int:
        """Number of networks K."""
        return len(self.means)

    def one(self, number: Number) -> FeatureMap:
        """Return the map of one network, of norm 1 at most; its number may be traced."""
        raw, mean = _features(self.image_shape), jnp.asarray(self.means)[number]
        return feature_maps.unit_features(
            lambda rows: raw(number, rows) - mean, math.prod(self.image_shape)
        )

    def all(self) -> FeatureMap:
        """Return the map of all networks, one after another.

        Guarantee:
            Every row's features have norm at most 1: each of the K parts has norm at most
            1 / sqrt(K), see `features.base.unit_features`.
        """
        count, width = self.means.shape

        def weighted_sum(x: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " p"]:
            parts = jax.lax.map(
                lambda number: self.one(number).weighted_sum(x, weights), jnp.arange(count)
            )
            return parts.reshape(-1) / jnp.sqrt(jnp.asarray(count, x.dtype))

        return FeatureMap(count * width, weighted_sum)

    def part(self, means: Float[Array, "c q"], number: Number) -> Float[Array, "c p"]:
        """Return class means of one network, on the scale of `one`, out of those of `all`."""
        count, width = self.means.shape
        return means.reshape(-1, count, width)[:, number] * math.sqrt(count)


def random_networks(
    image_shape: tuple[int, int, int], count: int, *, cached: Cached
) -> RandomNetworks:
    """Return the first `count` networks, which are the same in every run.

    Args:
        image_shape: (h, w, channels) of the rows that are seen.
        count: K >= 1.
        cached: `(description, compute) -> array`; may keep the means.

    Raises:
        ValueError: there is no network, or images have other than 1, 3 or 4 channels.
    """
    if count < 1:
        raise ValueError(f"need a network or more, got {count}")
    shape = levels.shrunk_shape(image_shape, levels.COARSE)
    what = {
        "what": "means of random networks on dead leaves, version 1",
        "shape": list(shape),
        "networks": count,
        "images": _NUM_IMAGES,
    }
    return RandomNetworks(image_shape, cached(what, functools.partial(_public_means, shape, count)))


def num_features(image_shape: tuple[int, int, int]) -> int:
    """Return how many features a network has of an image."""
    row = jax.ShapeDtypeStruct((1, math.prod(image_shape)), jnp.float32)
    return jax.eval_shape(functools.partial(_features(image_shape), 0), row).shape[1]


def _public_means(shape: tuple[int, int, int], count: int, watch: Watch) -> np.ndarray:
    with numerics.float32():
        images = dead_leaves_images(jax.random.key(_IMAGES_SEED), _NUM_IMAGES, shape)
        raw = _features(shape)
        mean = jax.jit(lambda number: jnp.mean(raw(number, images), axis=0)).lower(0).compile()
        numbers = watch(range(count))
        return np.stack([*numerics.side_by_side(lambda k: np.asarray(mean(k)), numbers)])


def _features(image_shape: tuple[int, int, int]) -> "functools.partial[Array]":
    """Return `(number, rows) -> (n, p)`, the features of a network as they are."""
    shape = levels.shrunk_shape(image_shape, levels.COARSE)
    return functools.partial(_seen_by, levels.shrunk(image_shape, levels.COARSE), shape)


def _seen_by(
    see: FeatureFn, shape: tuple[int, int, int], number: Number, rows: Float[Array, "n d"]
) -> Float[Array, "n p"]:
    weights_key, movement_key = jax.random.split(
        jax.random.fold_in(jax.random.key(_SEED), jnp.asarray(number, jnp.uint32))
    )
    images = (see(rows).reshape(-1, *shape) - _GREY) / _CONTRAST
    # Photographs have colours; digits and letters are not reflected.
    moved = siamese_augmented(movement_key, images, reflect=shape[2] > 1, alike=True)
    network = ConvNetTrunk(_WIDTH)
    example = jax.ShapeDtypeStruct((1, *shape), jnp.float32)
    weights = random_weights(jax.eval_shape(network.init, weights_key, example), weights_key)
    features: Array = network.apply(weights, moved)  # type: ignore[assignment]
    return features
