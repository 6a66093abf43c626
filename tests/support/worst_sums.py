"""Records that an attacker would choose: one moves a plain float32 sum by 1.3 times itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MANY = 8192
_STEP = 2.0**-23


def worst_rows(height: float, big: float, part: float, more: int) -> np.ndarray:
    """Return one number of each record: large ones up to a power of two, then halves of a step.

    With all records the sum is above the power, where steps are twice as wide; without the first
    one it is below.
    """
    rows = np.full(MANY, part * height * _STEP, np.float32)
    rows[: int(height / big) + more] = big
    return rows


def moved(total: Callable[[Any, Any], Any], rows: np.ndarray) -> float:
    """Return by how much the first record moves a sum."""
    mask = np.ones(MANY, bool)
    without = mask.copy()
    without[0] = False
    whole, rest = (np.asarray(total(rows, each), np.float64) for each in (mask, without))
    return float(np.linalg.norm(whole - rest))


def worst(total: Callable[[Any, Any], Any], big: float) -> float:
    found = [
        moved(total, worst_rows(2.0**power, big, part, more))
        for power in (5, 6, 9, 11, 12)
        for part in (0.5001, 0.51, 0.75)
        for more in (-1, 0, 1)
    ]
    return max(found)
