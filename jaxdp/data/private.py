"""`Private`, the type of private examples. Only the `release` functions of methods take it."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxdp.data.codecs import WHOLE_TYPES, TableCodec
from jaxdp.data.hints import require_labels
from jaxdp.data.spec import Spec
from jaxdp.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


class Private(NamedTuple):
    """Your private examples and their labels, for `jaxdp.run`.

    It is a type of its own so that private data go nowhere by accident: only the `release`
    functions of methods take it, and its text shows the number of examples alone.

    Attributes:
        x: (n, *shape) examples as stored.
        y: (n,) labels, whole numbers in 0..c-1.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> private = jaxdp.Private(np.zeros((3, 28, 28), np.uint8), np.array([0, 1, 1]))
        >>> private
        Private(3 examples)
        >>> private.rows.shape
        (3, 784)
    """

    x: np.ndarray
    y: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The examples as rows (n, d)."""
        return self.x.reshape(len(self.x), -1)

    @classmethod
    def of_frame(cls, frame: "pd.DataFrame", schema: Schema) -> "Private":
        """Return the records of a data frame. `jaxdp.tables.encode` says how they are stored."""
        from jaxdp.tables import frames  # pandas takes a while

        return cls(*frames.encode(frame, schema))

    def __repr__(self) -> str:
        """Show the number of examples, and nothing of their values."""
        return f"Private({len(self.x)} examples)"


def checked(private: Private, spec: Spec) -> Private:
    """Return private examples that fit `spec`, with a channel axis and int32 labels.

    `jaxdp.run` calls it first. Its errors name shapes and types, and no value of any example.

    Raises:
        ValueError: the examples or labels do not fit `spec`.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> spec = jaxdp.Spec.images("scans", (3, 28, 28), class_names=["no", "yes"])
        >>> private = jaxdp.Private(np.zeros((3, 28, 28), np.uint8), np.array([0, 1, 1]))
        >>> jaxdp.data.checked(private, spec).x.shape
        (3, 28, 28, 1)
    """
    y = np.asarray(private.y)
    x = spec.kind.with_channels(np.asarray(private.x), spec)
    shape = (spec.num_examples, *spec.stored_shape)
    if x.shape != shape:
        raise ValueError(
            f"x has shape {x.shape}, and spec says {shape}; make the spec of x.shape of the data "
            "that are given"
        )
    require_labels(y, len(x))
    if x.dtype.name not in WHOLE_TYPES and x.dtype.kind != "f":
        is_table = isinstance(spec.codec, TableCodec)
        hint = "; take Private.of_frame(frame, schema) for a data frame" if is_table else ""
        raise ValueError(
            f"x must be {', '.join(WHOLE_TYPES)} or of a float type, got {x.dtype}{hint}"
        )
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
            raise ValueError(
                "x has records that are not stored as the schema says; give the data frame by "
                "Private.of_frame(frame, schema)"
            )
    elif x.min() < spec.codec.low or x.max() > spec.codec.high:
        low, high = spec.codec.low, spec.codec.high
        raise ValueError(f"x has values outside [{low:g}, {high:g}], the range of spec")
    return Private(x, y.astype(np.int32))
