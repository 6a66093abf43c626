"""Scaling and labels. Every statistic is an argument: nothing here looks at the data for one."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num


def scale(
    x: Num[Array, "n d"],
    *,
    shift: float,
    scale: float,
) -> Float[Array, "n d"]:
    """Return `(x - shift) / scale` in float32.

    Args:
        x: rows as stored, e.g. flattened uint8 images.
        shift: public constant, not a statistic of private data.
        scale: public constant > 0, not a statistic of private data.
    """
    return ((x.astype(jnp.float32) - shift) / scale).astype(jnp.float32)


def centred_one_hot(labels: Int[Array, " n"], num_classes: int) -> Float[Array, "n c"]:
    """Return one-hot rows minus `1 / c`: `1 - 1/c` at the class, `-1/c` elsewhere.

    References:
        Lee et al. (2020), "Finite versus infinite neural networks", section 3.
    """
    return jax.nn.one_hot(labels, num_classes, dtype=jnp.float32) - 1 / num_classes
