"""`Spec`, the public facts about a dataset. Plans and post-processing know nothing else of it."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

from jaxdp import plain_numbers
from jaxdp.data.codecs import Codec, TableCodec
from jaxdp.data.hints import one_image_shape, require_names
from jaxdp.data.kinds import IMAGES, Kind, kind_of
from jaxdp.tables.columns import Column
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import ONE_HOT, Schema

_FULL_RANGES: dict[Any, str] = {(0, 255): "uint8", (0, 65535): "uint16"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """Public facts about a dataset. You declare them; none is measured in the private data.

    `Spec.images`, `Spec.rows` and `Spec.table` make one.

    Attributes:
        name: name of the dataset. It is shown, and no setting depends on it.
        shape: shape of one example as methods see it, (h, w, channels) or (values,).
        class_names: names of the c classes, in the order of the labels 0..c-1.
        num_examples: number n of private examples. It counts as public.
        codec: constants that scale stored values to [0, 1].
        counted_classes: whether the number of classes was counted in the labels, as nobody
            declared it. The certificate says so.
        preparation: what was done to each example by itself before, in words for the certificate.
        records_per_person: most examples that one person has. All examples of a person are
            protected together; see `jaxdp.privacy.contributions`.
        persons_declared: whether somebody declared `records_per_person`, even as 1.
        range_given: whether somebody declared the range of the values. Examples of a float type
            need one.

    Raises:
        ValueError: the shape does not fit the kind, there are fewer than two classes or no
            examples, or two classes have the same name.

    Examples:
        >>> import jaxdp
        >>> spec = jaxdp.Spec.images("scans", (500, 28, 28), class_names=["no", "yes"])
        >>> spec.shape, spec.num_examples, spec.num_classes, spec.dim
        ((28, 28, 1), 500, 2, 784)
        >>> rows = jaxdp.Spec.rows("readings", (500, 12), class_names=["no", "yes"], low=-1, high=1)
        >>> rows.kind, rows.shape
        (rows, (12,))
        >>> spec.of_persons(3).records_per_person
        3
    """

    name: str
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
        plain_numbers.settle(self)
        if len(self.shape) != self.kind.axes or min(self.shape) < 1:
            raise ValueError(f"an example cannot have shape {self.shape}")
        if len(self.class_names) < self._fewest_classes or self.num_examples < 1:
            raise ValueError(
                f"need at least 2 classes and 1 example, got {len(self.class_names)} and "
                f"{self.num_examples}"
            )
        if len(set(self.class_names)) < len(self.class_names):
            raise ValueError("class_names has a name twice: give each class one of its own")

    @property
    def _fewest_classes(self) -> int:
        """Two; a table whose schema has no target of classes has one, of all records."""
        return 1 if self.schema is not None and self.schema.target is None else 2

    @functools.cached_property
    def kind(self) -> Kind:
        """What kind of data it is: see `jaxdp.data.kinds`."""
        return kind_of(self.shape, self.codec)

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
        """The declared columns of a table; None for images and plain rows."""
        return self.codec.schema if isinstance(self.codec, TableCodec) else None

    @property
    def schema_json(self) -> dict[str, Any] | None:
        """The schema as JSON; None where there is none."""
        return None if self.schema is None else self.schema.to_json()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns of a table, of which the target is none; none of other data."""
        return self.kind.columns(self)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of one example as stored. A record of a table has one number for each column."""
        return self.kind.stored_shape(self)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape (h, w, channels) of an image.

        Raises:
            ValueError: examples are no images.
        """
        if len(self.shape) != IMAGES.axes:
            raise ValueError(f"{self.name} holds {self.kind.holds(self)}, no images")
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
        """Return the facts about images.

        Args:
            name: name of the dataset, of your choice.
            shape: shape of the array of all images, (n, h, w) or (n, h, w, channels).
            class_names: names of the classes, in the order of the labels.
            low: least value that a pixel can have, which need not occur in the data. The default
                is 0, for whole numbers alone: `jaxdp.run` refuses floats without a declared range.
            high: largest value that a pixel can have. The default is 255, for whole numbers alone.
            dtype: type that made images are stored as. The default is uint8 for pixels in 0..255,
                uint16 for pixels in 0..65535, and float32 otherwise.
        """
        require_names(class_names)
        height, width, *channels = one_image_shape(shape)
        range_given = low is not None and high is not None
        # Plain ones first: the sum of numpy's bytes is a byte.
        low, high = map(plain_numbers.plain, (low or 0, 255 if high is None else high))
        codec = Codec(
            low=float(low),
            high=float(high),
            shift=(low + high) / 2,
            scale=(high - low) / 2,
            dtype=dtype or _FULL_RANGES.get((low, high), "float32"),
        )
        return cls(
            name=name,
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
        """Return the facts about rows of numbers.

        Args:
            name: name of the dataset, of your choice.
            shape: shape (n, d) of the array of all rows.
            class_names: names of the classes, in the order of the labels.
            low: least value that a number can have; a public bound.
            high: largest value that a number can have; a public bound.
        """
        require_names(class_names)
        if len(shape) != 2:
            raise ValueError(
                f"shape {tuple(shape)} is not that of rows, (n, d): give x.shape of all rows, or "
                "take Spec.images for images"
            )
        codec = Codec(low=float(low), high=float(high), shift=0.0, scale=1.0, dtype="float32")
        return cls(
            name=name,
            shape=(int(shape[1]),),
            class_names=tuple(map(str, class_names)),
            num_examples=int(shape[0]),
            codec=codec,
        )

    @classmethod
    def table(cls, name: str, schema: Schema, num_examples: int, *, form: str = ONE_HOT) -> "Spec":
        """Return the facts about a table.

        Args:
            name: name of the dataset, of your choice.
            schema: the declared columns; see `jaxdp.tables`.
            num_examples: number n of records.
            form: how records become rows: "one_hot", "raw" or "bins".
        """
        layout = Layout(schema, form)
        return cls(
            name=name,
            shape=(layout.dim,),
            class_names=schema.class_names,
            num_examples=num_examples,
            codec=TableCodec(layout),
        )

    def of_persons(self, most: int) -> "Spec":
        """Return the same facts for data in which one person has at most `most` examples.

        Raises:
            ValueError: it is no whole number from 1 to 100.
        """
        most = plain_numbers.records_per_person(most, "most")
        return dataclasses.replace(self, records_per_person=most, persons_declared=True)

    def in_form(self, form: str) -> "Spec":
        """Return the same facts with rows of another form; no change for data without a schema."""
        if not isinstance(self.codec, TableCodec):
            return self
        layout = Layout(self.codec.schema, form)
        return dataclasses.replace(self, shape=(layout.dim,), codec=TableCodec(layout))
