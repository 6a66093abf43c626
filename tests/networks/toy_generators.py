"""Generators at toy size, what they are given, and upsampling pixel by pixel."""

from __future__ import annotations

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxdp.networks import generators

QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
CODE, CLASSES = 3, 4
CONV = generators.ConvCondGen((8, 12, 2), hidden=6, channels=(4, 3))
RESNET = generators.ResnetG((8, 16, 3), base=2)
DENSE = generators.DenseGen(15, hidden=(16, 17))  # few units may all be off
TABULAR = generators.TabularGen(5)


def draw(module: nn.Module, *, code_dim: int = CODE, num_classes: int = CLASSES) -> Any:
    """Return variables that no default would hide: no ones, no zeros."""
    shapes = jax.eval_shape(
        lambda: generators.init(module, jax.random.key(0), code_dim, num_classes)
    )
    rng = np.random.default_rng(0)

    def leaf(path: Any, struct: jax.ShapeDtypeStruct) -> jax.Array:
        if path[-1].key in ("scale", "var"):
            return jnp.asarray(rng.uniform(0.5, 2, struct.shape), struct.dtype)
        fan_in = math.prod(struct.shape[:-1])
        return jnp.asarray(rng.normal(size=struct.shape) / np.sqrt(fan_in), struct.dtype)

    return jax.tree_util.tree_map_with_path(leaf, shapes)


def inputs(size: int = 6) -> tuple[jax.Array, jax.Array]:
    labels = jnp.arange(size) % CLASSES
    return generators.sample_codes(jax.random.key(1), labels, CODE), labels


def upsample_oracle(x: np.ndarray) -> np.ndarray:
    """Return align_corners=True interpolation, pixel by pixel."""
    n, height, width, channels = x.shape
    out = np.zeros((n, 2 * height, 2 * width, channels))

    def neighbours(i: int, side: int) -> tuple[int, int, float]:
        position = i * (side - 1) / (2 * side - 1)
        low = int(position)
        return low, min(low + 1, side - 1), position - low

    for i in range(2 * height):
        top, bottom, down = neighbours(i, height)
        for j in range(2 * width):
            left, right, along = neighbours(j, width)
            above = (1 - along) * x[:, top, left] + along * x[:, top, right]
            below = (1 - along) * x[:, bottom, left] + along * x[:, bottom, right]
            out[:, i, j] = (1 - down) * above + down * below
    return out
