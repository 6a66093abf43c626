"""Readers behind `experiments.data`: each returns arrays as stored, not yet checked.

Heavy packages are imported by the one reader that needs them, so that a driver starts fast.
"""

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.data.persons import Persons
from experiments.data.resizing import BY_DEFAULT, ImageSize
from experiments.errors import InputError

TFDS_NAMES = ("mnist", "fashion_mnist", "svhn_cropped", "cifar10", "cifar100")
"""The tensorflow-datasets names that are read, and if need be downloaded, by name."""
ARRAYS = ("x_train", "y_train", "x_test", "y_test")
"""What a file of arrays has to hold."""
_REACH_SECONDS = 10


class Wanted(NamedTuple):
    """What flags say of images.

    Attributes:
        size: that they are brought to.
        bits: of a pixel of 16 bits that are in use; None for those that its file declares.
        test_fraction: part that is held out for tests, where a source has no test split.
        seed: that chooses it.
        persons: whose a record is.
        class_names: the classes, in order; None for those that a source has.
    """

    size: ImageSize = BY_DEFAULT
    bits: int | None = None
    test_fraction: float | None = None
    seed: int = 0
    persons: Persons = Persons()
    class_names: tuple[str, ...] | None = None

    def require_no_fraction(self, name: str, why: str) -> None:
        """Raise an `InputError` where a fraction is asked for, and there is a test split."""
        if self.test_fraction is not None:
            raise dataset_error(name, f"{why}: leave --test_fraction={self.test_fraction} out")


class RawData(NamedTuple):
    """Arrays as a source stores them, with its class names if it has any.

    `value_range` is what the type of images declares, where that is less than all of the type;
    `size_before` is the (height, width) that images had, where they all had one that has changed.
    `notes` are lines for the terminal, and for no file. `persons` says whose each training record
    is, where a source does.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...] | None
    source: str
    value_range: tuple[float, float] | None = None
    size_before: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    persons: np.ndarray | None = None


def dataset_error(name: str, message: str) -> InputError:
    """Build the one-line error about the value of --dataset."""
    return InputError(f"--dataset={name}: {' '.join(message.split())}")


def read_digits() -> RawData:
    """Read scikit-learn's 8x8 digits, split by a fixed permutation into 1437 and 360."""
    table = np.loadtxt(_digits_file(), delimiter=",")
    x = table[:, :-1].astype(np.uint8).reshape(-1, 8, 8)  # whole numbers 0..16
    y = table[:, -1].astype(int)
    # RandomState, because NumPy keeps its stream unchanged between versions.
    order = np.random.RandomState(0).permutation(len(x))
    train, test = order[:1437], order[1437:]
    return RawData(x[train], y[train], x[test], y[test], None, "scikit-learn's bundled digits")


def _digits_file() -> Path:
    """Return the file that `sklearn.datasets.load_digits` reads: importing that takes a second."""
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise dataset_error("digits", "scikit-learn brings it along, and is not installed")
    return Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"


def read_tfds(name: str, root: Path, download: bool) -> RawData:
    """Read a tensorflow-datasets dataset without TensorFlow, downloading it if need be."""
    import PIL.Image
    import tensorflow_datasets as tfds

    default = Path(tfds.core.constants.DATA_DIR).expanduser()
    folder = _find_prepared(name, root) or _find_prepared(name, default)
    if folder is None:
        looked_for = (
            f"there is no {root / name}.npz, no image folder {root / name} and "
            f"no array_record data prepared by tensorflow-datasets in {root} or {default}"
        )
        folder = _download(name, root, download, looked_for)
    # Decoded here, because tfds warns at every run that it would rather use OpenCV.
    decoders = {"image": tfds.decode.SkipDecoding()}
    arrays: list[np.ndarray] = []
    try:
        builder = tfds.builder_from_directory(folder)
        for split in ("train", "test"):
            stored = builder.as_data_source(split, decoders=decoders, file_format="array_record")
            examples = stored.__getitems__(range(len(stored)))  # 7 times faster than one by one
            images = [np.asarray(PIL.Image.open(io.BytesIO(e["image"]))) for e in examples]
            arrays += [np.stack(images), np.array([e["label"] for e in examples])]
    except Exception as error:  # tfds raises whatever the layer below it raised
        raise dataset_error(
            name, f"cannot read {folder} ({_brief(error)}): remove that folder and run again"
        ) from error
    x_train, y_train, x_test, y_test = arrays
    return RawData(x_train, y_train, x_test, y_test, None, f"tensorflow-datasets in {folder}")


def _brief(error: BaseException) -> str:
    """Name an exception and quote the start of its message."""
    return f"{type(error).__name__}: {error}"[:200]


def _find_prepared(name: str, root: Path) -> Path | None:
    """Find the newest version that tfds prepared in a format read without TensorFlow."""
    found: dict[tuple[int, ...], Path] = {}
    for path in root.glob(f"{name}/*.*.*/dataset_info.json"):
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
