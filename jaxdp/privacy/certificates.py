"""The certificate of a run: what it guarantees, what may be released, and what may not.

A certificate is computed from a `jaxdp.privacy.ledger.Ledger` and from nothing else, whether it is
written, read again or shown: no stored epsilon and no stored verdict is believed. It is a statement
of the program, not a proof: it is not signed, and who can edit a file can edit its ledger, too.
"""

import dataclasses
import decimal
import json
import math
from collections.abc import Mapping
from typing import Any

from jaxdp.privacy import accounting
from jaxdp.privacy.ledger import FLOAT32_NOISE, RELATIONS, Ledger, joint_epsilon, joint_relation
from jaxdp.privacy.wording import (
    COUNTED_CLASSES,
    MUST_STAY,
    NO_PROMISE,
    NOT_COVERED,
    PROMISE,
    PUBLIC,
    unit,
)

STRONG, MEDIUM, MOST = 1.0, 10.0, 50.0
"""Largest epsilon of a strong and of a medium guarantee, and of one that needs no allowance."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Terms:
    """What a certificate says beside its numbers.

    Attributes:
        covers: what is released under the guarantee, file by file.
        target_epsilon: what was asked for; None without privacy.
        allow_delta: whether somebody has allowed a delta of 1/n or more.
        allow_epsilon: whether somebody has allowed an epsilon above `MOST`.
        counted_classes: whether the number of classes was counted from labels.
        preparation: what was done to every record by itself, in words.
        objection: what else speaks against a release, in words.
        earlier: what earlier runs have released of the same data; None where nobody counts them.
        persons_declared: whether somebody has declared how many records a person has at most.
    """

    covers: tuple[str, ...]
    target_epsilon: float | None
    allow_delta: bool = False
    allow_epsilon: bool = False
    counted_classes: bool = False
    preparation: str | None = None
    objection: str | None = None
    earlier: tuple[Ledger, ...] | None = None
    persons_declared: bool = False


@dataclasses.dataclass(frozen=True, repr=False)
class Certificate:
    """A certificate for who calls the library: two sentences, and all of its facts.

    Attributes:
        facts: as `certify` gives them.
    """

    facts: Mapping[str, Any]

    @property
    def epsilon(self) -> float:
        """What is guaranteed at `delta`; inf without privacy."""
        epsilon = self.facts["epsilon"]
        return math.inf if epsilon is None else epsilon

    @property
    def delta(self) -> float:
        """See `epsilon`."""
        return self.facts["delta"]

    @property
    def releasable(self) -> bool:
        """Whether what it covers may be released."""
        return self.facts["releasable"]

    @property
    def _most(self) -> int:
        """Most records of a person."""
        return self.facts.get("ledger", {}).get("records_per_person", 1)

    @property
    def promise(self) -> str:
        """What is guaranteed, for somebody who knows nothing of the field."""
        if math.isinf(self.epsilon):
            return NO_PROMISE
        emptied = self.facts["relation"].startswith("zero-out")
        what, other = "one", "an empty one" if emptied else "any other"
        if self._most > 1:
            what, other = "all that one person has", "empty ones" if emptied else "any others"
        return PROMISE.format(
            what=f"{what} of the {self.facts['num_examples']} training records",
            other=other,
            epsilon=_up(self.epsilon),
            delta=f"{self.delta:g}",
            unit=self.facts["unit"],
        )

    def __str__(self) -> str:
        """Return the guarantee in a sentence, and the verdict in another."""
        if math.isinf(self.epsilon):
            return f"There is no privacy: no noise was added. {self.facts['verdict']}."
        relation = self.facts["relation"].split(":")[0]
        whom = "" if self._most == 1 else f"persons with up to {self._most} of "
        return (
            f"What was made is ({_up(self.epsilon)}, {self.delta:g})-differentially private for "
            f"{whom}{self.facts['num_examples']} records ({relation}). {self.facts['verdict']}."
        )

    def __repr__(self) -> str:
        """Show the numbers and whether it may leave, in a line."""
        return (
            f"Certificate(epsilon={_up(self.epsilon)}, delta={self.delta:g}, "
            f"releasable={self.releasable})"
        )

    def to_json(self) -> str:
        """Return all facts as JSON: what a run writes as privacy.json."""
        return json.dumps(dict(self.facts), indent=2, allow_nan=False)


def certify(ledger: Ledger, terms: Terms) -> dict[str, Any]:
    """Return the certificate of everything in a ledger, as plain JSON types.

    Guarantee:
        Epsilon and the verdict are computed from the ledger, not copied from what was asked for.
        Without noise, with seeded or float32 noise, with a delta of 1/n or more or an epsilon above
        50 that nobody has allowed, the result is never marked releasable. Where earlier runs are
        counted, the sum with them is computed from their ledgers, too, and its relation is told:
        it need not be that of the run.
    """
    private = ledger.is_private
    epsilon = ledger.epsilon() if private else math.inf
    reason = why_not_releasable(ledger, epsilon, terms)
    steps = ledger.steps
    counted = (COUNTED_CLASSES,) if terms.counted_classes else ()
    prepared = () if terms.preparation is None else (terms.preparation,)
    certificate = {
        "verdict": _verdict(epsilon, reason) + _in_sum(ledger, terms.earlier),
        "releasable": reason is None,
        "not_releasable_reason": reason,
        "may_leave": terms.covers if reason is None else (),
        "must_stay": MUST_STAY if reason is None else ("everything in this folder", *MUST_STAY),
        "warnings": _warnings(ledger, epsilon, terms.earlier) if private else (),
        "epsilon": _finite(epsilon),
        "delta": ledger.delta,
        "relation": RELATIONS[ledger.relation],
        "unit": unit(ledger.records_per_person, persons_declared=terms.persons_declared),
        "mechanism": _mechanism(ledger) if private else "none",
        "target_epsilon": terms.target_epsilon,
        "num_examples": ledger.num_examples,
        "noise_multiplier": ledger.noise_multiplier,
        "accountant": accounting.describe(ledger.accountant) if steps else accounting.EXACT,
        "epsilon_second_opinion": _finite(ledger.epsilon(_other(ledger))) if private else None,
        "second_opinion_accountant": accounting.describe(_other(ledger)),
        "randomness": _randomness(ledger),
        "covers": terms.covers if private else (),
        "does_not_cover": NOT_COVERED if private else ("everything: there is no guarantee",),
        "public": (*PUBLIC, *counted, *prepared),
        "allowed": {"delta": terms.allow_delta, "epsilon": terms.allow_epsilon},
        "counted_classes": terms.counted_classes,
        "persons_declared": terms.persons_declared,
        "preparation": terms.preparation,
        "objection": terms.objection,
    }
    if steps is not None:
        certificate |= {
            "sampling_rate": steps.sampling_rate,
            "expected_batch_size": steps.expected_batch_size,
            "num_steps": steps.num_steps,
            "clip_norm": _finite(steps.clip_norm) if private else None,
            "also_released": ledger.also,
        }
    else:
        certificate["releases"] = [dataclasses.asdict(release) for release in ledger.releases]
    if terms.earlier is not None:
        certificate["earlier_runs"] = [each.to_json() for each in terms.earlier]
        certificate["epsilon_with_earlier_runs"] = _finite(_sum(ledger, terms.earlier))
        certificate["relation_with_earlier_runs"] = RELATIONS[_relation(ledger, terms.earlier)]
    certificate["ledger"] = ledger.to_json()
    return {k: list(v) if isinstance(v, tuple) else v for k, v in certificate.items()}


def why_not_releasable(ledger: Ledger, epsilon: float, terms: Terms) -> str | None:
    """Return why a result must not be released, or None where nothing speaks against it."""
    if not ledger.is_private:
        return "no noise was added: the result is not differentially private"
    if ledger.seeded_noise:
        return "the noise came from --noise_seed: whoever knows the number can remove it"
    if ledger.noise == FLOAT32_NOISE:
        return (
            "its noise was drawn in float32, as version 0.1.0 did: the values that such noise can "
            "take tell the sum under it. Train it again"
        )
    if not ledger.delta < 1 / ledger.num_examples and not terms.allow_delta:
        return (
            f"delta = {ledger.delta:g} is not below 1/n = {1 / ledger.num_examples:g}: it would "
            "allow publishing one record in full; lower --delta, or say --allow_delta"
        )
    if epsilon > MOST and not terms.allow_epsilon:
        return (
            f"epsilon = {epsilon:.4g} is above {MOST:g}: it promises next to nothing; lower --eps, "
            "or say --allow_epsilon"
        )
    return terms.objection


def _verdict(epsilon: float, reason: str | None) -> str:
    if reason is not None:
        return f"MUST NOT BE RELEASED: {reason}"
    strength = "strong" if epsilon <= STRONG * 1.001 else "medium" if epsilon <= MEDIUM else "weak"
    return f"MAY BE RELEASED, under a {strength} guarantee (epsilon {_up(epsilon)})"


def _sum(ledger: Ledger, earlier: tuple[Ledger, ...]) -> float:
    return joint_epsilon((*earlier, ledger), delta=ledger.delta)


def _relation(ledger: Ledger, earlier: tuple[Ledger, ...]) -> str:
    return joint_relation((*earlier, ledger))


def _in_sum(ledger: Ledger, earlier: tuple[Ledger, ...] | None) -> str:
    """Return what all runs on the dataset are together, for the end of a verdict."""
    if not earlier or not ledger.is_private:
        return ""
    runs = "an earlier run" if len(earlier) == 1 else f"{len(earlier)} earlier runs"
    together = f"epsilon {_up(_sum(ledger, earlier))} ({_relation(ledger, earlier)})"
    return f"; with {runs} on the same data: {together}"


def _warnings(
    ledger: Ledger, epsilon: float, earlier: tuple[Ledger, ...] | None
) -> tuple[str, ...]:
    found = list(delta_warnings(ledger.delta, ledger.num_examples))
    together = _sum(ledger, earlier) if earlier else epsilon
    if together > max(epsilon, MEDIUM):
        found.append(
            f"with earlier runs ({len(earlier or ())}) on the same data epsilon is {together:.4g} "
            f"({_relation(ledger, earlier or ())}): what may leave of each of them is together a "
            "weak guarantee"
        )
    if epsilon > MEDIUM:
        found.append(
            f"epsilon = {epsilon:.4g} is a weak guarantee: someone who knows all other records may "
            f"tell whether one was used with a probability of up to {_best_guess(epsilon):.4%}; up "
            f"to {MEDIUM:g} is usual"
        )
    return tuple(found)


def _best_guess(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon))


def delta_warnings(delta: float, num_examples: int) -> tuple[str, ...]:
    """Return a warning where `delta >= 1/n`: then publishing a random example would pass too."""
    if delta < 1 / num_examples:
        return ()
    return (
        f"delta = {delta:g} is not below 1/n = {1 / num_examples:g}: such a delta would even allow "
        f"publishing one example in full; use --delta below {1 / num_examples:.1g}",
    )


def _mechanism(ledger: Ledger) -> str:
    steps = ledger.steps
    if steps is None:
        return f"Gaussian, {len(ledger.releases)} release(s)"
    name = "Poisson-subsampled Gaussian, composed over steps"
    if steps.sampling_rate == 1 and steps.num_steps == 1:
        name = "Gaussian, one release of the whole data"
    if ledger.also:
        name += f", and {len(ledger.also)} Gaussian release(s) of the whole data"
    return name


def _other(ledger: Ledger) -> str:
    return "rdp" if ledger.steps is not None and ledger.accountant == "pld" else "pld"


def _randomness(ledger: Ledger) -> str:
    source = "a known --noise_seed" if ledger.seeded_noise else "the operating system, not kept"
    return f"sampling and noise: keys from {source}; noise: {ledger.noise}"


def _up(value: float) -> str:
    """Return four digits that are never less than the value: for what limits a loss."""
    if not math.isfinite(value):
        return str(value)
    rounded = decimal.Context(prec=4, rounding=decimal.ROUND_CEILING).create_decimal(repr(value))
    return f"{float(rounded):g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
