"""New examples for what a run has made: of its kind, size and scale, from files of any number.

    *.png, *.jpg, *.tif, ...     an image; a folder stands for all images in it and below it
    *.npz                        an array x, or x_test, of examples as stored
    *.csv, *.csv.gz, *.parquet   records of a table; the schema is that of the run

Anybody may have written them, so each is read as a dataset is, and checked by itself.
"""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxdp.data import Spec, TableCodec
from jaxdp.data.kinds import colours
from jaxdp.program.data import image_file, image_folder, resizing, table_files, tables
from jaxdp.program.data.outside_files import TABLE_ENDINGS
from jaxdp.program.errors import InputError
from jaxdp.saved import npz as npz_files

_ARRAYS = ("x", "x_test", "X", "X_test", "images", "test_images")
_IMAGES = image_file.SUFFIXES
_DEPTH = "depth"
_KINDS = f"give {', '.join(_IMAGES)}, a folder of these, .npz, .csv or .parquet"


class Examples(NamedTuple):
    """New examples, in the order of what was named.

    Attributes:
        files: the file that each is from.
        rows: its number in the file, from 0; None for an image, which is a whole one.
        x: (m, *shape) as stored.
    """

    files: tuple[str, ...]
    rows: tuple[int | None, ...]
    x: np.ndarray


def read(paths: Sequence[str], spec: Spec) -> Examples:
    """Read files and folders.

    Args:
        paths: as given; at least one.
        spec: facts about the data of a run, which new examples have to be like.

    Raises:
        InputError: one cannot be read, or holds something else; the line begins with its name.
    """
    parts = [part for path in paths for part in _parts(path, spec)]
    return Examples(
        files=tuple(name for part in parts for name in part.files),
        rows=tuple(row for part in parts for row in part.rows),
        x=np.concatenate([part.x for part in parts]),
    )


def require_there(text: str) -> None:
    """Raise an `InputError` where there is no such file or folder."""
    if not Path(text).exists():
        raise InputError(f"{text}: there is no such file or folder")


def _parts(text: str, spec: Spec) -> list[Examples]:
    path = Path(text)
    suffix = path.suffix.lower()
    if path.is_dir():
        return _folder(text, spec)
    require_there(text)
    if suffix in _IMAGES:
        return [_image(text, spec)]
    if suffix == ".npz":
        return [_numbered(text, _array(text, spec))]
    if suffix in TABLE_ENDINGS:
        return [_numbered(text, _records(text, spec))]
    raise InputError(f"{text}: is of no kind that is read; {_KINDS}")


def _numbered(text: str, x: np.ndarray) -> Examples:
    return Examples((text,) * len(x), tuple(range(len(x))), x)


def _folder(text: str, spec: Spec) -> list[Examples]:
    """Read the images of a folder and of those in it, by their names."""
    _require_image_run(text, spec)
    folder = Path(text)
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _IMAGES)
    found = [path for path in found if not _is_hidden(path.relative_to(folder))]
    if not found:
        raise InputError(f"{text}: there are no images in this folder; {_KINDS}")
    for path in found:
        _require_inside(path, folder)
    if len(found) * spec.dim > npz_files.max_bytes():
        raise InputError(f"{text}: its {len(found)} images take more than half of the memory")
    parts: list[Examples] = []
    faults: dict[Path, InputError] = {}
    for path in found:  # all, so that they can be mended together
        try:
            parts.append(_image(str(path), spec))
        except InputError as error:
            faults[path] = error
    if faults:
        _, *others = faults
        first = next(iter(faults.values()))
        raise InputError(f"{first}{image_file.and_others(others)}") from first
    return parts


def _is_hidden(path: Path) -> bool:
    return any(image_folder.is_hidden(Path(part)) for part in path.parts)


def _require_inside(path: Path, folder: Path) -> None:
    target, root = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([target, root]) != root:
        raise InputError(f"{path}: is a link that leads out of {folder}: put a copy there")


def _require_image_run(text: str, spec: Spec) -> None:
    other = spec.kind.choose(
        images=None,
        rows=f"{spec.kind.holds(spec)}; give .npz",
        table="a table; give .csv, .parquet or .npz",
    )
    if other is not None:
        raise InputError(f"{text}: the run is of {other}")
    if not spec.codec.is_whole:
        raise InputError(
            f"{text}: the run is of images of floats, whose scale a file of an image does not "
            "tell; give .npz with x as the data of the run were stored"
        )


def _image(text: str, spec: Spec) -> Examples:
    """Read an image as folders of images are read."""
    import PIL.Image

    _require_image_run(text, spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oddities that do not keep an image from being read
        warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
        try:
            image = image_file.read("", Path(text))
        except InputError as error:  # it names the flag of a dataset
            raise InputError(str(error).removeprefix("--dataset=: ")) from error
    # As the images of the run were, and no others.
    channels = spec.shape[2] if resizing.is_recoloured(spec.preparation) else None
    pixels = image_file.with_channels(image, channels).pixels
    if resizing.is_resized(spec.preparation):
        pixels = resizing.resized(pixels, spec.image_shape[:2])
    differ = _differences(pixels, spec)
    if differ:
        own, wanted = _describe(pixels.shape), _describe(spec.shape)
        if _DEPTH in differ:
            own, wanted = (
                f"{own} of {_deep(pixels.dtype)}",
                f"{wanted} of {_deep(spec.codec.dtype)}",
            )
        *others, last = differ
        which = f"{', '.join(others)} and {last}" if others else last
        raise InputError(
            f"{text}: is {own}, and the run is of images of {wanted}; bring it to that {which}"
        )
    _require_range(text, pixels, spec)
    return Examples((text,), (None,), pixels[np.newaxis])


def _differences(pixels: np.ndarray, spec: Spec) -> list[str]:
    """Return in what an image differs from those of a run."""
    return [
        name
        for name, own, wanted in (
            ("size", pixels.shape[:2], spec.shape[:2]),
            ("mode", pixels.shape[2:], spec.shape[2:]),
            (_DEPTH, pixels.dtype, np.dtype(spec.codec.dtype)),
        )
        if own != wanted
    ]


def _describe(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{width}x{height} {colours(channels)}"


def _deep(dtype: Any) -> str:
    name = np.dtype(dtype).name
    return {"uint8": "8 bits", "uint16": "16 bits"}.get(name, name)


def _array(text: str, spec: Spec) -> np.ndarray:
    """Read examples as stored from an npz file."""
    try:
        arrays = npz_files.load(Path(text), _ARRAYS)
    except npz_files.UnreadableError as error:
        raise InputError(
            f"{text}: cannot be read ({error}); write it with numpy.savez and plain arrays"
        ) from error
    x = next((arrays[name] for name in _ARRAYS if name in arrays), None)
    if x is None:
        raise InputError(f"{text}: has no array {' or '.join(_ARRAYS)}; store examples as x")
    x = spec.kind.with_channels(x, spec)
    fits, wanted = x.dtype.kind == "f", "floats"
    if spec.codec.is_whole:
        fits, wanted = x.dtype == spec.codec.dtype, spec.codec.dtype
    if not fits:
        raise InputError(
            f"{text}: has x of {x.dtype}, and the data of the run were stored as {wanted}; store x "
            "as they were"
        )
    if not np.all(np.isfinite(x)):
        raise InputError(f"{text}: has values that are not finite; leave such examples out")
    if resizing.is_resized(spec.preparation) and x.ndim == 4 and x.size:
        x = resizing.all_resized(x, spec.image_shape[:2])
    if x.shape[1:] != spec.stored_shape or len(x) == 0:
        raise InputError(
            f"{text}: has x of shape {x.shape}, and the run is of examples of {spec.stored_shape}; "
            "store x as (m, ...) of these"
        )
    _require_range(text, x, spec)
    if isinstance(spec.codec, TableCodec) and not _are_records(x, spec.codec):
        raise InputError(
            f"{text}: has records that are not stored as the schema says; give them as .csv"
        )
    return x


def _are_records(x: np.ndarray, codec: TableCodec) -> bool:
    return np.array_equal(x, codec.layout.nearest(x))


def _require_range(text: str, x: np.ndarray, spec: Spec) -> None:
    """Raise an `InputError` for whole numbers beyond those that the run's data can hold."""
    low, high = spec.codec.low, spec.codec.high
    if spec.codec.is_whole and (x.min() < low or x.max() > high):
        raise InputError(
            f"{text}: holds values outside [{low:g}, {high:g}], the range of the run's data; scale "
            "it as these were"
        )


def _records(text: str, spec: Spec) -> np.ndarray:
    """Read the records of a table, by the run's schema."""
    if spec.schema is None:
        other = spec.kind.choose(
            images="images; give images or .npz",
            rows=f"{spec.kind.holds(spec)}, without a schema; give .npz with x",
            table="",
        )
        raise InputError(f"{text}: is a table, and the run is of {other}")
    return tables.read_records(table_files.Source("", text), spec.schema)
