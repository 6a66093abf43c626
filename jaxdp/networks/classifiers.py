"""Flax modules: networks behind kernels and features, and the classifier that judges images.

Images are NHWC. A module computes in the float type of its input, with parameters stored in
float32, and a record's output never depends on the other records of a batch: all normalisation
is within one image. Flax is imported here, in `entk_networks` and in `generators`, nowhere else.

References:
    LeCun et al. (1998), "Gradient-based learning applied to document recognition", section II.B.
    He et al. (2016), "Deep residual learning for image recognition", table 1.
    Wu & He (2018), "Group normalization".
    Chen, Kerkouche & Fritz (2022), "Private set generation with discriminative information",
        appendix (the ConvNet that evaluates distilled images).
    Zagoruyko & Komodakis (2016), "Wide residual networks".
"""

import functools
import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.networks.convolution import convolve

Conv = functools.partial(nn.Conv, conv_general_dilated=convolve)
"""Flax's layer, as a matrix product where XLA is slow."""

_GROUPS = 32
_STAGES = (2, 2, 2, 2)
# torch's default, which the published networks use; flax's is 1e-6.
_EPSILON = 1e-5


def uniform_init(bound: float) -> nn.initializers.Initializer:
    """Return an initialiser that is uniform on [-bound, bound): torch's, at 1/sqrt(fan_in)."""

    def init(key: Array, shape: Any, dtype: Any = jnp.float32, *unused: Any) -> Array:
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return init


class LeNet(nn.Module):
    """LeNet-5 with ReLU and average pooling: 61,706 parameters for 28x28 grey images.

    Two 5x5 convolutions with 6 and 16 channels, each followed by ReLU and 2x2 average pooling,
    then dense layers of 120, 84 and `num_classes` units. The first convolution keeps the size, so
    that 28 pixels count as the original's 32 do; the second is unpadded where its input has six
    pixels or more.

    Raises:
        ValueError: an image side is odd or below 8.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxdp import networks
        >>> network = networks.LeNet(num_classes=10)
        >>> params = jax.eval_shape(network.init, jax.random.key(0), jnp.zeros((1, 28, 28, 1)))
        >>> sum(leaf.size for leaf in jax.tree.leaves(params))
        61706
    """

    num_classes: int

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n classes"]:
        """Return logits."""
        sides = x.shape[1:3]
        if min(sides) < 8 or any(side % 2 for side in sides):
            raise ValueError(f"LeNet needs even sides of at least 8 pixels, got {sides}")
        dtype = x.dtype
        x = nn.relu(Conv(6, (5, 5), padding="SAME", dtype=dtype)(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        padding = "VALID" if min(x.shape[1:3]) >= 6 else "SAME"
        x = nn.relu(Conv(16, (5, 5), padding=padding, dtype=dtype)(x))
        x = jax.lax.collapse(nn.avg_pool(x, (2, 2), strides=(2, 2)), 1)
        for features in (120, 84):
            x = nn.relu(nn.Dense(features, dtype=dtype)(x))
        return nn.Dense(self.num_classes, dtype=dtype)(x)


def _group_norm(x: Array) -> nn.GroupNorm:
    """Return a group normalisation with 32 groups, fewer where there are few channels."""
    # Two channels or more per group: alone on a one-pixel map a channel is its own mean, and the
    # normalisation would return 0 whatever the image.
    groups = math.gcd(_GROUPS, x.shape[-1] // 2)
    # Scales start at 1 throughout. A zero scale at the end of every block, as in the published
    # code and good for training, makes all residual branches 0: an untrained network would have
    # no features beyond its stem, and its tangent features no gradient inside the blocks.
    return nn.GroupNorm(groups, epsilon=_EPSILON, dtype=x.dtype, use_fast_variance=False)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with group normalisation, and a shortcut: `relu(F(x) + s(x))`.

    The shortcut is a 1x1 convolution with group normalisation where the shape changes.
    """

    features: int
    stride: int = 1

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n p q features"]:
        """Return the block's output, `stride` times smaller."""
        strides = (self.stride, self.stride)

        def normalised(y: Array, size: int, strides: tuple[int, int]) -> Array:
            window = (size, size)
            y = Conv(self.features, window, strides, use_bias=False, dtype=y.dtype)(y)
            return _group_norm(y)(y)

        y = nn.relu(normalised(x, 3, strides))
        y = normalised(y, 3, (1, 1))
        shortcut = x if x.shape == y.shape else normalised(x, 1, strides)
        return nn.relu(y + shortcut)


class ResNet18Trunk(nn.Module):
    """ResNet-18 without its last layer, with group normalisation.

    A 7x7 convolution of stride 2, group normalisation, ReLU, 3x3 max pooling of stride 2, and four
    stages of two residual blocks with 1, 2, 4 and 8 times `width` channels.
    """

    width: int = 64

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> tuple[Array, ...]:
        """Return the activations from the first to the last.

        Returns:
            Ten arrays: the stem convolution's output before normalisation, the input of each of
            the eight blocks (all NHWC), and the global average (n, 8 width).
        """
        x = Conv(self.width, (7, 7), (2, 2), use_bias=False, dtype=x.dtype)(x)
        activations = [x]
        x = nn.relu(_group_norm(x)(x))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for stage, blocks in enumerate(_STAGES):
            for block in range(blocks):
                activations.append(x)
                stride = 2 if stage > 0 and block == 0 else 1
                x = ResidualBlock(self.width * 2**stage, stride)(x)
        return (*activations, jnp.mean(x, axis=(1, 2)))


class ResNet18(nn.Module):
    """ResNet-18 with group normalisation; its activations are those of `ResNet18Trunk`.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxdp import networks
        >>> network = networks.ResNet18(num_classes=10)
        >>> params = jax.eval_shape(network.init, jax.random.key(0), jnp.zeros((1, 32, 32, 3)))
        >>> sum(leaf.size for leaf in jax.tree.leaves(params))
        11181642
    """

    num_classes: int
    width: int = 64

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n classes"]:
        """Return logits."""
        *_, average = ResNet18Trunk(self.width)(x)
        return nn.Dense(self.num_classes, dtype=x.dtype)(average)


class SmallCnn(nn.Module):
    """Two 5x5 convolutions with 16 and 32 channels, ReLU and 2x2 max pooling, and 128 units.

    Maps with a side above 16 are averaged down before the dense layer, which would hold millions of
    weights otherwise; sides of one pixel are not pooled.
    """

    num_classes: int

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n classes"]:
        """Return logits."""
        dtype = x.dtype
        for features in (16, 32):
            x = _halved(max_pool, nn.relu(Conv(features, (5, 5), padding="SAME", dtype=dtype)(x)))
        while max(x.shape[1:3]) > 16:
            x = _halved(nn.avg_pool, x)
        x = nn.relu(nn.Dense(128, dtype=dtype)(jax.lax.collapse(x, 1)))
        return nn.Dense(self.num_classes, dtype=dtype)(x)


def _halved(pool: Any, x: Array) -> Array:
    window = (min(2, x.shape[1]), min(2, x.shape[2]))
    return pool(x, window, strides=window)


def max_pool(
    x: Float[Array, "n h w ch"], window: tuple[int, int], strides: tuple[int, int]
) -> Float[Array, "n p q ch"]:
    """Return what `flax.linen.max_pool` returns, for windows that touch and do not overlap.

    XLA finds the gradient of its own pooling by a search in every window, which takes a CPU as long
    as a convolution. Here values are compared with each other. Where several are largest, they
    share the gradient, which the first of them has there.

    Raises:
        ValueError: windows overlap, or leave places between.
    """
    if window != strides:
        raise ValueError(f"windows of {window} do not touch each other at steps of {strides}")
    for axis, size in enumerate(window, start=1):
        whole = jax.lax.slice_in_dim(x, 0, x.shape[axis] // size * size, axis=axis)
        shifted = [
            jax.lax.slice_in_dim(whole, at, None, stride=size, axis=axis) for at in range(size)
        ]
        x = functools.reduce(jnp.maximum, shifted)
    return x


class WideBlock(nn.Module):
    """Two 3x3 convolutions after normalisation and ReLU each, and a shortcut: `x + F(x)`.

    The shortcut is a 1x1 convolution of what is normalised first where the shape changes.
    """

    features: int
    stride: int = 1

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n p q features"]:
        """Return the block's output, `stride` times smaller."""

        def convolved(y: Array, size: int, stride: int) -> Array:
            window, strides = (size, size), (stride, stride)
            return Conv(self.features, window, strides, use_bias=False, dtype=y.dtype)(y)

        first = nn.relu(_group_norm(x)(x))
        y = convolved(first, 3, self.stride)
        y = convolved(nn.relu(_group_norm(y)(y)), 3, 1)
        same = x.shape[-1] == self.features and self.stride == 1
        return y + (x if same else convolved(first, 1, self.stride))


class WideResNet(nn.Module):
    """A wide residual network, WRN-`depth`-`widening`, with group instead of batch normalisation.

    A 3x3 convolution with 16 channels, three stages of `(depth - 4) / 6` blocks with 16, 32 and 64
    times `widening` channels, of which the second and third halve the sides; normalisation, ReLU,
    the average over pixels, a dense layer.

    Raises:
        ValueError: `depth` is not 4 more than a multiple of 6, or below 10.

    References:
        Zagoruyko & Komodakis (2016), "Wide residual networks", table 1.
    """

    num_classes: int
    depth: int = 16
    widening: int = 2

    def __post_init__(self) -> None:
        if self.depth < 10 or self.depth % 6 != 4:
            raise ValueError(f"depth must be 10, 16, 22, ..., got {self.depth}")
        super().__post_init__()

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n classes"]:
        """Return logits."""
        x = Conv(16, (3, 3), use_bias=False, dtype=x.dtype)(x)
        for stage in range(3):
            for block in range((self.depth - 4) // 6):
                stride = 2 if stage > 0 and block == 0 else 1
                x = WideBlock(16 * 2**stage * self.widening, stride)(x)
        x = jnp.mean(nn.relu(_group_norm(x)(x)), axis=(1, 2))
        return nn.Dense(self.num_classes, dtype=x.dtype)(x)


class ConvNet(nn.Module):
    """The network that is trained on distilled images to evaluate them.

    `depth` blocks of 3x3 convolution, instance normalisation with scale and offset, ReLU and 2x2
    average pooling; then a dense layer. As published, the first convolution pads grey images
    by 3 pixels (28x28 becomes 32x32), all others by 1. Only the last block pools to one pixel:
    instance normalisation of a one-pixel map would leave nothing of the image.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxdp import networks
        >>> network = networks.ConvNet(num_classes=10)
        >>> params = jax.eval_shape(network.init, jax.random.key(0), jnp.zeros((1, 32, 32, 3)))
        >>> sum(leaf.size for leaf in jax.tree.leaves(params))
        320010
    """

    num_classes: int
    width: int = 128
    depth: int = 3

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n classes"]:
        """Return logits."""
        x = _convnet_blocks(x, self.width, self.depth)
        return nn.Dense(self.num_classes, dtype=x.dtype)(x)


class ConvNetTrunk(nn.Module):
    """All of `ConvNet` but its dense layer."""

    width: int = 128
    depth: int = 3

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n features"]:
        """Return the last block's activations."""
        return _convnet_blocks(x, self.width, self.depth)


def _convnet_blocks(x: Array, width: int, depth: int) -> Array:
    margin = 3 if x.shape[-1] == 1 else 1
    for block in range(depth):
        x = Conv(width, (3, 3), padding=margin, dtype=x.dtype)(x)
        x = nn.GroupNorm(width, epsilon=_EPSILON, dtype=x.dtype, use_fast_variance=False)(x)
        x = nn.relu(x)
        last = block == depth - 1
        if min(x.shape[1:3]) >= (2 if last else 4):
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        margin = 1
    return jax.lax.collapse(x, 1)
