"""Answers to what a draft of a schema leaves to a person: open facts are bought, the rest is left.

A draft has null where somebody is to fill something in. Here a column gets a type in any case. Its
bounds, its categories and whether it can be missing stay open, and are bought.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxdp.program.data import guessed_formats, guesses
from jaxdp.tables.columns import BOOLEAN, CATEGORICAL, NUMERIC
from jaxdp.tables.new_columns import CONSTANT, IDENTIFIER, TEXT

if TYPE_CHECKING:
    import pandas as pd

_OF_RECORDS = re.compile(r"(^|[_ .-])(id|no|nr|num|number|key|index|rownames?)$|id$|^$", re.I)
_HOLDS_ALL = re.compile(r"bool|u?int\d+")
_LEFT_OUT = {"drop": True}
NUMBER: dict[str, Any] = {"type": NUMERIC, "lower": None, "upper": None, "nullable": None}
_NO_YES = ("0", "1")
WHOLE = NUMBER | {"integer": True}
CATEGORY: dict[str, Any] = {"type": CATEGORICAL, "categories": None, "nullable": None}
COUNTER: dict[str, Any] = {"type": IDENTIFIER, "pattern": "counter"}


def settled(
    drafted: Mapping[str, Any], frame: pd.DataFrame, *, target: str | None = None
) -> dict[str, Any]:
    """Return the columns of a draft, none of which needs an answer any more.

    Args:
        drafted: columns by name, as a draft has them.
        frame: the first records, by which they were guessed.
        target: name of the column that is to be predicted; None where nobody has said so.
    """
    found = {}
    for name, facts in drafted.items():
        if facts.get("about") == guesses.OF_PERSONS:
            found[name] = dict(_LEFT_OUT)
            continue
        values = next(frame[key] for key in frame.columns if str(key).strip() == name)
        own = _settled(name, {k: v for k, v in facts.items() if k != "about"}, values)
        if name == target:
            own = of_classes(values) or (_whole(values) if own == COUNTER else own)
        if _HOLDS_ALL.fullmatch(own.get("dtype", "")):
            own.pop("nullable", None)  # nothing is missing in a column of such a type
        found[name] = own
    return found


def _settled(name: str, facts: dict[str, Any], values: pd.Series) -> dict[str, Any]:
    kind = facts.get("type")
    if kind is None:  # whole numbers, all different
        return dict(COUNTER) if _OF_RECORDS.search(name) or _count_up(values) else _whole(values)
    if kind == CONSTANT:
        # Its one value is a category that nobody has named; nothing at all is left out.
        is_empty = not (values.astype(str).str.strip() != "").any()
        return dict(_LEFT_OUT) if is_empty else dict(CATEGORY)
    if kind == TEXT:
        return dict(_LEFT_OUT)
    if kind == CATEGORICAL and "categories" in facts and facts["categories"] is None:
        return _category(facts, values)
    if kind == "ordinal" and facts.get("categories") is None:
        return CATEGORY | {key: facts[key] for key in ("dtype",) if key in facts}
    return facts


def _category(facts: dict[str, Any], values: pd.Series) -> dict[str, Any]:
    """Return what is said of categories: few whole numbers are cheaper to buy as numbers."""
    texts = values.dropna().astype(str).str.strip()
    texts = texts[texts != ""]
    if len(texts) and texts.nunique() == len(texts) > _MANY:
        return dict(_LEFT_OUT)  # names or free text, of which no one is frequent
    if "dtype" not in facts and len(texts) and texts.map(_is_plain_whole).all():
        return dict(WHOLE)
    return facts


def of_classes(values: pd.Series) -> dict[str, Any] | None:
    """Return what is said of a target of 0 and 1, or of two other whole numbers; None for others.

    They are classes, and no amounts. First records without a 1 are of a rare one.
    """
    texts = values.dropna().astype(str).str.strip()
    there = set(texts[~texts.isin(guesses.ALWAYS_MISSING)])
    if there and there <= set(_NO_YES):
        return {"type": BOOLEAN, "categories": list(_NO_YES), "nullable": None}
    if len(there) == 2 and all(map(_is_plain_whole, there)):
        return dict(CATEGORY)
    return None


_MANY = 50
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,9})")


def _whole(values: pd.Series) -> dict[str, Any]:
    """Return what is said of whole numbers that are amounts, though all are different."""
    there = values.dropna()
    texts = there.astype(str).str.strip()
    return NUMBER | guessed_formats.as_whole(texts) | guesses.zeros(there[texts != ""])


def _count_up(values: pd.Series) -> bool:
    """Return whether many records are numbered from 0 or 1 on, in their order."""
    texts = values.astype(str).str.strip()
    if len(texts) <= _MANY or not texts.map(_is_plain_whole).all():
        return False
    numbers = [int(text) for text in texts]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_plain_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def in_words(facts: Mapping[str, Any]) -> str:
    """Return what is said of a column, for a terminal.

    Examples:
        >>> from jaxdp.program.data import answers
        >>> answers.in_words({"type": "date", "format": "%Y-%m-%d"})
        'dates as %Y-%m-%d'
        >>> answers.in_words({"drop": True})
        'left out'
    """
    if facts.get("drop"):
        return "left out"
    kind = facts["type"]
    stored = f", of type {facts['dtype']}" if "dtype" in facts else ""
    if kind == NUMERIC:
        return _of_numbers(facts) + stored
    if kind == IDENTIFIER:
        pattern = facts.get("pattern", "counter")
        return "identifiers, made new" + (f" as {pattern}" if pattern != "counter" else "")
    if "format" in facts:
        return f"{kind}s as {facts['format']}{stored}"
    if kind == BOOLEAN:
        no_and_yes = facts.get("categories")
        return (
            "yes or no" + (f" as {no_and_yes[1]}, {no_and_yes[0]}" if no_and_yes else "") + stored
        )
    return {CATEGORICAL: "categories", "ordinal": "ordered categories"}.get(kind, kind) + stored


def _of_numbers(facts: Mapping[str, Any]) -> str:
    """Return how numbers are written."""
    is_whole = facts.get("integer")
    zeros = "." + "0" * facts["decimals"] if is_whole and facts.get("decimals") else ""
    marks = f"{facts.get('prefix', '')}1{zeros}{facts.get('suffix', '')}"
    written = f" as {marks}" if marks != "1" else ""
    found = ("whole numbers" if is_whole else "numbers") + written
    if facts.get("decimals") is not None and not is_whole:
        found += f" with {facts['decimals']} decimals"
    found += f" after {facts['decimal']!r}" if "decimal" in facts else ""
    return found + (f", {facts['thousands']!r} between thousands" if "thousands" in facts else "")


def reading_in_words(drafted: Mapping[str, Any]) -> str:
    """Return how a table is written, as a draft has guessed it, for a terminal.

    Examples:
        >>> from jaxdp.program.data import answers
        >>> answers.reading_in_words({"missing": ["", "NA"], "csv": {"separator": ";"}})
        "missing values are written as '', 'NA'; separator ';'"
    """
    texts = ", ".join(map(repr, drafted.get("missing", ())))
    said = [f"missing values are written as {texts}"] if texts else []
    for name, value in drafted.get("csv", {}).items():
        header = "the first line names the columns" if value else "no line names the columns"
        said.append(header if name == "header" else f"{name} {value!r}")
    return "; ".join(said)
