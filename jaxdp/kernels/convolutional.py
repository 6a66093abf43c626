"""The neural tangent kernel of an infinitely wide convolutional network, by neural-tangents.

    Conv 3x3 -> ReLU -> depth x [Conv 3x3 -> ReLU -> AvgPool 2x2] -> Flatten -> Dense

There is no short closed form: average pooling mixes pixels, so the covariances of all pairs
of pixels of two images must be carried through every layer. `conv_ntk_cost` says what that takes
before it is tried.

References:
    Arora et al. (2019), "On exact computation with an infinitely wide neural net", section 4.
    Novak et al. (2020), "Neural tangents: fast and easy infinite neural networks in Python".
    Nguyen et al. (2021), "Dataset distillation with infinitely wide convolutional networks".
"""

from typing import Any, NamedTuple

from jaxdp.kernels.base import Kernel, from_neural_tangents

# Operations of neural-tangents per entry of one covariance tensor. A convolution is one with a
# dense 3x3 kernel along each axis, 18 multiplications and additions both times; an average adds
# every entry once; what ReLU does to the pair of tensors is counted together, roots and
# arctangents as one operation each.
_CONV_FLOPS = 36
_RELU_FLOPS = 15
# Tensors of the first, largest layer alive at once, as XLA plans it on a CPU (jax 0.5.3).
_LIVE_TENSORS = 6

_INSTALL = (
    "the convolutional NTK needs neural-tangents, which does not import here ({error}). "
    'Install it by pip install -e ".[nt]" in an environment of its own: it needs jax < 0.6, '
    "without the fixes and GPU support of later versions, and brings TensorFlow with it. "
    "`make test-nt` builds such an environment, .venv-nt, from a checkout. See "
    "jaxdp.kernels.convolutional.conv_ntk_cost for what a Gram matrix takes"
)


class GramCost(NamedTuple):
    """Estimated cost of one block of a Gram matrix: operations, bytes at the peak."""

    flops: float
    bytes: float


def conv_ntk(image_shape: tuple[int, int, int], *, depth: int = 3) -> Kernel:
    """Return the NTK of a convolutional network on rows that hold images of a shape.

    The first convolution has weights of standard deviation 1 and no bias, all other layers
    sqrt(2) and 0.1, in NTK parameterisation, padded to the same size. The kernel is computed in
    one piece: give it blocks of rows for which `conv_ntk_cost` fits the device.

    Args:
        image_shape: (h, w, channels).
        depth: number of blocks that pool, >= 1.

    Raises:
        ValueError: depth below 1, or images too small for so many poolings.
        ImportError: neural-tangents is not installed, or does not import on this jax.
    """
    _poolings(image_shape, depth)
    stax = _import_stax()
    block = (
        stax.Conv(1, (3, 3), padding="SAME", W_std=2**0.5, b_std=0.1),
        stax.Relu(),
        stax.AvgPool((2, 2), strides=(2, 2)),
    )
    _, _, kernel_fn = stax.serial(
        stax.Conv(1, (3, 3), padding="SAME", W_std=1.0, b_std=0.0),
        stax.Relu(),
        *block * depth,
        stax.Flatten(),
        stax.Dense(1, W_std=2**0.5, b_std=0.1),
    )
    return from_neural_tangents(kernel_fn, input_shape=image_shape)


def conv_ntk_cost(
    num_rows: int,
    num_columns: int,
    image_shape: tuple[int, int, int],
    *,
    depth: int = 3,
    itemsize: int = 4,
) -> GramCost:
    """Estimate what a (num_rows, num_columns) block of the Gram matrix costs, without gradient.

    For each pair of images, a layer on h x w pixels carries two tensors (the covariance and the
    tangent kernel) of `(h w)^2` entries each, one for every pair of pixels; for each single image
    one more, its own covariance. Per entry and tensor a 3x3 convolution takes 36 operations and an
    average 1, ReLU takes 15 for both; the first convolution has no tangent kernel yet. The peak
    is in the first block:

        bytes = 6 itemsize (h w)^2 num_rows num_columns

    Per pair of images in float32 that is 90 MFLOP and 15 MB for 28x28, 153 MFLOP and 25 MB for
    32x32. XLA's own analysis of blocks of 6 to 32 pairs of 4x4 to 28x28 images (CPU, jax 0.5.3)
    is 0.85 to 1.1 times these operations and 1.0 times these bytes; of a gradient with respect to
    the rows 2.2 to 2.7 times the operations and the same factor of bytes.

    Args:
        num_rows: images of the first set, >= 1.
        num_columns: images of the second set, >= 1.
        image_shape: (h, w, channels); channels cost next to nothing.
        depth: number of blocks that pool, >= 1.
        itemsize: bytes of a number: 4 for float32, 8 for float64.

    Raises:
        ValueError: an argument is out of range.

    Examples:
        >>> from jaxdp import kernels
        >>> cost = kernels.conv_ntk_cost(10, 1000, (28, 28, 1))
        >>> round(cost.bytes / 1e9), "GB"
        (148, 'GB')
    """
    if min(num_rows, num_columns, itemsize) < 1:
        raise ValueError(
            f"need num_rows, num_columns and itemsize >= 1, got {num_rows}, {num_columns} and "
            f"{itemsize}"
        )
    sizes = _poolings(image_shape, depth)
    pairs, singles = num_rows * num_columns, num_rows + num_columns
    # Tensors of the first convolution and ReLU, then of the blocks.
    flops = float(sizes[0] * (pairs + singles) * (_CONV_FLOPS + _RELU_FLOPS))
    for entries in sizes[:-1]:
        tensors = 2 * pairs + singles
        flops += entries * (tensors * (_CONV_FLOPS + 1) + (pairs + singles) * _RELU_FLOPS)
    return GramCost(flops, float(_LIVE_TENSORS * itemsize * sizes[0] * pairs))


def _poolings(image_shape: tuple[int, int, int], depth: int) -> list[int]:
    """Return the entries `(h w)^2` of a covariance before and after each pooling."""
    height, width, _ = image_shape
    if depth < 1 or min(height, width) < 2**depth:
        raise ValueError(
            f"need depth >= 1 and sides of at least 2^depth pixels, got depth {depth} for "
            f"{height} x {width}"
        )
    return [((height // 2**i) * (width // 2**i)) ** 2 for i in range(depth + 1)]


def _import_stax() -> Any:
    try:
        from neural_tangents import stax
    except (ImportError, AttributeError) as error:  # jax >= 0.6 lacks attributes it reads
        raise ImportError(_INSTALL.format(error=error)) from error
    return stax
