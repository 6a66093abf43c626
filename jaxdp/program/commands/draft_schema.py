"""Begin the schema of a table: column names and guessed types; the rest is for a person.

    jaxdp schema patients.csv              # writes patients.json
    jaxdp schema patients.csv --ask        # walks through the columns first

Bounds and categories are left open on purpose: read off the data they would tell about single
records. A person who knows what can occur writes them down; what is left open, a run buys with a
part of epsilon. The guesses are read off the data, and a single record can change one: a person
checks each of them, too.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import command_line
from jaxdp.program.errors import InputError

_GUESSED = (
    "fill in every null, or leave it to be bought, and check every type: types and notes were "
    "guessed from the table's records, names of columns are from its header; no bounds and no "
    "categories of the data are in it"
)
_ASKED = "what you said is public; a run buys what is null"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DraftFlags:
    """The flags of this program."""

    csv: str | None = setting(None, "The table, CSV or Parquet.")
    no_header: bool | None = setting(
        None,
        "Whether the table has no first line of names; then columns are called column_1, "
        "column_2, ... (default: a first line that looks like a record is refused).",
    )
    line_breaks: bool | None = setting(
        None,
        "Whether fields in quotes may hold line breaks (default: a record with one is "
        "refused, as two stray quotes make one of all lines between them).",
    )
    ask: bool = setting(
        False, "Ask about each column in the terminal, so that nothing is left to be edited."
    )
    out: str | None = setting(None, "Where to write the schema (default: beside the table, .json).")

    def __post_init__(self) -> None:
        check_fields(self)


USAGE, TAKES = "FILE.csv", "csv"
KINDS = command_line.define(DraftFlags)


def main(argv: Sequence[str]) -> None:
    """Write the draft; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(DraftFlags)
        from jaxdp.program.data import drafts, table_files  # numpy: not before flags are parsed
        from jaxdp.program.data.outside_files import schema_file

        if asked.csv is None:
            raise InputError("--csv: name the table")
        source = table_files.Source("csv", asked.csv)
        frame, dialect = table_files.header(
            source, rows=drafts.ROWS, no_header=asked.no_header, line_breaks=asked.line_breaks
        )
        found = drafts.draft(frame, dialect.to_json())
        out = Path(asked.out or schema_file(Path(asked.csv))).expanduser()
        if asked.ask:
            from jaxdp.program import interview
            from jaxdp.program.data import answers

            columns, num_asked = interview.walk(
                answers.settled(found["columns"], frame),
                frame,
                reading=answers.reading_in_words(found),
                csv=found.get("csv"),
            )
            agreed = interview.agreed_rules(columns)
            found = drafts.confirmed(found, columns, agreed, num_seen=num_asked)
        drafts.write(out, found)
        print(f"{out}: {_ASKED if asked.ask else _GUESSED}")
