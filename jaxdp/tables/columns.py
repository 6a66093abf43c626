"""One column of a table, as a person declares it."""

import dataclasses
import functools
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxdp import plain_numbers
from jaxdp.tables.formats import NumberFormat
from jaxdp.tables.formulas import opens_as_formula
from jaxdp.tables.moments import MOMENTS, TIME, TIMESTAMP, Moment, moment_of

NUMERIC, CATEGORICAL, ORDINAL, BOOLEAN = "numeric", "categorical", "ordinal", "boolean"
TYPES = (NUMERIC, CATEGORICAL, ORDINAL, BOOLEAN, *MOMENTS)
BOOLEANS = ("False", "True")
"""The categories of a boolean column that names none."""
OTHER = "other"
"""The category of values that a schema does not list."""
NUM_BINS = 16
MOST_CATEGORIES = 10**4
# Bounds beyond which differences of numbers, or numbers that differ by one, are no longer exact.
_LARGEST, LARGEST_WHOLE = 1e300, 2**53
_LARGEST_SINGLE = 3e38
_MARKS = ("prefix", "suffix", "thousands", "decimal", "decimals")
# Fields, the types that have them, and how these are called.
_FIELDS = (
    (_MARKS, (NUMERIC,), "numeric columns"),
    (("spikes",), (NUMERIC, *MOMENTS), "numbers, dates and times"),
    (("integer", "log"), (NUMERIC, CATEGORICAL, ORDINAL, BOOLEAN), "numeric columns"),
    (("format",), MOMENTS, "dates and times"),
    (("zone",), (TIMESTAMP,), "timestamps"),
)
_FORMATS = {
    "date": '"%Y-%m-%d"',
    "time": '"%H:%M:%S"',
    "timestamp": '"%Y-%m-%dT%H:%M:%S%z" or "unix"',
    "duration": '"H:MM:SS" or "min"',
}
_LAST_OF_DAY = 86400 * 10**6 - 1  # microseconds
_WHY = "read off the data it would tell about single records, so declare what can occur"


class SchemaError(ValueError):
    """A schema that cannot be used; the message names the column and says what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Column:
    """One column, as declared.

    Attributes:
        name: as in the table's header.
        type: "numeric", "categorical", "ordinal", whose categories have an order, or "boolean",
            which has two; or "date", "time" of day, "timestamp" or "duration".
        lower: of a numeric column, the least value that can occur; of dates and times, as a text
            of their format.
        upper: the largest. Times of day have all of the day where both are left out.
        log: whether values are taken as `log(1 + value - lower)`, for long tails.
        integer: whether values are whole numbers.
        bins: of a numeric column: into how many equal parts it is cut where counts are released;
            or their inner edges, in its own units, each the least value of its bin. Then the
            column's scale follows the edges, too: every bin is as long as any other.
        spikes: of a numeric column: values that many records have, in its own units. Each is a bin
            of its own; the column's scale follows the edges, then.
        categories: of the other columns.
        nullable: whether missing values are told apart from others.
        other: whether values that are not listed have a category of their own; otherwise they are
            taken as the first category.
        classes: of the target: names of classes, and the categories that each stands for.
        prefix: of a numeric column: how its texts are written, as for `formats.NumberFormat`.
        suffix: likewise.
        thousands: likewise.
        decimal: likewise.
        decimals: likewise; numbers that are made are rounded to it, and whole ones have as many
            zeros.
        format: of dates and times: how their texts are written, as for `moments.Moment`.
        zone: of timestamps, likewise.
        dtype: the type of pandas that the column has in frames; None for numbers and texts.

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
    lower: float | int | str | None = None
    upper: float | int | str | None = None
    log: bool = False
    integer: bool = False
    bins: int | tuple[float | int | str, ...] = NUM_BINS
    spikes: tuple[float | int | str, ...] = ()
    categories: tuple[str, ...] = ()
    nullable: bool = False
    other: bool = True
    classes: Mapping[str, tuple[str, ...]] | None = None
    prefix: str = ""
    suffix: str = ""
    thousands: str = ""
    decimal: str = "."
    decimals: int | None = None
    format: str | None = None
    zone: str | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        plain_numbers.settle(self)
        if self.type not in TYPES:
            raise self.error(f'"type" must be one of {", ".join(TYPES)}, not {self.type!r}')
        self._check_fields()
        if self.type in MOMENTS:
            self._check_moments()
        if self.is_numeric:
            self._check_numeric()
        else:
            if self.type == BOOLEAN:
                self._complete_boolean()
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
        """Whether values are numbers between bounds; so dates and times are, too."""
        return self.type == NUMERIC or self.type in MOMENTS

    @property
    def is_whole(self) -> bool:
        """Whether these numbers are whole: dates and times count in the unit of their format."""
        return self.integer or self.type in MOMENTS

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value of a numeric column."""
        low, high = self._number(self.lower), self._number(self.upper)
        assert low is not None
        assert high is not None
        return low, high

    @property
    def inner_edges(self) -> tuple[float, ...] | None:
        """The edges of `bins` and `spikes` as numbers; None for equal parts without spikes."""
        if isinstance(self.bins, int) and not self.spikes:
            return None
        edges = self._numbers("bins", self.bins if not isinstance(self.bins, int) else ())
        low, high = self.bounds
        if isinstance(self.bins, int):
            equal = np.linspace(low, high + self.is_whole, self.bins + 1)[1:-1]
            edges = list(map(float, np.ceil(equal) if self.is_whole else equal))
        edges += self.edges_of_spikes
        return tuple(sorted({edge for edge in edges if low < edge < high + self.is_whole}))

    @property
    def edges_of_spikes(self) -> tuple[float, ...]:
        """The ends of the bins of `spikes`: each a bin of that value alone.

        It ends at the next number of float64. After the upper bound comes none: its bin begins at
        the number before.
        """
        found, high = [], self.bounds[1]
        for spike in self.numbers_of_spikes:
            if self.is_whole:
                found += [spike, spike + 1]
            elif spike == high:
                found += [math.nextafter(high, -math.inf)]
            else:
                found += [spike, math.nextafter(spike, math.inf)]
        return tuple(found)

    @property
    def numbers_of_spikes(self) -> tuple[float, ...]:
        """The values in `spikes` as numbers."""
        return tuple(self._numbers("spikes", self.spikes))

    def _numbers(self, field: str, values: tuple[float | int | str, ...]) -> list[float]:
        found = [self._number(value) for value in values]
        if None in found:
            raise self.error(
                f'values in "{field}" must be as values are, and dates as "format" has it'
            )
        return [value for value in found if value is not None]

    @property
    def moment(self) -> Moment:
        """What its cells say, of dates and times."""
        assert self.format is not None
        return moment_of(self.type, self.format, self.zone or "UTC")

    @functools.cached_property
    def number_format(self) -> NumberFormat | None:
        """How numbers are written, where that is declared."""
        marks = (self.prefix, self.suffix, self.thousands, self.decimal, self.decimals)
        if self.type != NUMERIC or marks == ("", "", "", ".", None):
            return None
        return NumberFormat(
            prefix=self.prefix,
            suffix=self.suffix,
            thousands=self.thousands,
            decimal=self.decimal,
            decimals=self.decimals or 0 if self.integer else self.decimals,
        )

    def write(self, number: float | int) -> str:
        """Return the text of a number of the column, as tables and reports have it."""
        if self.type in MOMENTS:
            return self.moment.write(round(number))
        return f"{number:g}" if self.number_format is None else self.number_format.write(number)

    def as_json(self, number: float | int) -> float | int | str:
        """Return a number of the column as a schema file has it."""
        if self.type != NUMERIC:
            return self.moment.write(round(number))
        if self.integer:
            return round(number)
        return float(number) if self.decimals is None else round(float(number), self.decimals)

    @property
    def values(self) -> tuple[str, ...]:
        """All categories: those declared, `OTHER` where unknown values have one."""
        more = (OTHER,) if self.other and OTHER not in self.categories else ()
        return self.categories + more

    def _number(self, value: float | int | str | None) -> float | None:
        """Return a bound or an edge as a number; None for what is none."""
        if self.type not in MOMENTS or value is None:
            return None if value is None or isinstance(value, str) else float(value)
        found = self.moment.read(value if isinstance(value, str) else as_text(value))
        return None if found is None else float(found)

    def _check_fields(self) -> None:
        """Refuse what is said of a column of another type."""
        default = {field.name: field.default for field in dataclasses.fields(self)}
        for names, types, of in _FIELDS:
            for name in names:
                if self.type not in types and getattr(self, name) != default[name]:
                    raise self.error(f'"{name}" is of {of}, and this is "{self.type}"')

    def _check_moments(self) -> None:
        if self.format is None:
            raise self.error(f'a {self.type} column needs "format", as {_FORMATS[self.type]}')
        try:
            moment = self.moment
        except ValueError as error:
            raise self.error(str(error)) from error
        if self.type == TIME and self.lower is None and self.upper is None:
            object.__setattr__(self, "lower", moment.write(0))
            object.__setattr__(self, "upper", moment.write(moment.cut(_LAST_OF_DAY)))
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            number = self._number(value)
            if value is not None and number is None:
                raise self.error(f'"{name}" must be a text of its "format" {self.format!r}')
            if number is not None:
                self._check_text(name, int(number))

    def _check_text(self, name: str, number: int) -> None:
        """Refuse a bound whose text would run as a formula, or that has none."""
        try:
            written = self.moment.write(number)
        except (ValueError, OverflowError) as error:
            raise self.error(f'"{name}" lies beyond the years 1 to 9999 in its zone') from error
        if opens_as_formula(written):
            raise self.error("texts of its format would run as a formula in a spreadsheet")

    def _complete_boolean(self) -> None:
        if not self.categories:
            object.__setattr__(self, "categories", BOOLEANS)
        object.__setattr__(self, "other", False)
        if len(self.categories) != 2:
            raise self.error('a boolean column has two "categories", those of False and True')

    def _check_numeric(self) -> None:
        if self.lower is None or self.upper is None:
            raise self.error(f'a {self.type} column needs "lower" and "upper": {_WHY}')
        low, high = self._exact(self.lower), self._exact(self.upper)
        if not -math.inf < low < high < math.inf:
            kind = "finite numbers" if self.type == NUMERIC else f"a {self.type} of each,"
            raise self.error(f'needs {kind} "lower" < "upper", not {self.lower} and {self.upper}')
        largest = LARGEST_WHOLE if self.is_whole else _LARGEST
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
            self._check_edges(self._numbers("bins", self.bins), low, high)
        if self.spikes:
            self._check_spikes(low, high)
        self._check_number_format(low, high)

    def _check_number_format(self, low: float | int, high: float | int) -> None:
        try:
            form = self.number_format
        except ValueError as error:
            raise self.error(str(error)) from error
        if form is None:
            return
        for what, values in (("bounds", (low, high)), ('"spikes"', self.numbers_of_spikes)):
            if form.decimals is not None and any(round(v, form.decimals) != v for v in values):
                raise self.error(f'{what} have more digits than "decimals": {form.decimals}')
        if any(opens_as_formula(form.write(bound)) for bound in (low, high)):
            raise self.error("numbers as declared would run as a formula in a spreadsheet")

    def _exact(self, value: float | int | str) -> float | int:
        """Return a bound as it is, and that of dates and times as their number."""
        if self.type == NUMERIC and not isinstance(value, str):
            return value
        found = self._number(value)
        if found is None:
            raise self.error('"lower" and "upper": each must be a number')
        return int(found)

    def _check_spikes(self, low: float | int, high: float | int) -> None:
        spikes = self._numbers("spikes", self.spikes)
        if spikes != sorted(set(spikes)) or not all(low <= spike <= high for spike in spikes):
            raise self.error('"spikes" must be ascending values from "lower" to "upper"')
        if len(spikes) >= MOST_CATEGORIES or (self.is_whole and any(s % 1 for s in spikes)):
            raise self.error(
                f'"spikes" must be fewer than {MOST_CATEGORIES}, whole where the column is'
            )
        if self.log:
            raise self.error('"spikes" make the scale: leave out "log"')

    def _check_edges(
        self, inner: list[float] | tuple[float | int, ...], low: float | int, high: float | int
    ) -> None:
        if len(inner) >= MOST_CATEGORIES:
            raise self.error(f'"bins" must be fewer than {MOST_CATEGORIES} edges')
        if list(inner) != sorted(set(inner)) or not all(
            low < edge < high + self.is_whole for edge in inner
        ):
            raise self.error('"bins" must be ascending edges between "lower" and "upper"')
        if self.is_whole and any(edge % 1 for edge in inner):
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
        if self.type == BOOLEAN:  # it never has another
            del fields["other"]
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
