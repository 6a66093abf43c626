"""Ledgers of strangers: whatever numbers they hold, accounting ends soon, or they are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis
import pytest
from dp_accounting.pld import pld_pmf
from hypothesis import strategies as st

from jaxdp.methods.settings import Budget, SettingsError
from jaxdp.privacy import accounting, releases
from jaxdp.privacy import ledger as ledgers
from jaxdp.privacy.certificates import Terms, certify
from jaxdp.privacy.grids import Part, fits
from jaxdp.privacy.ledger import Ledger, joint_epsilon, one_release
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.privacy.mechanism import MOST_RECORDS_PER_PERSON, SubsampledGaussian
from jaxdp.privacy.profiles import FALSE_POSITIVES
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.privacy.stored_certificates import recertified

DELTA = 1e-5
MOST_POINTS = 8 * 10**6
"""Of any grid that is made: 128 MB, and a second for its convolution."""


def steps(noise: float = 1.3, **changes: Any) -> SubsampledGaussian:
    facts = {"num_examples": 60000, "sampling_rate": 0.01, "num_steps": 1000, "clip_norm": 1.0}
    return SubsampledGaussian(**(facts | {"noise_multiplier": noise} | changes))


def stored(**changes: Any) -> dict[str, Any]:
    ledger = Ledger(num_examples=60000, delta=DELTA, steps=steps())
    facts = certify(ledger, Terms(covers=(), target_epsilon=1.0))
    return json.loads(json.dumps(facts | {"epsilon": None, "releasable": False} | changes))


def with_ledger(**changes: Any) -> dict[str, Any]:
    """Return a certificate that says nothing but what its ledger says."""
    facts = stored()
    for name in ("delta", "num_examples", "noise_multiplier", "also_released", "sampling_rate"):
        del facts[name]
    del facts["num_steps"], facts["clip_norm"], facts["gaussian_dp_mu"]
    changed = facts["ledger"] | changes
    changed["steps"] = facts["ledger"]["steps"] | changes.get("steps", {})
    return facts | {"ledger": changed}


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the grids that are made; one that is too large is refused before it is made."""
    found: list[int] = []
    real = pld_pmf.common.self_convolve
    bounds = pld_pmf.common.compute_self_convolve_bounds

    def counted(values: Any, times: int, tail_mass_truncation: float = 0) -> Any:
        low, high = bounds(values, times, tail_mass_truncation)
        found.append(max(high - low, len(values)))
        assert found[-1] < MOST_POINTS
        return real(values, times, tail_mass_truncation)

    monkeypatch.setattr(pld_pmf.common, "self_convolve", counted)
    return found


# --- Numbers beyond what runs have ---------------------------------------------------------------

BEYOND: dict[str, dict[str, Any]] = {
    "delta below what accountants reach": {"delta": 1e-300},
    "no examples": {"num_examples": 0, "steps": {"num_examples": 1}},
    "noise of 1e-9": {"steps": {"noise_multiplier": 1e-9}},
    "noise of 1e200": {"steps": {"noise_multiplier": 1e200, "clip_norm": 1e-200}},
    "steps that are no whole number": {"steps": {"num_steps": 1.5}},
    "steps that are true": {"steps": {"num_steps": True}},
    "a rate as text": {"steps": {"sampling_rate": "0.1"}},
    "noise beside of 1e-9": {"also": [1e-9]},
    "thousands of releases beside": {"also": [1.0] * 1001},
    "a release beside that is true": {"also": [True]},
    "noise that no version draws": {"noise": "perfect"},
    "a seed that is neither": {"seeded_noise": "no"},
    "persons with many records": {"records_per_person": 101, "steps": {"records_per_person": 101}},
    "another field": {"epsilon": 0.1},
}


_ABOUT = r"noise|delta|num_examples|steps|also|rate|records|unknown"


@pytest.mark.parametrize("case", BEYOND)
def test_numbers_that_no_run_has_are_refused_before_any_accounting(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = with_ledger(**BEYOND[case])
    monkeypatch.setattr(Ledger, "epsilon", None)
    with pytest.raises(ValueError, match=_ABOUT) as caught:
        recertified(hostile)
    said = str(caught.value)
    assert "NoneType" not in said
    assert "\n" not in said
    assert len(said) < 400


def test_thousands_of_releases_and_of_earlier_runs_are_refused() -> None:
    one = {"name": "m", "sensitivity": 1.0, "stddev": 1.0}
    ledger = Ledger(num_examples=9, delta=DELTA, releases=(GaussianRelease(**one),)).to_json()
    with pytest.raises(TypeError, match="no list of at most 1000"):
        Ledger.from_json(ledger | {"releases": [one] * 1001})
    with pytest.raises(ValueError, match="more than 1000 releases"):
        Ledger(num_examples=9, delta=DELTA, releases=(GaussianRelease(**one),) * 1001)
    with pytest.raises(ValueError, match="no list of at most 10000 ledgers"):
        recertified(stored(earlier_runs=[ledger] * 10_001))
    with pytest.raises(ValueError, match="more than 10000 runs"):
        joint_epsilon([Ledger.from_json(ledger)] * 10_001, delta=DELTA)
    with pytest.raises(ValueError, match="noise multipliers"):
        Ledger.from_json(ledger | {"releases": [one | {"sensitivity": 1e300, "stddev": 1e-30}]})


# --- Numbers within, and no larger work ----------------------------------------------------------

HARD = {
    "10^15 steps": steps(1.0, num_steps=10**15),
    "as many as a number holds": steps(1.0, num_steps=2**63 - 1),
    "little noise": steps(1e-6),
    "some noise, often": steps(0.05, sampling_rate=0.5),
    "much noise, often": steps(1e5, num_steps=10**9),
    "hardly ever": steps(1.3, sampling_rate=1e-200),
    "persons": steps(1.0, num_steps=10**12, records_per_person=100),
    "persons, much noise": steps(1e10, records_per_person=100),
    "persons, much noise, often": steps(
        1e5, sampling_rate=0.2, num_steps=50000, records_per_person=2
    ),
    "little noise, often": steps(0.006, sampling_rate=0.3, num_steps=140),
    "some noise, seldom": steps(0.03631, sampling_rate=0.0023625, num_steps=59871),
    "all but no loss": steps(
        1.1311333037587244e16, sampling_rate=0.3533387464900117, num_steps=86851
    ),
    "all but no loss, seldom": steps(1e13, sampling_rate=1e-15, num_steps=40000),
}


@pytest.mark.parametrize("case", HARD)
def test_accounting_ends_soon_for_whatever_numbers(case: str, sizes: list[int]) -> None:
    mechanism = HARD[case]
    for also in ((), (1e-6,), (1e18, 0.5)):
        found = accounting.epsilon(mechanism, delta=DELTA, also=also)
        assert 0 <= found < math.inf


@pytest.mark.parametrize("case", HARD)
def test_profiles_end_soon_for_whatever_numbers(case: str, sizes: list[int]) -> None:
    mechanism = HARD[case]
    for also in ((), (1e-6,), (1e18, 0.5), (0.0073,)):
        found = accounting.profile([mechanism], also=also)
        assert found.mu > 0
        assert 0 <= found.advantage <= 1
        assert FALSE_POSITIVES <= found.true_positives() <= 1


@hypothesis.settings(
    max_examples=25,
    phases=[hypothesis.Phase.generate],
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(draws=st.data())
def test_ledgers_of_any_numbers_are_read_or_refused_in_one_line(
    draws: st.DataObject, sizes: list[int]
) -> None:
    size = st.floats(-12, 18).map(lambda power: 10**power)
    changes = {
        "delta": draws.draw(st.floats(-110, 0).map(lambda power: 10**power)),
        "also": draws.draw(st.lists(size, max_size=3)),
        "accountant": draws.draw(st.sampled_from(["pld", "rdp"])),
        "steps": {
            "noise_multiplier": draws.draw(size),
            "sampling_rate": draws.draw(st.floats(-15, 0).map(lambda power: 10**power)),
            "num_steps": draws.draw(st.integers(1, 2**63 - 1) | st.integers(1, 10**5)),
        },
    }
    said = "epsilon"
    try:
        epsilon = recertified(with_ledger(**changes))["epsilon"]
        assert epsilon is None or epsilon >= 0  # None: the accountant cannot tell
    except ValueError as error:
        said = str(error)
    assert "\n" not in said
    assert any(word in said for word in ("epsilon", "noise", "delta"))


@pytest.mark.parametrize("people", [1, 2])
def test_estimates_of_sizes_are_near_the_sizes(people: int, sizes: list[int]) -> None:
    """Where grids of usual runs would be too large by them, runs would be accounted coarsely."""
    for noise, rate, number in ((1.3, 0.01, 1000), (0.6, 0.001, 10_000), (5.0, 0.1, 300)):
        run = steps(noise, sampling_rate=rate, num_steps=number, records_per_person=people)
        losses, _ = accounting._composed([run], ())
        accounting._pld_on_grid(losses, DELTA, 1e-3)
        told = Part(noise / people, rate, number, people).width(1e-3) / 1e-3
        assert 0.3 * max(sizes) < told < 10 * max(sizes)
        assert fits([Part(noise / people, rate, number, people)], 4e-3)
        sizes.clear()


def test_guarantee_what_is_too_large_for_a_grid_is_never_counted_as_less(sizes: list[int]) -> None:
    """Steps count as if each took all records, which is what a rate of 1 would be."""
    for mechanism in (steps(1.0, num_steps=10**15), steps(1e-6, num_steps=3)):
        everyone = mechanism.noise_multiplier / math.sqrt(mechanism.num_steps)
        exact = accounting.gaussian_epsilon(everyone, delta=DELTA)
        assert accounting.epsilon(mechanism, delta=DELTA) == pytest.approx(exact, rel=1e-9)
        beside = accounting.epsilon(mechanism, delta=DELTA, also=(1e-6,))
        assert beside > accounting.gaussian_epsilon(1e-6, delta=DELTA)


def test_guarantee_a_coarser_grid_says_no_less(sizes: list[int]) -> None:
    """One release at epsilon 5400, whose usual grid has 6 million points."""
    exact = accounting.gaussian_epsilon(0.01, delta=DELTA)
    found = accounting.epsilon(steps(0.01, sampling_rate=1.0, num_steps=1), delta=DELTA)
    assert exact <= found < 1.001 * exact


def test_guarantee_equal_runs_are_counted_as_often_as_they_are(sizes: list[int]) -> None:
    runs = [
        steps(1.3, num_steps=100, clip_norm=c, num_examples=n) for c in (1.0, 2.0) for n in (9, 99)
    ]
    runs = [*runs, steps(2.0)]
    together = accounting.joint_epsilon(runs, delta=DELTA, also=(5.0, 12.0))
    beside = 1 / math.sqrt(5.0**-2 + 12.0**-2)
    merged = [steps(1.3, num_steps=400), steps(2.0)]
    assert together == accounting.joint_epsilon(merged, delta=DELTA, also=(beside,))
    assert together > accounting.joint_epsilon(merged[:1], delta=DELTA, also=(beside,))
    many = accounting.joint_epsilon([steps(1.3, num_steps=1)] * 5000, delta=DELTA)
    assert many == accounting.joint_epsilon([steps(1.3, num_steps=5000)], delta=DELTA)


# --- What runs write is read ----------------------------------------------------------------------


@pytest.mark.parametrize(("eps", "delta"), [(0.01, 1e-30), (1e6, 1e-5), (math.inf, 0.5)])
def test_budgets_that_a_run_accepts_give_certificates_that_are_read(
    eps: float, delta: float
) -> None:
    for people in (1, MOST_RECORDS_PER_PERSON):
        planned = releases.calibrate(
            {"a": 1e-9, "b": 3.0},
            target_epsilon=eps,
            delta=delta,
            shares={"a": 1e-12, "b": 1.0},
            records_per_person=people,
        )
        facts = {"num_examples": 9, "delta": delta, "records_per_person": people}
        single = Ledger(releases=planned, **facts)
        multiplier = single.noise_multiplier
        alone = one_release(9, noise_multiplier=multiplier, records_per_person=people)
        terms = Terms(covers=(), target_epsilon=None, earlier=(single,))
        for ledger in (single, Ledger(steps=alone, also=(multiplier,), **facts)):
            certificate = json.loads(json.dumps(certify(ledger, terms)))
            assert recertified(certificate) == certificate


def test_no_budget_that_a_run_accepts_leads_beyond_the_bounds() -> None:
    for beyond in ({"eps": 0.9e-6}, {"eps": 1.1e6}, {"delta": LEAST_DELTA * 0.9}):
        with pytest.raises(SettingsError):
            Budget(**beyond)
    Budget(eps=1e-6, delta=LEAST_DELTA)
    assert ledgers.LEAST_READ < LEAST_DELTA
    # The most noise of a Gaussian release, which the textbook's formula bounds, and the least.
    most = math.sqrt(2 * math.log(1.25 / LEAST_DELTA)) / 1e-6 * MOST_RECORDS_PER_PERSON
    assert most / math.sqrt(1e-5) < ledgers.MOST_NOISE
    least = accounting.analytic_gaussian_stddev(epsilon=1e6, delta=0.9, sensitivity=1.0)
    assert least > ledgers.LEAST_NOISE
