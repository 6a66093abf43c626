"""What a run has released, in numbers: all that its epsilon is computed from.

A `Ledger` is stored with whatever it accounts for. Who resumes a run or uses its results again
computes epsilon from the ledger, and believes no stored epsilon.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxdp import plain_numbers
from jaxdp.privacy import accounting, relations, releases
from jaxdp.privacy.mechanism import (
    KEY_BITS,
    NOISE,
    SubsampledGaussian,
    require_records_per_person,
)
from jaxdp.privacy.profiles import Profile
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.privacy.stored_fields import (
    LONGEST_LIST,
    Check,
    checked,
    flag,
    list_of,
    number,
    or_none,
    text,
    whole,
)

FLOAT32_NOISE = "float32, one draw, keys of 64 bits"
"""Noise of teachers of version 0.1.0: its values tell the sum under it."""
OLD_NOISE = "float64, one draw, keys of 64 bits"
"""Other noise of version 0.1.0."""
UNROUNDED_NOISE = f"float64, two draws, keys of {KEY_BITS} bits"
"""Noise of development versions of 0.2.0."""
KINDS_OF_NOISE = (NOISE, UNROUNDED_NOISE, OLD_NOISE, FLOAT32_NOISE)
"""The best one first."""

# Beyond what any setting leads to. Accounting ends soon for all of these: see `grids`.
LEAST_READ, LEAST_NOISE, MOST_NOISE = 1e-100, 1e-6, 1e18
MOST_RELEASES, MOST_LEDGERS = LONGEST_LIST, 10_000
_MOST_EXAMPLES = 2**63
# As it was written before the relation could be chosen.
_NAMES_BEFORE = {relations.REPLACE: "replace-one"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ledger:
    """Everything that is released about one dataset, by a run and by those it builds on.

    Attributes:
        num_examples: n, public.
        delta: in (0, 1), not below `LEAST_READ`.
        steps: the run's sampled releases; None where there are `releases`.
        also: of further Gaussian releases beside `steps`, noise over the contribution of one
            record; none where there are `releases`.
        releases: single Gaussian releases.
        accountant: that judges `steps`; single releases have an exact formula.
        noise: how noise is drawn.
        seeded_noise: whether it comes from a number that somebody knows.
        records_per_person: most records k that one person has, whose records together are the unit
            of privacy; multipliers and sensitivities are those of single records whatever it is.
        threshold_delta: part of delta, the chance that a text which one person alone has passes a
            threshold (`jaxdp.privacy.unknown_texts`); 0 where no threshold decides.

    Raises:
        ValueError: there are neither steps nor releases, or both, there is `also` without steps,
            or a number is out of range.
            Noise multipliers are 0 or from `LEAST_NOISE` to `MOST_NOISE`.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, Ledger
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> ledger.relation, ledger.noise_multiplier, round(ledger.epsilon(), 2)
        ('replace', 4.0, 0.93)
    """

    num_examples: int
    delta: float
    steps: SubsampledGaussian | None = None
    also: tuple[float, ...] = ()
    releases: tuple[GaussianRelease, ...] = ()
    accountant: str = "pld"
    noise: str = NOISE
    seeded_noise: bool = False
    records_per_person: int = 1
    threshold_delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("also", "releases"):  # lists could be changed later, and have no hash
            object.__setattr__(self, name, tuple(getattr(self, name)))
        plain_numbers.settle(self)
        if (self.steps is None) == (not self.releases):
            raise ValueError("a ledger holds either steps or releases")
        if self.steps is None and self.also:
            raise ValueError("also is of what is beside steps: put single releases into releases")
        if not LEAST_READ <= self.delta < 1:
            raise ValueError(f"delta must be in [{LEAST_READ:g}, 1), got {self.delta}")
        if not 0 <= self.threshold_delta < self.delta:
            raise ValueError(f"threshold_delta must be in [0, delta), got {self.threshold_delta}")
        if not 1 <= self.num_examples < _MOST_EXAMPLES:
            raise ValueError(f"num_examples must be 1 or more, got {self.num_examples}")
        if self.steps is not None and self.steps.num_examples != self.num_examples:
            raise ValueError(f"steps are for {self.steps.num_examples} examples")
        require_records_per_person(self.records_per_person)
        if self.steps is not None and self.steps.records_per_person != self.records_per_person:
            raise ValueError(f"steps are for {self.steps.records_per_person} records of a person")
        if self.accountant not in accounting.ACCOUNTANTS:
            raise ValueError(f"accountant must be one of {accounting.ACCOUNTANTS}")
        if self.noise not in KINDS_OF_NOISE:
            raise ValueError(f"no version draws noise like this: {self.noise}")
        self._require_noise()

    def _require_noise(self) -> None:
        if max(len(self.also), len(self.releases)) > MOST_RELEASES:
            raise ValueError(f"there are more than {MOST_RELEASES} releases")
        alone = () if self.steps is None else (self.steps.noise_multiplier,)
        noisy = [noise for noise in (*alone, *self.also) if noise != 0]
        noisy += [each.stddev / each.sensitivity for each in self.releases if each.stddev != 0]
        for noise in noisy:
            if not LEAST_NOISE <= noise <= MOST_NOISE:
                raise ValueError(
                    f"noise multipliers are 0, or {LEAST_NOISE:g} to {MOST_NOISE:g}, got {noise}"
                )

    @property
    def relation(self) -> str:
        """Which datasets are neighbours: see `relations`."""
        if self.steps is not None:
            return self.steps.relation
        return relations.joint(release.relation for release in self.releases)

    @property
    def has_flawed_noise(self) -> bool:
        """Whether its noise may tell a sum under it, as that of versions before 0.2.0 does.

        What many steps have added up shows none of their sums, but a checkpoint of few may.
        """
        return self.noise != NOISE

    @property
    def is_private(self) -> bool:
        """Whether everything that is released has noise."""
        if self.steps is None:
            return self.noise_multiplier > 0
        return self.steps.is_private and 0 not in self.also

    @property
    def noise_multiplier(self) -> float:
        """Noise over sensitivity: of a step, or of all single releases jointly."""
        if self.steps is None:
            return releases.joint_noise_multiplier(self.releases)
        return self.steps.noise_multiplier

    @property
    def noise_delta(self) -> float:
        """What thresholds leave of delta to noise."""
        return self.delta - self.threshold_delta

    def epsilon(self, accountant: str | None = None) -> float:
        """Return epsilon at delta, infinity without noise.

        Args:
            accountant: `"pld"` or `"rdp"`; None takes that of the ledger for steps, and the exact
                formula for single releases.

        Raises:
            ValueError: there is no such accountant.

        Guarantee:
            An upper bound for everything in the ledger together, whatever was asked for.
        """
        if accountant not in (None, *accounting.ACCOUNTANTS):
            raise ValueError(f"accountant must be one of {accounting.ACCOUNTANTS}")
        if not self.is_private:
            return math.inf
        if self.steps is not None:
            return accounting.epsilon(
                self.steps,
                delta=self.noise_delta,
                accountant=accountant or self.accountant,
                also=self.also,
            )
        if accountant is None:
            return releases.epsilon(
                self.releases, delta=self.noise_delta, records_per_person=self.records_per_person
            )
        alone = one_release(
            1,
            noise_multiplier=self.noise_multiplier,
            records_per_person=self.records_per_person,
        )  # of a sensitivity under the relation already
        return accounting.epsilon(alone, delta=self.noise_delta, accountant=accountant)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        fields = dataclasses.asdict(self) | {"also": list(self.also)}
        fields["releases"] = [dataclasses.asdict(release) for release in self.releases]
        if self.steps is not None and math.isinf(self.steps.clip_norm):
            fields["steps"]["clip_norm"] = None
        if not self.threshold_delta:
            del fields["threshold_delta"]
        return {"relation": self.relation} | fields

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Ledger":
        """Return the ledger of plain JSON types.

        Raises:
            KeyError, TypeError, ValueError: they are not a ledger's.
        """
        fields = checked(stored, _FIELDS)
        relation = fields.pop("relation")
        ledger = cls(**fields)
        if relation not in (ledger.relation, _NAMES_BEFORE.get(ledger.relation)):
            raise ValueError(f"the relation is {ledger.relation}, not {relation}")
        return ledger


def _steps_of(stored: Any) -> SubsampledGaussian:
    fields = checked(stored, _STEPS)
    return SubsampledGaussian(
        **fields | {"clip_norm": math.inf if fields["clip_norm"] is None else fields["clip_norm"]}
    )


def _release_of(stored: Any) -> GaussianRelease:
    return GaussianRelease(**checked(stored, _RELEASE))


_STEPS: dict[str, Check] = {
    "num_examples": whole,
    "sampling_rate": number,
    "num_steps": whole,
    "clip_norm": or_none(number),
    "noise_multiplier": number,
    "records_per_person": whole,
    "relation": text,
}
_RELEASE: dict[str, Check] = {
    "name": text,
    "sensitivity": number,
    "stddev": number,
    "relation": text,
}
_FIELDS: dict[str, Check] = {
    "relation": text,
    "num_examples": whole,
    "delta": number,
    "steps": or_none(_steps_of),
    "also": list_of(number),
    "releases": list_of(_release_of),
    "accountant": text,
    "noise": text,
    "seeded_noise": flag,
    "records_per_person": whole,
    "threshold_delta": number,
}


def worst_noise(*kinds: str) -> str:
    """Return the kind of noise of what several kinds have gone into."""
    return max(kinds, key=KINDS_OF_NOISE.index)


def joint_relation(ledgers: Iterable[Ledger]) -> str:
    """Return the relation under which `joint_epsilon` of several ledgers holds."""
    return relations.joint(ledger.relation for ledger in ledgers)


def joint_epsilon(ledgers: Sequence[Ledger], *, delta: float) -> float:
    """Return the epsilon of everything in several ledgers of the same data together.

    Where ledgers of both relations are there, all count as zero-out: a record that becomes empty
    moves nothing by more than one that is replaced.

    Args:
        ledgers: at least one, all for persons with the same number of records at most.
        delta: in (0, 1).

    Raises:
        ValueError: there is none, or units differ.

    Guarantee:
        An upper bound under `joint_relation`: that of all of them, or zero-out where they differ.
        What one ledger counts beside its own releases is counted again.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, Ledger, joint_epsilon
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> round(ledger.epsilon(), 2), round(joint_epsilon([ledger, ledger], delta=1e-5), 2)
        (0.93, 1.36)
    """
    steps, also = _together(ledgers)
    left = delta - _threshold_delta(ledgers)
    if left <= 0 or not all(ledger.is_private for ledger in ledgers):
        return math.inf
    return accounting.joint_epsilon(steps, delta=left, also=also)


def joint_profile(ledgers: Sequence[Ledger]) -> Profile:
    """Return the privacy profile of everything in several ledgers of the same data together.

    Args:
        ledgers: as for `joint_epsilon`, all with noise.

    Raises:
        ValueError: as `joint_epsilon`, or something has no noise.

    Guarantee:
        As `joint_epsilon`, at every epsilon.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, Ledger, joint_profile
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> ledger = Ledger(num_examples=1000, delta=1e-5, releases=(release,))
        >>> round(joint_profile([ledger, ledger]).mu, 3)
        0.354
    """
    steps, also = _together(ledgers)
    found = accounting.profile(steps, also=also)
    return found._replace(threshold_delta=_threshold_delta(ledgers))


def _threshold_delta(ledgers: Iterable[Ledger]) -> float:
    """Return the chance that a threshold of any of them fails."""
    return math.fsum(ledger.threshold_delta for ledger in ledgers)


def _together(ledgers: Sequence[Ledger]) -> tuple[list[SubsampledGaussian], list[float]]:
    """Return the sampled mechanisms of ledgers, and the noise of all else for a person."""
    if len(ledgers) > MOST_LEDGERS:
        raise ValueError(f"there are more than {MOST_LEDGERS} runs")
    if len({ledger.records_per_person for ledger in ledgers}) != 1:
        raise ValueError("need ledgers of one unit: the same number of records of a person")
    people, relation = ledgers[0].records_per_person, joint_relation(ledgers)
    steps = [
        dataclasses.replace(ledger.steps, relation=relation)
        for ledger in ledgers
        if ledger.steps is not None
    ]
    singles = [ledger.noise_multiplier / people for ledger in ledgers if ledger.steps is None]
    moved = people * relations.contributions(relation)
    return steps, [*singles, *(noise / moved for ledger in ledgers for noise in ledger.also)]


def require_one_release(mechanism: SubsampledGaussian, what: str) -> None:
    """Raise a `ValueError` where a mechanism is not as `one_release` makes them.

    Args:
        mechanism: to be checked.
        what: is released, in words that begin the message.
    """
    if (mechanism.num_steps, mechanism.sampling_rate, mechanism.clip_norm) != (1, 1.0, 1.0):
        raise ValueError(f"{what} released once, of all examples, each of norm 1 at most")


def one_release(
    num_examples: int,
    *,
    noise_multiplier: float,
    records_per_person: int = 1,
    relation: str = relations.ZERO_OUT,
) -> SubsampledGaussian:
    """Return what a single release is accounted as: one step that every example takes part in.

    Args:
        num_examples: n, public.
        noise_multiplier: standard deviation of the noise over what one example contributes at most.
        records_per_person: of `Ledger`.
        relation: which datasets are neighbours.
    """
    return SubsampledGaussian(
        num_examples=num_examples,
        sampling_rate=1.0,
        num_steps=1,
        clip_norm=1.0,
        noise_multiplier=noise_multiplier,
        records_per_person=records_per_person,
        relation=relation,
    )
