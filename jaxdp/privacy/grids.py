"""How large the grids of privacy loss distributions get, told before any is made.

Accountants have to end soon, in little memory, for whatever numbers a file holds. Sizes are those
that `dp_accounting` takes: it cuts tails by Chernoff bounds, at orders of 1 to 20 over the range of
a step's loss. They are estimates, and decide how coarse a grid is, never what is an upper bound.

References:
    Doroshenko et al. (2022), "Connect the dots", supplementary material, equation 5.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

_MOST_POINTS, _MOST_COMPOSED, _MOST_IN_PYTHON = 2e5, 1e6, 5e4
# A point of a mixture's loss takes a search, which does not end where numbers are coarser than its
# tolerance.
_DEAR, _MOST_NOISE_OF_MIXTURES = 16.0, 1e6
# Where a step's losses have few points, how many all have is told by a power of so many bits.
_FEW_POINTS, _MOST_BITS = 3000, 4e6
# Both ends together: log(2 / 1e-15) each.
_TAILS, _ORDERS = 70.0, 20.0


class Part(NamedTuple):
    """Equal releases of one kind.

    Attributes:
        noise: standard deviation over what one person moves, > 0.
        rate: in (0, 1], with which a step draws a record.
        steps: how many there are.
        people: most records of a person.
    """

    noise: float
    rate: float = 1.0
    steps: int = 1
    people: int = 1

    @property
    def range(self) -> float:
        """About how far apart the losses of a step are."""
        most = 0.5 / self.noise**2 + 8 / self.noise
        if self.rate == 1:
            return 2 * most
        least = math.log1p(self.rate * math.expm1(-most))
        if most > 100:
            return max(most + math.log(self.rate), 0.0) - least
        return math.log1p(self.rate * math.expm1(most)) - least

    @property
    def variance(self) -> float:
        """About that of a step's loss, which with little noise is near all or nothing."""
        everyone = self.noise**-2
        drawn_or_not = self.rate * (1 - self.rate) * (everyone / 2) ** 2
        return min(everyone + drawn_or_not, self.rate**2 * math.expm1(min(everyone, 100.0)))

    def width(self, interval: float) -> float:
        """About how wide the loss of all steps is, rounded to a grid."""
        longest = max(self.range, interval)
        rounded = math.sqrt(self.variance) * max(interval, interval**2)
        spread = self.steps * (self.variance + rounded) / longest
        order = min(max(math.sqrt(_TAILS * longest / max(spread, 1e-300)), 1.0), _ORDERS)
        return min(self.steps * longest, spread * order + _TAILS * longest / order)


def fits(parts: Sequence[Part], interval: float) -> bool:
    """Whether the grids of all parts, and of their composition, are small: a second of work."""
    points = sum(part.range * (_DEAR if part.people > 1 else 1) for part in parts) / interval
    composed = len(parts) * sum(part.width(interval) for part in parts) / interval
    if any(part.people > 1 and part.noise > _MOST_NOISE_OF_MIXTURES for part in parts):
        return False
    return (
        points <= _MOST_POINTS
        and composed <= _MOST_COMPOSED
        and all(_bits(part, interval) <= _MOST_BITS for part in parts)
    )


def coarse_enough(parts: Sequence[Part], interval: float, *, at_most: float) -> float:
    """Return an interval that is no finer, for a grid that a loop of Python goes through.

    Args:
        parts: what is composed.
        interval: the finest that is of use.
        at_most: an interval that fits, which is taken where no finer one is coarse enough.
    """
    while interval < at_most:
        points = sum(part.width(interval) for part in parts) / interval
        if points <= _MOST_IN_PYTHON and fits(parts, interval):
            return interval
        interval *= 2
    return at_most


def _bits(part: Part, interval: float) -> float:
    size = part.range / interval
    return part.steps * math.log2(size + 4) if size < _FEW_POINTS else 0.0
