"""How long, in which steps and on which features a teacher is trained: by public numbers alone.

One number tells how much the budget allows: `nu`, the noise of the mean of n vectors of norm 1 that
is released once with the whole budget. Training moves weights by steps of one length, for clipping
makes them so; `L` is the sum of these lengths. Whatever `L` was spent on, noise moves the score of
an example, a logit, by `L nu`. So that is what decides where to stop:

    L = 2 / nu

More of it learns nothing that noise does not hide, and less leaves examples unlearnt. One number
fits seven image sets and a table, from 300 to 60,000 examples and epsilon from 0.3 to infinity:
with each set left out in its turn, the others ask for the same (`benchmarks/teacher_schedule.py`).
Neither classes nor features are in it.
"""

import math
from typing import Any

from scipy import optimize, special

STEPS = 100
"""Of all examples. Fewer are too long, and more change little."""
CLIP_NORM = 0.02
"""Of gradients of features of norm 1: so small that nearly all steps are of one length."""
_NOISE_OF_SCORES = 2.0
# A step moves weights by so much at most, or there are more steps, up to so many.
_LONGEST_STEP, _MOST_STEPS = 500.0, 200
SAMPLING = 0.3
"""The sampling of n examples is noise as well: so much, in units of the noise of their sum."""
_MOST_NOISE = 1.0
_LOG_NOISES = 20.0
FLOORS = ((3e-5, 0.1), (1.5e-4, 0.3), (1e-3, 1.0), (math.inf, 3.0))
"""Up to which `nu` which floor: weaker directions are not amplified, fewer the more noise."""
# Of the squared norm of features: noise of the mean that is aimed at, and that is borne.
_AIMED, _BORNE = 0.02, 0.25
_LEAST_SHARE, _MOST_SHARE = 1e-3, 0.1
# Of mean gaps between confidence and accuracy, five for each example: noise that is aimed at.
_NORM_OF_GAPS, _AIMED_FOR_GAPS, _MOST_FOR_GAPS = math.sqrt(5), 0.02, 0.05
_USUAL_TEMPERATURE, _LITTLE_BUT_NOISE = 1.7, 6e-3
# Of a scattering transform of two scales and eight angles.
_PATHS, _WINDOW = 81, 8
SEEN = 32
"""Pixels of a side that features of patches see."""
OF_ENCODER = 1536
"""Features of the public encoder, told without loading jax for it."""
MANY_ROWS = 200
"""From so many on, a CPU moves rows towards class means of networks a few at once; likewise."""
# Of a class's images, so that they carry what a teacher knows.
_VALUES_OF_A_FEATURE = 1.5


def noise(settings: Any, spec: Any) -> float:
    """Return `nu`, in (0, 1]."""
    stddev = single_release(settings.eps, settings.delta) if settings.is_private else 0.0
    stddev *= spec.records_per_person * settings.contributions
    return min(_MOST_NOISE, math.hypot(stddev, SAMPLING) / spec.num_examples)


def single_release(epsilon: float, delta: float) -> float:
    """Return the noise of one release of sensitivity 1 that spends a budget.

    Not what anything is accounted by, which comes from `jaxdp.privacy.accounting`: this starts
    without jax, so that a command can be recommended at once.

    References:
        Balle & Wang (2018), "Improving the Gaussian mechanism", theorem 8.
    """

    def excess(log_noise: float) -> float:
        half, far = 0.5 * math.exp(-log_noise), epsilon * math.exp(log_noise)
        spent = special.ndtr(half - far) - math.exp(epsilon + special.log_ndtr(-half - far))
        return float(spent) - delta

    low, high = -_LOG_NOISES, _LOG_NOISES
    return math.exp(high if excess(high) > 0 else optimize.brentq(excess, low, high))


def length(nu: float) -> float:
    """Return `L`."""
    return _NOISE_OF_SCORES / nu


def passes(nu: float) -> int:
    """Return how many steps of all examples there are."""
    return min(_MOST_STEPS, max(STEPS, math.ceil(length(nu) / _LONGEST_STEP)))


def floor(nu: float) -> float:
    """Return the floor of the whitening, relative to the mean eigenvalue."""
    return next(value for most, value in FLOORS if nu <= most)


def mean_share(nu: float, num_features: float) -> float:
    """Return which part of the budget the mean of features gets: none where it would be noise.

    Args:
        nu: see `noise`.
        num_features: about how many there are.
    """
    squared = num_features * nu**2
    share = max(_LEAST_SHARE, min(_MOST_SHARE, squared / _AIMED))
    return share if squared <= _BORNE * share else 0.0


def calibration_share(nu: float) -> float:
    """Return which part of the budget probabilities get: the mean of gaps has little noise then.

    Args:
        nu: see `noise`.
    """
    return max(_LEAST_SHARE, min(_MOST_FOR_GAPS, (_NORM_OF_GAPS * nu / _AIMED_FOR_GAPS) ** 2))


def usual_temperature(nu: float) -> float:
    """Return the temperature of scores that eight sets have in the middle.

    Args:
        nu: see `noise`. Where there is much, there is little in a score but noise.
    """
    return _USUAL_TEMPERATURE * max(1.0, nu / _LITTLE_BUT_NOISE) ** 0.5


def about_features(shape: tuple[int, ...], options: Any) -> float:
    """Return about how many features images have: those of their first level, and beside them.

    Args:
        shape: (h, w, channels).
        options: `settings.MapOptions`, in which None is nothing.
    """
    high, wide = (math.ceil(min(side, SEEN) / _WINDOW) for side in shape[:2])
    mirror, patches = bool(options.mirror), options.patches or 0
    scattered = _PATHS * shape[2] * high * wide
    beside = features_of_second_layer(options.second_layer or 0, mirror=mirror)
    beside += OF_ENCODER if options.encoder else 0
    return (scattered + 8 * patches) / (2 if mirror else 1) + beside


def are_carried(shape: tuple[int, ...], settings: Any) -> bool:
    """Return whether a class's images have values enough to carry what a teacher knows.

    Args:
        shape: (h, w, channels).
        settings: `settings.Settings`, in which None is nothing.
    """
    values = settings.ipc * math.prod(min(side, SEEN) for side in shape[:2]) * shape[2]
    return values >= _VALUES_OF_A_FEATURE * about_features(shape, settings)


def features_of_second_layer(num_words: int, *, mirror: bool) -> int:
    """Return how many features a second layer of so many words has, without loading jax for it."""
    regions, views, leading = 4, (1 if mirror else 2), 1024
    return regions * views * min(num_words, leading // views)
