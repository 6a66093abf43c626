"""How many records of one person are used: a bound on what a person contributes.

References:
    Amin, Kulesza, Munoz & Vassilvitskii (2019), "Bounding user contributions: a bias-variance
        trade-off in differential privacy".
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Shaped

from jaxdp import plain_numbers


def bounded(
    persons: Shaped[np.ndarray, " n"] | Sequence[str], *, most: int, seed: int = 0
) -> Int[np.ndarray, " m"]:
    """Return the places of records to use, so that no person has more than `most` of them.

    Of a person with more, those records are used whose random numbers are the smallest. A record's
    number is a hash of a public seed, the person and the record's place among the person's own.

    Args:
        persons: of each record, as texts or whole numbers.
        most: records k of a person that are used at most, in 1..100.
        seed: public.

    Returns:
        Places in increasing order.

    Raises:
        ValueError: `most` is out of range, or persons are neither texts nor whole numbers.

    Guarantee:
        Every person has at most `most` records among those used. Which of a person's records are
        used depends on their number alone, and on nothing of other persons or of what records hold.

    Examples:
        >>> from jaxdp.privacy import bounded
        >>> persons = ["ann", "bob", "ann", "ann"]
        >>> used = bounded(persons, most=2)
        >>> [persons[place] for place in used].count("ann"), len(used)
        (2, 3)
    """
    most = plain_numbers.records_per_person(most, "most")
    named = persons if isinstance(persons, np.ndarray) else np.asarray(persons, _kind_of(persons))
    is_texts = named.dtype == object and all(isinstance(person, str) for person in named)
    if named.ndim != 1 or not (is_texts or named.dtype.kind in "iuU"):
        raise ValueError(
            f"persons must be texts or whole numbers, one a record; got {named.dtype} of shape "
            f"{named.shape}"
        )
    names, person_of, counts = np.unique(named, return_inverse=True, return_counts=True)
    order = np.argsort(person_of, kind="stable")
    kept = np.ones(len(named), bool)
    ends = np.cumsum(counts)
    for person in np.flatnonzero(counts > most):
        records = order[ends[person] - counts[person] : ends[person]]
        ranks = np.argsort(_numbers(str(names[person]), len(records), seed), kind="stable")
        kept[records[ranks[most:]]] = False
    return np.flatnonzero(kept)


def _kind_of(persons: Sequence[str]) -> type | None:
    """Return how to keep persons: texts as Python's, as numpy's own lose NULs at their end."""
    return object if all(isinstance(person, str) for person in persons) else None


def _numbers(person: str, count: int, seed: int) -> np.ndarray:
    start = hashlib.sha256(f"{seed}/{person}".encode(errors="surrogateescape")).digest()
    stream = np.random.default_rng(np.frombuffer(start, np.uint32))
    return stream.random(count)
