"""Feature maps at toy size, of networks and explicit, and rows to embed."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdp import numerics
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.tangent import entk_map
from jaxdp.networks import tangent

N, CLASSES = 40, 3
NETWORKS: dict[str, tuple[Any, int]] = {
    "fc_1l": (tangent.FullyConnected1(16, 4), 12),
    "fc_2l": (tangent.FullyConnected2((10, 6), 4), 12),
    "cnn_2l": (tangent.ColumnNetwork((5, 7), 2), 6),
    "cnn2d": (tangent.Convolutional((4, 4, 2), 3, 5), 32),
    "lenet5": (tangent.OneLogit((8, 8, 1), residual=False), 64),
}


def rows(dim: int, n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (n, dim)).astype(np.float32)


def labels(n: int = N) -> np.ndarray:
    return np.random.default_rng(1).integers(0, CLASSES, n).astype(np.int32)


def network_map(name: str) -> tuple[FeatureMap, Any, Any, int]:
    module, dim = NETWORKS[name]
    params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, dim)))
    return entk_map(module.apply, params, dim), module, params, dim


def explicit_maps() -> dict[str, tuple[FeatureMap, int]]:
    """Return the same objects each time, as jax knows what it has compiled by them."""
    return _explicit_maps(numerics.has_float64())


@functools.cache
def _explicit_maps(wide: bool) -> dict[str, tuple[FeatureMap, int]]:
    del wide  # arrays below are as long as the mode in which they are made has them
    linear = jax.random.normal(jax.random.key(1), (5, 9))

    def feature_fn(x: jax.Array) -> jax.Array:
        return jnp.tanh(jnp.matmul(x, linear, precision="highest"))

    fc_1l, _, _, dim = network_map("fc_1l")
    unit = feature_maps.unit_features(feature_fn, 5)
    squares = feature_maps.unit_features(lambda x: feature_fn(x) ** 2, 5)
    return {
        "joined": (feature_maps.joined([(unit, 0.3), (squares, 0.7)]), 5),
        "entk": (fc_1l, dim),
        "unit": (feature_maps.unit_features(feature_fn, 5), 5),
        "two moments": (feature_maps.unit_features(feature_fn, 5, moments=2), 5),
    }
