"""The certificate of a run: what it guarantees, what may be released, and what may not.

A certificate is computed from a `jaxdp.privacy.ledger.Ledger` and from nothing else, whether it is
written, read again or shown: no stored epsilon and no stored verdict is believed. It is a statement
of the program, not a proof: it is not signed, and who can edit a file can edit its ledger, too.
"""

import copy
import dataclasses
import functools
import math
from typing import Any

from jaxdp.privacy import accounting, relations
from jaxdp.privacy.ledger import (
    FLOAT32_NOISE,
    Ledger,
    joint_epsilon,
    joint_profile,
    joint_relation,
)
from jaxdp.privacy.limits import LEAST_DELTA, MEDIUM, MOST, STRONG
from jaxdp.privacy.profiles import FALSE_POSITIVES
from jaxdp.privacy.wording import (
    ATTACK,
    COUNTED_CLASSES,
    FLAWED,
    MUST_STAY,
    NOT_COVERED,
    PUBLIC,
    QUESTIONS,
    earlier_runs,
    rounded_up,
    unit,
)

PROFILE_DELTAS = (1e-4, 1e-5, 1e-6, 1e-8, 1e-10)
"""At which certificates tell epsilon."""


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

    Examples:
        >>> from jaxdp.privacy import Terms
        >>> Terms(covers=("the class means",), target_epsilon=1.0).allow_epsilon
        False
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


def certify(ledger: Ledger, terms: Terms) -> dict[str, Any]:
    """Return the certificate of everything in a ledger, as plain JSON types.

    Guarantee:
        Epsilon and the verdict are computed from the ledger, not copied from what was asked for.
        Without noise, with seeded or float32 noise, with a delta of 1/n or more or an epsilon above
        50 that nobody has allowed, the result is never marked releasable. Where earlier runs are
        counted, the sum with them is computed from their ledgers, too, and its relation is told:
        it need not be that of the run.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, Ledger, Terms, certify
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> facts = certify(ledger, Terms(covers=("the means",), target_epsilon=1.0))
        >>> facts["releasable"], facts["may_leave"], round(facts["epsilon"], 2)
        (True, ['the means'], 0.93)
    """
    private = ledger.is_private
    epsilon = ledger.epsilon() if private else math.inf
    together = _sum(ledger, terms.earlier) if terms.earlier else epsilon
    reason = why_not_releasable(ledger, max(epsilon, together), terms)
    steps = ledger.steps
    counted = (COUNTED_CLASSES,) if terms.counted_classes else ()
    prepared = () if terms.preparation is None else (terms.preparation,)
    certificate = {
        "verdict": _verdict(ledger, epsilon, together, reason, terms.earlier),
        "releasable": reason is None,
        "not_releasable_reason": reason,
        "may_leave": terms.covers if reason is None else (),
        "must_stay": MUST_STAY if reason is None else ("everything in this folder", *MUST_STAY),
        "warnings": _warnings(ledger, epsilon, together, terms.earlier) if private else (),
        "epsilon": _finite(epsilon),
        "delta": ledger.delta,
        **whole_loss((ledger,)),
        "relation": relations.IN_WORDS[ledger.relation],
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
        # The relation is told above, of all together.
        certificate["releases"] = [
            {"name": each.name, "sensitivity": each.sensitivity, "stddev": each.stddev}
            for each in ledger.releases
        ]
    if terms.earlier is not None:
        certificate |= _with_earlier(ledger, terms.earlier)
    certificate["ledger"] = ledger.to_json()
    return {k: list(v) if isinstance(v, tuple) else v for k, v in certificate.items()}


def _with_earlier(ledger: Ledger, earlier: tuple[Ledger, ...]) -> dict[str, Any]:
    """Return what a certificate says of a run together with earlier ones."""
    return {
        "earlier_runs": [each.to_json() for each in earlier],
        "epsilon_with_earlier_runs": _finite(_sum(ledger, earlier)),
        "relation_with_earlier_runs": relations.IN_WORDS[_relation(ledger, earlier)],
        "loss_with_earlier_runs": whole_loss((*earlier, ledger)),
    }


def why_void(ledger: Ledger) -> str | None:
    """Return why noise promises nothing, whatever its epsilon is; None where it does."""
    if ledger.seeded_noise:
        return "the noise came from --noise_seed: whoever knows the number can remove it"
    if ledger.noise == FLOAT32_NOISE:
        return (
            "its noise was drawn in float32, as version 0.1.0 did: the values that such noise can "
            "take tell the sum under it. Train it again"
        )
    if ledger.has_flawed_noise:
        return (
            "its noisy sums were not rounded to a grid, as versions before 0.2.0 left them: the "
            "last digits of numbers, or of those near 0, may tell the sum under them. Make it again"
        )
    return None


def why_not_releasable(ledger: Ledger, epsilon: float, terms: Terms) -> str | None:
    """Return why a result must not be released, or None where nothing speaks against it."""
    if not ledger.is_private:
        return "no noise was added: the result is not differentially private"
    void = why_void(ledger)
    if void is not None:
        return void
    if not ledger.delta < 1 / ledger.num_examples and not terms.allow_delta:
        return (
            f"delta = {ledger.delta:g} is not below 1/n = {1 / ledger.num_examples:g}: it would "
            "allow publishing one record in full; lower --delta, or say --allow_delta"
        )
    if ledger.delta < LEAST_DELTA:
        return (
            f"delta = {ledger.delta:g} is below {LEAST_DELTA:g}, the least that the arithmetic of "
            "noise and accountants supports; raise --delta"
        )
    if math.isinf(epsilon):
        taken = math.fsum(each.threshold_delta for each in (ledger, *(terms.earlier or ())))
        of_it = f", of which thresholds take {rounded_up(taken)}" if taken else ""
        return f"no epsilon holds at delta = {ledger.delta:g}{of_it}; raise --delta"
    if epsilon > MOST and not terms.allow_epsilon:
        return (
            f"epsilon = {epsilon:.4g}{' with earlier runs' if terms.earlier else ''} is above "
            f"{MOST:g}: it promises next to nothing; lower --eps, or say --allow_epsilon"
        )
    return terms.objection


def _verdict(
    ledger: Ledger,
    epsilon: float,
    together: float,
    reason: str | None,
    earlier: tuple[Ledger, ...] | None,
) -> str:
    """Return whether the result may be released; how strong that is goes by all runs together."""
    if reason is not None:
        return f"MUST NOT BE RELEASED: {reason}"
    worst = math.inf if _flawed(earlier) else max(epsilon, together)
    strength = "strong" if worst <= STRONG else "medium" if worst <= MEDIUM else "weak"
    said = f"epsilon {rounded_up(epsilon)}"
    if earlier:
        sum_of_all = f"epsilon {rounded_up(together)}, {_relation(ledger, earlier)},"
        if _flawed(earlier):
            sum_of_all = "no epsilon holds"
        said = (
            f"{sum_of_all} with {earlier_runs(len(earlier))} on the same data; "
            f"epsilon {rounded_up(epsilon)}, {ledger.relation}, by itself"
        )
    return f"MAY BE RELEASED, under a {strength} guarantee ({said})"


def _flawed(ledgers: tuple[Ledger, ...] | None) -> int:
    """Return how many earlier runs may have told the sums under their noise."""
    return sum(ledger.has_flawed_noise for ledger in ledgers or ())


def _sum(ledger: Ledger, earlier: tuple[Ledger, ...]) -> float:
    return joint_epsilon((*earlier, ledger), delta=ledger.delta)


def _relation(ledger: Ledger, earlier: tuple[Ledger, ...]) -> str:
    return joint_relation((*earlier, ledger))


def whole_loss(ledgers: tuple[Ledger, ...]) -> dict[str, Any]:
    """Return what is lost by ledgers of the same data together, beside one epsilon and delta.

    Args:
        ledgers: at least one, of one unit.

    Returns:
        In JSON's types: `gaussian_dp_mu`, `privacy_profile` and `attacker`, as certificates have
        them; nothing in them where something has no noise.
    """
    return copy.deepcopy(_computed_loss(ledgers))  # so that nobody changes what others get


@functools.lru_cache(maxsize=16)
def _computed_loss(ledgers: tuple[Ledger, ...]) -> dict[str, Any]:
    if not all(ledger.is_private for ledger in ledgers):
        return {"gaussian_dp_mu": None, "privacy_profile": [], "attacker": None}
    profile = joint_profile(ledgers)
    points = [{"delta": delta, "epsilon": profile.epsilon(delta)} for delta in PROFILE_DELTAS]
    advantage, found = profile.advantage, profile.true_positives()
    emptied = joint_relation(ledgers) == relations.ZERO_OUT
    return {
        "gaussian_dp_mu": _finite(profile.mu),
        "privacy_profile": [{**point, "epsilon": _finite(point["epsilon"])} for point in points],
        "attacker": {
            "advantage": advantage,
            "true_positives_at_1_percent_false_ones": found,
            "in_words": ATTACK.format(
                question=QUESTIONS[emptied, ledgers[0].records_per_person == 1],
                right=rounded_up(50 * (1 + advantage)),
                false=f"{100 * FALSE_POSITIVES:g}",
                found=rounded_up(100 * found),
            ),
        },
    }


def _warnings(
    ledger: Ledger, epsilon: float, together: float, earlier: tuple[Ledger, ...] | None
) -> tuple[str, ...]:
    found = list(delta_warnings(ledger.delta, ledger.num_examples))
    if number := _flawed(earlier):
        found.append(FLAWED.format(number=number, of=len(earlier or ())))
    if together > max(epsilon, MEDIUM):
        found.append(
            f"with earlier runs ({len(earlier or ())}) on the same data epsilon is "
            f"{rounded_up(together)} "
            f"({_relation(ledger, earlier or ())}): what may leave of each of them is together a "
            "weak guarantee"
        )
    if epsilon > MEDIUM:
        best = 50 * (1 + joint_profile((ledger,)).advantage)
        found.append(
            f"epsilon = {rounded_up(epsilon)} is a weak guarantee: someone who knows all other "
            f"records may tell whether one was used with a probability of up to {rounded_up(best)} "
            f"%; up to {MEDIUM:g} is usual"
        )
    return tuple(found)


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
        return f"Gaussian, {len(ledger.releases)} release(s){_threshold(ledger)}"
    name = "Poisson-subsampled Gaussian, composed over steps"
    if steps.sampling_rate == 1 and steps.num_steps == 1:
        name = "Gaussian, one release of the whole data"
    if ledger.also:
        name += f", and {len(ledger.also)} Gaussian release(s) of the whole data"
    return name + _threshold(ledger)


def _threshold(ledger: Ledger) -> str:
    """Say what part of delta goes to texts of an unknown domain."""
    rare = ledger.threshold_delta
    return (
        ""
        if not rare
        else f"; texts above a threshold that fails with a chance of {rounded_up(rare)}"
    )


def _other(ledger: Ledger) -> str:
    return "rdp" if ledger.steps is not None and ledger.accountant == "pld" else "pld"


def _randomness(ledger: Ledger) -> str:
    source = "a known --noise_seed" if ledger.seeded_noise else "the operating system, not kept"
    return f"sampling and noise: keys from {source}; noise: {ledger.noise}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
