"""Dates, times and durations: every number between bounds is a text of the format, and back."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxdp.tables.moments import Moment

DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%-d/%-m/%Y", "%Y%m%d", "%d %B %Y", "%d-%b-%Y", "%Y-%j",
        "%a, %d %b %Y", "%Y%j", "%d%m%Y")  # fmt: skip
MONTHS, YEARS = ("%Y%m", "%b %Y", "%-m/%Y", "%B %Y"), ("%Y", "FY%Y")
CLOCKS = {"%H:%M:%S": 86400, "%H:%M": 1440, "%-H.%M": 1440, "%I:%M %p": 1440, "%H": 24,
          "%H%M%S": 86400, "%H:%M:%S.%f": 86400 * 10**6, "%H:%M:%S.%3f": 86400 * 10**3}  # fmt: skip
STAMPS = ("%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S.%f", "%Y%m%d%H%M%S",
          "%Y-%m-%d %H:%M:%S.%3f", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M %:z",
          "%m/%d/%Y %I:%M %p")  # fmt: skip
ZONES = ("UTC", "+02:00", "-09:30", "+14:00", "Europe/Berlin", "America/St_Johns")
FIRST, LAST = -719162, 2932896  # of 0001-01-01 and 9999-12-31, in days since 1970


@settings(deadline=None)
@given(st.sampled_from(DAYS), st.integers(FIRST, LAST))
def test_every_day_comes_back_and_is_as_python_writes_it(form: str, number: int) -> None:
    moment = Moment("date", form)
    text = moment.write(number)
    assert moment.read(text) == number
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=number)
    if "-d" not in form and day.year >= 1000:  # before, C libraries differ
        assert text == day.strftime(form)
    for typed in (day, datetime.datetime(day.year, day.month, day.day, 23, 59), np.datetime64(day)):
        assert moment.read(typed) == number


@settings(deadline=None)
@given(st.sampled_from(MONTHS + YEARS), st.integers(1, 9999), st.integers(1, 12))
def test_months_and_years_need_no_rounding(form: str, year: int, month: int) -> None:
    moment = Moment("date", form)
    number = 12 * year + month - 1 if form in MONTHS else year
    assert moment.read(moment.write(number)) == number
    assert moment.read(datetime.date(year, month, 28)) == number


@settings(deadline=None)
@given(st.sampled_from(list(CLOCKS)), st.data())
def test_every_time_of_day_comes_back(form: str, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, CLOCKS[form] - 1))
    moment = Moment("time", form)
    assert moment.read(moment.write(number)) == number
    second, micro = divmod(moment.micros(number), 10**6)
    clock = datetime.time(second // 3600, second // 60 % 60, second % 60, micro)
    assert moment.read(clock) == number
    if "-" not in form:
        written = clock.strftime(form.replace("%3f", "%f"))
        assert moment.write(number) == (written[:-3] if "%3f" in form else written)


@settings(deadline=None)
@given(st.sampled_from(STAMPS), st.sampled_from(ZONES), st.integers(0, 4 * 10**9))
def test_every_instant_comes_back(form: str, zone: str, second: int) -> None:
    """Where texts tell no zone, of a time that clocks show twice the first is read."""
    moment = Moment("timestamp", form, zone)
    number = moment.cut(second * 10**6)
    again = moment.read(moment.write(number))
    assert again is not None
    if "z" not in form and "/" in zone:
        assert moment.write(again) == moment.write(number)
    else:
        assert again == number
    instant = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(
        seconds=second
    )
    east = instant.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    stamps = [instant, east, pd.Timestamp(east), pd.Timestamp(instant)]
    assert {moment.read(typed) for typed in stamps} == {number}


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M%z", "%Y-%m-%d %H:%M%:z"])
def test_the_largest_distances_from_utc_are_read(form: str) -> None:
    moment = Moment("timestamp", form)
    for zone, minutes in (("+23:59", 1439), ("-2359", -1439), ("+14:00", 840), ("Z", 0)):
        midnight = moment.read(f"1970-01-01 00:00{zone}")
        assert midnight == -minutes


@settings(deadline=None)
@given(st.sampled_from(["H:MM:SS", "H:MM", "M:SS", "s", "min", "h", "d", "ms"]),
       st.integers(-(10**7), 10**7))  # fmt: skip
def test_every_duration_comes_back(form: str, number: int) -> None:
    moment = Moment("duration", form)
    assert moment.read(moment.write(number)) == number
    length = datetime.timedelta(microseconds=moment.micros(number))
    for typed in (length, pd.Timedelta(length), np.timedelta64(length)):
        assert moment.read(typed) == number


@pytest.mark.parametrize(
    ("type", "form", "cell"),
    [
        *[("date", "%Y-%m-%d", cell) for cell in
          ("2023-02-29", "2024-02-30", "0000-01-01", "10000-01-01", "2024-13-01", "2024-1-1-",
           "24-01-01", "", "2024-01-01 00:00", "\uff12024-01-01", "\u0662\u0660\u0662\u0664-01-01",
           5, 1.5, True, b"2024-01-01", (1,), datetime.time(1), datetime.timedelta(1),
           np.timedelta64(1, "D"), decimal.Decimal(1))],
        *[("date", "%Y-%j", cell) for cell in ("2023-366", "2024-000", "2024-367")],
        *[("date", "%Y%m%d", cell) for cell in ("2024111", "20240230", "20240101.0", "-20240101")],
        *[("time", "%H:%M", cell) for cell in
          ("24:00", "12:60", "-1:00", "12", "12:00:00", datetime.date(2020, 1, 1).isoformat())],
        *[("time", "%I:%M %p", cell) for cell in ("13:00 PM", "0:10 AM", "10:00")],
        *[("timestamp", "%Y-%m-%d %H:%M", cell) for cell in
          ("2024-01-01 24:00", "2024-01-01", "2024-02-30 10:00", datetime.time(1))],
        *[("timestamp", "%Y-%m-%d %H:%M%z", f"2024-01-01 10:00{zone}") for zone in
          ("+99:99", "+24:00", "-2400", "+01:60", "-0199", "+1:00", "")],
        *[("timestamp", "unix", cell) for cell in ("1e9", "", "0x1", "\u0661", "1 000", "9" * 30)],
        *[("duration", "H:MM:SS", cell) for cell in
          ("1:60:00", "1:00", ":10:00", "1:1:1", "--1:00:00", "\u0661:00:00", datetime.time(1))],
        *[("duration", "min", cell) for cell in
          ("1.5 min", "1 h", "min", "1 min min", "--5 min", "-+5 min", "- -5", "+-5")],
        ("duration", "s", np.timedelta64(1, "M")),
    ],
)  # fmt: skip
def test_cells_that_are_no_moments(type: str, form: str, cell: Any) -> None:
    assert Moment(type, form).read(cell) is None


@pytest.mark.parametrize(
    ("type", "form", "expected"),
    [
        ("date", "%d.%m.", "loses information: it says no year"),
        ("date", "%Y-%d", "it says no month"),
        ("date", "%H", "take the type"),
        ("date", "%Y %H", "says a time of day"),
        ("date", "%Y %U", "'%U' is unknown"),
        ("date", "%Y %m %b", "says the month again"),
        ("date", "%Y %j %d", "twice"),
        ("date", "%a %Y", "it says no month"),
        ("date", "plain", "has no code"),
        ("date", "%Y%", "'%' is unknown"),
        ("date", "%Y\n%m", "can be seen"),
        ("time", "%M:%S", "it says no hour"),
        ("time", "%H:%S", "it says no minute"),
        ("time", "%Y %H", "says a day"),
        ("timestamp", "%Y-%m-%d", "must say the hour"),
        ("timestamp", "%d %H:%M", "it says no year"),
        ("timestamp", "%H:%M", "it says no year"),
        ("duration", "%H:%M", "must be one of"),
        ("time", "%I:%M", "AM or PM"),
        ("time", "%H:%M %p", "AM or PM"),
    ],
)
def test_formats_that_lose_information_are_refused(type: str, form: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Moment(type, form)


@pytest.mark.parametrize("zone", ["Mars/Base", "../../etc/passwd", "/etc/passwd", "+25:00", ""])
def test_zones_that_there_are_not(zone: str) -> None:
    with pytest.raises(ValueError, match='"zone" must be'):
        Moment("timestamp", "unix", zone)


def test_times_that_no_clock_shows_are_an_hour_later() -> None:
    moment = Moment("timestamp", "%Y-%m-%d %H:%M", "Europe/Berlin")
    gap, first = moment.read("2021-03-28 02:30"), moment.read("2021-10-31 02:30")
    assert gap is not None
    assert first is not None
    assert moment.write(gap) == "2021-03-28 03:30"
    assert moment.write(first) == moment.write(first + 60) == "2021-10-31 02:30"
    told = Moment("timestamp", "%Y-%m-%d %H:%M %z", "Europe/Berlin")
    assert told.write(first) == "2021-10-31 02:30 +0200"
    assert told.write(first + 60) == "2021-10-31 02:30 +0100"


def test_an_old_local_time_of_odd_seconds_is_written_in_utc() -> None:
    moment = Moment("timestamp", "%Y-%m-%d %H:%M:%S %z", "Europe/Berlin")
    number = moment.read("1880-01-01 12:00:00 +0000")
    assert number is not None
    assert moment.write(number) == "1880-01-01 12:00:00 +0000"


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "m", "s", "ms", "us", "ns"])
def test_typed_moments_of_every_unit(unit: str) -> None:
    value = np.datetime64("1969-01-01").astype(f"M8[{unit}]")
    assert Moment("date", "%Y-%m-%d").read(value) == -365
    far = np.datetime64("-5000-01-01").astype("M8[s]")
    assert Moment("date", "%Y-%m-%d").read(far) == int(far.astype("M8[D]").astype(int))
    assert Moment("date", "%Y").read(far) == 1
    late = pd.Timestamp(np.datetime64("148108-07-06", "s"))
    assert Moment("date", "%Y").read(late) == 9999


def test_the_clock_of_a_moment_with_a_zone_tells_its_day() -> None:
    late = pd.Timestamp("2021-01-01 23:30", tz="America/New_York")
    assert (
        Moment("date", "%Y-%m-%d").write(Moment("date", "%Y-%m-%d").read(late) or 0) == "2021-01-01"
    )
    assert Moment("time", "%H:%M").read(late) == 23 * 60 + 30
