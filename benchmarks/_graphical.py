"""What private graphical models of a table share: its marginals, a zCDP budget, the last estimate.

A mechanism spends a budget rho of zero-concentrated differential privacy on Gaussian noise and on
the exponential mechanism. The model that its records are drawn from is estimated by `mbi`, and so
are these records. The relation is that of the papers, adding or removing one record. Replacing one,
which the certificates of `jaxdp` are about, costs more: comparisons favour these mechanisms.

Noise is numpy's. That serves to compare accuracies, it is no release.

References:
    Bun & Steinke (2016), "Concentrated differential privacy" (composition, Gaussian noise).
    Canonne, Kamath & Steinke (2020), "The discrete Gaussian for differential privacy",
        corollary 13 (from zCDP to epsilon and delta).
    Cesar & Rogers (2021), "Bounding, concentrating, and truncating", lemma 3.4 (the exponential
        mechanism is epsilon^2 / 8 zCDP).
    McKenna, Sheldon & Miklau (2019), "Graphical-model based estimation and inference for
        differential privacy" (mbi).
"""

import contextlib
import dataclasses
import importlib
import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from jaxdp import numerics

Columns = tuple[int, ...]
# Of the budget: what rounding may add up to.
_SLACK = 1e-9


@contextlib.contextmanager
def graphical_models() -> Iterator[ModuleType]:
    """Give `mbi` in jax's 64-bit mode, which it needs; nobody else's settings change."""
    with numerics.float64(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of 32 bits and of the compilation cache
        yield importlib.import_module("mbi")


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the epsilon at `delta` of rho-zCDP: the least over orders alpha > 1 of

    rho alpha + log(1 - 1/alpha) - log(delta alpha) / (alpha - 1)
    """

    def at(exponent: float) -> float:
        order = 1 + math.exp(exponent)
        tail = math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        return rho * order + tail

    # Bun & Steinke's order, 1 + sqrt(log(1 / delta) / rho), is near the best.
    middle = 0.5 * math.log(math.log(1 / delta) / rho)
    found = optimize.minimize_scalar(
        at, bounds=(middle - 5, middle + 5), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(found.fun))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho for which rho-zCDP is (epsilon, delta)-DP."""
    # Bun & Steinke's conversion, epsilon = rho + 2 sqrt(rho log(1 / delta)), gives less.
    log = math.log(1 / delta)
    low = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
    high = low
    while zcdp_epsilon(high, delta) <= epsilon:
        high *= 2
    return float(optimize.brentq(lambda rho: zcdp_epsilon(rho, delta) - epsilon, low, high))


@dataclasses.dataclass
class Budget:
    """A zCDP budget that nothing overdraws.

    Attributes:
        rho: of all.
        rng: of noise and choices.
        spent: so far.
    """

    rho: float
    rng: np.random.Generator
    spent: float = 0.0

    @property
    def left(self) -> float:
        """What is not spent."""
        return self.rho - self.spent

    def spend(self, rho: float) -> None:
        """Take a part away.

        Raises:
            ValueError: there is less.
        """
        if self.spent + rho > self.rho * (1 + _SLACK):
            raise ValueError(f"{self.spent + rho} is more than the budget, {self.rho}")
        self.spent += rho

    def noisy(self, counts: np.ndarray, stddev: float) -> np.ndarray:
        """Return counts, of which a record changes one by 1, with Gaussian noise."""
        self.spend(1 / (2 * stddev**2))
        return counts + self.rng.normal(0, stddev, counts.shape)

    def ranked(self, scores: np.ndarray, *, epsilon: float, sensitivity: float) -> np.ndarray:
        """Return candidates by a choice of the exponential mechanism, the chosen one first.

        A candidate is chosen with a probability that grows as exp(epsilon score / (2 sensitivity)).
        Among any part of the candidates that is fixed without the data, the first is chosen as the
        mechanism would choose among these alone: the order is that of scores with Gumbel noise. A
        caller uses one.
        """
        self.spend(epsilon**2 / 8)
        noise = self.rng.gumbel(size=len(scores))
        return np.argsort(-(epsilon * scores / (2 * sensitivity) + noise))


class Measurement(NamedTuple):
    """A noisy marginal.

    Attributes:
        columns: of the marginal.
        counts: with one axis for each column.
        stddev: of the noise on each.
        weights: by which counts were multiplied before there was noise, if they were.
    """

    columns: Columns
    counts: np.ndarray
    stddev: float
    weights: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class CellTable:
    """Records as cells.

    Attributes:
        cells: (n, columns) whole numbers.
        sizes: how many cells each column has.
    """

    cells: np.ndarray
    sizes: tuple[int, ...]

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Return the shape of a marginal."""
        return tuple(self.sizes[column] for column in columns)

    def counts(self, columns: Columns) -> np.ndarray:
        """Return the number of records in each cell of a marginal."""
        shape = self.shape(columns)
        place = np.ravel_multi_index(tuple(self.cells[:, column] for column in columns), shape)
        return np.bincount(place, minlength=math.prod(shape)).reshape(shape).astype(np.float64)

    def measured(self, columns: Columns, budget: Budget, stddev: float) -> Measurement:
        """Return a marginal with Gaussian noise."""
        return Measurement(columns, budget.noisy(self.counts(columns), stddev), stddev)


def total_of(measurements: Sequence[Measurement]) -> float:
    """Return the number of records as measured: the mean of all sums, weighted by variance."""
    sums = [float(each.counts.sum()) for each in measurements]
    weights = [1 / (each.stddev**2 * each.counts.size) for each in measurements]
    return max(1.0, float(np.average(sums, weights=weights)))


def combined(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return measurements in which each marginal is measured once: means, weighted by variance.

    Estimates do not change, and are compiled sooner.
    """
    found: dict[Columns, Measurement] = {}
    for each in measurements:
        one = found.get(each.columns)
        if one is not None:
            assert one.weights is None
            assert each.weights is None
            parts = np.array([one.stddev**-2, each.stddev**-2])
            counts = np.average([one.counts, each.counts], axis=0, weights=parts)
            each = Measurement(each.columns, counts, float(parts.sum()) ** -0.5)
        found[each.columns] = each
    return list(found.values())


def with_subsets(cliques: Sequence[Columns]) -> list[Columns]:
    """Return all parts of cliques that are not empty, each once."""
    parts = {
        part
        for clique in cliques
        for size in range(1, len(clique) + 1)
        for part in itertools.combinations(clique, size)
    }
    return sorted(parts, key=lambda part: (len(part), part))


def model_size(sizes: tuple[int, ...], cliques: Sequence[Columns]) -> float:
    """Return the megabytes (of 2^20) of a model of cliques: of all nodes of its junction tree."""
    with graphical_models() as mbi:
        domain = mbi.Domain(range(len(sizes)), sizes)
        return float(mbi.junction_tree.hypothetical_model_size(domain, list(cliques)))


def drawn(
    sizes: tuple[int, ...],
    measurements: Sequence[Measurement],
    count: int,
    rng: np.random.Generator,
    *,
    iterations: int,
) -> np.ndarray:
    """Return cells (count, columns) of records from the model of largest entropy that fits best."""
    with graphical_models() as mbi, _numpy_seed(int(rng.integers(2**32))):
        domain = mbi.Domain(range(len(sizes)), sizes)
        listed = [_for_mbi(mbi, each) for each in combined(measurements)]
        model = mbi.estimation.MirrorDescent().estimate(domain, listed, iters=iterations)
        made: Any = model.synthetic_data(rows=count)
    return np.stack([made.data[column] for column in range(len(sizes))], axis=1).astype(np.int32)


def _for_mbi(mbi: ModuleType, measurement: Measurement) -> Any:
    columns, counts, stddev, weights = measurement
    if weights is None:
        return mbi.LinearMeasurement(counts.ravel(), columns, stddev)
    query = mbi.WeightedQuery(weights.ravel())
    return mbi.LinearMeasurement(counts.ravel(), columns, stddev, query=query)


@contextlib.contextmanager
def _numpy_seed(seed: int) -> Iterator[None]:
    """Seed the generator that all numpy's callers share, which mbi draws from, for a while."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)
