"""Checks of arrays as a source gives them: types, shapes, labels. Each error is one line.

What is wrong is said without a count and without a value: both are private.
"""

import numpy as np

from jaxdp.data import WHOLE_TYPES
from jaxdp.program.data import classes
from jaxdp.program.data.sources import RawData, dataset_error

_PART = 10_000


def check_inputs(name: str, raw: RawData) -> tuple[np.ndarray, np.ndarray]:
    """Check x_train and x_test alone and together; add the channel axis to grey images."""
    x_train = _check_input(name, raw, "x_train", raw.x_train)
    x_test = _check_input(name, raw, "x_test", raw.x_test)
    if x_train.shape[1:] != x_test.shape[1:]:
        raise dataset_error(
            name,
            f"examples in {raw.source} have shape {x_train.shape[1:]} in {raw.key('x_train')} but "
            f"{x_test.shape[1:]} in {raw.key('x_test')}: store both splits with the same shape",
        )
    kinds = {x.dtype if x.dtype.kind in "iu" else np.float32 for x in (x_train, x_test)}
    if len(kinds) > 1:
        raise dataset_error(
            name,
            f"in {raw.source} {raw.key('x_train')} is {x_train.dtype} but {raw.key('x_test')} is "
            f"{x_test.dtype}, and each type of whole numbers is scaled by its range, floats by "
            "none: store both splits alike",
        )
    return x_train, x_test


def _check_input(name: str, raw: RawData, key: str, x: np.ndarray) -> np.ndarray:
    """Check the dtype, shape and finiteness of one input array."""
    where = f"{raw.key(key)} in {raw.source}"
    if x.dtype.kind == "b":
        raise dataset_error(
            name, f"{where} has dtype bool: store 0 and 255 as uint8, as x.astype('uint8') * 255"
        )
    if x.dtype.name not in WHOLE_TYPES and x.dtype.kind != "f":
        raise dataset_error(
            name,
            f"{where} has dtype {x.dtype}: store pixels 0..255 as uint8, 0..65535 as uint16, "
            "anything else as floats scaled by public constants",
        )
    if x.ndim not in (2, 3, 4) or (x.ndim == 4 and x.shape[-1] not in (1, 3, 4)):
        raise dataset_error(
            name,
            f"{where} has shape {x.shape}: store images as (n, h, w) or (n, h, w, ch) with "
            "ch 1, 3 or 4, tabular rows as (n, d)",
        )
    if len(x) == 0:
        raise dataset_error(name, f"{where} is empty: both splits need at least one example")
    if x.size == 0:
        raise dataset_error(name, f"{where} has shape {x.shape}: examples hold no values")
    if x.dtype.kind == "f" and not _all_finite(x):
        raise dataset_error(
            name, f"{where} has NaN or infinite values: drop or fill in those examples"
        )
    return x[..., np.newaxis] if x.ndim == 3 else x


def _all_finite(x: np.ndarray) -> bool:
    """Look at a part at a time: there may be more rows than memory."""
    parts = (x[start : start + _PART] for start in range(0, len(x), _PART))
    return all(bool(np.all(np.isfinite(part))) for part in parts)


def check_labels(name: str, raw: RawData, key: str, y: np.ndarray, num: int) -> np.ndarray:
    """Check that one label array holds a whole number per example; return it as (n,)."""
    where = f"{raw.key(key)} in {raw.source}"
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1):
        raise dataset_error(
            name, f"{where} has shape {y.shape}: store integer labels of shape (n,), not one-hot"
        )
    if y.dtype.kind == "U":
        y = classes.places(name, raw, where, y)
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
            has_bad = np.any(y % 1 != 0)
        if has_bad:
            raise dataset_error(
                name, f"{where} has labels that are no whole numbers: store 0, ..., c-1"
            )
    return y.reshape(-1)


def check_range(name: str, raw: RawData, key: str, y: np.ndarray, num_classes: int) -> np.ndarray:
    """Check that labels are 0..c-1 and return them as int32."""
    if np.any((y < 0) | (y >= num_classes)):
        raise dataset_error(
            name,
            f"{raw.key(key)} in {raw.source} has labels outside 0..{num_classes - 1} (there "
            f"are {num_classes} classes): relabel them, or store class_names that cover them",
        )
    return y.astype(np.int32)
