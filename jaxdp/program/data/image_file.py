"""One image from one file: PNG, JPEG, WebP, TIFF and BMP by Pillow, DICOM by pydicom.

Anybody may have written the file. So the format is one of these, whatever its name says, and how
large an image is declared to be is looked at before memory is taken for it.
"""

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from jaxdp.program.data.resizing import MAX_PIXELS, MOST_READ, in_words, too_large
from jaxdp.program.data.sources import dataset_error
from jaxdp.program.errors import InputError
from jaxdp.saved.files import open_plain

_DICOM = (".dcm", ".dicom")
SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", *_DICOM)
"""Endings of names of images, in small letters."""
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP")
_OF_PAGES = ("TIFF", "WEBP")
_GREY_MODES = ("1", "L", "LA")
_COLOUR_MODES = ("RGB", "RGBA", "RGBX", "P", "PA", "CMYK", "YCbCr")
_MOST_BITS = 16
_LUMA = (0.299, 0.587, 0.114)
# How many images are looked at after one that cannot be read, and how many of them are named.
_LOOKED_AT, _NAMED = 10_000, 5


class Image(NamedTuple):
    """An image as it is stored.

    Attributes:
        pixels: (h, w, 1) or (h, w, 3), of uint8, uint16 or int16.
        low: least value that its type declares.
        high: largest one.
    """

    pixels: np.ndarray
    low: int
    high: int

    @property
    def kind(self) -> tuple[Any, ...]:
        """What all images of a dataset have in common."""
        return self.pixels.shape[2], self.pixels.dtype, self.low, self.high

    def __str__(self) -> str:
        """Say what size and what kind it is."""
        channels, dtype, low, high = self.kind
        deep = "" if (dtype, high) == (np.uint8, 255) else f" of values {low} to {high}"
        return f"{in_words(self.pixels.shape)} {'grey' if channels == 1 else 'RGB'}{deep}"


def read(name: str, path: Path) -> Image:
    """Read one image, upright as its camera says, and on white where it is transparent.

    Args:
        name: of the dataset.
        path: of the file.

    Raises:
        InputError: it cannot be read.
    """
    decode = _decode_dicom if path.suffix.lower() in _DICOM else _decode
    with _in_one_line(name, str(path)), open_plain(path) as file:
        return decode(file)


def read_all(name: str, paths: Sequence[Path]) -> Iterator[tuple[Path, Image]]:
    """Read images one after another, as `read` does.

    Args:
        name: of the dataset.
        paths: of the files.

    Raises:
        InputError: one cannot be read; the message names some that cannot be read after it, too,
            so that they can be mended together.
    """
    for i, path in enumerate(paths):
        try:
            image = read(name, path)
        except InputError as error:
            others = _unreadable(name, paths[i + 1 : i + 1 + _LOOKED_AT])
            raise InputError(f"{error}{and_others(others)}") from error
        yield path, image


def _unreadable(name: str, paths: Sequence[Path]) -> list[Path]:
    found = []
    for path in paths:
        try:
            read(name, path)
        except InputError:
            found.append(path)
            if len(found) > _NAMED:
                break  # the message names no more, and each of the others takes its time
    return found


def and_others(paths: Sequence[Path]) -> str:
    """Return the end of a message about one image that names others that cannot be used either."""
    if not paths:
        return ""
    named = ", ".join(map(str, paths[:_NAMED]))
    # Not how many there are.
    more = " and others" if len(paths) > _NAMED else ""
    return f"; neither can these be used: {named}{more}"


def of_bytes(name: str, place: str, content: bytes) -> Image:
    """Read one image of PNG or JPEG from its bytes, as `read` does.

    Args:
        name: of the dataset.
        place: where the bytes were found, for messages.
        content: the bytes.

    Raises:
        InputError: it cannot be read.
    """
    with _in_one_line(name, place):
        return _decode(io.BytesIO(content))


@contextlib.contextmanager
def _in_one_line(name: str, place: str) -> Iterator[None]:
    """Turn what is wrong with an image into an error of one line."""
    import PIL.Image

    try:
        yield
    except _OfAnotherKindError as error:
        raise dataset_error(name, f"{place} {error}") from error
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as error:
        raise dataset_error(  # Pillow's own limit, before it tells a size
            name,
            f"{place} has far more than {MOST_READ} pixels, and no more are read: save it smaller",
        ) from error
    except Exception as error:  # decoders raise whatever a damaged file led them to
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise dataset_error(
            name, f"cannot read {place} ({str(reason)[:200]}): replace or remove that image"
        ) from error


class _OfAnotherKindError(Exception):
    """An image is whole, and not one that can be used."""


def _decode(file: BinaryIO) -> Image:
    import PIL.Image
    import PIL.ImageOps

    with PIL.Image.open(file, formats=_FORMATS) as image:
        width, height = image.size
        _require_size(height, width)
        mode = image.mode
        if image.format in _OF_PAGES:
            _require_one_page(image)
        upright = PIL.ImageOps.exif_transpose(image)
        if mode in _GREY_MODES:
            return _of_type(np.asarray(_on_white(upright).convert("L"))[..., np.newaxis])
        if mode in _COLOUR_MODES:
            return _of_type(np.asarray(_on_white(upright).convert("RGB")))
        if mode.startswith("I;16"):
            return _of_type(np.asarray(upright).astype(np.uint16)[..., np.newaxis])
    raise _OfAnotherKindError(f"has mode {mode}: convert it to 8-bit or 16-bit grey, or to RGB")


def _on_white(image: Any) -> Any:
    """Return an image on a white ground: what is transparent has any colour otherwise."""
    import PIL.Image

    if not image.has_transparency_data:
        return image
    ink = image.convert("RGBA")
    return PIL.Image.alpha_composite(PIL.Image.new("RGBA", ink.size, "white"), ink)


def with_channels(image: Image, channels: int | None) -> Image:
    """Return an image of 1 or 3 channels; None leaves those that it has.

    Grey is the luma of ITU-R BT.601, as Pillow has it, in whole numbers.
    """
    pixels = image.pixels
    if channels is None or channels == pixels.shape[2]:
        return image
    if channels == len(_LUMA):
        return image._replace(pixels=np.repeat(pixels, channels, axis=2))
    grey = np.empty((*pixels.shape[:2], 1), pixels.dtype)
    rows = max(1, MAX_PIXELS // pixels.shape[1])  # at once: float64 takes eight times the memory
    for start in range(0, len(pixels), rows):
        part = slice(start, start + rows)
        grey[part, :, 0] = np.rint(pixels[part] @ np.array(_LUMA))
    return image._replace(pixels=grey)


def _of_type(pixels: np.ndarray) -> Image:
    limits = np.iinfo(pixels.dtype)
    return Image(pixels, int(limits.min), int(limits.max))


def _require_size(height: int, width: int) -> None:
    said = too_large(height, width)
    if said:
        raise _OfAnotherKindError(said)


def _require_one_page(image: Any) -> None:
    try:
        image.seek(1)
    except EOFError:
        image.seek(0)
    else:
        raise _OfAnotherKindError("holds several pages: save each as an image of its own")


def _decode_dicom(file: BinaryIO) -> Image:
    """Read the pixels as stored, without window and rescaling; black is always the least value."""
    try:
        import pydicom
        from pydicom.pixels import pixel_array
    except ImportError as error:
        raise _OfAnotherKindError(
            "is DICOM, which needs the extra [dicom]: pip install 'jaxdp-toolkit[dicom]'"
        ) from error
    header = pydicom.dcmread(file, stop_before_pixels=True)
    _require_size(int(header.Rows), int(header.Columns))
    if int(header.get("NumberOfFrames") or 1) != 1:
        raise _OfAnotherKindError("holds several frames: save each as an image of its own")
    image = _declared(header)
    file.seek(0)
    _require_decoder(header)
    pixels = pixel_array(file)
    inverted = header.PhotometricInterpretation == "MONOCHROME1"
    # Bits beyond those that are declared may hold overlays.
    pixels = np.clip(pixels.reshape(image.pixels.shape), image.low, image.high)
    if inverted:
        pixels = image.low + image.high - pixels.astype(np.int32)
    return image._replace(pixels=pixels.astype(image.pixels.dtype))


def _require_decoder(header: Any) -> None:
    """Raise an error that names a package where pixels are compressed as nothing here undoes."""
    from pydicom.pixels import get_decoder

    syntax = header.file_meta.TransferSyntaxUID
    if not syntax.is_compressed:
        return
    decoder = get_decoder(syntax)
    if not decoder.is_available:
        raise _OfAnotherKindError(
            f"is compressed as {syntax.name}, which needs another package: "
            "pip install pylibjpeg[all]"
        )


def _declared(header: Any) -> Image:
    """Return what a DICOM header says of its pixels, as an image of nothing."""
    bits, signed = int(header.BitsStored), int(header.PixelRepresentation) == 1
    colours = int(header.SamplesPerPixel)
    what = str(header.PhotometricInterpretation)
    grey = colours == 1 and what.startswith("MONOCHROME")
    if not grey and not (colours == 3 and bits == 8 and not signed):
        raise _OfAnotherKindError(
            f"holds {what} of {bits} bits: convert it to grey, or to RGB of 8 bits"
        )
    if not 1 <= bits <= _MOST_BITS:
        raise _OfAnotherKindError(f"has {bits} bits a pixel: convert it to at most {_MOST_BITS}")
    shape = (int(header.Rows), int(header.Columns), colours)
    if signed:
        return Image(np.empty(shape, np.int16), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return Image(np.empty(shape, np.uint8 if bits <= 8 else np.uint16), 0, 2**bits - 1)
