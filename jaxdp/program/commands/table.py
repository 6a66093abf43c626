"""Make a synthetic table of a private one, CSV or Parquet; how is chosen for your data.

jaxdp table patients.csv --eps=1
jaxdp table patients.csv --schema=patients.json --target=outcome --eps=3 --out_dir=runs/patients

Without a schema the command walks through the columns with you, or takes its guesses by
--accept_guesses. What you do not declare is bought with a part of epsilon. The run leaves
synthetic.csv, with the columns of the table. The command says which method and settings it takes,
and why. `jaxdp run METHOD --help` has all flags of a method.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import chosen, command_line, named_data, several_processes
from jaxdp.program.errors import InputError

USAGE = "FILE.csv [--flag=value ...]"
TAKES_FILES = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableFlags:
    """The flags of this program."""

    GROUP: ClassVar[str] = "method"

    method: str | None = setting(
        None,
        "marginals makes a table of any length by a model of all columns (default), dp_ntk one for "
        "classifiers; teacher and dp_kip a few records of each class.",
        among=tuple(chosen.METHODS),
        usual=True,
    )

    accept_guesses: bool = setting(
        False,
        "Take the guessed types of a table without a schema as public: you have looked at them.",
        fixed=False,
        usual=True,
        group="data",
    )

    accept_rules: bool | None = setting(
        None,
        "With --accept_guesses: whether the rules hold that names of columns suggest, such as "
        "admitted <= discharged (no default: the run asks for it where there are any).",
        fixed=False,
        group="data",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.accept_rules is not None and not self.accept_guesses:
            raise InputError("--accept_rules: is for --accept_guesses; give both")


KIND, KINDS = "table", chosen.define(TableFlags, "marginals")


def main(argv: Sequence[str]) -> None:
    """Run what is chosen; bad input ends it with one line and exit code 2."""
    with several_processes.ending_together(), command_line.one_line_errors():
        asked = command_line.settings_of(TableFlags)
        command_line.prepare()
        named_data.name_table(argv[1:])
        if not command_line.is_given("csv"):
            raise InputError("name a table, a CSV or Parquet file")
        chosen.check(asked.method)
        if not command_line.is_given("schema"):
            from jaxdp.program import first_schema  # numpy: not before flags are parsed

            csv = str(command_line.FLAGS["csv"].value)
            found = first_schema.of_run(
                csv, accept_guesses=asked.accept_guesses, accept_rules=asked.accept_rules
            )
            command_line.put("schema", str(found))
        chosen.run(asked.method)
