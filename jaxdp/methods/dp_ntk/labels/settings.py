"""Settings of a generator whose examples a teacher labels."""

import dataclasses
from typing import Any

from jaxdp.methods import warned
from jaxdp.methods.dp_ntk import settings as generation
from jaxdp.methods.dp_ntk.labels.earlier import for_generation
from jaxdp.methods.settings import (
    LEAST_SHARE,
    ByData,
    SettingsError,
    bad,
    budget,
    part_of,
    require_classes,
    setting,
)
from jaxdp.methods.teacher import settings as teaching
from jaxdp.methods.teacher.settings import MapOptions

GENERATOR, TEACHER = "generator", "teacher"
LABELS = (GENERATOR, TEACHER)
# What networks learn most of, once a teacher labels what is drawn. Steps on images of more values
# are too slow for the fast preset.
_IMAGE_FEATURES, _FAST_VALUES = "scatter_rbf", 32 * 32
# With an embedding's epsilon times the images of a class from so many on, features of a network are
# embedded beside these, and images moved to them. Held out on garments, networks learn no more at
# 2500, and more from 5000 on; on digits more at 7500.
_FINE_FEATURES, _FINE_STRENGTH = "encoder_rbf", 5000.0
# Candidates of an image. In colour a teacher has three times the features, and takes as long.
_CANDIDATES, _FEW_CANDIDATES = 4, 2
# Images of a class that carry all that a teacher knows. How many are drawn decides on no features:
# that may change after the release.
_LABELLED = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(generation.Settings):
    """Settings of DP-NTK, and who labels; None stands for a default that depends on the data.

    Examples:
        >>> import jaxdp
        >>> ntk = jaxdp.methods.dp_ntk
        >>> settings = ntk.Settings(eps=1.0, labels="teacher")
        >>> spec = jaxdp.Spec.images("scans", (5000, 32, 32), class_names=["no", "yes"])
        >>> complete = ntk.complete(settings, spec)
        >>> complete.features, complete.teacher_share, complete.candidates
        ('scatter_rbf', 0.5, 4)
    """

    labels: str = setting(
        GENERATOR,
        "Who says which class an example is of: {names}. A private teacher shares the budget.",
        among=LABELS,
        usual=True,
    )
    teacher_share: ByData[float] = setting(
        None,
        "With --labels=teacher: part of the budget that the teacher gets (default: 0.5).",
        at_least=LEAST_SHARE,
        at_most=1 - LEAST_SHARE,
    )
    candidates: ByData[int] = setting(
        None,
        "With --labels=teacher: so many images are labelled for each one that is kept, drawn ones "
        "and varied copies of them; those are kept that a network learns most from. 1 keeps what "
        "is drawn (default: 4 for grey images, 2 for others and with --preset=fast).",
        at_least=1,
        at_most=100,
        fixed=False,
    )

    def check(self) -> None:
        """Raise a `SettingsError` where a setting is of a teacher, and there is none."""
        super().check()
        for name in ("teacher_share", "candidates"):
            if self.labels != TEACHER and getattr(self, name) is not None:
                raise bad(self, name, "is for --labels=teacher")


def generation_settings(settings: Settings) -> generation.Settings:
    """Return the settings of the generator alone."""
    names = [field.name for field in dataclasses.fields(generation.Settings)]
    return generation.Settings(**{name: getattr(settings, name) for name in names})


def teacher_settings(settings: Settings, spec: Any, earlier: Any = None) -> teaching.Settings:
    """Return the settings of the teacher, of which all but the budget have their defaults.

    Args:
        settings: complete.
        spec: facts about the data.
        earlier: an embedding and a teacher to use again, whose features are those it was made with.
    """
    stored = None if earlier is None else earlier.stored
    options = {} if stored is None else dataclasses.asdict(part_of(stored.options, MapOptions))
    asked = teaching.Settings(
        eps=settings.eps,
        delta=settings.delta,
        seed=settings.seed,
        relation=settings.relation,
        noise_seed=settings.noise_seed,
        defaults=settings.defaults,
        priors=settings.priors,
        ipc=_LABELLED,
        **options,
    )
    from jaxdp.methods.teacher.defaults import complete

    return complete(asked, spec)


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default.

    Args:
        settings: as given.
        spec: facts about the data.
        earlier: what an earlier run has released.

    Raises:
        SettingsError: settings do not go together.
    """
    require_classes(spec, "a teacher")
    if settings.weights_share:
        raise bad(settings, "weights_share", "is for --labels=generator, leave it out")
    if earlier is not None and earlier.stored is not None and settings.teacher_share is not None:
        raise SettingsError(f"{earlier.stored.source}: has spent its budget; leave --teacher_share")
    if earlier is not None and earlier.stored is not None and settings.takes_equal_priors:
        raise bad(settings, "priors", f"{earlier.stored.source} was trained already, leave it out")
    asked = generation_settings(settings)
    stored = None if earlier is None else earlier.stored
    share = 0.5 if settings.teacher_share is None else settings.teacher_share
    if asked.features is None and stored is None:
        features = _features(asked, spec, (1 - share) * settings.eps)
        asked = dataclasses.replace(asked, features=features)
    done = generation.complete(asked, spec, for_generation(earlier))
    if done.unconditional:  # by its flag or by a preset
        raise bad(settings, "labels", "tells classes apart, and --unconditional does not")
    values = {f.name: getattr(done, f.name) for f in dataclasses.fields(done)}
    own = {"weights_share": 0.0, "teacher_share": share, "candidates": _candidates(settings, spec)}
    return dataclasses.replace(settings, labels=TEACHER, **values | own)


def _features(settings: generation.Settings, spec: Any, eps: float) -> str | None:
    """Return what is embedded, None for what it is without a teacher.

    Args:
        settings: of the generator, as given.
        spec: facts about the data.
        eps: of the embedding.
    """
    if not spec.kind.choose(images=True, rows=False, table=False):
        return None
    from jaxdp.features import public_encoder

    if settings.preset == "fast":
        return _IMAGE_FEATURES if spec.dim <= _FAST_VALUES else None
    is_seen = min(spec.shape[:2]) >= public_encoder.LEAST_SIDE
    is_strong = warned.strength(spec, eps) >= _FINE_STRENGTH
    return _FINE_FEATURES if is_seen and is_strong else _IMAGE_FEATURES


def _candidates(settings: Settings, spec: Any) -> int:
    """Return how many images are labelled for each one that is kept."""
    few = settings.preset == "fast" or spec.shape[-1] > 1
    of_images = _FEW_CANDIDATES if few else _CANDIDATES
    by_default = spec.kind.choose(images=of_images, rows=1, table=1)
    if by_default == 1 and settings.candidates not in (None, 1):
        raise bad(settings, "candidates", "is for images")
    return settings.candidates or by_default


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    eps = budget(settings, None if earlier is None else earlier.certificate())
    return f"{spec.name}_{settings.features}_labelled_eps{eps:g}"
