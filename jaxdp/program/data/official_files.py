"""Datasets as their authors hand them out: folders that hold what their archives unpack to.

    MNIST, Fashion-MNIST    train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., or .gz
    CIFAR-10, CIFAR-100     data_batch_1.bin to data_batch_5.bin and test_batch.bin; train.bin and
                            test.bin: the binary versions
    SVHN, cropped           train_32x32.mat and test_32x32.mat

The Python versions of CIFAR are pickles, which can run code of whoever wrote them. They are
refused, and the binary version is named.

References:
    LeCun, Cortes & Burges (1998), "The MNIST database of handwritten digits" (idx files).
    Krizhevsky (2009), "Learning multiple layers of features from tiny images" (CIFAR).
    Netzer et al. (2011), "Reading digits in natural images with unsupervised feature learning"
        (SVHN; its class 10 is the digit 0).
"""

import gzip
import math
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxdp.program.data.sources import RawData, dataset_error
from jaxdp.saved.files import open_plain

_Examples = tuple[np.ndarray, np.ndarray]
_SIDE, _CHANNELS = 32, 3
_PIXELS = _SIDE * _SIDE * _CHANNELS
# An idx file: two zeros, a code of uint8, the number of sizes, and each as 4 bytes.
_IDX_BYTES = bytes([0, 0, 8])
_IDX = {
    f"{split}_{what}": f"{stem}-{kind}-ubyte"
    for split, stem in (("train", "train"), ("test", "t10k"))
    for what, kind in (("x", "images-idx3"), ("y", "labels-idx1"))
}
_MOST_BYTES = 2**31  # of a compressed file, unpacked


class _MalformedError(Exception):
    """A file does not hold what its format says."""


class Format(NamedTuple):
    """How a dataset is handed out.

    Attributes:
        files: of the training split, and of the test split; each may end in .gz, too, if `gzipped`.
        read: from the files of a split to its examples and labels.
        class_names: file of them, one a line; None where there is none.
        gzipped: whether files may be compressed.
    """

    files: tuple[tuple[str, ...], tuple[str, ...]]
    read: Callable[[Sequence[Path]], _Examples]
    class_names: str | None = None
    gzipped: bool = False


def _idx(paths: Sequence[Path]) -> _Examples:
    images, labels = paths
    return _idx_array(images, 3), _idx_array(labels, 1)


def _idx_array(path: Path, num_axes: int) -> np.ndarray:
    content = _content(path)
    start = 4 + 4 * num_axes
    if content[:4] != _IDX_BYTES + bytes([num_axes]) or len(content) < start:
        raise _MalformedError(f"{path.name} is no idx file of bytes with {num_axes} sizes")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", num_axes, offset=4))
    if len(content) - start != math.prod(shape):
        raise _MalformedError(
            f"{path.name} has {len(content) - start} values, and declares {shape}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _content(path: Path) -> bytes:
    with open_plain(path) as plain:
        file = gzip.GzipFile(fileobj=plain) if path.suffix == ".gz" else plain
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise _MalformedError(f"{path.name} holds more than {_MOST_BYTES} bytes")
    return content


def _records(num_labels: int) -> Callable[[Sequence[Path]], _Examples]:
    """Return the reader of records of labels, the last of which counts, and planes of colours."""

    def read(paths: Sequence[Path]) -> _Examples:
        parts = []
        for path in paths:
            content = np.frombuffer(_content(path), np.uint8)
            if not len(content) or len(content) % (num_labels + _PIXELS):
                raise _MalformedError(
                    f"{path.name} has {len(content)} bytes, which are no records of "
                    f"{num_labels + _PIXELS}"
                )
            parts.append(content.reshape(-1, num_labels + _PIXELS))
        records = np.concatenate(parts)
        planes = records[:, num_labels:].reshape(-1, _CHANNELS, _SIDE, _SIDE)
        return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, num_labels - 1]

    return read


def _matlab(paths: Sequence[Path]) -> _Examples:
    from scipy import io

    (path,) = paths
    try:
        held = io.loadmat(path, variable_names=("X", "y"))
    except Exception as error:  # scipy raises whatever a malformed file leads to
        raise _MalformedError(f"{path.name}: {type(error).__name__}: {error}"[:200]) from error
    x, y = held.get("X"), held.get("y")
    if x is None or y is None or x.dtype != np.uint8 or x.shape[:-1] != (_SIDE, _SIDE, _CHANNELS):
        raise _MalformedError(f"{path.name} has no X of bytes ({_SIDE}, {_SIDE}, {_CHANNELS}, n)")
    labels = np.ravel(y)
    if labels.dtype.kind not in "iu" or not np.isin(labels, np.arange(1, 11)).all():
        raise _MalformedError(f"{path.name} has labels y that are not 1 to 10")
    return np.ascontiguousarray(np.moveaxis(x, -1, 0)), labels.astype(np.int64) % 10


_FORMATS = (
    Format(
        ((_IDX["train_x"], _IDX["train_y"]), (_IDX["test_x"], _IDX["test_y"])), _idx, gzipped=True
    ),
    Format(
        (tuple(f"data_batch_{i}.bin" for i in range(1, 6)), ("test_batch.bin",)),
        _records(1),
        "batches.meta.txt",
    ),
    Format((("train.bin",), ("test.bin",)), _records(2), "fine_label_names.txt"),
    Format((("train_32x32.mat",), ("test_32x32.mat",)), _matlab),
)
_PICKLES = (("data_batch_1", "test_batch"), ("train", "test", "meta"))
_UNPACKED = {
    "cifar10": ("cifar-10-batches-bin", "cifar-10-batches-py"),
    "cifar100": ("cifar-100-binary", "cifar-100-python"),
}
"""Folders that archives unpack to, where they have another name than the dataset."""


def find(name: str, root: Path) -> Path | None:
    """Return the folder of a dataset's official files; None where there is none.

    Args:
        name: of the dataset.
        root: folder of data.
    """
    folders = [root / each for each in (name, *_UNPACKED.get(name, ()))]
    return next((folder for folder in folders if is_folder_of(folder)), None)


def is_folder_of(folder: Path) -> bool:
    """Return whether a folder holds the official files of a dataset, or their pickles."""
    return _format_of(folder) is not None or _has_pickles(folder)


def _format_of(folder: Path) -> Format | None:
    for each in _FORMATS:
        if all(_path(folder, file, each) for split in each.files for file in split):
            return each
    return None


def _path(folder: Path, file: str, form: Format) -> Path | None:
    endings = ("", ".gz") if form.gzipped else ("",)
    paths = (folder / f"{file}{ending}" for ending in endings)
    return next((path for path in paths if path.is_file()), None)


def _has_pickles(folder: Path) -> bool:
    return any(all((folder / file).is_file() for file in files) for files in _PICKLES)


def read(name: str, folder: Path) -> RawData:
    """Read official files.

    Args:
        name: of the dataset.
        folder: that holds them; see `find`.

    Raises:
        InputError: they are pickles, or one does not hold what its format says.
    """
    form = _format_of(folder)
    if form is None:
        raise dataset_error(
            name,
            f"{folder} holds pickles, which can run code of whoever wrote them: take the binary "
            "version of the same archive",
        )
    try:
        train, test = (
            form.read([path for file in split if (path := _path(folder, file, form))])
            for split in form.files
        )
        names = _class_names(folder, form)
    except (_MalformedError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise dataset_error(
            name, f"{folder} is not as its authors hand it out ({error}): unpack the archive again"
        ) from error
    return RawData(*train, *test, names, f"official files in {folder}")


def _class_names(folder: Path, form: Format) -> tuple[str, ...] | None:
    if form.class_names is None or not (folder / form.class_names).is_file():
        return None
    return tuple((folder / form.class_names).read_text().split())
