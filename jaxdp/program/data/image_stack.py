"""Images of a dataset as one array: all of one kind, and of one size or brought to it."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxdp.program.data import large_arrays, resizing
from jaxdp.program.data.image_file import Image, with_channels
from jaxdp.program.data.resizing import LARGEST, resized
from jaxdp.program.data.sources import Wanted, dataset_error

_Found = tuple[str | Path, Image]


class Stack(NamedTuple):
    """Images of one size.

    Attributes:
        x: (n, h, w, 1) or (n, h, w, 3).
        first: the first image, as stored.
        before: the (height, width) that all images had; None where they had several.
    """

    x: np.ndarray
    first: Image
    before: tuple[int, int] | None


def stacked(
    name: str,
    images: Iterable[_Found],
    count: int,
    wanted: Wanted,
    owners: np.ndarray | None = None,
) -> Stack:
    """Return images as one array.

    Args:
        name: of the dataset.
        images: each with the place where it was found; read one by one.
        count: how many there are, >= 1.
        wanted: their size.
        owners: (n,) the person of each; None where an image is a person.

    Raises:
        InputError: they are not of one kind, or have several sizes where they may not.
    """
    import PIL.Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oddities that do not keep an image from being read
        warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
        first: _Found | None = None
        odd: str | None = None
        sizes = np.empty((count, 2), np.int32)
        for number, (place, image) in enumerate(images):
            found = place, with_channels(image, wanted.channels)
            if first is None:
                first = found
                target = wanted.size.of(found[1].pixels.shape)
                _require_not_too_large(name, place, target)
                shape = (count, *target, found[1].pixels.shape[2])
                x = large_arrays.images(name, shape, found[1].pixels.dtype)
            _require_alike(name, found, first, wanted)
            sizes[number] = found[1].pixels.shape[:2]
            if odd is None and np.any(sizes[number] != sizes[0]):
                odd = _compared(found, first)
                x, target = _of_several_sizes(name, x, number, wanted)
            x[number] = resized(found[1].pixels, target)
    assert first is not None
    if odd is not None and not wanted.size.asked:
        owners = np.arange(count) if owners is None else owners
        _require_not_one_alone(name, odd, sizes, owners)
    height, width = sizes[0].tolist()
    return Stack(x, first[1], None if odd is not None else (height, width))


def _of_several_sizes(
    name: str, x: np.ndarray, number: int, wanted: Wanted
) -> tuple[np.ndarray, tuple[int, int]]:
    """Return an array of the size that images of several sizes are brought to, and the size.

    Args:
        name: of the dataset.
        x: (n, h, w, ch), of which the first ones are filled.
        number: of these. They are as stored, or have that size already.
        wanted: the size.
    """
    target = wanted.size.size
    assert target is not None  # --image_size=full takes one size alone
    if x.shape[1:3] == target:
        return x, target
    found = large_arrays.images(name, (len(x), *target, x.shape[3]), x.dtype)
    resizing.all_resized(x[:number], target, out=found)
    return found, target


def _compared(found: _Found, first: _Found) -> str:
    return f"{found[0]} is {found[1]} but {first[0]} is {first[1]}"


def _require_alike(name: str, found: _Found, first: _Found, wanted: Wanted) -> None:
    """Raise an `InputError` for an image of another kind, or of a size where `full` was asked."""
    here, there = found[1], first[1]
    if here.kind != there.kind:
        raise dataset_error(
            name,
            f"{_compared(found, first)}: {_remedy(here, there)}",
        )
    if wanted.size.size is None and here.pixels.shape != there.pixels.shape:
        raise dataset_error(
            name,
            f"{_compared(found, first)}: --image_size=full takes images of one size; "
            f"--image_size={LARGEST} resizes all images to {LARGEST}x{LARGEST}",
        )


def _require_not_too_large(name: str, place: str | Path, target: tuple[int, int]) -> None:
    """Raise an `InputError` where images keep a size that is beyond all methods."""
    if target[0] * target[1] > resizing.MAX_PIXELS:
        raise dataset_error(
            name,
            f"{place} has {resizing.in_words(target)} pixels: --image_size=full keeps at most "
            f"{resizing.MAX_PIXELS}; --image_size={LARGEST} resizes all images to "
            f"{LARGEST}x{LARGEST}",
        )


def _remedy(here: Image, there: Image) -> str:
    """Return how two images are made one kind."""
    if here.pixels.dtype.itemsize != there.pixels.dtype.itemsize:
        return "images of one dataset have one depth; save those of 16 bits with 8, or all with 16"
    if here.kind[1:] != there.kind[1:]:
        return "images of one dataset have one range of values; save all anew, as PNG of 16 bits"
    return "give all images one mode, grey or RGB; --channels=1 makes all grey, 3 RGB"


def _require_not_one_alone(name: str, odd: str, sizes: np.ndarray, owners: np.ndarray) -> None:
    """Raise an `InputError` where one person's images would decide on the size of all others."""
    if resizing.size_of_all(sizes, owners) is None:
        raise dataset_error(
            name,
            f"{odd}, and all others have one size: one record must not decide on the size of all, "
            f"so say it; --image_size={LARGEST} resizes all images to {LARGEST}x{LARGEST}",
        )
