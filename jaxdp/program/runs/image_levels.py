"""How large an image and its features are at each level, and the seconds that features take.

The levels are those of `jaxdp.features.levels`.
"""

import math
from typing import NamedTuple

from jaxdp.methods.teacher import schedule

# Side of the coarse level of an image, and of its finer ones.
_COARSE, _FINE = 32, (64, 128)
_PATHS = 81  # scattering paths of two scales and eight angles; four angles have 25
_FINE_PATHS = 25
# What a patch and a word of the teacher's dictionary take together, in pixels of scattering.
_WORD = 0.014, 5.5e-5  # and more for every value of the patch
_SIDE = 6
# Neighbourhoods of an image, and what one and a word take together.
_NEIGHBOURHOODS, _OF_SECOND = 49, 0.06
_SECOND_IMAGES = 4000
_OF_ENCODER = 4.0  # what a pixel takes, in pixels of scattering
# Bytes that a gradient holds: of a value of a level, of a pixel of patches, of an encoder's pixel.
_HELD, _HELD_OF_PATCHES, _HELD_OF_ENCODER = 130.0, 150.0, 400.0
FLOP = 1 / 2e10
"""Seconds of an operation."""


class Level(NamedTuple):
    """A level of an image.

    Attributes:
        pixels: its values, or as many as take as long.
        features: of the image.
        images: synthetic ones that whiten them.
        held: bytes, while the gradient of the features is computed.
    """

    pixels: float
    features: float
    images: int
    held: float


def levels_of(shape: tuple[int, ...], *, mirror: bool = False, fine: bool = False) -> list[Level]:
    """Return the levels of an image under the teacher's map, or under that of `scatter_rbf`.

    Args:
        shape: (h, w, channels).
        mirror: whether mirror images share their features.
        fine: whether the map is that of `scatter_rbf`.
    """
    height, width, channels = shape
    found = []
    for largest, colours, images in ((_COARSE, channels, 10_000), *((s, 1, 2000) for s in _FINE)):
        coarse = largest == _COARSE
        if not coarse and max(height, width) <= largest // 2:
            continue
        high, wide = (-(-min(side, largest) // 8) * 8 for side in (height, width))
        windows = (high // 8) * (wide // 8) if coarse else 4
        # Windows are of four patches; the finer map keeps the patches apart.
        paths = _FINE_PATHS * (4 if coarse else 1) if fine else _PATHS
        features = windows * paths * colours / (2 if mirror else 1)
        values = float(high * wide * colours)
        found.append(Level(values, features, images, _HELD * values))
    return found


def patches_of(words: int, shape: tuple[int, ...], *, mirror: bool) -> Level:
    """Return what a dictionary of patches adds to an image of at most 32 pixels."""
    height, width = (min(side, _COARSE) - _SIDE + 1 for side in shape[:2])
    each = _WORD[0] + _WORD[1] * _SIDE**2 * shape[2]
    features = 8 * words / (2 if mirror else 1)
    pixels = height * width * words * each
    return Level(pixels, features, 10_000, _HELD_OF_PATCHES * height * width)


def second_of(words: int, *, mirror: bool) -> Level:
    """Return what a second layer adds to an image, whatever its size."""
    features = schedule.features_of_second_layer(words, mirror=mirror)
    pixels = _NEIGHBOURHOODS * words * _OF_SECOND
    return Level(pixels, features, _SECOND_IMAGES, _HELD * pixels)


def encoder_of(shape: tuple[int, ...], *, mirror: bool) -> Level:
    """Return what the public encoder adds to an image of at most 32 pixels."""
    seen = math.prod(min(side, _COARSE) for side in shape[:2])
    pixels = seen * _OF_ENCODER * (2 if mirror else 1)
    return Level(pixels, schedule.OF_ENCODER, 2000, _HELD_OF_ENCODER * pixels)


def seconds_of(parts: list[Level], shape: tuple[int, ...], rate: float) -> float:
    """Return the seconds that an image's whitened features take, at a rate for each pixel."""
    # Each level is a product of the whole image and a matrix of means.
    shrinking = math.prod(shape) * len(parts) * 64 * FLOP if max(shape[:2]) > _COARSE else 0.0
    return shrinking + sum(rate * each.pixels + 2 * each.features**2 * FLOP for each in parts)
