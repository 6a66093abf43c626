"""One column of a table, as a person declares it."""

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxdp.tables.formulas import opens_as_formula

NUMERIC, CATEGORICAL, ORDINAL = "numeric", "categorical", "ordinal"
TYPES = (NUMERIC, CATEGORICAL, ORDINAL)
OTHER = "other"
"""The category of values that a schema does not list."""
NUM_BINS = 16
MOST_CATEGORIES = 10**4
# Bounds beyond which differences of numbers, or numbers that differ by one, are no longer exact.
_LARGEST, _LARGEST_WHOLE = 1e300, 2**53
_LARGEST_SINGLE = 3e38
_WHY = "read off the data it would tell about single records, so declare what can occur"


class SchemaError(ValueError):
    """A schema that cannot be used; the message names the column and says what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Column:
    """One column, as declared.

    Attributes:
        name: as in the table's header.
        type: "numeric", "categorical" or "ordinal", whose categories have an order.
        lower: of a numeric column, the least value that can occur.
        upper: the largest.
        log: whether values are taken as `log(1 + value - lower)`, for long tails.
        integer: whether values are whole numbers.
        bins: of a numeric column: into how many equal parts it is cut where counts are released;
            or their inner edges, in its own units, each the least value of its bin. Then the
            column's scale follows the edges, too: every bin is as long as any other.
        categories: of the other columns.
        nullable: whether missing values are told apart from others.
        other: whether values that are not listed have a category of their own; otherwise they are
            taken as the first category.
        classes: of the target: names of classes, and the categories that each stands for.

    Raises:
        SchemaError: something is missing or does not fit.

    Examples:
        >>> import jaxdp
        >>> jaxdp.tables.Column(name="age", type="numeric", lower=0, upper=120, integer=True).bounds
        (0.0, 120.0)
        >>> jaxdp.tables.Column(name="hue", type="categorical", categories=("red", "blue")).values
        ('red', 'blue', 'other')
    """

    name: str
    type: str
    lower: float | int | None = None
    upper: float | int | None = None
    log: bool = False
    integer: bool = False
    bins: int | tuple[float | int, ...] = NUM_BINS
    categories: tuple[str, ...] = ()
    nullable: bool = False
    other: bool = True
    classes: Mapping[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise self.error(f'"type" must be one of {", ".join(TYPES)}, not {self.type!r}')
        if self.type == NUMERIC:
            self._check_numeric()
        else:
            self._check_categories()
        for text in (self.name, *self.categories, *(self.classes or ())):
            if opens_as_formula(text):
                raise self.error(
                    f"{text!r} would run as a formula where a table made is opened in a "
                    "spreadsheet: write it without the sign in front, here and in the table"
                )

    def error(self, what: str) -> SchemaError:
        """Return an error that names the column."""
        return SchemaError(f"column {self.name!r}: {what}")

    @property
    def is_numeric(self) -> bool:
        """Whether values are numbers."""
        return self.type == NUMERIC

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value of a numeric column."""
        assert self.lower is not None
        assert self.upper is not None
        return float(self.lower), float(self.upper)

    @property
    def values(self) -> tuple[str, ...]:
        """All categories: those declared, `OTHER` where unknown values have one."""
        more = (OTHER,) if self.other and OTHER not in self.categories else ()
        return self.categories + more

    def _check_numeric(self) -> None:
        low, high = self.lower, self.upper
        if low is None or high is None:
            raise self.error(f'a numeric column needs "lower" and "upper": {_WHY}')
        if not -math.inf < low < high < math.inf:
            raise self.error(f'needs finite numbers "lower" < "upper", not {low} and {high}')
        largest = _LARGEST_WHOLE if self.integer else _LARGEST
        if not (-largest <= low and high <= largest and float(low) < float(high)):
            raise self.error(f"bounds are too large or too near to each other (at most {largest})")
        if self.categories:
            raise self.error('a numeric column has no "categories"')
        if self.integer and (low % 1 or high % 1):
            raise self.error(f"bounds of whole numbers are whole, not {low} and {high}")
        if isinstance(self.bins, int):
            if not 1 <= self.bins <= MOST_CATEGORIES:
                raise self.error(f'"bins" must be between 1 and {MOST_CATEGORIES}')
        else:
            self._check_edges(self.bins, low, high)

    def _check_edges(
        self, inner: tuple[float | int, ...], low: float | int, high: float | int
    ) -> None:
        if len(inner) >= MOST_CATEGORIES:
            raise self.error(f'"bins" must be fewer than {MOST_CATEGORIES} edges')
        if list(inner) != sorted(set(inner)) or not all(
            low < edge < high + self.integer for edge in inner
        ):
            raise self.error('"bins" must be ascending edges between "lower" and "upper"')
        if self.integer and any(edge % 1 for edge in inner):
            raise self.error('edges in "bins" of whole numbers are whole')
        if self.log:
            raise self.error('edges in "bins" make the scale: leave out "log"')

    def _check_categories(self) -> None:
        if not self.categories:
            raise self.error(f'a {self.type} column needs "categories": {_WHY}')
        if len(set(self.categories)) < len(self.categories):
            twice = sorted({c for c in self.categories if self.categories.count(c) > 1})
            raise self.error(f'"categories" has {twice[0]!r} twice')
        if len(self.categories) > MOST_CATEGORIES:
            raise self.error(
                f"{len(self.categories)} categories are more than {MOST_CATEGORIES}: group them, "
                'or leave the column out with "drop"'
            )
        if (self.lower, self.upper) != (None, None) or self.log or self.integer:
            raise self.error(f"a {self.type} column has no bounds")
        if self.classes is not None:
            listed = [category for group in self.classes.values() for category in group]
            if sorted(listed) != sorted(self.categories):
                raise self.error('"classes" must have every category in exactly one class')

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says of it."""
        fields = dataclasses.asdict(self)
        del fields["name"]
        default = {f.name: f.default for f in dataclasses.fields(self)}
        kept = {k: v for k, v in fields.items() if k == "type" or v != default[k]}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in kept.items()}


def as_text(value: Any) -> str:
    """Return how a category is compared: 1, 1.0 and " 1" are the same."""
    if isinstance(value, str):  # first, as nearly all are: a million texts are read in a second
        return _plain(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))  # numpy's, too, of which `floor` makes floats
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        if math.isfinite(value) and value % 1 == 0:
            return str(math.floor(value))  # of -0.0 and 1e20, too, which are 0 and 10**20
        return _of_fraction(value)
    try:
        return _plain(str(value))
    except NotImplementedError:  # pandas writes no time with a zone beyond the year 9999
        return str(value.asm8)


def _of_fraction(value: Any) -> str:
    """Return a number with the digits that tell it from others, in float32 where that holds it.

    So -99.9 is "-99.9" in a column of either type, and where other values made objects of them.
    """
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    if abs(number) < _LARGEST_SINGLE and float(np.float32(number)) == number:
        return str(np.float32(number))
    return str(number)


def _plain(text: str) -> str:
    """Return a text without spaces at its ends, and a whole number without its `.0`."""
    text = text.strip()
    is_whole = text.endswith(".0") and text[:-2].lstrip("+-").isdigit()
    return text[:-2] if is_whole and text[0] in "-+0123456789" else text


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
