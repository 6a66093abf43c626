"""What a run with a private teacher releases, with the noise that `--eps` asks for."""

import math

from experiments.errors import InputError
from experiments.teacher_settings import TeacherHyper, TeacherSettings
from jaxdp.methods.teacher import class_means
from jaxdp.privacy import accounting, sampling
from jaxdp.privacy.mechanism import SubsampledGaussian


def mechanisms_for(
    settings: TeacherSettings,
    hyper: TeacherHyper,
    num_examples: int,
    *,
    earlier: float | None,
) -> tuple[SubsampledGaussian, float | None]:
    """Return the accounted mechanism, and the noise of class means where they are released.

    The mechanism is the teacher's training, with class means accounted beside it, or the release of
    class means where there is no teacher.

    Args:
        settings: the flags.
        hyper: how the teacher is trained.
        num_examples: n.
        earlier: noise multiplier of what was released before and counts towards `--eps`, too.

    Raises:
        InputError: what `--eps` asks for cannot be reached.
    """
    anew = settings.draws_noise
    private = anew and settings.eps < math.inf
    if settings.match == "embedding":
        alone = class_means.one_release(num_examples, noise_multiplier=0.0)
        mechanism = _calibrated(settings, alone, ()) if private else alone
        return mechanism, mechanism.noise_multiplier if anew else None
    multiplier = None
    if settings.match == "both" and anew and earlier is None:
        multiplier = _means_multiplier(settings) if private else 0.0
    mechanism = SubsampledGaussian(
        num_examples=num_examples,
        sampling_rate=sampling.realised_rate(hyper.batch_size / num_examples),
        num_steps=settings.steps or math.ceil(hyper.epochs * num_examples / hyper.batch_size),
        clip_norm=hyper.clip_norm,
        noise_multiplier=0.0,
    )
    if private:
        if earlier is not None:
            _require_room(settings, earlier)
        also = tuple(noise for noise in (earlier, multiplier) if noise is not None)
        mechanism = _calibrated(settings, mechanism, also)
    return mechanism, multiplier


def _means_multiplier(settings: TeacherSettings) -> float:
    """Return the noise of the class means: that of a release alone over sqrt(its share)."""
    alone = accounting.analytic_gaussian_stddev(
        epsilon=settings.eps, delta=settings.delta, sensitivity=1.0
    )
    return alone / math.sqrt(settings.embedding_share)


def _calibrated(
    settings: TeacherSettings, mechanism: SubsampledGaussian, also: tuple[float, ...]
) -> SubsampledGaussian:
    """Return the mechanism with the noise that `--eps` asks for."""
    try:
        return accounting.calibrate(
            mechanism, target_epsilon=settings.eps, delta=settings.delta, also=also
        )
    except accounting.UnreachableEpsilonError as error:
        raise InputError(
            f"--eps={settings.eps}: not reachable in {mechanism.num_steps} steps of sampling rate "
            f"{mechanism.sampling_rate:.3g} ({error}); raise --eps or --delta, or lower --epochs"
        ) from error


def _require_room(settings: TeacherSettings, earlier: float) -> None:
    """Raise an `InputError` where an earlier release leaves the teacher no budget."""
    spent = math.inf
    if earlier > 0:
        spent = accounting.gaussian_epsilon(earlier, delta=settings.delta)
    if spent >= settings.eps:
        raise InputError(
            f"--eps={settings.eps}: {settings.synthetic} has spent "
            f"{'everything, without noise' if math.isinf(spent) else f'{spent:.3g}'}, examples "
            "counted as replaced by empty ones (zero-out); raise --eps"
        )
