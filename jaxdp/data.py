"""Datasets: what is public about them, what is private, and what is made from them.

`Spec` and `Codec` are public facts: plans and post-processing know these alone. `Private` holds the
examples themselves; only `release` functions of methods take one.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True)
class Codec:
    """Public constants between values as stored, in [0, 1], and as kernels see them.

    Attributes:
        low: least stored value.
        high: largest stored value, above `low`.
        shift: `kernel = (stored - shift) / scale`.
        scale: see `shift`; > 0.
        is_bytes: whether values are stored as uint8; float32 otherwise.

    Raises:
        ValueError: there is no room between `low` and `high`, or `scale` is not positive.
    """

    low: float
    high: float
    shift: float
    scale: float
    is_bytes: bool = True

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"need finite low < high, got {self.low} and {self.high}")
        if not 0 < self.scale < math.inf or not math.isfinite(self.shift):
            raise ValueError(f"need scale > 0 and a finite shift, got {self.scale}, {self.shift}")

    @property
    def kernel_range(self) -> tuple[float, float]:
        """The least and the largest value that a kernel sees."""
        return (self.low - self.shift) / self.scale, (self.high - self.shift) / self.scale

    def to_unit(self, stored: Any) -> Any:
        """Return values in [0, 1], float32; of numpy or of jax."""
        low, high = np.float32(self.low), np.float32(self.high - self.low)
        return (stored.astype(np.float32) - low) / high

    def from_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return values in [0, 1] as they are stored: rounded where that is as bytes."""
        x = rows * (self.high - self.low) + self.low
        return np.clip(np.rint(x), 0, 255).astype(np.uint8) if self.is_bytes else x


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """Public facts about a dataset: all that planning and post-processing may know.

    Attributes:
        name: of the dataset; some names have defaults of their own.
        kind: "image", of shape (h, w, channels), or "table", of shape (columns,).
        shape: of one example.
        class_names: of the c classes, in the order of the labels 0..c-1.
        num_examples: n of the private examples, which is public here.
        codec: constants between stored values and [0, 1].
        counted_classes: whether nobody declared the classes: the labels were counted.

    Raises:
        ValueError: the shape is not one of the kind, or there are fewer than two classes or no
            examples.
    """

    name: str
    kind: Literal["image", "table"]
    shape: tuple[int, ...]
    class_names: tuple[str, ...]
    num_examples: int
    codec: Codec
    counted_classes: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) != (3 if self.kind == "image" else 1) or min(self.shape) < 1:
            raise ValueError(f"an example of kind {self.kind} cannot have shape {self.shape}")
        if len(self.class_names) < 2 or self.num_examples < 1:
            raise ValueError(
                f"need at least 2 classes and 1 example, got {len(self.class_names)} and "
                f"{self.num_examples}"
            )

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        return len(self.class_names)

    @property
    def dim(self) -> int:
        """Number of values in one example."""
        return math.prod(self.shape)

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
        low: float | int = 0,
        high: float | int = 255,
        is_bytes: bool | None = None,
    ) -> "Spec":
        """Return the facts about images, of which everything is declared by you.

        Args:
            name: what to call the dataset.
            shape: of all images together, (n, h, w) or (n, h, w, channels).
            class_names: in the order of the labels.
            low: least value that a pixel can have, not the least one in the data.
            high: largest value that a pixel can have.
            is_bytes: whether made images are stored as uint8; by default where pixels are 0..255.
        """
        height, width, *channels = shape[1:]
        codec = Codec(
            low=float(low),
            high=float(high),
            shift=(low + high) / 2,
            scale=(high - low) / 2,
            is_bytes=(low, high) == (0, 255) if is_bytes is None else is_bytes,
        )
        return cls(
            name=name,
            kind="image",
            shape=(int(height), int(width), *(channels or [1])),
            class_names=tuple(map(str, class_names)),
            num_examples=int(shape[0]),
            codec=codec,
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
        codec = Codec(low=float(low), high=float(high), shift=0.0, scale=1.0, is_bytes=False)
        return cls(
            name=name,
            kind="table",
            shape=(int(shape[1]),),
            class_names=tuple(map(str, class_names)),
            num_examples=int(shape[0]),
            codec=codec,
        )


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
    if x.shape != (spec.num_examples, *spec.shape):
        raise ValueError(f"x has shape {x.shape}, and spec says {(spec.num_examples, *spec.shape)}")
    if y.shape != (len(x),) or y.dtype.kind not in "iu":
        raise ValueError(f"y must be {len(x)} whole numbers, got {y.dtype} of shape {y.shape}")
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        raise ValueError(f"x must be uint8 or of a float type, got {x.dtype}")
    if y.min() < 0 or y.max() >= spec.num_classes:
        raise ValueError(f"y has labels outside 0..{spec.num_classes - 1}")
    if not np.all(np.isfinite(x)):
        raise ValueError("x has values that are not finite")
    if x.min() < spec.codec.low or x.max() > spec.codec.high:
        raise ValueError(
            f"x has values outside [{spec.codec.low:g}, {spec.codec.high:g}], the range that spec "
            "declares"
        )
    return Private(x, y.astype(np.int32))
