"""Images of a set as pixels that a PNG file holds."""

import io
from typing import NamedTuple

import numpy as np

from jaxdp.data import Codec, Spec
from jaxdp.program.errors import InputError

_BYTES, _DEEP = 255, 65535
CHANNELS = (1, 3, 4)
"""Of images that PNG has."""


class Pixels(NamedTuple):
    """Images, and how their values are meant.

    Attributes:
        x: (m, h, w, channels) uint8, or uint16 of one channel.
        about: what a pixel stands for, in words.
    """

    x: np.ndarray
    about: str


def of_set(x: np.ndarray, spec: Spec, flag: str) -> Pixels:
    """Return images whose black is the least value that the data can have, and white the largest.

    Grey images of 16 bits keep these; anything else gets 8.

    Args:
        x: (m, *shape) in the units of the data.
        spec: facts about the data.
        flag: that names the format, with its value.

    Raises:
        InputError: PNG has no images of such channels.
    """
    codec, channels = spec.codec, spec.image_shape[2]
    if channels not in CHANNELS:
        raise InputError(
            f"{flag}: the images have {channels} channels, and PNG has 1, 3 or 4; take "
            "--format=torch"
        )
    assert isinstance(codec, Codec)
    deep = codec.is_whole and codec.dtype != "uint8" and channels == 1
    most = _DEEP if deep else _BYTES
    unit = codec.to_unit(x)
    cut = int(np.sum(np.any((unit < 0) | (unit > 1), axis=(1, 2, 3))))
    pixels = np.rint(np.clip(unit, 0, 1) * np.float32(most)).astype(np.uint16 if deep else np.uint8)
    about = (
        f"Pixels have {16 if deep else 8} bits. 0 stands for {codec.low:g} in the data, {most} for "
        f"{codec.high:g}."
    )
    if cut:
        about += f" Values beyond were cut in {cut} of {len(x)} images: the npz file has all."
    elif not codec.is_whole or np.any(x != np.rint(x)):
        about += " Values between were rounded: the npz file has all digits."
    return Pixels(pixels, about)


def png(image: np.ndarray) -> bytes:
    """Return an image (h, w, channels) as the content of a PNG file."""
    import PIL.Image

    buffer = io.BytesIO()
    PIL.Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(buffer, "PNG")
    return buffer.getvalue()
