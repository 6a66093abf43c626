"""Show what all runs on a dataset have released together.

python -m experiments.spent --ledger=data/scans.ledger.jsonl
"""

import dataclasses
from collections.abc import Sequence

from absl import app

from experiments import command_line
from experiments.errors import InputError
from jaxdp.methods.settings import check_fields, setting


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpentFlags:
    """The flags of this program."""

    ledger: str | None = setting(
        None, "The file, NAME.ledger.jsonl; runs say where it is when they start."
    )
    delta: float | None = setting(
        None,
        "At which the sum is taken (default: that of the budget, else the largest of a run).",
        above=0,
        below=1,
    )

    def __post_init__(self) -> None:
        check_fields(self)


command_line.define(SpentFlags)


def lines(path: str, delta: float | None) -> list[str]:
    """Return a line for each run in a ledger, and one for all of them.

    Raises:
        InputError: there is no such file, or it was changed.
    """
    # Accountants take a second to import: not before flags are parsed.
    from experiments.data.outside_files import user_path
    from experiments.report.values import round_up
    from experiments.runs.dataset_ledgers import in_one_line
    from jaxdp.privacy.dataset_ledger import DatasetLedger
    from jaxdp.privacy.ledger import joint_epsilon, joint_relation

    file = DatasetLedger(user_path(path, "ledger"))
    with in_one_line(file):
        entries, budget = file.read()
    if not entries:
        raise InputError(f"--ledger={path}: there is no such file, or no run is in it")
    found = [
        f"{entry.at}  {entry.method:<10}  epsilon {round_up(entry.ledger.epsilon())} at delta "
        f"{entry.ledger.delta:g} ({entry.ledger.relation}), {entry.ledger.num_examples} records"
        for entry in entries
    ]
    ledgers = [entry.ledger for entry in entries]
    at = delta or (budget.delta if budget else max(ledger.delta for ledger in ledgers))
    limit = f", of at most {budget.epsilon:g} at {budget.delta:g}" if budget else ""
    together = round_up(joint_epsilon(ledgers, delta=at))
    sum_of_all = f"epsilon {together} at delta {at:g} ({joint_relation(ledgers)}){limit}"
    return [*found, f"all {len(entries)} together: {sum_of_all}"]


def main(argv: Sequence[str]) -> None:
    """Print the table; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(SpentFlags)
        if asked.ledger is None:
            raise InputError("--ledger: name the file")
        print("\n".join(lines(asked.ledger, asked.delta)))


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
