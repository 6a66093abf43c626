"""The teacher's public feature map: from constants and fixed seeds, without any private data."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments import public_cache
from experiments.teacher_settings import MapConfig
from jaxdp import teacher_kip, whitening

FeatureFn = Callable[[Array], Array]
# Of the synthetic public images; part of the method, not of a run.
_SEED, _NUM_IMAGES = 20240, 10000


def public_map(config: MapConfig, image_shape: tuple[int, int, int]) -> FeatureFn:
    """Return the feature map of rows in [0, 1]: no private data in it, by construction.

    The whitening's second moment is that of synthetic images from a fixed seed; it is computed
    once and kept in the user's cache folder.
    """
    phi = teacher_kip.scattering_map(image_shape, mirror=config.mirror)
    if config.whiten == 0:
        return phi

    def moment() -> np.ndarray:
        images = whitening.dead_leaves_images(jax.random.key(_SEED), _NUM_IMAGES, image_shape)
        return np.asarray(whitening.second_moment(phi, images))

    description = {
        "what": "second moment of scattering features on dead leaves, version 1",
        "seed": _SEED,
        "images": _NUM_IMAGES,
        "shape": list(image_shape),
        "mirror": config.mirror,
    }
    matrix = whitening.whitening(
        jnp.asarray(public_cache.cached(description, moment)), gamma=config.whiten
    )
    return whitening.transformed(phi, matrix)
