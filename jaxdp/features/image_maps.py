"""Public feature maps of images made from scattering coefficients, before whitening.

They depend on the shape of an image alone: no private data in them. Images of any size have them,
and above 32 pixels hardly more of them: see `jaxdp.features.levels`.

References:
    Bruna & Mallat (2013), "Invariant scattering convolution networks".
"""

import functools

from jaxdp.features import levels, map_parts, scattering
from jaxdp.features.levels import Level, Shape
from jaxdp.features.map_parts import FeatureFn

_PATCH = 4  # pixels between two coefficients, 2^J
_PATHS_OF_A_GROUP = 5
_MOST_PATCHES = 8
# A border makes sides multiples of so many pixels: two patches.
_MULTIPLE = 2 * _PATCH


def pooled_map(image_shape: Shape, *, mirror: bool) -> FeatureFn:
    """Return features whose dimension is near that of the pixels, for distillation from a teacher.

    They are those of `pooled_levels`, side by side.

    Args:
        image_shape: (h, w, channels).
        mirror: whether to keep only what an image and its mirror image share.

    Raises:
        ValueError: see `levels.levels`.

    Examples:
        >>> import jax
        >>> from jaxdp import features
        >>> phi = features.pooled_map((28, 28, 1), mirror=False)
        >>> jax.eval_shape(phi, jax.ShapeDtypeStruct((3, 784), "float32")).shape
        (3, 1296)
    """
    return levels.side_by_side(pooled_levels(image_shape, mirror=mirror))


def pooled_levels(image_shape: Shape, *, mirror: bool) -> tuple[Level, ...]:
    """Return the parts of a teacher's features.

    Group-normalised scattering features of two scales and eight angles. The first level has their
    averages over windows of 2 x 2 patches: 1296 features for 28 x 28 grey images, padded to
    32 x 32, and 3888 for 32 x 32 colour images, which are turned into opponent colours first.
    Each other level has the averages over the quarters of an image: 324 features.

    Args:
        image_shape: (h, w, channels); a border of zeros makes sides multiples of 8.
        mirror: whether to keep only what an image and its mirror image share, which is half of the
            features: for photographs, not for digits.

    Raises:
        ValueError: see `levels.levels`.
    """
    coarse = functools.partial(_pooled, mirror=mirror, quarters=False)
    fine = functools.partial(_pooled, mirror=mirror, quarters=True)
    return levels.levels(image_shape, coarse, fine)


def fine_map(image_shape: Shape) -> FeatureFn:
    """Return features that keep where things are, cheap enough for every step of a generator.

    They are those of `fine_levels`, side by side.

    Args:
        image_shape: (h, w, channels).

    Raises:
        ValueError: see `levels.levels`.

    Examples:
        >>> import jax
        >>> from jaxdp import features
        >>> phi = features.fine_map((28, 28, 1))
        >>> jax.eval_shape(phi, jax.ShapeDtypeStruct((3, 784), "float32")).shape
        (3, 1600)
    """
    return levels.side_by_side(fine_levels(image_shape))


def fine_levels(image_shape: Shape) -> tuple[Level, ...]:
    """Return the parts of `fine_map`.

    Group-normalised scattering features of two scales and four angles. The first level has those
    of every patch of 4 x 4 pixels: 1600 features for 28 x 28 grey images, padded to 32 x 32, and
    4800 for 32 x 32 colour images, which are turned into opponent colours first. Each other level
    has the averages over the quarters of an image: 100 features.

    Args:
        image_shape: (h, w, channels); a border of zeros makes sides multiples of 8.

    Raises:
        ValueError: see `levels.levels`.
    """
    return levels.levels(image_shape, _every_patch, _quarters_of_patches)


def patch_map(
    image_shape: Shape, *, max_scale: int = 2, num_angles: int = 8, normalisation: str
) -> FeatureFn:
    """Return `scattering.scatter_features` of images of any size.

    Sides above 32 pixels are averaged down to 32, or to 8 patches of `2^max_scale` where these are
    more: so a larger scale sees finer detail of large images.

    Args:
        image_shape: (h, w, channels).
        max_scale: see `scattering.scattering`.
        num_angles: see `scattering.scattering`.
        normalisation: see `scattering.normalise`.

    Raises:
        ValueError: see `scattering.scatter_features`.
    """
    largest = largest_side(max_scale)
    phi = scattering.scatter_features(
        levels.shrunk_shape(image_shape, largest),
        max_scale=max_scale,
        num_angles=num_angles,
        normalisation=normalisation,
    )
    return levels.then(levels.shrunk(image_shape, largest), phi)


def largest_side(max_scale: int) -> int:
    """Return the longest side in pixels that `patch_map` sees."""
    return max(levels.COARSE, _MOST_PATCHES * 2**max_scale)


def _pooled(image_shape: Shape, *, mirror: bool, quarters: bool) -> FeatureFn:
    size = _padded_shape(image_shape)
    phi = scattering.scatter_features(size, max_scale=2, num_angles=8, normalisation="group")
    phi = _with_border(phi, image_shape)
    grid = _grid(size)
    window = _quarter(grid) if quarters else (2, 2)
    phi = map_parts.pooled(phi, grid, window=window)
    if mirror:
        paths = map_parts.mirror_paths(2, 8, image_shape[2])
        phi = map_parts.symmetrised(phi, (grid[0] // window[0], grid[1] // window[1]), paths)
    return phi


def _every_patch(image_shape: Shape) -> FeatureFn:
    paths = image_shape[2] * scattering.num_paths(2, 4)
    phi = scattering.scatter_features(
        _padded_shape(image_shape),
        max_scale=2,
        num_angles=4,
        normalisation="group",
        num_groups=paths // _PATHS_OF_A_GROUP,
    )
    return _with_border(phi, image_shape)


def _quarters_of_patches(image_shape: Shape) -> FeatureFn:
    grid = _grid(_padded_shape(image_shape))
    return map_parts.pooled(_every_patch(image_shape), grid, window=_quarter(grid))


def _grid(size: Shape) -> tuple[int, int]:
    """Return how many patches there are along the sides, both even."""
    return size[0] // _PATCH, size[1] // _PATCH


def _quarter(grid: tuple[int, int]) -> tuple[int, int]:
    return grid[0] // 2, grid[1] // 2


def _padded_shape(image_shape: Shape) -> Shape:
    """Return the shape whose sides are the next multiples."""
    height, width, channels = image_shape
    return height + -height % _MULTIPLE, width + -width % _MULTIPLE, channels


def _with_border(phi: FeatureFn, image_shape: Shape) -> FeatureFn:
    """Return features of images within a border of zeros; one more below and right of odd sides."""
    if image_shape[2] > 1:
        phi = map_parts.with_opponent_colours(phi, channels=image_shape[2])
    height, width = (-side % _MULTIPLE for side in image_shape[:2])
    odd = height % 2, width % 2
    return map_parts.padded(phi, image_shape, margins=(height // 2, width // 2), more=odd)
