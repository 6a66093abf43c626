"""Privacy accounting on the host: from noise to epsilon.

Two independent accountants judge every run: privacy loss distributions (dp-accounting, tight,
the default) and Renyi DP (autodp, what the papers used). The mechanism they judge is the same
`SubsampledGaussian` that the run samples and adds noise with.

References:
    Koskela, Jalko & Honkela (2020), "Computing tight differential privacy guarantees using FFT";
    Doroshenko et al. (2022), "Connect the dots" (PLD).
    Zhu & Wang (2019), "Poisson subsampled Renyi differential privacy" (RDP).
    Balle & Wang (2018), "Improving the Gaussian mechanism", theorem 8 (one release).
    Ganesh (2024), "Tight group-level DP guarantees for DP-SGD with sampling via mixture of
        Gaussians mechanisms", theorem 1.1 (persons with several records).
    Zhu, Dong & Wang (2022), "Optimal accounting of differential privacy via characteristic
        function", theorem 10 (pairs that dominate at every epsilon compose).
"""

import dataclasses
import functools
import importlib.metadata
import math
import warnings
from collections.abc import Callable, Sequence

import dp_accounting
import numpy as np
from dp_accounting import NeighboringRelation, dp_event, pld, rdp
from scipy import special, stats

from jaxdp.privacy import relations
from jaxdp.privacy.grids import Part, coarse_enough, fits
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.profiles import Profile, gaussian

# A coarser grid is a valid, slightly pessimistic bound. Fixed at 1e-3 it would cost 3 % at epsilon
# 0.2 and twice the noise at 0.05, so it is refined until that gains less than `_PLD_GAIN`.
_PLD_INTERVAL, _PLD_PART, _PLD_GAIN = 1e-3, 5e-4, 2e-3
_MOST_POINTS, _REFINED = 2e5, 4.0
# Of the usual interval, where its grid would be too large: coarser ones, then finer ones.
_FACTORS = (*(2.0**power for power in range(11)), *(0.25**power for power in range(1, 11)))
# Of a step's Renyi divergence: smaller values have been lost to rounding in autodp.
_LEAST_RENYI = 1e-12
# Noise of a single release that is searched for.
_MOST_NOISE = 2.0**28
# What the library raises for numbers that no run has.
_NO_RUN_HAS = (ValueError, IndexError, RecursionError, ArithmeticError)
# Ten times the largest relative error of `_gaussian_delta`, and its nodes in [-1, 1].
_GAUSSIAN_ROUNDING = 5e-13
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NEIGHBOURS = {
    relations.ZERO_OUT: NeighboringRelation.ADD_OR_REMOVE_ONE,
    relations.REPLACE: NeighboringRelation.REPLACE_ONE,
}
_RDP_ORDERS = tuple(1 + x / 10 for x in range(1, 100)) + tuple(range(11, 64)) + (128, 256, 512)


def event(mechanism: SubsampledGaussian) -> dp_accounting.DpEvent:
    """Return the accounted event of all of a mechanism's releases.

    Guarantee:
        The event has exactly the mechanism's rate, noise multiplier and number of steps; the
        relation is given to the accountant, once. Numbers of zero-out are those of adding or
        removing one example.

        Where a person has up to k records, a step draws each of them by its own coin, so a sum
        moves by Binomial(k, q) clip norms at most.

        Where a record is replaced, a step that draws it, with a chance of q, moves by one clip
        norm from the sum without it, and so does the neighbour's. Let a test have a power of
        F(u) at that sum, with F the normal distribution and noise of 1. Its power at a sum that
        is c away is at most F(u + c), and at least F(u - c), by Neyman and Pearson. Both are
        met on one line, by sums at c and -c. So these two, each drawn with a chance of q, have
        the largest delta at every epsilon. A step that draws any of a person's k records has a
        chance of 1 - (1 - q)^k, and counts as if it drew all.
    """
    return dp_accounting.SelfComposedDpEvent(_step(mechanism), mechanism.num_steps)


def _step(mechanism: SubsampledGaussian) -> dp_accounting.DpEvent:
    """Return the event of one step."""
    rate, most = mechanism.sampling_rate, mechanism.records_per_person
    if most == 1 or rate == 1 or mechanism.relation == relations.REPLACE:
        alone = dp_accounting.GaussianDpEvent(mechanism.noise_multiplier / most)
        return dp_accounting.PoissonSampledDpEvent(_rate_of_any(mechanism), alone)
    drawn = np.arange(most + 1)
    probabilities = stats.binom.pmf(drawn, most, rate)
    return dp_event.MixtureOfGaussiansDpEvent(
        mechanism.noise_multiplier,
        drawn.astype(float).tolist(),
        (probabilities / probabilities.sum()).tolist(),
    )


@functools.lru_cache(maxsize=256)
def _epsilon_pld(mechanism: SubsampledGaussian, delta: float, also: tuple[float, ...]) -> float:
    others = [noise / mechanism.most_moved for noise in also]
    return _on_ever_finer_grids(*_composed([mechanism], others), delta)


_Losses = Callable[[float], pld.PLDAccountant]
"""`interval -> losses` on a grid."""


def _composed(
    mechanisms: Sequence[SubsampledGaussian], also: Sequence[float]
) -> tuple[_Losses, list[Part]]:
    """Return the losses of all releases together, and what they are composed of.

    Args:
        mechanisms: of one relation.
        also: noise over what one person moves.
    """
    relation, parts = _relation(mechanisms), [*map(_part, mechanisms), *map(Part, also)]
    # The accountant takes noise over one contribution, of which it lets a neighbour move two.
    single = [noise * relations.contributions(relation) for noise in also]
    events = [*map(event, mechanisms), *map(dp_accounting.GaussianDpEvent, single)]
    accounted = events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)
    return functools.partial(_accountant, accounted, _NEIGHBOURS[relation]), parts


def _relation(mechanisms: Sequence[SubsampledGaussian]) -> str:
    """Return the relation of mechanisms; zero-out where there is none."""
    found = {mechanism.relation for mechanism in mechanisms} or {relations.ZERO_OUT}
    if len(found) > 1:
        raise ValueError("need mechanisms of one relation")
    return found.pop()


def _part(mechanism: SubsampledGaussian) -> Part:
    """Return how large the grids of a mechanism's losses are, about."""
    people = mechanism.records_per_person
    is_mixed = mechanism.sampling_rate < 1 and mechanism.relation == relations.ZERO_OUT
    return Part(
        mechanism.noise_multiplier / mechanism.most_moved,
        mechanism.sampling_rate if is_mixed else _rate_of_any(mechanism),
        mechanism.num_steps,
        people if is_mixed else 1,
    )


def _rate_of_any(mechanism: SubsampledGaussian) -> float:
    """Return the chance that a step draws any record of a person."""
    rate, people = mechanism.sampling_rate, mechanism.records_per_person
    return rate if rate == 1 or people == 1 else -math.expm1(people * math.log1p(-rate))


def _coarser(parts: Sequence[Part]) -> float:
    """Return how much coarser grids are: the losses of persons take a search for every point."""
    return 1.0 if max(part.people for part in parts) == 1 else 4.0


def _first_interval(parts: Sequence[Part]) -> float | None:
    """Return the interval of the first grid; None where none of reasonable size is."""
    tried = (_coarser(parts) * _PLD_INTERVAL * factor for factor in _FACTORS)
    return next((interval for interval in tried if fits(parts, interval)), None)


def _on_ever_finer_grids(losses: _Losses, parts: Sequence[Part], delta: float) -> float:
    """Return the lowest of upper bounds on ever finer grids."""
    coarser, first = _coarser(parts), _first_interval(parts)
    found = math.inf if first is None else _pld_on_grid(losses, delta, first)
    if first is None or not math.isfinite(found):
        return gaussian_epsilon(1 / _mu_if_all_were_drawn(parts), delta=delta)
    interval, last = min(first / 2, found * coarser * _PLD_PART), math.inf
    least = _least_interval([part.noise for part in parts])
    while 0 < found < _REFINED and found < last * (1 - _PLD_GAIN) and interval >= least:
        if not fits(parts, interval):
            break
        found, last = min(found, _pld_on_grid(losses, delta, interval)), found
        interval /= 4
    return found


def _mu_if_all_were_drawn(parts: Sequence[Part]) -> float:
    """Return a mu that needs no grid, for what no grid of reasonable size is for.

    A hockey-stick divergence is jointly convex: what draws a record now and then is dominated by
    what always draws it, and Gaussian releases together are one.
    """
    return math.sqrt(math.fsum(part.steps / part.noise**2 for part in parts))


def _least_interval(noise: Sequence[float]) -> float:
    """Return the interval at which a step's losses, of about this range, have the most points."""
    return max(1 / (2 * sigma**2) + 8 / sigma for sigma in noise) / _MOST_POINTS


def _pld_on_grid(losses: _Losses, delta: float, interval: float) -> float:
    try:
        found = losses(interval)
        with np.errstate(over="ignore"):  # a quotient beyond every loss stays beyond it
            return float(found.get_epsilon(delta))
    except _NO_RUN_HAS:
        return math.inf


def _accountant(
    accounted: dp_accounting.DpEvent, neighbours: NeighboringRelation, interval: float
) -> pld.PLDAccountant:
    accountant = pld.PLDAccountant(neighbours, value_discretization_interval=interval)
    # Masses that overflow would become ones that are no numbers, and compare as if they were 0.
    with np.errstate(over="raise", invalid="raise"):
        return accountant.compose(accounted)


def _epsilon_rdp(mechanism: SubsampledGaussian, delta: float, also: tuple[float, ...]) -> float:
    """RDP curve of autodp; its own search over the order stops in local minima, so a grid here."""
    moved = mechanism.most_moved
    if moved > 1 and mechanism.sampling_rate < 1:
        return math.inf  # autodp knows neither persons with several records nor their replacement
    # Imports scipy.optimize, not needed by most callers. Python 3.12 warns of its docstrings.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        from autodp import mechanism_zoo

    if mechanism.sampling_rate < 1:
        parameters = {
            "prob": mechanism.sampling_rate,
            "sigma": mechanism.noise_multiplier,
            "coeff": mechanism.num_steps,
        }
        curve = mechanism_zoo.SubsampleGaussianMechanism(parameters).RenyiDP
    else:
        sigma = mechanism.noise_multiplier / moved / math.sqrt(mechanism.num_steps)
        curve = mechanism_zoo.GaussianMechanism(sigma=sigma).RenyiDP
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # overflow to inf at large orders is a valid bound
        values = np.array([float(curve(order)) for order in _RDP_ORDERS])
    # A Gaussian release has the curve order / (2 sigma^2); curves of a composition add up.
    values = values + np.array(_RDP_ORDERS) * sum(0.5 * (moved / sigma) ** 2 for sigma in also)
    known = np.isfinite(values) & (values > mechanism.num_steps * _LEAST_RENYI)
    if not known.any():  # no order says anything
        return math.inf
    return float(rdp.compute_epsilon(np.array(_RDP_ORDERS)[known], values[known], delta)[0])


_Epsilon = Callable[[SubsampledGaussian, float, tuple[float, ...]], float]
_ACCOUNTANTS: dict[str, tuple[str, _Epsilon]] = {
    "pld": ("dp-accounting", _epsilon_pld),
    "rdp": ("autodp", _epsilon_rdp),
}

ACCOUNTANTS = tuple(_ACCOUNTANTS)
EXACT = "exact formula of the Gaussian mechanism (Balle & Wang 2018)"
"""What single Gaussian releases are judged by, as certificates name it."""


def describe(accountant: str) -> str:
    """Return an accountant's method, package and version, e.g. `"PLD (dp-accounting 0.6.0)"`.

    Examples:
        >>> from jaxdp.privacy import accounting
        >>> accounting.describe("pld")
        'PLD (dp-accounting 0.6.0)'
    """
    package, _ = _ACCOUNTANTS[accountant]
    return f"{accountant.upper()} ({package} {importlib.metadata.version(package)})"


def epsilon(
    mechanism: SubsampledGaussian,
    *,
    delta: float,
    accountant: str = "pld",
    also: Sequence[float] = (),
) -> float:
    """Return the epsilon of a mechanism at `delta`, under the mechanism's relation.

    The number n of examples is public, so rate and steps stay as they are. Under zero-out the
    numbers of a Poisson-subsampled sum are those of adding or removing an example.

    Args:
        mechanism: the run; without noise the answer is infinity.
        delta: in (0, 1).
        accountant: `"pld"` or `"rdp"`.
        also: noise of further Gaussian releases of the same data, once each, over what one example
            contributes; 0 for a release without noise.

    Raises:
        ValueError: `delta` or `accountant` is not one of these, or `also` holds what is no noise.

    Guarantee:
        An upper bound: the mechanism is (epsilon, delta)-DP, but for what
        `jaxdp.privacy.mechanism` says of floating point. Infinite where the accountant cannot tell.

    Examples:
        >>> from jaxdp.privacy import SubsampledGaussian, accounting
        >>> steps = SubsampledGaussian(
        ...     num_examples=1000,
        ...     sampling_rate=0.1,
        ...     num_steps=100,
        ...     clip_norm=1.0,
        ...     noise_multiplier=2.0,
        ... )
        >>> round(accounting.epsilon(steps, delta=1e-5), 2)
        2.34
        >>> round(accounting.epsilon(steps, delta=1e-5, accountant="rdp"), 2)
        2.59
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta}")
    if accountant not in _ACCOUNTANTS:
        raise ValueError(f"accountant must be one of {ACCOUNTANTS}, got {accountant!r}")
    _require_noise(also)
    if not mechanism.is_private or 0 in also:
        return math.inf
    return _ACCOUNTANTS[accountant][1](mechanism, delta, tuple(also))


def _require_noise(also: Sequence[float]) -> None:
    for noise in also:
        if not 0 <= noise < math.inf:  # what is not a number is no noise
            raise ValueError(f"also holds noise, >= 0 and finite, got {noise}")


def joint_epsilon(
    mechanisms: Sequence[SubsampledGaussian], *, delta: float, also: Sequence[float] = ()
) -> float:
    """Return the epsilon of several mechanisms on the same data together, by PLD.

    Args:
        mechanisms: of one relation; none where all are `also`.
        delta: in (0, 1).
        also: noise of Gaussian releases beside them, over what one person moves.

    Raises:
        ValueError: `delta` is out of range, there is nothing, or `also` holds what is no noise.

    Guarantee:
        An upper bound for everything together, as `epsilon`.

    Examples:
        >>> from jaxdp.privacy import SubsampledGaussian, accounting
        >>> steps = SubsampledGaussian(
        ...     num_examples=1000,
        ...     sampling_rate=0.1,
        ...     num_steps=100,
        ...     clip_norm=1.0,
        ...     noise_multiplier=2.0,
        ... )
        >>> round(accounting.joint_epsilon([steps, steps], delta=1e-5), 2)
        3.36
        >>> round(accounting.joint_epsilon([steps], delta=1e-5, also=[10.0]), 2)
        2.37
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta}")
    if not mechanisms and not also:
        raise ValueError("nothing was released")
    _require_noise(also)
    if not all(mechanism.is_private for mechanism in mechanisms) or 0 in also:
        return math.inf
    return _joint_pld(tuple(mechanisms), delta, tuple(also))


@functools.lru_cache(maxsize=256)
def _joint_pld(
    mechanisms: tuple[SubsampledGaussian, ...], delta: float, also: tuple[float, ...]
) -> float:
    if not mechanisms:
        return gaussian_epsilon(_one_noise(also), delta=delta)
    return _on_ever_finer_grids(*_together(mechanisms, also), delta)


def _one_noise(also: Sequence[float]) -> float:
    """Return the noise multiplier of the one Gaussian release that several are together."""
    return math.fsum(noise**-2 for noise in also) ** -0.5


def _together(
    mechanisms: Sequence[SubsampledGaussian], also: Sequence[float]
) -> tuple[_Losses, list[Part]]:
    """Return the losses of all releases, equal steps as one, and what they are composed of."""
    return _composed(_merged(mechanisms), (_one_noise(also),) if also else ())


def _merged(mechanisms: Sequence[SubsampledGaussian]) -> tuple[SubsampledGaussian, ...]:
    """Return mechanisms in which equal steps are counted: thousands of runs may be of a few kinds.

    Clip norms and numbers of examples are none of the accountant's business.
    """
    steps: dict[SubsampledGaussian, int] = {}
    for each in mechanisms:
        kind = dataclasses.replace(each, num_examples=1, num_steps=1, clip_norm=1.0)
        steps[kind] = steps.get(kind, 0) + each.num_steps
    return tuple(dataclasses.replace(kind, num_steps=number) for kind, number in steps.items())


def profile(mechanisms: Sequence[SubsampledGaussian], *, also: Sequence[float] = ()) -> Profile:
    """Return the privacy profile of mechanisms and Gaussian releases on the same data together.

    It is exact where nothing is sampled, and by PLD elsewhere.

    Args:
        mechanisms: as for `joint_epsilon`, with noise.
        also: as for `joint_epsilon`, each above 0.

    Raises:
        ValueError: there is nothing, or something has no noise.

    Guarantee:
        No delta is below the true one, as for `epsilon`.

    Examples:
        >>> from jaxdp.privacy import accounting
        >>> profile = accounting.profile([], also=[4.0])
        >>> profile.mu, round(profile.epsilon(1e-5), 2)
        (0.25, 0.93)
    """
    if not mechanisms and not also:
        raise ValueError("nothing was released")
    _require_noise(also)
    if not all(mechanism.is_private for mechanism in mechanisms) or 0 in also:
        raise ValueError("what has no noise has no profile")
    return _profile(tuple(mechanisms), tuple(also))


@functools.lru_cache(maxsize=16)
def _profile(mechanisms: tuple[SubsampledGaussian, ...], also: tuple[float, ...]) -> Profile:
    losses, parts = _together(mechanisms, also)
    if all(part.rate == 1 for part in parts):
        return gaussian(_mu_if_all_were_drawn(parts))
    first = _first_interval(parts)
    rough = math.inf if first is None else _pld_on_grid(losses, LEAST_DELTA, first)
    if first is None or not math.isfinite(rough):
        return gaussian(_mu_if_all_were_drawn(parts))
    # One grid, by epsilon at the least delta: a finer one lowers mu by 0.1 %.
    wanted = max(rough * _PLD_PART, _least_interval([part.noise for part in parts]))
    interval = coarse_enough(parts, _coarser(parts) * wanted, at_most=max(first, rough / 100))
    try:
        found = losses(interval)
    except _NO_RUN_HAS:
        return gaussian(_mu_if_all_were_drawn(parts))

    def deltas(epsilons: np.ndarray) -> np.ndarray:
        # For several it goes through all losses in a loop of Python, for one by numpy.
        asked = float(epsilons[0]) if len(epsilons) == 1 else epsilons
        return np.atleast_1d(found.get_delta(asked))

    return Profile(deltas)


class TooMuchNoiseError(ValueError):
    """An epsilon so small that the noise for it cannot be computed."""


def analytic_gaussian_stddev(*, epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the least noise of one Gaussian release (the analytic Gaussian mechanism).

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        sensitivity: L2 sensitivity of what is released, > 0.

    Returns:
        Standard deviation in the units of `sensitivity`: 3.7306 at (1, 1e-5, 1).

    Raises:
        ValueError: an argument is out of range.
        TooMuchNoiseError: the noise would be beyond 2^28.

    Guarantee:
        `x + N(0, stddev^2 I)` is (epsilon, delta)-DP for every relation under which `x` moves
        by at most `sensitivity`.

    References:
        Balle & Wang (2018), theorem 8.

    Examples:
        >>> from jaxdp.privacy import analytic_gaussian_stddev
        >>> round(analytic_gaussian_stddev(epsilon=1.0, delta=1e-5, sensitivity=1.0), 4)
        3.7306
    """
    if not (0 < epsilon < math.inf and 0 < delta < 1 and 0 < sensitivity < math.inf):
        raise ValueError(
            "need epsilon > 0, 0 < delta < 1 and sensitivity > 0, "
            f"got {epsilon}, {delta} and {sensitivity}"
        )
    # The search of dp-accounting begins here. It ends when it knows the noise to 1e-7, which
    # floats cannot tell apart beyond.
    if math.sqrt(2 * math.log(1.5 / delta)) * sensitivity / epsilon > _MOST_NOISE:
        raise TooMuchNoiseError(f"epsilon = {epsilon:g} takes more noise than {_MOST_NOISE:g}")
    parameters = pld.common.DifferentialPrivacyParameters(epsilon, delta)
    return float(pld.accountant.get_smallest_gaussian_noise(parameters, 1, sensitivity))


def gaussian_epsilon(noise_multiplier: float, *, delta: float) -> float:
    """Return the exact epsilon of one Gaussian release (Balle & Wang 2018, theorem 8).

    Args:
        noise_multiplier: standard deviation over L2 sensitivity, > 0.
        delta: in (0, 1).

    Raises:
        ValueError: an argument is out of range.

    Guarantee:
        An upper bound, by a relative 1e-8 and by 1e-12 over the noise multiplier at most.

    Examples:
        >>> from jaxdp.privacy import gaussian_epsilon
        >>> round(gaussian_epsilon(3.7306, delta=1e-5), 4)
        1.0
    """
    if not (0 < noise_multiplier < math.inf and 0 < delta < 1):
        raise ValueError(f"need noise and delta in (0, 1), got {noise_multiplier} and {delta}")

    def holds(candidate: float) -> bool:
        rounding = _GAUSSIAN_ROUNDING * (1 + candidate / 100)
        return _gaussian_delta(candidate, noise_multiplier) * (1 + rounding) <= delta

    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
        if high == math.inf:
            return high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _gaussian_delta(epsilon: float, noise_multiplier: float) -> float:
    """Return the least delta of one Gaussian release at an epsilon.

    Its relative error is below `_GAUSSIAN_ROUNDING`, and below a hundredth of that times epsilon.

    With `m = 1 / noise`, `x = epsilon / m - m / 2`, the normal density `f` and distribution `F`,
    and `R = F(-x) / f(x)`, it is

        F(-x) - e^epsilon F(-x - m) = f(x) (R(x) - R(x + m)),    R'(t) = t R(t) - 1.

    Where m is small the two terms cancel, and so `1 - t R(t)` is integrated from x to x + m. No
    power of e is above 1, so nothing overflows.
    """
    m = 1 / noise_multiplier
    x = epsilon * noise_multiplier - m / 2
    if m > 1:
        second = math.exp(-x * x / 2) / 2 * special.erfcx((x + m) / math.sqrt(2))
        return float(special.ndtr(-x) - second)
    t = x + m / 2 * (1 + _NODES)
    slopes = 1 - t * math.sqrt(math.pi / 2) * special.erfcx(t / math.sqrt(2))
    return float(math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * m / 2 * (_WEIGHTS @ slopes))
