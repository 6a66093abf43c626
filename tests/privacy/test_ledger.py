"""The ledger: what an epsilon is computed from, as it is stored and read again."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from jaxdp.privacy import accounting, releases
from jaxdp.privacy.ledger import Ledger, joint_epsilon, one_release
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.privacy.releases import GaussianRelease

DELTA = 1e-5


def steps(noise_multiplier: float = 1.323, **changes: Any) -> SubsampledGaussian:
    values: dict[str, Any] = {
        "num_examples": 60000,
        "sampling_rate": 500 / 60000,
        "num_steps": 1200,
        "clip_norm": 1e-3,
        "noise_multiplier": noise_multiplier,
    }
    return SubsampledGaussian(**(values | changes))


def stepped(**changes: Any) -> Ledger:
    return Ledger(**({"num_examples": 60000, "delta": DELTA, "steps": steps()} | changes))


def released(**changes: Any) -> Ledger:
    found = releases.calibrate(
        {"mean": 2 / 600, "shares": 1 / 600}, target_epsilon=1.0, delta=DELTA
    )
    return Ledger(**({"num_examples": 600, "delta": DELTA, "releases": found} | changes))


def test_guarantee_epsilon_is_that_of_everything_in_it() -> None:
    assert stepped().epsilon() == accounting.epsilon(steps(), delta=DELTA)
    assert stepped(also=(5.0,)).epsilon() == accounting.epsilon(steps(), delta=DELTA, also=(5.0,))
    assert stepped().epsilon("rdp") == accounting.epsilon(steps(), delta=DELTA, accountant="rdp")
    assert released().epsilon() == pytest.approx(1, rel=1e-6)
    assert released().epsilon("pld") == pytest.approx(1, rel=1e-3)
    (one, _) = released().releases
    assert released(releases=(one,)).epsilon() < 0.8


def test_guarantee_what_no_epsilon_counts_is_in_no_ledger() -> None:
    with pytest.raises(ValueError, match="put single releases into releases"):
        released(also=(5.0,))
    with pytest.raises(ValueError, match="put single releases into releases"):
        Ledger.from_json(released().to_json() | {"also": [5.0]})


def test_guarantee_anything_without_noise_makes_epsilon_infinite() -> None:
    bare = GaussianRelease(name="bare", sensitivity=1.0, stddev=0.0)
    for ledger in (
        stepped(steps=steps(0.0)),
        stepped(also=(5.0, 0.0)),
        released(releases=(*released().releases, bare)),
    ):
        assert not ledger.is_private
        assert ledger.epsilon() == math.inf


@pytest.mark.parametrize("people", [1, 3])
def test_guarantee_ledgers_together_count_what_each_releases_beside_its_steps(people: int) -> None:
    """Against the exact formula: at rate 1 everything is a plain Gaussian release."""
    once = steps(2.0, sampling_rate=1.0, num_steps=1, records_per_person=people)
    one = stepped(steps=once, also=(3.0,), records_per_person=people)
    other = stepped(steps=once, also=(4.0, 5.0), records_per_person=people)
    bare = stepped(steps=once, records_per_person=people)

    def exact(*noise: float) -> float:
        return accounting.gaussian_epsilon(
            sum((people / each) ** 2 for each in noise) ** -0.5, delta=DELTA
        )

    for ledgers, noise in (
        ((bare, bare), (2.0, 2.0)),
        ((one, bare), (2.0, 2.0, 3.0)),
        ((one, other), (2.0, 2.0, 3.0, 4.0, 5.0)),
    ):
        found = joint_epsilon(ledgers, delta=DELTA)
        assert exact(*noise) * (1 - 1e-9) <= found <= exact(*noise) * 1.01


def test_guarantee_one_release_without_noise_makes_all_together_infinite() -> None:
    for mechanisms in ([steps()], [steps(), steps()], []):
        assert accounting.joint_epsilon(mechanisms, delta=DELTA, also=[5.0, 0.0]) == math.inf
    assert accounting.joint_epsilon([steps(), steps(0.0)], delta=DELTA) == math.inf
    assert accounting.epsilon(steps(), delta=DELTA, also=[5.0, 0.0]) == math.inf


def test_the_accountant_that_was_asked_for_judges_single_releases_too() -> None:
    rdp = released().epsilon("rdp")
    assert rdp > 1.05 * released().epsilon("pld")
    alone = one_release(1, noise_multiplier=released().noise_multiplier)
    assert rdp == accounting.epsilon(alone, delta=DELTA, accountant="rdp")
    for ledger in (released(), stepped(), stepped(steps=steps(0.0))):
        with pytest.raises(ValueError, match="accountant must be one of"):
            ledger.epsilon("mine")


def test_relations() -> None:
    assert stepped().relation == ZERO_OUT
    assert released().relation == REPLACE


@pytest.mark.parametrize(
    "ledger",
    [stepped(), stepped(also=(2.0, 3.0), seeded_noise=True), released(), released(delta=1e-7)],
)
def test_is_stored_as_json_and_read_again(ledger: Ledger) -> None:
    stored = json.loads(json.dumps(ledger.to_json(), allow_nan=False))
    assert Ledger.from_json(stored) == ledger
    unclipped = stepped(steps=steps(0.0, clip_norm=math.inf))
    assert Ledger.from_json(json.loads(json.dumps(unclipped.to_json()))) == unclipped


def test_guarantee_what_is_no_ledger_is_refused() -> None:
    stored = released().to_json()
    for bad in (
        {"relation": ZERO_OUT},
        {"releases": []},
        {"delta": 0.0},
        {"delta": 2.0},
        {"accountant": "mine"},
        {"also": [-1.0]},
        {"also": [math.nan]},
        {"steps": stepped().to_json()["steps"]},
        {"releases": [{"name": "mean", "sensitivity": 1.0, "stddev": 1e-31}]},
        {"releases": [{"name": "mean", "sensitivity": 1.0}]},
        {"more": 1},
    ):
        with pytest.raises((ValueError, TypeError, KeyError)):
            Ledger.from_json(stored | bad)
    with pytest.raises(ValueError, match="steps are for 60000 examples"):
        dataclasses.replace(stepped(), num_examples=10)
