"""Accounting against published noise multipliers and closed forms."""

import dataclasses
import json
import math

import pytest

from jaxdp import accounting
from jaxdp.mechanism import SubsampledGaussian

DELTA = 1e-5


def mechanism(n: int, batch: int, steps: int, sigma: float = 0.0) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=n,
        sampling_rate=batch / n,
        num_steps=steps,
        clip_norm=1.0,
        noise_multiplier=sigma,
    )


# Noise multipliers of an independent PLD computation for the papers' settings.
@pytest.mark.parametrize(
    ("n", "batch", "epochs", "eps", "sigma"),
    [
        (60000, 500, 10, 1.0, 1.323),
        (60000, 500, 10, 10.0, 0.534),
        (60000, 200, 10, 1.0, 0.978),
        (73257, 50, 10, 1.0, 0.700),
        (50000, 500, 10, 1.0, 1.416),
        (60000, 5000, 20, 1.0, 4.966),
    ],
)
def test_pld_calibration(n: int, batch: int, epochs: int, eps: float, sigma: float) -> None:
    m = accounting.calibrate(
        mechanism(n, batch, epochs * math.ceil(n / batch)), target_epsilon=eps, delta=DELTA
    )
    assert m.noise_multiplier == pytest.approx(sigma, rel=2e-3)
    assert eps * 0.998 < accounting.epsilon(m, delta=DELTA) <= eps


@pytest.mark.parametrize(
    ("n", "batch", "epochs", "sigma"),
    [(60000, 500, 10, 1.410), (50000, 500, 10, 1.513), (60000, 5000, 20, 5.386)],
)
def test_rdp_calibration(n: int, batch: int, epochs: int, sigma: float) -> None:
    m = accounting.calibrate(
        mechanism(n, batch, epochs * math.ceil(n / batch)),
        target_epsilon=1.0,
        delta=DELTA,
        accountant="rdp",
    )
    assert m.noise_multiplier == pytest.approx(sigma, rel=2e-3)


def test_full_batch_is_the_analytic_gaussian_mechanism() -> None:
    m = accounting.calibrate(mechanism(100, 100, 1), target_epsilon=1.0, delta=DELTA)
    assert m.noise_multiplier == pytest.approx(3.7306, rel=2e-3)
    assert accounting.epsilon(m, delta=DELTA, accountant="rdp") > 1.0


@pytest.mark.parametrize(
    ("eps", "releases", "sigma"),
    [
        (0.2, 1, 16.3041),
        (0.2, 2, 23.0575),
        (1.0, 1, 3.7306),
        (1.0, 5, 8.3419),
        (10.0, 1, 0.4999),
        (10.0, 7, 1.3226),
    ],
)
def test_guarantee_analytic_gaussian(eps: float, releases: int, sigma: float) -> None:
    # k equal releases are one release of sensitivity sqrt(k).
    stddev = accounting.analytic_gaussian_stddev(
        epsilon=eps, delta=DELTA, sensitivity=math.sqrt(releases)
    )
    assert stddev == pytest.approx(sigma, rel=1e-4)


@pytest.mark.parametrize("accountant", accounting.ACCOUNTANTS)
def test_epsilon_falls_with_noise_and_grows_with_steps_and_rate(accountant: str) -> None:
    def eps(batch: int, steps: int, sigma: float) -> float:
        m = mechanism(10000, batch, steps, sigma)
        return accounting.epsilon(m, delta=DELTA, accountant=accountant)

    base = eps(100, 200, 1.0)
    assert eps(100, 200, 1.2) < base < eps(100, 200, 0.8)
    assert base < eps(100, 400, 1.0)
    assert base < eps(200, 200, 1.0)
    assert accounting.epsilon(mechanism(100, 10, 5), delta=DELTA) == math.inf


@pytest.mark.parametrize("eps", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("accountant", accounting.ACCOUNTANTS)
def test_guarantee_calibration_never_exceeds_its_target(eps: float, accountant: str) -> None:
    m = accounting.calibrate(
        mechanism(5000, 100, 300), target_epsilon=eps, delta=DELTA, accountant=accountant
    )
    assert accounting.epsilon(m, delta=DELTA, accountant=accountant) <= eps
    less = dataclasses.replace(m, noise_multiplier=0.99 * m.noise_multiplier)
    assert accounting.epsilon(less, delta=DELTA, accountant=accountant) > eps


def test_guarantee_event_has_the_mechanisms_own_numbers() -> None:
    event = accounting.event(mechanism(1000, 20, 77, sigma=1.25))
    assert event.count == 77
    assert event.event.sampling_probability == 0.02
    assert event.event.event.noise_multiplier == 1.25


def test_unreachable_epsilon() -> None:
    with pytest.raises(accounting.UnreachableEpsilonError, match="more noise than"):
        accounting.calibrate(mechanism(10, 10, 1000), target_epsilon=1e-9, delta=1e-12)


def test_loose_targets_stop_at_the_least_noise() -> None:
    m = accounting.calibrate(mechanism(10, 1, 1), target_epsilon=1e9, delta=DELTA)
    assert 0 < m.noise_multiplier <= 0.1


def certificate(sigma: float, seeded: bool, delta: float = DELTA) -> accounting.Certificate:
    return accounting.certify(
        mechanism(60000, 500, 1200, sigma),
        delta=delta,
        target_epsilon=1.0 if sigma else None,
        accountant="pld",
        seeded_noise=seeded,
        covers=("the result",),
    )


def test_guarantee_certificate_recomputes_epsilon() -> None:
    private = certificate(2.0, seeded=False)
    m = mechanism(60000, 500, 1200, 2.0)
    assert private.epsilon == accounting.epsilon(m, delta=DELTA)
    assert private.epsilon_second_opinion == accounting.epsilon(m, delta=DELTA, accountant="rdp")
    assert private.releasable
    assert (private.sampling_rate, private.num_steps) == (500 / 60000, 1200)
    assert (private.clip_norm, private.noise_multiplier) == (1.0, 2.0)
    assert "dp-accounting" in private.accountant
    assert "autodp" in private.second_opinion_accountant
    assert private.warnings == ()


def test_guarantee_no_noise_or_known_noise_is_never_releasable() -> None:
    for sigma, seeded in ((0.0, False), (0.0, True), (2.0, True)):
        bad = certificate(sigma, seeded)
        assert not bad.releasable
        assert bad.not_releasable_reason
    assert certificate(0.0, seeded=False).epsilon is None
    assert certificate(0.0, seeded=False).covers == ()


def test_certificate_is_strict_json() -> None:
    for sigma in (0.0, 2.0):
        text = json.dumps(certificate(sigma, seeded=False).to_json(), allow_nan=False)
        assert json.loads(text)["covers"] == (["the result"] if sigma else [])


@pytest.mark.parametrize(("delta", "warned"), [(1e-5, False), (1 / 60000, True), (0.1, True)])
def test_delta_warning(delta: float, warned: bool) -> None:
    assert bool(accounting.delta_warnings(delta, 60000)) is warned
    assert bool(certificate(2.0, seeded=False, delta=delta).warnings) is warned


def test_bad_arguments() -> None:
    m = mechanism(100, 10, 5, 1.0)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="delta must be"):
            accounting.epsilon(m, delta=delta)
    with pytest.raises(ValueError, match="accountant must be"):
        accounting.epsilon(m, delta=DELTA, accountant="hope")
    for eps in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="target_epsilon"):
            accounting.calibrate(m, target_epsilon=eps, delta=DELTA)
    with pytest.raises(ValueError, match="epsilon > 0"):
        accounting.analytic_gaussian_stddev(epsilon=0.0, delta=DELTA, sensitivity=1.0)
