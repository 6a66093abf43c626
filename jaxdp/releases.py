"""A few Gaussian releases of one dataset: their noise, their joint epsilon, their certificate.

Statistics `s_1, s_2, ...`, each released once as `s_j + N(0, stddev_j^2 I)`, are together one
Gaussian mechanism: rescaled to unit noise, replacing one example moves them by at most

    sqrt(sum_j (sensitivity_j / stddev_j)^2) = 1 / noise_multiplier

so the exact formula for one release holds for all of them jointly, and a budget is split by shares
of that sum: `stddev_j = sensitivity_j * stddev_1 / sqrt(share_j)`.

References:
    Balle & Wang (2018), "Improving the Gaussian mechanism", theorem 8.
    Dong, Roth & Su (2022), "Gaussian differential privacy", corollary 3.3 (composition).
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from jaxdp import accounting, certificates
from jaxdp.mechanism import SubsampledGaussian

_RELATION = "replace one training example; their number n is public"
_PUBLIC = (
    "the number of training examples n (sums are divided by it)",
    "the number and names of classes, the shape of an example, the scaling constants",
    "all flags and hyper-parameters in config.json, the networks and random features",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GaussianRelease:
    """One statistic that is released once, with Gaussian noise on every entry.

    Attributes:
        name: what it is.
        sensitivity: most that replacing one example moves it in Euclidean norm, > 0.
        stddev: of the noise, in the same units, >= 0; 0 is not private.

    Raises:
        ValueError: a number is out of range.
    """

    name: str
    sensitivity: float
    stddev: float

    def __post_init__(self) -> None:
        if not 0 < self.sensitivity < math.inf:
            raise ValueError(f"sensitivity must be > 0 and finite, got {self.sensitivity}")
        if not 0 <= self.stddev < math.inf:
            raise ValueError(f"stddev must be >= 0 and finite, got {self.stddev}")


def joint_noise_multiplier(releases: Sequence[GaussianRelease]) -> float:
    """Return the noise multiplier of the one Gaussian release that all are together; 0 for none."""
    if any(release.stddev == 0 for release in releases):
        return 0.0
    return 1 / math.sqrt(sum((r.sensitivity / r.stddev) ** 2 for r in releases))


def calibrate(
    sensitivities: Mapping[str, float],
    *,
    target_epsilon: float,
    delta: float,
    shares: Mapping[str, float] | None = None,
) -> tuple[GaussianRelease, ...]:
    """Return releases with the least noise that are jointly (target_epsilon, delta)-DP.

    Args:
        sensitivities: of each statistic, by name.
        target_epsilon: > 0; `math.inf` for no noise at all.
        delta: in (0, 1).
        shares: positive numbers by the same names; only their ratios count. Equal by default.

    Raises:
        ValueError: a share or a budget that is out of range, or names that differ.

    Guarantee:
        Releasing every statistic once with the noise given is jointly (target_epsilon, delta)-DP.
    """
    shares = shares or dict.fromkeys(sensitivities, 1.0)
    if set(shares) != set(sensitivities) or not all(s > 0 for s in shares.values()):
        raise ValueError(f"need one share > 0 for each of {list(sensitivities)}, got {shares}")
    total = sum(shares.values())
    unit = 0.0
    if target_epsilon < math.inf:
        unit = accounting.analytic_gaussian_stddev(
            epsilon=target_epsilon, delta=delta, sensitivity=1.0
        )
    return tuple(
        GaussianRelease(
            name=name,
            sensitivity=sensitivity,
            stddev=sensitivity * unit / math.sqrt(shares[name] / total),
        )
        for name, sensitivity in sensitivities.items()
    )


def epsilon(releases: Sequence[GaussianRelease], *, delta: float) -> float:
    """Return the exact joint epsilon of releases at `delta`; infinity without noise."""
    multiplier = joint_noise_multiplier(releases)
    return math.inf if multiplier == 0 else accounting.gaussian_epsilon(multiplier, delta=delta)


def certify(
    releases: Sequence[GaussianRelease],
    *,
    delta: float,
    target_epsilon: float | None,
    num_examples: int,
    seeded_noise: bool,
    covers: tuple[str, ...],
) -> dict[str, Any]:
    """Return the certificate of data that all `releases` were made from, as plain JSON types.

    Args:
        releases: everything that was released.
        delta: in (0, 1).
        target_epsilon: what was asked for; None without privacy.
        num_examples: n.
        seeded_noise: whether noise came from a number somebody knows.
        covers: what is released under the guarantee.

    Guarantee:
        `epsilon` is recomputed from the releases, not copied from the request; without noise or
        with seeded noise the result is never marked releasable.
    """
    multiplier = joint_noise_multiplier(releases)
    private = multiplier > 0
    reason = certificates.why_not_releasable(private=private, seeded_noise=seeded_noise)
    return {
        "mechanism": f"Gaussian, {len(releases)} release(s)" if private else "none",
        "relation": _RELATION,
        "unit": "one training example",
        "epsilon": epsilon(releases, delta=delta) if private else None,
        "delta": delta,
        "target_epsilon": target_epsilon,
        "num_examples": num_examples,
        "releases": [dataclasses.asdict(release) for release in releases],
        "noise_multiplier": multiplier,
        "accountant": "exact formula of the Gaussian mechanism (Balle & Wang 2018)",
        "epsilon_second_opinion": _second_opinion(multiplier, delta) if private else None,
        "second_opinion_accountant": accounting.describe("pld"),
        "randomness": certificates.randomness(seeded_noise),
        "covers": list(covers) if private else [],
        "does_not_cover": (
            list(certificates.NOT_COVERED) if private else ["everything: there is no guarantee"]
        ),
        "public": list(_PUBLIC),
        "releasable": reason is None,
        "not_releasable_reason": reason,
        "warnings": list(certificates.delta_warnings(delta, num_examples)) if private else [],
    }


def _second_opinion(noise_multiplier: float, delta: float) -> float:
    single = SubsampledGaussian(
        num_examples=1,
        sampling_rate=1.0,
        num_steps=1,
        clip_norm=1.0,
        noise_multiplier=noise_multiplier,
    )
    return accounting.epsilon(single, delta=delta, accountant="pld")
