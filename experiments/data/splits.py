"""Which records are held out for tests, where a dataset has no test split."""

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
    numbers = [hashlib.sha256(f"{seed}/{each}".encode(errors="surrogateescape")) for each in names]
    order = sorted(range(len(names)), key=lambda at: numbers[at].digest())
    chosen = set(order[: min(math.ceil(fraction * len(names)), len(names) - 1)])
    return [at in chosen for at in range(len(names))]
