"""What a form says of a column, and the facts that a schema has of it."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jaxdp.program.data import answers
from jaxdp.tables import OpenSchema
from jaxdp.tables.columns import BOOLEAN, CATEGORICAL, NUMERIC, ORDINAL, SchemaError
from jaxdp.tables.moments import DATE, DURATION, MOMENTS, TIME, TIMESTAMP
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

    @property
    def guess(self) -> str:
        """The guess in words."""
        return answers.in_words(self.guessed)

    @property
    def _chosen(self) -> dict[str, Any]:
        return dict(self.guessed if self.kind == GUESSED else KINDS[self.kind])

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
            ValueError: a bound is no number, or ordered categories are not named.
        """
        found = self._chosen
        if self.has_format and self.format.strip():
            found["format"] = self.format.strip()
        if self.has_bounds and (self.lower.strip() or self.upper.strip()):
            is_number = found["type"] == NUMERIC
            low, high = self.lower.strip(), self.upper.strip()
            found["lower"] = self._number(low, found) if is_number else low
            found["upper"] = self._number(high, found) if is_number else high
        words = self._categories() if self.has_categories else []
        if words:
            found |= {"categories": words, "other": not self.is_target}
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

    def _number(self, text: str, facts: Mapping[str, Any]) -> float | int:
        try:
            number = float(text)
        except ValueError:
            raise ValueError(
                "the least and the largest value are numbers; give both or none"
            ) from None
        return int(number) if facts.get("integer") and number % 1 == 0 else number


def rows_of(columns: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return rows of a form in which all is as proposed."""
    return [Row(name, facts) for name, facts in columns.items()]


def facts_of(rows: Sequence[Row]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the facts of all columns, and all mistakes in the form, by columns."""
    found: dict[str, dict[str, Any]] = {}
    faults: dict[str, str] = {}
    for row in rows:
        try:
            found[row.name] = row.facts()
        except ValueError as error:
            faults[row.name] = str(error)
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
        return str(error).removeprefix(f"column {name!r}: ")
    return None
