"""A short version of `benchmarks/audit.py`: claims hold, planted faults are found.

False alarms: each bound on a correct mechanism is above its claim with probability 5 % at most. Of
400 simulated audits of this size by ideal attackers none had such a bound at epsilon 8 and four had
one at epsilon 1, which one test claims. Seeds are fixed: an alarm stays until its cause is found.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.special
import scipy.stats

from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

auditing = pytest.importorskip("jax_privacy.auditing")


BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
DELTA = 1e-5
SEED = 5


@pytest.fixture(scope="module")
def audit() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module("audit")


@pytest.fixture(scope="module")
def size(audit: ModuleType) -> object:
    return audit.Size(canaries=150, runs=60, repetitions=5)


def verdicts(audit: ModuleType, name: str, noise: float, epsilon: float, size: object) -> list:
    """Return what is found of a mechanism with this noise that claims `epsilon`."""
    if name == "class means":
        claim = audit.cases.class_means_claim(epsilon)
        found = [audit.cases.class_means_attack("orthogonal", noise, size, SEED)]
    else:
        claim = audit.cases.training_claim(epsilon)
        attacks = audit.cases.training_attacks(name, "orthogonal", noise, size, SEED)
        found = [attacks[audit.EVERY], attacks[audit.FINAL]]
    return [audit.judge(attack, claim, epsilon, size) for attack in found]


def claimed_noise(audit: ModuleType, name: str, epsilon: float) -> float:
    of = audit.cases.class_means_claim if name == "class means" else audit.cases.training_claim
    return of(epsilon).noise_multiplier


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DP-KIP, fast path", "teacher", "class means"])
def test_guarantee_no_bound_is_above_its_claim_and_the_attack_is_strong(
    name: str, audit: ModuleType, size: object
) -> None:
    found = verdicts(audit, name, claimed_noise(audit, name, 8.0), 8.0, size)
    assert all(verdict["best"] <= 8.0 for verdict in found)
    # Of the first threat model; one small audit is half as good as the median one at worst.
    assert found[0]["share"] > 0.5
    assert found[0]["best"] > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["teacher", "class means"])
def test_too_little_noise_is_found(name: str, audit: ModuleType, size: object) -> None:
    """A quarter of the noise that epsilon 1 needs; no bound of the honest mechanism is above 1."""
    noise = claimed_noise(audit, name, 1.0)
    assert verdicts(audit, name, noise / 4, 1.0, size)[0]["best"] > 1.0
    if name == "class means":  # the teacher's claim is tested above, and compiles anew here
        assert verdicts(audit, name, noise, 1.0, size)[0]["best"] <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["teacher", "class means"])
def test_no_noise_is_found_under_every_threat_model(
    name: str, audit: ModuleType, size: object
) -> None:
    for verdict in verdicts(audit, name, 0.0, math.inf, size):
        assert verdict["caught"] == "yes"
        assert verdict["auroc"] > 0.99
    if name == "class means":  # quickly made again
        assert verdicts(audit, name, 0.0, 1.0, size)[0]["holds"] == "NO"


@pytest.mark.slow
def test_releases_by_replacement(audit: ModuleType) -> None:
    """An embedding and class weights keep their claim, and would not have kept epsilon 1."""
    small = audit.Size(canaries=100, runs=60, repetitions=5)
    for attack, claim in (
        audit.cases.embedding_attack("hermite", "mislabelled", 8.0, small, SEED),
        audit.cases.weights_attack(8.0, small, SEED),
    ):
        honest = audit.judge(attack, claim, 8.0, small)
        assert honest["best"] <= 8.0
        assert honest["holds"] == "yes"
        assert honest["share"] > 0.5
        assert honest["best"] > 1.0


def single(noise: float) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=1, sampling_rate=1.0, num_steps=1, clip_norm=1.0, noise_multiplier=noise
    )


@pytest.mark.parametrize(("guesses", "correct"), [(50, 45), (120, 100), (200, 130), (60, 60)])
def test_one_run_bound_is_where_the_p_value_is_five_percent(
    guesses: int, correct: int, audit: ModuleType
) -> None:
    bound = audit.bounds.one_run_bound(canaries=200, guesses=guesses, correct=correct, delta=DELTA)
    # Theorem 5.2 of Steinke et al. (2023), term by term; one canary of either kind is added.
    q = scipy.special.expit(bound)
    tail = [scipy.stats.binom.sf(correct - i - 1, guesses, q) for i in range(correct + 1)]
    most = max((tail[i] - tail[0]) / i for i in range(1, correct + 1))
    assert tail[0] + 2 * 202 * DELTA * max(most, 0) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(("guesses", "correct"), [(50, 45), (120, 100), (200, 130), (60, 60)])
def test_bound_by_curves_is_that_of_jax_privacy_where_curves_are_gaussian(
    guesses: int, correct: int, audit: ModuleType
) -> None:
    ours = audit.bounds.fdp_bound(
        single(1.0), canaries=200, guesses=guesses, correct=correct, delta=DELTA
    )
    # Right guesses as "in" above the threshold, wrong ones as "out", the rest below it.
    right = np.append(np.ones(correct), np.zeros(200 - guesses))
    theirs = auditing.CanaryScoreAuditor(
        right if guesses < 200 else right[:correct], np.append(np.ones(guesses - correct), 0.0)
    ).epsilon_one_run_fdp(0.05, DELTA, threshold_strategy=auditing.Explicit(0.5))
    assert theirs * 0.93 < ours < theirs * 1.02


@pytest.mark.parametrize("name", ["class means", "class weights", "counts of columns"])
def test_guarantee_a_single_release_has_the_mu_that_is_claimed(
    name: str, audit: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2000 draws on either side: neither above the claim, nor far below it."""
    audit_mu = importlib.import_module("audit_mu")
    monkeypatch.setattr(audit_mu, "private_key", lambda: private_key(SEED))
    case = audit_mu.CASES[name](8.0)
    mu, error = audit_mu.measured(case, 2000)
    assert case.mu == pytest.approx(1.666, abs=1e-3)
    assert case.reach == pytest.approx(1.0, abs=2e-3)
    assert error < 0.04
    assert abs(mu - case.mu) < 3 * error
