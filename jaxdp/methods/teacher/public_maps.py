"""The public maps of the teacher: from constants and fixed seeds alone, without private data."""

import math

from jaxtyping import Array, Float

from jaxdp.data import Spec
from jaxdp.features import base as feature_maps
from jaxdp.features import image_maps, scattering, whitening
from jaxdp.features.base import FeatureMap
from jaxdp.features.map_parts import FeatureFn
from jaxdp.images import views
from jaxdp.methods.base import require_image
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Cached
from jaxdp.methods.teacher.settings import MapOptions

# Of the squared norm. Normalised coefficients do not tell brightness: pixels do.
_PIXEL_SHARE = 0.2


def require_image_map(spec: Spec, *, mirror: bool) -> None:
    """Raise a `SettingsError` where examples are no images of a size that the map takes."""
    shape = require_image(
        spec, "a private teacher", "declare the columns by --schema, or use experiments.dp_kip"
    )
    try:
        image_maps.pooled_map(shape, mirror=mirror)
    except ValueError as error:
        raise SettingsError(f"--dataset={spec.name}: {error}") from error


def public_map(options: MapOptions, spec: Spec, cached: Cached) -> FeatureFn:
    """Return the teacher's feature map of rows in [0, 1].

    Args:
        options: what it is made from.
        spec: of the images, or of rows that are one-hot over the cells of every column.
        cached: keeps what is computed on synthetic images.
    """
    if spec.schema is not None:
        return cells_of(len(spec.schema.columns))
    phi = image_maps.pooled_map(spec.image_shape, mirror=bool(options.mirror))
    if not options.whiten:
        return phi
    what = {
        "what": "second moment of scattering features on dead leaves, version 1",
        "mirror": options.mirror,
    }
    matrix = whitening.on_dead_leaves(
        phi, spec.image_shape, gamma=options.whiten, what=what, cached=cached
    )
    return whitening.transformed(phi, matrix)


def cells_of(num_columns: int) -> FeatureFn:
    """Return the map of rows that are one-hot for every column to features of norm 1."""

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return rows / math.sqrt(num_columns)

    return features


def mean_map(image_shape: tuple[int, int, int]) -> FeatureMap:
    """Return the map whose class means images are moved towards.

    It is group-normalised scattering features and pixels, each of five views of an image.

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
