"""Arrays that users store themselves: one npz file, or a folder of npy files for large ones."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jaxdp.program.data import classes
from jaxdp.program.data.sources import ARRAYS, RawData, dataset_error
from jaxdp.saved import npz as npz_files

_NAMES, _PERSONS = "class_names", "group_train"


def read_npz(name: str, path: Path) -> RawData:
    """Read x_train, y_train, x_test, y_test and perhaps class_names from an npz file."""
    try:
        arrays = npz_files.load(path, (*ARRAYS, _NAMES, _PERSONS))
    except npz_files.UnreadableError as error:
        raise dataset_error(
            name,
            f"cannot read {path} ({error}): write it again with numpy.savez and "
            "plain arrays (no object arrays)",
        ) from error
    return _raw(name, arrays, path)


def is_array_folder(folder: Path) -> bool:
    """Return whether a folder holds arrays in npy files."""
    return any((folder / f"{key}.npy").exists() for key in ARRAYS)


def read_arrays(name: str, folder: Path) -> RawData:
    """Open x_train.npy, y_train.npy, x_test.npy and y_test.npy, which may be larger than memory.

    Examples stay in their files, and are read when they are used.
    """
    arrays: dict[str, np.ndarray] = {}
    for key in (*ARRAYS, _NAMES, _PERSONS):
        path = folder / f"{key}.npy"
        if not path.exists() and key not in ARRAYS:
            continue
        try:
            arrays[key] = np.load(path, mmap_mode="r" if key.startswith("x_") else None)
        except FileNotFoundError as error:
            raise dataset_error(name, f"{path} is missing beside the others") from error
        except (ValueError, EOFError) as error:
            raise dataset_error(name, f"cannot read {path} ({error}): use numpy.save") from error
    return _raw(name, arrays, folder)


def _raw(name: str, arrays: Mapping[str, np.ndarray], path: Path) -> RawData:
    missing = [key for key in ARRAYS if key not in arrays]
    if missing:
        raise dataset_error(
            name, f"{path} has no array {', '.join(missing)}: store {', '.join(ARRAYS)}"
        )
    class_names = arrays.get(_NAMES)
    if class_names is not None and (class_names.ndim != 1 or class_names.dtype.kind != "U"):
        raise dataset_error(
            name,
            f"class_names in {path} has dtype {class_names.dtype} and shape "
            f"{class_names.shape}: store a list of c strings, or leave it out",
        )
    names = None if class_names is None else tuple(class_names.tolist())
    x_train, y_train, x_test, y_test = (arrays[key] for key in ARRAYS)
    persons = arrays.get(_PERSONS)
    # Not len(x_train): it may be a single number, which `check_inputs` refuses.
    if persons is not None and (
        persons.dtype.kind not in "iuU" or persons.shape != x_train.shape[:1]
    ):
        raise dataset_error(
            name,
            f"{_PERSONS} in {path} has dtype {persons.dtype} and shape {persons.shape}, and "
            f"x_train shape {x_train.shape}: store the person of each training record, as a text "
            "or a whole number",
        )
    raw = RawData(x_train, y_train, x_test, y_test, names, str(path), persons=persons)
    classes.require_one_reading(name, raw)
    return raw
