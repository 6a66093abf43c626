"""Several small images in the place of one: as many values, more of them to learn from.

An image of h x w pixels holds k x k images of h/k x w/k pixels. Who learns from them enlarges each
to h x w pixels by linear interpolation first. Distilled images are smooth, so that little is lost.

References:
    Kim et al. (2022), "Dataset condensation via efficient synthetic-data parameterization" (IDC),
        section 4.1 (multi-formation).
"""

import dataclasses
import math

import jax
from jaxtyping import Array, Float

from jaxdp.rows import require_rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Packing:
    """How small images lie in whole ones.

    Attributes:
        image_shape: (h, w, channels) of a whole image; d = h w channels.
        factor: k >= 1, how many lie side by side; 1 for whole images as they are.

    Raises:
        ValueError: the sides are not multiples of the factor, which is at least 1; from a method,
            rows are of another width.
        TypeError: from a method, rows are not of floats.

    Examples:
        >>> from jaxdp import images
        >>> packing = images.Packing(image_shape=(32, 32, 3), factor=2)
        >>> packing.count
        4
    """

    image_shape: tuple[int, int, int]
    factor: int = 1

    def __post_init__(self) -> None:
        sides, k = self.image_shape[:2], self.factor
        if k < 1 or any(side % k for side in sides):
            raise ValueError(f"images of {sides[0]} x {sides[1]} pixels do not hold {k} x {k}")

    @property
    def count(self) -> int:
        """How many small images an image holds."""
        return self.factor**2

    @property
    def small_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of a small image; their product is e."""
        height, width, channels = self.image_shape
        return height // self.factor, width // self.factor, channels

    def enlarged(self, x: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Return small images as large as whole ones, by linear interpolation between pixels."""
        require_rows(x, math.prod(self.small_shape))
        if self.factor == 1:
            return x
        images = x.reshape(-1, *self.small_shape)
        large = jax.image.resize(images, (len(x), *self.image_shape), "linear")
        return jax.lax.collapse(large, 1)

    def reduced(self, x: Float[Array, "n d"]) -> Float[Array, "n e"]:
        """Return whole images as small as those that they hold; a pixel is a mean of k x k."""
        require_rows(x, math.prod(self.image_shape))
        height, width, channels = self.small_shape
        k = self.factor
        blocks = x.reshape(-1, height, k, width, k, channels)
        return jax.lax.collapse(blocks.mean(axis=(2, 4)), 1)

    def packed(self, x: Float[Array, "m e"]) -> Float[Array, "n d"]:
        """Return the whole images that hold small ones, k x k after each other in each."""
        require_rows(x, math.prod(self.small_shape))
        height, width, channels = self.small_shape
        k = self.factor
        tiles = x.reshape(-1, k, k, height, width, channels)
        return tiles.transpose(0, 1, 3, 2, 4, 5).reshape(-1, k * height * k * width * channels)

    def unpacked(self, x: Float[Array, "n d"]) -> Float[Array, "m e"]:
        """Return the small images that whole ones hold; undoes `packed`."""
        require_rows(x, math.prod(self.image_shape))
        height, width, channels = self.small_shape
        k = self.factor
        tiles = x.reshape(-1, k, height, k, width, channels)
        return tiles.transpose(0, 1, 3, 2, 4, 5).reshape(-1, height * width * channels)
