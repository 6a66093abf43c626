from . import (
    base,
    directions,
    fourier,
    hermite,
    image_maps,
    levels,
    map_parts,
    marginals,
    patches,
    perceptual,
    public_encoder,
    public_images,
    random_networks,
    scattering,
    second_layer,
    tangent,
    whitening,
)
from .base import (
    FeatureMap,
    block_means,
    joined,
    of_stored,
    squared_distance,
    summed_features,
    unit_features,
)
from .directions import directions_of_kernel, public_directions
from .fourier import directional_fourier_features, fourier_features
from .hermite import hermite_features, hermite_product_features, hermite_weighted_sum
from .image_maps import fine_map, patch_map, pooled_map
from .marginals import marginal_features, pair_features
from .patches import patch_features
from .perceptual import perceptual_features
from .public_images import dead_leaves_images
from .scattering import scatter_features
from .tangent import entk_map
from .whitening import second_moment, transformed

__all__ = [
    "FeatureMap",
    "base",
    "block_means",
    "dead_leaves_images",
    "directional_fourier_features",
    "directions",
    "directions_of_kernel",
    "entk_map",
    "fine_map",
    "fourier",
    "fourier_features",
    "hermite",
    "hermite_features",
    "hermite_product_features",
    "hermite_weighted_sum",
    "image_maps",
    "joined",
    "levels",
    "map_parts",
    "marginal_features",
    "marginals",
    "of_stored",
    "pair_features",
    "patch_features",
    "patch_map",
    "patches",
    "perceptual",
    "perceptual_features",
    "pooled_map",
    "public_directions",
    "public_encoder",
    "public_images",
    "random_networks",
    "scatter_features",
    "scattering",
    "second_layer",
    "second_moment",
    "squared_distance",
    "summed_features",
    "tangent",
    "transformed",
    "unit_features",
    "whitening",
]
