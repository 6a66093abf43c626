"""What a run with a private teacher releases, with the noise that its budget asks for."""

import math
from typing import NamedTuple

from jaxdp.data import Spec
from jaxdp.methods import bought_schema
from jaxdp.methods.noise import calibrated, poisson_steps
from jaxdp.methods.settings import bad
from jaxdp.methods.stored import Earlier
from jaxdp.methods.teacher.defaults import draws_noise
from jaxdp.methods.teacher.settings import Settings
from jaxdp.privacy import accounting
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import SubsampledGaussian


class Mechanisms(NamedTuple):
    """What a run releases, with its noise.

    Attributes:
        steps: the teacher's training; of class means alone, their release.
        mean: noise multiplier of the mean of features; None where it is not released.
        calibration: noise multiplier of what makes probabilities of scores; None likewise.
        means: noise multiplier of class means; None where they are not released.
        beside: noise multipliers of what is accounted beside `steps`, these three among them.
    """

    steps: SubsampledGaussian
    mean: float | None = None
    means: float | None = None
    calibration: float | None = None
    beside: tuple[float, ...] = ()


def mechanisms_for(
    settings: Settings, spec: Spec, earlier: Earlier, *, beside: tuple[float, ...] = ()
) -> Mechanisms:
    """Return what is released, with the noise that the budget asks for.

    Args:
        settings: complete.
        spec: of the data: n, and how many records a person has at most.
        earlier: of which released images count towards the budget, too.
        beside: noise multipliers of what else the budget is for.

    Raises:
        SettingsError: what the budget asks for cannot be reached.
    """
    anew = draws_noise(settings, earlier)
    spent = None if earlier.images is None else earlier.images.noise_multiplier
    if not settings.uses_teacher:
        alone = one_release(
            spec.num_examples,
            noise_multiplier=0.0,
            records_per_person=spec.records_per_person,
            relation=settings.relation,
        )
        alone = calibrated(settings, spec, alone) if anew else alone
        return Mechanisms(alone, means=alone.noise_multiplier if anew else None)
    if anew and spent is not None and settings.is_private:
        _require_room(settings, spec, earlier)
    mean, means, calibration = None, None, None
    if spent is not None:
        beside = (*beside, spent)
    if anew and settings.match == "both" and spent is None:
        means = _part(settings, spec, settings.embedding_share, beside)
        beside = (*beside, means)
    if anew and settings.mean_share:
        mean = _part(settings, spec, settings.mean_share, beside)
        beside = (*beside, mean)
    if anew and settings.calibration_share:
        calibration = _part(settings, spec, settings.calibration_share, beside)
        beside = (*beside, calibration)
    steps = poisson_steps(settings, spec)
    if anew and settings.is_private:
        steps = calibrated(settings, spec, steps, also=beside)
    return Mechanisms(steps, mean, means, calibration, beside)


def _part(settings: Settings, spec: Spec, share: float, beside: tuple[float, ...]) -> float:
    """Return the noise of a release that gets a share of what others leave of the budget.

    Gaussian releases of noise z are together as one of noise (sum z^-2)^(-1/2).
    """
    if not settings.is_private:
        return 0.0
    try:
        alone = accounting.analytic_gaussian_stddev(
            epsilon=settings.eps,
            delta=bought_schema.noise_delta(settings, spec),
            sensitivity=float(spec.records_per_person * settings.contributions),
        )
    except accounting.TooMuchNoiseError as error:
        raise bad(settings, "eps", f"asks for too much noise ({error}); raise it") from error
    bought_schema.require_noise(settings, spec)
    beside = (*bought_schema.multipliers(spec), *beside)
    left = alone**-2 - sum(noise**-2 for noise in beside)
    if not left > 0:
        raise bad(settings, "eps", "what is released beside the teacher spends all of it; raise it")
    return 1 / math.sqrt(share * left)


def _require_room(settings: Settings, spec: Spec, earlier: Earlier) -> None:
    """Raise a `SettingsError` where an earlier release leaves the teacher no budget."""
    assert earlier.images is not None
    noise, spent = earlier.images.noise_multiplier, math.inf
    if noise > 0:
        noise /= spec.records_per_person * settings.contributions
        spent = accounting.gaussian_epsilon(noise, delta=bought_schema.noise_delta(settings, spec))
    if spent >= settings.eps:
        raise bad(
            settings,
            "eps",
            f"{earlier.images.source} has spent "
            f"{'everything, without noise' if math.isinf(spent) else f'{spent:.3g}'} under "
            f"{settings.relation}; raise --eps",
        )
