"""Views of an image, turned and stretched, whose features stand side by side.

    phi(x) = (phi_0(T_1 x), ..., phi_0(T_k x))

is one feature vector: normalised to norm 1, its class means are one release, like those of `phi_0`
alone. Images whose means agree with the data's in every view are less free to be noise in one of
them, and train networks that are shown turned and stretched images better.

Views are constants, chosen without data.

References:
    Zhao & Bilen (2021), "Dataset condensation with differentiable Siamese augmentation" (the same
    transformation of real and of distilled images; there, at random).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxdp.rows import require_floats, require_rows

FeatureFn = Callable[[Array], Array]


class View(NamedTuple):
    """How an image is looked at: turned by `rotation` degrees, sides stretched by the factors.

    Examples:
        >>> from jaxdp import images
        >>> images.View(rotation=10.0)
        View(rotation=10.0, stretch_rows=1.0, stretch_columns=1.0)
        >>> len(images.FIVE_VIEWS)
        5
    """

    rotation: float = 0.0
    stretch_rows: float = 1.0
    stretch_columns: float = 1.0

    @property
    def matrix(self) -> Float[Array, "2 2"]:
        """The map from a pixel's place, seen from the middle, to where it comes from."""
        stretch = jnp.array([self.stretch_rows, self.stretch_columns])
        return turned_and_stretched(jnp.asarray(self.rotation), stretch)


# As much as one person's digits or one cut's shirts differ from another's.
FIVE_VIEWS = (View(), View(15.0), View(-15.0), View(0.0, 1.15, 0.9), View(0.0, 0.9, 1.15))


def viewed(
    feature_fn: FeatureFn, image_shape: tuple[int, int, int], views: Sequence[View]
) -> FeatureFn:
    """Return `feature_fn` of all views side by side, of rows that hold images of `image_shape`.

    Raises:
        TypeError: from the map, rows that are not of floats.
        ValueError: from the map, rows of another width.

    Guarantee:
        A row's features depend on that row alone, where those of `feature_fn` do.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import images
        >>> phi = images.viewed(lambda rows: rows, (8, 8, 1), images.FIVE_VIEWS)
        >>> phi(jnp.ones((3, 64))).shape
        (3, 320)
    """
    matrices = jnp.stack([view.matrix for view in views])

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(rows, math.prod(image_shape))
        images = rows.reshape(-1, *image_shape)
        of_views = jax.vmap(resampled, in_axes=(None, 0, None))
        seen = jax.vmap(of_views, in_axes=(0, None, None))(
            images, matrices.astype(rows.dtype), jnp.zeros(2, rows.dtype)
        )
        # One call, so that it is compiled once.
        phi = feature_fn(seen.reshape(-1, rows.shape[1]))
        return phi.reshape(-1, len(views) * phi.shape[1])

    return features


def turned_and_stretched(
    degrees: Float[Array, "*n"], stretch: Float[Array, "*n 2"]
) -> Float[Array, "*n 2 2"]:
    """Return `matrix` of `resampled` for images turned by `degrees`, sides then times `stretch`.

    It leads back: `R^-1 S^-1` for an image that is turned by `R`, and then stretched by `S`.

    Args:
        degrees: clockwise.
        stretch: factors of height and width, above 0.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import images
        >>> abs(images.turned_and_stretched(jnp.array(90.0), jnp.ones(2)).round(3)).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    angle = jnp.deg2rad(degrees)
    rows = jnp.stack([jnp.cos(angle), -jnp.sin(angle)], axis=-1)
    columns = jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1)
    return jnp.stack([rows, columns], axis=-2) / stretch[..., None, :]


def resampled(
    image: Float[Array, "h w ch"], matrix: Float[Array, "2 2"], shift: Float[Array, " 2"]
) -> Float[Array, "h w ch"]:
    """Return an image moved by a linear map and a shift.

    The pixel at `middle + u` is what was at `middle + matrix u - shift`, interpolated between four
    pixels; from outside the nearest of the border, so no background has to be known.

    Args:
        image: on any scale.
        matrix: of places in rows and columns.
        shift: in pixels, along rows and columns.

    Raises:
        TypeError: the image is not of floats.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import images
        >>> image = jnp.arange(3.0).reshape(1, 3, 1)
        >>> images.resampled(image, jnp.eye(2), jnp.array([0.0, 1.0])).reshape(3).tolist()
        [0.0, 0.0, 1.0]
    """
    require_floats(image)
    size = image.shape[:2]
    middle = (jnp.asarray(size, image.dtype) - 1) / 2
    grid = jnp.stack(jnp.meshgrid(*(jnp.arange(side) for side in size), indexing="ij"))
    places = jnp.tensordot(matrix, grid - middle[:, None, None], axes=1, precision="highest")
    places = places + (middle - shift)[:, None, None]
    return jax.vmap(
        lambda channel: jax.scipy.ndimage.map_coordinates(
            channel, list(places), order=1, mode="nearest"
        ),
        in_axes=2,
        out_axes=2,
    )(image)
