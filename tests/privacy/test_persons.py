"""Persons with several records: what is accounted, and which of their records are used."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.stats

from jaxdp.privacy import accounting, calibration, certificates, contributions, promises, releases
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import Ledger, joint_epsilon, one_release
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.data.persons import held_out_persons
from jaxdp.tables import cells

DELTA = 1e-5


def steps(**changes: Any) -> SubsampledGaussian:
    values: dict[str, Any] = {
        "num_examples": 1000,
        "sampling_rate": 0.1,
        "num_steps": 1,
        "clip_norm": 1.0,
        "noise_multiplier": 4.0,
        "records_per_person": 3,
    }
    return SubsampledGaussian(**(values | changes))


def hockey_stick(mechanism: SubsampledGaussian) -> Callable[[float], float]:
    """Return delta of one step at an epsilon, by quadrature, of both orders of the neighbours."""
    sigma, most = mechanism.noise_multiplier, mechanism.records_per_person
    grid = np.linspace(-12 * sigma, most + 12 * sigma, 400_001)
    chances = scipy.stats.binom.pmf(np.arange(most + 1), most, mechanism.sampling_rate)
    without = scipy.stats.norm.pdf(grid, 0, sigma)
    present = sum(
        chance * scipy.stats.norm.pdf(grid, drawn, sigma) for drawn, chance in enumerate(chances)
    )
    width = grid[1] - grid[0]

    def delta(epsilon: float) -> float:
        return max(
            float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * width)
            for p, q in ((present, without), (without, present))
        )

    return delta


@pytest.mark.parametrize(("most", "rate"), [(2, 0.1), (5, 0.02), (3, 0.9)])
def test_guarantee_a_step_of_persons_has_the_epsilon_of_a_quadrature(
    most: int, rate: float
) -> None:
    mechanism = steps(records_per_person=most, sampling_rate=rate)
    found = accounting.epsilon(mechanism, delta=DELTA)
    delta = hockey_stick(mechanism)
    exact = scipy.optimize.brentq(lambda epsilon: delta(epsilon) - DELTA, 1e-3, 30, xtol=1e-6)
    assert exact * (1 - 1e-4) <= found <= exact * 1.01


def test_guarantee_persons_cost_more_than_records_and_less_than_groups() -> None:
    one = steps(records_per_person=1, num_steps=200, noise_multiplier=4.0)
    three = dataclasses.replace(one, records_per_person=3)
    alone, together = (accounting.epsilon(each, delta=DELTA) for each in (one, three))
    # Of k records one by one: k epsilon at k exp(k epsilon) delta, a group's worst case.
    tail = DELTA / (3 * math.exp(2 * alone))
    assert alone < together < 3 * accounting.epsilon(one, delta=tail)


def test_guarantee_a_release_of_the_whole_data_moves_by_all_records_of_a_person() -> None:
    for many in (1, 4):
        whole = one_release(1000, noise_multiplier=8.0, records_per_person=many)
        exact = accounting.gaussian_epsilon(8.0 / many, delta=DELTA)
        assert accounting.epsilon(whole, delta=DELTA) == pytest.approx(exact, rel=2e-3)
        beside = steps(noise_multiplier=1e4, records_per_person=many)
        found = accounting.epsilon(beside, delta=DELTA, also=(8.0,))
        assert found == pytest.approx(exact, rel=1e-2)
        assert found >= exact * (1 - 1e-6)


def test_guarantee_calibration_keeps_the_budget_of_a_person() -> None:
    asked, also = steps(num_steps=50), (40.0,)
    found = calibration.calibrate(asked, target_epsilon=1.0, delta=DELTA, also=also, tolerance=0.02)
    assert accounting.epsilon(found, delta=DELTA, also=also) <= 1
    single = dataclasses.replace(found, records_per_person=1)
    assert accounting.epsilon(single, delta=DELTA, also=also) < 0.5
    together = releases.calibrate(
        {"a": 0.1, "b": 0.2}, target_epsilon=1.0, delta=DELTA, records_per_person=3
    )
    assert releases.epsilon(together, delta=DELTA, records_per_person=3) <= 1 + 1e-6
    assert releases.epsilon(together, delta=DELTA) < 0.4


def test_renyi_accounting_knows_no_sampled_persons() -> None:
    assert accounting.epsilon(steps(), delta=DELTA, accountant="rdp") == math.inf
    whole = steps(sampling_rate=1.0)
    exact = accounting.gaussian_epsilon(4 / 3, delta=DELTA)
    assert accounting.epsilon(whole, delta=DELTA, accountant="rdp") >= exact


@pytest.mark.parametrize("number", [0, -1, 101])
def test_numbers_of_records_out_of_range_are_refused(number: Any) -> None:
    with pytest.raises(ValueError, match=r"records_per_person|records"):
        steps(records_per_person=number)
    with pytest.raises(ValueError, match="most must be"):
        contributions.bounded(["a"], most=number)


def ledgers() -> dict[str, Ledger]:
    single = releases.calibrate({"mean": 0.1}, target_epsilon=1.0, delta=DELTA)
    facts: dict[str, Any] = {"num_examples": 1000, "delta": DELTA, "records_per_person": 3}
    return {
        "steps": Ledger(steps=steps(num_steps=20), **facts),
        "beside": Ledger(steps=steps(num_steps=20), also=(30.0,), **facts),
        "releases": Ledger(releases=single, **facts),
    }


@pytest.mark.parametrize("name", list(ledgers()))
def test_guarantee_a_ledger_of_persons_says_whom_it_protects(name: str) -> None:
    ledger = ledgers()[name]
    changes: dict[str, Any] = {"records_per_person": 1}
    if ledger.steps is not None:
        changes["steps"] = dataclasses.replace(ledger.steps, records_per_person=1)
    of_records = dataclasses.replace(ledger, **changes)
    assert of_records.epsilon() < ledger.epsilon()
    assert Ledger.from_json(ledger.to_json()) == ledger
    facts = certificates.certify(ledger, Terms(covers=("x",), target_epsilon=1.0))
    assert facts["unit"].startswith("one person with at most 3 records")
    assert facts["epsilon"] == ledger.epsilon()
    assert recertified(facts) == facts
    assert "for persons with up to 3 of 1000 records" in str(promises.Certificate(facts))
    edited = facts | {"ledger": of_records.to_json(), "epsilon": of_records.epsilon() / 2}
    with pytest.raises(ValueError, match="epsilon"):
        recertified(edited)


def test_guarantee_steps_and_ledger_are_about_the_same_persons() -> None:
    with pytest.raises(ValueError, match="3 records of a person"):
        Ledger(num_examples=1000, delta=DELTA, steps=steps(), records_per_person=2)


def test_guarantee_several_ledgers_are_one_composition() -> None:
    found = ledgers()
    one = found["steps"]
    assert joint_epsilon([one], delta=DELTA) == one.epsilon()
    assert one.steps is not None
    twice = dataclasses.replace(one.steps, num_steps=40)
    assert joint_epsilon([one, one], delta=DELTA) == pytest.approx(
        accounting.epsilon(twice, delta=DELTA), rel=1e-3
    )
    single = found["releases"]
    both = (*single.releases, *single.releases)
    exact = releases.epsilon(both, delta=DELTA, records_per_person=3)
    assert joint_epsilon([single, single], delta=DELTA) == pytest.approx(exact, rel=1e-6)
    mixed = joint_epsilon([one, single], delta=DELTA)
    beside = accounting.epsilon(one.steps, delta=DELTA, also=(single.noise_multiplier,))
    assert mixed == pytest.approx(beside, rel=1e-6)
    other = Ledger(num_examples=1000, delta=DELTA, steps=steps(records_per_person=1))
    for bad in ([one, other], []):
        with pytest.raises(ValueError, match="one unit"):
            joint_epsilon(bad, delta=DELTA)
    bare = dataclasses.replace(one, steps=steps(noise_multiplier=0.0))
    assert joint_epsilon([one, bare], delta=DELTA) == math.inf


def people() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 40, 500)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_guarantee_no_person_has_more_records_than_allowed(most: int) -> None:
    persons = people()
    used = contributions.bounded(persons, most=most)
    counts = np.bincount(persons[used], minlength=40)
    np.testing.assert_array_equal(counts, np.minimum(np.bincount(persons, minlength=40), most))
    assert np.all(np.diff(used) > 0)


def test_guarantee_a_person_changes_only_which_of_its_own_records_are_used() -> None:
    persons = people()
    used = contributions.bounded(persons, most=2)
    for left in (0, 17):
        others = np.flatnonzero(persons != left)
        without = others[contributions.bounded(persons[others], most=2)]
        np.testing.assert_array_equal(without, used[persons[used] != left])


def test_guarantee_names_that_differ_by_a_nul_are_of_two_persons() -> None:
    names = ["a", "a", "a\0", "a\0"]
    for persons in (names, np.array(names, object)):
        assert contributions.bounded(persons, most=2).tolist() == [0, 1, 2, 3]
    column = pd.Series(names, dtype=object)
    assert contributions.bounded(cells.texts(column), most=2).tolist() == [0, 1, 2, 3]
    held_out = held_out_persons(cells.texts(column), 0.5, seed=0)
    assert held_out.tolist() in ([True, True, False, False], [False, False, True, True])


def test_which_records_are_used_is_a_public_choice() -> None:
    persons = people()
    chosen = [contributions.bounded(persons, most=2, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(chosen[0], chosen[1])
    assert not np.array_equal(chosen[0], chosen[2])
    texts = np.array([f"patient {each}" for each in persons])
    counts = np.unique(texts[contributions.bounded(texts, most=2)], return_counts=True)[1]
    assert counts.max() == 2
    for bad in (np.zeros(3), np.zeros((3, 1), int)):
        with pytest.raises(Exception, match=r"persons|shape|type"):
            contributions.bounded(bad, most=1)
