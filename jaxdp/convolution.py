"""Convolutions of images as one matrix product on CPUs.

XLA's own convolution on a CPU reaches a small part of what its matrix products do, and less in
gradients and inside compiled loops. Windows laid side by side turn it into such a product, at the
price of a copy that is as many times the input as a window has pixels; large batches are worked
through in parts.

References:
    Chellapilla, Puri & Simard (2006), "High performance convolutional neural networks for document
        processing", section 3 (unfolding).
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Windows that are alive at once.
_WINDOW_BYTES = 2**29

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
        precision: of the product.
        options: what else flax passes. Dilated and grouped convolutions are left to XLA.
    """
    if jax.default_backend() != "cpu" or not _is_plain(options):
        return jax.lax.conv_general_dilated(
            x, kernel, strides, padding, precision=precision, **options
        )

    def product(x: Array) -> Array:
        windows = _windows(x, kernel.shape[:2], strides, padding)
        rows = windows.reshape(-1, windows.shape[-1])
        y = jnp.matmul(rows, kernel.reshape(-1, kernel.shape[-1]), precision=precision)
        return y.reshape(*windows.shape[:3], -1)

    size = jax.eval_shape(lambda x: _windows(x, kernel.shape[:2], strides, padding), x).size
    size *= x.dtype.itemsize
    if size <= _WINDOW_BYTES:
        return product(x)
    # Without the checkpoint a gradient would keep all windows.
    one = jax.checkpoint(lambda image: product(image[None])[0])
    return jax.lax.map(one, x, batch_size=max(1, _WINDOW_BYTES * len(x) // size))


def _is_plain(options: dict[str, Any]) -> bool:
    dilations = [d for name in ("lhs_dilation", "rhs_dilation") for d in options.get(name) or ()]
    return options.get("feature_group_count", 1) == 1 and all(d == 1 for d in dilations)


def _windows(
    x: Float[Array, "n h w ch"], size: Sequence[int], strides: Sequence[int], padding: Padding
) -> Float[Array, "n p q window"]:
    """Return every window, flattened in the order of a kernel's axes."""
    if isinstance(padding, str):
        padding = jax.lax.padtype_to_pads(x.shape[1:3], size, strides, padding)
    x = jnp.pad(x, ((0, 0), *padding, (0, 0)))
    # The last row and column at which a window starts, and one more.
    ends = [
        (side - window) // stride * stride + 1
        for side, window, stride in zip(x.shape[1:3], size, strides, strict=True)
    ]
    return jnp.concatenate(
        [
            x[:, i : i + ends[0] : strides[0], j : j + ends[1] : strides[1]]
            for i in range(size[0])
            for j in range(size[1])
        ],
        axis=-1,
    )
