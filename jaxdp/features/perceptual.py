"""Perceptual features: the activations of a residual network that is never trained.

A ResNet-18 with random weights from a public key maps an image to the outputs of its first
convolution, the inputs of its eight residual blocks and the average of its last map, all
flattened into one row. Nothing is learnt, so the map is public. In three places it is not that of
the published code:

* Colour images are used as they are. The published code repeats and truncates channels, which
  replicates the red one and discards the others. Grey images are repeated, there and here.
* Residual branches are not scaled by zero (see `jaxdp.networks`), which made every block trivial.
* Each block's input is there once; the published code stores it twice.

References:
    Vinaroz & Park (2024), "Differentially private kernel inducing points using features from
    ScatterNets (DP-KIP-ScatterNet) for privacy preserving data distillation", "PFs" in table 1.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.networks.classifiers import ResNet18Trunk
from jaxdp.numerics import ByBackend, map_rows
from jaxdp.rows import require_rows

NORMALISATIONS = ("none", "unit", "group")

_GROUPS = 32
_VARIANCE_FLOOR = 1e-5
# Images transformed at once: what a CPU's memory takes, what fills a GPU.
_CHUNK = ByBackend(cpu=64, accelerator=1024)


def perceptual_features(
    image_shape: tuple[int, int, int],
    *,
    seed: int = 0,
    normalisation: str = "unit",
    width: int = 64,
) -> Callable[[Float[Array, "n d"]], Float[Array, "n p"]]:
    """Return the feature map of rows that hold images of a shape.

    It maps every row by itself, in the row's float type: a record's features are the same
    whatever the other records. 29,120 features for 28x28 images, 35,840 for 32x32.

    Args:
        image_shape: (h, w, channels) with 1 or 3 channels; `d = h w channels`.
        seed: of the public key of the random weights.
        normalisation: see `normalise`.
        width: channels of the network's first stage, even; the number of features is
            proportional to it.

    Raises:
        ValueError: channels, width or normalisation that do not work, found at once; from the map,
            rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    rows, columns, channels = image_shape
    if channels not in (1, 3):
        raise ValueError(f"perceptual features need 1 or 3 channels, got {channels}")
    if width < 2 or width % 2:
        raise ValueError(f"width must be even and at least 2 channels, got {width}")
    trunk = ResNet18Trunk(width)
    example = jax.ShapeDtypeStruct((1, rows, columns, 3), jnp.float32)
    shapes, params = jax.eval_shape(trunk.init_with_output, jax.random.key(0), example)
    num_features = sum(activation.size for activation in jax.tree.leaves(shapes))
    jax.eval_shape(lambda: normalise(jnp.zeros(num_features), normalisation))
    weights = random_weights(params, jax.random.key(seed))

    def one(row: Float[Array, " d"]) -> Float[Array, " p"]:
        image = jnp.broadcast_to(row.reshape(image_shape), (rows, columns, 3))
        with jax.default_matmul_precision("highest"):  # the features feed a Gram matrix
            activations = trunk.apply(weights, image[None])
        phi = jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(activations)])
        return normalise(phi, normalisation)

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(x, math.prod(image_shape))
        return map_rows(one, x, at_most=_CHUNK.here)

    return features


def random_weights(params: Any, key: Key[Array, ""]) -> Any:
    """Draw normal kernels of variance 1 / fan-in; scales are 1 and offsets 0.

    Args:
        params: shapes of a network's parameters.
        key: public.

    One stream in the order of the tree: weights that are public forever should not depend on how
    flax derives a key for every layer. It also compiles one generator instead of twenty.
    """
    leaves = jax.tree.leaves(params)
    stream = jax.random.normal(key, (sum(leaf.size for leaf in leaves),), jnp.float32)
    ends = itertools.accumulate(leaf.size for leaf in leaves)
    drawn = [
        stream[end - leaf.size : end].reshape(leaf.shape) / math.prod(leaf.shape[:-1]) ** 0.5
        for leaf, end in zip(leaves, ends, strict=True)
    ]

    def choose(path: Any, drawn: Array) -> Array:
        name = path[-1].key
        return drawn if name == "kernel" else jnp.full_like(drawn, float(name == "scale"))

    return jax.tree_util.tree_map_with_path(
        choose, jax.tree.unflatten(jax.tree.structure(params), drawn)
    )


def normalise(phi: Float[Array, " p"], kind: str) -> Float[Array, " p"]:
    """Normalise the features of one image.

    Args:
        phi: its features.
        kind: `none`; `unit`: divide by the Euclidean norm (0 stays 0, with a gradient of 0);
            `group`: cut into 32 runs of neighbouring features, of which each gets mean 0
            and variance 1.

    Raises:
        ValueError: unknown kind, or features that do not divide into 32 groups.
    """
    if kind == "none":
        return phi
    if kind == "unit":
        square = jnp.sum(phi**2)
        nonzero = square > 0
        return jnp.where(nonzero, phi / jnp.sqrt(jnp.where(nonzero, square, 1.0)), 0.0)
    if kind not in NORMALISATIONS:
        raise ValueError(f"normalisation must be one of {NORMALISATIONS}, got {kind!r}")
    if phi.size % _GROUPS:
        raise ValueError(f"{phi.size} features do not divide into {_GROUPS} groups")
    groups = phi.reshape(_GROUPS, -1)
    centred = groups - jnp.mean(groups, axis=1, keepdims=True)
    variance = jnp.mean(centred**2, axis=1, keepdims=True)
    return (centred / jnp.sqrt(variance + _VARIANCE_FLOOR)).reshape(-1)
