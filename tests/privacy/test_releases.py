"""Joint accounting of single Gaussian releases, and the certificate."""

from __future__ import annotations

import inspect
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import pld

from jaxdp.privacy import accounting, releases
from jaxdp.privacy.releases import GaussianRelease

DELTA = 1e-5


def test_one_release_has_the_published_noise() -> None:
    (one,) = releases.calibrate({"mean": 2 / 60000}, target_epsilon=1.0, delta=DELTA)
    assert one.stddev == pytest.approx(3.7306 * 2 / 60000, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "count", "sigma"), [(1.0, 2, 5.2759), (10.0, 5, 1.1178)])
def test_equal_shares_give_the_k_fold_noise(epsilon: float, count: int, sigma: float) -> None:
    bounds = {str(i): 1.0 for i in range(count)}
    found = releases.calibrate(bounds, target_epsilon=epsilon, delta=DELTA)
    assert [r.stddev for r in found] == pytest.approx([sigma] * count, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 10.0])
@pytest.mark.parametrize("shares", [None, {"mean": 0.9, "weights": 0.1}])
def test_guarantee_releases_are_jointly_within_the_budget(
    epsilon: float, shares: dict[str, float] | None
) -> None:
    """Against an independent composition of the releases as privacy loss distributions."""
    bounds = {"mean": 2e-3, "weights": 1.4e-3}
    found = releases.calibrate(bounds, target_epsilon=epsilon, delta=DELTA, shares=shares)
    assert releases.epsilon(found, delta=DELTA) == pytest.approx(epsilon, rel=1e-6)
    parts = [
        pld.privacy_loss_distribution.from_gaussian_mechanism(
            r.stddev, sensitivity=r.sensitivity, value_discretization_interval=1e-3
        )
        for r in found
    ]
    composed = parts[0].compose(parts[1]).get_epsilon_for_delta(DELTA)
    assert composed == pytest.approx(epsilon, rel=2e-3)


def test_guarantee_less_noise_or_another_release_shows_in_epsilon() -> None:
    (one,) = releases.calibrate({"mean": 1.0}, target_epsilon=1.0, delta=DELTA)
    less = GaussianRelease(name="mean", sensitivity=1.0, stddev=0.99 * one.stddev)
    assert releases.epsilon([less], delta=DELTA) > 1.005
    assert releases.epsilon([one, one], delta=DELTA) > 1.4


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 50.0])
def test_gaussian_epsilon_inverts_the_noise(epsilon: float) -> None:
    stddev = accounting.analytic_gaussian_stddev(epsilon=epsilon, delta=DELTA, sensitivity=1.0)
    assert accounting.gaussian_epsilon(stddev, delta=DELTA) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("noise", [1e-9, 1e-4, 0.05, 0.3, 0.99, 1.01, 4.0, 1e2, 1e4, 1e7, 1e8])
def test_guarantee_gaussian_epsilon_is_above_the_truth_and_next_to_it(noise: float) -> None:
    """Against delta to 60 digits, Balle & Wang (2018), theorem 8."""
    found = 0
    with mpmath.workdps(60):
        for delta in np.logspace(-12, -1, 23).tolist():
            epsilon = accounting.gaussian_epsilon(noise, delta=delta)
            assert true_delta(epsilon, noise) <= delta
            least = epsilon * (1 - 1e-8) - 1e-12 / noise
            if least > 0:
                assert true_delta(least, noise) > delta
                found += 1
    assert found >= 3  # with much noise, the other deltas hold at epsilon 0


def true_delta(epsilon: float, noise: float) -> mpmath.mpf:
    half, shift = 1 / (2 * mpmath.mpf(noise)), mpmath.mpf(epsilon) * mpmath.mpf(noise)
    return mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift)


def test_gaussian_epsilon_is_0_and_infinity_at_the_ends_of_floating_point() -> None:
    assert accounting.gaussian_epsilon(1e300, delta=DELTA) == 0
    assert accounting.gaussian_epsilon(1e-200, delta=DELTA) == math.inf


def test_no_budget_means_no_noise() -> None:
    (one,) = releases.calibrate({"mean": 1.0}, target_epsilon=math.inf, delta=DELTA)
    assert one.stddev == 0
    assert releases.epsilon([one], delta=DELTA) == math.inf


@pytest.mark.parametrize("bad", [{"sensitivity": 0.0}, {"stddev": -1.0}, {"stddev": math.nan}])
def test_impossible_releases_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        GaussianRelease(**({"name": "x", "sensitivity": 1.0, "stddev": 1.0} | bad))


@pytest.mark.parametrize(
    "shares", [{"a": 1.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "c": 1.0}, {"a": 1.0, "b": math.inf}]
)
def test_shares_must_fit(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="share"):
        releases.calibrate({"a": 1.0, "b": 1.0}, target_epsilon=1.0, delta=DELTA, shares=shares)


@pytest.mark.parametrize("epsilon", [math.nan, 0.0, -0.0, -1.0, -math.inf])
def test_guarantee_no_epsilon_but_an_infinite_one_gives_no_noise(epsilon: float) -> None:
    with pytest.raises(ValueError, match="target_epsilon must be > 0"):
        releases.calibrate({"mean": 1.0}, target_epsilon=epsilon, delta=DELTA)


@pytest.mark.parametrize("records", [0, -2, 0.5, math.nan])
def test_guarantee_less_than_one_record_of_a_person_is_refused(records: float) -> None:
    """Half a record would have half of the noise, and half of the epsilon."""
    one = GaussianRelease(name="mean", sensitivity=1.0, stddev=4.0)
    # As users have them: annotations are not checked.
    calibrate, epsilon = (inspect.unwrap(each) for each in (releases.calibrate, releases.epsilon))
    wrong: dict[str, Any] = {"delta": DELTA, "records_per_person": records}
    with pytest.raises(ValueError, match="records_per_person must be a whole number"):
        calibrate({"mean": 1.0}, target_epsilon=1.0, **wrong)
    with pytest.raises(ValueError, match="records_per_person must be a whole number"):
        epsilon([one], **wrong)


def test_no_releases_have_neither_noise_nor_epsilon() -> None:
    with pytest.raises(ValueError, match="nothing was released"):
        releases.joint_noise_multiplier([])
    with pytest.raises(ValueError, match="nothing was released"):
        releases.epsilon([], delta=DELTA)
