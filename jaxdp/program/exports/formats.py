"""A folder of PNG files, a CSV file, and arrays for torch."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from jaxdp.data import Spec, TableCodec
from jaxdp.methods import table_code
from jaxdp.methods.record import npz_bytes
from jaxdp.program.csv_lines import csv_text
from jaxdp.program.errors import InputError
from jaxdp.program.exports import pixels
from jaxdp.program.exports.names import folder_names
from jaxdp.program.terminal import bar_style
from jaxdp.saved.loading import Loaded
from jaxdp.saved.sets import SavedSet
from jaxdp.tables.schema import ONE_HOT

IMAGES = "images"
"""Within an export: the folder of PNG files."""
TABLE = "data.csv"


class Exported(NamedTuple):
    """What a form's card tells.

    Attributes:
        files: lines on what there is.
        loading: how to load it, as Markdown.
        first: the file or folder to open first; empty where the form has none of its own.
        front: YAML at the top of the card; empty without.
    """

    files: tuple[str, ...]
    loading: str
    first: str = ""
    front: str = ""


def write_png(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    """Write an image folder: a PNG file for each example, in the folder of its class.

    It is a folder of its own: who reads it takes every folder in it for a class.

    Raises:
        InputError: examples are no images.
    """
    flag = "--format=png"
    other = loaded.spec.kind.choose(images=None, rows="rows of numbers", table="a table")
    if other is not None:
        raise InputError(f"{flag}: the run is of {other}; take --format=csv or torch")
    images = pixels.of_set(made.x, loaded.spec, flag)
    names = folder_names(made.class_names)
    (folder / IMAGES).mkdir()
    for _ in write_images(folder / IMAGES, images.x, made.y, names):
        pass
    lines = [(label, *each) for label, each in enumerate(zip(made.class_names, names, strict=True))]
    write_csv(folder / "classes.csv", [("label", "class", "folder"), *lines])
    return Exported(
        (
            f"`{IMAGES}/CLASS/NUMBER.png`: the images. NUMBER is the row in `{made.file}`. "
            f"{images.about}",
            "`classes.csv`: the label, the name and the folder of each class. A class without "
            "images has no folder",
        ),
        _DEEP_PNG if images.x.dtype == np.uint16 else _PNG,
        f"{IMAGES}/",
    )


_PNG = """```python
import torchvision

dataset = torchvision.datasets.ImageFolder("FOLDER/images")
```

It numbers classes by the alphabet of their folders. `classes.csv` has the labels of the run."""
# The loader of torchvision makes images RGB, and cuts 16 bits at 255.
_DEEP_PNG = _PNG.replace(
    'import torchvision\n\ndataset = torchvision.datasets.ImageFolder("FOLDER/images")',
    """import numpy as np
import PIL.Image
import torchvision


def deep(path):
    with PIL.Image.open(path) as image:  # 16 bits, which come to lie from 0 to 1
        return np.asarray(image).astype(np.float32)[..., np.newaxis] / 65535


dataset = torchvision.datasets.ImageFolder("FOLDER/images", loader=deep)""",
)


def write_images(
    folder: Path, images: np.ndarray, labels: np.ndarray, names: list[str]
) -> Iterator[tuple[str, int]]:
    """Write PNG files; yield the path of each within the folder, and its label.

    A class without images has no folder: readers of image folders refuse empty ones.
    """
    digits = max(5, len(str(len(images) - 1)))
    for label in np.unique(labels):
        (folder / names[label]).mkdir()
    bar = tqdm(images, desc="writing images", unit="image", **bar_style())
    for number, (image, label) in enumerate(zip(bar, labels, strict=True)):
        path = f"{names[label]}/{number:0{digits}d}.png"
        (folder / path).write_bytes(pixels.png(image))
        yield path, int(label)


def write_table(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    """Write a CSV file: records with the columns of the schema, or rows of numbers.

    Raises:
        InputError: examples are images.
    """
    write = loaded.spec.kind.choose(images=None, rows=_rows_csv, table=_records_csv)
    if write is None:
        raise InputError("--format=csv: the run is of images; take --format=png")
    content, about, loading = write(loaded, made)
    (folder / TABLE).write_bytes(content)
    return Exported((f"`{TABLE}`: {about}",), loading, TABLE)


def _records_csv(loaded: Loaded, made: SavedSet) -> tuple[bytes, str, str]:
    from jaxdp.tables import frames

    del made
    schema = loaded.spec.schema
    assert schema is not None
    reading = table_code.reading(f"FOLDER/{TABLE}", loaded.spec)
    content = schema.csv.encode(frames.to_csv(loaded.frame, schema))
    return content, "the records, with the columns of the schema", reading


def _rows_csv(loaded: Loaded, made: SavedSet) -> tuple[bytes, str, str]:
    content = csv_text(row_lines(loaded, made)).encode("utf-8", "backslashreplace")
    return content, "the rows, as the data were stored", _PANDAS


def row_lines(loaded: Loaded, made: SavedSet) -> list[tuple[object, ...]]:
    """Return the lines of a CSV file of rows of numbers without a schema."""
    header = (*(f"x{number}" for number in range(loaded.spec.dim)), *labels_of(made, None))
    lines: list[tuple[object, ...]] = [header]
    for row, label in zip(made.x.astype(np.float32), made.y, strict=True):
        lines.append((*row, *labels_of(made, int(label))))
    return lines


def labels_of(made: SavedSet, label: int | None) -> tuple[object, ...]:
    """Return a class by number and name, None for their headings; nothing without classes."""
    if len(made.class_names) == 1:
        return ()
    return _LABELS if label is None else (label, made.class_names[label])


_LABELS = ("label", "class")
_PANDAS = """```python
import pandas

frame = pandas.read_csv("FOLDER/data.csv")
```"""


def write_csv(path: Path, lines: list[tuple[object, ...]]) -> None:
    """Write a CSV file, as `csv_text` does."""
    path.write_bytes(csv_text(lines).encode("utf-8", "backslashreplace"))


def write_torch(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    """Write arrays: x float32 in [0, 1], images as (n, channels, h, w), and y int64."""
    spec = loaded.spec.in_form(ONE_HOT)
    x = np.asarray(spec.codec.to_unit(made.x.reshape(len(made.x), -1)), np.float32)
    arrays: dict[str, np.ndarray] = {
        "y": made.y.astype(np.int64),
        "class_names": np.array(made.class_names),
    }
    x = spec.kind.channels_first(x, spec)
    if isinstance(spec.codec, TableCodec):
        blocks = spec.codec.layout.blocks
        arrays["columns"] = np.repeat(
            [block.column.name for block in blocks], [block.width for block in blocks]
        )
    for name in ("y_scores", "y_soft"):
        if name in made.arrays:
            arrays[name] = made.arrays[name].astype(np.float32)
    (folder / "data.npz").write_bytes(npz_bytes(x=np.ascontiguousarray(x), **arrays))
    about = spec.kind.choose(images=_about_numbers, rows=_about_numbers, table=_about_records)
    shown = {"x": x, **arrays}
    lines = [f"{name} {each.dtype if each.dtype.kind != 'U' else 'texts'} {each.shape}"
             for name, each in shown.items()]  # fmt: skip
    about_all = f"`data.npz`: {', '.join(lines)}. {about(spec, x)}"
    return Exported((about_all,), _TORCH, "data.npz")


def _about_records(spec: Spec, x: np.ndarray) -> str:
    del spec, x
    return (
        "A row of `x` has numbers in [0, 1] and categories one-hot; `columns` names the column of "
        "each value."
    )


def _about_numbers(spec: Spec, x: np.ndarray) -> str:
    codec = spec.codec
    about = f"In `x`, 0 stands for {codec.low:g} in the data and 1 for {codec.high:g}."
    if np.min(x) < 0 or np.max(x) > 1:
        about += (
            f" What was made goes beyond: from {np.min(x):.4g} to {np.max(x):.4g}. It was made to "
            "train classifiers so, not to be looked at."
        )
    return about


_TORCH = """```python
import numpy as np
import torch

with np.load("FOLDER/data.npz") as data:
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
dataset = torch.utils.data.TensorDataset(x, y)
```"""
