"""Features of a small network that has learnt from random images alone, and is part of the program.

    f = means over the parts of an image of what blocks 2 and 3 of a ConvNet make of it

`experiments/public_encoder.py` draws the images and trains it; what it has written is the file
beside this module. With mirror images, features are added up over both.

Privacy in plain words: the network was trained on what a program draws, so it is public. An image's
features are of that image alone.

References:
    Wang & Isola (2020), "Understanding contrastive representation learning through alignment and
        uniformity on the hypersphere".
    Tang et al. (2023), "Differentially private image classification by learning priors from random
        processes" (networks that random images have taught, for private training).
"""

import functools
import hashlib
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.features import patches
from jaxdp.features.levels import region_means
from jaxdp.features.map_parts import FeatureFn
from jaxdp.features.patches import Shape
from jaxdp.networks.encoder import EncoderTrunk
from jaxdp.rows import require_rows

LEAST_SIDE = 16
"""Shortest side in pixels of images that it sees: two places of its third block."""
FILE = Path(__file__).with_suffix(".npz")
DIGEST = "39e923ddc01866e30730098d627563eb191e282f0e7358af65b0eefd2f68e7d2"
"""SHA-256 of the weights; whitening is kept by it.

Released teachers and embeddings do not tell which weights they are of: other ones need another
name of the option, and of the features.
"""
_REGIONS = 2  # along a side of an image
_CHANNELS = 3
# The second and third block have twice and four times as many channels as the first.
_OF_PLACE = (2 + 4) * EncoderTrunk.width
_GREY, _CONTRAST = 0.5, 0.25


def require(image_shape: Shape) -> None:
    """Raise a `ValueError` unless the network sees images of this shape."""
    height, width, _ = image_shape
    if min(height, width) < LEAST_SIDE:
        raise ValueError(
            f"images need sides of at least {LEAST_SIDE} pixels, got {height} x {width}"
        )


def num_features() -> int:
    """Return how many features an image has, whatever its size."""
    return _REGIONS**2 * _OF_PLACE


def centred(images: Float[Array, "*n h w ch"]) -> Float[Array, "*n h w ch"]:
    """Return images in [0, 1] as the network sees them: of mean 0 and deviation 1, about."""
    return (images - _GREY) / _CONTRAST


@functools.cache
def weights() -> Any:
    """Return the network's weights, in float32.

    Raises:
        ValueError: the file is not the one that belongs to this version.
    """
    found = hashlib.sha256(FILE.read_bytes()).hexdigest()
    if found != DIGEST:
        raise ValueError(f"{FILE.name} is not the encoder of this version; install jaxdp again")
    tree: dict[str, Any] = {}
    with np.load(FILE, allow_pickle=False) as arrays:
        for name in arrays.files:
            *layers, last = name.split("/")
            place = functools.reduce(lambda inner, layer: inner.setdefault(layer, {}), layers, tree)
            place[last] = arrays[name].astype(np.float32)
    return tree


def encoder_features(image_shape: Shape, *, mirror: bool) -> FeatureFn:
    """Return features of rows of images in [0, 1].

    Args:
        image_shape: (h, w, channels); no side below `LEAST_SIDE` pixels. Grey images are seen in
            three equal colours, and a fourth channel is not seen.
        mirror: whether to keep only what an image and its mirror image share.

    Raises:
        ValueError: see `require` and `weights`; from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    require(image_shape)
    params, network = {"params": weights()}, EncoderTrunk()

    def regions(images: Float[Array, "n h w 3"]) -> Float[Array, "n v"]:
        _, second, third = network.apply(params, images)  # type: ignore[misc]
        means = [region_means(block, _REGIONS, _REGIONS) for block in (second, third)]
        return jax.lax.collapse(jnp.concatenate(means, axis=-1), 1)

    def seen(rows: Float[Array, "n d"]) -> Float[Array, "n h w 3"]:
        require_rows(rows, math.prod(image_shape))
        images = centred(rows.reshape(-1, *image_shape)[..., :_CHANNELS])
        return jnp.repeat(images, _CHANNELS, axis=3) if image_shape[2] == 1 else images

    def of_few(rows: Float[Array, "n d"]) -> Float[Array, "n v"]:
        images = seen(rows)
        if not mirror:
            return regions(images)
        # One network for both compiles in half of the time.
        both = regions(jnp.concatenate([images, images[:, :, ::-1]]))
        return both[: len(rows)] + both[len(rows) :]

    def of_many(rows: Float[Array, "n d"]) -> Float[Array, "n v"]:
        images = seen(rows)
        return regions(images) + regions(images[:, :, ::-1]) if mirror else regions(images)

    # Few images at once stay in a processor's cache. Gradients are slower in a loop, and as many
    # images at once as there are beside their mirror images do not fit the cache.
    features = jax.custom_jvp(patches.in_chunks(of_few))
    features.defjvp(lambda rows, moved: jax.jvp(of_many, rows, moved))
    return features
