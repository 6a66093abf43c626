"""Public feature maps: from constants and fixed seeds alone, without any private data."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from experiments.runs import public_cache
from experiments.teacher_settings import MapConfig
from jaxdp.features import image_maps, public_images, whitening

FeatureFn = Callable[[Array], Array]
# Of the synthetic public images; part of the method, not of a run.
_SEED, _NUM_IMAGES = 20240, 10000


def public_map(config: MapConfig, image_shape: tuple[int, int, int]) -> FeatureFn:
    """Return the teacher's feature map of rows in [0, 1]."""
    phi = image_maps.pooled_map(image_shape, mirror=config.mirror)
    if config.whiten == 0:
        return phi
    what = {
        "what": "second moment of scattering features on dead leaves, version 1",
        "mirror": config.mirror,
    }
    matrix = whitening_of(phi, image_shape, gamma=config.whiten, what=what)
    return whitening.transformed(phi, matrix)


def whitening_of(
    phi: FeatureFn, image_shape: tuple[int, int, int], *, gamma: float, what: dict[str, Any]
) -> Float[Array, "p p"]:
    """Return what whitens a public map's second moment on synthetic images from a fixed seed.

    Args:
        phi: features of rows in [0, 1].
        image_shape: (h, w, channels) of a row.
        gamma: see `whitening.whitening`.
        what: tells this map from others; the moment is computed once and kept in the user's cache
            folder.
    """

    def moment() -> np.ndarray:
        images = public_images.dead_leaves_images(jax.random.key(_SEED), _NUM_IMAGES, image_shape)
        return np.asarray(whitening.second_moment(phi, images))

    description = what | {"seed": _SEED, "images": _NUM_IMAGES, "shape": list(image_shape)}
    return whitening.whitening(jnp.asarray(public_cache.cached(description, moment)), gamma=gamma)
