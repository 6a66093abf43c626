"""Scaling and labels. Every statistic is an argument: nothing here looks at the data for one."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def centred_one_hot(labels: Int[Array, " n"], num_classes: int) -> Float[Array, "n c"]:
    """Return one-hot rows minus `1 / c`: `1 - 1/c` at the class, `-1/c` elsewhere.

    References:
        Lee et al. (2020), "Finite versus infinite neural networks", section 3.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp.kernels import preprocess
        >>> preprocess.centred_one_hot(jnp.array([0, 1]), 2).tolist()
        [[0.5, -0.5], [-0.5, 0.5]]
    """
    return jax.nn.one_hot(labels, num_classes, dtype=jnp.float32) - 1 / num_classes
