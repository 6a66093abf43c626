"""Privacy profiles: against closed forms, against sums by hand, and never below the truth."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from jaxdp.privacy import accounting, releases
from jaxdp.privacy.ledger import Ledger, joint_epsilon, joint_profile
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.profiles import Profile, gaussian, gaussian_deltas

DELTA = 1e-5


def run(noise_multiplier: float, **changes: Any) -> SubsampledGaussian:
    fields = {"num_examples": 6000, "sampling_rate": 0.02, "num_steps": 200, "clip_norm": 1.0}
    return SubsampledGaussian(**{**fields, "noise_multiplier": noise_multiplier, **changes})


def ledger(steps: SubsampledGaussian | None = None, eps: float = 1.0, **changes: Any) -> Ledger:
    if steps is None:
        changes["releases"] = releases.calibrate({"mean": 1.0}, target_epsilon=eps, delta=DELTA)
    return Ledger(num_examples=6000, delta=DELTA, steps=steps, **changes)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(1.0, 0.268), (3.0, 0.719), (8.0, 1.666), (10.0, 2.000)]
)
def test_mu_of_one_gaussian_release_is_that_of_the_closed_form(epsilon: float, mu: float) -> None:
    found = joint_profile([ledger(eps=epsilon)])
    assert found.mu == pytest.approx(mu, abs=6e-4)
    assert found.epsilon(DELTA) == pytest.approx(epsilon, rel=1e-6)
    assert found.advantage == pytest.approx(2 * ndtr(found.mu / 2) - 1)
    assert found.true_positives(0.01) == pytest.approx(ndtr(ndtri(0.01) + found.mu))


def test_the_profile_of_a_gaussian_is_that_of_balle_and_wang() -> None:
    for mu in (1e-3, 0.268, 2.0, 6.0):
        for epsilon in (0.0, 0.1 * mu, mu, 3 * mu):
            by_hand = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
            found = gaussian_deltas(mu, np.array([epsilon]))[0]
            assert found == pytest.approx(by_hand, rel=1e-9, abs=1e-13)


def test_steps_of_the_whole_data_are_one_gaussian() -> None:
    steps = run(5.0, sampling_rate=1.0, num_steps=16, records_per_person=2)
    found = accounting.profile([steps], also=[2.0])
    assert found.exact_mu == pytest.approx(math.sqrt(16 * (2 / 5) ** 2 + (1 / 2) ** 2))


def test_a_sampled_mechanism_that_draws_nearly_all_has_nearly_the_profile_of_a_gaussian() -> None:
    found = accounting.profile([run(4.0, sampling_rate=1 - 1e-9, num_steps=1)])
    assert found.exact_mu is None
    assert found.mu == pytest.approx(0.25, rel=2e-3)
    assert found.mu >= 0.25
    assert found.advantage == pytest.approx(2 * ndtr(0.125) - 1, rel=2e-3)
    assert found.true_positives(0.01) == pytest.approx(ndtr(ndtri(0.01) + 0.25), rel=2e-3)


def one_step(rate: float, sigma: float, epsilons: np.ndarray) -> np.ndarray:
    """Return delta of one sampled step, by sums over a line: the larger of both directions."""
    x = np.linspace(-12 * sigma, 1 + 12 * sigma, 400_001)
    step = x[1] - x[0]
    out = np.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    inside = (1 - rate) * out
    inside += rate * np.exp(-0.5 * ((x - 1) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    factors = np.exp(epsilons)[:, None]
    pairs = ((inside, out), (out, inside))
    sums = [np.sum(np.maximum(p - factors * q, 0), axis=1) * step for p, q in pairs]
    return np.maximum(*sums)


def test_guarantee_a_profile_is_never_below_the_true_one() -> None:
    epsilons = np.linspace(0.0, 0.9, 19)
    true = one_step(0.3, 1.2, epsilons)
    found = accounting.profile([run(1.2, sampling_rate=0.3, num_steps=1)])
    assert np.all(found.deltas(epsilons) >= true * (1 - 1e-6))
    np.testing.assert_allclose(found.deltas(epsilons), true, rtol=5e-3, atol=1e-9)


def test_guarantee_mu_covers_every_delta_that_the_arithmetic_supports() -> None:
    for parts in (
        [ledger(run(1.1))],
        [ledger(run(0.6))],
        [ledger(run(1.1, records_per_person=3), records_per_person=3)],
        [ledger(run(1.5)), ledger(eps=1.0)],
    ):
        found = joint_profile(parts)
        epsilons = np.linspace(0.0, found.epsilon(LEAST_DELTA), 997)
        deltas = found.deltas(epsilons)
        assert np.all(gaussian_deltas(found.mu, epsilons) >= deltas)
        assert not np.all(gaussian_deltas(found.mu * 0.99, epsilons) >= deltas)
        # So epsilon at any delta is at most what mu says.
        for delta in (1e-3, DELTA, 1e-8):
            assert found.epsilon(delta) <= gaussian(found.mu).epsilon(delta) * (1 + 1e-9)


def test_guarantee_the_advantage_and_true_positives_bound_the_best_attacker() -> None:
    """The best attacker on one sampled step: a threshold on its sum (Neyman & Pearson)."""
    rate, sigma = 0.3, 1.2
    found = accounting.profile([run(sigma, sampling_rate=rate, num_steps=1)])
    thresholds = np.linspace(-5, 6, 2001)
    false = ndtr(-thresholds / sigma)
    true = (1 - rate) * false + rate * ndtr((1 - thresholds) / sigma)
    assert np.max(true - false) <= found.advantage <= np.max(true - false) * 1.005
    at = np.interp(0.01, false[::-1], true[::-1])
    assert at <= found.true_positives(0.01) <= at * 1.02


def test_guarantee_a_joint_profile_counts_every_release_of_every_ledger() -> None:
    parts = [
        ledger(run(8.0, sampling_rate=1.0, num_steps=4), also=(3.0,)),
        ledger(run(9.0, sampling_rate=1.0, num_steps=1), also=(5.0, 7.0)),
        ledger(eps=1.0),
    ]
    mu = math.sqrt(
        4 / 8**2 + 1 / 3**2 + 1 / 9**2 + 1 / 5**2 + 1 / 7**2 + 1 / parts[2].noise_multiplier ** 2
    )
    assert joint_profile(parts).mu == pytest.approx(mu)
    alone = [joint_profile([part]).mu for part in parts]
    assert math.hypot(*alone) == pytest.approx(mu)


def test_guarantee_sums_of_runs_count_all_records_of_a_person() -> None:
    steps = run(8.0, sampling_rate=1.0, num_steps=1, records_per_person=3)
    parts = [
        ledger(steps, also=(5.0,), records_per_person=3),
        ledger(eps=1.0, records_per_person=3),
    ]
    mu = 3 * math.sqrt(1 / 8**2 + 1 / 5**2 + 1 / parts[1].noise_multiplier ** 2)
    assert joint_profile(parts).mu == pytest.approx(mu)
    exact = accounting.gaussian_epsilon(1 / mu, delta=DELTA)
    assert joint_epsilon(parts, delta=DELTA) == pytest.approx(exact, rel=1e-3)


def test_a_profile_agrees_with_the_epsilon_of_the_ledger() -> None:
    for part in (ledger(run(1.1)), ledger(run(1.1), also=(4.0,)), ledger(eps=3.0)):
        assert joint_profile([part]).epsilon(DELTA) == pytest.approx(part.epsilon(), rel=3e-3)


def test_what_is_not_private_has_no_profile() -> None:
    with pytest.raises(ValueError, match="no profile"):
        joint_profile([ledger(run(0.0))])
    with pytest.raises(ValueError, match="no profile"):
        joint_profile([ledger(run(1.0), also=(0.0,))])
    with pytest.raises(ValueError, match="nothing was released"):
        accounting.profile([])


def test_a_profile_without_an_end_has_no_epsilon_and_no_mu() -> None:
    endless = Profile(lambda epsilons: np.full(len(epsilons), 0.2))
    assert endless.epsilon(0.1) == endless.mu == math.inf
    assert endless.epsilon(0.3) == 0.0
    assert 0.2 <= endless.true_positives(0.01) <= 1.0


def test_more_noise_is_a_smaller_mu() -> None:
    found = [accounting.profile([run(sigma)]).mu for sigma in (0.8, 1.2, 3.0, 30.0)]
    assert found == sorted(found, reverse=True)
    stronger = dataclasses.replace(run(1.2), num_steps=100)
    assert accounting.profile([stronger]).mu < accounting.profile([run(1.2)]).mu


def test_guarantee_an_epsilon_of_a_profile_keeps_its_delta() -> None:
    for found in (gaussian(0.3), gaussian(2.0), accounting.profile([run(1.1)])):
        for delta in (1e-2, 1e-5, 1e-9):
            epsilon = found.epsilon(delta)
            assert found.delta(epsilon) <= delta < found.delta(epsilon * (1 - 1e-6))
