"""Certificates that were stored: computed again from their ledgers, compared, and refused.

A stored certificate is an input like any other. What it says of epsilon and of its verdict is
compared with what its ledger gives, and only the latter is used.
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxdp.privacy.certificates import Terms, certify
from jaxdp.privacy.ledger import OLD_NOISE, Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.privacy.releases import GaussianRelease

# Accountants of other versions differ by less; an edited epsilon rarely does.
_TOLERANCE = 5e-3
_NUMBERS = (
    *("delta", "num_examples", "noise_multiplier", "releases", "also_released"),
    *("sampling_rate", "num_steps", "clip_norm"),
)


def recertified(
    stored: Mapping[str, Any],
    *,
    old_noise: str = OLD_NOISE,
    allow_delta: bool = False,
    allow_epsilon: bool = False,
    covers: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Return the certificate that a stored one's ledger gives.

    Args:
        stored: a certificate as it was read; of version 0.1.0, which had no ledger, too.
        old_noise: how version 0.1.0 drew the noise of what the certificate is of.
        allow_delta: whether a delta of 1/n or more is allowed now, if it was not before.
        allow_epsilon: whether an epsilon above `MOST` is.
        covers: the files that hold the release now; None for those that the stored one names.

    Raises:
        ValueError: it is not a certificate, or says something else than its numbers.
    """
    try:
        ledger = ledger_of(stored, old_noise=old_noise)
        allowed = stored.get("allowed", {"delta": False, "epsilon": False})
        terms = Terms(
            covers=tuple(stored["covers"]) if covers is None else covers,
            target_epsilon=stored["target_epsilon"],
            allow_delta=bool(allowed["delta"]) or allow_delta,
            allow_epsilon=bool(allowed["epsilon"]) or allow_epsilon,
            counted_classes=stored.get("counted_classes", False),
            preparation=_text(stored.get("preparation")),
            objection=stored.get("objection"),
            earlier=_earlier(stored.get("earlier_runs")),
            persons_declared=stored.get("persons_declared") is True,
        )
        certificate = certify(ledger, terms)
        _require_agreement(stored, certificate)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no certificate ({type(error).__name__}: {error})") from error
    kept = {key: value for key, value in stored.items() if key not in certificate}
    return certificate | kept


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("preparation is no text")
    return value


def _earlier(stored: Any) -> tuple[Ledger, ...] | None:
    return None if stored is None else tuple(Ledger.from_json(each) for each in stored)


def ledger_of(stored: Mapping[str, Any], *, old_noise: str = OLD_NOISE) -> Ledger:
    """Return the ledger of a stored certificate; as for `recertified`."""
    if "ledger" in stored:
        return Ledger.from_json(stored["ledger"])
    common = {
        "num_examples": stored["num_examples"],
        "delta": stored["delta"],
        "noise": old_noise,
        "seeded_noise": "--noise_seed" in stored["randomness"],
    }
    if "releases" in stored:
        return Ledger(releases=tuple(GaussianRelease(**r) for r in stored["releases"]), **common)
    clip_norm = stored["clip_norm"]
    steps = SubsampledGaussian(
        num_examples=stored["num_examples"],
        sampling_rate=stored["sampling_rate"],
        num_steps=stored["num_steps"],
        clip_norm=math.inf if clip_norm is None else clip_norm,
        noise_multiplier=stored["noise_multiplier"],
    )
    accountant = "rdp" if stored["accountant"].startswith("RDP") else "pld"
    return Ledger(steps=steps, also=tuple(stored["also_released"]), accountant=accountant, **common)


def _require_agreement(stored: Mapping[str, Any], computed: Mapping[str, Any]) -> None:
    """Raise a `ValueError` where a stored certificate promises more than its ledger."""
    said, found = stored["epsilon"], computed["epsilon"]
    said_value = math.inf if said is None else float(said)
    found_value = math.inf if found is None else found
    if not said_value >= found_value * (1 - _TOLERANCE):
        raise ValueError(f"it says epsilon {said}, and its own numbers give {found_value:.4g}")
    for key in _NUMBERS:
        if key in stored and stored[key] != computed.get(key):
            raise ValueError(f"it says {key} {stored[key]}, and its ledger {computed.get(key)}")
    if stored["releasable"] not in (True, False):
        raise ValueError(f"it says releasable {stored['releasable']}")
    # A version that knew less may have said yes; then the computed verdict holds.
    if "ledger" in stored and stored["releasable"] and not computed["releasable"]:
        raise ValueError(f"it says releasable, but {computed['not_releasable_reason']}")
