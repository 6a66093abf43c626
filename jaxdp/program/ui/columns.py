"""What a form says of a column, and the facts that a schema has of it."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from jaxdp.program.data import answers
from jaxdp.tables import OpenSchema
from jaxdp.tables.bought import BINS, BOUNDS, CATEGORIES, NULLABLE
from jaxdp.tables.columns import BOOLEAN, CATEGORICAL, NUMERIC, ORDINAL, SchemaError
from jaxdp.tables.moments import DATE, DURATION, MOMENTS, TIME, TIMESTAMP, Moment, moment_of
from jaxdp.tables.new_columns import NEW_TYPES

GUESSED = "as guessed"
_OPEN: dict[str, Any] = {"lower": None, "upper": None, "nullable": None}
KINDS: dict[str, dict[str, Any]] = {
    "numbers": answers.NUMBER,
    "whole numbers": answers.WHOLE,
    "categories": answers.CATEGORY,
    "ordered categories": {"type": ORDINAL, "categories": None, "nullable": None},
    "yes or no": {"type": BOOLEAN, "nullable": None},
    "dates": {"type": DATE, "format": "%Y-%m-%d", **_OPEN},
    "times of day": {"type": TIME, "format": "%H:%M:%S", "nullable": None},
    "dates with times": {"type": TIMESTAMP, "format": "%Y-%m-%dT%H:%M:%S", **_OPEN},
    "durations": {"type": DURATION, "format": "H:MM:SS", **_OPEN},
    "identifiers, made new": answers.COUNTER,
    "left out": {"drop": True},
}
"""What a column may hold, by the words of the form, and the facts of each."""
BUY, NO, YES = "buy", "no", "yes"
_MISSING = {BUY: None, NO: False, YES: True}
# What the form calls the fields of a schema file, whose errors name these.
_CALLED = {
    "lower": "least",
    "upper": "largest",
    "format": "written as",
    "categories": "all categories",
    "nullable": "missing",
}
# A day that shows which number is which.
_EXAMPLE = {DATE: 20088, TIMESTAMP: 20088 + 0.75, TIME: 0.75, DURATION: 0.0625}
_DAY = 86400 * 10**6  # microseconds
_LONGEST = 80  # of categories in a line


@dataclasses.dataclass
class Row:
    """What the form says of one column; widgets change it.

    Attributes:
        name: of the column.
        guessed: facts that are proposed.
        kind: `GUESSED`, or one of `KINDS`.
        format: of dates and times; empty for the usual one.
        lower: least value that can occur; empty to buy it.
        upper: the largest one.
        categories: all that can occur, with commas between, and quotes around one that has a comma;
            empty to buy them.
        missing: whether values can be missing: `BUY`, `NO` or `YES`.
        is_target: whether it is to be predicted.
        is_known: whether what is guessed was said before.
        has_other: whether others can occur beside the categories, as was said before.
        guessed_classes: what is guessed of it as the target, where that is something else.
    """

    name: str
    guessed: Mapping[str, Any]
    kind: str = GUESSED
    format: str = ""
    lower: str = ""
    upper: str = ""
    categories: str = ""
    missing: str = BUY
    is_target: bool = False
    is_known: bool = False
    has_other: bool = False
    guessed_classes: Mapping[str, Any] | None = None

    @property
    def guess(self) -> str:
        """The guess in words."""
        return answers.in_words(self._guess) + (" and others" if self.has_other else "")

    @property
    def _guess(self) -> Mapping[str, Any]:
        if self.is_target and self.guessed_classes is not None:
            return self.guessed_classes
        return self.guessed

    @property
    def _chosen(self) -> dict[str, Any]:
        return dict(self._guess if self.kind == GUESSED else KINDS[self.kind])

    @property
    def has_format(self) -> bool:
        """Whether it can be said how values are written; a guess says so itself."""
        return self.kind != GUESSED and "format" in self._chosen

    @property
    def usual_format(self) -> str:
        """How values are written where nobody says otherwise."""
        return str(self._chosen.get("format", ""))

    @property
    def has_bounds(self) -> bool:
        """Whether bounds can be said."""
        return self._chosen.get("type") in (NUMERIC, *MOMENTS) and "lower" in self._chosen

    @property
    def has_categories(self) -> bool:
        """Whether categories can be said."""
        return self._chosen.get("type") in (CATEGORICAL, ORDINAL)

    @property
    def needs_categories(self) -> bool:
        """Whether categories must be said, as nobody can buy their order."""
        return self._chosen.get("type") == ORDINAL

    @property
    def may_be_missing(self) -> bool:
        """Whether it can be said that values are missing."""
        return "nullable" in self._chosen

    @property
    def may_be_predicted(self) -> bool:
        """Whether it can be the target: it is neither left out nor made new."""
        chosen = self._chosen
        return not chosen.get("drop") and chosen.get("type") not in NEW_TYPES

    def facts(self) -> dict[str, Any]:
        """Return the facts as a schema file has them.

        Raises:
            ValueError: a format or a bound is none, or ordered categories are not named.
        """
        found = self._chosen
        if self.has_format and self.format.strip():
            found["format"] = self.format.strip()
        if "format" in found:
            _moment(found)
        if self.has_bounds and (self.lower.strip() or self.upper.strip()):
            is_number = found["type"] == NUMERIC
            low, high = self.lower.strip(), self.upper.strip()
            found["lower"] = self._number(low, found) if is_number else low
            found["upper"] = self._number(high, found) if is_number else high
            self._require_bounds(found)
        words = self._categories() if self.has_categories else []
        if words:
            # All are listed, so there is no other; a file that says otherwise is believed.
            other = self.kind == GUESSED and bool(found.get("other", self.has_other))
            found |= {"categories": words, "other": other and not self.is_target}
        elif self.needs_categories and not found.get("categories"):
            raise ValueError("name all categories, in their order")
        if self.may_be_missing:
            found["nullable"] = _MISSING[self.missing]
        if self.is_target and self.may_be_predicted:
            found["target"] = True
        return found

    def _categories(self) -> list[str]:
        lines = csv.reader(self.categories.splitlines(), skipinitialspace=True)
        words = (word.strip() for line in lines for word in line)
        return list(dict.fromkeys(word for word in words if word))

    def _require_bounds(self, facts: Mapping[str, Any]) -> None:
        """Raise a `ValueError` that has the words of the form where bounds are none."""
        ends = {"least": facts["lower"], "largest": facts["upper"]}
        numbers = {name: _as_number(end, facts) for name, end in ends.items()}
        for name, number in numbers.items():
            if ends[name] == "":
                raise ValueError("give both least and largest, or none")
            if number is None:
                raise ValueError(
                    f"{name}: {ends[name]} is not written as {facts['format']}, "
                    f"which is like {_example_of(facts)}"
                )
            if not math.isfinite(number):
                raise ValueError(f"{name}: {ends[name]} is no finite number")
        low, high = ends.values()
        if not (numbers["least"] or 0) < (numbers["largest"] or 0):
            raise ValueError(f"least must be below largest, and {low} is not below {high}")

    def _number(self, text: str, facts: Mapping[str, Any]) -> float | int:
        try:
            number = float(text)
        except ValueError:
            raise ValueError(
                "the least and the largest value are numbers; give both or none"
            ) from None
        return int(number) if facts.get("integer") and number % 1 == 0 else number


def _as_number(end: Any, facts: Mapping[str, Any]) -> float | None:
    """Return a bound as a number; None for a text that is no date or time of its format."""
    if facts["type"] == NUMERIC:
        return float(end)
    return _moment(facts).read(end)


def _moment(facts: Mapping[str, Any]) -> Moment:
    return moment_of(facts["type"], facts["format"], facts.get("zone") or "UTC")


def _example_of(facts: Mapping[str, Any]) -> str:
    """Return an example of how dates or times are written."""
    moment = _moment(facts)
    return f"{moment.write(moment.cut(int(_EXAMPLE[facts['type']] * _DAY)))}"


def rows_of(
    columns: Mapping[str, Mapping[str, Any]], classes: Mapping[str, Mapping[str, Any]]
) -> list[Row]:
    """Return rows of a form in which all is as proposed.

    Args:
        columns: what is proposed of each.
        classes: the same of those that would be classes as the target.
    """
    return [Row(name, facts, guessed_classes=classes.get(name)) for name, facts in columns.items()]


def rows_again(
    columns: Mapping[str, Mapping[str, Any]], bought: Mapping[str, Sequence[str]]
) -> list[Row]:
    """Return rows of a form in which all is as a schema file has it.

    Args:
        columns: of the file.
        bought: facts of each column that were bought, and are left to be so.
    """
    return [_again(str(name), facts, bought.get(name, ())) for name, facts in columns.items()]


def _again(name: str, facts: Mapping[str, Any], bought: Sequence[str]) -> Row:
    own = {key: value for key, value in facts.items() if key not in ("about", "target")}
    if BINS in bought:
        own = {key: value for key, value in own.items() if key not in ("bins", "spikes")}
    if CATEGORIES in bought:
        own.pop("other", None)
    found = Row(name, own, is_target=bool(facts.get("target")), is_known=True)
    if own.get("type") in (NUMERIC, *MOMENTS) and own.get("type") != TIME:
        ends = (None, None) if BOUNDS in bought else (own.get("lower"), own.get("upper"))
        found.lower, found.upper = ("" if end is None else str(end) for end in ends)
        own |= {"lower": None, "upper": None}
    if found.has_categories:
        words = [] if CATEGORIES in bought else own.get("categories") or []
        found.categories = _in_a_line(words)
        own["categories"] = None
        found.has_other = bool(words) and own.get("other", True) and not found.is_target
    if own.get("type") in _MAY_BE_MISSING:
        nullable = None if NULLABLE in bought else own.get("nullable", False)
        found.missing = next(key for key, value in _MISSING.items() if value is nullable)
        own["nullable"] = None
    return found


_MAY_BE_MISSING = tuple(kind["type"] for kind in KINDS.values() if "nullable" in kind)


def _in_a_line(words: Sequence[Any]) -> str:
    """Return categories with commas between, as `Row.categories` has them."""
    found = []
    for word in words:
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow([word])
        found.append(text.getvalue())
    return ", ".join(found)


def facts_of(rows: Sequence[Row]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the facts of all columns, and all mistakes in the form, by columns."""
    found: dict[str, dict[str, Any]] = {}
    faults: dict[str, str] = {}
    for row in rows:
        try:
            found[row.name] = row.facts()
        except ValueError as error:
            faults[row.name] = _as_called(str(error))
        else:
            fault = _fault(row.name, found[row.name])
            faults |= {} if fault is None else {row.name: fault}
    return found, faults


def _fault(name: str, facts: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the facts of a column, whatever the others are."""
    beside = {"type": NUMERIC, "lower": 0, "upper": 1}
    other = f"{name} "  # names have no spaces at their ends
    try:
        OpenSchema.from_json({"columns": {name: dict(facts), other: beside}})
    except SchemaError as error:
        return _as_called(str(error).removeprefix(f"column {name!r}: "))
    return None


def in_words(facts: Mapping[str, Any]) -> str:
    """Return what a schema file says of a column, in words, with bounds and categories."""
    found = [answers.in_words(facts)]
    if facts.get("lower") is not None:
        found.append(f"{facts['lower']} to {facts['upper']}")
    if facts.get("type") in (CATEGORICAL, ORDINAL) and facts.get("categories"):
        text = _in_a_line(facts["categories"])
        more = " and others" if facts.get("other", True) and not facts.get("target") else ""
        found.append((text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...") + more)
    if facts.get("nullable"):
        found.append("may be missing")
    has_open = any(facts.get(key, "") is None for key in (*_CALLED, "bins"))
    found += ["the rest is bought"] if has_open else []
    return ", ".join(found) + (", is predicted" if facts.get("target") else "")


def _as_called(error: str) -> str:
    """Return what a schema says is wrong, with the fields called as the form calls them."""
    for key, called in _CALLED.items():
        error = error.replace(f'"{key}"', called)
    return error
