"""Calibration: the noise meets the budget, and hardly less noise would."""

from __future__ import annotations

import dataclasses
import math

import pytest
from accounted import DELTA, run

from jaxdp.privacy import accounting
from jaxdp.privacy.accounting import epsilon
from jaxdp.privacy.calibration import UnreachableEpsilonError, calibrate
from jaxdp.privacy.mechanism import SubsampledGaussian


@pytest.mark.parametrize("accountant", accounting.ACCOUNTANTS)
@pytest.mark.parametrize("target", [0.3, 1.0, 10.0])
def test_guarantee_calibrate_never_exceeds_the_target(accountant: str, target: float) -> None:
    start = run(123.0, n=2000, batch=100, epochs=5)
    result = calibrate(start, target_epsilon=target, delta=DELTA, accountant=accountant)
    spent = epsilon(result, delta=DELTA, accountant=accountant)
    assert spent <= target
    less = dataclasses.replace(result, noise_multiplier=result.noise_multiplier / 1.0005)
    assert epsilon(less, delta=DELTA, accountant=accountant) > target
    assert dataclasses.replace(result, noise_multiplier=123.0) == start  # nothing else changed


@pytest.mark.parametrize(("accountant", "target"), [("pld", 0.3), ("pld", 1.0), ("rdp", 3.0)])
def test_guarantee_a_coarse_search_does_not_exceed_the_target_either(
    accountant: str, target: float
) -> None:
    """Its candidates come within the tolerance from both sides."""
    mechanism = run(1.0, n=500, batch=50, epochs=2)
    result = calibrate(
        mechanism, target_epsilon=target, delta=DELTA, accountant=accountant, tolerance=0.02
    )
    assert 0.96 * target < epsilon(result, delta=DELTA, accountant=accountant) <= target


def test_calibrate_ignores_the_noise_it_starts_from() -> None:
    results = [
        calibrate(run(noise, n=500, batch=50, epochs=2), target_epsilon=2.0, delta=DELTA)
        for noise in (0.0, 7.0)
    ]
    assert results[0] == results[1]


def test_calibrate_with_a_loose_target_stops_at_the_least_noise() -> None:
    start = run(1.0, n=100, batch=1, epochs=1, num_steps=1)
    result = calibrate(start, target_epsilon=1e6, delta=1e-2, accountant="rdp")
    assert 0.05 <= result.noise_multiplier <= 0.1


@pytest.mark.parametrize("accountant", accounting.ACCOUNTANTS)
def test_unreachable_epsilon_is_an_error(accountant: str) -> None:
    once = run(1.0, sampling_rate=1.0, num_steps=1)
    with pytest.raises(UnreachableEpsilonError, match="100000"):
        calibrate(once, target_epsilon=1e-7, delta=1e-12, accountant=accountant)
    assert issubclass(UnreachableEpsilonError, ValueError)


def test_where_renyi_accounting_says_nothing_no_noise_is_enough() -> None:
    with pytest.raises(UnreachableEpsilonError):
        calibrate(run(0.0), target_epsilon=1.0, delta=1e-300, accountant="rdp")


@pytest.mark.parametrize("beside", [0.0, 0.5])
def test_no_noise_makes_up_for_a_release_that_spends_more_than_everything(beside: float) -> None:
    with pytest.raises(UnreachableEpsilonError):
        calibrate(run(1.0, num_steps=1), target_epsilon=1.0, delta=DELTA, also=(beside,))


@pytest.mark.parametrize("target", [0.0, -1.0, math.inf, math.nan])
def test_bad_targets_are_refused(target: float) -> None:
    with pytest.raises(ValueError, match="target_epsilon"):
        calibrate(run(1.0), target_epsilon=target, delta=DELTA)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan])
def test_bad_deltas_are_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        calibrate(run(1.0), target_epsilon=1.0, delta=delta)


def test_guarantee_calibration_leaves_room_for_other_releases() -> None:
    alone = calibrate(run(0.0), target_epsilon=1.0, delta=DELTA)
    beside = calibrate(run(0.0), target_epsilon=1.0, delta=DELTA, also=(5.0,))
    assert beside.noise_multiplier > alone.noise_multiplier * 1.05
    assert epsilon(beside, delta=DELTA, also=(5.0,)) <= 1.0
    assert epsilon(alone, delta=DELTA, also=(5.0,)) > 1.0


@pytest.mark.parametrize(
    ("rate", "steps", "eps", "sigma"),
    [(1 / 60, 1200, 0.2, 9.488), (1 / 60, 1200, 0.05, 33.42), (1e-3, 10_000, 0.1, 3.17)],
)
def test_small_epsilons_cost_no_more_noise_than_they_must(
    rate: float, steps: int, eps: float, sigma: float
) -> None:
    """A grid fixed at 1e-3 asks for 9.744, 53.31 and 7.541; the finest for 0.5 % less than ours."""
    mechanism = SubsampledGaussian(
        num_examples=10**5, sampling_rate=rate, num_steps=steps, clip_norm=1.0, noise_multiplier=0.0
    )
    ours = calibrate(mechanism, target_epsilon=eps, delta=DELTA)
    assert ours.noise_multiplier == pytest.approx(sigma, rel=3e-3)
    assert epsilon(ours, delta=DELTA) <= eps


def test_a_budget_that_hardly_any_draw_could_spend_needs_no_logarithm_of_zero() -> None:
    """One draw with probability 1/1437 spends less than delta = 1e-3 alone: epsilon is 0."""
    mechanism = SubsampledGaussian(
        num_examples=1437, sampling_rate=1 / 1437, num_steps=1, clip_norm=1.0, noise_multiplier=0.0
    )
    ours = calibrate(mechanism, target_epsilon=1.0, delta=1e-3)
    assert epsilon(ours, delta=1e-3) <= 1
    tiny = calibrate(
        dataclasses.replace(mechanism, num_steps=2, sampling_rate=0.1),
        target_epsilon=1e-4,
        delta=DELTA,
    )
    assert epsilon(tiny, delta=DELTA) <= 1e-4


@pytest.mark.parametrize("tolerance", [0.0, -1e-3, math.nan, 1.0])
def test_a_tolerance_that_no_search_meets_is_refused(tolerance: float) -> None:
    """A search by steps of 0 would never end."""
    with pytest.raises(ValueError, match=r"tolerance must be in \(0, 1\)"):
        calibrate(run(1.0), target_epsilon=1.0, delta=DELTA, tolerance=tolerance)
