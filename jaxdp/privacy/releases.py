"""A few Gaussian releases of one dataset: their noise, their joint epsilon.

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

from jaxdp import plain_numbers
from jaxdp.privacy import accounting, relations
from jaxdp.privacy.mechanism import require_stddev


@dataclasses.dataclass(frozen=True, kw_only=True)
class GaussianRelease:
    """One statistic that is released once, with Gaussian noise on every entry.

    Attributes:
        name: what it is.
        sensitivity: most that one example moves it in Euclidean norm under the relation, > 0.
            One that becomes empty moves it by no more than one that is replaced.
        stddev: of the noise, in the same units, at least `mechanism.LEAST_STDDEV`; 0 is not
            private.
        relation: which datasets are neighbours (`relations`).

    Raises:
        ValueError: a number is out of range.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease
        >>> release = GaussianRelease(name="class means", sensitivity=2.0, stddev=8.0)
        >>> release.stddev / release.sensitivity
        4.0
    """

    name: str
    sensitivity: float
    stddev: float
    relation: str = relations.REPLACE

    def __post_init__(self) -> None:
        plain_numbers.settle(self)
        relations.require(self.relation)
        if not 0 < self.sensitivity < math.inf:
            raise ValueError(f"sensitivity must be > 0 and finite, got {self.sensitivity}")
        if self.stddev != 0:
            require_stddev(self.stddev)


def joint_noise_multiplier(releases: Sequence[GaussianRelease]) -> float:
    """Return the noise multiplier of the one Gaussian release that all are together.

    It is 0 where one of them has no noise.

    Args:
        releases: one or more, of the same data.

    Raises:
        ValueError: there are none.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, joint_noise_multiplier
        >>> means = GaussianRelease(name="means", sensitivity=2.0, stddev=10.0)
        >>> counts = GaussianRelease(name="counts", sensitivity=1.0, stddev=5.0)
        >>> round(joint_noise_multiplier([means, counts]), 3)
        3.536
    """
    if not releases:
        raise ValueError("nothing was released: there is no noise multiplier of no releases")
    if any(release.stddev == 0 for release in releases):
        return 0.0
    return 1 / math.sqrt(sum((r.sensitivity / r.stddev) ** 2 for r in releases))


def calibrate(
    sensitivities: Mapping[str, float],
    *,
    target_epsilon: float,
    delta: float,
    shares: Mapping[str, float] | None = None,
    records_per_person: int = 1,
    relation: str = relations.REPLACE,
) -> tuple[GaussianRelease, ...]:
    """Return releases with the least noise that are jointly (target_epsilon, delta)-DP.

    Args:
        sensitivities: of each statistic under the relation, by name.
        target_epsilon: > 0; `math.inf` for no noise at all.
        delta: in (0, 1).
        shares: positive finite numbers by the same names; only their ratios count. Equal by
            default.
        records_per_person: most examples k that the unit of privacy has, a whole number from 1 to
            100: all of them together move a statistic by k sensitivities at most.
        relation: which datasets are neighbours.

    Raises:
        ValueError: a share, a budget or a number of records that is out of range or not a number,
            or names that differ.

    Guarantee:
        Releasing every statistic once with the noise given is jointly (target_epsilon, delta)-DP.
        Nothing but an infinite `target_epsilon` gives a release without noise.

    Examples:
        >>> from jaxdp.privacy import releases
        >>> sensitivities = {"means": 2.0, "counts": 1.0}
        >>> found = releases.calibrate(sensitivities, target_epsilon=1.0, delta=1e-5)
        >>> [(each.name, round(each.stddev, 2)) for each in found]
        [('means', 10.55), ('counts', 5.28)]
        >>> round(releases.epsilon(found, delta=1e-5), 3)
        1.0
    """
    if not target_epsilon > 0:  # so that what is not a number is refused as well
        raise ValueError(f"target_epsilon must be > 0, or math.inf, got {target_epsilon}")
    records_per_person = plain_numbers.records_per_person(records_per_person, "records_per_person")
    shares = shares or dict.fromkeys(sensitivities, 1.0)
    if set(shares) != set(sensitivities) or not all(0 < s < math.inf for s in shares.values()):
        raise ValueError(f"need one share > 0 for each of {list(sensitivities)}, got {shares}")
    total = sum(shares.values())
    unit = 0.0
    if target_epsilon < math.inf:
        unit = accounting.analytic_gaussian_stddev(
            epsilon=target_epsilon, delta=delta, sensitivity=float(records_per_person)
        )
    return tuple(
        GaussianRelease(
            name=name,
            sensitivity=sensitivity,
            stddev=sensitivity * unit / math.sqrt(shares[name] / total),
            relation=relation,
        )
        for name, sensitivity in sensitivities.items()
    )


def epsilon(
    releases: Sequence[GaussianRelease], *, delta: float, records_per_person: int = 1
) -> float:
    """Return the exact joint epsilon of releases at `delta`; infinity without noise.

    Args:
        releases: one or more, of the same data.
        delta: in (0, 1).
        records_per_person: as for `calibrate`.

    Raises:
        ValueError: there are no releases, or a number is out of range.

    Examples:
        >>> from jaxdp.privacy import GaussianRelease, releases
        >>> release = GaussianRelease(name="means", sensitivity=2.0, stddev=8.0)
        >>> round(releases.epsilon([release], delta=1e-5), 2)
        0.93
    """
    records_per_person = plain_numbers.records_per_person(records_per_person, "records_per_person")
    multiplier = joint_noise_multiplier(releases) / records_per_person
    return math.inf if multiplier == 0 else accounting.gaussian_epsilon(multiplier, delta=delta)
