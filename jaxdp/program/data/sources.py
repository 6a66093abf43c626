"""What readers of `jaxdp.program.data` share: what is asked for, and arrays as stored.

Heavy packages are imported by the one reader that needs them, so that a driver starts fast.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxdp.program.data.persons import Persons
from jaxdp.program.data.resizing import BY_DEFAULT, ImageSize
from jaxdp.program.errors import InputError

TFDS_NAMES = ("mnist", "fashion_mnist", "svhn_cropped", "cifar10", "cifar100")
"""The tensorflow-datasets names that are read, and if need be downloaded, by name."""
ARRAYS = ("x_train", "y_train", "x_test", "y_test")
"""What a file of arrays has to hold."""


class Wanted(NamedTuple):
    """What flags say of images.

    Attributes:
        size: that they are brought to.
        bits: of a pixel of 16 bits that are in use; None for those that its file declares.
        test_fraction: part that is held out for tests, where a source has no test split.
        seed: that chooses it.
        persons: whose a record is.
        class_names: the classes, in order; None for those that a source has.
        channels: 1 or 3, that every image of a folder is brought to; None for those that all have.
        validation: whether a validation part belongs to the training examples.
    """

    size: ImageSize = BY_DEFAULT
    bits: int | None = None
    test_fraction: float | None = None
    seed: int = 0
    persons: Persons = Persons()
    class_names: tuple[str, ...] | None = None
    channels: int | None = None
    validation: bool = False

    def require_no_fraction(self, name: str, why: str) -> None:
        """Raise an `InputError` where a fraction is asked for, and there is a test split."""
        if self.test_fraction is not None:
            raise dataset_error(name, f"{why}: leave --test_fraction={self.test_fraction} out")

    def require_no_channels(self, name: str, why: str) -> None:
        """Raise an `InputError` where channels are asked for, and nothing is brought to them."""
        if self.channels is not None:
            raise dataset_error(name, f"{why}: leave --channels={self.channels} out")

    def require_no_validation(self, name: str, why: str) -> None:
        """Raise an `InputError` where a validation part is asked for, and there can be none."""
        if self.validation:
            raise dataset_error(name, f"{why}: leave --validation out")


class RawData(NamedTuple):
    """Arrays as a source stores them, with its class names if it has any.

    `value_range` is what the type of images declares, where that is less than all of the type;
    `size_before` is the (height, width) that images had, where they all had one that has changed;
    `sizes_differ` says that they had several.
    `notes` are lines for the terminal, and for no file. `persons` says whose each training record
    is, where a source does. `names` tells training records apart where their places depend on what
    others are. `keys` are the names of the first four as stored, for messages.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...] | None
    source: str
    value_range: tuple[float, float] | None = None
    size_before: tuple[int, ...] | None = None
    sizes_differ: bool = False
    notes: tuple[str, ...] = ()
    persons: np.ndarray | None = None
    names: Sequence[str] | None = None
    keys: tuple[str, ...] = ARRAYS

    def key(self, part: str) -> str:
        """Return the name that one of `ARRAYS` has in the source."""
        return self.keys[ARRAYS.index(part)]


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
