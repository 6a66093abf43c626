"""Which records are held out for tests or make up a subset: by names, whatever the others are."""

import hashlib
import math
from collections.abc import Sequence

TEST_FRACTION = 0.1
"""Of all records, where nothing else is asked for."""


def held_out(names: Sequence[str], fraction: float, *, seed: int) -> list[bool]:
    """Return which records are held out: those with the smallest numbers drawn by name and seed.

    Guarantee:
        If one record is replaced by another of any name, at most one training record is.
    """
    order = in_random_order(names, f"{seed}")
    chosen = set(order[: min(math.ceil(fraction * len(names)), len(names) - 1)])
    return [at in chosen for at in range(len(names))]


def in_random_order(names: Sequence[str], salt: str) -> list[int]:
    """Return the places of records, by numbers that are drawn by name and a public salt.

    Guarantee:
        If one record is replaced by another of any name, the first m of them are other records in
        one case at most.
    """
    numbers = [hashlib.sha256(f"{salt}/{each}".encode(errors="surrogateescape")) for each in names]
    return sorted(range(len(names)), key=lambda at: numbers[at].digest())
