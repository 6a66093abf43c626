"""Which datasets are neighbours: what a guarantee compares the private records with.

Under zero-out one record becomes empty and contributes nothing; under replace it becomes any other.
Whatever is added up over records moves by one contribution under the first, and by two at most
under the second: one goes, and another one comes.

References:
    Desfontaines & Pejo (2020), "SoK: differential privacies", section 4 (neighbouring relations).
    Ponomareva et al. (2023), "How to DP-fy ML", section 2.1.1 (the zero-out relation).
"""

from collections.abc import Iterable

ZERO_OUT, REPLACE = "zero-out", "replace"
IN_WORDS = {
    ZERO_OUT: "zero-out: one training record is replaced by an empty record, which contributes "
    "nothing; the number n of records stays the same and is public",
    REPLACE: "replace: one training record is replaced by any other record; the number n "
    "of records stays the same and is public",
}
"""What each relation means."""
NAMES = tuple(IN_WORDS)


def require(relation: str) -> None:
    """Raise a `ValueError` unless a relation is known."""
    if relation not in NAMES:
        raise ValueError(f"relation must be one of {NAMES}, got {relation!r}")


def contributions(relation: str) -> int:
    """Return how many contributions of one record a sum moves by at most.

    Examples:
        >>> from jaxdp.privacy import relations
        >>> relations.contributions("zero-out"), relations.contributions("replace")
        (1, 2)
    """
    return 2 if relation == REPLACE else 1


def joint(found: Iterable[str]) -> str:
    """Return the relation under which releases of several hold together.

    What holds where a record is replaced by any other one holds where it becomes empty.
    """
    return REPLACE if set(found) == {REPLACE} else ZERO_OUT
