"""What a form says of a column, and the facts that a schema has of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxdp.program.data import answers
from jaxdp.tables.columns import CATEGORICAL, NUMERIC
from jaxdp.tables.moments import DATE, MOMENTS

GUESSED = "as guessed"
KINDS: dict[str, dict[str, Any]] = {
    "numbers": answers.NUMBER,
    "whole numbers": answers.WHOLE,
    "categories": answers.CATEGORY,
    "dates": {"type": DATE, "format": "%Y-%m-%d", "lower": None, "upper": None, "nullable": None},
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
        format: of dates.
        lower: least value that can occur; empty to buy it.
        upper: the largest one.
        categories: all that can occur, with commas between; empty to buy them.
        missing: whether values can be missing: `BUY`, `NO` or `YES`.
        is_target: whether it is to be predicted.
    """

    name: str
    guessed: Mapping[str, Any]
    kind: str = GUESSED
    format: str = "%Y-%m-%d"
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
    def has_bounds(self) -> bool:
        """Whether bounds can be said."""
        return self._chosen.get("type") in (NUMERIC, *MOMENTS) and "lower" in self._chosen

    @property
    def has_categories(self) -> bool:
        """Whether categories can be said."""
        return self._chosen.get("type") == CATEGORICAL

    @property
    def may_be_missing(self) -> bool:
        """Whether it can be said that values are missing."""
        return "nullable" in self._chosen

    def facts(self) -> dict[str, Any]:
        """Return the facts as a schema file has them.

        Raises:
            ValueError: a bound is no number.
        """
        found = self._chosen
        if self.kind == "dates":
            found["format"] = self.format.strip()
        if self.has_bounds and (self.lower.strip() or self.upper.strip()):
            is_number = found["type"] == NUMERIC
            low, high = self.lower.strip(), self.upper.strip()
            found["lower"] = self._number(low, found) if is_number else low
            found["upper"] = self._number(high, found) if is_number else high
        words = [word.strip() for word in self.categories.split(",") if word.strip()]
        if self.has_categories and words:
            found |= {"categories": list(dict.fromkeys(words)), "other": not self.is_target}
        if self.may_be_missing:
            found["nullable"] = _MISSING[self.missing]
        if self.is_target and not found.get("drop"):
            found["target"] = True
        return found

    def _number(self, text: str, facts: Mapping[str, Any]) -> float | int:
        try:
            number = float(text)
        except ValueError:
            raise ValueError(
                f"column {self.name!r}: the least and the largest value are numbers, both or none"
            ) from None
        return int(number) if facts.get("integer") and number % 1 == 0 else number


def rows_of(columns: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return rows of a form in which all is as proposed."""
    return [Row(name, facts) for name, facts in columns.items()]


def facts_of(rows: list[Row]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the facts of all columns, and all mistakes in the form."""
    found, faults = {}, []
    for row in rows:
        try:
            found[row.name] = row.facts()
        except ValueError as error:
            faults.append(str(error))
    return found, faults
