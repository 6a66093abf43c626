"""The schema of a table that is given without one: of an earlier run, a draft, or a person's words.

In this order: NAME.json and NAME.bought.json beside the table, a walk through the columns in a
terminal, the guesses that a flag accepts.
"""

import sys
from pathlib import Path
from typing import Any

from jaxdp.escapes import for_terminal
from jaxdp.program import command_line, interview
from jaxdp.program.data import answers, drafts, proposed_rules, tables
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import schema_purchase

_MOST_NAMED = 40


def of_run(csv: str, *, accept_guesses: bool) -> Path:
    """Return the file of the schema; one that is new has open facts.

    Args:
        csv: the table.
        accept_guesses: whether guesses count as public without a person's answers.

    Raises:
        InputError: nobody has said that the guesses are public, or a file cannot be written.
    """
    flags = command_line.settings_of(RunFlags)
    data = user_path(csv, "csv")
    stem = data.name.split(".")[0]
    file = data.with_name(f"{stem}.json")
    # The draft first, so that a run and its resumption name the same one.
    for path in (file, schema_purchase.file_of(flags)):
        if path.exists():
            print(f"--schema={path}: is there, and is used", file=sys.stderr)
            return path
    source = tables.Source("csv", csv)
    frame, dialect = tables.header(source, rows=drafts.ROWS, no_header=flags.no_header)
    drafted = drafts.draft(frame, dialect.to_json())
    columns = answers.settled(drafted["columns"], frame)
    if flags.person_column in columns:
        columns[flags.person_column] = {"drop": True}
    if accept_guesses:
        rules = proposed_rules.of(columns)
    else:
        columns = _confirmed(csv, columns, frame)
        rules = interview.agreed_rules(columns)
    drafts.write(file, drafts.confirmed(drafted, columns, rules))
    if accept_guesses and rules:
        which = "1 rule" if len(rules) == 1 else f"{len(rules)} rules"
        print(
            f"{file}: {which} that names of columns suggest must be accepted by hand: take "
            '"proposed" out where it holds in every record that can occur',
            file=sys.stderr,
        )
    print(f"{file}: the schema, in which what is null is bought", file=sys.stderr)
    return file


def _confirmed(csv: str, columns: dict[str, Any], frame: Any) -> dict[str, Any]:
    """Return what a person says of the columns.

    Raises:
        InputError: there is no terminal to ask in.
    """
    if sys.stdin.isatty() and sys.stderr.isatty():
        return interview.walk(columns, frame)
    named = [f"{for_terminal(n)} {answers.in_words(facts)}" for n, facts in columns.items()]
    more = f", and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    raise InputError(
        f"{csv}: has no schema. By its first records: {', '.join(named[:_MOST_NAMED])}{more}. One "
        "record can change a guess: if all of these are right by what can occur, give "
        "--accept_guesses; else begin a schema by `jaxdp schema`"
    )
