"""Public feature maps of images made from scattering coefficients, before whitening.

They depend on the shape of an image alone: no private data in them.

References:
    Bruna & Mallat (2013), "Invariant scattering convolution networks".
"""

from jaxdp.features import map_parts, scattering
from jaxdp.features.map_parts import FeatureFn

_PATCH = 4  # pixels between two coefficients, 2^J
_PATHS_OF_A_GROUP = 5


def pooled_map(image_shape: tuple[int, int, int], *, mirror: bool) -> FeatureFn:
    """Return features whose dimension is near that of the pixels, for distillation from a teacher.

    Group-normalised scattering features of two scales and eight angles, averaged over windows
    of 2 x 2 patches: 1296 features for 28 x 28 grey images, padded to 32 x 32, and 3888 for
    32 x 32 colour images, which are turned into opponent colours first.

    Args:
        image_shape: (h, w, channels); sides that a border of zeros makes multiples of 8.
        mirror: whether to keep only what an image and its mirror image share, which is half of the
            features: for photographs, not for digits.

    Raises:
        ValueError: sides that are odd.
    """
    size, margins = _padded_size(image_shape, 2 * _PATCH)
    phi = scattering.scatter_features(size, max_scale=2, num_angles=8, normalisation="group")
    phi = _with_border(phi, image_shape, margins)
    phi = map_parts.pooled(phi, (size[0] // _PATCH, size[1] // _PATCH))
    if mirror:
        paths = map_parts.mirror_paths(2, 8, image_shape[2])
        grid = size[0] // (2 * _PATCH), size[1] // (2 * _PATCH)
        phi = map_parts.symmetrised(phi, grid, paths)
    return phi


def fine_map(image_shape: tuple[int, int, int]) -> FeatureFn:
    """Return features that keep where things are, cheap enough for every step of a generator.

    Group-normalised scattering features of two scales and four angles, of every patch of 4 x 4
    pixels: 1600 features for 28 x 28 grey images, padded to 32 x 32, and 4800 for 32 x 32
    colour images, which are turned into opponent colours first.

    Args:
        image_shape: (h, w, channels); sides that a border of zeros makes multiples of 8.

    Raises:
        ValueError: sides that are odd.
    """
    size, margins = _padded_size(image_shape, 2 * _PATCH)
    paths = image_shape[2] * scattering.num_paths(2, 4)
    phi = scattering.scatter_features(
        size,
        max_scale=2,
        num_angles=4,
        normalisation="group",
        num_groups=paths // _PATHS_OF_A_GROUP,
    )
    return _with_border(phi, image_shape, margins)


def _padded_size(
    image_shape: tuple[int, int, int], multiple: int
) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Return the shape whose sides are multiples, and the margins that make it."""
    height, width, channels = image_shape
    if height % 2 or width % 2:
        raise ValueError(f"need even sides, got {height} x {width}")
    margins = -height % multiple // 2, -width % multiple // 2
    return (height + 2 * margins[0], width + 2 * margins[1], channels), margins


def _with_border(
    phi: FeatureFn, image_shape: tuple[int, int, int], margins: tuple[int, int]
) -> FeatureFn:
    if image_shape[2] == 3:
        phi = map_parts.with_opponent_colours(phi)
    return map_parts.padded(phi, image_shape, margins=margins)
