"""Privacy profiles: delta at every epsilon, and what an attacker can do at most.

One pair of epsilon and delta says little by itself: two mechanisms of the same pair may be far
apart at other deltas. The whole profile is told by one number where releases are Gaussian, by mu
of Gaussian differential privacy. It also bounds how often an attacker is right.

References:
    Balle, Barthe & Gaboardi (2018), "Privacy amplification by subsampling", section 2 (profiles).
    Dong, Roth & Su (2022), "Gaussian differential privacy", corollary 2.13 (mu and the profile).
    Gomez et al. (2025), "Gaussian DP for reporting differential privacy guarantees in machine
        learning", arXiv:2503.10945 (why mu, and how it is computed).
    Kulynych et al. (2024), "Attack-aware noise calibration", arXiv:2407.02191 (attack rates).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtr, ndtri

from jaxdp.privacy.limits import LEAST_DELTA

FALSE_POSITIVES = 0.01
"""The rate of false alarms at which certificates tell how many records an attacker finds."""
_POINTS = 10_000
_MOST_EPSILON, _MOST_MU = 1e6, 1e3  # where a search gives up
_MOST_EXPONENT = 700.0  # of e, in float64
_TOLERANCE = 1e-9


class Profile(NamedTuple):
    """The privacy profile of releases.

    Attributes:
        deltas: `epsilons (m,) >= 0 -> deltas (m,)` of the noise alone, upper bounds, which fall.
        exact_mu: mu where all releases together are one Gaussian mechanism; None elsewhere.
        threshold_delta: that is added to delta at every epsilon: see `jaxdp.privacy.unknown_texts`.

    Examples:
        >>> from jaxdp.privacy import profiles
        >>> profile = profiles.gaussian(0.5)
        >>> round(profile.epsilon(1e-5), 2), round(profile.advantage, 2)
        (1.99, 0.2)
        >>> round(profile.true_positives(0.01), 3)
        0.034
    """

    deltas: Callable[[np.ndarray], np.ndarray]
    exact_mu: float | None = None
    threshold_delta: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at an epsilon >= 0."""
        return self._noise_delta(epsilon) + self.threshold_delta

    def _noise_delta(self, epsilon: float) -> float:
        return float(self.deltas(np.array([epsilon]))[0])

    def epsilon(self, delta: float) -> float:
        """Return an upper bound of epsilon at a delta in (0, 1), inf where there is none."""
        return self._noise_epsilon(delta - self.threshold_delta)

    def _noise_epsilon(self, delta: float) -> float:
        """Return `epsilon` of the noise alone."""
        if self._noise_delta(0.0) <= delta:
            return 0.0
        if delta <= 0:
            return math.inf
        high = 1.0
        while self._noise_delta(high) > delta:
            high *= 2
            if high > _MOST_EPSILON:
                return math.inf
        low = 0.0
        while high - low > _TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self._noise_delta(middle) <= delta else (middle, high)
        return high

    @property
    def mu(self) -> float:
        """The least mu that is certified for the noise; inf where there is none.

        Guarantee:
            Wherever delta less `threshold_delta` is `LEAST_DELTA` or more, it is at most that of
            mu-Gaussian differential privacy at the same epsilon.
        """
        if self.exact_mu is not None:
            return self.exact_mu
        end = self._noise_epsilon(LEAST_DELTA)
        if end > _MOST_EXPONENT:
            return math.inf
        grid = np.linspace(0.0, end, _POINTS)
        # Profiles fall: what holds between the ends of an interval holds all along it.
        deltas, epsilons = self.deltas(grid[:-1]), grid[1:]
        low, high = 0.0, 1.0
        while not np.all(gaussian_deltas(high, epsilons) >= deltas):
            low, high = high, 2 * high
            if high > _MOST_MU:
                return math.inf
        while high - low > _TOLERANCE * high:
            middle = (low + high) / 2
            holds = np.all(gaussian_deltas(middle, epsilons) >= deltas)
            low, high = (low, middle) if holds else (middle, high)
        return high

    @property
    def advantage(self) -> float:
        """Most that an attacker's true positives exceed its false ones, in [0, 1]."""
        if self.exact_mu is not None:
            return min(float(2 * ndtr(self.exact_mu / 2) - 1) + self.threshold_delta, 1.0)
        return min(self.delta(0.0), 1.0)

    def true_positives(self, false_positives: float = FALSE_POSITIVES) -> float:
        """Return the most true positives of an attacker, at a rate of false ones in (0, 1)."""
        if self.exact_mu is not None:
            found = float(ndtr(ndtri(false_positives) + self.exact_mu))
        else:
            found = self._found(false_positives)
        return min(found + self.threshold_delta, 1.0)

    def _found(self, false_positives: float) -> float:
        """Return `true_positives` by noise that is no single Gaussian."""
        # Every epsilon gives two bounds, of which the least holds.
        end = self._noise_epsilon(false_positives / 100)
        grid = np.linspace(0.0, min(end, _MOST_EXPONENT), _POINTS)
        deltas = self.deltas(grid)
        first = deltas + np.exp(grid) * false_positives
        second = 1 - np.exp(-grid) * (1 - deltas - false_positives)
        return float(min(np.min(first), np.min(second)))


def gaussian_deltas(
    mu: float | Float[np.ndarray, " m"], epsilons: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Return delta at epsilons >= 0 of mu-Gaussian differential privacy.

    `delta(eps) = Phi(mu / 2 - eps / mu) - e^eps Phi(-mu / 2 - eps / mu)` (Dong, Roth & Su 2022).
    """
    first = log_ndtr(mu / 2 - epsilons / mu)
    second = epsilons + log_ndtr(-mu / 2 - epsilons / mu)
    return -np.exp(first) * np.expm1(np.minimum(second - first, 0.0))


def gaussian(mu: float) -> Profile:
    """Return the profile of mu-Gaussian differential privacy, mu > 0."""
    return Profile(lambda epsilons: gaussian_deltas(mu, np.asarray(epsilons)), mu)
