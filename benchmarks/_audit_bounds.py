"""Lower bounds on epsilon from attack scores, and what an ideal attacker would have reached.

An attacker gives every canary a score, an estimate of `log p(output | in) / p(output | out)`, and
guesses "in" where it is above 0. Three bounds at 95 %:

* one run (Steinke et al.): of `k` guesses for `m` canaries, each in by its own fair coin,
  `(epsilon, delta)`-DP makes `v` or more right with probability at most
  `f(v) + 2 m delta max_i (f(v - i) - f(v)) / i`, where
  `f(v) = P[Binomial(k, 1 / (1 + e^-epsilon)) >= v]`;
* one run, f-DP (Mahloujifar et al.): the same guesses against the whole trade-off curve of the
  mechanism with other noise multipliers, turned into epsilon at `delta` by the accountant;
* many runs (Clopper & Pearson): `log((TPR - delta) / FPR)` from confidence limits on both rates;
  one half of the runs chooses the threshold, the other half gives the bound.

What is valid and what is not: `k` is fixed before the audit, from simulations of the ideal
attacker alone. jax-privacy 2.0.0 offers to divide the significance by the number of thresholds on
the convex hull of the scores instead. Which are on it depends on the coins, so that is not a
correction for all thresholds, and it is not used. Nor is `epsilon_from_gdp`, which is no lower
bound: it takes the absolute value of a negative `mu`. Its `epsilon_one_run_fdp` is right for
Gaussian trade-off curves only; `fdp_bound` takes those of subsampled mechanisms as well.

The ceiling of a bound is the median of the same bound over simulated audits with as many canaries
or runs, whose attacker sees the noisy sums of exactly the claimed mechanism in a direction of the
canary's own, and takes the likelihood ratio. No attack on a mechanism that keeps its claim does
better on average. It is below the claim because canaries and runs are few.

References:
    Steinke, Nasr & Jagielski (2023), "Privacy auditing with one (1) training run", theorem 5.2.
    Mahloujifar, Melis & Chaudhuri (2024), "Auditing f-differential privacy in one run",
        algorithm 3 (`audit_rh_with_cap`).
    Clopper & Pearson (1934), "The use of confidence or fiducial limits"; Jagielski, Ullman & Oprea
        (2020), "Auditing differentially private machine learning" (many runs).
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dp_accounting import pld
from jax_privacy import auditing

from jaxdp.privacy.mechanism import SubsampledGaussian

SIGNIFICANCE = 0.05
# Noise multipliers that `fdp_bound` tells apart, the most private one first: 2.5 % steps.
_MULTIPLIERS = tuple(40.0 * 1.025**-i for i in range(206))
# Slopes at which trade-off curves are known.
_SLOPES = np.concatenate([np.linspace(0, 2, 81), np.linspace(2.1, 24, 220)])
# Of an attack on no noise at all, for finite likelihoods.
_LEAST_NOISE = 1e-3
# Parts of the canaries that an attacker may guess.
_PARTS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
_USUAL_PART = 0.25


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is fixed before an audit: guesses of each one-run bound, and the three ceilings."""

    one_run_guesses: int
    fdp_guesses: int
    one_run_ceiling: float
    fdp_ceiling: float
    many_run_ceiling: float


def log_likelihood_ratio(
    projections: np.ndarray, *, precision: np.ndarray | float, rate: float
) -> np.ndarray:
    """Return `sum_t log(1 - q + q exp(precision (z_t - 1/2)))`, the last axis summed.

    Args:
        projections: z_t (..., steps), of mean 1 where a step has drawn the canary and 0 else.
        precision: inverse variance of z_t.
        rate: q.
    """
    drawn = precision * (projections - 0.5)
    if rate == 1:
        return np.sum(drawn, axis=-1)
    return np.sum(np.logaddexp(math.log1p(-rate), math.log(rate) + drawn), axis=-1)


def ideal_scores(
    rng: np.random.Generator, mechanism: SubsampledGaussian, included: np.ndarray
) -> np.ndarray:
    """Return the scores of an ideal attacker on a mechanism's own dominating pair.

    Args:
        rng: of coins and noise.
        mechanism: what is claimed; its noise, rate and steps count.
        included: which canaries are in.
    """
    stddev = max(mechanism.noise_multiplier, _LEAST_NOISE)
    shape = (len(included), mechanism.num_steps)
    drawn = included[:, None] & (rng.random(shape) < mechanism.sampling_rate)
    noisy = drawn + stddev * rng.standard_normal(shape)
    return log_likelihood_ratio(noisy, precision=stddev**-2, rate=mechanism.sampling_rate)


def correct_guesses(scores: np.ndarray, included: np.ndarray, guesses: int) -> int:
    """Return how many of the most confident guesses are right, whichever side they are on."""
    surest = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    return int(np.sum((scores[surest] > 0) == included[surest]))


def one_run_bound(
    *, canaries: int, guesses: int, correct: int, delta: float, significance: float = SIGNIFICANCE
) -> float:
    """Return the bound of Steinke et al. (2023) by jax-privacy, given the number of guesses.

    The library counts guesses of "in" above a threshold. The theorem counts guesses of either
    kind, so right ones are handed over as "in" and wrong ones as "out", at a fixed threshold.
    """
    # One more canary of either kind without a guess: the library wants some, it costs 2 delta.
    right = np.concatenate([np.ones(correct), np.zeros(1)])
    wrong = np.concatenate([np.ones(guesses - correct), np.zeros(canaries - guesses + 1)])
    return auditing.CanaryScoreAuditor(right, wrong).epsilon_one_run(
        significance, delta, threshold_strategy=auditing.Explicit(0.5)
    )


def fdp_bound(
    mechanism: SubsampledGaussian,
    *,
    canaries: int,
    guesses: int,
    correct: int,
    delta: float,
    significance: float = SIGNIFICANCE,
) -> float:
    """Return the bound of Mahloujifar et al. (2024): epsilon of the least noise that is refuted.

    Args:
        mechanism: rate and steps; its noise is not used.
        canaries: m.
        guesses: k, fixed beforehand.
        correct: v.
        delta: of the epsilon that is returned.
        significance: probability of a bound that is too high.
    """

    def refuted(index: int) -> bool:
        curve = _curve(mechanism.sampling_rate, mechanism.num_steps, index)
        return refutes(
            curve, canaries=canaries, guesses=guesses, correct=correct, significance=significance
        )

    # More noise is refuted more easily: the last refuted of an ordered list.
    low, high = -1, len(_MULTIPLIERS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    if low < 0:
        return 0.0
    return _epsilon(mechanism.sampling_rate, mechanism.num_steps, low, delta)


def refutes(
    least_wrong: Callable[[float], float],
    *,
    canaries: int,
    guesses: int,
    correct: int,
    significance: float,
) -> bool:
    """Return whether so many right guesses are less likely than that under a trade-off curve.

    Args:
        least_wrong: `y -> f^-1(1 - y)`, the least probability of an event out of which one of
            probability `y` can come by flipping one coin.
        canaries, guesses, correct, significance: as for `fdp_bound`.
    """
    right = significance * correct / canaries
    wrong = significance * (guesses - correct) / canaries
    for i in range(correct - 1, -1, -1):
        more = least_wrong(right)
        if more <= wrong:  # nothing can change any more
            break
        right = min(right + i / (guesses - i) * (more - wrong), 1.0)
        wrong = more
    return right + wrong > guesses / canaries


@functools.cache
def _losses(rate: float, steps: int, index: int) -> Any:
    losses = pld.privacy_loss_distribution.from_gaussian_mechanism(
        _MULTIPLIERS[index], sampling_prob=rate, value_discretization_interval=1e-3
    )
    return losses.self_compose(steps)


@functools.cache
def _epsilon(rate: float, steps: int, index: int, delta: float) -> float:
    return float(_losses(rate, steps, index).get_epsilon_for_delta(delta))


@functools.cache
def _curve(rate: float, steps: int, index: int) -> Callable[[float], float]:
    """Return `y -> f^-1(1 - y)` of a symmetric trade-off curve, from its slopes, from below.

    `f(x) = max_e max(1 - delta(e) - e^e x, e^-e (1 - delta(e) - x), 0)` and `f^-1 = f` (Dong, Roth
    & Su 2022, proposition 2.12).
    """
    deltas = np.asarray(_losses(rate, steps, index).get_delta_for_epsilon(_SLOPES))
    steep, flat = np.exp(_SLOPES), np.exp(-_SLOPES)

    def least_wrong(y: float) -> float:
        sides = np.maximum(1 - deltas - steep * (1 - y), flat * (y - deltas))
        return max(float(sides.max()), 0.0)

    return least_wrong


def many_run_bound(
    outside: np.ndarray, inside: np.ndarray, *, delta: float, significance: float = SIGNIFICANCE
) -> float:
    """Return the bound from runs without a canary and with it, by jax-privacy.

    Half of the runs choose the threshold (the split is fixed); both error rates of the other half
    have Clopper-Pearson limits at half of the significance each, so either may be what counts.
    """
    return float(
        auditing.CanaryScoreAuditor(inside, outside).epsilon_clopper_pearson(
            significance, delta, one_sided=False, threshold_strategy=auditing.Split(seed=0)
        )
    )


@functools.cache
def plan(
    mechanism: SubsampledGaussian, *, canaries: int, runs: int, delta: float, repetitions: int
) -> Plan:
    """Return the guesses that serve an ideal attacker best, and the bounds that it then reaches.

    Args:
        mechanism: what is claimed.
        canaries: of a one-run audit.
        runs: of a many-run audit, on either side.
        delta: of all bounds.
        repetitions: simulated audits; odd, for the median to be one of them.
    """
    rng = np.random.default_rng(0)
    parts = [max(1, round(part * canaries)) for part in _PARTS]
    one, fdp, many = [], [], []
    for _ in range(repetitions):
        included = rng.random(canaries) < 0.5
        scores = ideal_scores(rng, mechanism, included)
        counts = [(k, correct_guesses(scores, included, k)) for k in parts]
        common = {"canaries": canaries, "delta": delta}
        one.append([one_run_bound(guesses=k, correct=v, **common) for k, v in counts])
        fdp.append([fdp_bound(mechanism, guesses=k, correct=v, **common) for k, v in counts])
        sides = [ideal_scores(rng, mechanism, np.full(runs, side)) for side in (False, True)]
        many.append(many_run_bound(*sides, delta=delta))
    one_run, by_curve = _most_useful(one), _most_useful(fdp)
    return Plan(
        one_run_guesses=parts[one_run],
        fdp_guesses=parts[by_curve],
        one_run_ceiling=float(np.median(one, axis=0)[one_run]),
        fdp_ceiling=float(np.median(fdp, axis=0)[by_curve]),
        many_run_ceiling=float(np.median(many)),
    )


def _most_useful(found: list[list[float]]) -> int:
    """Return which number of guesses has the best median bound, the usual one if none has."""
    medians = np.median(found, axis=0)
    return int(np.argmax(medians)) if medians.max() > 0 else _PARTS.index(_USUAL_PART)
