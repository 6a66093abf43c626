"""Advice for arrays that jaxdp does not take as they are, from their shapes and types alone."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

_CHANNELS = (1, 3, 4)


def one_image_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of one image, from the shape of an array of images.

    Raises:
        ValueError: images have no such shape, or the channels come first.
    """
    shape = tuple(map(int, shape))
    if len(shape) not in (3, 4):
        raise ValueError(
            f"shape {shape} is not that of images, (n, h, w) or (n, h, w, channels): reshape x, "
            "or take Spec.rows for rows of numbers"
        )
    if len(shape) == 4 and shape[1] in _CHANNELS and min(shape[2:]) > max(_CHANNELS):
        raise ValueError(
            f"shape {shape} has channels first, and images are (n, h, w, channels): "
            "give np.moveaxis(x, 1, -1)"
        )
    return shape[1:]


def require_example_shape(x: np.ndarray, shape: tuple[int, ...], more: str = "") -> None:
    """Raise a `ValueError` unless an array holds examples of a shape.

    Args:
        x: examples as stored; images may lack the axis of one channel, and all may be flat.
        shape: of one example.
        more: advice where examples have another shape.
    """
    if x.ndim > 1 and len(x) == 0:
        raise ValueError("x holds no examples")
    usual = {shape, (math.prod(shape),), shape[:-1] if shape[1:] and shape[-1] == 1 else shape}
    if x.ndim > 1 and x.shape[1:] in usual:
        return
    if x.size == math.prod(shape):
        more = "; for one example give x[None]"
    if x.ndim == 4 and (*x.shape[2:], x.shape[1]) == shape:
        more = "; channels come first, and last where they are stored: give np.moveaxis(x, 1, -1)"
    raise ValueError(f"x has shape {x.shape}, and an example has {shape}{more}")


def require_names(class_names: object) -> None:
    """Raise a `ValueError` where names of classes are none, but a number."""
    if not isinstance(class_names, Iterable):
        raise ValueError(
            f"class_names is {class_names!r}: give a list with the name of each class, in the "
            'order of the labels, as ["no", "yes"]'
        )


def labels_hint(y: np.ndarray) -> str:
    """Return advice on how to make whole numbers of labels, from their type and shape alone."""
    if y.ndim == 2 and y.shape[1] > 1:
        return "; labels that are one-hot become numbers by y.argmax(axis=1)"
    if y.ndim == 2:
        return "; give y[:, 0]"
    if y.ndim == 1 and y.dtype.kind in "OUST":
        return "; a label is the place of its class in class_names, as class_names.index(name)"
    return "; y.astype(int) makes whole numbers of others" if y.dtype.kind in "fb" else ""


def require_labels(y: np.ndarray, count: int) -> None:
    """Raise a `ValueError` unless there is one whole number for each of so many examples."""
    if y.shape != (count,) or y.dtype.kind not in "iu":
        raise ValueError(
            f"y must be {count} whole numbers, got {y.dtype} of shape {y.shape}{labels_hint(y)}"
        )
