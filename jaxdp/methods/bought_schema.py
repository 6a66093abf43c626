"""What was released for a schema, which every run with that schema is accounted with.

A schema may have facts that were bought with a part of epsilon (`jaxdp.bought`). What a run makes
tells these, too. So its certificate is of both together, and its own noise has what the schema has
left of the budget.
"""

import dataclasses
import math
from typing import Any

from jaxdp.data import Spec
from jaxdp.methods.settings import SettingsError, bad
from jaxdp.privacy import accounting, cell_counts, relations, releases
from jaxdp.privacy.ledger import Ledger, worst_noise
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.tables.bought import Bought

COVERS = "the facts of the schema that were bought: bounds, bins, categories, missing values"


def of(spec: Spec) -> Bought | None:
    """Return what was bought of the schema of data; None for nothing."""
    return None if spec.schema is None else spec.schema.bought


def ledger_of(spec: Spec) -> Ledger | None:
    """Return the ledger of what was bought; None where nothing was.

    Raises:
        SettingsError: a schema file holds no such ledger, or one that protects another unit.
    """
    bought = of(spec)
    if bought is None:
        return None
    try:
        found = Ledger.from_json(bought.ledger)
        if found.steps is not None:
            raise ValueError("it has steps")
        for release in found.releases:
            cell_counts.require_sensitivity(release)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(f'--schema: "bought" has no ledger of a purchase ({error})') from error
    if found.records_per_person != spec.records_per_person:
        raise SettingsError(
            f"--schema: was bought for persons with at most {found.records_per_person} records, "
            f"and this run is about {spec.records_per_person}: give "
            f"--records_per_person={found.records_per_person}, or buy it again"
        )
    if spec.persons_declared and spec.records_per_person == 1 and not bought.persons_declared:
        raise SettingsError(
            "--schema: was bought for single records, whoever they are of, and this run is about "
            "persons: buy it again with --records_per_person=1, or leave that out here"
        )
    return found


def entry(spec: Spec) -> tuple[str, Ledger] | None:
    """Return the name and the ledger of the purchase, for the ledger of a dataset."""
    bought, found = of(spec), ledger_of(spec)
    return None if bought is None or found is None else (bought.name, found)


def multipliers(spec: Spec) -> tuple[float, ...]:
    """Return noise over the contribution of one record, of what was bought; none for nothing.

    Counts are all that is bought, and a record contributes 1 to them in norm. A ledger of steps
    that are replaced counts two contributions of everything, which is more than these move by.
    """
    found = ledger_of(spec)
    if found is None:
        return ()
    return (found.noise_multiplier * cell_counts.sensitivity(found.relation),)


def require_noise(settings: Any, spec: Spec) -> None:
    """Raise a `SettingsError` where a run promises more than was promised of its schema."""
    found = ledger_of(spec)
    if not settings.is_private or found is None:
        return
    if not found.is_private:
        raise bad(settings, "eps", "is a budget, and the schema was bought without noise")
    if settings.relation == relations.REPLACE != found.relation:
        raise bad(
            settings,
            "relation",
            f"the schema was bought under {found.relation}; buy it again under {settings.relation}",
        )


def noise_delta(settings: Any, spec: Spec) -> float:
    """Return what thresholds leave of delta to noise.

    Raises:
        SettingsError: they take all of it.
    """
    found = ledger_of(spec)
    taken = 0.0 if found is None else found.threshold_delta
    if found is not None and settings.delta >= 1 / found.num_examples and not settings.allow_delta:
        n = found.num_examples
        raise bad(settings, "delta", f"is not below 1/n of the {n} records of the bought schema")
    if taken >= settings.delta:
        raise bad(settings, "delta", f"is no more than the {taken:g} that the schema takes of it")
    return settings.delta - taken


def calibrate(
    settings: Any, spec: Spec, sensitivities: dict[str, float], shares: dict[str, float]
) -> tuple[GaussianRelease, ...]:
    """Return a run's own releases, with the noise that the schema leaves of the budget to them.

    Args:
        settings: the budget.
        spec: of the data.
        sensitivities: as for `releases.calibrate`, under the settings' relation.
        shares: likewise.

    Raises:
        SettingsError: the schema has spent all of it.
    """
    before = ledger_of(spec)
    if before is None or not settings.is_private:
        return releases.calibrate(
            sensitivities,
            target_epsilon=settings.eps,
            delta=settings.delta,
            shares=shares,
            records_per_person=spec.records_per_person,
            relation=settings.relation,
        )
    require_noise(settings, spec)
    whole = accounting.analytic_gaussian_stddev(
        epsilon=settings.eps,
        delta=noise_delta(settings, spec),
        sensitivity=float(spec.records_per_person),
    )
    left = whole**-2 - before.noise_multiplier**-2
    if not left > 1e-9 * whole**-2:
        spent = f"{before.epsilon():.3g}"
        raise bad(settings, "eps", f"is no more than the {spent} that the schema has spent")
    total = sum(shares.values())
    return tuple(
        GaussianRelease(
            name=name,
            sensitivity=bound,
            stddev=bound / math.sqrt(left * shares[name] / total),
            relation=settings.relation,
        )
        for name, bound in sensitivities.items()
    )


def joint(ledger: Ledger, spec: Spec) -> Ledger:
    """Return a run's ledger with what was bought of the schema in it."""
    found = ledger_of(spec)
    if found is None:
        return ledger
    if ledger.steps is None:
        ledger = dataclasses.replace(ledger, releases=(*found.releases, *ledger.releases))
    else:
        ledger = dataclasses.replace(ledger, also=(*multipliers(spec), *ledger.also))
    return dataclasses.replace(
        ledger,
        threshold_delta=found.threshold_delta,
        seeded_noise=ledger.seeded_noise or found.seeded_noise,
        noise=worst_noise(ledger.noise, found.noise),
    )


def own_part(ledger: Ledger, spec: Spec) -> Ledger:
    """Return a run's ledger without what was bought of the schema, which has an entry of its own.

    Raises:
        ValueError: it is not in it.
    """
    found = ledger_of(spec)
    if found is None:
        return ledger
    num = len(found.releases)
    if ledger.steps is None:
        is_in = ledger.releases[:num] == found.releases
    else:
        is_in = ledger.also[:1] == multipliers(spec)
    if not is_in or ledger.threshold_delta != found.threshold_delta:
        raise ValueError("the ledger of a run leaves out what was bought of its schema")
    if ledger.steps is None:
        ledger = dataclasses.replace(ledger, releases=ledger.releases[num:])
    else:
        ledger = dataclasses.replace(ledger, also=ledger.also[1:])
    return dataclasses.replace(ledger, threshold_delta=0.0)
