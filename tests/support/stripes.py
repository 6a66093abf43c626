"""Images of stripes in noise: three classes that are easy to tell apart, or hard."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jaxdp.program.evaluation.problem import Problem

SHAPE = (8, 8, 1)


def stripes(
    per_class: int, *, noise: float, seed: int, classes: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Draw images in [0, 1] of stripes, whose direction or width is the class."""
    rng = np.random.default_rng(seed)
    i, j = np.indices(SHAPE[:2])
    patterns = np.stack([i % 2, j % 2, (i // 2) % 2])[..., None]
    y = np.tile(np.arange(classes), per_class)
    x = 0.5 + 0.3 * (patterns[y] - 0.5) + noise * rng.normal(size=(len(y), *SHAPE))
    return np.clip(x, 0.0, 1.0).astype(np.float32), y.astype(np.int32)


def problem(per_class: int = 40, *, noise: float = 0.02, recipe: Any, **options: Any) -> Problem:
    """Return a made set of stripes beside a test set of 20 of each class; options change both."""
    (x, y), (x_test, y_test) = (
        stripes(count, noise=noise, seed=seed) for count, seed in ((per_class, 0), (20, 1))
    )
    given = Problem(x=x, y=y, x_test=x_test, y_test=y_test, num_classes=3, recipe=recipe)
    return dataclasses.replace(given, **options)
