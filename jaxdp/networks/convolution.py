"""Convolutions of images, as matrix products where XLA's own are slow on CPUs.

XLA's convolution on a CPU is fast, with two exceptions: maps of a few pixels, where it takes a
hundred times as long as a matrix product, and the gradient with respect to a kernel of one input
channel, where it takes five times as long. There, windows are laid side by side and multiplied.

References:
    Chellapilla, Puri & Simard (2006), "High performance convolutional neural networks for document
        processing", section 3 (unfolding).
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# The side of a map up to which, and for one input channel the output channels from which, unfolding
# was faster or as fast in whole networks with 3x3 kernels (`benchmarks/networks.py`).
_SMALL_SIDE = 4
_MANY_CHANNELS = 32

Padding = str | Sequence[tuple[int, int]]


def convolve(
    x: Float[Array, "n h w ch"],
    kernel: Float[Array, "a b in f"],
    strides: Sequence[int],
    padding: Padding,
    *,
    precision: Any = None,
    **options: Any,
) -> Float[Array, "n p q f"]:
    """Return what `jax.lax.conv_general_dilated` returns, in the form that flax calls it.

    Args:
        x: images, NHWC.
        kernel: HWIO.
        strides: of the windows.
        padding: "SAME", "VALID" or pixels before and after each side.
        precision: of the products.
        options: what else flax passes: dimension numbers, dilations, groups.
    """
    small = min(x.shape[1:3]) <= _SMALL_SIDE
    grey = x.shape[3] == 1 and kernel.shape[3] >= _MANY_CHANNELS
    if jax.default_backend() == "cpu" and (small or grey) and _is_plain(options):
        return unfolded(x, kernel, strides, padding, precision=precision)
    return jax.lax.conv_general_dilated(x, kernel, strides, padding, precision=precision, **options)


def unfolded(
    x: Float[Array, "n h w ch"],
    kernel: Float[Array, "a b ch f"],
    strides: Sequence[int],
    padding: Padding,
    *,
    precision: Any = None,
) -> Float[Array, "n p q f"]:
    """Return the convolution as one product of all windows with the kernel; as `convolve`."""
    size = kernel.shape[:2]
    if isinstance(padding, str):
        padding = jax.lax.padtype_to_pads(x.shape[1:3], size, strides, padding)
    x = jnp.pad(x, ((0, 0), *padding, (0, 0)))
    # The last row and column at which a window starts, and one more.
    ends = [
        (side - window) // stride * stride + 1
        for side, window, stride in zip(x.shape[1:3], size, strides, strict=True)
    ]
    windows = jnp.concatenate(
        [
            x[:, i : i + ends[0] : strides[0], j : j + ends[1] : strides[1]]
            for i in range(size[0])
            for j in range(size[1])
        ],
        axis=-1,
    )
    rows = windows.reshape(-1, windows.shape[-1])
    product = jnp.matmul(rows, kernel.reshape(-1, kernel.shape[-1]), precision=precision)
    return product.reshape(*windows.shape[:3], kernel.shape[-1])


def _is_plain(options: dict[str, Any]) -> bool:
    dilations = [d for name in ("lhs_dilation", "rhs_dilation") for d in options.get(name) or ()]
    return options.get("feature_group_count", 1) == 1 and all(d == 1 for d in dilations)
