"""Drafts of schemas: names, guessed types, and all else left open."""

from pathlib import Path
from typing import Any

from jaxdp.program.data import guessed_formats, guesses, proposed_rules, schema_files
from jaxdp.program.errors import InputError
from jaxdp.tables.columns import NUMERIC
from jaxdp.tables.dialects import PLAIN
from jaxdp.tables.rules import PROPOSED

ROWS = 1000
"""First records by which types are guessed."""
_ABOUT = (
    "Types, formats, texts for missing values, and what is said about columns were guessed from "
    "records of the table, and one record can change a guess: check every one by what can occur "
    'before this is public. Fill in every null, "nullable": true where a value can be missing, '
    'give the column that is to be predicted, if there is one, "target": true, and write '
    '{"drop": true} for columns that are to be left out'
)
_ABOUT_RULES = (
    '. Rules are proposed by names of columns alone, and do not hold yet: take "proposed" out of '
    "those that hold in every record that can occur, and delete the others"
)


CONFIRMED = (
    "Types and formats were confirmed by a person, who takes them as public. What is null is bought"
)
"""The note in a schema whose guesses somebody has looked at, column by column."""
_ACCEPTED = (
    "Types and formats were guessed from first records, and --accept_guesses takes them as public. "
    "What is null is bought"
)


_SEEN = (
    "Types and formats of the first {number} columns were confirmed by a person. Those of all "
    "others were guessed from first records, and accepted as public. What is null is bought"
)


def draft(frame: Any, dialect: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of the columns of a frame, with its types guessed and all else left open."""
    columns: dict[str, Any] = {}
    missing: set[str] = set()
    for name in frame.columns:
        columns[str(name).strip()] = guesses.column(str(name), frame[name])
        missing |= guesses.missing_in(frame[name])
    columns |= _with_marks_of_others(columns, frame)
    columns = {name: _in_file(facts, dialect) for name, facts in columns.items()}
    more: dict[str, Any] = {"csv": dialect} if dialect else {}
    rules = proposed_rules.of(columns)
    more |= {"rules": rules} if rules else {}
    return {
        "about": _ABOUT + (_ABOUT_RULES if rules else ""),
        "missing": [*guesses.ALWAYS_MISSING, *sorted(missing)],
        **more,
        "columns": columns,
    }


def _with_marks_of_others(columns: dict[str, Any], frame: Any) -> dict[str, Any]:
    """Return guesses of columns whose marks leave doubt, where all others have one decimal mark."""
    doubtful = [name for name, facts in columns.items() if _is_of_marks(facts)]
    values = {str(name).strip(): frame[name] for name in frame.columns} if doubtful else {}
    marks = {_decimal_mark(columns[name], own) for name, own in values.items()} - {None}
    if len(marks) != 1:
        return {}
    mark = marks.pop()
    return {name: guesses.column(name, values[name], mark) for name in doubtful}


def _decimal_mark(facts: dict[str, Any], values: Any) -> str | None:
    """Return the decimal mark that a column tells; None where no text has one, or it may be."""
    if facts.get("type") != NUMERIC or _is_of_marks(facts):
        return None
    if facts.get("integer"):
        return facts.get("decimal")
    mark = facts.get("decimal", PLAIN.decimal)
    return mark if any(isinstance(each, str) and mark in each for each in values) else None


def _is_of_marks(facts: dict[str, Any]) -> bool:
    return guessed_formats.is_of_marks(str(facts.get("about", "")))


def _in_file(facts: dict[str, Any], dialect: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a column, with a decimal mark where that of the file is another."""
    is_whole = facts.get("integer") and "decimals" not in facts
    if facts.get("type") != NUMERIC or is_whole:  # which has no mark of the file
        return facts
    mark = facts.get("decimal", PLAIN.decimal)
    others = {key: value for key, value in facts.items() if key != "decimal"}
    return others | ({} if mark == dialect.get("decimal", PLAIN.decimal) else {"decimal": mark})


def confirmed(
    drafted: dict[str, Any],
    columns: dict[str, Any],
    rules: list[dict[str, Any]],
    *,
    by_flag: bool = False,
    num_seen: int | None = None,
) -> dict[str, Any]:
    """Return a draft with the columns that a person confirmed, and rules.

    Args:
        drafted: as `draft` returns it.
        columns: confirmed.
        rules: that hold, or that are proposed.
        by_flag: whether a flag has accepted the guesses, and nobody was asked about each.
        num_seen: how many columns somebody was asked about, the first ones; None for all.
    """
    others = {key: value for key, value in drafted.items() if key != "rules"}
    about = _ACCEPTED if by_flag else CONFIRMED
    if num_seen is not None and num_seen < len(columns):
        about = _SEEN.format(number=num_seen)
    about += _ABOUT_RULES if any(PROPOSED in rule for rule in rules) else ""
    more = {"rules": rules} if rules else {}
    return others | {"about": about, "columns": columns} | more


def write(out: Path, found: dict[str, Any]) -> None:
    """Write a draft to a new file.

    Raises:
        InputError: the file is there, or cannot be written.
    """
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(schema_files.as_text(found))
    except FileExistsError as error:
        raise InputError(f"--out={out}: is there already; name another file") from error
    except OSError as error:
        raise InputError(f"--out={out}: cannot be written ({error.strerror})") from error
