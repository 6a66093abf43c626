"""What noisy counts tell of columns and of their dependences: post-processing.

Each pair's counts tell the shares of both columns' cells, too, and together they tell these better
than the counts of columns do. How strong the dependence of two columns is likely to be is estimated
from their own counts: where noise explains them as well, the columns count as independent.

References:
    Efron & Morris (1973), "Stein's estimation rule and its competitors" (empirical Bayes).
    Lawson & Hanson (1974), "Solving least squares problems", chapter 23 (no negative shares).
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from jaxdp.methods.marginals import alike
from jaxdp.tables.domain import Domain, Pair

_LEAST_SHARE = 1e-5
# A dependence has to be so much likelier than none, in logarithms of likelihoods.
_LEAST_GAIN = 2.0
_STRENGTHS = 10.0 ** np.arange(-4, 2.1, 0.25)
_ROUGHNESSES = (0.0, 0.5, 1.0)
_SPREADS = 10.0 ** np.arange(-8, 0, 0.5)


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """Noisy counts as shares of all records, and how large their noise is.

    Attributes:
        domain: the cells.
        num_records: n.
        columns: noisy share of each cell of all columns.
        column_stddev: of the noise on each.
        pairs: noisy mean of `F_j^T F_k` of each pair that was counted.
        pair_stddev: of the noise on each entry.
        moments: noisy second moments of normal scores and a constant (`factors`), of all columns
            but the target; empty where none were released.
        moment_stddev: of the noise on each number of their diagonal.
    """

    domain: Domain
    num_records: int
    columns: Float[np.ndarray, " d"]
    column_stddev: float
    pairs: Mapping[Pair, np.ndarray]
    pair_stddev: Mapping[Pair, float]
    moments: Float[np.ndarray, "q q"] = dataclasses.field(default_factory=lambda: np.empty((0, 0)))
    moment_stddev: float = 0.0

    def of(self, first: int, second: int) -> tuple[np.ndarray, float]:
        """Return the mean of a pair in either order, and the noise on it."""
        if first < second:
            return self.pairs[first, second], self.pair_stddev[first, second]
        return self.pairs[second, first].T, self.pair_stddev[second, first]

    def has(self, first: int, second: int) -> bool:
        """Whether a pair was counted."""
        return (min(first, second), max(first, second)) in self.pairs

    @property
    def is_apart(self) -> bool:
        """Whether columns are paired with the target at most: they are independent given it."""
        return len(self.pairs) < len(self.domain.pairs)

    def has_target(self, column: int) -> bool:
        """Whether the pair of a column and the target was counted."""
        target = self.domain.target
        return target is not None and self.has(column, target)

    @functools.cached_property
    def shares(self) -> tuple[Float[np.ndarray, " _"], ...]:
        """Share of the records in each cell of each column: positive, with sum 1."""
        columns = list(range(len(self.domain.widths)))
        if not self.is_apart:
            return tuple(_shares(self, [column])[0] for column in columns)
        found: dict[int, np.ndarray] = {}
        own = [column for column in columns if column != self.domain.target]
        for group in alike.groups(self.domain, own):
            found |= zip(group, _shares(self, group), strict=True)
        if self.domain.target is not None:
            found[self.domain.target] = _shares(self, [self.domain.target])[0]
        return tuple(found[column] for column in columns)

    @functools.cached_property
    def partners(self) -> tuple[tuple[int, ...], ...]:
        """For each column those that it was counted with, in order."""
        found: list[list[int]] = [[] for _ in self.domain.widths]
        for first, second in self.pairs:
            found[first].append(second)
            found[second].append(first)
        return tuple(tuple(sorted(each)) for each in found)

    @functools.cached_property
    def turns(self) -> tuple[Float[np.ndarray, "_ _"], ...]:
        """For each column the rotation that makes its features uncorrelated under its shares."""
        return tuple(map(turn_of, self.domain.features, self.shares))

    @functools.cached_property
    def bases(self) -> tuple[Float[np.ndarray, "_ _"], ...]:
        """Each column's features, turned."""
        each = zip(self.domain.features, self.turns, strict=True)
        return tuple(features @ turn for features, turn in each)

    def turned(self, pair: Pair) -> Float[np.ndarray, "v w"]:
        """Return the mean of a pair in turned features."""
        left, right = (self.turns[each] for each in pair)
        return left.T @ self.pairs[pair] @ right

    def spreads(self, column: int) -> Float[np.ndarray, " w"]:
        """Return the variances of a column's turned features."""
        shares, basis = self.shares[column], self.bases[column]
        return np.maximum(shares @ basis**2 - (shares @ basis) ** 2, 1e-9)

    def uncertainty(self, pair: Pair) -> Float[np.ndarray, "v w"]:
        """Return the variance of a pair's turned means: of noise, and of n records being few."""
        chance = np.outer(*(self.spreads(each) for each in pair)) / self.num_records
        return self.pair_stddev[pair] ** 2 + chance

    def dependence(self, pair: Pair) -> tuple[Float[np.ndarray, "v w"], float]:
        """Return the variance of a pair's coefficients, and how much likelier it is than none."""
        means = [self.shares[each] @ self.bases[each] for each in pair]
        away = (self.turned(pair) - np.outer(*means)) ** 2
        spread = np.outer(*(self.spreads(each) for each in pair))
        return likeliest_strength(away, self.uncertainty(pair), spread)

    @functools.cached_property
    def dependences(self) -> dict[Pair, np.ndarray]:
        """Variance of the coefficients of each pair that depends on each other beyond doubt."""
        found = {pair: self.dependence(pair) for pair in self.pairs}
        return {pair: prior for pair, (prior, gain) in found.items() if gain > _LEAST_GAIN}

    def strength(self, pair: Pair) -> float:
        """Return how much two columns tell of each other; 0 for nothing that is beyond doubt."""
        if pair not in self.dependences:
            return 0.0
        spread = np.outer(*(self.spreads(each) for each in pair))
        return float(np.sum(self.dependences[pair] * spread**2))

    def strongest(self, number: int, *, always: int | None) -> tuple[Pair, ...]:
        """Return the pairs whose dependence is the most certain, and those of one column.

        Args:
            number: how many.
            always: the column whose pairs come first; None for none.
        """
        gains = {pair: self.dependence(pair)[1] for pair in self.pairs}
        order = sorted(gains, key=lambda pair: (always not in pair, -gains[pair]))
        return tuple(sorted(order[:number]))


def likeliest_strength(
    away: Float[np.ndarray, "v w"],
    noise: Float[np.ndarray, "v w"],
    spread: Float[np.ndarray, "v w"],
) -> tuple[Float[np.ndarray, "v w"], float]:
    """Return the variance of coefficients that is likeliest, and how much likelier than none.

    It is `t spread^-p`: the larger p, the rougher is how the columns depend on each other.

    Args:
        away: squares of how far means are from those of independent columns.
        noise: variance of the noise on means.
        spread: variances of both columns' features, multiplied.
    """
    found, none = [], 0.5 * np.sum(np.log(noise) + away / noise)
    for roughness in _ROUGHNESSES:
        variance = noise + _STRENGTHS[:, None, None] * spread ** (2 - roughness)
        likelihood = -0.5 * np.sum(np.log(variance) + away / variance, axis=(1, 2))
        best = int(np.argmax(likelihood))
        found.append((float(likelihood[best] + none), _STRENGTHS[best], roughness))
    gain, strength, roughness = max(found)
    return strength * spread**-roughness, gain


def together(first: np.ndarray, s: float, second: np.ndarray, t: float) -> tuple[np.ndarray, float]:
    """Return the best mean of two noisy values of one thing, and its noise."""
    weight, other = 1 / s**2, 1 / t**2
    mean = (weight * first + other * second) / (weight + other)
    return mean, (weight + other) ** -0.5


def turn_of(features: np.ndarray, shares: np.ndarray) -> Float[np.ndarray, "w w"]:
    """Return the rotation after which features are uncorrelated, the largest variance first."""
    mean = shares @ features
    covariance = (features * shares[:, None]).T @ features - np.outer(mean, mean)
    return np.linalg.eigh(covariance)[1][:, ::-1]


def _shares(counts: Counts, group: Sequence[int]) -> list[Float[np.ndarray, " w"]]:
    """Return the shares of columns that are alike by their own counts and those of their pairs."""
    each = [_evidence(counts, column) for column in group]
    if counts.domain.columns[group[0]].is_numeric:
        # Of columns that are alike in every pair that is counted, the noise is the same.
        if len(group) >= alike.LEAST_ALIKE:
            each = _towards_alike(each, np.array(group))
        else:
            each = [_towards_equal(*own) for own in each]
    return [
        _without_negative(precision, np.linalg.solve(precision, weighted))
        for precision, weighted in each
    ]


def _evidence(counts: Counts, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the precision of what counts say of a column's shares, and their mean times it."""
    domain, width = counts.domain, counts.domain.widths[column]
    noise = 1 / counts.column_stddev**2
    precision, weighted = noise * np.eye(width), noise * counts.columns[domain.places[column]]
    features = domain.features[column]
    for other in counts.partners[column]:
        theirs = domain.features[other]
        means, stddev = counts.of(column, other)
        ones = np.linalg.solve(theirs, np.ones(len(theirs)))  # what adds up all cells of the other
        certain = 1 / (stddev**2 * (ones @ ones))
        precision = precision + certain * features @ features.T
        weighted = weighted + certain * features @ (means @ ones)
    return precision, weighted


def _towards_alike(
    each: Sequence[tuple[np.ndarray, np.ndarray]], places: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the same, with the means that are likely for columns that are alike."""
    precision = each[0][0]
    equal = np.full(len(precision), 1 / len(precision))
    certain, axes = np.linalg.eigh(precision)
    means = np.stack([np.linalg.solve(own, weighted) for own, weighted in each])
    likely = alike.likeliest((means - equal) @ axes, 1 / certain, places).means @ axes.T + equal
    return [(precision, precision @ own) for own in likely]


def _towards_equal(precision: np.ndarray, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both with a normal prior around equal shares, as wide as is the likeliest."""
    equal = np.full(len(weighted), 1 / len(weighted))
    certain, axes = np.linalg.eigh(precision)
    away = (axes.T @ (np.linalg.solve(precision, weighted) - equal)) ** 2
    variance = 1 / certain + _SPREADS[:, None]
    likelihood = -0.5 * np.sum(np.log(variance) + away / variance, axis=1)
    prior = 1 / _SPREADS[np.argmax(likelihood)]
    return precision + prior * np.eye(len(equal)), weighted + prior * equal


def _without_negative(precision: np.ndarray, mean: np.ndarray) -> Float[np.ndarray, " w"]:
    """Return the likeliest shares that are not negative and have sum 1."""
    from scipy.optimize import nnls

    root = np.linalg.cholesky(precision).T
    heavy = 1e3 * np.max(np.abs(root))
    rows = np.vstack([root, np.full((1, len(mean)), heavy)])
    shares, _ = nnls(rows, np.append(root @ mean, heavy), maxiter=100 * len(mean))
    shares = np.maximum(shares, _LEAST_SHARE)
    return shares / shares.sum()


def counts_of(
    domain: Domain,
    num_records: int,
    columns: np.ndarray,
    column_stddev: float,
    rounds: Sequence[tuple[Sequence[Pair], Sequence[np.ndarray], float]],
) -> Counts:
    """Return all counts, those of a pair that was counted twice put together.

    Args:
        domain: the cells.
        num_records: n.
        columns: noisy shares.
        column_stddev: of their noise.
        rounds: for every time that pairs were counted: which, what was found, and its noise.
    """
    pairs: dict[Pair, np.ndarray] = {}
    stddevs: dict[Pair, float] = {}
    for which, found, stddev in rounds:
        for pair, means in zip(which, found, strict=True):
            both = (means, stddev)
            if pair in pairs:
                both = together(pairs[pair], stddevs[pair], means, stddev)
            pairs[pair], stddevs[pair] = both
    return Counts(domain, num_records, columns, column_stddev, pairs, stddevs)
