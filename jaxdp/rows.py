"""What rows a map takes: one example a row, of floats, as wide as the map is for.

Maps compute in the type of their rows. Among whole numbers constants are cut off at the point and
squares of bytes overflow; rows of another width may be read as other examples. Neither stops by
itself, so maps ask here first. Only types and shapes are looked at, also while jax traces.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def require_floats(x: Array | np.ndarray) -> None:
    """Raise a `TypeError` unless an array is of floats.

    Args:
        x: of any shape.

    Raises:
        TypeError: it is of whole numbers, bytes, truth values or complex numbers.
    """
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise TypeError(
            f"rows must be of floats, got {x.dtype}: bring them to the range that is asked for, as "
            "jaxdp.data.Codec does, or convert them by x.astype(np.float32)"
        )


def require_rows(x: Array | np.ndarray, dim: int) -> None:
    """Raise an error unless `x` (n, d) are rows of floats of width `dim`.

    Args:
        x: one example a row; there may be none.
        dim: width d that is asked for.

    Raises:
        TypeError: they are not of floats.
        ValueError: they have another width, or are no rows.
    """
    require_floats(x)
    if x.ndim != 2 or x.shape[1] != dim:
        got = x.shape[1] if x.ndim == 2 else f"an array of shape {tuple(x.shape)}"
        raise ValueError(f"need rows of width {dim}, got {got}")
