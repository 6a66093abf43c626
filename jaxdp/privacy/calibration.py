"""Calibration: from a budget to the least noise that keeps it.

A search over noise multipliers; what each of them spends is for `jaxdp.privacy.accounting` to say.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize

from jaxdp.privacy.accounting import TooMuchNoiseError, analytic_gaussian_stddev, epsilon
from jaxdp.privacy.mechanism import SubsampledGaussian

_LEAST_NOISE, _MOST_NOISE = 0.05, 1e5
_LEAST, _MOST = math.log2(_LEAST_NOISE), math.log2(_MOST_NOISE)
# A search for the noise begins a little above the likely one, which is most often too little. Its
# first step is a tenth of the noise, the next ones are twice as long each.
_START, _STEP = 1.05, 0.14
# Of the target: how far beyond it, or below, does not matter.
_FAR_ABOVE = 1e3


class UnreachableEpsilonError(ValueError):
    """No noise multiplier in the supported range gives the requested epsilon.

    Examples:
        >>> from jaxdp.privacy import SubsampledGaussian, calibrate
        >>> one = SubsampledGaussian(
        ...     num_examples=10, sampling_rate=1.0, num_steps=1, clip_norm=1.0, noise_multiplier=0.0
        ... )
        >>> calibrate(one, target_epsilon=0.1, delta=1e-5, also=[1.0])  # spends more
        Traceback (most recent call last):
            ...
        jaxdp.privacy.calibration.UnreachableEpsilonError: more noise than 100000 would be needed
    """


def calibrate(
    mechanism: SubsampledGaussian,
    *,
    target_epsilon: float,
    delta: float,
    accountant: str = "pld",
    tolerance: float = 2e-4,
    also: Sequence[float] = (),
) -> SubsampledGaussian:
    """Return the mechanism with the least noise that meets `target_epsilon` at `delta`.

    Args:
        mechanism: rate, steps and clip norm; its noise multiplier is replaced.
        target_epsilon: > 0.
        delta: in (0, 1).
        accountant: `"pld"` or `"rdp"`.
        tolerance: relative, of epsilon, of which at most so much is left over; in (0, 1).
        also: as for `accounting.epsilon`; what they spend is not the mechanism's to spend.

    Raises:
        ValueError: an argument is out of range.
        UnreachableEpsilonError: no noise multiplier between 0.05 and 100000 reaches it.

    Guarantee:
        `epsilon(result, delta=delta, accountant=accountant, also=also) <= target_epsilon`.

    Examples:
        >>> from jaxdp.privacy import SubsampledGaussian, accounting, calibrate
        >>> steps = SubsampledGaussian(
        ...     num_examples=1000,
        ...     sampling_rate=0.1,
        ...     num_steps=100,
        ...     clip_norm=1.0,
        ...     noise_multiplier=0.0,
        ... )
        >>> private = calibrate(steps, target_epsilon=1.0, delta=1e-5)
        >>> round(private.noise_multiplier, 1)
        3.9
        >>> accounting.epsilon(private, delta=1e-5) <= 1.0
        True
    """
    if not 0 < target_epsilon < math.inf:
        raise ValueError(f"target_epsilon must be > 0 and finite, got {target_epsilon}")
    if not 0 < tolerance < 1:  # the search ends when it is that near
        raise ValueError(f"tolerance must be in (0, 1), got {tolerance}")

    @functools.cache
    def excess(exponent: float) -> float:
        """Logarithm of what is spent over the target, which is nearly linear in log(sigma).

        Zero stands for a noise multiplier that meets the target and is hardly more than enough.
        """
        candidate = dataclasses.replace(mechanism, noise_multiplier=2.0**exponent)
        spent = epsilon(candidate, delta=delta, accountant=accountant, also=also)
        found = math.log(np.clip(spent / target_epsilon, 1 / _FAR_ABOVE, _FAR_ABOVE))
        return 0.0 if -tolerance < found <= 0 else found + tolerance / 2

    def reaches(exponent: float) -> bool:
        return excess(exponent) <= 0

    start = _likely_noise(mechanism, target_epsilon, delta, also)
    low, high = _bracket(reaches, math.log2(start))
    if low < high and excess(high) < 0:
        high = optimize.brentq(excess, low, high, xtol=tolerance / 4)
        while not reaches(high):
            high += tolerance
    return dataclasses.replace(mechanism, noise_multiplier=2.0**high)


def _likely_noise(
    mechanism: SubsampledGaussian, target_epsilon: float, delta: float, also: Sequence[float]
) -> float:
    """Return about how much noise is needed: where a search starts, and no more than that.

    Many subsampled steps are nearly one Gaussian release with
    `(sensitivity / stddev)^2 = rate^2 steps (exp(1 / sigma^2) - 1)`.

    References:
        Bu, Dong, Long & Su (2020), "Deep learning with Gaussian differential privacy", theorem 5.
    """
    moved = mechanism.most_moved
    try:
        alone = analytic_gaussian_stddev(epsilon=target_epsilon, delta=delta, sensitivity=1.0)
    except TooMuchNoiseError as error:
        raise UnreachableEpsilonError(str(error)) from error
    left = alone**-2 - sum((moved / noise) ** 2 for noise in also if noise)
    # Others that spend nearly everything, or more, leave little to go by.
    part = max(left, 0.01 * alone**-2) / mechanism.num_steps / mechanism.sampling_rate**2
    sigma = moved / math.sqrt(math.log1p(part))
    return min(max(_START * sigma, 2 * _LEAST_NOISE), _MOST_NOISE)


def _bracket(reaches: Callable[[float], bool], start: float) -> tuple[float, float]:
    """Return exponents `low < high`, of which only `high` reaches the target (or the least)."""
    low, high, step = start, start, _STEP
    if reaches(start):
        while low > _LEAST and reaches(low):
            low, high, step = low - step, low, min(2 * step, 1.0)
        return (high, high) if low <= _LEAST else (low, high)
    while not reaches(high):
        low, high, step = high, high + step, min(2 * step, 1.0)
        if high > _MOST:
            raise UnreachableEpsilonError(f"more noise than {_MOST_NOISE:g} would be needed")
    return low, high
