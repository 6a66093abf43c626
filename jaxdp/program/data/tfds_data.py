"""Datasets that tensorflow-datasets has prepared, or downloads; without TensorFlow.

One's own are read as those that are known by name are: `{data_dir}/{name}/{version}/` with shards
in array_record, examples with an `image` and a `label`, and a split `train`. Where there is no
split `test`, some are held out.
"""

import contextlib
import glob
import hashlib
import json
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.program.data import image_file, image_stack
from jaxdp.program.data.image_file import Image
from jaxdp.program.data.sources import ARRAYS, TFDS_NAMES, RawData, Wanted, dataset_error
from jaxdp.program.data.splits import TEST_FRACTION, held_out
from jaxdp.program.errors import InputError

_REACH_SECONDS = 10
# Examples that are read at once: 7 times faster than one by one.
_CHUNK = 1000
_Part = tuple[str, list[int]]


def read(name: str, root: Path, download: bool, wanted: Wanted) -> RawData:
    """Read a dataset that tensorflow-datasets has prepared; one that it knows is downloaded.

    Args:
        name: of the dataset.
        root: folder of data.
        download: whether one of `TFDS_NAMES` that is nowhere may be downloaded.
        wanted: the images' size, and which are held out for tests where there is no test split.

    Raises:
        InputError: it is not there, or cannot be read.
    """
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise dataset_error(
            name,
            f"there is no {root / name}.npz and no image folder {root / name}, and "
            "tensorflow-datasets, which reads it, is not installed: pip install "
            '"jaxdp-toolkit[tfds]", or put one of these there',
        ) from error
    folder, looked_for = find(name, root), ""
    if folder is None:
        default = Path(tfds.core.constants.DATA_DIR).expanduser()
        folder = find(name, default)
        looked_for = (
            f"there is no {root / name}.npz, no image folder {root / name} and "
            f"no array_record data prepared by tensorflow-datasets in {root} or {default}"
        )
    if folder is None:
        folder = _download(name, root, download, looked_for)
    try:
        return _read(name, folder, wanted)
    except InputError:
        raise
    except Exception as error:  # tfds raises whatever the layer below it raised
        instead = "remove that folder and run again" if name in TFDS_NAMES else "prepare it again"
        raise dataset_error(name, f"cannot read {folder} ({_brief(error)}): {instead}") from error


def _read(name: str, folder: Path, wanted: Wanted) -> RawData:
    import tensorflow_datasets as tfds

    builder: Any = tfds.builder_from_directory(folder)
    _require_images(name, folder, builder.info.features)
    # Decoded here, because tfds warns at every run that it would rather use OpenCV.
    decoders = {"image": tfds.decode.SkipDecoding()}
    stored = {
        split: builder.as_data_source(split, decoders=decoders, file_format="array_record")
        for split in ("train", "test")
        if split in builder.info.splits
    }
    parts, notes = _parts(name, folder, stored, wanted)
    labels, digests = list[int](), list[str]()
    images = (
        found for part in parts for found in _images(name, folder, stored, part, labels, digests)
    )
    count = sum(len(part) for _, part in parts)
    x, first, before = image_stack.stacked(name, images, count, wanted)
    y, n = np.array(labels), len(parts[0][1])
    names = None if name in TFDS_NAMES else tuple(builder.info.features["label"].names)
    return RawData(
        *(x[:n], y[:n], x[n:], y[n:], names, f"tensorflow-datasets in {folder}"),
        value_range=(first.low, first.high),
        size_before=None if wanted.size.mixes else before,
        sizes_differ=before is None,
        notes=notes,
        # The order of shards, and which are held out, depends on what all records are.
        names=None if name in TFDS_NAMES else digests[:n],
    )


def _parts(
    name: str, folder: Path, stored: dict[str, Any], wanted: Wanted
) -> tuple[list[_Part], tuple[str, ...]]:
    """Return the training and the test examples, each as a split and places in it; and notes."""
    sizes, least = {split: len(each) for split, each in stored.items()}, 1 + ("test" not in stored)
    for split in ("train", *sizes):
        if sizes.get(split, 0) < least:
            raise dataset_error(name, f"{folder} has too few examples in a split {split}: add some")
    if "test" in sizes:
        wanted.require_no_fraction(name, f"{folder} has a test split")
        return [(split, list(range(size))) for split, size in sizes.items()], ()
    fraction = wanted.test_fraction or TEST_FRACTION
    # Not by places: one record more or less would move those of others.
    names = [_digest(each) for _, each in _examples(stored["train"], list(range(sizes["train"])))]
    test = held_out(names, fraction, seed=wanted.seed)
    kept, held = ([i for i, is_test in enumerate(test) if is_test == which] for which in (0, 1))
    note = f"{fraction:g} of all images are held out for tests; --test_fraction changes that"
    return [("train", kept), ("train", held)], (note,)


def _digest(example: Any) -> str:
    return hashlib.sha256(example["image"] + str(example["label"]).encode()).hexdigest()


def _examples(stored: Any, places: list[int]) -> Iterator[tuple[int, Any]]:
    """Yield examples, their images not decoded, with their places."""
    for start in range(0, len(places), _CHUNK):
        chunk = places[start : start + _CHUNK]
        yield from zip(chunk, stored.__getitems__(chunk), strict=True)


def _require_images(name: str, folder: Path, features: Any) -> None:
    """Raise an `InputError` for a dataset of anything but images of whole numbers with a class."""
    import tensorflow_datasets as tfds

    wanted = {"image": tfds.features.Image, "label": tfds.features.ClassLabel}
    found = dict(features.items()) if isinstance(features, tfds.features.FeaturesDict) else {}
    for key, kind in wanted.items():
        if not isinstance(found.get(key), kind):
            raise dataset_error(
                name,
                f"{folder} has the features {', '.join(found) or 'of no name'}, and needs {key} of "
                f"the type {kind.__name__}: prepare it so",
            )
    # Floats are stored as the bytes of coloured pixels, which would be read as such.
    if found["image"].np_dtype not in (np.uint8, np.uint16):
        raise dataset_error(
            name, f"images in {folder} are of {found['image'].np_dtype}: store uint8 or uint16"
        )


def _images(
    name: str,
    folder: Path,
    stored: dict[str, Any],
    part: _Part,
    labels: list[int],
    digests: list[str],
) -> Iterator[tuple[str, Image]]:
    """Yield the images of a part with their places; add labels and digests to lists."""
    split, places = part
    for number, example in _examples(stored[split], places):
        labels.append(int(example["label"]))
        digests.append(_digest(example))
        place = f"{split} example {number} in {folder}"
        yield place, image_file.of_bytes(name, place, example["image"])


def _brief(error: BaseException) -> str:
    """Name an exception and quote the start of its message."""
    return f"{type(error).__name__}: {error}"[:200]


def find(name: str, root: Path) -> Path | None:
    """Return the newest version that tfds prepared in array_record; None where there is none."""
    found: dict[tuple[int, ...], Path] = {}
    for path in root.glob(f"{glob.escape(name)}/*.*.*/dataset_info.json"):
        with contextlib.suppress(OSError, ValueError):
            version = tuple(int(part) for part in path.parent.name.split("."))
            info = json.loads(path.read_text())
            if "array_record" in (info.get("fileFormat"), *info.get("alternativeFileFormats", ())):
                found[version] = path.parent
    return found[max(found)] if found else None


def _download(name: str, root: Path, download: bool, looked_for: str) -> Path:
    """Let tfds download and prepare a dataset, leaving all of it behind or nothing."""
    import requests
    import tensorflow_datasets as tfds

    instead = f"put {root / name}.npz there with arrays {', '.join(ARRAYS)}"
    if not download:
        raise dataset_error(name, f"{looked_for}, and downloading is off: {instead}")
    builder_class = tfds.builder_cls(name)
    target = root / name / str(builder_class.VERSION)
    if target.exists():
        raise dataset_error(
            name, f"{looked_for}, and {target} is in the way of a new copy: move it, or {instead}"
        )
    try:
        # Offline, tfds spends minutes on retries and pages of warnings before it gives up.
        requests.head(next(iter(builder_class.url_infos)), timeout=_REACH_SECONDS)
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=f".{name}-") as scratch:
            prepared = _prepare(name, scratch)
            target.parent.mkdir(exist_ok=True)
            if not target.exists():  # a run started together with this one may have won
                prepared.rename(target)
    except Exception as error:  # tfds raises whatever the layer below it raised
        raise dataset_error(
            name,
            f"{looked_for}, and downloading it failed ({_brief(error)}): connect to the "
            f"network and run again, or {instead}",
        ) from error
    return target


def _prepare(name: str, scratch: str) -> Path:
    """Run tfds's own preparation of a dataset in a scratch folder, without TensorFlow."""
    import tensorflow_datasets as tfds

    builder = tfds.builder(name, data_dir=scratch, file_format="array_record")
    with _without_tensorflow(builder):
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(try_download_gcs=False)
        )
    return Path(builder.data_path)


@contextlib.contextmanager
def _without_tensorflow(builder: Any) -> Iterator[None]:
    """Stand in for TensorFlow where the builders of `TFDS_NAMES` call it.

    They do so for two things: `tf.io.gfile.GFile` opens the downloaded files, and TensorFlow
    writes arrays as PNG, which tfds leaves to Pillow if it is given Pillow images.
    """
    import PIL.Image

    generate = builder._generate_examples

    def generate_pillow_images(*args: Any, **kwargs: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
        for key, example in generate(*args, **kwargs):
            image = example["image"]
            grey = image.shape[-1] == 1
            image = PIL.Image.fromarray(image[..., 0] if grey else image)
            yield key, {**example, "image": image}

    module: Any = sys.modules[type(builder).__module__]
    tensorflow = module.tf
    gfile = types.SimpleNamespace(GFile=open)
    module.tf = types.SimpleNamespace(io=types.SimpleNamespace(gfile=gfile))
    builder._generate_examples = generate_pillow_images
    try:
        yield
    finally:
        module.tf = tensorflow
