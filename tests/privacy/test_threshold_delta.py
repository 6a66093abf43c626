"""The chance that a threshold fails: a part of delta, in every number that a ledger gives."""

from __future__ import annotations

import dataclasses
import math

import pytest

from jaxdp.privacy import (
    Certificate,
    GaussianRelease,
    Ledger,
    Terms,
    certify,
    joint_epsilon,
    joint_profile,
)
from jaxdp.privacy.ledger import one_release

RELEASE = GaussianRelease(name="counts", sensitivity=1.0, stddev=4.0)
PLAIN = Ledger(num_examples=1000, delta=1e-5, releases=(RELEASE,))
RARE = dataclasses.replace(PLAIN, threshold_delta=4e-6)
STEPS = Ledger(
    num_examples=1000, delta=1e-5, steps=one_release(1000, noise_multiplier=4.0), also=(9.0,)
)


@pytest.mark.parametrize("ledger", [PLAIN, STEPS])
@pytest.mark.parametrize("accountant", [None, "rdp", "pld"])
def test_guarantee_noise_has_what_thresholds_leave_of_delta(
    ledger: Ledger, accountant: str | None
) -> None:
    rare = dataclasses.replace(ledger, threshold_delta=4e-6)
    less = dataclasses.replace(ledger, delta=6e-6)
    assert rare.epsilon(accountant) == pytest.approx(less.epsilon(accountant), rel=1e-6)
    assert rare.epsilon(accountant) > ledger.epsilon(accountant)


def test_guarantee_thresholds_of_several_runs_add_up() -> None:
    several = joint_epsilon([RARE, RARE], delta=1e-5)
    assert several == pytest.approx(joint_epsilon([PLAIN, PLAIN], delta=2e-6))
    assert joint_epsilon([RARE, RARE, RARE], delta=1e-5) == math.inf
    assert joint_profile([RARE, RARE]).threshold_delta == pytest.approx(8e-6)


@pytest.mark.parametrize("ledger", [PLAIN, STEPS])
def test_guarantee_profiles_have_the_chance_of_a_threshold_added(ledger: Ledger) -> None:
    rare = dataclasses.replace(ledger, threshold_delta=4e-6)
    with_it, without = joint_profile([rare]), joint_profile([ledger])
    for epsilon in (0.0, 0.5, 3.0):
        assert with_it.delta(epsilon) == pytest.approx(without.delta(epsilon) + 4e-6, abs=1e-12)
    assert with_it.epsilon(1e-5) == pytest.approx(without.epsilon(6e-6), rel=1e-6)
    assert with_it.epsilon(4e-6) == math.inf
    assert with_it.mu == pytest.approx(without.mu), "mu is of the noise"
    assert with_it.advantage == pytest.approx(without.advantage + 4e-6, abs=1e-9)
    assert with_it.true_positives(0.01) == pytest.approx(
        without.true_positives(0.01) + 4e-6, abs=1e-9
    )


def test_a_ledger_with_a_threshold_comes_back() -> None:
    assert Ledger.from_json(RARE.to_json()) == RARE
    assert "threshold_delta" not in PLAIN.to_json(), "older versions read what has none"
    for wrong in (-1e-9, 1e-5, 1.0):
        with pytest.raises(ValueError, match="threshold_delta"):
            dataclasses.replace(PLAIN, threshold_delta=wrong)


def test_a_certificate_tells_of_the_threshold() -> None:
    facts = certify(RARE, Terms(covers=("counts",), target_epsilon=1.0))
    assert "fails with a chance of 4e-06" in facts["mechanism"]
    assert facts["releasable"]


def test_guarantee_words_on_all_runs_tell_of_all_their_thresholds() -> None:
    for own, earlier, said in ((PLAIN, RARE, "4e-06"), (RARE, RARE, "8e-06")):
        terms = Terms(covers=("counts",), target_epsilon=1.0, earlier=(earlier,))
        assert f"beside a chance of {said}" in Certificate(certify(own, terms)).attack


@pytest.mark.parametrize("field", ["delta", "threshold_delta"])
def test_numbers_beyond_float64_are_none_of_a_ledger(field: str) -> None:
    with pytest.raises(TypeError, match="no number"):
        Ledger.from_json(RARE.to_json() | {field: 10**400})
