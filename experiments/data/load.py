"""Labelled datasets as plain arrays, checked before any work starts.

`load_dataset(name, data_dir=...)` looks, in this order, at scikit-learn's bundled digits
(the name "digits" is reserved for them), at `{data_dir}/{name}.npz`, at an image folder
`{data_dir}/{name}/{train,test}/{class}/*.png|jpg|jpeg`, and at tensorflow-datasets.

Only public facts are derived from the data: the number of classes, the class names, the
image shape and the sizes of the two splits. Scaling constants are fixed per storage type.
"""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import image_folder, tables
from experiments.data import sources as data_sources
from experiments.data.known import BYTES, CLASS_NAMES, CODECS, FLOATS
from experiments.data.outside_files import user_path
from experiments.data.sources import TFDS_NAMES, RawData, dataset_error
from experiments.errors import InputError
from jaxdp.data import Codec, Private, Spec, TableCodec
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import ONE_HOT


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A labelled dataset with a train and a test split; x as stored (uint8 or float).

    `counted_classes` says that nobody declared how many classes there are: the labels were counted.
    What methods are given of it are `spec`, public facts, and `private`, the training split.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...]
    codec: Codec | TableCodec
    source: str
    counted_classes: bool = False

    @property
    def spec(self) -> Spec:
        """The public facts: (h, w, channels) is the shape of an image, (d,) that of a row."""
        if isinstance(self.codec, TableCodec):
            layout = self.codec.layout
            return Spec.table(self.name, layout.schema, len(self.x_train), form=layout.form)
        shape = self.x_train.shape[1:]
        return Spec(
            name=self.name,
            kind="image" if len(shape) == 3 else "table",
            shape=shape,
            class_names=self.class_names,
            num_examples=len(self.x_train),
            codec=self.codec,
            counted_classes=self.counted_classes,
        )

    @property
    def private(self) -> Private:
        """The training split."""
        return Private(self.x_train, self.y_train)


def load_dataset(name: str, *, data_dir: str | os.PathLike[str], download: bool = True) -> Dataset:
    """Load and check a dataset by name.

    The scaling takes uint8 values v to v/127.5 - 1, a few known datasets aside. Float values
    are taken as scaled already: bring them to about [-1, 1] by public constants, not by
    statistics of the data.

    Args:
        name: "digits", a tensorflow-datasets name in `TFDS_NAMES`, or the name of an npz
            file or an image folder in `data_dir`.
        data_dir: folder of npz files, image folders and prepared tensorflow-datasets data.
        download: whether a dataset in `TFDS_NAMES` found nowhere may be downloaded into
            `data_dir`, which is made for it if need be.

    Returns:
        The dataset, its arrays unscaled.

    Raises:
        InputError: the dataset is unknown, unreadable or malformed.
    """
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise dataset_error(
            name, "a dataset is a plain name, not a path: give the folder with --data_dir"
        )
    try:
        raw = _read(name, user_path(data_dir, "data_dir"), download)
    except OSError as error:
        raise dataset_error(
            name, f"cannot read {error.filename} ({error.strerror}): make it readable"
        ) from error
    x_train, x_test = _check_inputs(name, raw)
    y_train = _check_labels(name, raw, "y_train", raw.y_train, len(x_train))
    y_test = _check_labels(name, raw, "y_test", raw.y_test, len(x_test))
    class_names = _class_names(name, raw, y_train, y_test)
    is_bytes = x_train.dtype == np.uint8
    return Dataset(
        name=name,
        x_train=x_train,
        y_train=_check_range(name, raw, "y_train", y_train, len(class_names)),
        x_test=x_test,
        y_test=_check_range(name, raw, "y_test", y_test, len(class_names)),
        class_names=class_names,
        codec=CODECS.get(name, BYTES) if is_bytes else FLOATS,
        source=raw.source,
        counted_classes=raw.class_names is None and name not in CLASS_NAMES,
    )


def require_range(data: Dataset) -> None:
    """Raise an `InputError` where images hold values beyond the public range of their type."""
    low, high = data.codec.low, data.codec.high
    for key, x in (("x_train", data.x_train), ("x_test", data.x_test)):
        if data.spec.is_image and (x.min() < low or x.max() > high):
            raise dataset_error(
                data.name,
                f"{key} in {data.source} holds values outside [{low:g}, {high:g}], the range of "
                f"images of {x.dtype}: scale them by public constants, or store uint8",
            )


def dataset_for(flags: Any, *, seed: int) -> Dataset:
    """Return the dataset that a driver's flags name, cut to `--subset`.

    Raises:
        InputError: as `load_dataset`.
    """
    if flags.csv is None:
        _require_no_table(flags)
        data = load_dataset(flags.dataset, data_dir=flags.data_dir)
    else:
        data = load_table(flags, seed=seed)
    if flags.subset is None:
        return data
    return random_subset(data, flags.subset, seed=seed)


def _require_no_table(flags: Any) -> None:
    for name in ("schema", "test_csv", "test_fraction", "codes"):
        if getattr(flags, name) is not None:
            raise InputError(f"--{name}={getattr(flags, name)}: is about a table; name it by --csv")


def load_table(flags: Any, *, seed: int) -> Dataset:
    """Return the table that `--csv` names, by its schema.

    Raises:
        InputError: a file cannot be read, or does not hold what the schema declares.
    """
    if flags.dataset != "digits":
        raise InputError(f"--dataset={flags.dataset}: leave it out, --csv={flags.csv} is the data")
    schema = tables.schema_of(flags.schema)
    (x_train, y_train), (x_test, y_test) = tables.read_splits(flags, schema, seed=seed)
    return Dataset(
        name=Path(flags.csv).name.split(".")[0],
        x_train=x_train,
        y_train=y_train,
        x_test=x_test,
        y_test=y_test,
        class_names=schema.class_names,
        codec=TableCodec(Layout(schema, flags.codes or ONE_HOT)),
        source=flags.csv,
    )


def random_subset(data: Dataset, size: int, *, seed: int) -> Dataset:
    """Return a dataset with at most `size` examples in each split, drawn from a public seed.

    Every place in a split has a random number of its own, and the smallest are chosen: which
    examples are used depends neither on what they are nor on how many come after them.

    Guarantee:
        Without its last example a split's subset differs in one example at most.
    """
    streams = np.random.SeedSequence(seed).spawn(2)
    train, test = (
        np.argsort(np.random.default_rng(stream).random(len(x)), kind="stable")[:size]
        for stream, x in zip(streams, (data.x_train, data.x_test), strict=True)
    )
    return dataclasses.replace(
        data,
        x_train=data.x_train[train],
        y_train=data.y_train[train],
        x_test=data.x_test[test],
        y_test=data.y_test[test],
    )


def _read(name: str, root: Path, download: bool) -> RawData:
    """Read the arrays from the first place that has them."""
    if name == "digits":
        return data_sources.read_digits()
    if (root / f"{name}.npz").exists():
        return data_sources.read_npz(name, root / f"{name}.npz")
    folder = root / name
    if (folder / "train").is_dir() or (folder / "test").is_dir():
        return image_folder.read_image_folder(name, folder)
    if name in TFDS_NAMES:
        return data_sources.read_tfds(name, root, download)
    raise _unknown_dataset(name, root)


def _unknown_dataset(name: str, root: Path) -> Exception:
    """Build the error that lists what there is and says how to add a dataset."""
    if root.is_dir():
        names = {p.stem for p in root.glob("*.npz")}
        names |= {p.parent.name for split in ("train", "test") for p in root.glob(f"*/{split}")}
        found = f"in --data_dir={root} there are {', '.join(sorted(names))}"
        if not names:
            found = f"in --data_dir={root} there is no npz file and no image folder"
    else:
        found = f"--data_dir={root} is not a folder"
    return dataset_error(
        name,
        f"unknown dataset; known by name are digits, {', '.join(TFDS_NAMES)}; {found}; "
        f"to add it put {root / name}.npz there with arrays x_train, y_train, x_test, y_test, "
        f"or images at {root / name}/{{train,test}}/CLASS/*.png",
    )


def _check_inputs(name: str, raw: RawData) -> tuple[np.ndarray, np.ndarray]:
    """Check x_train and x_test alone and together; add the channel axis to grey images."""
    x_train = _check_input(name, raw, "x_train", raw.x_train)
    x_test = _check_input(name, raw, "x_test", raw.x_test)
    if x_train.shape[1:] != x_test.shape[1:]:
        raise dataset_error(
            name,
            f"examples in {raw.source} have shape {x_train.shape[1:]} in x_train but "
            f"{x_test.shape[1:]} in x_test: store both splits with the same shape",
        )
    if (x_train.dtype == np.uint8) != (x_test.dtype == np.uint8):
        raise dataset_error(
            name,
            f"in {raw.source} x_train is {x_train.dtype} but x_test is {x_test.dtype}, and "
            "uint8 is scaled while floats are not: store both splits alike",
        )
    return x_train, x_test


def _check_input(name: str, raw: RawData, key: str, x: np.ndarray) -> np.ndarray:
    """Check the dtype, shape and finiteness of one input array."""
    where = f"{key} in {raw.source}"
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        raise dataset_error(
            name,
            f"{where} has dtype {x.dtype}: store pixels 0..255 as uint8, anything else as "
            "floats scaled by public constants",
        )
    if x.ndim not in (2, 3, 4) or (x.ndim == 4 and x.shape[-1] not in (1, 3)):
        raise dataset_error(
            name,
            f"{where} has shape {x.shape}: store images as (n, h, w) or (n, h, w, ch) with "
            "ch 1 or 3, tabular rows as (n, d)",
        )
    if len(x) == 0:
        raise dataset_error(name, f"{where} is empty: both splits need at least one example")
    if x.size == 0:
        raise dataset_error(name, f"{where} has shape {x.shape}: examples hold no values")
    num_bad = x.size - np.count_nonzero(np.isfinite(x)) if x.dtype.kind == "f" else 0
    if num_bad:
        raise dataset_error(
            name, f"{where} has {num_bad} NaN or infinite values: drop or fill in those examples"
        )
    return x[..., np.newaxis] if x.ndim == 3 else x


def _check_labels(name: str, raw: RawData, key: str, y: np.ndarray, num: int) -> np.ndarray:
    """Check that one label array holds a whole number per example; return it as (n,)."""
    where = f"{key} in {raw.source}"
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1):
        raise dataset_error(
            name, f"{where} has shape {y.shape}: store integer labels of shape (n,), not one-hot"
        )
    if y.dtype.kind not in "iuf":
        raise dataset_error(
            name, f"{where} has dtype {y.dtype}: store labels as integers 0, 1, ..., c-1"
        )
    if len(y) != num:
        raise dataset_error(
            name, f"{where} has {len(y)} labels for {num} examples: store one label per example"
        )
    if y.dtype.kind == "f":
        # inf % 1 and nan % 1 are nan, which differs from 0 as a fraction does.
        with np.errstate(invalid="ignore"):
            num_bad = np.count_nonzero(y % 1 != 0)
        if num_bad:
            raise dataset_error(
                name, f"{where} has {num_bad} labels that are no whole numbers: store 0, ..., c-1"
            )
    return y.reshape(-1)


def _class_names(
    name: str, raw: RawData, y_train: np.ndarray, y_test: np.ndarray
) -> tuple[str, ...]:
    """Take the class names from the source, else the known table, else count the labels."""
    names = CLASS_NAMES.get(name) if raw.class_names is None else raw.class_names
    if names is None:
        num_classes = int(max(y_train.max(), y_test.max())) + 1
        # Identifiers stored as labels would otherwise ask for billions of class names.
        if num_classes > len(y_train) + len(y_test):
            raise dataset_error(
                name,
                f"labels in {raw.source} reach {num_classes - 1} but there are only "
                f"{len(y_train) + len(y_test)} examples: relabel the c classes as 0..c-1, or "
                "store class_names to declare that most classes are empty",
            )
        names = tuple(str(i) for i in range(num_classes))
    if len(names) < 2:
        raise dataset_error(
            name, f"{raw.source} has fewer than 2 classes: there is nothing to tell apart"
        )
    return names


def _check_range(name: str, raw: RawData, key: str, y: np.ndarray, num_classes: int) -> np.ndarray:
    """Check that labels are 0..c-1 and return them as int32."""
    num_bad = np.count_nonzero((y < 0) | (y >= num_classes))
    if num_bad:
        raise dataset_error(
            name,
            f"{key} in {raw.source} has {num_bad} labels outside 0..{num_classes - 1} (there "
            f"are {num_classes} classes): relabel them, or store class_names that cover them",
        )
    return y.astype(np.int32)
