"""Datasets: what is public about them, what is private, and what is made from them.

`Spec` and `Codec` are public facts: plans and post-processing know these alone. `Private` holds the
examples themselves; only `release` functions of methods take one.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import ONE_HOT, Schema

if TYPE_CHECKING:
    import pandas as pd

WHOLE_TYPES = ("uint8", "uint16", "int16")
"""Types of whole numbers that values may be stored as; anything else is stored as float32."""
_FULL_RANGES: dict[Any, str] = {(0, 255): "uint8", (0, 65535): "uint16"}


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """Public facts about a dataset: all that planning and post-processing may know.

    Attributes:
        name: of the dataset; some names have defaults of their own.
        kind: "image", of shape (h, w, channels), or "table", of shape (values,).
        shape: of one example as a method sees it.
        class_names: of the c classes, in the order of the labels 0..c-1.
        num_examples: n of the private examples, which is public here.
        codec: constants between stored values and [0, 1].
        counted_classes: whether nobody declared the classes: the labels were counted.
        preparation: what was done to every example by itself before anything else, in words; the
            certificate says it.
        records_per_person: most examples that are of one person, whose examples together are
            protected; see `jaxdp.privacy.contributions`.
        persons_declared: whether somebody has declared that number, 1 included.
        range_given: whether somebody declared the range of values; floats need that.

    Raises:
        ValueError: the shape is not one of the kind, there are fewer than two classes or no
            examples, or two classes have one name.
    """

    name: str
    kind: Literal["image", "table"]
    shape: tuple[int, ...]
    class_names: tuple[str, ...]
    num_examples: int
    codec: Codec | TableCodec
    counted_classes: bool = False
    preparation: str | None = None
    records_per_person: int = 1
    persons_declared: bool = dataclasses.field(default=False, compare=False)
    range_given: bool = dataclasses.field(default=True, compare=False)

    def __post_init__(self) -> None:
        if len(self.shape) != (3 if self.kind == "image" else 1) or min(self.shape) < 1:
            raise ValueError(f"an example of kind {self.kind} cannot have shape {self.shape}")
        if len(self.class_names) < 2 or self.num_examples < 1:
            raise ValueError(
                f"need at least 2 classes and 1 example, got {len(self.class_names)} and "
                f"{self.num_examples}"
            )
        if len(set(self.class_names)) < len(self.class_names):
            raise ValueError("class_names has a name twice: give each class one of its own")

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        return len(self.class_names)

    @property
    def dim(self) -> int:
        """Number of values in one example."""
        return math.prod(self.shape)

    @property
    def schema(self) -> Schema | None:
        """What is declared about the columns of a table; None where nothing is."""
        return self.codec.schema if isinstance(self.codec, TableCodec) else None

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of one example as stored: a record of a table has one number for each column."""
        return self.shape if self.schema is None else (len(self.schema.columns),)

    @property
    def is_image(self) -> bool:
        """Whether examples are images rather than rows of a table."""
        return self.kind == "image"

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape (h, w, channels) of an image.

        Raises:
            ValueError: examples are no images.
        """
        if not self.is_image:
            raise ValueError(f"{self.name} holds rows of {self.dim} values, no images")
        height, width, channels = self.shape
        return height, width, channels

    @classmethod
    def images(
        cls,
        name: str,
        shape: Sequence[int],
        *,
        class_names: Sequence[str],
        low: float | int | None = None,
        high: float | int | None = None,
        dtype: str | None = None,
    ) -> "Spec":
        """Return the facts about images, of which everything is declared by you.

        Args:
            name: what to call the dataset.
            shape: of all images together, (n, h, w) or (n, h, w, channels).
            class_names: in the order of the labels.
            low: least value that a pixel can have, not the least one in the data; by default 0, for
                whole numbers alone: examples of a float type are refused without a range.
            high: largest value that a pixel can have; by default 255, for whole numbers alone.
            dtype: what made images are stored as; by default uint8 where pixels are 0..255, uint16
                where they are 0..65535, float32 otherwise.
        """
        height, width, *channels = shape[1:]
        range_given = low is not None and high is not None
        low, high = 0 if low is None else low, 255 if high is None else high
        codec = Codec(
            low=float(low),
            high=float(high),
            shift=(low + high) / 2,
            scale=(high - low) / 2,
            dtype=dtype or _FULL_RANGES.get((low, high), "float32"),
        )
        return cls(
            name=name,
            kind="image",
            shape=(int(height), int(width), *(channels or [1])),
            class_names=tuple(map(str, class_names)),
            num_examples=int(shape[0]),
            codec=codec,
            range_given=range_given,
        )

    @classmethod
    def rows(
        cls,
        name: str,
        shape: Sequence[int],
        *,
        class_names: Sequence[str],
        low: float | int = -1,
        high: float | int = 1,
    ) -> "Spec":
        """Return the facts about rows (n, d) of numbers between `low` and `high`, public bounds."""
        codec = Codec(low=float(low), high=float(high), shift=0.0, scale=1.0, dtype="float32")
        return cls(
            name=name,
            kind="table",
            shape=(int(shape[1]),),
            class_names=tuple(map(str, class_names)),
            num_examples=int(shape[0]),
            codec=codec,
        )

    @classmethod
    def table(cls, name: str, schema: Schema, num_examples: int, *, form: str = ONE_HOT) -> "Spec":
        """Return the facts about a table, of which everything is declared in its schema.

        Args:
            name: what to call it.
            schema: its columns; see `jaxdp.tables`.
            num_examples: n, the number of records.
            form: how records become rows: "one_hot", "raw" or "bins".
        """
        layout = Layout(schema, form)
        return cls(
            name=name,
            kind="table",
            shape=(layout.dim,),
            class_names=schema.class_names,
            num_examples=num_examples,
            codec=TableCodec(layout),
        )

    def of_persons(self, most: int) -> "Spec":
        """Return the same facts where a person has up to `most` examples, protected together."""
        return dataclasses.replace(self, records_per_person=most, persons_declared=True)

    def in_form(self, form: str) -> "Spec":
        """Return the same facts with rows of another form, where a table has a schema."""
        if self.schema is None:
            return self
        layout = Layout(self.schema, form)
        return dataclasses.replace(self, shape=(layout.dim,), codec=TableCodec(layout))


class Private(NamedTuple):
    """Private examples as stored. Only `release` functions take them.

    Attributes:
        x: (n, *shape) examples.
        y: (n,) labels in 0..c-1.
    """

    x: np.ndarray
    y: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The examples as rows (n, d)."""
        return self.x.reshape(len(self.x), -1)

    @classmethod
    def of_frame(cls, frame: "pd.DataFrame", schema: Schema) -> "Private":
        """Return the records of a data frame, as `jaxdp.tables.encode` stores them."""
        from jaxdp.tables import frames  # pandas takes a while

        return cls(*frames.encode(frame, schema))

    def __repr__(self) -> str:
        """Show how many, and nothing of them."""
        return f"Private({len(self.x)} examples)"


def checked(private: Private, spec: Spec) -> Private:
    """Return private examples with the channel axis and int32 labels that their facts ask for.

    The messages name shapes and types, and no value of any example.

    Raises:
        ValueError: they are not what `spec` says.
    """
    x, y = np.asarray(private.x), np.asarray(private.y)
    if x.ndim == 3 and spec.is_image and spec.shape[-1] == 1:
        x = x[..., np.newaxis]
    shape = (spec.num_examples, *spec.stored_shape)
    if x.shape != shape:
        raise ValueError(f"x has shape {x.shape}, and spec says {shape}")
    if y.shape != (len(x),) or y.dtype.kind not in "iu":
        raise ValueError(f"y must be {len(x)} whole numbers, got {y.dtype} of shape {y.shape}")
    if x.dtype.name not in WHOLE_TYPES and x.dtype.kind != "f":
        raise ValueError(f"x must be {', '.join(WHOLE_TYPES)} or of a float type, got {x.dtype}")
    if x.dtype.kind == "f" and not spec.range_given:
        raise ValueError(
            f"x is of {x.dtype}, whose range nobody gave: give Spec.images the least and the "
            "largest value that a pixel can have, as low=0, high=1"
        )
    if y.min() < 0 or y.max() >= spec.num_classes:
        raise ValueError(f"y has labels outside 0..{spec.num_classes - 1}")
    if not np.all(np.isfinite(x)):
        raise ValueError("x has values that are not finite")
    if isinstance(spec.codec, TableCodec):
        if not np.array_equal(x, spec.codec.layout.nearest(x)):
            raise ValueError("x has records that are not stored as Private.of_frame stores them")
    elif x.min() < spec.codec.low or x.max() > spec.codec.high:
        low, high = spec.codec.low, spec.codec.high
        raise ValueError(f"x has values outside [{low:g}, {high:g}], the range of spec")
    return Private(x, y.astype(np.int32))
