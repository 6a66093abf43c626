"""Arrays that users store themselves: one npz file, or a folder of npy files for large ones.

They are found by the names that people give them, ours, those of MedMNIST and of scikit-learn.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxdp.program.data import classes
from jaxdp.program.data.sources import ARRAYS, RawData, Wanted, dataset_error
from jaxdp.program.data.splits import TEST_FRACTION, held_out
from jaxdp.saved import npz as npz_files

_NAMES, _PERSONS = "class_names", "group_train"
_SPLITS = (
    ARRAYS,
    ("X_train", "y_train", "X_test", "y_test"),
    ("train_images", "train_labels", "test_images", "test_labels"),
)
_WHOLE = (("x", "y"), ("X", "y"), ("images", "labels"), ("data", "target"), ("data", "labels"))
_VALIDATION = (("val_images", "val_labels"), ("x_val", "y_val"), ("X_val", "y_val"))
_ALL = (*_SPLITS, *_WHOLE, *_VALIDATION)
_KNOWN = tuple(dict.fromkeys((*(name for names in _ALL for name in names), _NAMES, _PERSONS)))
_EXAMPLES = {names[i] for names in _ALL for i in range(0, len(names), 2)}
"""Names of arrays of examples, which may be larger than memory."""


class _Split(NamedTuple):
    """Examples and labels of both parts, what is said of them, and their names as stored."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    notes: tuple[str, ...] = ()
    names: Any = None
    keys: tuple[str, ...] = ARRAYS


def read_npz(name: str, path: Path, wanted: Wanted) -> RawData:
    """Read examples, labels and perhaps class_names from an npz file.

    Args:
        name: of the dataset.
        path: of the file.
        wanted: what is held out for tests where the file has no test part, and whether the
            validation part is used.

    Raises:
        InputError: it cannot be read, or lacks an array.
    """
    try:
        arrays = npz_files.load(path, _KNOWN)
    except npz_files.UnreadableError as error:
        raise dataset_error(
            name,
            f"cannot read {path} ({error}): write it again with numpy.savez and "
            "plain arrays (no object arrays)",
        ) from error
    return _raw(name, arrays, path, wanted)


def is_array_folder(folder: Path) -> bool:
    """Return whether a folder holds arrays in npy files: one of a split, or a whole pair."""

    def has(key: str) -> bool:
        return (folder / f"{key}.npy").exists()

    return any(map(has, sum(_SPLITS, ()))) or any(all(map(has, pair)) for pair in _WHOLE)


def read_arrays(name: str, folder: Path, wanted: Wanted) -> RawData:
    """Open arrays in npy files, such as x_train.npy, which may be larger than memory.

    Examples stay in their files, and are read when they are used; but those of one file of which a
    part is held out for tests, or to which a validation part is added, are read at once.

    Args:
        name: of the dataset.
        folder: that has the files.
        wanted: as for `read_npz`.

    Raises:
        InputError: one cannot be read, or is missing.
    """
    arrays: dict[str, np.ndarray] = {}
    for key in _KNOWN:
        path = folder / f"{key}.npy"
        if not path.exists():
            continue
        try:
            arrays[key] = np.load(path, mmap_mode="r" if key in _EXAMPLES else None)
        except (ValueError, EOFError) as error:
            raise dataset_error(name, f"cannot read {path} ({error}): use numpy.save") from error
    return _raw(name, arrays, folder, wanted)


def _raw(name: str, arrays: Mapping[str, np.ndarray], path: Path, wanted: Wanted) -> RawData:
    split = _split(name, arrays, path, wanted)
    class_names = arrays.get(_NAMES)
    if class_names is not None and (class_names.ndim != 1 or class_names.dtype.kind != "U"):
        raise dataset_error(
            name,
            f"class_names in {path} has dtype {class_names.dtype} and shape "
            f"{class_names.shape}: store a list of c strings, or leave it out",
        )
    names = None if class_names is None else tuple(class_names.tolist())
    persons = arrays.get(_PERSONS)
    # Not len(x_train): it may be a single number, which `check_inputs` refuses.
    if persons is not None and (
        persons.dtype.kind not in "iuU" or persons.shape != split.x_train.shape[:1]
    ):
        raise dataset_error(
            name,
            f"{_PERSONS} in {path} has dtype {persons.dtype} and shape {persons.shape}, and "
            f"{split.keys[0]} shape {split.x_train.shape}: store the person of each training "
            "record, as a text or a whole number",
        )
    raw = RawData(
        *split[:4],
        names,
        str(path),
        notes=split.notes,
        persons=persons,
        names=split.names,
        keys=split.keys,
    )
    classes.require_one_reading(name, raw)
    return raw


def _split(name: str, arrays: Mapping[str, np.ndarray], path: Path, wanted: Wanted) -> _Split:
    """Return training and test examples, by the first names that are all there."""
    for keys in _SPLITS:
        if all(key in arrays for key in keys):
            wanted.require_no_fraction(name, f"{path} has a test split")
            x_train, y_train, x_test, y_test = (arrays[key] for key in keys)
            found = _Split(x_train, y_train, x_test, y_test, keys=keys)
            return _with_validation(name, found, arrays, path, wanted)
    begun = [keys for keys in _SPLITS if any(key in arrays for key in keys)]
    whole = next((keys for keys in _WHOLE if all(key in arrays for key in keys)), None)
    if begun or whole is None:
        keys = begun[0] if begun else ARRAYS
        missing = [key for key in keys if key not in arrays]
        raise dataset_error(
            name,
            f"{path} has no array {', '.join(missing)}: store {', '.join(keys)}, or x and y, of "
            "which a part is held out for tests",
        )
    split = _without_test(name, arrays[whole[0]], arrays[whole[1]], arrays, path, wanted)
    return split._replace(keys=(*whole, *whole))


def _with_validation(
    name: str, split: _Split, arrays: Mapping[str, np.ndarray], path: Path, wanted: Wanted
) -> _Split:
    """Add the validation part to the training part where that is asked for; else say it is not."""
    keys = next((keys for keys in _VALIDATION if all(key in arrays for key in keys)), None)
    if keys is None:
        if wanted.validation:
            raise dataset_error(name, f"{path} has no validation part: leave --validation out")
        return split
    if not wanted.validation:
        left = f"{keys[0]} of {path} are left out; --validation adds them to the training examples"
        return split._replace(notes=(left,))
    if _PERSONS in arrays:
        raise dataset_error(
            name, f"{_PERSONS} in {path} is of the training part alone: leave --validation out"
        )
    x, y = arrays[keys[0]], arrays[keys[1]]
    if x.shape[1:] != split.x_train.shape[1:] or y.ndim != split.y_train.ndim:
        raise dataset_error(
            name,
            f"{keys[0]} in {path} has shape {x.shape}, and the training examples have "
            f"{split.x_train.shape}: leave --validation out",
        )
    return split._replace(
        x_train=np.concatenate([split.x_train, x]), y_train=np.concatenate([split.y_train, y])
    )


def _without_test(
    name: str,
    x: np.ndarray,
    y: np.ndarray,
    arrays: Mapping[str, np.ndarray],
    path: Path,
    wanted: Wanted,
) -> _Split:
    """Hold a part out for tests: by places, whatever is there."""
    if wanted.validation:
        raise dataset_error(name, f"{path} has no validation part: leave --validation out")
    if _PERSONS in arrays:
        raise dataset_error(
            name, f"{_PERSONS} in {path} is of training records: store {', '.join(ARRAYS)}"
        )
    if x.ndim < 1 or len(x) < 2 or y.shape[:1] != x.shape[:1]:
        raise dataset_error(
            name,
            f"{path} has examples of shape {x.shape} and labels of shape {y.shape}: store a label "
            "for each of two examples or more",
        )
    fraction = wanted.test_fraction or TEST_FRACTION
    places = [str(place) for place in range(len(x))]
    test = np.array(held_out(places, fraction, seed=wanted.seed))
    note = f"{fraction:g} of all examples are held out for tests; --test_fraction changes that"
    kept = [place for place, is_test in zip(places, test, strict=True) if not is_test]
    return _Split(x[~test], y[~test], x[test], y[test], (note,), kept)
