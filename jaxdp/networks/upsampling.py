"""Bilinear interpolation to twice the size, alone and fused with a convolution."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def upsample(x: Float[Array, "b h w ch"]) -> Float[Array, "b 2*h 2*w ch"]:
    """Return images of twice the size by bilinear interpolation between corners.

    Output pixel i of 2 n is at the input's i (n - 1) / (2 n - 1), so first and last pixels keep
    their values (`align_corners=True` in torch; `jax.image.resize` has the other convention).
    """
    rows, cols = (jnp.asarray(_interpolation(side), x.dtype) for side in x.shape[1:3])
    return jnp.einsum("ph,bhwc,qw->bpqc", rows, x, cols, precision="highest")


def upsample_conv(
    x: Float[Array, "b h w ch"], kernel: Float[Array, "k k ch f"], *, banded: bool
) -> Float[Array, "b 2*h 2*w f"]:
    """Return `upsample(x)` after a convolution with an odd kernel, padded to the same size.

    Both are linear and act on rows and columns separately, so together they are, over the
    kernel's vertical offsets y,

        out = sum_y V_y x H_y,    V_y (2h, h),    H_y (w ch, 2w f)

    where `V_y` is the interpolation moved by y pixels, and `H_y` the same along the width, weighted
    by the kernel's row y and banded. Two matrix products instead of a convolution: XLA's gradients
    of convolutions are slow on CPUs, above all inside compiled loops.

    Args:
        x: images.
        kernel: of the convolution, k odd.
        banded: compute it by `V` and `H`, for CPUs; otherwise one after the other, for GPUs.
    """
    batch, height, width, channels = x.shape
    size, features = kernel.shape[0], kernel.shape[-1]
    if not banded:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            upsample(x), kernel, (1, 1), "SAME", dimension_numbers=layout
        )
    rows, cols = (jnp.asarray(_moved(side, size), x.dtype) for side in (height, width))
    bands = jnp.einsum("zqw,yzcf->wcyqf", cols, kernel).reshape(width * channels, -1)
    # The wide product on all rows at once, and as a plain matrix product: it is most of the work.
    across = x.reshape(batch * height, width * channels) @ bands
    across = across.reshape(batch, height, size, 2 * width * features)
    out = jnp.einsum("yph,bhyr->bpr", rows, across)
    return out.reshape(batch, 2 * height, 2 * width, features)


def _interpolation(side: int) -> np.ndarray:
    """Return the matrix (2 side, side) of linear interpolation between corners."""
    position = np.arange(2 * side) * (side - 1) / (2 * side - 1)
    # A tent around each input pixel.
    return np.maximum(0, 1 - np.abs(position[:, None] - np.arange(side)))


def _moved(side: int, size: int) -> np.ndarray:
    """Return the interpolation (size, 2 side, side) at each of a kernel's offsets, padded by 0."""
    padded = np.pad(_interpolation(side), ((size // 2, size // 2), (0, 0)))
    return np.stack([padded[offset : offset + 2 * side] for offset in range(size)])
