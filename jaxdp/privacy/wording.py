"""What certificates say in words, the same for every method."""

import decimal
import math
from collections.abc import Iterable

ANY_RECORD = "one image or one row"
UNIT = (
    f"{ANY_RECORD} of the training split, as stored. A person with k records is protected "
    "as a group of k, for which epsilon is k times as large or worse"
)
PERSON = (
    "one person with {most} of the training split. Where a dataset names the "
    "person of each record, further records of a person were left out before anything else; where "
    "it does not, that nobody has more is taken from who ran this"
)
NOT_COVERED = (
    "other runs on the same records, but for those in the dataset's ledger: budgets add up. Two "
    "teachers of epsilon 1 each, or a teacher beside an embedding that it was not accounted with, "
    "are together a release of epsilon 2",
    "the choice of hyper-parameters on private data: every further run on the same data spends "
    "its own epsilon",
    "numbers computed from the test split (accuracies in metrics.json and report.html)",
    "side channels: running time and memory",
    "what floating point leaves of the ideal mechanism: less than 1e-10 of delta up to epsilon 20 "
    "(see docs/guarantee.md)",
)
PUBLIC = (
    "the number n of training records (it sets rates, steps, noise and divisors)",
    "the number and names of classes, the shape of a record, the scaling constants; of a table its "
    "schema: names, types and formats of columns, those too that were guessed from records and "
    "accepted as public",
    "all flags and hyper-parameters in config.json, the networks and random features",
)
COUNTED_CLASSES = (
    "the number of classes, though it was counted from the labels, those of training records "
    "included: store class_names to declare it instead"
)
ACCOUNT = "privacy.json, released.json, config.json and README.md, which tell nothing private"
"""The files about a run that may leave with what it has made."""
MUST_STAY = (
    "the training data, and folders of --feature_cache: features are as private as the data",
    "metrics.json and report.html where the test data are private: accuracies are computed from "
    "them without noise",
    "the folder of --check_copies, --check_fidelity and --ceiling, named .not_for_release: "
    "comparisons with training records and what they teach, without noise",
    "what a killed run has left unfinished: files that end in .part, and in checkpoints/ and "
    "teacher_checkpoints/ folders with .orbax-checkpoint-tmp in their names. --resume makes their "
    "steps and releases anew, with fresh noise",
)
PROMISE = (
    "Replace {what} by {other} and run {again} again: whatever anybody reads out of what may "
    "leave has nearly the same probability {times}, at most e^{epsilon} times as much, plus "
    "{delta}."
)
PROTECTED = "What is protected is {unit}."
NO_SUM = "No epsilon holds at delta = {delta} for what they have released together."
ALONE = "This run by itself"
TOGETHER = "This run and {runs} on the same data, together"
ATTACK = (
    "Who knows all other records and has to tell {question} is right at most {right} % of the "
    "time, where a coin is right 50 % of the time. With {false} false alarm in a hundred, at most "
    "{found} % of what was used is found."
)
QUESTIONS = {
    (True, True): "whether a certain record was used, or an empty one in its place,",
    (True, False): "whether a certain person's records were used, or empty ones in their place,",
    (False, True): "which of two records was used",
    (False, False): "which of two persons' records were used",
}
"""What an attacker has to tell: by whether records are emptied, and whether each is a unit."""
FLAWED = (
    "{number} of {of} earlier runs have noise of versions before 0.2.0, which may tell the sums "
    "under it: no epsilon holds for what they made once it has left, nor for a sum with it. Let it "
    "stay, and make it again"
)
VOID = "Nothing is guaranteed: {reason}."
NO_PROMISE = (
    "There is no guarantee: no noise was added. Whoever sees these files may learn about single "
    "training records, so they need the same care as the training data."
)


def unit(records_per_person: int, *, persons_declared: bool = False) -> str:
    """Return whose records a guarantee is about.

    Args:
        records_per_person: most records k of a person.
        persons_declared: whether somebody has declared k; nobody needs to where it is above 1.
    """
    if records_per_person > 1:
        return PERSON.format(most=f"at most {records_per_person} records")
    return PERSON.format(most="at most one record") if persons_declared else UNIT


def of_kind(said: str, record: str) -> str:
    """Return words of a certificate for data of a known kind: certificates are of any kind.

    Args:
        said: the words.
        record: what one record is called, as "one image".

    Examples:
        >>> from jaxdp.privacy import wording
        >>> wording.of_kind(wording.UNIT, "one image").split(",")[0]
        'one image of the training split'
    """
    return said.replace(ANY_RECORD, record)


def earlier_runs(number: int) -> str:
    """Return how many earlier runs there are, in words."""
    return "an earlier run" if number == 1 else f"{number} earlier runs"


def beside_mu(chances: Iterable[float]) -> str:
    """Return what is to be said beside mu, which is of noise alone.

    Args:
        chances: `threshold_delta` of every ledger.
    """
    rare = math.fsum(chances)
    return f", beside a chance of {rounded_up(rare)} that a threshold fails" if rare else ""


def rounded_up(value: float) -> str:
    """Return four digits that are never less than the value: for what limits a loss."""
    if not math.isfinite(value):
        return str(value)
    rounded = decimal.Context(prec=4, rounding=decimal.ROUND_CEILING).create_decimal(
        repr(float(value))
    )
    return f"{float(rounded):g}"
