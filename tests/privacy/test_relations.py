"""What a record may be exchanged for: an empty one, or any other one."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jaxdp.privacy import accounting, calibrate, joint_epsilon, relations, releases
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.privacy.releases import GaussianRelease

DELTA = 1e-5
EPSILONS = (0.0, 0.3, 1.0, 2.5)


def steps(noise: float = 2.0, **changes: Any) -> SubsampledGaussian:
    values: dict[str, Any] = {
        "num_examples": 1000,
        "sampling_rate": 0.1,
        "num_steps": 1,
        "clip_norm": 1.0,
        "noise_multiplier": noise,
        "relation": REPLACE,
    }
    return SubsampledGaussian(**(values | changes))


def ledger_of(mechanism: SubsampledGaussian, **changes: Any) -> Ledger:
    return Ledger(
        num_examples=1000,
        delta=DELTA,
        steps=mechanism,
        records_per_person=mechanism.records_per_person,
        **changes,
    )


def released(relation: str, noise: float = 4.0) -> Ledger:
    one = GaussianRelease(name="counts", sensitivity=1.0, stddev=noise, relation=relation)
    return Ledger(num_examples=1000, delta=DELTA, releases=(one,))


def deltas_by_quadrature(
    noise: float, rate: float, first: np.ndarray, second: np.ndarray
) -> list[float]:
    """Return deltas of one step, of a record that moves the sum by `first`, and by `second`."""
    x = np.linspace(-7 * noise - 1, 7 * noise + 1, 301)
    at = np.stack(np.meshgrid(x, x), axis=-1)

    def density(mean: np.ndarray) -> np.ndarray:
        return np.exp(-np.sum((at - mean) ** 2, axis=-1) / (2 * noise**2))

    empty = density(np.zeros(2))
    p, q = ((1 - rate) * empty + rate * density(each) for each in (first, second))
    mass = (x[1] - x[0]) ** 2 / (2 * math.pi * noise**2)
    return [float(np.sum(np.maximum(p - math.exp(e) * q, 0)) * mass) for e in EPSILONS]


@pytest.mark.parametrize(("noise", "rate"), [(0.7, 0.05), (1.5, 0.4), (2.0, 0.9)])
def test_guarantee_a_step_bounds_records_that_are_replaced_by_any_other(
    noise: float, rate: float
) -> None:
    """By integration over two dimensions, for contributions of all angles and some lengths."""
    profile = accounting.profile([steps(noise, sampling_rate=rate)])
    claimed = np.array([profile.delta(epsilon) for epsilon in EPSILONS])
    first = np.array([1.0, 0.0])
    for angle in (0.0, 1.0, 2.0, math.pi):
        for length in (0.0, 0.5, 1.0):
            second = length * np.array([math.cos(angle), math.sin(angle)])
            for pair in ((first, second), (second, first)):
                true = np.array(deltas_by_quadrature(noise, rate, *pair))
                assert np.all(true <= claimed * 1.01 + 1e-9)
    # And no less is true.
    least = np.array(deltas_by_quadrature(noise, rate, first, -first))
    assert np.all(least >= 0.97 * claimed - 1e-9)


@pytest.mark.parametrize("people", [2, 3])
def test_guarantee_a_step_bounds_persons_whose_records_are_replaced(people: int) -> None:
    noise, rate = 2.0, 0.2
    profile = accounting.profile([steps(noise, sampling_rate=rate, records_per_person=people)])
    x = np.linspace(-30.0, 30.0, 60_001)
    drawn = stats.binom.pmf(np.arange(people + 1), people, rate)
    p, q = (
        sum(part * stats.norm.pdf(x, sign * k, noise) for k, part in enumerate(drawn))
        for sign in (1, -1)
    )
    for epsilon in EPSILONS:
        true = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0)) * (x[1] - x[0]))
        assert true <= profile.delta(epsilon) * (1 + 1e-6)


@pytest.mark.parametrize("people", [1, 3])
def test_guarantee_whole_data_move_by_two_contributions_of_each_record(people: int) -> None:
    """Against the exact formula: at rate 1 everything is a plain Gaussian release."""
    once = steps(3.0, sampling_rate=1.0, num_steps=2, records_per_person=people)
    exact = accounting.gaussian_epsilon(
        (2 * (2 * people / 3.0) ** 2 + (2 * people / 5.0) ** 2) ** -0.5, delta=DELTA
    )
    ledger = ledger_of(once, also=(5.0,))
    assert ledger.relation == REPLACE
    found = (ledger.epsilon(), ledger.epsilon("rdp"), joint_epsilon([ledger], delta=DELTA))
    for each, slack in zip(found, (1.01, 1.2, 1.01), strict=True):
        assert exact * (1 - 1e-6) <= each <= exact * slack
    assert accounting.profile([once]).exact_mu == pytest.approx(2 * people * math.sqrt(2) / 3.0)


def test_guarantee_releases_beside_sampled_steps_move_by_two_contributions() -> None:
    sampled = steps(1.0, num_steps=50, sampling_rate=0.01)
    alone = accounting.gaussian_epsilon(5.0 / 2, delta=DELTA)
    assert accounting.epsilon(sampled, delta=DELTA) < alone
    assert alone <= accounting.epsilon(sampled, delta=DELTA, also=[5.0])
    assert alone <= joint_epsilon([ledger_of(sampled, also=(5.0,))], delta=DELTA)
    # Single releases count what replacing moves in their sensitivity, and nothing twice.
    beside = released(REPLACE, noise=2.5)
    assert joint_epsilon([ledger_of(sampled), beside], delta=DELTA) == pytest.approx(
        joint_epsilon([ledger_of(sampled, also=(5.0,))], delta=DELTA)
    )


def test_guarantee_calibration_keeps_a_budget_under_each_relation() -> None:
    for relation in relations.NAMES:
        wanted = steps(0.0, num_steps=40, relation=relation)
        found = calibrate(wanted, target_epsilon=1.0, delta=DELTA, also=[20.0])
        assert 0.99 < accounting.epsilon(found, delta=DELTA, also=[20.0]) <= 1.0
    assert accounting.epsilon(dataclasses.replace(found, relation=ZERO_OUT), delta=DELTA) < 0.7


def test_guarantee_renyi_says_nothing_of_sampled_records_that_are_replaced() -> None:
    assert accounting.epsilon(steps(), delta=DELTA, accountant="rdp") == math.inf


def test_guarantee_ledgers_of_both_relations_are_together_about_emptied_records() -> None:
    replaced, emptied = ledger_of(steps(num_steps=30)), released(ZERO_OUT)
    joint = joint_epsilon([replaced, emptied], delta=DELTA)
    as_emptied = ledger_of(steps(num_steps=30, relation=ZERO_OUT))
    assert joint == joint_epsilon([as_emptied, emptied], delta=DELTA)
    assert joint < joint_epsilon([replaced, released(REPLACE)], delta=DELTA)


def test_a_ledger_is_about_what_all_of_its_releases_are_about() -> None:
    first = releases.calibrate({"a": 1.0}, target_epsilon=1.0, delta=DELTA, relation=REPLACE)
    second = releases.calibrate({"b": 1.0}, target_epsilon=1.0, delta=DELTA, relation=ZERO_OUT)
    for found, relation in ((first, REPLACE), (second, ZERO_OUT), (first + second, ZERO_OUT)):
        assert Ledger(num_examples=9, delta=DELTA, releases=found).relation == relation


def test_guarantee_a_stored_ledger_is_about_what_it_says() -> None:
    for ledger in (ledger_of(steps()), released(REPLACE), released(ZERO_OUT)):
        stored = json.loads(json.dumps(ledger.to_json()))
        assert Ledger.from_json(stored) == ledger
        other = ZERO_OUT if ledger.relation == REPLACE else REPLACE
        with pytest.raises(ValueError, match="the relation is"):
            Ledger.from_json(stored | {"relation": other})


def test_ledgers_of_before_the_relation_could_be_chosen_are_read() -> None:
    stored = json.loads(json.dumps(released(REPLACE).to_json()))
    del stored["releases"][0]["relation"]
    assert Ledger.from_json(stored | {"relation": "replace-one"}) == released(REPLACE)
    stepped = ledger_of(steps(relation=ZERO_OUT))
    stored = json.loads(json.dumps(stepped.to_json()))
    del stored["steps"]["relation"]
    assert Ledger.from_json(stored) == stepped


def test_an_unknown_relation_is_refused() -> None:
    for make in (
        lambda: steps(relation="add"),
        lambda: GaussianRelease(name="a", sensitivity=1.0, stddev=1.0, relation="add"),
    ):
        with pytest.raises(ValueError, match="relation must be one of"):
            make()
    with pytest.raises(ValueError, match="of one relation"):
        accounting.joint_epsilon([steps(), steps(relation=ZERO_OUT)], delta=DELTA)
