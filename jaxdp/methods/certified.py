"""What is said under the guarantee of a run: its certificate, its budget, what a ledger counts."""

import math
from typing import TYPE_CHECKING, Any

from jaxdp.methods import bought_schema
from jaxdp.methods.settings import bad, budget
from jaxdp.privacy import certificates
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.relations import REPLACE
from jaxdp.privacy.stored_certificates import recertified

if TYPE_CHECKING:
    from jaxdp.methods.base import Plan


def certificate(plan: "Plan[Any]", earlier: tuple[Ledger, ...] | None = None) -> dict[str, Any]:
    """Return the certificate of a run: of what is to be released, or of what is used again.

    Args:
        plan: of the run.
        earlier: what earlier runs have released of the same data; None where nobody counts them.

    Raises:
        ValueError: the method's ledger is about other data than the run, or keeps quiet about a
            noise that somebody knows.
        SettingsError: a run asks for another epsilon, or for more, than was promised of what it
            uses again.
    """
    settings, spec, story = plan.settings, plan.spec, plan.story
    used_again = reused(plan)
    if used_again is not None:
        again = recertified(
            used_again,
            allow_delta=settings.allow_delta,
            allow_epsilon=settings.allow_epsilon,
            covers=story.covers_again,
        )
        promised = again["target_epsilon"]
        if settings.eps not in (type(settings).eps, math.inf if promised is None else promised):
            raise bad(
                settings,
                "eps",
                f"what is used again was released with {promised or math.inf:g}; leave it out",
            )
        if settings.relation == REPLACE != again["ledger"]["relation"]:
            raise bad(
                settings, "relation", "what is used again was released under zero-out; leave it out"
            )
        return again | {"reused": story.reused}
    facts = () if bought_schema.of(spec) is None else (bought_schema.COVERS,)
    terms = Terms(
        covers=(*story.covers, *facts),
        target_epsilon=settings.eps if settings.eps < math.inf else None,
        allow_delta=settings.allow_delta,
        allow_epsilon=settings.allow_epsilon,
        counted_classes=spec.counted_classes,
        preparation=spec.preparation,
        objection=story.objection,
        earlier=earlier,
        persons_declared=spec.persons_declared,
    )
    assert plan.ledger is not None
    _require_of_run(plan, plan.ledger)
    return certificates.certify(plan.ledger, terms) | dict(story.beside)


def reused(plan: "Plan[Any]") -> dict[str, Any] | None:
    """Return the certificate of what is used again where a run releases nothing; None otherwise."""
    return None if plan.ledger is not None else plan.earlier.certificate()


def epsilon(plan: "Plan[Any]") -> float:
    """Return the budget: by setting, or that of what is used again; inf without privacy."""
    return budget(plan.settings, reused(plan))


def counted(plan: "Plan[Any]") -> Ledger | None:
    """Return what a run adds to all that is released of its data; None where nothing may leave.

    Without noise, or with noise that somebody knows, a result must not be released. What was bought
    of the schema is no part of it: that has an entry of its own.
    """
    ledger = plan.ledger
    if ledger is None or not ledger.is_private or ledger.seeded_noise:
        return None
    _require_of_run(plan, ledger)
    return bought_schema.own_part(ledger, plan.spec)


def kept_by(plan: "Plan[Any]", earlier: tuple[Ledger, ...]) -> str | None:
    """Return why earlier runs would keep a result from being released that could be without them.

    None where they do not. Whoever asks before anything is released has spent nothing in vain.
    """
    if not earlier or not certificate(plan)["releasable"]:
        return None
    reason: str | None = certificate(plan, earlier)["not_releasable_reason"]
    return reason


def require_delta(plan: "Plan[Any]") -> None:
    """Raise a `SettingsError` where a delta would keep the result from being released.

    Noise that somebody knows keeps it, too, and so does none: then nobody means to release it.
    """
    settings, ledger = plan.settings, counted(plan)
    if ledger is None or settings.allow_delta or ledger.delta < 1 / ledger.num_examples:
        return
    raise bad(
        settings,
        "delta",
        f"is not below 1/n = {1 / ledger.num_examples:.3g}: it would allow publishing one record "
        "in full, and the result must not be released; lower it, as "
        f"--delta={0.1 / ledger.num_examples:.0e}, or say --allow_delta",
    )


def _require_of_run(plan: "Plan[Any]", ledger: Ledger) -> None:
    """Raise a `ValueError` where a ledger leaves out what its certificate would then promise."""
    about, of_run = ((each.num_examples, each.records_per_person) for each in (ledger, plan.spec))
    method = type(plan).__name__
    if about != of_run:
        raise ValueError(
            f"the ledger of {method} is about {about[0]} records, {about[1]} of a person at most, "
            f"and the data have {of_run[0]} and {of_run[1]}"
        )
    if plan.settings.relation == REPLACE != ledger.relation:
        raise ValueError(f"the ledger of {method} counts records as emptied, not as replaced")
    if plan.settings.noise_seed is not None and not ledger.seeded_noise:
        raise ValueError(f"the ledger of {method} does not say that its noise has a seed")


def method_name(plan: "Plan[Any]") -> str:
    """Return the name of a run's method: that of its package."""
    parts = type(plan).__module__.split(".")
    return parts[2] if parts[:2] == ["jaxdp", "methods"] else parts[-2]


def require_same_ledger(plan: "Plan[Any]", entered: "Plan[Any]") -> None:
    """Raise a `RuntimeError` unless a plan releases what the one that was entered says.

    Guarantee:
        A plan that is made again, once public maps are there, is accounted as the first one was.
    """
    if plan.ledger != entered.ledger:
        raise RuntimeError("a plan that was made again has another ledger; nothing was released")
