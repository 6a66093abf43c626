"""Codecs: public constants that turn stored values into the numbers that methods compute with."""

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from jaxdp import plain_numbers
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import Schema

WHOLE_TYPES = ("uint8", "uint16", "int16")
"""Integer types that values may be stored as. All other values are stored as float32."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Codec:
    """Public constants that scale the values of images or rows.

    A value has three forms: as stored (such as a byte), in [0, 1], and on the scale of kernels.

    Attributes:
        low: least value that can be stored.
        high: largest value that can be stored, above `low`.
        shift: `kernel = (stored - shift) / scale`.
        scale: see `shift`; > 0.
        dtype: type of stored values: uint8, uint16, int16 or float32.

    Raises:
        ValueError: `low` is not below `high`, the type is another one, or `scale` is not positive.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> codec = jaxdp.data.Codec(low=0.0, high=255.0, shift=127.5, scale=127.5)
        >>> stored = np.array([0, 51, 255], np.uint8)
        >>> codec.to_unit(stored).tolist(), codec.to_kernel(stored).round(2).tolist()
        ([0.0, 0.2..., 1.0], [-1.0, -0.6..., 1.0])
        >>> codec.from_unit(np.array([0.0, 0.2, 1.0]))
        array([  0,  51, 255], dtype=uint8)
    """

    low: float
    high: float
    shift: float
    scale: float
    dtype: str = "uint8"

    def __post_init__(self) -> None:
        plain_numbers.settle(self)
        if self.dtype not in (*WHOLE_TYPES, "float32"):
            raise ValueError(f"values are stored as {', '.join(WHOLE_TYPES)} or float32")
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"need finite low < high, got {self.low} and {self.high}")
        if not 0 < self.scale < math.inf or not math.isfinite(self.shift):
            raise ValueError(f"need scale > 0 and a finite shift, got {self.scale}, {self.shift}")

    @property
    def is_whole(self) -> bool:
        """Whether stored values are whole numbers."""
        return self.dtype != "float32"

    @property
    def kernel_range(self) -> tuple[float, float]:
        """The least and the largest value on the scale of kernels."""
        return (self.low - self.shift) / self.scale, (self.high - self.shift) / self.scale

    def to_unit(self, stored: Any) -> Any:
        """Return stored values, an array of numpy or jax, as float32 in [0, 1]."""
        low, high = np.float32(self.low), np.float32(self.high - self.low)
        return (stored.astype(np.float32) - low) / high

    def to_kernel(self, stored: Any) -> Any:
        """Return stored values, an array of numpy or jax, as float32 on the scale of kernels."""
        return (stored.astype(np.float32) - np.float32(self.shift)) / np.float32(self.scale)

    def from_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return values in [0, 1] as they are stored. Whole numbers are rounded."""
        x = rows * (self.high - self.low) + self.low
        if not self.is_whole:
            return x
        limits = np.iinfo(self.dtype)
        np.rint(x, out=x)  # in place: a large set takes gigabytes
        return np.clip(x, limits.min, limits.max, out=x).astype(self.dtype)

    def facts(self) -> dict[str, Any]:
        """Return the constants of the scale of kernels, as JSON."""
        return {"shift": self.shift, "scale": self.scale}


@dataclasses.dataclass(frozen=True)
class TableCodec:
    """Public facts that turn the records of a table into rows of numbers in [0, 1].

    Kernels take the same rows. A row is longer than a record where a category is one-hot.

    Attributes:
        layout: the places of the columns in a row.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> codec = jaxdp.data.TableCodec(jaxdp.tables.Layout(jaxdp.tables.read_schema("adult")))
        >>> codec.layout.dim, len(codec.schema.columns)
        (108, 14)
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
        """The declared columns of the table."""
        return self.layout.schema

    @property
    def kernel_range(self) -> tuple[float, float]:
        """The least and the largest value on the scale of kernels."""
        return 0.0, 1.0

    def to_unit(self, stored: Any) -> Any:
        """Return the rows in [0, 1] of records (n, columns), an array of numpy or jax."""
        return self.layout.to_unit(stored)

    def to_kernel(self, stored: Any) -> Any:
        """Return the same rows as `to_unit`: kernels take them as they are."""
        return self.layout.to_unit(stored)

    def from_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return the valid records (n, columns) that are nearest to rows."""
        return self.layout.from_unit(np.asarray(rows))

    def facts(self) -> dict[str, Any]:
        """Return the form of the rows and the schema, as JSON."""
        return {"form": self.layout.form, "schema": self.schema.to_json()}
