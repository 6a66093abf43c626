"""The certificate: recomputed, complete, plain JSON, and never releasable without a guarantee."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from jaxdp import accounting
from jaxdp.accounting import calibrate, epsilon
from jaxdp.certificates import Certificate, certify, delta_warnings
from jaxdp.mechanism import SubsampledGaussian

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


def certificate(noise_multiplier: float = 1.323, **changes: Any) -> Certificate:
    options: dict[str, Any] = {
        "delta": DELTA,
        "target_epsilon": 1.0,
        "accountant": "pld",
        "seeded_noise": False,
        "covers": ("distilled.npz",),
    }
    return certify(run(noise_multiplier), **{**options, **changes})


def test_certificate_of_a_private_run() -> None:
    given = certificate()
    mechanism = run(1.323)
    assert given.epsilon == epsilon(mechanism, delta=DELTA)
    assert given.epsilon_second_opinion == epsilon(mechanism, delta=DELTA, accountant="rdp")
    assert given.accountant == accounting.describe("pld")
    assert given.second_opinion_accountant == accounting.describe("rdp")
    assert given.relation == "add or remove one training example"
    assert given.unit == "one training example"
    assert (given.delta, given.target_epsilon) == (DELTA, 1.0)
    assert given.sampling_rate == mechanism.sampling_rate
    assert given.num_steps == 1200
    assert given.num_examples == 60000
    assert given.expected_batch_size == pytest.approx(500)
    assert given.clip_norm == 1e-3
    assert given.noise_multiplier == 1.323
    assert given.covers == ("distilled.npz",)
    assert any("hyper-parameters" in what for what in given.does_not_cover)
    assert any("test split" in what for what in given.does_not_cover)
    assert any("number of training examples" in what for what in given.public)
    assert "operating system" in given.randomness
    assert given.releasable
    assert given.not_releasable_reason is None
    assert given.warnings == ()


def test_the_other_accountant_gives_the_second_opinion() -> None:
    given = certificate(accountant="rdp")
    assert given.epsilon == epsilon(run(1.323), delta=DELTA, accountant="rdp")
    assert given.epsilon_second_opinion == epsilon(run(1.323), delta=DELTA)


def test_guarantee_epsilon_is_recomputed_and_not_copied() -> None:
    given = certificate(0.8, target_epsilon=0.01)
    assert given.epsilon == epsilon(run(0.8), delta=DELTA)
    assert given.epsilon is not None
    assert given.epsilon > 1


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
}


@pytest.mark.parametrize("kind", ["private", "seeded", "open"])
def test_certificate_is_plain_json(kind: str) -> None:
    if kind == "open":
        mechanism = run(0.0, clip_norm=math.inf)
        given = certify(
            mechanism,
            delta=DELTA,
            target_epsilon=None,
            accountant="pld",
            seeded_noise=False,
            covers=("distilled.npz",),
        )
    else:
        given = certificate(seeded_noise=kind == "seeded")
    text = json.dumps(given.to_json(), allow_nan=False)
    read = json.loads(text)
    assert read == given.to_json()
    for key, kind_of in STABLE_KEYS.items():
        if kind == "open" and key in ("epsilon", "epsilon_second_opinion", "clip_norm"):
            assert read[key] is None
        else:
            assert type(read[key]) is kind_of, key


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("noise_multiplier", [0.0, 1.0])
def test_guarantee_never_releasable_without_noise_or_with_seeded_noise(
    seeded: bool, noise_multiplier: float
) -> None:
    given = certificate(noise_multiplier, seeded_noise=seeded)
    private = noise_multiplier > 0 and not seeded
    assert given.releasable is private
    assert (given.not_releasable_reason is None) is private
    if noise_multiplier == 0:
        assert given.epsilon is None
        assert given.epsilon_second_opinion is None
        assert given.mechanism == "none"
        assert given.covers == ()
        assert "no noise" in str(given.not_releasable_reason)
    elif seeded:
        assert "noise_seed" in str(given.not_releasable_reason)
        assert "noise_seed" in given.randomness


def test_delta_of_one_over_n_or_more_is_warned_about() -> None:
    assert delta_warnings(1e-5, 60000) == ()
    assert delta_warnings(0.99e-5, 100_000) == ()
    for delta, n in ((1e-5, 100_000), (1e-3, 1797)):
        (warning,) = delta_warnings(delta, n)
        assert f"delta = {delta:g}" in warning
        assert f"1/n = {1 / n:g}" in warning
    assert certificate(delta=1e-4).warnings == delta_warnings(1e-4, 60000) != ()


def test_certificate_counts_other_releases_and_knows_one_without_noise() -> None:
    arguments: dict[str, Any] = {
        "delta": DELTA,
        "target_epsilon": 1.0,
        "accountant": "pld",
        "seeded_noise": False,
        "covers": ("all",),
    }
    beside = calibrate(run(0.0), target_epsilon=1.0, delta=DELTA, also=(5.0,))
    found = certify(beside, **arguments, also=(5.0,)).to_json()
    assert found["epsilon"] == epsilon(beside, delta=DELTA, also=(5.0,))
    assert found["also_released"] == [5.0]
    assert "1 Gaussian release" in found["mechanism"]
    bare = certify(beside, **arguments, also=(0.0,))
    assert not bare.releasable
    assert bare.epsilon is None
