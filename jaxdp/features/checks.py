"""Checks of arguments that feature maps of rows share."""

import math


def require_columns(dim: int) -> None:
    """Raise a `ValueError` unless rows have a column."""
    if dim < 1:
        raise ValueError(f"dim must be >= 1, got {dim}")


def require_positive(name: str, value: float) -> None:
    """Raise a `ValueError` unless a number is above 0 and finite."""
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be > 0 and finite, got {value}")
