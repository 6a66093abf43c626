"""The classes of a dataset: declared by `--class_names`, stored with it, known, or counted."""

from collections.abc import Sequence

import numpy as np

from jaxdp.program.data.known import CLASS_NAMES
from jaxdp.program.data.sources import RawData, dataset_error
from jaxdp.program.errors import InputError
from jaxdp.tables.formulas import opens_as_formula


def parse(text: str | None) -> tuple[str, ...] | None:
    """Return the names that `--class_names` lists.

    Raises:
        InputError: fewer than two, a name twice, or one that is empty.
    """
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(","))
    if len(names) < 2 or len(set(names)) < len(names) or "" in names:
        raise InputError(
            f"--class_names={text}: give two or more different names, as cat,dog or 1,2,3"
        )
    return names


def declared(name: str, raw: RawData, names: tuple[str, ...] | None) -> RawData:
    """Return data that have the classes of `--class_names`, in its order.

    Labels that have names keep them. Whole numbers are names, too, where all names are numbers:
    `1,2,3` is for labels from 1 to 3. Other labels are places in the list, from 0.

    Args:
        name: of the dataset.
        raw: as read; labels that no check lets pass stay as they are.
        names: None leaves everything as it is.

    Raises:
        InputError: a label has none of these names.
    """
    if names is None:
        return raw
    y_train, y_test = (
        _by_name(name, raw, key, names, y)
        for key, y in (("y_train", raw.y_train), ("y_test", raw.y_test))
    )
    return raw._replace(class_names=names, y_train=y_train, y_test=y_test)


def _by_name(
    name: str, raw: RawData, key: str, names: tuple[str, ...], y: np.ndarray
) -> np.ndarray:
    """Return labels as names where they have any."""
    stored, y = known(name, raw), _whole(y)
    if y.dtype.kind not in "iu":
        return y
    if stored is None:
        return y.astype(str) if all(map(_is_whole, names)) else y
    # Else what no class has could become one.
    if np.any((y < 0) | (y >= len(stored))):
        raise dataset_error(
            name, f"{raw.key(key)} in {raw.source} has labels outside 0..{len(stored) - 1}"
        )
    return np.array(stored)[y]


def require_one_reading(name: str, raw: RawData) -> None:
    """Raise an `InputError` where whole numbers may be names of classes as well as their places.

    The names alone decide, which are public: by the labels, one record could swap all classes.
    """
    names = raw.class_names or ()
    places = tuple(map(str, range(len(names))))
    if names == places or not all(map(_is_whole, names)) or set(names).isdisjoint(places):
        return
    if any(y.dtype.kind in "iuf" for y in (raw.y_train, raw.y_test)):
        raise dataset_error(
            name,
            f"labels in {raw.source} are numbers, and so are its class_names, in another order "
            "than 0, 1, ...: store labels that are names as texts, y.astype(str), or those that "
            "are places as np.array(class_names)[y]",
        )


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and str(int(text)) == text


def _whole(y: np.ndarray) -> np.ndarray:
    """Return whole numbers that are stored as floats as integers, all else as it is."""
    most = np.float64(2.0**53)
    if y.dtype.kind != "f" or not np.all((np.abs(y) <= most) & (y == np.round(y))):
        return y
    return y.astype(np.int64)


def places(name: str, raw: RawData, where: str, y: np.ndarray) -> np.ndarray:
    """Return the places of labels that are names in the list of all classes.

    Raises:
        InputError: nobody declared the classes, or there is a label of another class.
    """
    names = known(name, raw)
    if names is None:
        raise dataset_error(
            name,
            f"{where} has dtype {y.dtype}: give the list of all classes by --class_names, or store "
            "class_names beside labels that are names; or labels as integers 0, 1, ..., c-1",
        )
    _require_different(name, raw, names)
    order = {each: at for at, each in enumerate(names)}
    values, at = np.unique(y, return_inverse=True)
    found = np.array([order.get(value, -1) for value in values.tolist()], int)[at.reshape(-1)]
    if np.any(found < 0):
        raise dataset_error(
            name, f"{where} has labels that are not in class_names: add their classes"
        )
    return found


def names_of(name: str, raw: RawData, labels: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Take the class names from the source, else the known table, else count the labels.

    Raises:
        InputError: labels are no count of classes, there are fewer than two, a name is there
            twice, is a formula, or is no text.
    """
    names = known(name, raw)
    if names is None:
        num_classes, num = int(max(y.max() for y in labels)) + 1, sum(map(len, labels))
        # Identifiers stored as labels would otherwise ask for billions of class names.
        if num_classes > num:
            raise dataset_error(
                name,
                f"labels in {raw.source} reach beyond the number of examples, {num}: relabel the c "
                "classes as 0..c-1, or declare them by --class_names",
            )
        names = tuple(str(i) for i in range(num_classes))
    if len(names) < 2:
        raise dataset_error(
            name, f"{raw.source} has fewer than 2 classes: there is nothing to tell apart"
        )
    _require_different(name, raw, names)
    for each in names:
        require_text(name, f"class {each!a} of {raw.source}", each)
    for each in filter(opens_as_formula, names):
        raise dataset_error(
            name,
            f"class {each!r} of {raw.source} would run as a formula in a spreadsheet, where a CSV "
            "file with it is opened: give that class another name, without the sign in front",
        )
    return names


def require_text(name: str, what: str, text: str | None = None) -> None:
    """Raise an `InputError` for what no file or picture can hold: the bytes of a name that is none.

    Args:
        name: of the dataset.
        what: is of such bytes, for the error.
        text: that is looked at; the dataset's name by default.
    """
    try:
        (name if text is None else text).encode()
    except UnicodeEncodeError:
        raise dataset_error(
            ascii(name)[1:-1],
            f"{what} is no UTF-8 text, as names in archives of other systems often are: give it "
            "another name",
        ) from None


def _require_different(name: str, raw: RawData, names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        raise dataset_error(
            name,
            f"class_names in {raw.source} has a name twice: give each class one of its own",
        )


def known(name: str, raw: RawData) -> tuple[str, ...] | None:
    """Return the class names that a source has, or the known table; None if nobody declared any."""
    return CLASS_NAMES.get(name) if raw.class_names is None else raw.class_names
