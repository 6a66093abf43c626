"""What a run with a private teacher releases, with the noise that its budget asks for."""

import math

from jaxdp.data import Spec
from jaxdp.methods.noise import calibrated, poisson_steps
from jaxdp.methods.settings import bad
from jaxdp.methods.stored import Earlier
from jaxdp.methods.teacher.settings import Settings, draws_noise
from jaxdp.privacy import accounting
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import SubsampledGaussian


def mechanisms_for(
    settings: Settings, spec: Spec, earlier: Earlier
) -> tuple[SubsampledGaussian, float | None]:
    """Return the accounted mechanism, and the noise of class means where they are released.

    The mechanism is the teacher's training, with class means accounted beside it, or the release of
    class means where there is no teacher.

    Args:
        settings: complete.
        spec: of the data: n, and how many records a person has at most.
        earlier: of which released images count towards the budget, too.

    Raises:
        SettingsError: what the budget asks for cannot be reached.
    """
    anew = draws_noise(settings, earlier)
    spent = None if earlier.images is None else earlier.images.noise_multiplier
    if not settings.uses_teacher:
        alone = one_release(
            spec.num_examples, noise_multiplier=0.0, records_per_person=spec.records_per_person
        )
        mechanism = calibrated(settings, alone) if anew else alone
        return mechanism, mechanism.noise_multiplier if anew else None
    multiplier = None
    if settings.match == "both" and anew and spent is None:
        multiplier = _means_multiplier(settings, spec) if settings.is_private else 0.0
    mechanism = poisson_steps(settings, spec)
    if anew and settings.is_private:
        if spent is not None:
            _require_room(settings, spec, earlier)
        also = tuple(noise for noise in (spent, multiplier) if noise is not None)
        mechanism = calibrated(settings, mechanism, also=also)
    return mechanism, multiplier


def _means_multiplier(settings: Settings, spec: Spec) -> float:
    """Return the noise of the class means: that of a release alone over sqrt(its share)."""
    alone = accounting.analytic_gaussian_stddev(
        epsilon=settings.eps, delta=settings.delta, sensitivity=float(spec.records_per_person)
    )
    return alone / math.sqrt(settings.embedding_share)


def _require_room(settings: Settings, spec: Spec, earlier: Earlier) -> None:
    """Raise a `SettingsError` where an earlier release leaves the teacher no budget."""
    assert earlier.images is not None
    noise, spent = earlier.images.noise_multiplier, math.inf
    if noise > 0:
        noise /= spec.records_per_person
        spent = accounting.gaussian_epsilon(noise, delta=settings.delta)
    if spent >= settings.eps:
        raise bad(
            settings,
            "eps",
            f"{earlier.images.source} has spent "
            f"{'everything, without noise' if math.isinf(spent) else f'{spent:.3g}'}, examples "
            "counted as replaced by empty ones (zero-out); raise --eps",
        )
