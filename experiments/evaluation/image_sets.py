"""Sets of images that are compared: as rows, drawn from, and checked.

Images are in [0, 1] on both sides, which is checked: the published code measured FIDs between
images on different scales.
"""

import math

import numpy as np

from experiments.errors import InputError

# What resizing or a generator's last layer in float32 may be off by.
_RANGE_SLACK = 1e-5


def draw(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` rows, drawn without replacement, or all if there are no more."""
    if count < 1:
        raise ValueError(f"max_images must be at least 1, got {count}")
    return rows if len(rows) <= count else rows[rng.choice(len(rows), count, replace=False)]


def flat(x: np.ndarray) -> np.ndarray:
    """Return images (n, ...) as rows (n, d) of float32."""
    return np.asarray(x, np.float32).reshape(len(x), math.prod(x.shape[1:]))


def check_images(**sets: np.ndarray) -> None:
    """Check sets of images, of which `x` is the synthetic one, by name.

    Raises:
        InputError: the synthetic set has values that are not finite.
        ValueError: shapes that do not fit each other, or values out of range.
    """
    shapes = {name: np.shape(images) for name, images in sets.items()}
    if min(map(len, shapes.values())) < 2 or len({shape[1:] for shape in shapes.values()}) > 1:
        raise ValueError(f"{' and '.join(sets)} do not fit each other: shapes {shapes}")
    if any(math.prod(shape) == 0 for shape in shapes.values()):
        raise ValueError(f"a set of images is empty: shapes {shapes}")
    for name, images in sets.items():
        low, high = float(np.min(images)), float(np.max(images))  # NaN if any value is
        if not (math.isfinite(low) and math.isfinite(high)):
            if name == "x":
                raise InputError(
                    "the synthetic set has values that are not finite, so its generator has "
                    "diverged; lower --learning_rate"
                )
            raise ValueError(f"{name} has values that are not finite")
        if low < -_RANGE_SLACK or high > 1.0 + _RANGE_SLACK:
            raise ValueError(
                f"{name} has values outside [0, 1]: undo its scaling first, with public constants"
            )


def check_labels(x: np.ndarray, y: np.ndarray, num_classes: int, name: str) -> None:
    """Raise a `ValueError` for labels that do not fit their images."""
    if np.shape(y) != (len(x),):
        raise ValueError(f"{name} has shape {np.shape(y)} and does not fit {len(x)} images")
    if not np.issubdtype(y.dtype, np.integer) or np.min(y) < 0 or np.max(y) >= num_classes:
        raise ValueError(f"{name} must be integers in 0..{num_classes - 1}")
