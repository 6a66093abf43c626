"""The public map whose class means images are moved towards."""

import math

from jaxtyping import Array, Float

from jaxdp.features import base as feature_maps
from jaxdp.features import scattering
from jaxdp.features.base import FeatureMap
from jaxdp.images import views

# Of the squared norm. Normalised coefficients do not tell brightness: pixels do.
_PIXEL_SHARE = 0.2


def mean_map(image_shape: tuple[int, int, int]) -> FeatureMap:
    """Return group-normalised scattering features and pixels, each of five views of an image.

    Args:
        image_shape: (h, w, channels) of the rows in [0, 1] that it maps.

    Raises:
        ValueError: sides that scattering cannot halve.
    """
    dim = math.prod(image_shape)
    phi = scattering.scatter_features(image_shape, normalisation="group")
    parts = ((phi, 1 - _PIXEL_SHARE), (_pixels, _PIXEL_SHARE))
    return feature_maps.joined(
        [
            (
                feature_maps.unit_features(
                    views.viewed(feature_fn, image_shape, views.FIVE_VIEWS), dim
                ),
                share,
            )
            for feature_fn, share in parts
        ]
    )


def _pixels(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return rows
