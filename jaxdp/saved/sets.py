"""The labelled sets of a folder: distilled, of a few examples, or generated, of many."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxdp.data import Spec, TableCodec
from jaxdp.saved.folder import SavedFolder
from jaxdp.tables.schema import BINS

DISTILLED, SYNTHETIC = "distilled.npz", "synthetic.npz"


class SavedSet(NamedTuple):
    """The labelled examples of a folder.

    Attributes:
        x: (m, *shape) examples in the units of the data; records of a table as stored.
        y: (m,) classes of the examples.
        class_names: names of the classes; a single one where the method ignored the labels.
        arrays: all arrays of the file, by name.
        file: name of the file.
    """

    x: np.ndarray
    y: np.ndarray
    class_names: tuple[str, ...]
    arrays: dict[str, np.ndarray]
    file: str


def read(folder: SavedFolder, spec: Spec) -> SavedSet | None:
    """Return the set in a folder; None where its file is not there.

    Raises:
        InputError: the file is another one than the certificate names.
        KeyError: the file lacks an array.
        ValueError: the file cannot be read, or does not fit the data.
    """
    if folder.is_there(DISTILLED):
        arrays, of_rows = folder.arrays(DISTILLED), distilled_spec(folder, spec)
        x, y = labelled_examples(arrays, of_rows, of_rows.shape)
        x = _as_stored(x, arrays, of_rows)
        return SavedSet(x, y, _names(arrays, spec), arrays, DISTILLED)
    if folder.is_there(SYNTHETIC):
        arrays = folder.arrays(SYNTHETIC)
        x, y = labelled_examples(arrays, spec, spec.stored_shape)
        return SavedSet(x, y, _names(arrays, spec), arrays, SYNTHETIC)
    return None


def is_of_kip(folder: SavedFolder) -> bool:
    """Return whether a distilled set was made by DP-KIP."""
    return "kernel" in folder.config


def is_of_teacher(folder: SavedFolder) -> bool:
    """Return whether a distilled set was made from a private teacher or class means."""
    return "mirror" in folder.config


def distilled_spec(folder: SavedFolder, spec: Spec) -> Spec:
    """Return the facts about the data with rows in the form that a distilled set has."""
    return spec.in_form(BINS) if is_of_teacher(folder) else spec


def labelled_examples(
    arrays: Mapping[str, np.ndarray], spec: Spec, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the examples (m, *shape) and classes (m,) of a file.

    Raises:
        KeyError: the file lacks them.
        ValueError: they do not fit the data.
    """
    x, y = arrays["x"], arrays["y"]
    if x.shape[1:] != shape or len(x) == 0 or y.shape != (len(x),) or y.dtype.kind not in "iu":
        raise ValueError(f"its x and y have shapes {x.shape} and {y.shape}, and examples {shape}")
    if x.dtype.kind not in "iuf" or not np.all(np.isfinite(x)):
        raise ValueError("its x holds values that are no numbers")
    if np.min(y) < 0 or np.max(y) >= spec.num_classes:
        raise ValueError(f"its y has labels beyond {spec.num_classes} classes")
    return x, y


def _as_stored(x: np.ndarray, arrays: Mapping[str, np.ndarray], spec: Spec) -> np.ndarray:
    """Return distilled examples in the units of the data."""
    if isinstance(spec.codec, TableCodec):
        return spec.codec.from_unit(x)
    shift, scale = arrays["shift"], arrays["scale"]
    if shift.shape != () or scale.shape != () or shift.dtype.kind != "f" or scale.dtype.kind != "f":
        raise ValueError("its shift and scale are no numbers")
    if not (np.isfinite(shift) and 0 < scale < np.inf):
        raise ValueError(f"its shift and scale are {shift} and {scale}")
    return x * scale + shift


def _names(arrays: Mapping[str, np.ndarray], spec: Spec) -> tuple[str, ...]:
    """Return the names of the classes that a set tells apart.

    Raises:
        KeyError: they are not there.
        ValueError: they are other ones than those of the data.
    """
    found = arrays["class_names"]
    names = tuple(map(str, found)) if found.ndim == 1 and found.dtype.kind == "U" else ()
    if len(names) != 1 and names != spec.class_names:
        raise ValueError("its class_names are not those of the data")
    return names
