"""Labelled datasets as plain arrays, checked before any work starts.

`load_dataset(name, data_dir=...)` looks, in this order, at scikit-learn's bundled digits
(the name "digits" is reserved for them), at `{data_dir}/{name}.npz`, at
`{data_dir}/{name}/x_train.npy` and its like, at the files of MNIST, CIFAR and SVHN as their
authors hand them out (`jaxdp.program.data.official_files`), at an image folder
`{data_dir}/{name}/{train,test}/{class}/*.png|jpg|tif|bmp|dcm` or `{data_dir}/{name}/{class}/*`, and
at tensorflow-datasets.

Only public facts are derived from the data: the number of classes, the class names, the
image shape and the sizes of the two splits. Scaling constants are fixed per storage type.
"""

import dataclasses
import difflib
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from jaxdp.data import WHOLE_TYPES, Codec, Private, Spec, TableCodec
from jaxdp.program.data import (
    array_files,
    classes,
    dialects,
    image_folder,
    large_arrays,
    official_files,
    resizing,
    tables,
    tfds_data,
)
from jaxdp.program.data import sources as data_sources
from jaxdp.program.data.checks import check_inputs, check_labels, check_range
from jaxdp.program.data.dataset import Dataset, HeldOut
from jaxdp.program.data.known import CODECS, FLOATS, whole_numbers
from jaxdp.program.data.outside_files import table_name, user_path
from jaxdp.program.data.persons import Persons
from jaxdp.program.data.resizing import ImageSize
from jaxdp.program.data.sources import TFDS_NAMES, RawData, Wanted, dataset_error
from jaxdp.program.data.splits import in_random_order
from jaxdp.program.data.tables import Split
from jaxdp.program.errors import InputError
from jaxdp.tables.open_schema import OpenSchema
from jaxdp.tables.raw import RawRecords, length
from jaxdp.tables.schema import ONE_HOT, Schema

_BY_DEFAULT = Wanted()


def load_dataset(
    name: str,
    *,
    data_dir: str | os.PathLike[str],
    download: bool = True,
    wanted: Wanted = _BY_DEFAULT,
) -> Dataset:
    """Load and check a dataset by name.

    The scaling takes uint8 values v to v/127.5 - 1, a few known datasets aside, and those of 16
    bits likewise from the range of their type to [-1, 1], or from that of `wanted.bits`, which
    arrays of int16 need. Float values are taken as scaled already: bring them to about [-1, 1] by
    public constants, not by statistics of the data.

    Args:
        name: "digits", a tensorflow-datasets name in `TFDS_NAMES`, or the name of an npz
            file, an image folder or prepared tensorflow-datasets data in `data_dir`.
        data_dir: folder of npz files, image folders and prepared tensorflow-datasets data.
        download: whether a dataset in `TFDS_NAMES` found nowhere may be downloaded into
            `data_dir`, which is made for it if need be.
        wanted: the size that images are brought to, and what else flags say of them.

    Returns:
        The dataset, its arrays unscaled.

    Raises:
        InputError: the dataset is unknown, unreadable or malformed.
    """
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise dataset_error(
            name, "a dataset is a plain name, not a path: give the folder with --data_dir"
        )
    classes.require_text(name, "its name")
    try:
        raw = _read(name, user_path(data_dir, "data_dir"), download, wanted)
    except OSError as error:
        raise dataset_error(
            name, f"cannot read {error.filename} ({error.strerror}): make it readable"
        ) from error
    raw = classes.declared(name, raw, wanted.class_names)
    x_train, x_test = check_inputs(name, raw)
    codec = _codec(name, raw, x_train.dtype, wanted.bits)
    y_train = check_labels(name, raw, "y_train", raw.y_train, len(x_train))
    y_test = check_labels(name, raw, "y_test", raw.y_test, len(x_test))
    used = wanted.persons.used(raw.persons, where=raw.source)
    names = classes.names_of(name, raw, (y_train, y_test))
    told = None if raw.names is None else np.array(raw.names)
    if used is not None:
        told = (np.arange(len(x_train)).astype(str) if told is None else told)[used]
        x_train, y_train = x_train[used], y_train[used]
    size = _new_size(name, raw, x_train.shape, wanted.size)
    if size is not None:
        x_train, x_test = (_resized(name, x, size) for x in (x_train, x_test))
    spec = Spec(
        name=name,
        shape=x_train.shape[1:],
        class_names=names,
        num_examples=len(x_train),
        codec=codec,
        counted_classes=classes.known(name, raw) is None,
        preparation=resizing.preparation(size, wanted.channels),
        records_per_person=wanted.persons.records_per_person,
        persons_declared=wanted.persons.most is not None,
    )
    found = Dataset(
        spec=spec,
        private=Private(x_train, check_range(name, raw, "y_train", y_train, len(names))),
        test=HeldOut(x_test, check_range(name, raw, "y_test", y_test, len(names))),
        source=raw.source,
        notes=(*raw.notes, *_note(raw, size, wanted.size)),
        names=told,
    )
    if wanted.bits is not None:
        require_range(found)
    return found


def _new_size(
    name: str, raw: RawData, shape: tuple[int, ...], size: ImageSize
) -> tuple[int, int] | None:
    """Return the (height, width) that images are brought to; None where theirs is kept."""
    if len(shape) == 2:
        if size.mixes:
            raise dataset_error(
                name, f"{raw.source} holds rows of {shape[1]} values: leave --image_size out"
            )
        return None
    if raw.sizes_differ:
        return size.size
    target = size.of(raw.size_before or shape[1:])
    return target if size.mixes or target != (raw.size_before or shape[1:3]) else None


def _resized(name: str, x: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    found = large_arrays.images(name, (len(x), *size, x.shape[3]), x.dtype)
    return resizing.all_resized(x, size, out=found)


def _note(raw: RawData, size: tuple[int, int] | None, asked: ImageSize) -> tuple[str, ...]:
    """Say that images are resized though nobody asked for it."""
    if size is None or asked.mixes:
        return ()
    before = f"{resizing.in_words(raw.size_before or raw.x_train.shape[1:3])} pixels"
    which = "different sizes" if raw.sizes_differ else before
    kept = "" if raw.sizes_differ else ", --image_size=full keeps theirs"
    return (
        f"images of {which} are resized to {resizing.in_words(size)}; "
        f"--image_size=WIDTHxHEIGHT takes another size{kept}",
    )


def _codec(name: str, raw: RawData, dtype: np.dtype, bits: int | None) -> Codec:
    """Return public constants: by the type of the values and by what is declared of it."""
    if bits is not None and dtype.name not in ("uint16", "int16"):
        raise dataset_error(
            name,
            f"{raw.source} holds values of {dtype}, not uint16 or int16: leave "
            f"--pixel_bits={bits} out",
        )
    if bits is not None:
        below = 2 ** (bits - 1) if dtype.kind == "i" else 0
        return whole_numbers(dtype.name, -below, 2**bits - 1 - below)
    if dtype.name == "int16" and raw.value_range is None:
        # Scans use a small part of that type's range: by it all images would be of one grey.
        raise dataset_error(
            name,
            f"{raw.source} holds values of int16, whose range nobody declares: give "
            "--pixel_bits=13 for -4096 to 4095 (12 for half of that), or store floats scaled to "
            "-1 to 1 by public constants",
        )
    if dtype.name not in WHOLE_TYPES:
        return FLOATS
    if dtype == np.uint8 and name in CODECS:
        return CODECS[name]
    limits = np.iinfo(dtype.name)
    low, high = raw.value_range or (limits.min, limits.max)
    return whole_numbers(dtype.name, low, high)


def require_range(data: Dataset) -> None:
    """Raise an `InputError` where images hold values beyond the public range of their type."""
    for key, x in (("x_train", data.private.x), ("x_test", data.test.x)):
        if not data.spec.kind.in_range(x, data.spec):
            codec = data.spec.codec
            raise dataset_error(
                data.spec.name,
                f"{key} in {data.source} holds values outside [{codec.low:g}, {codec.high:g}], the "
                f"range of images of {x.dtype}: {_in_range(codec)}",
            )


def _in_range(codec: Codec | TableCodec) -> str:
    if codec.dtype == "uint16":
        return "raise --pixel_bits, or leave it out"
    if codec.dtype == "int16":
        return "raise --pixel_bits"
    return "scale them by public constants, or store uint8"


class Completes(Protocol):
    """What fills in the open facts of a schema."""

    def wants(self, opened: OpenSchema) -> bool:
        """Whether anything is to be filled in."""

    def complete(self, opened: OpenSchema, records: RawRecords) -> Schema:
        """Return the complete schema; it may see private records, and tells what it releases."""


class AsIfComplete:
    """Takes open facts as if they were known: for who asks how many columns and records there are.

    What stands for them means nothing. So records are not to be used, and nothing is released.
    """

    def wants(self, opened: OpenSchema) -> bool:
        """Whether anything is open without which there is no schema."""
        return opened.must_be_bought

    def complete(self, opened: OpenSchema, records: RawRecords | None = None) -> Schema:
        """Return the schema with what stands for open facts."""
        del records
        schema = opened.schema
        if schema.target is None:
            return schema
        return dataclasses.replace(schema, target=dataclasses.replace(schema.target, other=True))


def dataset_for(flags: Any, *, seed: int, completes: Completes | None = None) -> Dataset:
    """Return the dataset that a driver's flags name, cut to `--subset`.

    Args:
        flags: that name it.
        seed: chooses what is drawn without the data.
        completes: fills in the open facts of a table's schema; None refuses these.

    Raises:
        InputError: as `load_dataset`.
    """
    persons = _persons_of(flags, seed=seed)
    if flags.csv is None:
        _require_no_table(flags)
        wanted = Wanted(
            size=resizing.parse(flags.image_size),
            bits=flags.pixel_bits,
            test_fraction=flags.test_fraction,
            seed=seed,
            persons=persons,
            class_names=classes.parse(flags.class_names),
            channels=flags.channels,
            validation=flags.validation,
        )
        data = load_dataset(flags.dataset, data_dir=flags.data_dir, wanted=wanted)
    else:
        data = load_table(flags, persons, seed=seed, completes=completes)
    if flags.subset is None:
        return data
    return random_subset(data, flags.subset, seed=seed)


def _persons_of(flags: Any, *, seed: int) -> Persons:
    return Persons(
        most=flags.records_per_person,
        separator=flags.person_separator,
        column=flags.person_column,
        seed=seed,
    )


def records_as_read(flags: Any, schema: Schema, *, seed: int) -> tuple[RawRecords, RawRecords]:
    """Return the records of a table as its file has them: those that `dataset_for` returns.

    Args:
        flags: as for `dataset_for`.
        schema: of the table; its types and formats count.
        seed: likewise.

    Returns:
        Training and test records.

    Raises:
        InputError: as `load_table`.
    """
    train, test = tables.read_raw_splits(flags, schema, seed=seed)
    persons = _persons_of(flags, seed=seed)
    used = persons.used(train.persons, where=f"--person_column={persons.column}")
    train = train if used is None else train.part(used)
    if flags.subset is not None:
        nums = length(train.records), length(test.records)
        chosen, held_out = _subset(nums, train.names, flags.subset, seed=seed)
        train, test = train.part(chosen), test.part(held_out)
    return train.records, test.records


def _require_no_table(flags: Any) -> None:
    names = ("schema", "target", "test_csv", "codes", "person_column")
    for name in (*names, "schema_share", "schema_out", "no_header", "line_breaks"):
        value = getattr(flags, name, None)
        if value is not None:
            raise InputError(f"--{name}={value}: is about a table; name it by --csv")


def load_table(
    flags: Any, persons: Persons, *, seed: int, completes: Completes | None = None
) -> Dataset:
    """Return the table that `--csv` names, by its schema.

    Args:
        flags: that name it.
        persons: whose a record is.
        seed: chooses test records.
        completes: as for `dataset_for`.

    Raises:
        InputError: a file cannot be read, or does not hold what the schema declares.
    """
    if flags.dataset != "digits":
        raise InputError(f"--dataset={flags.dataset}: leave it out, --csv={flags.csv} is the data")
    if flags.class_names is not None:
        raise InputError("--class_names: the schema of --csv declares the classes; leave it out")
    for name in ("image_size", "pixel_bits", "channels", "validation", "person_separator"):
        if getattr(flags, name):
            raise InputError(f"--{name}={getattr(flags, name)}: is about images, --csv is a table")
    name = table_name(flags.csv)
    classes.require_text(name, "its name")
    schema, train, test = _table_parts(flags, persons, seed=seed, completes=completes)
    spec = Spec.table(name, schema, len(train.x), form=flags.codes or ONE_HOT)
    return Dataset(
        spec=dataclasses.replace(
            spec,
            records_per_person=persons.records_per_person,
            persons_declared=persons.most is not None,
        ),
        private=Private(train.x, train.y),
        test=HeldOut(test.x, test.y),
        source=flags.csv,
        names=train.names,
    )


def _table_parts(
    flags: Any, persons: Persons, *, seed: int, completes: Completes | None
) -> tuple[Schema, Split, Split]:
    """Return the complete schema of a table, its training and its test records."""
    where = f"--person_column={persons.column}"
    opened, told = None, dialects.told(flags.no_header, flags.line_breaks)
    if completes is not None and flags.schema:
        opened = tables.open_schema_of(flags.schema, flags.target, told)
    if completes is None or opened is None or not completes.wants(opened):
        schema = tables.schema_of(flags.schema, flags.target, told)
        train, test = tables.read_splits(flags, schema, seed=seed)
        used = persons.used(train.persons, where=where)
        return schema, train if used is None else train.part(used), test
    raw_train, raw_test = tables.read_raw_splits(flags, opened.schema, seed=seed)
    used = persons.used(raw_train.persons, where=where)
    raw_train = raw_train if used is None else raw_train.part(used)
    schema = completes.complete(opened, raw_train.records)
    return schema, raw_train.encoded(schema), raw_test.encoded(schema)


def random_subset(data: Dataset, size: int, *, seed: int) -> Dataset:
    """Return a dataset with at most `size` examples in each split, drawn from a public seed.

    Every place in a split has a random number of its own, and the smallest are chosen: which
    examples are used depends neither on what they are nor on how many come after them. Where places
    depend on what other examples are, numbers are drawn by name.

    Guarantee:
        Without its last example a split's subset differs in one example at most, and so it does
        where one training example is replaced by another, of any class and name.
    """
    private, test = data.private, data.test
    chosen, held_out = _subset((len(private.x), len(test.x)), data.names, size, seed=seed)
    return dataclasses.replace(
        data,
        spec=dataclasses.replace(data.spec, num_examples=len(chosen)),
        private=Private(private.x[chosen], private.y[chosen]),
        test=HeldOut(test.x[held_out], test.y[held_out]),
        names=None if data.names is None else data.names[chosen],
    )


def _subset(
    nums: tuple[int, int], names: np.ndarray | None, size: int, *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of at most `size` training and of as many test examples."""
    streams = np.random.SeedSequence(seed).spawn(2)
    chosen, held_out = (
        np.argsort(np.random.default_rng(stream).random(num), kind="stable")[:size]
        for stream, num in zip(streams, nums, strict=True)
    )
    if names is not None:
        chosen = np.array(in_random_order(names.tolist(), f"subset/{seed}")[:size])
    return chosen, held_out


def _read(name: str, root: Path, download: bool, wanted: Wanted) -> RawData:
    """Read the arrays from the first place that has them."""
    folder, file = root / name, root / f"{name}.npz"
    own = file.exists() or array_files.is_array_folder(folder)
    official = None if own or name == "digits" else official_files.find(name, root)
    if official is not None:
        wanted.require_no_fraction(name, f"{official} has a test split")
        wanted.require_no_channels(name, "images have theirs")
        wanted.require_no_validation(name, "it has none")
        return official_files.read(name, official)
    if name != "digits" and not own and image_folder.is_image_folder(folder):
        wanted.require_no_validation(name, f"{folder} is a folder of images")
        return image_folder.read_image_folder(name, folder, wanted)
    if name != "digits" and own:
        wanted.require_no_channels(name, f"{file if file.exists() else folder} holds arrays")
        if file.exists():
            return array_files.read_npz(name, file, wanted)
        return array_files.read_arrays(name, folder, wanted)
    wanted.require_no_channels(name, "images have theirs")
    wanted.require_no_validation(name, "it has none")
    if name == "digits":
        raw = data_sources.read_digits()
    elif name in TFDS_NAMES or tfds_data.find(name, root) is not None:
        return tfds_data.read(name, root, download, wanted)
    elif folder.is_dir():
        raise image_folder.not_understood(name, folder)
    else:
        raise _unknown_dataset(name, root)
    wanted.require_no_fraction(name, f"{raw.source} has a test split")
    return raw


def _is_read(folder: Path) -> bool:
    try:
        readers = (array_files.is_array_folder, image_folder.is_image_folder)
        return any(is_one(folder) for is_one in (*readers, official_files.is_folder_of))
    except OSError:  # it cannot be looked into
        return False


def _unknown_dataset(name: str, root: Path) -> Exception:
    """Build the error that lists what there is and says how to add a dataset."""
    names = set[str]()
    if root.is_dir():
        names = {p.stem for p in root.glob("*.npz")}
        names |= {p.parents[1].name for p in root.glob("*/*.*.*/dataset_info.json")}
        names |= {each.name for each in root.iterdir() if _is_read(each)}
        found = f"in --data_dir={root} there are {', '.join(sorted(names))}"
        if not names:
            found = f"in --data_dir={root} there is no npz file and no image folder"
    else:
        found = f"--data_dir={root} is not a folder"
    near = difflib.get_close_matches(name, ["digits", *TFDS_NAMES, *sorted(names)], n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return dataset_error(
        name,
        f"unknown dataset; {meant}known by name are digits, {', '.join(TFDS_NAMES)}; {found}; "
        f"to add it put {root / name}.npz there with arrays x_train, y_train, x_test, y_test, "
        f"or images at {root / name}/{{train,test}}/CLASS/*.png",
    )
