"""The public maps of the teacher: from constants and fixed seeds alone, without private data."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.data import Spec
from jaxdp.features import base as feature_maps
from jaxdp.features import image_maps, levels, whitening
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
    """Raise a `SettingsError` where examples are no images that the map takes."""
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
    parts = image_maps.pooled_levels(spec.image_shape, mirror=bool(options.mirror))
    if not options.whiten:
        return levels.side_by_side(parts)
    what = {
        "what": "second moment of scattering features on dead leaves, version 1",
        "mirror": options.mirror,
    }
    matrices = whitening.of_levels(parts, gamma=options.whiten, what=what, cached=cached)
    white = [
        part._replace(feature_fn=whitening.transformed(part.feature_fn, matrix))
        for part, matrix in zip(parts, matrices, strict=True)
    ]
    return levels.side_by_side(white)


def num_features(spec: Spec, *, mirror: bool) -> int:
    """Return how many features `public_map` has of images."""
    row = jax.ShapeDtypeStruct((1, spec.dim), jnp.float32)
    phi = image_maps.pooled_map(spec.image_shape, mirror=mirror)
    return jax.eval_shape(phi, row).shape[1]


def cells_of(num_columns: int) -> FeatureFn:
    """Return the map of rows that are one-hot for every column to features of norm 1."""

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return rows / math.sqrt(num_columns)

    return features


def mean_map(image_shape: tuple[int, int, int]) -> FeatureMap:
    """Return the map whose class means images are moved towards.

    It is group-normalised scattering features and pixels, each of five views of an image. Sides
    above 32 pixels are averaged down to 32 first.

    Args:
        image_shape: (h, w, channels) of the rows in [0, 1] that it maps.

    Raises:
        ValueError: see `scattering.scatter_features`.
    """
    dim, seen = math.prod(image_shape), levels.shrunk_shape(image_shape, levels.COARSE)
    see = levels.shrunk(image_shape, levels.COARSE)
    phi = image_maps.patch_map(seen, normalisation="group")

    def of_views(feature_fn: FeatureFn) -> FeatureMap:
        viewed = views.viewed(feature_fn, seen, views.FIVE_VIEWS)
        return feature_maps.unit_features(levels.then(see, viewed), dim)

    return feature_maps.joined(
        [(of_views(phi), 1 - _PIXEL_SHARE), (of_views(_pixels), _PIXEL_SHARE)]
    )


def _pixels(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return rows
