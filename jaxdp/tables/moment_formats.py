"""Days and times of day as texts, by the codes of `strptime`; English names on every machine.

%Y %y  %m %b %B  %d %j  %a %A     year; month; day of the month, of the year; weekday
%H %I %p  %M %S %f %3f            hour of 24, of 12 with AM or PM; minute, second, micro- or
                                  millisecond
%z %:z                            distance from UTC, as +0200 and +02:00
%-d %-m %-H %-I                   written without a zero in front
"""

import datetime
import re
from collections.abc import Callable
from typing import NamedTuple

Parts = dict[str, int]
"""What a text says: year, month, day, day_of_year, hour, minute, second, micro, offset."""
_TWO = r"\d\d"
_PIVOT = 69  # the year of two digits that is the first of the last century, as in `strptime`


class _Code(NamedTuple):
    """What a code says, how its texts look and are written."""

    part: str
    pattern: str
    write: Callable[[Parts], str]


def _two(part: str) -> _Code:
    return _Code(part, _TWO, lambda parts: f"{parts[part]:02}")


def _names(part: str, names: tuple[str, ...]) -> _Code:
    return _Code(part, "|".join(names), lambda parts: names[parts[part] - 1])


def _offset(mark: str) -> Callable[[Parts], str]:
    def write(parts: Parts) -> str:
        minutes = abs(parts["offset"]) // 60
        return f"{'-' if parts['offset'] < 0 else '+'}{minutes // 60:02}{mark}{minutes % 60:02}"

    return write


_LONG_MONTHS = ("January", "February", "March", "April", "May", "June",
                "July", "August", "September", "October", "November", "December")  # fmt: skip
_SHORT_MONTHS = tuple(name[:3] for name in _LONG_MONTHS)
_LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ZONE = r"[-+]([01]\d|2[0-3]):?[0-5]\d|Z"
_CODES = {
    "%Y": _Code("year", r"\d{4}", lambda parts: f"{parts['year']:04}"),
    "%y": _Code("short_year", _TWO, lambda parts: f"{parts['year'] % 100:02}"),
    "%m": _two("month"),
    "%b": _names("month", _SHORT_MONTHS),
    "%B": _names("month", _LONG_MONTHS),
    "%d": _two("day"),
    "%j": _Code("day_of_year", r"\d{3}", lambda parts: f"{parts['day_of_year']:03}"),
    "%a": _names("weekday", tuple(name[:3] for name in _LONG_DAYS)),
    "%A": _names("weekday", _LONG_DAYS),
    "%H": _two("hour"),
    "%I": _Code("hour_of_12", _TWO, lambda parts: f"{(parts['hour'] - 1) % 12 + 1:02}"),
    "%p": _Code("half", "AM|PM", lambda parts: "PM" if parts["hour"] >= 12 else "AM"),
    "%M": _two("minute"),
    "%S": _two("second"),
    "%f": _Code("micro", r"\d{1,6}", lambda parts: f"{parts['micro']:06}"),
    "%3f": _Code("milli", r"\d{1,3}", lambda parts: f"{parts['micro'] // 1000:03}"),
    "%z": _Code("offset", _ZONE, _offset("")),
    "%:z": _Code("offset", _ZONE, _offset(":")),
}
_BARE = ("%m", "%d", "%H", "%I")
_PART = re.compile(r"%:z|%3f|%-?[A-Za-z%]|%")
_NAMED = {"%b": _SHORT_MONTHS, "%B": _LONG_MONTHS}


class TextFormat:
    """A format, taken apart.

    Attributes:
        said: what it says, as "year" and "month".

    Raises:
        ValueError: a code is unknown, or says what another says.
    """

    def __init__(self, text: str) -> None:
        self.said: set[str] = set()
        self._codes: list[str] = []
        self._between: list[str] = [""]
        at = 0
        for found in _PART.finditer(text):
            self._between[-1] += text[at : found.start()]
            at = found.end()
            if found[0] == "%%":
                self._between[-1] += "%"
                continue
            self._add(found[0])
        self._between[-1] += text[at:]
        if not self._codes:
            raise ValueError(f"{text!r} has no code such as %Y")
        if ("%I" in text.replace("-", "")) != ("half" in self.said):
            raise ValueError(f"{text!r}: an hour of 12 needs AM or PM, %I and %p")
        self._pattern = re.compile(self._regex(), re.IGNORECASE)

    @property
    def has_millis(self) -> bool:
        """Whether it says milliseconds, and nothing finer."""
        return "%3f" in self._codes

    def read(self, text: str) -> Parts | None:
        """Return what a text says; None where it is not of this format."""
        found = self._pattern.fullmatch(text)
        if found is None or not text.isascii():
            return None
        parts: Parts = {}
        for number, code in enumerate(self._codes):
            _put(parts, code.replace("-", ""), found[f"c{number}"])
        return parts

    def write(self, parts: Parts) -> str:
        """Return what says all parts of a moment."""
        text = self._between[0]
        for code, after in zip(self._codes, self._between[1:], strict=True):
            written = _CODES[code.replace("-", "")].write(parts)
            text += (written.lstrip("0") or "0" if "-" in code else written) + after
        return text

    def _add(self, code: str) -> None:
        plain = code.replace("-", "")
        if plain not in _CODES or ("-" in code and plain not in _BARE):
            raise ValueError(f"{code!r} is unknown; known are {' '.join(_CODES)}, %%, and %-d")
        part = _CODES[plain].part
        part = {"short_year": "year", "hour_of_12": "hour", "milli": "micro"}.get(part, part)
        if part in self.said:
            raise ValueError(f"{code!r} says the {part} again")
        self.said.add(part)
        self._codes.append(code)
        self._between.append("")

    def _regex(self) -> str:
        """Return the pattern of its texts; digits that nothing parts are as many as are written."""
        text = re.escape(self._between[0])
        for number, code in enumerate(self._codes):
            pattern = _CODES[code.replace("-", "")].pattern
            last = number + 1 == len(self._codes)
            parted = (number == 0 or self._between[number]) and (last or self._between[number + 1])
            if pattern == _TWO and (parted or "-" in code):
                pattern = r"\d\d?"
            text += f"(?P<c{number}>{pattern})" + re.escape(self._between[number + 1])
        return text


def _put(parts: Parts, code: str, text: str) -> None:
    """Write what the text of a code says into what is known."""
    part = _CODES[code].part
    if code in _NAMED:
        names = [name.lower() for name in _NAMED[code]]
        parts[part] = names.index(text.lower()) + 1
    elif part == "half":
        parts[part] = 12 * (text.lower() == "pm")
    elif part == "offset":
        parts[part] = _offset_of(text)
    elif part in ("micro", "milli"):
        parts["micro"] = int(text.ljust(6, "0"))
    elif part == "short_year":
        parts["year"] = int(text) + (1900 if int(text) >= _PIVOT else 2000)
    elif part != "weekday":  # which the day says
        parts[part] = int(text)


def _offset_of(text: str) -> int:
    if text.lower() == "z":
        return 0
    digits = text[1:].replace(":", "")
    return int(text[0] + "1") * (3600 * int(digits[:2]) + 60 * int(digits[2:]))


def second_of(parts: Parts) -> int | None:
    """Return the second of the day; None where there is no such time, as 24:00."""
    hour = parts.get("hour", 0)
    if "hour_of_12" in parts:
        if not 1 <= parts["hour_of_12"] <= 12:
            return None
        hour = parts["hour_of_12"] % 12 + parts["half"]
    minute, second = parts.get("minute", 0), parts.get("second", 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return 3600 * hour + 60 * minute + second


def day_of(parts: Parts) -> datetime.date | None:
    """Return the day, the first of the month or year where none is said; None for no such day."""
    try:
        if "day_of_year" in parts:
            day = datetime.date(parts["year"], 1, 1).toordinal() + parts["day_of_year"] - 1
            found = datetime.date.fromordinal(day)
            return found if found.year == parts["year"] and parts["day_of_year"] else None
        return datetime.date(parts["year"], parts.get("month", 1), parts.get("day", 1))
    except (ValueError, OverflowError):
        return None


def parts_of(moment: datetime.datetime | datetime.date | datetime.time) -> Parts:
    """Return what a moment says."""
    parts: Parts = {}
    if isinstance(moment, datetime.date):
        parts |= {"year": moment.year, "month": moment.month, "day": moment.day}
        parts |= {"day_of_year": moment.timetuple().tm_yday, "weekday": moment.weekday() + 1}
    if isinstance(moment, datetime.datetime | datetime.time):
        parts |= {"hour": moment.hour, "minute": moment.minute, "second": moment.second}
        parts |= {"micro": moment.microsecond}
    return parts
