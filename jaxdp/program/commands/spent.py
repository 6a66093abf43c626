"""Show what all runs on a dataset have released together.

jaxdp spent --ledger=data/scans.ledger.jsonl
jaxdp spent data/scans
"""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from jaxdp.methods.settings import check_fields, setting
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.program import command_line
from jaxdp.program.errors import InputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpentFlags:
    """The flags of this program."""

    ledger: str | None = setting(
        None,
        "The file, NAME.ledger.jsonl, or the data that it is of; runs say where it is when they "
        "start.",
    )
    delta: float | None = setting(
        None,
        "At which the sum is taken (default: that of the budget, else the largest of a run).",
        at_least=LEAST_DELTA,
        below=1,
    )

    def __post_init__(self) -> None:
        check_fields(self)


USAGE, TAKES = "LEDGER", "ledger"
KINDS = command_line.define(SpentFlags)


def lines(path: str, delta: float | None) -> list[str]:
    """Return a line for each run in a ledger, and some for all of them.

    Raises:
        InputError: there is no such file, or it was changed.
    """
    # Accountants take a second to import: not before flags are parsed.
    from jaxdp.escapes import for_terminal
    from jaxdp.privacy.certificates import whole_loss
    from jaxdp.privacy.ledger import joint_epsilon, joint_relation
    from jaxdp.privacy.wording import FLAWED, beside_mu
    from jaxdp.program.report.values import round_up
    from jaxdp.program.runs import dataset_ledgers

    contents = dataset_ledgers.named(path)
    entries, budget = contents.entries, contents.budget
    found = [
        f"{for_terminal(entry.at)}  {for_terminal(entry.method):<10}  "
        f"epsilon {round_up(entry.ledger.epsilon())} at delta "
        f"{entry.ledger.delta:g} ({entry.ledger.relation}), {entry.ledger.num_examples} records"
        for entry in entries
    ]
    ledgers = [entry.ledger for entry in entries]
    at = delta or (budget.delta if budget else max(ledger.delta for ledger in ledgers))
    limit = f", of at most {budget.epsilon:g} at {budget.delta:g}" if budget else ""
    whole = joint_epsilon(ledgers, delta=at)
    is_less = len(ledgers) > 1 and whole < sum(each.epsilon() for each in ledgers) < math.inf
    composed = ", less than the sum because losses compose" if is_less else ""
    sum_of_all = (
        f"epsilon {round_up(whole)} at delta {at:g} ({joint_relation(ledgers)}){limit}{composed}"
    )
    loss = whole_loss(tuple(ledgers))
    flawed = sum(ledger.has_flawed_noise for ledger in ledgers)
    warned = [f"WARNING: {FLAWED.format(number=flawed, of=len(entries))}"] if flawed else []
    persons = all(entry.is_of_persons for entry in entries)
    unit = "persons" if persons else "single records, whoever they are of"
    return [
        *found,
        f"all {len(entries)} together: {sum_of_all}",
        f"protected are {unit}",
        f"mu = {round_up(loss['gaussian_dp_mu'])} of Gaussian differential privacy"
        f"{beside_mu(ledger.threshold_delta for ledger in ledgers)}",
        loss["attacker"]["in_words"],
        *warned,
    ]


def main(argv: Sequence[str]) -> None:
    """Print the table; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(SpentFlags)
        if asked.ledger is None:
            raise InputError("--ledger: name the file")
        print("\n".join(lines(_file_of(asked.ledger), asked.delta)))


def _file_of(word: str) -> str:
    """Return the ledger that a word names, or that of the data which it names.

    Raises:
        InputError: nothing counts runs on such data.
    """
    from jaxdp.program import named_data
    from jaxdp.program.data.outside_files import TABLE_ENDINGS
    from jaxdp.program.run_flags import RunFlags
    from jaxdp.program.runs import dataset_ledgers

    path = Path(word).expanduser()
    if path.suffix.lower() in TABLE_ENDINGS:
        flags = RunFlags(csv=word)
    elif path.is_dir() or path.suffix == ".npz":
        flags = RunFlags(**named_data.named(word))
    else:
        return word
    file = dataset_ledgers.of_run(flags)
    if file is None:
        raise InputError(f"{word}: these data are public, and no ledger counts runs on them")
    return str(file.path)
