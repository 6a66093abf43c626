"""Kinds of data: images, rows of numbers, and tables with a schema.

A kind says what its examples are called, how they are stored, shown and written. Who handles one
kind otherwise than another asks it, or gives it one value for each kind to `choose` from: so a new
kind is an entry here, and every choice that knows nothing of it fails to type-check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jaxdp.data.codecs import Codec, TableCodec

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Use(NamedTuple):
    """How whoever has a made set uses it, in words and code of its card.

    Attributes:
        show: a line of Python that shows the set `made`.
        new: what `made.predict` takes.
        files: what `jaxdp classify` takes.
    """

    show: str = "print(made.x.shape, made.y)"
    new: str = "rows"
    files: str = "new.npz"


class Kind:
    """A kind of data. Examples are rows of numbers where it does not say otherwise.

    Every `spec` is a `jaxdp.Spec`, whose file imports this one.

    Attributes:
        name: of the kind.
        stored: what config.json and registries of choices call it, "image" or "table".
        records: what examples are called.
        axes: of the shape of one example.
        use: of what is made.
    """

    name = "rows"
    stored = "table"
    records = "records"
    axes = 1
    use = Use()

    def __repr__(self) -> str:
        """Show its name."""
        return self.name

    def choose(self, *, images: T, rows: T, table: T) -> T:
        """Return the value that is of this kind."""
        return {"images": images, "rows": rows, "table": table}[self.name]

    def holds(self, spec: Any) -> str:
        """Say what a dataset holds, for errors."""
        return f"rows of {spec.dim} values"

    def describe(self, spec: Any) -> str:
        """Say what examples are."""
        return f"rows of {spec.dim} numbers"

    def in_a_line(self, spec: Any) -> str:
        """Say what examples are, for the terminal."""
        del spec
        return "rows"

    def stored_shape(self, spec: Any) -> tuple[int, ...]:
        """Return the shape of an example as stored."""
        return spec.shape

    def columns(self, spec: Any) -> tuple[Any, ...]:
        """Return the columns that are declared."""
        del spec
        return ()

    def of_tables(self, *said: str) -> tuple[str, ...]:
        """Return what is said of tables with a schema alone."""
        del said
        return ()

    def with_channels(self, x: np.ndarray, spec: Any) -> np.ndarray:
        """Return examples (m, *shape), of which images may lack the axis of one channel."""
        del spec
        return x

    def channels_first(self, x: np.ndarray, spec: Any) -> np.ndarray:
        """Return rows (m, d) in the shape that torch takes."""
        del spec
        return x

    def in_range(self, x: np.ndarray, spec: Any) -> bool:
        """Whether values are in the range that is declared of images; rows may be beyond."""
        del x, spec
        return True

    def as_stored(self, x: Any, spec: Any) -> np.ndarray:
        """Return examples as an array; records of a table may be a data frame."""
        del spec
        return np.asarray(x)

    def frame(self, x: np.ndarray, y: np.ndarray | None, spec: Any) -> pd.DataFrame:
        """Return records as a data frame with the columns of their schema.

        Args:
            x: (m, columns) as stored.
            y: (m,) classes; None where labels were not used.
            spec: facts about them.

        Raises:
            ValueError: there is no schema.
        """
        raise ValueError(f"{spec.name} has no schema: x and y are the set")


class Images(Kind):
    """Images of one size, (h, w, channels)."""

    name, stored, records, axes = "images", "image", "images", 3
    use = Use(new="images", files="new.png folder/ new.npz")

    def holds(self, spec: Any) -> str:
        """Say what a dataset holds, for errors."""
        del spec
        return "images"

    def describe(self, spec: Any) -> str:
        """Say what examples are, as `images of 28x28 pixels, grey`."""
        height, width, channels = spec.image_shape
        return f"images of {width}x{height} pixels, {colours(channels)}"

    def in_a_line(self, spec: Any) -> str:
        """Say what examples are, for the terminal."""
        bits = "" if spec.codec.dtype == "uint8" else f" {spec.codec.dtype}"
        return f"{self.describe(spec)}{bits}"

    def with_channels(self, x: np.ndarray, spec: Any) -> np.ndarray:
        """Return images (m, h, w, channels), of which grey ones may lack the last axis."""
        return x[..., np.newaxis] if x.ndim == 3 and spec.shape[-1] == 1 else x

    def channels_first(self, x: np.ndarray, spec: Any) -> np.ndarray:
        """Return rows (m, d) as images (m, channels, h, w)."""
        return x.reshape(-1, *spec.shape).transpose(0, 3, 1, 2)

    def in_range(self, x: np.ndarray, spec: Any) -> bool:
        """Whether pixels are in the range that is declared."""
        return bool(spec.codec.low <= x.min() and x.max() <= spec.codec.high)


class Table(Kind):
    """Records of a table whose columns a schema declares."""

    name = "table"
    use = Use("print(made.frame)", "frame", "new.csv")

    def describe(self, spec: Any) -> str:
        """Say what examples are, as `records of 14 columns and a class`."""
        more = "" if spec.schema is None or spec.schema.target is None else " and a class"
        return f"records of {len(self.columns(spec))} columns{more}"

    def in_a_line(self, spec: Any) -> str:
        """Say what examples are, for the terminal."""
        del spec
        return "records"

    def stored_shape(self, spec: Any) -> tuple[int, ...]:
        """Return the shape of a record as stored: a number for each column."""
        return (len(self.columns(spec)),)

    def columns(self, spec: Any) -> tuple[Any, ...]:
        """Return the columns of the schema, of which the target is none."""
        assert spec.schema is not None
        return spec.schema.columns

    def of_tables(self, *said: str) -> tuple[str, ...]:
        """Return what is said of tables with a schema alone."""
        return said

    def as_stored(self, x: Any, spec: Any) -> np.ndarray:
        """Return records as an array; they may be a data frame."""
        if not hasattr(x, "columns"):
            return np.asarray(x)
        from jaxdp.tables import frames  # pandas takes a while

        assert spec.schema is not None
        return frames.records(x, spec.schema)

    def frame(self, x: np.ndarray, y: np.ndarray | None, spec: Any) -> pd.DataFrame:
        """Return records as a data frame with the columns of their schema; as for `Kind`."""
        from jaxdp.tables import frames  # pandas takes a while

        assert spec.schema is not None
        return frames.of_made(x, y, spec.schema)


IMAGES, ROWS, TABLE = Images(), Kind(), Table()


def kind_of(shape: tuple[int, ...], codec: Codec | TableCodec) -> Kind:
    """Return the kind of examples that have a shape and are stored by a codec."""
    if isinstance(codec, TableCodec):
        return TABLE
    return IMAGES if len(shape) == IMAGES.axes else ROWS


def colours(channels: int) -> str:
    """Return what the channels of an image are, in a word or two."""
    return {1: "grey", 3: "RGB"}.get(channels, f"{channels} channels")
