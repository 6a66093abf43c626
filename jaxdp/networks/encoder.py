"""The network behind public features that were learnt from random images.

Images are NHWC. All normalisation is within one image, so that a record's output never depends on
the other records of a batch.

References:
    Wu & He (2018), "Group normalization".
    Wang & Isola (2020), "Understanding contrastive representation learning through alignment and
        uniformity on the hypersphere" (what it is trained for).
"""

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.networks.classifiers import Conv

_GROUPS = 8


class EncoderTrunk(nn.Module):
    """Three blocks of a 3x3 convolution, group normalisation, ReLU and 2x2 mean pooling.

    Attributes:
        width: channels of the first block; the second has twice as many, the third four times.
    """

    width: int = 64

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> tuple[Float[Array, "n p q f"], ...]:
        """Return what every block makes of images of mean 0 and deviation 1, about."""
        found = []
        for channels in (self.width, 2 * self.width, 4 * self.width):
            x = nn.avg_pool(_block(x, channels), (2, 2), strides=(2, 2))
            found.append(x)
        return tuple(found)


class Encoder(nn.Module):
    """The trunk with a head that its training alone needs: a block, means over places, 128 units.

    Attributes:
        width: of the trunk.
    """

    width: int = 64

    @nn.compact
    def __call__(self, x: Float[Array, "n h w ch"]) -> Float[Array, "n 128"]:
        """Return points on the sphere."""
        *_, last = EncoderTrunk(self.width, name="trunk")(x)
        z = jnp.mean(_block(last, 4 * self.width), axis=(1, 2))
        z = nn.Dense(128)(nn.relu(nn.Dense(256)(z)))
        return z / jnp.linalg.norm(z, axis=1, keepdims=True)


def _block(x: Array, channels: int) -> Array:
    # Features of one machine are those of another: no products of fewer bits on a GPU.
    x = Conv(channels, (3, 3), use_bias=False, dtype=x.dtype, precision="highest")(x)
    return nn.relu(nn.GroupNorm(num_groups=_GROUPS, dtype=x.dtype)(x))
