"""What noisy counts tell of a column: its part in use, its quantiles, its spikes; post-processing.

References:
    Barlow, Bartholomew, Bremner & Brunk (1972), "Statistical inference under order restrictions"
        (sums that do not fall).
"""

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

MOST_BINS, FEWEST_BINS = 32, 4
# Chance that noise alone passes in any cell of a column.
_BY_CHANCE = 0.002
# The same for any one cell of a first look, or for a few side by side.
_HARDLY, _SURELY, _NEAR, _WINDOWS = 2.8, 4.5, 6, (1, 2, 4, 8, 16)
# Of counts without noise, in records.
_LEAST_STDDEV = 0.1
# Sums so many times their noise are told from nothing, and from all.
_CERTAIN = 2.5
# A part of a column has at least so much more than the noise of its sum.
_LEAST = 2.0
# Numbers of one sign begin at 0 where they reach over so many times their least.
_RATIO = 16.0
MOST_SPIKES = 12
# The first bin, and the last, are longer than those beside them by so much of these.
_ROOM = 3.0
# Nobody would write numbers so near to each other, in parts of a column's length.
_SHORT = 1e-6


class Range(NamedTuple):
    """The part of a column's scale that is in use.

    Attributes:
        edges: (k,) of its cells, ascending.
        shares: (k - 1,) noisy shares of the records in them.
    """

    edges: Float[np.ndarray, " k"]
    shares: Float[np.ndarray, " _"]


class Sums(NamedTuple):
    """Sums of a column's counts, from its first leaf to each.

    Attributes:
        leaves: (m + 1,) edges.
        sums: (m,) estimated numbers of records below the end of each leaf.
        num_records: that have a number at all, as far as is known.
        stddevs: (m,) of the noise of each.
        leaf_stddev: of the difference of two sums that follow each other.
    """

    leaves: Float[np.ndarray, " _"]
    sums: Float[np.ndarray, " m"]
    num_records: float
    stddevs: Float[np.ndarray, " m"]
    leaf_stddev: float

    @property
    def stddev(self) -> float:
        """The largest of their standard deviations."""
        return float(np.max(self.stddevs))


class Leaf(NamedTuple):
    """A leaf that holds more records than its neighbours.

    Attributes:
        low: where it begins.
        high: where the next one begins.
        num_records: of those in it, noisy.
    """

    low: float
    high: float
    num_records: float


class Cuts(NamedTuple):
    """How a column is cut.

    Attributes:
        low: least value, in the column's own units.
        high: end of the last bin; whole numbers end one before.
        inner: edges between bins.
        heavy: leaves that hold more records than their neighbours.
    """

    low: float
    high: float
    inner: tuple[float, ...]
    heavy: tuple[Leaf, ...]

    def is_short(self, leaf: Leaf) -> bool:
        """Whether a leaf is so short that its numbers are one."""
        return leaf.high - leaf.low < _SHORT * (self.high - self.low)

    def without(self, empty: Collection[Leaf]) -> "Cuts":
        """Return the same where some heavy leaves, but for their spikes, are no bins of their own.

        What is left of each is a part of the bin that follows, or of the one before at the end.
        """
        freed = {leaf.high if leaf.high < self.high else leaf.low for leaf in empty}
        return self._replace(inner=tuple(edge for edge in self.inner if edge not in freed))


def range_of(
    counts: Float[np.ndarray, " _"],
    stddev: float,
    edges: Float[np.ndarray, " k"],
    likely: Float[np.ndarray, " _"],
) -> Range:
    """Return the part of a scale that is in use.

    From the first cell whose count is hardly by chance to the last, alone or with those beside it,
    and one more at either end. Too long a part costs little: leaves go where records are, and the
    next counts tell where these end.

    Args:
        counts: noisy, of the cells before, between and after the edges.
        stddev: of their noise.
        edges: of `jaxdp.tables.scales`.
        likely: for each cell between two edges, of `grids.likely`.
    """
    # The cells beyond the edges have no end: what lies there counts as the next cell.
    inside = counts[1:-1].copy()
    inside[0] += counts[0]
    inside[-1] += counts[-1]
    has_mirror = math.isclose(edges[0], -edges[-1], rel_tol=0.01)  # one end lies past a bound
    first, last = _told(inside, stddev, likely, has_mirror=has_mirror)
    low, high = edges[first], edges[last + 1]
    zero = np.flatnonzero(edges == 0)
    has_zero = len(zero) > 0
    if low > 0 and has_zero and high > _RATIO * low:
        first = int(zero[0])
    elif high < 0 and has_zero and low < _RATIO * high:
        last = int(zero[0]) - 1
    if edges[first] != 0 and first > 0:
        first -= 1
    if edges[last + 1] != 0 and last + 2 < len(edges):
        last += 1
    kept = slice(first, last + 1)
    return Range(edges[first : last + 2], inside[kept] / max(float(np.sum(inside)), 1.0))


def _told(
    counts: np.ndarray, stddev: float, likely: np.ndarray, *, has_mirror: bool
) -> tuple[int, int]:
    """Return the first cell and the last that hold more than noise explains.

    Most records lie where a few cells side by side hold the most for the noise that they have, and
    are likely to. What lies far from there counts where it is no chance, and what is near where it
    is hardly one: near, too, are numbers of that size with the other sign.
    """
    stddev = max(stddev, _LEAST_STDDEV)
    first, last, most = 0, 0, -math.inf
    told: list[tuple[int, int, float]] = []
    for width in _WINDOWS:
        if width <= len(counts):
            score = np.convolve(counts, np.ones(width), mode="valid") / (stddev * width**0.5)
            prior = np.convolve(likely, np.ones(width) / width, mode="valid")
            odds = score * np.abs(score) / 2 + prior
            best = int(np.argmax(odds))
            if odds[best] > most:
                first, last, most = best, best + width - 1, float(odds[best])
            told += [
                (int(start), int(start) + width - 1, float(score[start]))
                for start in np.flatnonzero(score > _HARDLY)
            ]
    kept = [(first, last)]
    for start, end, score in told:
        far = max(first - end, start - last) > _NEAR
        if has_mirror:
            other_first, other_last = len(counts) - 1 - last, len(counts) - 1 - first
            far = far and max(other_first - end, start - other_last) > _NEAR
        # Of a window that tells, the cells at its ends that are more than nothing.
        own = start + np.flatnonzero(counts[start : end + 1] > stddev / 2)
        if len(own) and score > (_SURELY if far else _HARDLY):
            kept.append((int(own[0]), int(own[-1])))
    return min(start for start, _ in kept), max(end for _, end in kept)


def cuts_of(found: Sums, *, zero_is_least: bool) -> Cuts:
    """Return how a column is cut: spikes apart, and the rest by quantiles that noise can tell.

    Args:
        found: what is known of it.
        zero_is_least: whether its numbers are taken to begin at 0 where no more than the room for
            what noise hides lies below. So it is with ages and costs, and not with dates.
    """
    from sklearn.isotonic import isotonic_regression  # takes a while

    leaves, sums = found.leaves, found.sums
    each = np.diff(sums, prepend=0.0)
    rising = np.clip(isotonic_regression(sums), 0.0, found.num_records)
    size = max(found.num_records / MOST_BINS, _LEAST * found.stddev, 1e-9)
    size = min(size, found.num_records / FEWEST_BINS)
    heavy = _heavy(each, found.leaf_stddev, size)
    first, last = _used(rising, heavy, found, size, zero_is_least=zero_is_least)
    inner: set[float] = set()
    start = first
    for leaf in [*heavy, last + 1]:
        if first <= leaf <= last:
            inner |= {float(leaves[leaf]), float(leaves[leaf + 1])}
        inner |= _quantiles(leaves, rising, start, leaf, size)
        start = leaf + 1
    low, high = float(leaves[first]), float(leaves[last + 1])
    if low < 0 < high and -low < _SHORT * (high - low):
        low = 0.0
    return Cuts(
        low=low,
        high=high,
        inner=tuple(sorted(edge for edge in inner if low < edge < high)),
        heavy=tuple(
            Leaf(float(leaves[leaf]), float(leaves[leaf + 1]), float(each[leaf]))
            for leaf in heavy
            if low <= leaves[leaf]
        ),
    )


def _heavy(each: np.ndarray, stddev: float, size: float) -> list[int]:
    """Return the leaves that hold more than their neighbours and noise explain."""
    # Eight leaves beside one have noise of their own.
    stddev *= 1.125**0.5
    least = max(-float(ndtri(_BY_CHANCE / len(each))) * stddev, size / 2)
    nine = np.ones(9)
    others = np.convolve(np.ones(len(each)), nine)[4:-4] - 1
    beside = (np.convolve(each, nine)[4:-4] - each) / np.maximum(others, 1)
    found = np.flatnonzero(each - np.maximum(beside, 0.0) > least)
    return sorted(map(int, found[np.argsort(-each[found])][:MOST_SPIKES]))


def _used(
    rising: np.ndarray, heavy: list[int], found: Sums, size: float, *, zero_is_least: bool
) -> tuple[int, int]:
    """Return the first and the last leaf that are in use, with room for what noise hides.

    Noise hides where the first bin begins and where the last one ends: these are longer than those
    beside them.
    """
    total, edges, top = found.num_records, found.leaves, len(rising) - 1
    least = np.minimum(_CERTAIN * found.stddevs, total / FEWEST_BINS)
    first = int(np.argmax(rising > least))
    # The first leaf from which on nothing is left; the first of all where one leaf has everything.
    last = min(int(np.max(np.flatnonzero(total - rising > least), initial=-1)) + 1, top)
    one, two = (float(edges[np.searchsorted(rising, part * size)]) for part in (1, 2))
    at = [int(np.searchsorted(rising, total - part * size)) for part in (1, 2)]
    from_end, before = (float(edges[min(leaf, top) + 1]) for leaf in at)
    # Without noise there is nothing to hide.
    room = _ROOM * min(1.0, float(np.max(least)) / size)
    length = (two - one) or _length_within(edges, rising, heavy, (size, 2 * size))
    low = min(edges[first], max(edges[0], one - room * length))
    if zero_is_least and low < 0 <= edges[first]:
        low = 0.0
    ends = (total - 2 * size, total - size)
    length = (from_end - before) or _length_within(edges, rising, heavy, ends)
    high = max(edges[last + 1], min(edges[-1], from_end + room * length))
    first = int(np.searchsorted(edges, low, side="right")) - 1
    last = int(np.searchsorted(edges, high)) - 1
    if heavy:
        first, last = min(first, heavy[0]), max(last, heavy[-1])
    return max(first, 0), max(first, min(last, len(rising) - 1))


def _length_within(
    edges: np.ndarray, rising: np.ndarray, heavy: list[int], targets: tuple[float, float]
) -> float:
    """Return how far two sums of one leaf lie apart in it, as if its records lay there evenly.

    Whole numbers of which few differ have hundreds of records in a leaf. One that is heavy is a
    spike, with nothing around it.
    """
    leaf = min(int(np.searchsorted(rising, targets[1])), len(rising) - 1)
    if leaf in heavy:
        return 0.0
    there = float(rising[leaf] - (rising[leaf - 1] if leaf else 0.0))
    part = (targets[1] - targets[0]) / max(there, 1e-9)
    return min(part, 1.0) * float(edges[leaf + 1] - edges[leaf])


def _quantiles(
    leaves: np.ndarray, rising: np.ndarray, start: int, end: int, size: float
) -> set[float]:
    """Return edges that cut leaves from `start` to before `end` into bins of about one size."""
    if end <= start:
        return set()
    below = float(rising[start - 1]) if start else 0.0
    mass = float(rising[end - 1]) - below
    num = max(round(mass / size), 1)
    targets = below + mass * np.arange(1, num) / num
    return {float(leaves[start + np.searchsorted(rising[start:end], t) + 1]) for t in targets}
