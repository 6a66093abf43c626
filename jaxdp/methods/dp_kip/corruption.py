"""Pixel corruption: a random part of the distilled pixels is never distilled.

    x_s = mask x_learned + (1 - mask) x_initial,   mask drawn once, without the data

A corrupted pixel keeps its initial noise, so it carries nothing of the data, and gradients with
respect to it are dropped before clipping: the others get all of the clip norm.

References:
    Nguyen, Chen & Lee (2021), "Dataset meta-learning from kernel ridge-regression" (corruption).
    Vinaroz & Park (2024), "Differentially private kernel inducing points using features from
        ScatterNets (DP-KIP-ScatterNet) for privacy preserving data distillation", table 4.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key


def free_columns(
    key: Key[Array, ""], *, num_pixels: int, channels: int, corrupt: float
) -> Bool[Array, " d"]:
    """Return which of the `d = num_pixels channels` values of an image are distilled.

    Args:
        key: public.
        num_pixels: positions of an image, its channels counted once.
        channels: values of a position, which are corrupted together; channels come last.
        corrupt: fraction of positions that are, in [0, 1), rounded to the nearest number of them.

    Raises:
        ValueError: `corrupt` is not in [0, 1).
    """
    if not 0 <= corrupt < 1:
        raise ValueError(f"corrupt must be in [0, 1), got {corrupt}")
    order = jax.random.permutation(key, num_pixels)
    free = jnp.ones(num_pixels, bool).at[order[: round(corrupt * num_pixels)]].set(False)
    return jnp.repeat(free, channels)
