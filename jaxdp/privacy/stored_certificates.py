"""Certificates that were stored: computed again from their ledgers, compared, and refused.

A stored certificate is an input like any other. What it says of epsilon and of its verdict is
compared with what its ledger gives, and only the latter is used. Of what cannot be computed, the
fields of `_KEPT` alone are passed on, and words are passed on as words.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from jaxdp.privacy.certificates import Terms, certify
from jaxdp.privacy.ledger import MOST_LEDGERS, OLD_NOISE, Ledger
from jaxdp.privacy.relations import REPLACE, ZERO_OUT
from jaxdp.privacy.stored_fields import Check, field, flag, list_of, number, or_none, text

# Accountants of other versions differ by less; an edited epsilon rarely does.
_TOLERANCE = 5e-3
_NUMBERS = (
    *("delta", "num_examples", "noise_multiplier", "releases", "also_released"),
    *("sampling_rate", "num_steps", "clip_norm"),
)
# What must not be less than what the ledger gives; versions before told the first alone.
_LOSSES = ("epsilon", "gaussian_dp_mu", "epsilon_with_earlier_runs")
_MOST_FILES, _LONGEST_PATH = 1000, 255
_SHA256 = re.compile("[0-9a-f]{64}")


def recertified(
    stored: Mapping[str, Any],
    *,
    old_noise: str = OLD_NOISE,
    allow_delta: bool = False,
    allow_epsilon: bool = False,
    covers: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Return the certificate that a stored one's ledger gives, with no other number in it.

    Args:
        stored: a certificate as it was read; of version 0.1.0, which had no ledger, too.
        old_noise: how version 0.1.0 drew the noise of what the certificate is of.
        allow_delta: whether a delta of 1/n or more is allowed now, if it was not before.
        allow_epsilon: whether an epsilon above `MOST` is.
        covers: the files that hold the release now; None for those that the stored one names.

    Raises:
        ValueError: it is not a certificate, or says something else than its numbers.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, Ledger, Terms, certify, recertified
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> facts = certify(ledger, Terms(covers=("the means",), target_epsilon=1.0))
        >>> recertified(facts)["epsilon"] == facts["epsilon"]
        True
        >>> recertified(facts | {"epsilon": 0.1})  # somebody has edited it
        Traceback (most recent call last):
            ...
        ValueError: it says epsilon 0.1, and its own numbers give 0.9263
    """
    try:
        ledger = ledger_of(stored, old_noise=old_noise)
        said = {name: field(name, stored.get(name), check) for name, check in _TERMS.items()}
        terms = Terms(
            covers=said["covers"] if covers is None else covers,
            target_epsilon=said["target_epsilon"],
            allow_delta=said["allowed"]["delta"] or allow_delta,
            allow_epsilon=said["allowed"]["epsilon"] or allow_epsilon,
            counted_classes=said["counted_classes"],
            preparation=said["preparation"],
            objection=said["objection"],
            earlier=said["earlier_runs"],
            persons_declared=stored.get("persons_declared") is True,
        )
        certificate = certify(ledger, terms)
        _require_agreement(stored, certificate)
        kept = {k: field(k, stored[k], check) for k, check in _KEPT.items() if k in stored}
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"it is no certificate ({type(error).__name__}: {error})") from error
    return certificate | kept


def _positive(value: Any) -> float:
    if number(value) <= 0:
        raise TypeError("not above 0")
    return value


def _allowed(value: Any) -> dict[str, bool]:
    """Return what somebody has allowed; version 0.1.0 knew of nothing to allow."""
    if value is None:
        return {"delta": False, "epsilon": False}
    return {name: flag(value[name]) for name in ("delta", "epsilon")}


def _earlier(value: Any) -> tuple[Ledger, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > MOST_LEDGERS:
        raise TypeError(f"no list of at most {MOST_LEDGERS} ledgers")
    return tuple(map(Ledger.from_json, value))


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise TypeError("no SHA-256")
    return value


def _beside(value: Any) -> list[str]:
    return list(list_of(_digest)(value))


def _digests(value: Any) -> dict[str, str]:
    """Return the digests of files by their names within the folder."""
    if not isinstance(value, dict) or len(value) > _MOST_FILES:
        raise TypeError(f"no object of at most {_MOST_FILES} files")
    for name in value:
        parts = name.split("/")
        if {"", ".", ".."} & set(parts) or len(name) > _LONGEST_PATH or text(name) != name:
            raise TypeError(f"of {name[:40]}, no name of a file in the folder")
    return {name: _digest(each) for name, each in value.items()}


_TERMS: dict[str, Check] = {
    "covers": list_of(text),
    "target_epsilon": or_none(_positive),
    "allowed": _allowed,
    "counted_classes": lambda value: value is not None and flag(value),
    "preparation": or_none(text),
    "objection": or_none(text),
    "earlier_runs": _earlier,
}
# What a certificate holds beside what is computed: who reads each is named in its line.
_KEPT: dict[str, Check] = {
    "sha256": or_none(_digests),  # `jaxdp.saved.folder`; None where a run has not finished
    "reused": text,  # cards and terminals, as words
    "also_released_digests": _beside,  # `jaxdp.methods.teacher.earlier`
    "clip_space": text,  # people, as words
}


def ledger_of(stored: Mapping[str, Any], *, old_noise: str = OLD_NOISE) -> Ledger:
    """Return the ledger of a stored certificate; as for `recertified`."""
    if "ledger" in stored:
        return Ledger.from_json(stored["ledger"])
    of_steps = "releases" not in stored
    names = ("num_examples", "sampling_rate", "num_steps", "clip_norm", "noise_multiplier")
    return Ledger.from_json({
        "relation": ZERO_OUT if of_steps else REPLACE,
        "num_examples": stored["num_examples"],
        "delta": stored["delta"],
        "steps": {name: stored[name] for name in names} if of_steps else None,
        "also": stored["also_released"] if of_steps else [],
        "releases": [] if of_steps else stored["releases"],
        "accountant": "rdp" if of_steps and text(stored["accountant"]).startswith("RDP") else "pld",
        "noise": old_noise,
        "seeded_noise": "--noise_seed" in text(stored["randomness"]),
    })  # fmt: skip


def _require_agreement(stored: Mapping[str, Any], computed: Mapping[str, Any]) -> None:
    """Raise a `ValueError` where a stored certificate promises more than its ledger."""
    for key in _LOSSES:
        if key == "epsilon" or (key in stored and key in computed):
            claim = math.inf if stored[key] is None else number(stored[key])
            found = math.inf if computed[key] is None else computed[key]
            if not claim >= found * (1 - _TOLERANCE):
                raise ValueError(f"it says {key} {claim}, and its own numbers give {found:.4g}")
    for key in _NUMBERS:
        if key in stored and stored[key] != computed.get(key):
            raise ValueError(
                f"it says {key} {str(stored[key])[:80]}, and its ledger {computed.get(key)}"
            )
    if stored["releasable"] not in (True, False):
        raise ValueError(f"it says releasable {str(stored['releasable'])[:40]}")
    # A version that knew less may have said yes; then the computed verdict holds.
    if "ledger" in stored and stored["releasable"] and not computed["releasable"]:
        raise ValueError(f"it says releasable, but {computed['not_releasable_reason']}")
