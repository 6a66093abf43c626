"""The schema of a table that is given without one: of an earlier run, a draft, or a person's words.

In this order: NAME.json and NAME.bought.json beside the table, a walk through the columns in a
terminal, the guesses that a flag accepts.
"""

import difflib
import sys
from pathlib import Path
from typing import Any

from jaxdp.escapes import for_terminal
from jaxdp.program import command_line, interview
from jaxdp.program.data import (
    answers,
    classes,
    drafts,
    guessed_formats,
    guesses,
    proposed_rules,
    table_files,
    tables,
)
from jaxdp.program.data.outside_files import schema_file, table_name, user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import schema_purchase
from jaxdp.tables import OpenSchema, SchemaError, rules

_MOST_NAMED = 40


def of_run(csv: str, *, accept_guesses: bool, accept_rules: bool | None = None) -> Path:
    """Return the file of the schema; one that is new has open facts.

    Args:
        csv: the table.
        accept_guesses: whether guesses count as public without a person's answers.
        accept_rules: whether rules that names suggest hold, then; None where nobody has said.

    Raises:
        InputError: nobody has said that the guesses are public, or whether rules hold; there is no
            such target, the table does not hold what was guessed, or a file cannot be written.
    """
    flags = command_line.settings_of(RunFlags)
    data = user_path(csv, "csv")
    classes.require_text(table_name(data), "its name")
    there = schema_purchase.found_beside(flags)
    if there is not None:
        print(f"--schema={there}: is there, and is used", file=sys.stderr)
        return there
    source = table_files.Source("csv", csv)
    frame, dialect = table_files.header(
        source, rows=drafts.ROWS, no_header=flags.no_header, line_breaks=flags.line_breaks
    )
    drafted = drafts.draft(frame, dialect.to_json())
    columns = answers.settled(drafted["columns"], frame, target=flags.target)
    if flags.person_column in columns:
        columns[flags.person_column] = {"drop": True}
    _require_target(csv, flags.target, columns)
    num_asked = None
    if accept_guesses:
        agreed = _accepted_rules(csv, columns, accept_rules)
        _tell_left_out(columns)
        _tell_made_new(columns)
        _tell_odd(drafted["columns"])
    else:
        columns, num_asked = _confirmed(csv, columns, frame, drafted)
        agreed = interview.agreed_rules(columns)
    found = drafts.confirmed(drafted, columns, agreed, by_flag=accept_guesses, num_seen=num_asked)
    _require_readable(source, found, flags)
    file = schema_file(data)
    drafts.write(file, found)
    print(f"{file}: the schema, in which what is null is bought", file=sys.stderr)
    return file


def _require_readable(source: table_files.Source, found: dict[str, Any], flags: Any) -> None:
    """Raise an `InputError` where the table is not as a draft has it.

    Later runs take a draft that is there, so none is left of a table that cannot be read.
    """
    try:
        opened = OpenSchema.from_json(found, target=flags.target)
    except SchemaError as error:
        raise source.error(str(error)) from error
    try:
        tables.require_readable(source, opened.schema, least=1 if flags.test_csv else 2)
    except InputError as error:
        if not isinstance(error.__cause__, SchemaError):
            raise
        raise InputError(f"{error}; `jaxdp schema` begins a schema that says otherwise") from error


def _require_target(csv: str, target: str | None, columns: dict[str, Any]) -> None:
    """Raise an `InputError` where there is no such column, before a schema is written."""
    if target is None or target in columns:
        return
    near = difflib.get_close_matches(target, columns, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"its columns are {', '.join(columns)}"
    raise InputError(f"--target={target}: {csv} has no such column; {hint}")


def _accepted_rules(
    csv: str, columns: dict[str, Any], accept_rules: bool | None
) -> list[dict[str, Any]]:
    """Return the rules that names suggest: as they hold, or as they are proposed.

    Raises:
        InputError: there are some, and nobody has said whether they hold.
    """
    proposed = proposed_rules.of(columns)
    if proposed and accept_rules is None:
        named = "; ".join(str(rules.from_json(rule)) for rule in proposed)
        raise InputError(
            f"{csv}: names of columns suggest rules: {for_terminal(named)}. Give --accept_rules "
            "where they hold in every record that can occur: all records made will obey them. "
            "Else give --noaccept_rules: many records made will break them"
        )
    if not accept_rules:
        return proposed
    return [{k: v for k, v in rule.items() if k != rules.PROPOSED} for rule in proposed]


def _tell_left_out(columns: dict[str, Any]) -> None:
    names = [for_terminal(name) for name, facts in columns.items() if facts.get("drop")]
    if names:
        print(
            f"left out: {', '.join(names)} (nothing stands there, or names or notes seem to); a "
            'schema says otherwise, as {"type": "text", "fake": "name"} for new ones',
            file=sys.stderr,
        )


def _tell_made_new(columns: dict[str, Any]) -> None:
    names = [for_terminal(name) for name, facts in columns.items() if facts == answers.COUNTER]
    if names:
        print(f"made new: {', '.join(names)} (records seem to be numbered by it)", file=sys.stderr)


def _tell_odd(drafted: dict[str, Any]) -> None:
    """Say which columns may be of another type or format than was guessed, or have no missing."""
    for name, facts in drafted.items():
        about = str(facts.get("about", ""))
        is_doubt = guessed_formats.is_of_order(about) or guessed_formats.is_of_marks(about)
        if about in (guesses.MIXED, guesses.NAMIBIA) or is_doubt:
            print(f"{for_terminal(name)}: {for_terminal(about)}", file=sys.stderr)


def _confirmed(
    csv: str, columns: dict[str, Any], frame: Any, drafted: dict[str, Any]
) -> interview.Walked:
    """Return what a person says of the columns.

    Raises:
        InputError: there is no terminal to ask in.
    """
    reading = answers.reading_in_words(drafted)
    if sys.stdin.isatty() and sys.stderr.isatty():
        return interview.walk(columns, frame, reading=reading, csv=drafted.get("csv"))
    named = [f"{for_terminal(n)} {answers.in_words(facts)}" for n, facts in columns.items()]
    more = f", and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    raise InputError(
        f"{csv}: has no schema. By its first records: {', '.join(named[:_MOST_NAMED])}{more}; "
        f"{for_terminal(reading)}. One record can change a guess: if all of these are right by "
        "what can occur, give --accept_guesses; else begin a schema by `jaxdp schema`"
    )
