"""The public maps of the teacher: from constants and fixed seeds alone, without private data."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.data import Spec
from jaxdp.features import base as feature_maps
from jaxdp.features import (
    image_maps,
    levels,
    map_parts,
    patches,
    public_encoder,
    second_layer,
    whitening,
)
from jaxdp.features.base import FeatureMap
from jaxdp.features.levels import Level
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.whitening import Drawn, Watch
from jaxdp.images import views
from jaxdp.methods.base import require_image
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.steps import Cached
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.methods.teacher.view import CONSTANT
from jaxdp.tables.schema import BINS

# Of the squared norm. Normalised coefficients do not tell brightness: pixels do.
_PIXEL_SHARE = 0.2
# Of the dictionaries' words; part of the method, not of a run.
_PATCHES_SEED, _SECOND_SEED = 20241, 20242
# Mean of the synthetic images, by their construction.
_GREY = 0.5
# Of the whitening of means, which noise does not ask to be fewer.
_FLOOR_OF_MEANS = 0.1


def require_image_map(options: MapOptions, spec: Spec) -> None:
    """Raise a `SettingsError` where examples are no images that the map takes."""
    shape = require_image(
        spec, "a private teacher", "declare the columns by --schema, or use dp_kip"
    )
    try:
        image_maps.pooled_map(shape, mirror=bool(options.mirror))
    except ValueError as error:
        raise SettingsError(f"--dataset={spec.name}: {error}") from error
    for name in ("patches", "second_layer", "encoder", "brightness"):
        value = getattr(options, name)
        if value and not options.whiten:
            raise SettingsError(f"--{name}={value}: needs --whiten above 0")
    if options.second_layer and not options.patches:
        raise SettingsError(f"--second_layer={options.second_layer}: needs --patches above 0")
    seen = levels.shrunk_shape(shape, levels.COARSE)
    for name, module in (("patches", patches), ("second_layer", second_layer)):
        value = getattr(options, name)
        try:
            if value:
                module.require(seen, value)
        except ValueError as error:
            raise SettingsError(f"--{name}={value}: {error}; 0 takes none") from error
    try:
        if options.encoder:
            public_encoder.require(seen)
    except ValueError as error:
        raise SettingsError(f"--encoder: {error}") from error


def public_map(options: MapOptions, spec: Spec, cached: Cached) -> FeatureFn:
    """Return the teacher's feature map of rows in [0, 1].

    Args:
        options: what it is made from.
        spec: of the images, or of rows that are one-hot over the cells of every column.
        cached: keeps what is computed on synthetic images.
    """
    make = spec.kind.choose(images=_map_of_images, rows=_map_of_images, table=_map_of_records)
    made = make(options, spec, cached)
    return _of_norm_1(made) if options.unit_norm else made


def _of_norm_1(feature_fn: FeatureFn) -> FeatureFn:
    """Return features of norm 1, or of norm 0 where they were, and the constant as the last one."""

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        phi = feature_fn(rows)
        squares = jnp.sum(phi**2, axis=1, keepdims=True)
        # A root has no derivative at 0.
        norms = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 1.0)
        return jnp.concatenate([phi / norms, jnp.full_like(norms, CONSTANT)], axis=1)

    return features


def _map_of_records(options: MapOptions, spec: Spec, cached: Cached) -> FeatureFn:
    del options, cached
    return cells_of(len(spec.columns))


def _map_of_images(options: MapOptions, spec: Spec, cached: Cached) -> FeatureFn:
    parts = image_maps.pooled_levels(spec.image_shape, mirror=bool(options.mirror))
    if not options.whiten:
        return levels.side_by_side(parts)
    what = {
        "what": "whitening of scattering features on dead leaves, version 1",
        "mirror": options.mirror,
    }
    drawn: Drawn = {}  # all parts are measured on the same images
    matrices = whitening.of_levels(
        parts, gamma=options.whiten, what=what, cached=cached, drawn=drawn
    )
    white = [
        part._replace(feature_fn=whitening.transformed(part.feature_fn, matrix))
        for part, matrix in zip(parts, matrices, strict=True)
    ]
    if options.patches:
        white.append(_white_patches(options, spec, cached, drawn))
    if options.encoder:
        white.append(_white_encoder(options, spec, cached, drawn))
    feature_fn = levels.side_by_side(white)
    if not options.brightness:
        return feature_fn
    means = _white_means(options, spec, cached, drawn)
    return _beside(feature_fn, means, share=options.brightness)


def _beside(feature_fn: FeatureFn, bounded: FeatureFn, *, share: float) -> FeatureFn:
    """Return `(phi, sqrt(share / (1 - share)) |phi| b)`, in which b has at most its share.

    DP-SGD clips by the length of an image's features, so that is what a share is of.
    """
    odds = share / (1 - share)

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        phi = feature_fn(rows)
        squared = odds * jnp.sum(phi**2, axis=1, keepdims=True)
        # A root has no derivative at 0, where black images are.
        length = jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)
        return jnp.concatenate([phi, length * bounded(rows)], axis=1)

    return features


def _white_means(options: MapOptions, spec: Spec, cached: Cached, drawn: Drawn) -> FeatureFn:
    """Return the mean of each channel, centred and whitened on synthetic images, and bounded."""
    shape = levels.shrunk_shape(spec.image_shape, levels.COARSE)
    see = levels.shrunk(spec.image_shape, levels.COARSE)
    means = levels.then(levels.shrunk(shape, 1), lambda rows: rows - _GREY)
    floor = _FLOOR_OF_MEANS if options.unit_norm else options.whiten  # as it was before
    matrix = whitening.on_dead_leaves(
        means,
        shape,
        gamma=floor or 0.0,
        what={"what": "whitening of brightness on dead leaves, version 1"},
        cached=cached,
        drawn=drawn,
    )
    white = whitening.transformed(means, matrix / math.sqrt(shape[2]))
    return levels.then(see, map_parts.bounded(white))


def _white_patches(options: MapOptions, spec: Spec, cached: Cached, drawn: Drawn) -> Level:
    """Return features of the patches of an image, as large as its first level."""
    shape = levels.shrunk_shape(spec.image_shape, levels.COARSE)
    num_words, mirror = options.patches or 0, bool(options.mirror)
    what = {"words": num_words, "channels": shape[2], "seed": _PATCHES_SEED}

    def words(watch: Watch) -> np.ndarray:
        del watch
        return patches.dictionary(jax.random.key(_PATCHES_SEED), num_words, shape[2])

    filters = cached({"what": "dictionary of patches of dead leaves, version 1"} | what, words)
    feature_fn = patches.patch_features(shape, filters, mirror=mirror)
    matrix = whitening.on_dead_leaves(
        feature_fn,
        shape,
        gamma=options.whiten or 0.0,
        what={"what": "whitening of patches on dead leaves, version 1", "mirror": mirror} | what,
        cached=cached,
        drawn=drawn,
    )
    white = whitening.transformed(feature_fn, matrix)
    if options.second_layer:
        white = _white_layers(options, shape, filters, matrix, cached)
    return Level(shape, levels.shrunk(spec.image_shape, levels.COARSE), white)


def _white_encoder(options: MapOptions, spec: Spec, cached: Cached, drawn: Drawn) -> Level:
    """Return features of the public encoder, which sees an image as large as its first level."""
    shape = levels.shrunk_shape(spec.image_shape, levels.COARSE)
    feature_fn = public_encoder.encoder_features(shape, mirror=bool(options.mirror))
    matrix = whitening.on_dead_leaves(
        feature_fn,
        shape,
        gamma=options.whiten or 0.0,
        what={
            "what": "whitening of an encoder's features on dead leaves, version 1",
            **{"mirror": bool(options.mirror), "weights": public_encoder.DIGEST},
        },
        cached=cached,
        drawn=drawn,
        few=True,  # more of them gain nothing
    )
    white = whitening.transformed(feature_fn, matrix)
    return Level(shape, levels.shrunk(spec.image_shape, levels.COARSE), white)


def _white_layers(
    options: MapOptions,
    shape: levels.Shape,
    filters: Float[np.ndarray, "s s ch k"],
    matrix: Float[Array, "p p"],
    cached: Cached,
) -> FeatureFn:
    """Return features of patches, whitened by a matrix, and whitened ones of a layer above them."""
    num_patches, num_words = filters.shape[3], options.second_layer or 0
    mirror = bool(options.mirror)
    if isinstance(cached, whitening.Postponed) and not cached.may_begin:
        # Who asks for shapes alone does not wait for a layer.
        cached.is_needed = True
        size = len(matrix) + second_layer.num_features(num_words, mirror=mirror)
        return lambda rows: jnp.zeros((len(rows), size), rows.dtype)

    def fit(watch: Watch) -> np.ndarray:
        del watch
        key = jax.random.key(_SECOND_SEED)
        return second_layer.packed(second_layer.fitted(key, filters, num_words, mirror=mirror))

    what = {
        **{"what": "second layer on dead leaves, version 1", "patches_seed": _PATCHES_SEED},
        **{"patches": num_patches, "words": num_words, "channels": shape[2]},
        **{"mirror": mirror, "seed": _SECOND_SEED},
    }
    layer = second_layer.unpacked(cached(what, fit), num_patches, num_words, mirror=mirror)
    feature_fn = second_layer.layer_features(
        shape, filters, layer, gamma=options.whiten or 0.0, mirror=mirror
    )

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        below, above = jnp.split(feature_fn(rows), [len(matrix)], axis=1)
        return jnp.concatenate([jnp.matmul(below, matrix, precision="highest"), above], axis=1)

    return features


def num_features(options: MapOptions, spec: Spec) -> int:
    """Return how many features `public_map` has, or would have of plain rows.

    Raises:
        SettingsError: images are of a size without any.
    """
    count = spec.kind.choose(images=_num_of_images, rows=_num_of_records, table=_num_of_records)
    return count(options, spec) + bool(options.unit_norm)


def _num_of_records(options: MapOptions, spec: Spec) -> int:
    del options
    return spec.in_form(BINS).dim


def _num_of_images(options: MapOptions, spec: Spec) -> int:
    require_image_map(options, spec)
    mirror = bool(options.mirror)
    row = jax.ShapeDtypeStruct((1, spec.dim), jnp.float32)
    phi = image_maps.pooled_map(spec.image_shape, mirror=mirror)
    shape = levels.shrunk_shape(spec.image_shape, levels.COARSE)
    words = patches.num_features(shape, options.patches or 0, mirror=mirror)
    if options.second_layer:
        words += second_layer.num_features(options.second_layer, mirror=mirror)
    if options.encoder:
        words += public_encoder.num_features()
    means = shape[2] if options.brightness else 0
    return jax.eval_shape(phi, row).shape[1] + words + means


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
