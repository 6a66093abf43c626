"""A walk through the columns of a table in a terminal: Enter takes what is proposed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxdp.escapes import for_terminal
from jaxdp.program import typed_bounds
from jaxdp.program.data import answers, proposed_rules
from jaxdp.program.errors import InputError
from jaxdp.tables import rules
from jaxdp.tables.columns import CATEGORICAL, NUMERIC, OTHER
from jaxdp.tables.moments import DATE, MOMENTS, TIME, TIMESTAMP

if TYPE_CHECKING:
    import pandas as pd

Ask = Callable[[str], str]
_HELP = """\
  Enter  as proposed        a  as proposed, for this column and all others
  n      numbers            w  whole numbers
  c      categories         d  dates or times; their format is asked
  i      identifiers, made new without the data
  x      leave the column out"""
_SHOWN, _LONGEST = 3, 60


def ask(prompt: str) -> str:
    """Return a line that a person types.

    Raises:
        InputError: there are no more.
    """
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise InputError("the walk through the columns ended early; nothing was read or spent")
    return line.strip()


class Walked(NamedTuple):
    """What a person says.

    Attributes:
        columns: facts of each.
        num_asked: how many were asked about, the first ones; the others are as proposed.
    """

    columns: dict[str, dict[str, Any]]
    num_asked: int


def walk(
    columns: Mapping[str, Any],
    frame: pd.DataFrame,
    *,
    asks: Ask = ask,
    reading: str = "",
    csv: Mapping[str, Any] | None = None,
) -> Walked:
    """Return what a person says of each column.

    What is shown of records is for who has the table. Only answers are kept.

    Args:
        columns: what is proposed.
        frame: the first records.
        asks: returns a line for a prompt.
        reading: how the table is written, in words.
        csv: the same as a schema has it; None for the usual.

    Raises:
        InputError: lines end early.
    """
    if reading:
        print(f"By its first records, {for_terminal(reading)}.", file=sys.stderr)
    print(
        "Is this what can stand in each column? Enter says yes, ? lists other answers. What you\n"
        "declare counts as public. What you do not know is bought with a part of epsilon.",
        file=sys.stderr,
    )
    found, rest, num_asked = {}, False, 0
    for number, (name, proposed) in enumerate(columns.items(), 1):
        values = next(frame[key] for key in frame.columns if str(key).strip() == name)
        facts = dict(proposed)
        if not rest:
            num_asked = number
            title = f"{number}/{len(columns)} {name}"
            facts, rest = _column(title, facts, values, asks, csv or {})
        found[name] = facts
    return Walked(found, num_asked)


def agreed_rules(columns: Mapping[str, Any], *, asks: Ask | None = None) -> list[dict[str, Any]]:
    """Return the rules that names of columns suggest and a person says hold; the others are gone.

    Args:
        columns: as the person has said.
        asks: as for `walk`; None for the terminal.

    Raises:
        InputError: lines end early.
    """
    proposed = proposed_rules.of(columns)
    if proposed:
        print("Do these rules hold in every record that can occur?", file=sys.stderr)
    found = []
    for rule in proposed:
        said = (asks or ask)(f"  {for_terminal(str(rules.from_json(rule)))} (y: yes, Enter: no) ")
        if said.lower() in ("y", "yes"):
            found.append({key: value for key, value in rule.items() if key != rules.PROPOSED})
    return found


def _column(
    title: str, proposed: dict[str, Any], values: pd.Series, asks: Ask, csv: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Return what is said of a column, and whether all others are as proposed."""
    prompt = f"{for_terminal(title)} ({_first(values)}): {answers.in_words(proposed)} "
    while True:
        answer = asks(prompt).lower()
        if answer == "a":
            return proposed, True
        if answer in _KINDS:
            facts = dict(_KINDS[answer] or proposed)
            break
        if answer == "d":
            facts = _dates(asks, csv)
            break
        print(_HELP, file=sys.stderr)
    if facts.get("type") in (NUMERIC, *MOMENTS) and facts.get("lower") is None:
        facts |= _bounds(facts, asks, csv)
    if facts.get("type") == CATEGORICAL and facts.get("categories", 0) is None:
        facts |= _categories(facts, asks, csv)
    return facts, False


_KINDS: dict[str, dict[str, Any] | None] = {
    "": None,
    "n": answers.NUMBER,
    "w": answers.WHOLE,
    "c": answers.CATEGORY,
    "i": answers.COUNTER,
    "x": {"drop": True},
}


def _dates(asks: Ask, csv: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column of dates, times of day or both, as its format says."""
    while True:
        format = asks("  format (Enter: %Y-%m-%d) ") or "%Y-%m-%d"
        own: dict[str, Any] = {"format": format, "nullable": None}
        open_too = own | {"lower": None, "upper": None}
        each = [{"type": DATE} | open_too, {"type": TIMESTAMP} | open_too, {"type": TIME} | own]
        faults = [typed_bounds.fault(facts, csv) for facts in each]
        if None in faults:
            return each[faults.index(None)]
        _say(faults[0])


def _bounds(facts: Mapping[str, Any], asks: Ask, csv: Mapping[str, Any]) -> dict[str, Any]:
    """Return public bounds; nothing where they are to be bought."""
    try:
        question = typed_bounds.question(facts, csv)
    except ValueError:
        return {}  # nothing is of this format, which reading the table will tell
    while True:
        words = asks(f"  {for_terminal(question)} ")
        if not words:
            return {}
        try:
            return typed_bounds.read(words, facts, csv)
        except InputError as error:
            _say(str(error))


def _categories(facts: Mapping[str, Any], asks: Ask, csv: Mapping[str, Any]) -> dict[str, Any]:
    """Return public categories; nothing where they are to be bought."""
    while True:
        words = asks(
            "  all that can occur, with commas between (Enter: buy those that are frequent)\n"
            f"  anything else counts as the first, or as {OTHER} if you name that, too; a target "
            "has no others: "
        )
        found = list(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
        if not found:
            return {}
        said = {"categories": found} | ({} if OTHER in found else {"other": False})
        why = typed_bounds.fault({**facts, **said}, csv)
        if len(found) < 2:
            why = "one alone tells nothing apart: name at least two"
        if why is None:
            return said
        _say(why)


def _say(why: str | None) -> None:
    print(f"  {for_terminal(str(why))}", file=sys.stderr)


def _first(values: pd.Series) -> str:
    """Return the first values, for who has the table."""
    shown = [for_terminal(str(value)) for value in values.head(_SHOWN)]
    text = ", ".join(shown)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
