"""The size of images: what `--image_size` asks for, and bringing images to it one by one."""

import math
import re
from typing import NamedTuple

import numpy as np

from jaxdp.program.errors import InputError

LARGEST = 64
"""Images with a longer side are resized by default.

The published methods work on sides of 28 and 32. Features, time and noise grow with the number of
pixels, four times with each doubling of the side, and the budget does not.
"""
MAX_PIXELS = 2**24
"""Far above what can be distilled."""
MOST_READ = 2**26
"""Pixels of an image that is read, to be resized: small files can declare images of gigabytes.

Photographs of 24 to 50 million pixels are ordinary. One of so many takes at most 1.4 GB
while it is read.
"""
_FORM = re.compile(r"([1-9]\d{0,4})(?:x([1-9]\d{0,4}))?")


class ImageSize(NamedTuple):
    """To which size images are brought.

    Attributes:
        size: (height, width); None for that which they have.
        asked: whether a flag says so. If not, one size that all have is kept up to `LARGEST`.
    """

    size: tuple[int, int] | None
    asked: bool = True

    def of(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Return the (height, width) that an image of a shape (h, w, ...) is brought to."""
        height, width = shape[:2]
        if self.size is None or not (self.asked or max(height, width) > LARGEST):
            return height, width
        return self.size

    @property
    def mixes(self) -> bool:
        """Whether a flag says to which size every image is brought."""
        return self.asked and self.size is not None


BY_DEFAULT = ImageSize((LARGEST, LARGEST), asked=False)


def size_of_all(sizes: np.ndarray, owners: np.ndarray) -> tuple[int, int] | None:
    """Return the (height, width) that images are brought to where no flag says it.

    It is that of all images where they have one of at most `LARGEST`, else `LARGEST` x `LARGEST`.
    Where all but one person's images have such a size, that person would decide between the two,
    and there is no answer.

    Args:
        sizes: (n, 2) height and width of each image.
        owners: (n,) the person of each; numbers from 0 where an image is a person.

    Returns:
        The size; None where a flag has to say it.

    Guarantee:
        If one of two or more persons' images are exchanged for others, of any sizes, either the
        size is the same, or one of the two has no answer.
    """
    # What all but one have, the first person or the second one has.
    firsts = (0, np.argmax(owners != owners[0]))
    for small in (sizes[first] for first in firsts):
        if small.max() > LARGEST:
            continue
        others = len(np.unique(owners[np.any(sizes != small, axis=1)]))
        if others < 2:
            return None if others else (int(small[0]), int(small[1]))
    return LARGEST, LARGEST


def parse(text: str | None) -> ImageSize:
    """Return what `--image_size` asks for.

    Raises:
        InputError: it is no size.
    """
    if text is None:
        return BY_DEFAULT
    if text in ("0", "full"):
        return ImageSize(None)
    found = _FORM.fullmatch(text)
    if found is None:
        raise InputError(
            f"--image_size={text}: give a side in pixels as 64, WIDTHxHEIGHT as 128x96, or full "
            "for the size that images have"
        )
    width = int(found[1])
    height = int(found[2] or width)
    if width * height > MAX_PIXELS:
        raise InputError(f"--image_size={text}: an image has at most {MAX_PIXELS} pixels; lower it")
    return ImageSize((height, width))


def resized(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return an image (h, w, ch) at another (height, width), in its own type.

    Lanczos with antialiasing, channel by channel. What rings beyond the least and the largest value
    of the image is cut, so that values stay in the range that is declared for them.

    Guarantee:
        The result depends on this image and on the size, on no other image.
    """
    import PIL.Image

    if image.shape[:2] == size:
        return image
    as_is = image.dtype == np.uint8
    planes = []
    for number in range(image.shape[2]):
        plane = np.ascontiguousarray(image[..., number], None if as_is else np.float32)
        made = PIL.Image.fromarray(plane).resize(size[::-1], PIL.Image.Resampling.LANCZOS)
        planes.append(np.asarray(made))
    found = np.stack(planes, axis=-1)
    if image.dtype.kind != "f":
        found = np.rint(found)
    return np.clip(found, image.min(), image.max()).astype(image.dtype)


def too_large(height: int, width: int) -> str:
    """Return what is wrong with an image that is not read, to follow its name; empty if nothing."""
    if width * height <= MOST_READ:
        return ""
    side = math.isqrt(MOST_READ)
    return (
        f"has {width}x{height} pixels, and at most {MOST_READ} are read, as {side}x{side}: save it "
        "smaller"
    )


def all_resized(
    images: np.ndarray, size: tuple[int, int], out: np.ndarray | None = None
) -> np.ndarray:
    """Return images (n, h, w, ch) at another (height, width), each by itself, perhaps in `out`."""
    if images.shape[1:3] == size:
        return images
    found = out
    if found is None:
        found = np.empty((len(images), *size, images.shape[3]), images.dtype)
    for number, image in enumerate(images):
        found[number] = resized(image, size)
    return found


_SIZE, _COLOURS = "the size of images, ", "the colours of images: "


def preparation(size: tuple[int, int] | None, channels: int | None = None) -> str | None:
    """Return what was done to every image, in words; None where nothing was.

    Args:
        size: (height, width) that each was resized to; None where it was not.
        channels: that each was brought to, 1 or 3; None where they were not changed.
    """
    said = []
    if channels is not None:
        kind = "grey" if channels == 1 else "RGB"
        said.append(f"{_COLOURS}each was made {kind} by itself, before anything else")
    if size is not None:
        resized_to = f"{_SIZE}{in_words(size)} pixels: each was resized to it"
        said.append(f"{resized_to} by itself, before anything else")
    return "; ".join(said) or None


def is_resized(preparation: str | None) -> bool:
    """Return whether images were resized, of the words that `preparation` returns."""
    return preparation is not None and _SIZE in preparation


def is_recoloured(preparation: str | None) -> bool:
    """Return whether channels were changed, of the words that `preparation` returns."""
    return preparation is not None and _COLOURS in preparation


def in_words(size: tuple[int, ...]) -> str:
    """Return a (height, width) as --image_size has it."""
    return f"{size[1]}x{size[0]}"
