"""Networks whose empirical tangent features embed data: random weights, summed logits.

The feature of an example is the gradient of `f(x) = sum_c logit_c(x)`. The C gradients of the last
layer's rows are all the same, so one of them, `sqrt(C)` times as long, gives the same inner
products, norms and sensitivity in fewer dimensions. `SummedLogits` is that layer: a module here
returns `f` itself, and its parameters are exactly the features that are needed.

Parameters start as in torch, uniform on `+-1/sqrt(fan_in)`, biases too. Modules take rows (n, d)
and compute in the float type of their input.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", section 5 and appendix A (architectures).
    He et al. (2015), "Delving deep into rectifiers" (torch's default initialisation).
"""

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.networks.classifiers import Conv, LeNet, ResNet18, uniform_init

_EPSILON = 1e-5


def dense(features: int, x: Array) -> Array:
    """Apply a dense layer that starts as in torch; within a module's `__call__`."""
    init = uniform_init(1 / math.sqrt(x.shape[-1]))
    return nn.Dense(features, dtype=x.dtype, kernel_init=init, bias_init=init)(x)


def conv(features: int, size: int, x: Array) -> Array:
    """Apply a padded convolution that starts as in torch; within a module's `__call__`."""
    init = uniform_init(1 / math.sqrt(size * size * x.shape[-1]))
    return Conv(
        features, (size, size), padding="SAME", dtype=x.dtype, kernel_init=init, bias_init=init
    )(x)


def _layer_norm(x: Array) -> Array:
    """Normalise each row without learned scales, which would be features."""
    return nn.LayerNorm(
        epsilon=_EPSILON, use_bias=False, use_scale=False, dtype=x.dtype, use_fast_variance=False
    )(x)


class SummedLogits(nn.Module):
    """The sum of `num_logits` linear outputs, with its gradient free of repetitions.

    `sqrt(C) (u . h + b)` with `u` the sum of C rows of a dense layer over `sqrt(C)`, and so `b`.
    """

    num_logits: int

    @nn.compact
    def __call__(self, h: Float[Array, "n w"]) -> Float[Array, " n"]:
        """Return the sum."""
        rows = uniform_init(1 / math.sqrt(h.shape[-1]))
        root = math.sqrt(self.num_logits)

        def init(key: Key[Array, ""], shape: tuple[int, ...], dtype: Any = jnp.float32) -> Array:
            return jnp.sum(rows(key, (*shape, self.num_logits), dtype), axis=-1) / root

        layer = nn.Dense(1, dtype=h.dtype, kernel_init=init, bias_init=init)
        return root * layer(h)[:, 0]


class FullyConnected1(nn.Module):
    """`fc_1l`: one hidden layer of ReLU units, normalised, and the summed logits."""

    width: int
    num_logits: int

    @nn.compact
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the summed logits."""
        h = _layer_norm(nn.relu(dense(self.width, x)))
        return SummedLogits(self.num_logits)(h)


class FullyConnected2(nn.Module):
    """`fc_2l`: a hidden layer of ReLU units, a linear one, normalised, and the summed logits."""

    widths: tuple[int, int]
    num_logits: int

    @nn.compact
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the summed logits."""
        h = dense(self.widths[1], nn.relu(dense(self.widths[0], x)))
        return SummedLogits(self.num_logits)(_layer_norm(h))


class ColumnNetwork(nn.Module):
    """`cnn_2l`, for tables: one layer shared by all columns, then a hidden layer over them.

    The published network's convolution has kernel size 1: every column alone is mapped to
    `widths[0]` ReLU units.
    """

    widths: tuple[int, int]
    num_logits: int

    @nn.compact
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the summed logits."""
        h = jax.lax.collapse(nn.relu(dense(self.widths[0], x[:, :, None])), 1)
        return SummedLogits(self.num_logits)(nn.relu(dense(self.widths[1], h)))


class Convolutional(nn.Module):
    """`cnn2d`: a 3x3 convolution, ReLU, and the summed logits of all its activations."""

    shape: tuple[int, int, int]
    width: int
    num_logits: int

    @nn.compact
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the summed logits."""
        h = nn.relu(conv(self.width, 3, x.reshape(-1, *self.shape)))
        return SummedLogits(self.num_logits)(jax.lax.collapse(h, 1))


class OneLogit(nn.Module):
    """`lenet5` and `resnet`: a classifier of images with a single output.

    The published ones have batch normalisation, whose features of an example would depend on the
    other examples; group normalisation is within one.
    """

    shape: tuple[int, int, int]
    residual: bool

    @nn.compact
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the logit."""
        network = (ResNet18 if self.residual else LeNet)(num_classes=1)
        return network(x.reshape(-1, *self.shape))[:, 0]
