"""Dates, times of day, timestamps and durations as whole numbers, of the unit that a format tells.

    date         days since 1970-01-01; months or years where the format says no more
    time         hours, minutes, seconds or microseconds of the day
    timestamp    the same since 1970-01-01 00:00 in UTC: an instant
    duration     seconds, minutes, hours, ...

So whatever lies between two bounds is written by the format as it is, without rounding. A cell
that is finer than the unit, as a typed timestamp of a column of minutes, is cut to it.
"""

import dataclasses
import datetime
import functools
import re
import zoneinfo
from typing import Any

import numpy as np

from jaxdp.tables.moment_formats import Parts, TextFormat, day_of, parts_of, second_of

DATE, TIME, TIMESTAMP, DURATION = "date", "time", "timestamp", "duration"
MOMENTS = (DATE, TIME, TIMESTAMP, DURATION)
UNIX = {"unix": "second", "unix_ms": "millisecond"}
CLOCKS = {"H:MM:SS": ("hour", "second"), "H:MM": ("hour", "minute"), "M:SS": ("minute", "second")}
_UNITS_OF_DURATIONS = {"ms": "millisecond", "s": "second", "min": "minute", "h": "hour", "d": "day"}
_MICROS = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6,
           "hour": 3600 * 10**6, "day": 86400 * 10**6}  # fmt: skip
_DAY = _MICROS["day"]
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIXED_ZONE = re.compile(r"([-+])(\d\d):(\d\d)")
_WHOLE = re.compile(r"([-+]?\d{1,18})(\.\d*)?")


@dataclasses.dataclass(frozen=True)
class Moment:
    """What the cells of a column say, and how they are written.

    Attributes:
        type: "date", "time", "timestamp" or "duration".
        format: of texts.
        zone: in which instants are written, and of which texts without one are; "UTC", "+02:00" or
            a name as "Europe/Berlin". Where clocks are set forward, a time that no clock shows is
            an hour later; where they are set back, a time that is shown twice is the first.

    Raises:
        ValueError: texts of the format do not tell what the type is of.
    """

    type: str
    format: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if not self.format.isprintable():
            raise ValueError('"format" must hold what can be seen alone')
        if self.type == DURATION:
            if self.format not in (*CLOCKS, *_UNITS_OF_DURATIONS):
                known = ", ".join((*CLOCKS, *_UNITS_OF_DURATIONS))
                raise ValueError(f'"format" of a duration must be one of {known}')
        elif not self._is_unix:
            _require_whole(self.type, self._texts.said)
        if self.type == TIMESTAMP:
            zone_of(self.zone)

    @functools.cached_property
    def unit(self) -> str:
        """What one is: "year", "month", "day", "hour" down to "microsecond"."""
        if self.type == DURATION:
            return CLOCKS[self.format][1] if self._is_clock else _UNITS_OF_DURATIONS[self.format]
        if self._is_unix:
            return UNIX[self.format]
        said = self._texts.said
        if "micro" in said:
            return "millisecond" if self._texts.has_millis else "microsecond"
        if "day_of_year" in said:
            return "day"
        units = ("second", "minute", "hour", "day", "month", "year")
        return next(unit for unit in units if unit in said)

    @property
    def step(self) -> int:
        """The microseconds of the unit, of months and years those of a day."""
        return _MICROS.get(self.unit, _DAY)

    def read(self, value: Any) -> int | None:
        """Return the number of a text or of a typed moment; None for what is none of this type."""
        if isinstance(value, str):
            return self._read_text(value)
        micros = self._micros_of_typed(value)
        return None if micros is None else self.cut(micros)

    def write(self, number: int) -> str:
        """Return the text of a number."""
        if self.type == DURATION:
            return self._written_duration(number)
        if self._is_unix:
            return str(number)
        return self._texts.write(self._parts(number))

    def micros(self, number: int) -> int:
        """Return microseconds: of the day, of the duration, or since 1970 in UTC."""
        if self.unit in ("year", "month"):
            year, month = (number, 1) if self.unit == "year" else (number // 12, number % 12 + 1)
            return (datetime.date(year, month, 1).toordinal() - _EPOCH) * _DAY
        return number * _MICROS[self.unit]

    def shown(self, micros: int) -> int:
        """Return what a clock of the zone shows at an instant; both since 1970."""
        if self.type != TIMESTAMP:
            return micros
        at = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        at = (at + datetime.timedelta(microseconds=micros)).astimezone(zone_of(self.zone))
        return micros + 10**6 * (_distance(at) or 0)

    @property
    def _is_unix(self) -> bool:
        return self.type == TIMESTAMP and self.format in UNIX

    @property
    def _is_clock(self) -> bool:
        return self.format in CLOCKS

    @functools.cached_property
    def _texts(self) -> TextFormat:
        return TextFormat(self.format)

    def cut(self, micros: int) -> int:
        """Return microseconds as a number of units, finer parts cut off."""
        if self.unit not in ("year", "month"):
            return micros // _MICROS[self.unit]
        days = min(max(micros // _DAY + _EPOCH, 1), datetime.date.max.toordinal())
        day = datetime.date.fromordinal(days)
        return day.year if self.unit == "year" else 12 * day.year + day.month - 1

    def _micros_of_typed(self, value: Any) -> int | None:
        """Return what a cell of a type for moments is, exactly; None for any other."""
        if self.type == DURATION:
            return _length(value)
        if self.type == TIME and isinstance(value, datetime.time):
            return _micros_of_day(value)
        found = _instant(value)
        if found is None:
            return None
        micros, offset = found
        if self.type == TIMESTAMP:
            return micros if offset is not None else micros - self._offset(micros) * 10**6
        wall = micros + (offset or 0) * 10**6  # what its own clock shows
        return wall if self.type == DATE else wall % _DAY

    def _read_text(self, text: str) -> int | None:
        text = text.strip()
        if self.type == DURATION:
            return self._read_duration(text)
        if self._is_unix:
            found = _WHOLE.fullmatch(text)
            if found is None or not text.isascii():
                return None
            is_cut = found[1].startswith("-") and (found[2] or "").strip(".0") != ""
            return int(found[1]) - is_cut
        parts = self._texts.read(text)
        return None if parts is None else self._number(parts)

    def _number(self, parts: Parts) -> int | None:
        """Return the number of what a text says."""
        second = second_of(parts)
        if second is None:
            return None
        micros = second * 10**6 + parts.get("micro", 0)
        if self.type == TIME:
            return self.cut(micros)
        day = day_of(parts)
        if day is None:
            return None
        micros += (day.toordinal() - _EPOCH) * _DAY
        if self.type == TIMESTAMP:
            offset = parts["offset"] if "offset" in parts else self._offset(micros)
            micros -= offset * 10**6
        return self.cut(micros)

    def _offset(self, wall: int) -> int:
        """Return how many seconds the zone is ahead of UTC where its clocks show a time."""
        day, micro = divmod(wall, _DAY)
        try:
            midnight = datetime.datetime.fromordinal(day + _EPOCH)
            shown = midnight + datetime.timedelta(microseconds=micro)
            found = shown.replace(tzinfo=zone_of(self.zone)).utcoffset()
        except (ValueError, OverflowError):  # years that no clock of ours shows
            return 0
        return 0 if found is None else round(found.total_seconds())

    def _parts(self, number: int) -> Parts:
        micros = self.micros(number)
        if self.type == TIME:
            second, micro = divmod(micros, 10**6)
            clock = datetime.time(second // 3600, second // 60 % 60, second % 60, micro)
            return parts_of(clock)
        day, micro = divmod(micros, _DAY)
        date = datetime.date.fromordinal(day + _EPOCH)
        return parts_of(date) if self.type == DATE else self._parts_of_instant(date, micro)

    def _parts_of_instant(self, date: datetime.date, micro: int) -> Parts:
        midnight = datetime.datetime(date.year, date.month, date.day, tzinfo=datetime.UTC)
        instant = midnight + datetime.timedelta(microseconds=micro)
        shown = instant.astimezone(zone_of(self.zone))
        offset = shown.utcoffset() or datetime.timedelta(0)
        seconds = round(offset.total_seconds())
        if seconds % 60 and "offset" in self._texts.said:  # an old local time, which no text tells
            shown, seconds = instant, 0
        return parts_of(shown) | {"offset": seconds}

    def _read_duration(self, text: str) -> int | None:
        sign = -1 if text.startswith("-") else 1
        text = text.removeprefix("-").strip()
        # Who writes "--5" may mean -5.
        if not text.isascii() or (sign < 0 and text.startswith(("-", "+"))):
            return None
        if not self._is_clock:
            found = _WHOLE.fullmatch(text.removesuffix(self.format).strip())
            is_whole = found is not None and (found[2] or "").strip(".0") == ""
            return sign * int(found[1]) if found is not None and is_whole else None
        first, *others = text.split(":")
        if len(others) != self.format.count(":") or not first.isdecimal() or len(first) > 12:
            return None
        number = int(first)
        for other in others:
            if not re.fullmatch(r"[0-5]\d", other):
                return None
            number = 60 * number + int(other)
        return sign * number

    def _written_duration(self, number: int) -> str:
        if not self._is_clock:
            return f"{number} {self.format}"
        left, parts = abs(number), []
        for _ in range(self.format.count(":")):
            left, part = divmod(left, 60)
            parts.append(f"{part:02}")
        return f"{'-' if number < 0 else ''}{':'.join([str(left), *reversed(parts)])}"


@functools.lru_cache(maxsize=1000)
def moment_of(type: str, format: str, zone: str) -> Moment:
    """Return a `Moment`, each once."""
    return Moment(type, format, zone)


def _require_whole(type: str, said: set[str]) -> None:
    """Raise an error where texts leave out what comes between, as a day without its month."""
    days, hours = {"year", "month", "day", "day_of_year", "weekday"}, {"hour", "minute", "second"}
    clock = hours | {"micro", "half", "offset"}
    if type == DATE and said & clock:
        raise ValueError('"format" of a date says a time of day: take the type "timestamp"')
    if type == TIME and said & (days | {"offset"}):
        raise ValueError('"format" of a time of day says a day: take the type "timestamp"')
    if type == TIMESTAMP and not said & {"hour"}:
        raise ValueError('"format" of a timestamp must say the hour, else take the type "date"')
    chain = [["year", "month", "day"], ["hour", "minute", "second", "micro"]]
    if "day_of_year" in said:
        chain[0] = ["year", "day_of_year"]
        if said & {"month", "day"}:
            raise ValueError('"format" says the day twice, by %j and by %m or %d')
    needs = {DATE: {"year"}, TIME: {"hour"}, TIMESTAMP: {"hour", chain[0][-1]}}[type]
    if "weekday" in said:
        needs = needs | {chain[0][-1]}
    for names in chain:
        last = max((names.index(name) for name in (said | needs) & set(names)), default=-1)
        left_out = [name for name in names[: last + 1] if name not in said]
        if left_out:
            raise ValueError(f'"format" loses information: it says no {left_out[0]}')


@functools.lru_cache(maxsize=1000)
def zone_of(name: str) -> datetime.tzinfo:
    """Return a zone by its distance from UTC, or by its name."""
    found = _FIXED_ZONE.fullmatch(name)
    if found is not None and int(found[2]) < 24 and int(found[3]) < 60:
        minutes = 60 * int(found[2]) + int(found[3])
        return datetime.timezone(datetime.timedelta(minutes=int(found[1] + "1") * minutes))
    try:
        return datetime.UTC if name == "UTC" else zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f'"zone" must be UTC, a distance from it as "+02:00", or a name as "Europe/Berlin", '
            f"not {name!r}"
        ) from error


def _instant(value: Any) -> tuple[int, int | None] | None:
    """Return microseconds since 1970, in UTC where a zone is known, and its distance from UTC."""
    import pandas as pd

    if isinstance(value, np.datetime64):
        return _of_numpy(value), None
    if isinstance(value, pd.Period):
        value = value.start_time
    if isinstance(value, pd.Timestamp):  # years beyond those of Python, too
        return _of_numpy(value.asm8), _distance(value)
    if isinstance(value, datetime.datetime):
        day = (value.toordinal() - _EPOCH) * _DAY
        offset = _distance(value)
        return day + _micros_of_day(value) - (offset or 0) * 10**6, offset
    if isinstance(value, datetime.date):
        return (value.toordinal() - _EPOCH) * _DAY, None
    return None


def _distance(value: datetime.datetime) -> int | None:
    """Return how many seconds a moment's own zone is ahead of UTC; None without one."""
    if value.tzinfo is None:
        return None
    try:
        found = value.utcoffset()
    except (ValueError, OverflowError, NotImplementedError):  # beyond the years of Python
        return 0
    return 0 if found is None else round(found.total_seconds())


def _micros_of_day(value: datetime.time | datetime.datetime) -> int:
    second = 3600 * value.hour + 60 * value.minute + value.second
    return 10**6 * second + value.microsecond


def _of_numpy(value: Any) -> int:
    """Return microseconds of numpy's moment or duration, of any unit, as a whole number."""
    unit, step = np.datetime_data(value.dtype)
    number = int(value.astype(np.int64)) * step
    if unit in ("Y", "M"):
        return int(value.astype("M8[D]").astype(np.int64)) * _DAY
    units = {"W": 7 * _DAY, "D": _DAY, "h": _MICROS["hour"], "m": _MICROS["minute"]}
    units |= {"s": 10**6, "ms": 1000, "us": 1}
    if unit in units:
        return number * units[unit]
    return number // {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}[unit]


def _length(value: Any) -> int | None:
    """Return the microseconds of a typed duration."""
    import pandas as pd

    if isinstance(value, pd.Timedelta):
        return _of_numpy(value.asm8)
    if isinstance(value, np.timedelta64):
        unit = np.datetime_data(value.dtype)[0]
        # A number without a unit, and months, are no lengths.
        return None if unit in ("generic", "Y", "M") else _of_numpy(value)
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1)
    return None
