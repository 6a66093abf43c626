"""Conditional generators: a latent code and a label in, a row of pixels or columns out.

A generator's input is a standard normal code followed by the one-hot label; its output are rows
(b, d), images in NHWC order with values in [0, 1]. Layers start as in torch, and batch
normalisation has torch's constants, as in the published generators; it sees generated examples
only, so it costs no privacy. Modules compute in the float type of their input, with parameters
and running statistics stored in float32.

References:
    Harder, Adamczewski & Park (2021), "DP-MERF: differentially private mean embeddings with
        random features for practical privacy-preserving data generation" (`ConvCondGen`).
    Vinaroz, Charusaie, Harder, Adamczewski & Park (2022), "Hermite polynomial features for private
        data generation" (DP-HP; `DenseGen`).
    Harder, Jalali, Sutherland & Park (2023), "Pre-trained perceptual features improve
        differentially private image generation" (DP-MEPF; `ResnetG`).
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation" (all three).
    Ioffe & Szegedy (2015), "Batch normalization".
    Glorot & Bengio (2010), "Understanding the difficulty of training deep feedforward neural
        networks", equation 16.
"""

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxdp.networks.classifiers import Conv, uniform_init
from jaxdp.networks.upsampling import upsample_conv

_KERNEL_SIZE = 5
# Torch's: its momentum 0.1 is the new batch's share, flax's 0.9 the old average's.
_MOMENTUM = 0.9
_EPSILON = 1e-5
# The layer that takes code and label; its width tells the number of classes.
_FIRST = "input"


class ConvCondGen(nn.Module):
    """Two dense layers, and two convolutions that each follow an upsampling.

    Dense -> BatchNorm -> ReLU -> Dense -> BatchNorm -> (h/4, w/4, channels[0])
    -> upsample -> Conv 5x5 -> ReLU -> upsample -> Conv 5x5 -> sigmoid

    `upsample` doubles the size bilinearly; the first convolution has `channels[1]` outputs.

    Attributes:
        shape: height, width and channels of an image, height and width multiples of 4.
        hidden: units of the first dense layer.
        channels: of the first and second feature map.
        banded: the form of `upsample_conv`; None for whichever is faster on jax's default backend.

    Raises:
        ValueError: `shape`, `hidden` or `channels` is out of range.
    """

    shape: tuple[int, int, int]
    hidden: int = 200
    channels: tuple[int, int] = (16, 8)
    banded: bool | None = None

    def __post_init__(self) -> None:
        _check_shape("ConvCondGen", self.shape, 4)
        if min(self.hidden, *self.channels) < 1:
            raise ValueError(
                f"hidden and channels must be >= 1, got {self.hidden} and {self.channels}"
            )
        super().__post_init__()

    @nn.compact
    def __call__(self, inputs: Float[Array, "b inputs"], *, train: bool) -> Float[Array, "b d"]:
        """Return flattened images in [0, 1]; `train` normalises by the batch's statistics."""
        height, width, colours = self.shape
        banded = jax.default_backend() == "cpu" if self.banded is None else self.banded
        x = nn.relu(_batch_norm(_dense(inputs, self.hidden, name=_FIRST), train))
        start = (height // 4, width // 4, self.channels[0])
        x = _batch_norm(_dense(x, math.prod(start)), train).reshape(-1, *start)
        x = nn.relu(UpsampleConv(self.channels[1], banded)(x))
        x = UpsampleConv(colours, banded)(x)
        return jax.lax.collapse(nn.sigmoid(x), 1)


class ResnetG(nn.Module):
    """A dense layer, three residual blocks that double the size, and a convolution.

    Dense without bias -> (h/8, w/8, 8 base) -> blocks with 4, 2 and 1 times `base` channels
    -> BatchNorm -> ReLU -> Conv 3x3 -> (tanh + 1) / 2

    The dense layer is the published transposed convolution, whose input has one pixel. The
    published output is tanh; here it is in the range that data are scaled to. Kernels start
    uniform on `+-sqrt(6 / (fan_in + fan_out))`.

    Attributes:
        shape: height, width and channels of an image, height and width multiples of 8.
        base: channels of the last feature map.

    Raises:
        ValueError: `shape` or `base` is out of range.
    """

    shape: tuple[int, int, int]
    base: int = 64

    def __post_init__(self) -> None:
        _check_shape("ResnetG", self.shape, 8)
        if self.base < 1:
            raise ValueError(f"base must be >= 1, got {self.base}")
        super().__post_init__()

    @nn.compact
    def __call__(self, inputs: Float[Array, "b inputs"], *, train: bool) -> Float[Array, "b d"]:
        """Return flattened images in [0, 1]; `train` normalises by the batch's statistics."""
        height, width, colours = self.shape
        pixels, features = height * width // 64, 8 * self.base
        # The fans of a transposed convolution: one kernel of h/8 x w/8 pixels per pair of channels.
        init = uniform_init(_xavier(pixels * inputs.shape[-1], pixels * features))
        x = nn.Dense(
            pixels * features, use_bias=False, kernel_init=init, dtype=inputs.dtype, name=_FIRST
        )(inputs)
        x = x.reshape(-1, height // 8, width // 8, features)
        for multiple in (4, 2, 1):
            x = UpBlock(multiple * self.base)(x, train=train)
        x = _xavier_conv(nn.relu(_batch_norm(x, train)), colours, 3)
        return jax.lax.collapse((jnp.tanh(x) + 1) / 2, 1)


class DenseGen(nn.Module):
    """Dense layers alone, for images of any size.

    Dense -> BatchNorm -> ReLU -> Dense -> BatchNorm -> ReLU -> Dense -> sigmoid

    Attributes:
        dim: number of values of an image.
        hidden: units of the first and second layer.

    Raises:
        ValueError: `dim` or `hidden` is out of range.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxdp import networks
        >>> generator, labels = networks.DenseGen(dim=64, hidden=(16, 16)), jnp.array([0, 1, 1])
        >>> variables = networks.generators.init(generator, jax.random.key(0), 5, 2)
        >>> codes = networks.generators.sample_codes(jax.random.key(1), labels, 5)
        >>> rows, _ = networks.generators.generate(generator, variables, codes, labels, train=False)
        >>> rows.shape
        (3, 64)
    """

    dim: int
    hidden: tuple[int, int] = (500, 500)

    def __post_init__(self) -> None:
        if min(self.dim, *self.hidden) < 1:
            raise ValueError(f"dim and hidden must be >= 1, got {self.dim} and {self.hidden}")
        super().__post_init__()

    @nn.compact
    def __call__(self, inputs: Float[Array, "b inputs"], *, train: bool) -> Float[Array, "b d"]:
        """Return flattened images in [0, 1]; `train` normalises by the batch's statistics."""
        x = _dense(inputs, self.hidden[0], name=_FIRST)
        x = _dense(nn.relu(_batch_norm(x, train)), self.hidden[1])
        return nn.sigmoid(_dense(nn.relu(_batch_norm(x, train)), self.dim))


class TabularGen(nn.Module):
    """Dense(4 D) -> BatchNorm -> ReLU -> Dense(2 D) -> BatchNorm -> ReLU -> Dense(D), linear.

    Attributes:
        num_columns: D.

    Raises:
        ValueError: `num_columns` is below 1.
    """

    num_columns: int

    def __post_init__(self) -> None:
        if self.num_columns < 1:
            raise ValueError(f"num_columns must be >= 1, got {self.num_columns}")
        super().__post_init__()

    @nn.compact
    def __call__(self, inputs: Float[Array, "b inputs"], *, train: bool) -> Float[Array, "b d"]:
        """Return rows of any range; `train` normalises by the batch's statistics."""
        x = _dense(inputs, 4 * self.num_columns, name=_FIRST)
        x = _dense(nn.relu(_batch_norm(x, train)), 2 * self.num_columns)
        return _dense(nn.relu(_batch_norm(x, train)), self.num_columns)


class TableGen(nn.Module):
    """`TabularGen` with a head for each choice: a sigmoid for a number, a softmax for categories.

    Attributes:
        widths: how many places of a row each choice takes, 1 for a number.

    Raises:
        ValueError: there are none, or one is below 1.

    References:
        Harder et al. (2021), "DP-MERF", section 5.1 (generators of heterogeneous tables).
    """

    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"widths must be >= 1, got {self.widths}")
        super().__post_init__()

    @nn.compact
    def __call__(self, inputs: Float[Array, "b inputs"], *, train: bool) -> Float[Array, "b d"]:
        """Return rows in [0, 1]; `train` normalises by the batch's statistics."""
        size = sum(self.widths)
        x = _dense(inputs, 4 * size, name=_FIRST)
        x = _dense(nn.relu(_batch_norm(x, train)), 2 * size)
        x = _dense(nn.relu(_batch_norm(x, train)), size)
        owner = np.repeat(np.arange(len(self.widths)), self.widths)
        is_number = np.asarray(self.widths)[owner] == 1
        return jnp.where(is_number, nn.sigmoid(x), _softmax_of(x, owner, len(self.widths)))


NETWORKS = (ConvCondGen, ResnetG, DenseGen, TabularGen, TableGen)
"""What the file of a released generator may name."""


def _softmax_of(x: Float[Array, "b d"], owner: np.ndarray, count: int) -> Float[Array, "b d"]:
    """Return the softmax within the places of each owner."""
    powers = jnp.exp(x - jax.lax.stop_gradient(jax.ops.segment_max(x.T, owner, count)[owner].T))
    return powers / jax.ops.segment_sum(powers.T, owner, count)[owner].T


def init(module: nn.Module, key: Key[Array, ""], code_dim: int, num_classes: int) -> dict[str, Any]:
    """Return a generator's initial variables: `params`, and the running `batch_stats`.

    Raises:
        ValueError: a number is below 1.
    """
    if min(code_dim, num_classes) < 1:
        raise ValueError(f"need code_dim and num_classes >= 1, got {code_dim} and {num_classes}")
    inputs = jnp.zeros((1, code_dim + num_classes), jnp.float32)
    # Compiled, nothing of the forward pass is left but the drawing of parameters.
    return jax.jit(lambda key: module.init(key, inputs, train=False))(key)


def sample_codes(
    key: Key[Array, ""], labels: Int[Array, " b"], code_dim: int
) -> Float[Array, "b {code_dim}"]:
    """Return a standard normal latent code for each label, whatever it is, in float32."""
    return jax.random.normal(key, (labels.shape[0], code_dim), jnp.float32)


def generate(
    module: nn.Module,
    variables: dict[str, Any],
    codes: Float[Array, "b code"],
    labels: Int[Array, " b"],
    *,
    train: bool,
) -> tuple[Float[Array, "b d"], Any]:
    """Return one row per code and label, and the running statistics after it.

    Args:
        module: a generator.
        variables: its `params` and `batch_stats`.
        codes: as from `sample_codes`, of the length that `init` was given.
        labels: in 0 .. num_classes - 1.
        train: normalise by the statistics of this batch and move the running ones a tenth of the
            way towards them (variances divided by b; torch's are divided by b - 1). Otherwise the
            running ones normalise, stay as they are, and no row depends on another.

    Raises:
        ValueError: codes do not have the length that `init` was given.
    """
    width = variables["params"][_FIRST]["kernel"].shape[0]
    num_classes = width - codes.shape[1]
    if num_classes < 1:
        raise ValueError(
            f"codes have length {codes.shape[1]}, but code and label together have {width}"
        )
    inputs = jnp.concatenate([codes, jax.nn.one_hot(labels, num_classes, dtype=codes.dtype)], 1)
    stats = variables["batch_stats"]
    if not train:
        return module.apply(variables, inputs, train=False), stats  # type: ignore[return-value]
    rows, updated = module.apply(variables, inputs, train=True, mutable=["batch_stats"])
    # Those of float64 inputs come back in float64: a loop would not accept, a jit recompile that.
    return rows, jax.tree.map(lambda new, old: new.astype(old.dtype), updated["batch_stats"], stats)


class UpsampleConv(nn.Module):
    """`upsample_conv` with a 5x5 kernel and a bias, the parameters of `nn.Conv` in either form."""

    features: int
    banded: bool

    @nn.compact
    def __call__(self, x: Float[Array, "b h w ch"]) -> Float[Array, "b 2*h 2*w f"]:
        """Return the feature map, twice the size."""
        shape = (_KERNEL_SIZE, _KERNEL_SIZE, x.shape[-1], self.features)
        start = uniform_init(1 / math.sqrt(math.prod(shape[:3])))
        kernel = self.param("kernel", start, shape)
        bias = self.param("bias", start, (self.features,))
        return upsample_conv(x, kernel.astype(x.dtype), banded=self.banded) + bias.astype(x.dtype)


class UpBlock(nn.Module):
    """Two convolutions behind batch norm and ReLU, plus a 1x1 convolution; twice the size."""

    features: int

    @nn.compact
    def __call__(self, x: Float[Array, "b h w ch"], *, train: bool) -> Float[Array, "b 2*h 2*w f"]:
        """Return the feature map, twice the size."""
        shortcut = _double(_xavier_conv(x, self.features, 1))
        x = _xavier_conv(_double(nn.relu(_batch_norm(x, train))), self.features, 3)
        x = _xavier_conv(nn.relu(_batch_norm(x, train)), self.features, 3)
        return x + shortcut


def _double(x: Array) -> Array:
    """Repeat every pixel twice in both directions."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def _dense(x: Array, features: int, *, name: str | None = None) -> Array:
    start = uniform_init(1 / math.sqrt(x.shape[-1]))
    return nn.Dense(features, dtype=x.dtype, kernel_init=start, bias_init=start, name=name)(x)


def _xavier_conv(x: Array, features: int, size: int) -> Array:
    fan_in, fan_out = (size * size * channels for channels in (x.shape[-1], features))
    return Conv(
        features,
        (size, size),
        dtype=x.dtype,
        kernel_init=uniform_init(_xavier(fan_in, fan_out)),
        bias_init=uniform_init(1 / math.sqrt(fan_in)),
    )(x)


def _batch_norm(x: Array, train: bool) -> Array:
    return nn.BatchNorm(
        use_running_average=not train,
        momentum=_MOMENTUM,
        epsilon=_EPSILON,
        dtype=x.dtype,
        use_fast_variance=False,
    )(x)


def _xavier(fan_in: int, fan_out: int) -> float:
    return math.sqrt(6 / (fan_in + fan_out))


def _check_shape(name: str, shape: tuple[int, int, int], factor: int) -> None:
    if min(shape) < 1 or any(side % factor for side in shape[:2]):
        raise ValueError(
            f"{name} needs a shape (height, width, channels) with height and width divisible by "
            f"{factor}, got {tuple(shape)}"
        )
