"""How values are stored, and which numbers methods make of them: public constants."""

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import Schema

WHOLE_TYPES = ("uint8", "uint16", "int16")
"""Types of whole numbers that values may be stored as; anything else is stored as float32."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Codec:
    """Public constants between values as stored, in [0, 1], and as kernels see them.

    Attributes:
        low: least stored value.
        high: largest stored value, above `low`.
        shift: `kernel = (stored - shift) / scale`.
        scale: see `shift`; > 0.
        dtype: what values are stored as: uint8, uint16, int16 or float32.

    Raises:
        ValueError: no room between `low` and `high`, another type, or a scale that is not positive.
    """

    low: float
    high: float
    shift: float
    scale: float
    dtype: str = "uint8"

    def __post_init__(self) -> None:
        if self.dtype not in (*WHOLE_TYPES, "float32"):
            raise ValueError(f"values are stored as {', '.join(WHOLE_TYPES)} or float32")
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"need finite low < high, got {self.low} and {self.high}")
        if not 0 < self.scale < math.inf or not math.isfinite(self.shift):
            raise ValueError(f"need scale > 0 and a finite shift, got {self.scale}, {self.shift}")

    @property
    def is_whole(self) -> bool:
        """Whether values are stored as whole numbers, whose range is that of their type."""
        return self.dtype != "float32"

    @property
    def kernel_range(self) -> tuple[float, float]:
        """The least and the largest value that a kernel sees."""
        return (self.low - self.shift) / self.scale, (self.high - self.shift) / self.scale

    def to_unit(self, stored: Any) -> Any:
        """Return values in [0, 1], float32; of numpy or of jax."""
        low, high = np.float32(self.low), np.float32(self.high - self.low)
        return (stored.astype(np.float32) - low) / high

    def to_kernel(self, stored: Any) -> Any:
        """Return values as kernels see them, float32; of numpy or of jax."""
        return (stored.astype(np.float32) - np.float32(self.shift)) / np.float32(self.scale)

    def from_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return values in [0, 1] as they are stored: rounded where that is as whole numbers."""
        x = rows * (self.high - self.low) + self.low
        if not self.is_whole:
            return x
        limits = np.iinfo(self.dtype)
        np.rint(x, out=x)  # in place: a large set takes gigabytes
        return np.clip(x, limits.min, limits.max, out=x).astype(self.dtype)

    def facts(self) -> dict[str, Any]:
        """Return what kernels' rows are made by, as JSON."""
        return {"shift": self.shift, "scale": self.scale}


@dataclasses.dataclass(frozen=True)
class TableCodec:
    """Public facts between records of a table as stored, rows in [0, 1], and rows of kernels.

    Both rows are the same here, and longer than a record: a category is one-hot.

    Attributes:
        layout: of the rows.
    """

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    shift: ClassVar[float] = 0.0
    scale: ClassVar[float] = 1.0
    dtype: ClassVar[str] = "float32"
    is_whole: ClassVar[bool] = False
    layout: Layout

    @property
    def schema(self) -> Schema:
        """What is declared."""
        return self.layout.schema

    @property
    def kernel_range(self) -> tuple[float, float]:
        """The least and the largest value that a kernel sees."""
        return 0.0, 1.0

    def to_unit(self, stored: Any) -> Any:
        """Return rows in [0, 1] of records (n, columns); of numpy or of jax."""
        return self.layout.to_unit(stored)

    def to_kernel(self, stored: Any) -> Any:
        """Return rows as kernels see them: the same."""
        return self.layout.to_unit(stored)

    def from_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return the records (n, columns) that rows are nearest to."""
        return self.layout.from_unit(np.asarray(rows))

    def facts(self) -> dict[str, Any]:
        """Return what rows are made by, as JSON."""
        return {"form": self.layout.form, "schema": self.schema.to_json()}
