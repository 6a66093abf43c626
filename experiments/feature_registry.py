"""The embedded features by name: how each map is built from its public configuration."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from experiments import public_map
from experiments.errors import InputError
from experiments.ntk_settings import FeatureConfig, parse_widths
from jaxdp.features import base as feature_maps
from jaxdp.features import fourier, hermite, image_maps, scattering
from jaxdp.features.base import FeatureMap
from jaxdp.features.tangent import entk_map
from jaxdp.networks import tangent

_NUM_FREQUENCIES = 10000
_NUM_WAVES, _WHITEN = 4000, 0.1
# 5 for 28 x 28 pixels in [0, 1], whose images are about 10 apart.
_NUM_PIXEL_WAVES, _PIXEL_SHARE, _PIXEL_SCALE = 2000, 0.2, 0.18
_HERMITE_ORDER = 100
_PRODUCT_ORDER, _NUM_PAIRS = 20, 10
Shape = tuple[int, ...]


def build_features(config: FeatureConfig, shape: Shape, num_logits: int) -> FeatureMap:
    """Return the map of rows in [0, 1] that hold examples of `shape`.

    Raises:
        InputError: it does not work with data of that shape.
    """
    if config.moments != 1 and config.features not in ("rff", "scatter"):
        raise InputError(
            f"--moments={config.moments}: --features={config.features} has no second moments "
            "here; use rff or scatter"
        )
    if config.product_share and config.features != "hermite":
        raise InputError(
            f"--product_share={config.product_share}: --features={config.features} has no product "
            "kernel; use hermite"
        )
    return _FEATURES[config.features](config, shape, num_logits)


def _dim(shape: Shape) -> int:
    return math.prod(shape)


def _entk(config: FeatureConfig, shape: Shape, num_logits: int) -> FeatureMap:
    module = _network(config, shape, num_logits)
    example = jnp.zeros((1, _dim(shape)))
    try:
        variables = jax.jit(module.init)(jax.random.key(config.seed), example)
    except ValueError as error:
        raise InputError(f"--network={config.network}: {error}") from error
    return entk_map(module.apply, variables, _dim(shape))


def _network(config: FeatureConfig, shape: Shape, num_logits: int) -> Any:
    widths = parse_widths(config.ntk_width)
    needed = {"fc_1l": 1, "fc_2l": 2, "cnn_2l": 2, "cnn2d": 1}.get(config.network)
    if needed is not None and len(widths) != needed:
        raise InputError(
            f"--ntk_width={config.ntk_width}: --network={config.network} takes {needed} width(s)"
        )
    if config.network == "fc_1l":
        return tangent.FullyConnected1(widths[0], num_logits)
    if config.network == "fc_2l":
        return tangent.FullyConnected2((widths[0], widths[1]), num_logits)
    if config.network == "cnn_2l":
        return tangent.ColumnNetwork((widths[0], widths[1]), num_logits)
    image = _image_shape(f"--network={config.network}", shape)
    if config.network == "cnn2d":
        return tangent.Convolutional(image, widths[0], num_logits)
    return tangent.OneLogit(image, residual=config.network == "resnet")


def _image_shape(flag: str, shape: Shape) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise InputError(f"{flag}: works on images, and an example here has shape {shape}")
    height, width, channels = shape
    return height, width, channels


def _fourier(config: FeatureConfig, shape: Shape, num_logits: int) -> FeatureMap:
    del num_logits
    dim = _dim(shape)
    features = fourier.fourier_features(
        jax.random.key(config.seed),
        dim,
        num_features=_NUM_FREQUENCIES,
        length_scale=config.length_scale,
    )
    return feature_maps.unit_features(features, dim, moments=config.moments)


def _hermite(config: FeatureConfig, shape: Shape, num_logits: int) -> FeatureMap:
    del num_logits
    dim, variance = _dim(shape), config.length_scale**2
    sums = hermite.hermite_weighted_sum(dim, order=_HERMITE_ORDER, variance=variance)
    # Both kernels are positive, so no two features are further apart than orthogonal ones.
    single = feature_maps.summed_features(sums, dim * (_HERMITE_ORDER + 1), diameter=math.sqrt(2))
    share = config.product_share
    if share == 0:
        return single
    return feature_maps.joined([(single, 1 - share), (_hermite_pairs(config, dim), share)])


def _hermite_pairs(config: FeatureConfig, dim: int) -> FeatureMap:
    if dim < 2:
        raise InputError(f"--product_share={config.product_share}: needs two columns, here is one")
    phi = hermite.hermite_product_features(
        hermite.random_pairs(jax.random.key(config.seed), dim, _NUM_PAIRS),
        order=_PRODUCT_ORDER,
        variance=config.length_scale**2,
    )
    return feature_maps.summed_features(
        lambda x, weights: jnp.matmul(weights, phi(x), precision="highest"),
        _NUM_PAIRS * (_PRODUCT_ORDER + 1) ** 2,
        diameter=math.sqrt(2),
    )


def _scatter(config: FeatureConfig, shape: Shape, num_logits: int) -> FeatureMap:
    del num_logits
    image = _image_shape("--features=scatter", shape)
    try:
        features = scattering.scatter_features(image, normalisation="group")
    except ValueError as error:
        raise InputError(f"--features=scatter: {error}") from error
    return feature_maps.unit_features(features, _dim(shape), moments=config.moments)


def _scatter_rbf(config: FeatureConfig, shape: Shape, num_logits: int) -> FeatureMap:
    del num_logits
    image = _image_shape("--features=scatter_rbf", shape)
    try:
        phi = image_maps.fine_map(image)
    except ValueError as error:
        raise InputError(f"--features=scatter_rbf: {error}") from error
    what = {"what": "second moment of fine scattering features on dead leaves, version 1"}
    shapes_key, pixels_key = jax.random.split(jax.random.key(config.seed))
    shapes = fourier.directional_fourier_features(
        phi,
        public_map.whitening_of(phi, image, gamma=_WHITEN, what=what),
        shapes_key,
        num_features=_NUM_WAVES,
        length_scale=config.length_scale,
    )
    dim = _dim(shape)
    # Group-normalised coefficients tell shapes, not brightness: pixels do.
    pixels = fourier.fourier_features(
        pixels_key,
        dim,
        num_features=_NUM_PIXEL_WAVES,
        length_scale=_PIXEL_SCALE * math.sqrt(dim),
    )
    return feature_maps.joined(
        [
            (feature_maps.unit_features(shapes, dim), 1 - _PIXEL_SHARE),
            (feature_maps.unit_features(pixels, dim), _PIXEL_SHARE),
        ]
    )


_FEATURES: dict[str, Callable[[FeatureConfig, Shape, int], FeatureMap]] = {
    "entk": _entk,
    "rff": _fourier,
    "hermite": _hermite,
    "scatter": _scatter,
    "scatter_rbf": _scatter_rbf,
}
