"""The steps of a training on private data, and the noise that a budget asks of them."""

from typing import Any

from jaxdp.data import Spec
from jaxdp.methods import bought_schema
from jaxdp.methods.settings import bad
from jaxdp.privacy import calibration, sampling
from jaxdp.privacy.mechanism import SubsampledGaussian


def poisson_steps(settings: Any, spec: Spec) -> SubsampledGaussian:
    """Return the steps of a training on Poisson samples, as yet without noise.

    Args:
        settings: complete: `batch_size`, `steps`, `clip_norm` and `relation`.
        spec: of the data: n, and how many records a person has at most.
    """
    return SubsampledGaussian(
        num_examples=spec.num_examples,
        sampling_rate=sampling.realised_rate(settings.batch_size / spec.num_examples),
        num_steps=settings.steps,
        clip_norm=settings.clip_norm,
        noise_multiplier=0.0,
        records_per_person=spec.records_per_person,
        relation=settings.relation,
    )


def calibrated(
    settings: Any,
    spec: Spec,
    mechanism: SubsampledGaussian,
    *,
    accountant: str = "pld",
    also: tuple[float, ...] = (),
) -> SubsampledGaussian:
    """Return a mechanism with the noise that a budget asks for, none without one.

    Args:
        settings: the budget.
        spec: of the data; what was bought of its schema takes a part of the budget.
        mechanism: all but its noise.
        accountant: that judges it.
        also: of what else is accounted beside it, noise over the contribution of one record.

    Raises:
        SettingsError: no noise is enough.
    """
    if not settings.is_private:
        return mechanism
    bought_schema.require_noise(settings, spec)
    try:
        return calibration.calibrate(
            mechanism,
            target_epsilon=settings.eps,
            delta=bought_schema.noise_delta(settings, spec),
            accountant=accountant,
            also=(*bought_schema.multipliers(spec), *also),
        )
    except calibration.UnreachableEpsilonError as error:
        raise bad(
            settings,
            "eps",
            f"not reachable in {mechanism.num_steps} steps of sampling rate "
            f"{mechanism.sampling_rate:.3g} ({error}); raise --eps or --delta, or lower --epochs",
        ) from error
