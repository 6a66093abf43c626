"""A made set and the test set that it is judged by, and the checks of sets that are compared."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from jaxdp.program.errors import InputError
from jaxdp.program.evaluation.facts import Facts
from jaxdp.program.evaluation.recipe import DISTILLED, Recipe

# What resizing or a generator's last layer in float32 may be off by.
_RANGE_SLACK = 1e-5


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What an evaluation is given: two sets on one scale, by public constants.

    Attributes:
        x: (n, h, w, ch) or (n, d) made set, distilled or generated.
        y: (n,) its classes, in 0..c-1; a class may be missing.
        x_test: (t, ...) real examples of the same shape, which it was not made from.
        y_test: (t,) their classes.
        num_classes: c; 1 where labels are not used, and then not looked at.
        recipe: how the set is judged.
        low, high: the public range of the values. Those of `x` may leave it: where the range
            matters, they are clipped, as in a picture.
        inception_weights: file of the Inception network, for FID.
        soft_labels: (n, c) probabilities of the classes for each example, where there are some.

    Raises:
        InputError: the made set has values that are not finite.
        ValueError: the arrays do not fit each other.
    """

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    num_classes: int
    recipe: Recipe = DISTILLED
    low: float = 0.0
    high: float = 1.0
    inception_weights: str | None = None
    soft_labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_sets(x=self.x, x_test=self.x_test)
        if self.num_classes > 1:
            check_labels(self.x, self.y, self.num_classes, "y")
            check_labels(self.x_test, self.y_test, self.num_classes, "y_test")
        soft, fitting = self.soft_labels, (len(self.x), self.num_classes)
        if soft is not None and soft.shape != fitting:
            raise ValueError(f"soft_labels has shape {soft.shape}, not {fitting}")

    @property
    def facts(self) -> Facts:
        """What can be known before the arrays are there."""
        return Facts(
            holder="the made set",
            shape=self.x.shape[1:],
            num_classes=self.num_classes,
            num_made=len(self.x),
            recipe=self.recipe,
            inception_weights=self.inception_weights,
            soft_labels=self.soft_labels is not None,
            num_test=len(self.x_test),
        )

    @property
    def hard_targets(self) -> np.ndarray:
        """The classes (n, c) one-hot, for networks."""
        return np.eye(self.num_classes, dtype=np.float32)[self.y]

    @property
    def soft_targets(self) -> np.ndarray:
        """The soft labels (n, c) in float32, for networks.

        Raises:
            ValueError: there are none.
        """
        if self.soft_labels is None:
            raise ValueError("the made set has no soft labels")
        return np.asarray(self.soft_labels, np.float32)

    @property
    def rows(self) -> np.ndarray:
        """The made set (n, d) in float32."""
        return flat(self.x)

    @property
    def test_rows(self) -> np.ndarray:
        """The test set (t, d) in float32."""
        return flat(self.x_test)

    @property
    def unit_rows(self) -> np.ndarray:
        """The made set (n, d), moved to [0, 1] and clipped to it."""
        return np.clip(self._unit(self.rows), 0.0, 1.0)

    @property
    def unit_test_rows(self) -> np.ndarray:
        """The test set (t, d), moved to [0, 1]; not clipped, so that a wrong range is found."""
        return self._unit(self.test_rows)

    def _unit(self, rows: np.ndarray) -> np.ndarray:
        return (rows - np.float32(self.low)) / np.float32(self.high - self.low)


def draw(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` rows, drawn without replacement, or all if there are no more."""
    if count < 1:
        raise ValueError(f"max_images must be at least 1, got {count}")
    return rows if len(rows) <= count else rows[rng.choice(len(rows), count, replace=False)]


def flat(x: np.ndarray) -> np.ndarray:
    """Return examples (n, ...) as rows (n, d) of float32."""
    return np.asarray(x, np.float32).reshape(len(x), math.prod(x.shape[1:]))


def check_sets(**sets: np.ndarray) -> None:
    """Check sets that are compared, of which `x` is the made one, by name.

    Raises:
        InputError: the made set has values that are not finite.
        ValueError: the shapes do not fit each other, or real values are not finite.
    """
    shapes = {name: np.shape(x) for name, x in sets.items()}
    if min(map(len, shapes.values())) < 2 or len({shape[1:] for shape in shapes.values()}) > 1:
        raise ValueError(f"{' and '.join(sets)} do not fit each other: shapes {shapes}")
    if any(math.prod(shape) == 0 for shape in shapes.values()):
        raise ValueError(f"a set is empty: shapes {shapes}")
    for name, x in sets.items():
        if np.all(np.isfinite(x)):
            continue
        if name == "x":
            raise InputError(
                "the made set has values that are not finite, so the run has diverged; lower "
                "--learning_rate"
            )
        raise ValueError(f"{name} has values that are not finite")


def check_unit_images(**sets: np.ndarray) -> None:
    """Check sets as `check_sets`, and that they are in [0, 1].

    The published code measured FIDs between images on different scales.

    Raises:
        InputError: as `check_sets`.
        ValueError: as `check_sets`, or a value is out of range.
    """
    check_sets(**sets)
    for name, x in sets.items():
        if np.min(x) < -_RANGE_SLACK or np.max(x) > 1.0 + _RANGE_SLACK:
            raise ValueError(
                f"{name} has values outside [0, 1]: undo its scaling first, with public constants"
            )


def check_labels(x: np.ndarray, y: np.ndarray, num_classes: int, name: str) -> None:
    """Raise a `ValueError` for labels that do not fit their examples."""
    if np.shape(y) != (len(x),):
        raise ValueError(f"{name} has shape {np.shape(y)} and does not fit {len(x)} examples")
    if not np.issubdtype(y.dtype, np.integer) or np.min(y) < 0 or np.max(y) >= num_classes:
        raise ValueError(f"{name} must be integers in 0..{num_classes - 1}")
