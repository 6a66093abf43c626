"""Datasets that are folders of images: {train,test}/{class}/*.png|jpg|jpeg.

Anybody may have filled the folder. So only PNG and JPEG are decoded, of limited size, and neither
a link that leaves the folder nor anything but plain files is followed.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.data import npz as npz_files
from experiments.data.outside_files import open_plain
from experiments.data.sources import RawData, dataset_error

_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")
_FORMATS = ("PNG", "JPEG")
_GREY_MODES = ("1", "L", "LA")
_COLOUR_MODES = ("RGB", "RGBA", "P", "CMYK", "YCbCr")
# Far above what can be distilled: small files can declare images of gigabytes.
_MAX_PIXELS = 2**24


def read_image_folder(name: str, folder: Path) -> RawData:
    """Read {train,test}/{class}/*.png|jpg|jpeg; the set of class folders is public."""
    splits = (folder / "train", folder / "test")
    for split in splits:
        if not split.is_dir():
            raise dataset_error(name, f"there is no folder {split}: add it, with class folders")
        _require_inside(name, folder, split)
    classes = sorted({each.name for split in splits for each in _class_folders(split)})
    files = [list(_image_files(name, folder, split, classes)) for split in splits]
    if not all(files):
        empty = splits[0] if not files[0] else splits[1]
        raise dataset_error(
            name, f"there are no images in {empty}: put them at {empty}/CLASS/*.png|jpg|jpeg"
        )
    paths, labels = zip(*files[0], *files[1], strict=True)
    x, y, n = _read_images(name, paths), np.array(labels), len(files[0])
    return RawData(x[:n], y[:n], x[n:], y[n:], tuple(classes), f"image folder {folder}")


def _read_images(name: str, paths: tuple[Path, ...]) -> np.ndarray:
    """Read images of one size and mode as (n, h, w, 1) or (n, h, w, 3) uint8."""
    import PIL.Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oddities that do not keep an image from being read
        warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
        first = _read_image(name, paths[0])
        if len(paths) * first.nbytes > npz_files.max_bytes():
            raise dataset_error(
                name,
                f"{len(paths)} images as {paths[0]}, of {_describe(first)}, take "
                f"{len(paths) * first.nbytes / 1e9:.3g} GB, more than half of the memory: make "
                "them smaller",
            )
        x = np.empty((len(paths), *first.shape), np.uint8)
        for i, path in enumerate(paths):
            image = _read_image(name, path)
            if image.shape != first.shape:
                raise dataset_error(
                    name,
                    f"{path} is {_describe(image)} but {paths[0]} is {_describe(first)}: give all "
                    "images one size and one mode, grey or RGB",
                )
            x[i] = image
    return x


def _class_folders(split: Path) -> Iterator[Path]:
    return (each for each in split.iterdir() if each.is_dir() and not each.name.startswith("."))


def _image_files(
    name: str, folder: Path, split: Path, classes: list[str]
) -> Iterator[tuple[Path, int]]:
    """List the images of one split with their labels, in a reproducible order."""
    for label, class_name in enumerate(classes):
        if not (split / class_name).is_dir():
            continue
        _require_inside(name, folder, split / class_name)
        for path in sorted((split / class_name).iterdir()):
            if path.suffix.lower() in _IMAGE_SUFFIXES:
                _require_inside(name, folder, path)
                yield path, label


def _require_inside(name: str, folder: Path, path: Path) -> None:
    """Raise an `InputError` for a link to what is not part of the dataset."""
    if not path.is_symlink():
        return
    target, root = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([target, root]) != root:
        raise dataset_error(
            name, f"{path} is a link that leads out of {folder}, to {target}: put a copy there"
        )


def _read_image(name: str, path: Path) -> np.ndarray:
    """Read one image as (h, w, 1) or (h, w, 3) uint8; transparency is dropped."""
    import PIL.Image

    try:
        with open_plain(path) as file, PIL.Image.open(file, formats=_FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                raise ValueError(f"{width}x{height} pixels are more than {_MAX_PIXELS}")
            mode = image.mode
            if mode in _GREY_MODES:
                return np.asarray(image.convert("L"))[..., np.newaxis]
            if mode in _COLOUR_MODES:
                # By way of RGBA, or Pillow warns about palettes with transparency.
                return np.asarray(image.convert("RGBA").convert("RGB"))
    except Exception as error:  # Pillow raises whatever a damaged file led it to
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise dataset_error(
            name, f"cannot read {path} ({str(reason)[:200]}): replace or remove that image"
        ) from error
    raise dataset_error(name, f"{path} has mode {mode}: convert it to 8-bit grey or RGB")


def _describe(image: np.ndarray) -> str:
    height, width, channels = image.shape
    return f"{width}x{height} {'grey' if channels == 1 else 'RGB'}"
