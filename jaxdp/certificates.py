"""The certificate of a run: what it guarantees, what that covers, and what it does not.

Numbers come from `jaxdp.accounting`; nothing is copied from what was asked for.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from jaxdp import accounting
from jaxdp.mechanism import SubsampledGaussian


@dataclasses.dataclass(frozen=True, kw_only=True)
class Certificate:
    """What a run guarantees, what that covers, and what it does not; `privacy.json`.

    `epsilon` and `epsilon_second_opinion` are None where there is no guarantee. `also_released` are
    the noise multipliers of releases that are accounted together with the mechanism.
    """

    mechanism: str
    relation: str
    unit: str
    epsilon: float | None
    delta: float
    target_epsilon: float | None
    sampling_rate: float
    expected_batch_size: float
    num_examples: int
    num_steps: int
    clip_norm: float | None
    noise_multiplier: float
    accountant: str
    epsilon_second_opinion: float | None
    second_opinion_accountant: str
    randomness: str
    covers: tuple[str, ...]
    does_not_cover: tuple[str, ...]
    public: tuple[str, ...]
    releasable: bool
    not_releasable_reason: str | None
    warnings: tuple[str, ...]
    also_released: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in dataclasses.asdict(self).items()
        }


NOT_COVERED = (
    "the choice of hyper-parameters on private data: every further run on the same data spends "
    "its own epsilon",
    "numbers computed from the test split (accuracies in metrics.json and report.html)",
    "examples of one person that occur more than once: the unit is one example",
    "side channels: running time, memory, and rounding of floating-point noise",
)
_PUBLIC = (
    "the number of training examples (it sets the sampling rate)",
    "the number and names of classes, the shape of an example, the scaling constants",
    "all flags and hyper-parameters in config.json",
)


def certify(
    mechanism: SubsampledGaussian,
    *,
    delta: float,
    target_epsilon: float | None,
    accountant: str,
    seeded_noise: bool,
    covers: tuple[str, ...],
    also: Sequence[float] = (),
) -> Certificate:
    """Return the certificate of a run that has released all steps of `mechanism`.

    Args:
        mechanism: what the run sampled and added noise with.
        delta: in (0, 1).
        target_epsilon: what was asked for; None without privacy.
        accountant: the accountant that calibrated the run; the other one gives the second opinion.
        seeded_noise: whether noise came from a number somebody knows.
        covers: what is released under the guarantee.
        also: noise multipliers of further releases, as for `accounting.event`.

    Guarantee:
        `epsilon` is recomputed from the mechanism, not copied from the request; a run without
        noise or with seeded noise is never marked releasable.
    """
    other = "rdp" if accountant == "pld" else "pld"
    private = mechanism.is_private and 0 not in also
    reason = why_not_releasable(private=private, seeded_noise=seeded_noise)
    name = "Poisson-subsampled Gaussian, composed over steps"
    if mechanism.sampling_rate == 1 and mechanism.num_steps == 1:
        name = "Gaussian, one release of the whole data"
    if also:
        name += f", and {len(also)} Gaussian release(s) of the whole data"

    def spent(judge: str) -> float | None:
        if not private:
            return None
        return accounting.epsilon(mechanism, delta=delta, accountant=judge, also=also)

    return Certificate(
        mechanism=name if private else "none",
        relation="add or remove one training example",
        unit="one training example",
        epsilon=spent(accountant),
        delta=delta,
        target_epsilon=target_epsilon,
        sampling_rate=mechanism.sampling_rate,
        expected_batch_size=mechanism.expected_batch_size,
        num_examples=mechanism.num_examples,
        num_steps=mechanism.num_steps,
        clip_norm=mechanism.clip_norm if private else None,
        noise_multiplier=mechanism.noise_multiplier,
        accountant=accounting.describe(accountant),
        epsilon_second_opinion=spent(other),
        second_opinion_accountant=accounting.describe(other),
        randomness=randomness(seeded_noise),
        covers=covers if private else (),
        does_not_cover=NOT_COVERED if private else ("everything: there is no guarantee",),
        public=_PUBLIC,
        releasable=reason is None,
        not_releasable_reason=reason,
        warnings=delta_warnings(delta, mechanism.num_examples) if private else (),
        also_released=tuple(also),
    )


def why_not_releasable(*, private: bool, seeded_noise: bool) -> str | None:
    """Return why a result must not be released, or None where nothing speaks against it."""
    if not private:
        return "no noise was added: the result is not differentially private"
    if seeded_noise:
        return "the noise came from --noise_seed: whoever knows the number can remove it"
    return None


def randomness(seeded_noise: bool) -> str:
    """Return where the randomness of sampling and noise came from, in words."""
    source = "a known --noise_seed" if seeded_noise else "64 bits of the operating system, not kept"
    return f"sampling and noise: threefry2x32 keyed by {source}"


def delta_warnings(delta: float, num_examples: int) -> tuple[str, ...]:
    """Return a warning where `delta >= 1/n`: then publishing a random example would pass too."""
    if delta < 1 / num_examples:
        return ()
    return (
        f"delta = {delta:g} is not below 1/n = {1 / num_examples:g}: such a delta would even allow "
        f"publishing one example in full; use --delta below {1 / num_examples:.1g}",
    )
