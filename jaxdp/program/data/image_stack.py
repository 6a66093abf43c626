"""Images of a dataset as one array: all of one kind, and of one size or brought to it."""

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from jaxdp.program.data import large_arrays
from jaxdp.program.data.image_file import Image, with_channels
from jaxdp.program.data.resizing import resized
from jaxdp.program.data.sources import Wanted, dataset_error


def stacked(
    name: str, images: Iterable[tuple[str | Path, Image]], count: int, wanted: Wanted
) -> tuple[np.ndarray, Image]:
    """Return images as (n, h, w, 1) or (n, h, w, 3), and the first as stored.

    Args:
        name: of the dataset.
        images: each with the place where it was found; read one by one.
        count: how many there are, >= 1.
        wanted: their size.

    Raises:
        InputError: they are not of one kind, or have several sizes and none is asked for.
    """
    import PIL.Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oddities that do not keep an image from being read
        warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
        first: tuple[str | Path, Image] | None = None
        for number, (place, image) in enumerate(images):
            found = place, with_channels(image, wanted.channels)
            if first is None:
                first = found
                target = wanted.size.of(found[1].pixels.shape)
                shape = (count, *target, found[1].pixels.shape[2])
                x = large_arrays.images(name, shape, found[1].pixels.dtype)
            _require_alike(name, found, first, wanted)
            x[number] = resized(found[1].pixels, target)
    assert first is not None
    return x, first[1]


def _require_alike(
    name: str, found: tuple[str | Path, Image], first: tuple[str | Path, Image], wanted: Wanted
) -> None:
    """Raise an `InputError` for an image of another kind, or of a size that is not asked for."""
    here, there = found[1], first[1]
    said = f"{found[0]} is {here} but {first[0]} is {there}"
    if here.kind != there.kind:
        raise dataset_error(
            name,
            f"{said}: give all images one mode, grey or RGB, of one depth; --channels=1 makes all "
            "grey, 3 RGB",
        )
    if not wanted.size.mixes and here.pixels.shape != there.pixels.shape:
        raise dataset_error(
            name, f"{said}: give all images one size, or resize them by --image_size=64"
        )
