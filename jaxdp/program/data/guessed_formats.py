"""Formats that texts of a column look like, of dates, times and numbers: for drafts alone."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxdp.tables.columns import LARGEST_WHOLE
from jaxdp.tables.formats import MOST_DECIMALS, NumberFormat
from jaxdp.tables.moments import CLOCKS, DATE, DURATION, TIME, TIMESTAMP, Moment, moment_of

if TYPE_CHECKING:
    import pandas as pd

_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y",
         "%m-%d-%Y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d.%m.%y",
         "%d/%m/%y", "%m/%d/%y", "%d-%b-%y")  # fmt: skip
_MONTHS = ("%b %Y", "%B %Y", "%b-%Y", "%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y")
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%3f", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
_ZONES = ("", "Z", "%z", "%:z", " %z")
_OFFSET = re.compile(r"([-+]\d\d):?(\d\d)$")
_BARE = (("%d", "%-d"), ("%m", "%-m"), ("%H", "%-H"), ("%I", "%-I"))
_ORDER = "day and month could be the other way round"
_ABOUT_ORDER = f"{_ORDER}, as in {{0!r}}: check the format"
# Three digits may follow a decimal mark as well as one of thousands.
_THREE = "three digits follow each"
_IS_DECIMAL = (
    f"{_THREE} point, which is taken for a decimal mark: if it stands between thousands, say "
    '"integer": true, "thousands": "." and "decimal": ","'
)
_IS_THOUSANDS = (
    f"{_THREE} {{1}}, which is taken for one between thousands: if it is a decimal mark, say "
    '"decimal": "{0}" in the place of "integer" and "thousands"'
)
_NAMES = {".": "point", ",": "comma"}
_OF_TIME = re.compile(r"time|date|stamp|unix|epoch|created|updated|_at$|^ts$", re.IGNORECASE)
# Whole numbers that are days and months lie in these years, and so do seconds since 1970.
_FIRST, _LAST = 1900, 2100
_SECONDS = (10**9, 2**31)
_SPACES = "\u00a0\u202f"  # which do not break lines; the second is narrow
_SPACE = f"[ {_SPACES}]"
_MONEY = rf"[$\u20ac\u00a3\u00a5]{_SPACE}?|(?:USD|EUR|GBP|CHF|Rs\.?){_SPACE}"
_UNIT = rf"{_SPACE}?(?:%|[$\u20ac\u00a3\u00a5]|\u00b0[CF]|[A-Za-z]{{1,3}})"
_SIDES = ("prefix", "suffix")
_DIGITS = rf"(?:[0-9][0-9.,'\u2019 {_SPACES}]*?|[.,][0-9]+)(?P<power>[eE][-+]?[0-9]{{1,3}})?"
_WRITTEN = re.compile(rf"[-+]?(?P<prefix>{_MONEY})?[-+]?(?P<digits>{_DIGITS})(?P<suffix>{_UNIT})?")
# Marks of thousands and of decimals, those first that other texts cannot have.
_PAIRS = (
    ("", "."),
    (",", "."),
    ("", ","),
    (".", ","),
    *itertools.product("'\u2019", ".,"),
    *itertools.product(f" {_SPACES}", ",."),
)
# With a point or a comma, or a power of ten that moves it to the left.
_PLACES = re.compile(
    r"[-+]?\d*(?:[.,](?P<part>\d*)|(?<=\d)(?=[eE]-))(?:[eE](?P<power>[-+]?\d{1,4}))?"
)
_FEW_DIGITS = 4
_POWER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class Numbers(NamedTuple):
    """How numbers are written.

    Attributes:
        marks: what a schema says of it; empty for digits and a decimal point.
        are_whole: whether all are whole.
        about: what a note says, where a mark could have another meaning; empty elsewhere.
    """

    marks: dict[str, Any]
    are_whole: bool
    about: str = ""


def is_of_order(about: str) -> bool:
    """Return whether a note says that day and month could be the other way round."""
    return about.startswith(_ORDER)


def is_of_marks(about: str) -> bool:
    """Return whether a note says that a mark of thousands could be a decimal mark, or it one."""
    return about.startswith(_THREE)


def of_type(values: pd.Series) -> dict[str, Any] | None:
    """Return what the declared type of a column says; None where its cells are to be looked at."""
    import pandas as pd

    kind = str(values.dtype)
    if kind.startswith("bool"):
        return {"type": "boolean", "dtype": kind}
    if kind.startswith("datetime64"):
        zone = "%z" if "," in kind else ""
        there = values.dropna()
        if not zone and len(there) and (there.dt.normalize() == there).all():
            return _bounded(DATE, "%Y-%m-%d") | {"dtype": kind}
        is_fine = bool((there.dt.microsecond > 0).any()) if len(there) else False
        clock = "%H:%M:%S.%f" if is_fine else "%H:%M:%S"
        return _bounded(TIMESTAMP, f"%Y-%m-%d {clock}{zone}") | {"dtype": kind}
    if kind.startswith("timedelta64"):
        return _bounded(DURATION, "s") | {"dtype": kind}
    if isinstance(values.dtype, pd.CategoricalDtype):
        of = "ordinal" if values.dtype.ordered else "categorical"
        return {"type": of, "categories": None, "dtype": "category"}
    kinds = set(map(type, values.dropna())) if kind == "object" else set()
    if kinds == {datetime.date}:
        return _bounded(DATE, "%Y-%m-%d") | {"dtype": "date32"}
    if kinds == {datetime.time}:
        return {"type": TIME, "format": "%H:%M:%S", "dtype": "time64"}
    if kinds == {bool}:
        return {"type": "boolean", "dtype": "boolean"}
    return None


def dtype_of(values: pd.Series) -> dict[str, str]:
    """Return the declared type of a column of numbers, where it is not the usual one."""
    kind = str(values.dtype)
    if kind == "object" and len(values) and {int} == set(map(type, values.dropna())):
        return {"dtype": "Int64"}
    usual = ("int64", "float64", "object", "str", "string")
    return (
        {}
        if kind in usual or not re.fullmatch(r"U?[Ii]nt\d+|uint\d+|[Ff]loat\d+", kind)
        else {"dtype": kind}
    )


def of_dates(texts: Sequence[str], name: str) -> dict[str, Any] | None:
    """Return what is said of texts that are all dates, times or durations.

    Args:
        texts: that are not missing.
        name: of the column; whole numbers are seconds since 1970 only where it tells of time.
    """
    if not texts:
        return None
    distinct = list(dict.fromkeys(texts))
    found = [moment for moment in _candidates(distinct, name) if _reads(moment, distinct)]
    if not found:
        return None
    best = max(found, key=lambda moment: _exact(moment, distinct))
    if best.type == TIME:
        return {"type": TIME, "format": best.format}
    others = [moment.format for moment in found if moment.type == best.type]
    swapped = best.format.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
    bare = swapped.replace("%-d", "%_").replace("%-m", "%-d").replace("%_", "%-m")
    about = next(
        (other for other in others if other != best.format and other in (swapped, bare)), 0
    )
    more = {"about": _ABOUT_ORDER.format(about)} if about else {}
    zones = {_zone_of(best, text) for text in distinct}
    zone = {"zone": zones.pop()} if len(zones) == 1 and zones != {"UTC"} else {}
    return _bounded(best.type, best.format) | zone | more


def is_like_a_number(text: str) -> bool:
    """Return whether a text alone may be a number."""
    return _WRITTEN.fullmatch(text) is not None or _POWER.fullmatch(text) is not None


def of_numbers(texts: Iterable[str], decimal: str | None = None) -> Numbers | None:
    """Return how texts that are all numbers are written; None where some are none.

    Args:
        texts: that are not missing.
        decimal: the decimal mark, where something else than these texts tells it.
    """
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return None
    are_plain = all(_POWER.fullmatch(text) for text in distinct)
    found = [_WRITTEN.fullmatch(text) for text in distinct]
    parts = [match for match in found if match is not None]
    prefixes, suffixes = ({_plain(match[side]) for match in parts} for side in _SIDES)
    are_alike = len(parts) == len(distinct) and len(prefixes) == len(suffixes) == 1
    digits = [match["digits"].strip() for match in parts] if are_alike else []
    pairs, about = _pairs_in_doubt(digits, decimal) or (_PAIRS, "")
    if any(match["power"] for match in parts):  # no thousands stand before a power of ten
        pairs = tuple(pair for pair in pairs if not pair[0])
    if are_plain and pairs[0] == _PAIRS[0]:
        return Numbers({}, all(float(text) % 1 == 0 for text in distinct), about)
    for thousands, mark in pairs if digits else ():
        form = NumberFormat(thousands=thousands, decimal=mark)
        # "0,125" is no 125.
        has_zero = thousands and any(each.startswith(f"0{thousands}") for each in digits)
        if not has_zero and all(form.read(each) is not None for each in digits):
            written = _numbers(digits, prefixes.pop(), suffixes.pop(), thousands, mark)
            return written._replace(about=about)
    return None


def _plain(side: str | None) -> str:
    """Return what stands beside a number, with a space that may break a line."""
    return re.sub(_SPACE, " ", side or "")


def _pairs_in_doubt(
    digits: list[str], decimal: str | None
) -> tuple[tuple[tuple[str, str], ...], str] | None:
    """Return the marks of thousands and of decimals where one mark could be either, and a note.

    None where some text leaves no doubt, as 12.5, 0.125 or 1.234.567 does.
    """
    for mark, other in ((".", ","), (",", ".")):
        alike = re.compile(rf"0|[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})?")
        num_marked = sum(mark in each for each in digits)
        if not num_marked or not all(map(alike.fullmatch, digits)):
            continue
        # Numbers below 1000 have no mark of thousands, but all digits behind a decimal mark.
        have_all = num_marked == len(digits)
        is_decimal = mark == decimal if decimal else mark == "." and have_all
        about = _IS_DECIMAL if is_decimal else _IS_THOUSANDS.format(mark, _NAMES[mark])
        is_told = decimal is not None or (mark == "," and not have_all)
        return (("", mark) if is_decimal else (mark, other),), "" if is_told else about
    return None


def few_decimals(values: pd.Series) -> dict[str, int]:
    """Return how many digits numbers are written with behind the mark, where that is few."""
    texts = values.dropna().astype(str).str.strip()
    found = [_PLACES.fullmatch(text) for text in texts if text]
    digits = [_places_of(match) for match in found if match is not None]
    return {"decimals": max(digits)} if digits and max(digits) <= _FEW_DIGITS else {}


def _places_of(written: re.Match[str]) -> int:
    """Return how many digits behind the point a number needs: 8.5e-07 needs eight."""
    return max(0, len(written["part"] or "") - int(written["power"] or 0))


def as_whole(texts: Iterable[str]) -> dict[str, Any]:
    """Return what a schema says of whole numbers; those beyond 2^53 count as others do.

    Floats do not tell apart what differs by one there.
    """
    texts = list(texts)
    powers = [text for text in texts if _POWER.fullmatch(text)]
    others = ("0" + re.sub(r"\D", "", text) for text in texts if not _POWER.fullmatch(text))
    if all(abs(float(text)) < LARGEST_WHOLE for text in (*powers, *others)):
        return {"integer": True}
    return {} if any("e" in text.lower() for text in powers) else {"decimals": 0}


def _numbers(digits: list[str], prefix: str, suffix: str, thousands: str, decimal: str) -> Numbers:
    has_powers = any("e" in each.lower() for each in digits)
    most = max(len(each.partition(decimal)[2]) for each in digits)
    are_whole = most == 0 and not has_powers
    marks: dict[str, Any] = {"prefix": prefix, "suffix": suffix, "thousands": thousands}
    marks = {key: value for key, value in marks.items() if value}
    # Nobody rounds numbers to that many digits, or those whose powers of ten differ.
    if not (are_whole or has_powers) and most <= MOST_DECIMALS:
        marks["decimals"] = most
    # The point is no decimal mark where it stands between thousands.
    if decimal != "." and (not are_whole or thousands == "."):
        marks["decimal"] = decimal
    return Numbers(marks, are_whole)


def _bounded(type: str, format: str) -> dict[str, Any]:
    return {"type": type, "format": format, "lower": None, "upper": None}


def _candidates(texts: list[str], name: str) -> Iterator[Moment]:
    """Yield formats that the first text is of, likely ones first."""
    first = texts[0]
    if all(text.isdecimal() for text in texts):
        yield from _whole(texts, name)
        return
    zoned = [clock + zone for clock, zone in itertools.product(_CLOCKS, _ZONES)]
    stamps = [f"{day}{mark}{clock}" for day in _DAYS for mark in " T" for clock in zoned]
    for type, formats in ((DATE, (*_DAYS, *_MONTHS)), (TIME, _CLOCKS), (TIMESTAMP, stamps)):
        if type == TIMESTAMP and ":" not in first:
            return
        for format in formats:
            if Moment(type, format).read(first) is None:
                continue
            for changes in itertools.product((False, True), repeat=len(_BARE)):
                bare = format
                for is_bare, (code, short) in zip(changes, _BARE, strict=True):
                    bare = bare.replace(code, short) if is_bare else bare
                if bare != format or not any(changes):
                    yield Moment(type, bare)
    yield from (Moment(DURATION, clock) for clock in CLOCKS)


def _whole(texts: list[str], name: str) -> Iterator[Moment]:
    lengths = set(map(len, texts))
    if lengths in ({8}, {6}):
        moment = Moment(DATE, "%Y%m%d" if lengths == {8} else "%Y%m")
        if len(texts) > 1 and all(_FIRST <= int(text[:4]) < _LAST for text in texts):
            yield moment
    for format, unit in (("unix", 1), ("unix_ms", 1000)):
        low, high = (unit * second for second in _SECONDS)
        if _OF_TIME.search(name) and all(low <= int(text) < high for text in texts):
            yield Moment(TIMESTAMP, format)


def _reads(moment: Moment, texts: list[str]) -> bool:
    return all(moment.read(text) is not None for text in texts)


def _exact(moment: Moment, texts: list[str]) -> int:
    """Return how many texts are written as they were, where their zone is that of the column."""
    own = [moment_of(moment.type, moment.format, _zone_of(moment, text)) for text in texts]
    pairs = zip(own, texts, strict=True)
    return sum(each.write(each.read(text) or 0) == text for each, text in pairs)


def _zone_of(moment: Moment, text: str) -> str:
    """Return the distance from UTC that a text says, as a schema has it; "UTC" without one."""
    found = _OFFSET.search(text) if moment.format.endswith("z") else None
    zone = "UTC" if found is None else f"{found[1]}:{found[2]}"
    return "UTC" if zone.endswith("00:00") else zone
