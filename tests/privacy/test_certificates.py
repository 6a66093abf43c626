"""The certificate: computed from the ledger, complete, plain JSON, and never believed."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import pytest
from scipy.special import ndtr, ndtri

from jaxdp.privacy import accounting, certificates, releases
from jaxdp.privacy.accounting import epsilon
from jaxdp.privacy.calibration import calibrate
from jaxdp.privacy.certificates import Terms, certify, delta_warnings
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE, UNROUNDED_NOISE, Ledger, one_release
from jaxdp.privacy.limits import LEAST_DELTA
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.promises import Certificate
from jaxdp.privacy.relations import IN_WORDS, ZERO_OUT
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.runs.folder import TEMPORARY

DELTA = 1e-5


def run(noise_multiplier: float, **changes: Any) -> SubsampledGaussian:
    """Ten epochs of batches of 500 on MNIST."""
    return SubsampledGaussian(
        **{
            "num_examples": 60000,
            "sampling_rate": 500 / 60000,
            "num_steps": 1200,
            "clip_norm": 1e-3,
            "noise_multiplier": noise_multiplier,
            **changes,
        }
    )


def terms(**changes: Any) -> Terms:
    return Terms(**({"covers": ("distilled.npz",), "target_epsilon": 1.0} | changes))


def certificate(noise_multiplier: float = 1.323, *, of: Any = None, **changes: Any) -> dict:
    steps = run(noise_multiplier)
    ledger = Ledger(**({"num_examples": 60000, "delta": DELTA, "steps": steps} | changes))
    return certify(ledger, of or terms())


def single(eps: float = 1.0, of: Any = None, **changes: Any) -> dict:
    found = releases.calibrate({"mean": 2 / 600}, target_epsilon=eps, delta=DELTA)
    ledger = Ledger(**({"num_examples": 600, "delta": DELTA, "releases": found} | changes))
    return certify(ledger, of or terms(target_epsilon=eps if eps < math.inf else None))


def test_certificate_of_a_private_run() -> None:
    given, mechanism = certificate(), run(1.323)
    assert given["epsilon"] == epsilon(mechanism, delta=DELTA)
    assert given["epsilon_second_opinion"] == epsilon(mechanism, delta=DELTA, accountant="rdp")
    assert given["accountant"] == accounting.describe("pld")
    assert given["second_opinion_accountant"] == accounting.describe("rdp")
    assert given["relation"] == IN_WORDS[ZERO_OUT]
    assert given["unit"].startswith("one image or one row")
    assert "A person with k records" in given["unit"]
    assert (given["delta"], given["target_epsilon"]) == (DELTA, 1.0)
    assert given["sampling_rate"] == mechanism.sampling_rate
    assert given["num_steps"] == 1200
    assert given["num_examples"] == 60000
    assert given["expected_batch_size"] == pytest.approx(500)
    assert given["clip_norm"] == 1e-3
    assert given["noise_multiplier"] == 1.323
    assert given["covers"] == given["may_leave"] == ["distilled.npz"]
    for words in ("hyper-parameters", "test split", "budgets add up", "floating point"):
        assert any(words in what for what in given["does_not_cover"])
    assert any("number n of training records" in what for what in given["public"])
    assert "operating system" in given["randomness"]
    assert "256 bits" in given["randomness"]
    assert given["releasable"]
    assert given["not_releasable_reason"] is None
    assert given["warnings"] == []


def test_the_first_lines_say_what_may_leave_and_what_must_not() -> None:
    first = list(certificate())[:5]
    assert first == ["verdict", "releasable", "not_releasable_reason", "may_leave", "must_stay"]
    assert certificate()["verdict"].startswith("MAY BE RELEASED, under a strong guarantee")
    for words in ("training data", "feature_cache", "accuracies", "check_copies"):
        assert any(words in what for what in certificate()["must_stay"])
    bad = certificate(seeded_noise=True)
    assert bad["verdict"].startswith("MUST NOT BE RELEASED: the noise came from --noise_seed")
    assert bad["may_leave"] == []
    assert bad["must_stay"][0] == "everything in this folder"


def test_guarantee_what_is_made_anew_after_a_kill_must_stay() -> None:
    """It lies in checkpoints/, of which every checkpoint may leave."""
    (said,) = (what for what in certificate()["must_stay"] if "--resume" in what)
    assert all(mark in said for mark in (TEMPORARY, ".orbax-checkpoint-tmp"))


def test_the_other_accountant_gives_the_second_opinion() -> None:
    given = certificate(accountant="rdp")
    assert given["epsilon"] == epsilon(run(1.323), delta=DELTA, accountant="rdp")
    assert given["epsilon_second_opinion"] == epsilon(run(1.323), delta=DELTA)


def test_a_second_opinion_that_cannot_tell_is_none() -> None:
    given = certificate(steps=run(1.323, sampling_rate=1e-8, num_steps=1), delta=1e-12)
    assert json.loads(json.dumps(given, allow_nan=False)) == given


def test_guarantee_epsilon_is_recomputed_and_not_copied() -> None:
    given = certificate(0.8, of=terms(target_epsilon=0.01))
    assert given["epsilon"] == epsilon(run(0.8), delta=DELTA)
    assert given["epsilon"] > 1


STABLE_KEYS = {
    "mechanism": str,
    "relation": str,
    "epsilon": float,
    "delta": float,
    "sampling_rate": float,
    "num_steps": int,
    "clip_norm": float,
    "noise_multiplier": float,
    "accountant": str,
    "epsilon_second_opinion": float,
    "unit": str,
    "covers": list,
    "does_not_cover": list,
    "releasable": bool,
    "verdict": str,
    "may_leave": list,
    "must_stay": list,
    "ledger": dict,
}


@pytest.mark.parametrize("kind", ["private", "seeded", "open"])
def test_certificate_is_plain_json(kind: str) -> None:
    given = certificate(seeded_noise=kind == "seeded")
    if kind == "open":
        given = certificate(steps=run(0.0, clip_norm=math.inf), of=terms(target_epsilon=None))
    read = json.loads(json.dumps(given, allow_nan=False))
    assert read == given
    for key, kind_of in STABLE_KEYS.items():
        if kind == "open" and key in ("epsilon", "epsilon_second_opinion", "clip_norm"):
            assert read[key] is None
        else:
            assert type(read[key]) is kind_of, key


def test_certificate_of_single_releases() -> None:
    found = json.loads(json.dumps(single(), allow_nan=False))
    assert found["epsilon"] == pytest.approx(1, rel=1e-6)
    assert found["epsilon_second_opinion"] == pytest.approx(1, rel=1e-3)
    assert found["releasable"]
    assert found["relation"].startswith("replace:")
    assert found["releases"][0]["sensitivity"] == 2 / 600


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("noise_multiplier", [0.0, 1.0])
def test_guarantee_never_releasable_without_noise_or_with_seeded_noise(
    seeded: bool, noise_multiplier: float
) -> None:
    given = certificate(noise_multiplier, seeded_noise=seeded)
    private = noise_multiplier > 0 and not seeded
    assert given["releasable"] is private
    assert (given["not_releasable_reason"] is None) is private
    if noise_multiplier == 0:
        assert given["epsilon"] is None
        assert given["epsilon_second_opinion"] is None
        assert given["mechanism"] == "none"
        assert given["covers"] == []
        assert "no noise" in given["not_releasable_reason"]
    elif seeded:
        assert "noise_seed" in given["not_releasable_reason"]
        assert "noise_seed" in given["randomness"]
    assert not single(math.inf)["releasable"]
    assert not single(seeded_noise=True)["releasable"]


def test_guarantee_a_delta_of_one_over_n_is_releasable_by_an_allowance_alone() -> None:
    for given in (certificate(delta=1e-4), single(delta=1 / 600)):
        assert not given["releasable"]
        assert "--allow_delta" in given["not_releasable_reason"]
        assert given["warnings"]
    allowed = certificate(delta=1e-4, of=terms(allow_delta=True))
    assert allowed["releasable"]
    assert allowed["allowed"] == {"delta": True, "epsilon": False}
    assert allowed["warnings"] == list(delta_warnings(1e-4, 60000))
    assert certificate(delta=0.99 / 60000)["releasable"]


def test_guarantee_an_epsilon_above_fifty_is_releasable_by_an_allowance_alone() -> None:
    weak, none = single(12.0), single(60.0)
    assert weak["releasable"]
    assert "weak" in weak["verdict"]
    assert any("weak guarantee" in warning for warning in weak["warnings"])
    assert not none["releasable"]
    assert "--allow_epsilon" in none["not_releasable_reason"]
    assert single(60.0, of=terms(allow_epsilon=True))["releasable"]
    assert "medium" in single(5.0)["verdict"]
    assert single(5.0)["warnings"] == []


def test_delta_of_one_over_n_or_more_is_warned_about() -> None:
    assert delta_warnings(1e-5, 60000) == ()
    assert delta_warnings(0.99e-5, 100_000) == ()
    for delta, n in ((1e-5, 100_000), (1e-3, 1797)):
        (warning,) = delta_warnings(delta, n)
        assert f"delta = {delta:g}" in warning
        assert f"1/n = {1 / n:g}" in warning


def test_counted_classes_are_named_as_public() -> None:
    counted = certificate(of=terms(counted_classes=True))
    assert any("counted from the labels" in what for what in counted["public"])
    assert not any("counted" in what for what in certificate()["public"])


def test_what_was_done_to_every_record_is_named_as_public() -> None:
    resized = certificate(of=terms(preparation="every image was resized"))
    assert resized["public"][-1] == resized["preparation"] == "every image was resized"
    assert recertified(resized) == resized
    with pytest.raises(ValueError, match="preparation is no text of at most"):
        recertified(resized | {"preparation": ["x"]})


def test_certificate_counts_other_releases_and_knows_one_without_noise() -> None:
    beside = calibrate(run(0.0), target_epsilon=1.0, delta=DELTA, also=(5.0,))
    found = certificate(steps=beside, also=(5.0,))
    assert found["epsilon"] == epsilon(beside, delta=DELTA, also=(5.0,))
    assert found["also_released"] == [5.0]
    assert "1 Gaussian release" in found["mechanism"]
    bare = certificate(steps=beside, also=(0.0,))
    assert not bare["releasable"]
    assert bare["epsilon"] is None


@pytest.mark.parametrize("make", [certificate, single])
def test_a_certificate_read_again_is_the_same(make: Any) -> None:
    stored = json.loads(json.dumps(make() | {"reused": "words of a driver"}))
    assert recertified(stored) == stored


# What somebody who wants to release a run without noise would edit.
EDITS: list[dict[str, Any]] = [
    {"epsilon": 0.1},
    {"epsilon": 0.1, "releasable": True, "not_releasable_reason": None},
    {"epsilon": "0.1"},
    {"epsilon": float("nan")},
    {"releasable": True},
    {"releasable": "yes"},
    {"delta": 1e-9},
    {"noise_multiplier": 5.0},
    {"ledger": None},
    {"ledger": {}},
    {"covers": 3},
]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("make", [certificate, single])
def test_guarantee_a_certificate_that_says_more_than_its_ledger_is_refused(
    make: Any, edit: dict[str, Any]
) -> None:
    stored = make(0.0 if make is certificate else math.inf) | edit
    with pytest.raises(ValueError, match=r"it (says|is)"):
        recertified(stored)


def test_guarantee_a_stored_mu_or_sum_below_that_of_its_ledger_is_refused() -> None:
    given = earlier_and(1.0, 1.0)
    assert recertified(given) == given
    for edit in ({"gaussian_dp_mu": 0.1}, {"epsilon_with_earlier_runs": 1.0}):
        with pytest.raises(ValueError, match=f"it says {next(iter(edit))}"):
            recertified(given | edit)
    # What nobody reads is computed anew without a word.
    edited = given | {"attacker": {"advantage": 0.0}, "loss_with_earlier_runs": {}}
    assert recertified(edited) == given


def test_guarantee_an_embedding_without_noise_cannot_be_edited_into_a_private_one() -> None:
    """Five values that made version 0.1.0 believe epsilon 0.1."""
    stored = single(math.inf) | {
        "epsilon": 0.1,
        "target_epsilon": 0.1,
        "mechanism": "Gaussian, 1 release(s)",
        "releasable": True,
        "not_releasable_reason": None,
    }
    for version in (stored, _of_version_0_1_0(stored)):
        with pytest.raises(ValueError, match=r"says epsilon 0\.1"):
            recertified(version)


@pytest.mark.parametrize("make", [certificate, single])
def test_guarantee_a_lower_stored_claim_never_replaces_what_was_computed(make: Any) -> None:
    """Within the tolerance between versions the computed numbers and words hold, too."""
    given = make()
    edited = given | {
        "epsilon": 0.997 * given["epsilon"],
        "verdict": "MAY BE RELEASED, under a perfect guarantee",
        "does_not_cover": [],
        "reused": "words of a driver",
    }
    assert recertified(edited) == given | {"reused": "words of a driver"}


@pytest.mark.parametrize("make", [certificate, single])
def test_guarantee_a_claim_a_hundredth_too_low_is_refused(make: Any) -> None:
    """Other versions of an accountant differ by less."""
    given = make()
    with pytest.raises(ValueError, match="its own numbers give"):
        recertified(given | {"epsilon": 0.99 * given["epsilon"]})


UNKNOWN = {
    "epsilon_with_earlier_runs": 0.001,
    "relation_with_earlier_runs": "none",
    "earlier_epsilon": 0.1,
    "gaussian_dp_mu": 0.1,
    "exported": {"format": "png"},
    "note": "<b>safe</b>",
}


@pytest.mark.parametrize("make", [certificate, single])
def test_guarantee_what_is_not_computed_is_not_kept(make: Any) -> None:
    given = make()
    extra = {name: value for name, value in UNKNOWN.items() if name not in given}
    assert recertified(given | extra | {"expected_batch_size": 1, "unit": "x"}) == given


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (certificate, "delta", 1e-9),
        (certificate, "num_examples", 60001),
        (certificate, "noise_multiplier", 5.0),
        (certificate, "also_released", [5.0]),
        (certificate, "sampling_rate", 1e-3),
        (certificate, "num_steps", 12),
        (certificate, "clip_norm", 1.0),
        (single, "releases", []),
        (single, "num_examples", 601),
    ],
)
def test_guarantee_no_number_may_differ_from_the_ledger(make: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"it says {name}"):
        recertified(make() | {name: value})


@pytest.mark.parametrize(
    "edit",
    [
        {"reused": ["x"]},
        {"reused": "x" * 2001},
        {"sha256": ["x"]},
        {"sha256": {"x.npz": "short"}},
        {"sha256": {"../x.npz": "0" * 64}},
        {"sha256": {"/etc/passwd": "0" * 64}},
        {"sha256": {"a\x00b": "0" * 64}},
        {"sha256": {"a" * 256: "0" * 64}},
        {"also_released_digests": ["x"]},
        {"covers": ["x"] * 1001},
        {"covers": "x"},
        {"objection": 3},
        {"target_epsilon": -1},
        {"target_epsilon": "1"},
        {"allowed": {"delta": "no", "epsilon": False}},
        {"counted_classes": "no"},
        {"epsilon": True},
        {"earlier_runs": {}},
    ],
)
def test_guarantee_what_is_kept_has_its_type(edit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"it is no certificate .*{next(iter(edit))}|no number"):
        recertified(certificate() | {"counted_classes": False, "persons_declared": False} | edit)


def test_words_that_are_kept_cannot_steer_a_terminal() -> None:
    words = {"reused": "a\x1b[31m", "objection": "b\u202e", "preparation": "c\nd"}
    edited = certificate() | words | {"covers": ["x\x9b.npz"], "releasable": False}
    found = recertified(edited)
    for text in (found["reused"], found["verdict"], *found["public"], *found["covers"]):
        assert text.isprintable()


def _of_version_0_1_0(given: dict[str, Any]) -> dict[str, Any]:
    new = ("verdict", "may_leave", "must_stay", "allowed", "counted_classes", "preparation")
    new += ("objection", "ledger")
    old = {key: value for key, value in given.items() if key not in new}
    source = "a known --noise_seed" if given["ledger"]["seeded_noise"] else "64 bits of the system"
    return old | {"randomness": f"sampling and noise: threefry2x32 keyed by {source}"}


def test_certificates_of_version_0_1_0_can_be_read() -> None:
    given = certificate()
    found = recertified(_of_version_0_1_0(given))
    assert found["epsilon"] == given["epsilon"]
    assert found["ledger"]["noise"] == OLD_NOISE
    assert not found["ledger"]["seeded_noise"]
    known = recertified(_of_version_0_1_0(certificate(seeded_noise=True)))
    assert known["ledger"]["seeded_noise"]
    assert not known["releasable"]


def test_guarantee_sums_whose_noise_was_not_rounded_are_not_releasable() -> None:
    """Counts and class means, alone or beside steps, and the checkpoints of many steps."""
    released = recertified(_of_version_0_1_0(single()))
    assert released["ledger"]["noise"] == OLD_NOISE
    beside = certificate(also=(4.0,), noise=UNROUNDED_NOISE)
    alone = certificate(steps=one_release(60000, noise_multiplier=4.0), noise=UNROUNDED_NOISE)
    steps = certificate(noise=UNROUNDED_NOISE)
    for found in (released, single(noise=UNROUNDED_NOISE), beside, alone, steps):
        assert not found["releasable"]
        assert "not rounded to a grid" in found["not_releasable_reason"]
        assert recertified(found) == found


def test_guarantee_what_has_no_epsilon_is_not_releasable_whatever_is_allowed() -> None:
    """Thresholds of earlier purchases may take all of a smaller delta."""
    part = releases.calibrate({"mean": 2 / 600}, target_epsilon=0.1, delta=DELTA)
    bought = Ledger(num_examples=600, delta=2 * DELTA, releases=part, threshold_delta=DELTA)
    found = single(0.3, of=terms(earlier=(bought,), allow_epsilon=True))
    assert not found["releasable"]
    assert "no epsilon holds at delta" in found["not_releasable_reason"]
    assert recertified(found) == found


@pytest.mark.parametrize("noise", [FLOAT32_NOISE, OLD_NOISE, UNROUNDED_NOISE])
def test_guarantee_earlier_runs_whose_noise_tells_sums_are_no_strong_guarantee(noise: str) -> None:
    part = releases.calibrate({"mean": 2 / 600}, target_epsilon=0.1, delta=DELTA)
    sound = Ledger(num_examples=600, delta=DELTA, releases=part)
    flawed = dataclasses.replace(sound, noise=noise)
    found = single(0.3, of=terms(earlier=(sound, flawed)))
    assert found["releasable"]
    assert "under a weak guarantee" in found["verdict"]
    assert "1 of 2 earlier runs have noise of versions before 0.2.0" in found["warnings"][0]
    assert recertified(found) == found
    good = single(0.3, of=terms(earlier=(sound, sound)))
    assert "under a strong guarantee" in good["verdict"]
    assert not good["warnings"]


def test_guarantee_a_teacher_of_version_0_1_0_is_not_releasable() -> None:
    found = recertified(_of_version_0_1_0(certificate()), old_noise=FLOAT32_NOISE)
    assert not found["releasable"]
    assert "float32" in found["not_releasable_reason"]
    assert recertified(found) == found


def test_allowances_and_objections_are_kept_and_can_be_added() -> None:
    stored = single(60.0)
    assert not recertified(stored)["releasable"]
    allowed = recertified(stored, allow_epsilon=True)
    assert allowed["releasable"]
    assert recertified(allowed)["releasable"]
    objected = single(of=terms(objection="nobody knows where it comes from"))
    assert not objected["releasable"]
    assert recertified(objected)["not_releasable_reason"] == "nobody knows where it comes from"


def test_a_certificate_shows_its_numbers_and_its_verdict() -> None:
    found = Certificate(certificate())
    assert repr(found) == f"Certificate(epsilon={found.epsilon:.4g}, delta=1e-05, releasable=True)"
    assert str(found).endswith(f"{found.facts['verdict']}.")
    assert json.loads(found.to_json()) == certificate()
    without = Certificate(certificate(0.0))
    assert repr(without) == "Certificate(epsilon=inf, delta=1e-05, releasable=False)"
    assert "no privacy" in str(without)


@pytest.mark.parametrize("epsilon", [1.00004, 0.99996, 3.14159265, 1e-3])
def test_guarantee_no_epsilon_is_shown_smaller_than_it_is(epsilon: float) -> None:
    facts = {"epsilon": epsilon, "delta": 1e-5, "releasable": True, "num_examples": 9}
    facts |= {"relation": "zero-out: one record", "verdict": "MAY BE RELEASED"}
    certificate = Certificate(facts)
    for shown in (str(certificate).split("(")[1], repr(certificate).split("epsilon=")[1]):
        assert epsilon <= float(shown.split(",")[0]) < 1.001 * epsilon


def earlier_and(eps: float, *more: float, **changes: Any) -> dict:
    """Return the certificate of a release at epsilon, after others."""
    parts = [
        Ledger(
            num_examples=600,
            delta=DELTA,
            releases=releases.calibrate({"mean": 1.0}, target_epsilon=each, delta=DELTA),
        )
        for each in (*more, eps)
    ]
    return certify(parts[-1], terms(earlier=tuple(parts[:-1]), **changes))


def test_guarantee_the_verdict_goes_by_the_sum_of_all_runs() -> None:
    given = earlier_and(1.0, 1.0)
    assert given["epsilon_with_earlier_runs"] == pytest.approx(1.4653, abs=1e-3)
    assert given["verdict"] == (
        "MAY BE RELEASED, under a medium guarantee (epsilon 1.466, replace, with an earlier "
        "run on the same data; epsilon 1, replace, by itself)"
    )
    assert "strong" in earlier_and(0.5, 0.5)["verdict"]
    assert "weak" in earlier_and(9.0, 9.0)["verdict"]
    assert "2 earlier runs" in earlier_and(1.0, 1.0, 1.0)["verdict"]
    assert earlier_and(1.0)["verdict"] == single()["verdict"]


def test_guarantee_a_sum_above_fifty_is_releasable_by_an_allowance_alone() -> None:
    given = earlier_and(40.0, 40.0)
    assert not given["releasable"]
    assert "with earlier runs is above 50" in given["not_releasable_reason"]
    assert earlier_and(40.0, 40.0, allow_epsilon=True)["releasable"]
    assert earlier_and(40.0)["releasable"]


def test_guarantee_a_delta_below_what_arithmetic_supports_is_not_releasable() -> None:
    assert certificate(delta=LEAST_DELTA)["releasable"]
    given = certificate(delta=LEAST_DELTA * 0.99, of=terms(allow_delta=True, allow_epsilon=True))
    assert not given["releasable"]
    assert "the arithmetic of noise and accountants" in given["not_releasable_reason"]


def test_a_certificate_tells_mu_the_profile_and_what_an_attacker_can_do() -> None:
    given = single()
    mu = 1 / releases.joint_noise_multiplier(
        [releases.GaussianRelease(**each) for each in given["releases"]]
    )
    assert given["gaussian_dp_mu"] == pytest.approx(mu) == pytest.approx(0.26805, abs=1e-4)
    profile = {point["delta"]: point["epsilon"] for point in given["privacy_profile"]}
    for delta, eps in profile.items():
        assert eps == pytest.approx(accounting.gaussian_epsilon(1 / mu, delta=delta), rel=1e-6)
    attacker = given["attacker"]
    assert attacker["advantage"] == pytest.approx(2 * ndtr(mu / 2) - 1)
    found = attacker["true_positives_at_1_percent_false_ones"]
    assert found == pytest.approx(ndtr(ndtri(0.01) + mu))
    assert "which of two records was used is right at most 55.34 %" in attacker["in_words"]
    assert "at most 1.979 % of what was used is found" in attacker["in_words"]
    assert Certificate(given).mu == given["gaussian_dp_mu"]
    assert Certificate(given).attack.endswith("In numbers: 0.2681-Gaussian differential privacy.")


def test_what_an_attacker_can_do_counts_earlier_runs() -> None:
    given = earlier_and(1.0, 1.0)
    loss = given["loss_with_earlier_runs"]
    assert loss["gaussian_dp_mu"] == pytest.approx(math.sqrt(2) * given["gaussian_dp_mu"])
    assert loss["attacker"]["advantage"] > given["attacker"]["advantage"]
    said = Certificate(given).attack
    assert loss["attacker"]["in_words"] in said
    assert said.endswith("This counts all earlier runs on the same data.")


def test_guarantee_a_sum_with_earlier_runs_and_a_run_by_itself_are_said_apart() -> None:
    given = earlier_and(1.0, 1.0)
    found = Certificate(given)
    together, alone = found.statements
    assert together.of == "This run and an earlier run on the same data, together"
    assert (together.runs, alone.runs) == (2, 1)
    assert together.epsilon == given["epsilon_with_earlier_runs"]
    assert "run all of them again" in together.promise
    assert "at most e^1.466 times as much" in together.promise
    assert given["loss_with_earlier_runs"]["attacker"]["in_words"] in together.attack
    assert alone.of == "This run by itself"
    assert alone.epsilon == given["epsilon"]
    assert alone.promise == found.promise
    assert "at most e^1 times as much" in alone.promise
    assert given["attacker"]["in_words"] in alone.attack
    assert str(found).startswith(
        "With an earlier run on the same data, what was made is (1.466, 1e-05)-differentially "
        "private for 600 records (replace); by itself it is (1, 1e-05) (replace). MAY BE"
    )
    (only,) = Certificate(single()).statements
    assert (only.of, only.attack) == ("", Certificate(single()).attack)


@pytest.mark.parametrize("noise", ["seeded", OLD_NOISE, FLOAT32_NOISE])
@pytest.mark.parametrize("of_all", [False, True])
def test_guarantee_noise_that_hides_nothing_promises_nothing(noise: str, of_all: bool) -> None:
    """A promise stood below a verdict that denied it."""
    changes = {"seeded_noise": True} if noise == "seeded" else {"noise": noise}
    given = earlier_and(1.0, 1.0) if of_all else certificate()
    found = Certificate(given | {"ledger": given["ledger"] | changes})
    assert found.promises_nothing
    assert (found.promised_epsilon, found.attack) == (math.inf, "")
    assert found.promise.startswith("Nothing is guaranteed: ")
    (only,) = found.statements
    assert (only.epsilon, only.promise, only.attack) == (math.inf, found.promise, "")
    assert str(found).startswith("Nothing is guaranteed. ")


def test_guarantee_a_verdict_names_no_sum_where_earlier_noise_hides_nothing() -> None:
    before = dataclasses.replace(Ledger.from_json(certificate()["ledger"]), noise=OLD_NOISE)
    given = certificate(of=terms(earlier=(before,)))
    assert "under a weak guarantee (no epsilon holds with an earlier run" in given["verdict"]


def test_guarantee_a_sum_without_any_epsilon_promises_nothing() -> None:
    given = earlier_and(1.0, 1.0)
    none = Certificate(given | {"epsilon_with_earlier_runs": None}).statements[0]
    assert (none.epsilon, none.attack) == (math.inf, "")
    assert none.promise.startswith("No epsilon holds at delta = 1e-05")
    given["earlier_runs"][0]["noise"] = OLD_NOISE
    flawed = Certificate(given)
    assert (flawed.statements[0].epsilon, flawed.statements[0].attack) == (math.inf, "")
    assert flawed.statements[0].promise.startswith("1 of 1 earlier runs have noise of versions")
    assert str(flawed).startswith("With an earlier run on the same data no epsilon holds for what")
    assert flawed.attack == ""
    assert flawed.promised_epsilon == math.inf
    assert not flawed.promises_nothing


def test_the_question_of_an_attacker_is_that_of_the_relation_and_the_unit() -> None:
    steps = run(4.0, records_per_person=3)
    persons = certificate(steps=steps, records_per_person=3)
    assert "whether a certain record was used, or an" in certificate()["attacker"]["in_words"]
    assert "whether a certain person's records were used" in persons["attacker"]["in_words"]


def test_without_noise_there_is_no_mu_and_no_profile() -> None:
    given = certificate(0.0)
    assert given["gaussian_dp_mu"] is given["attacker"] is None
    assert given["privacy_profile"] == []
    assert Certificate(given).mu == math.inf
    assert Certificate(given).attack == ""


def test_guarantee_no_limit_of_a_loss_is_rounded_down() -> None:
    """An advantage of 0.106617... makes 55.3308... % right guesses, which is not 55.33 %."""
    given = single()
    attacker = given["attacker"]
    right = 50 * (1 + attacker["advantage"])
    found = 100 * attacker["true_positives_at_1_percent_false_ones"]
    said = re.findall(r"([0-9.]+) %", attacker["in_words"])
    assert [right, found] != [float(said[0]), float(said[2])]
    assert right <= float(said[0]) < right * 1.001
    assert found <= float(said[2]) < found * 1.001
    (mu,) = re.findall(r"numbers: ([0-9.]+)-Gaussian", Certificate(given).attack)
    assert given["gaussian_dp_mu"] <= float(mu) < given["gaussian_dp_mu"] * 1.001


def mixed(eps: float, noise: float) -> dict:
    """Return the certificate of an embedding after one sum that is sampled: other relations."""
    found = releases.calibrate({"mean": 1.0}, target_epsilon=eps, delta=DELTA)
    own = Ledger(num_examples=600, delta=DELTA, releases=found)
    steps = run(noise, num_examples=600, sampling_rate=1.0, num_steps=1)
    other = Ledger(num_examples=600, delta=DELTA, steps=steps)
    return certify(own, terms(earlier=(other,)))


def test_guarantee_the_verdict_is_that_of_the_worse_of_the_run_and_the_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sum under another relation may be less than the run by itself."""
    monkeypatch.setattr(certificates, "joint_epsilon", lambda ledgers, delta: 0.5)
    assert "medium" in mixed(3.0, 50.0)["verdict"]
    given = mixed(60.0, 50.0)
    assert not given["releasable"]
    assert "above 50" in given["not_releasable_reason"]


def test_the_question_of_an_attacker_on_a_mixed_sum_is_that_of_the_sum() -> None:
    given = mixed(1.0, 9.0)
    assert "which of two records" in given["attacker"]["in_words"]
    assert "whether a certain record" in given["loss_with_earlier_runs"]["attacker"]["in_words"]


def test_guarantee_who_changes_a_certificate_changes_no_other_one() -> None:
    given = single()
    before = json.dumps(given)
    given["attacker"]["advantage"] = 0.0
    given["privacy_profile"].clear()
    assert json.dumps(single()) == before
