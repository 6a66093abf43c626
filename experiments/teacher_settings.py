"""The flags of a run with a private teacher, whether each makes sense, and defaults by dataset."""

import dataclasses
import math
from typing import Any

from experiments.errors import InputError
from experiments.settings import (
    check_at_most,
    check_clip_norm,
    check_common,
    check_known,
    check_positive,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeacherSettings:
    """The flags of a run; None stands for a default that depends on the dataset."""

    dataset: str
    data_dir: str
    subset: int | None
    out_dir: str | None
    ipc: int
    eps: float
    delta: float
    allow_delta: bool
    allow_epsilon: bool
    teacher: str | None
    match: str
    synthetic: str | None
    embedding_share: float
    whiten: float | None
    mirror: bool | None
    epochs: float | None
    steps: int | None
    batch_size: int | None
    learning_rate: float | None
    clip_norm: float | None
    label_smoothing: float
    ridge: float | None
    distill_steps: int | None
    distill_learning_rate: float | None
    cosine_weight: float | None
    learn_labels: bool
    total_variation: float
    chunk_size: int | None
    feature_cache: str | None
    evaluate: str | None
    seed: int
    noise_seed: int | None
    resume: bool
    overwrite: bool

    @property
    def draws_noise(self) -> bool:
        """Whether the run releases anything that was not released before."""
        matches_only = self.match == "embedding" and self.synthetic is not None
        return self.teacher is None and not matches_only


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeacherHyper:
    """Values of the flags that depend on the dataset; here those of one without a row.

    Chosen on held-out training data. `final_learning_rate` is that of the last steps.
    """

    epochs: float = 20
    batch_size: int = 4096
    learning_rate: float = 0.4
    final_learning_rate: float = 0.12
    clip_norm: float = 5.0
    ridge: float = 1e-3
    distill_steps: int = 500
    distill_learning_rate: float = 0.03
    cosine_weight: float = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class MapConfig:
    """What the public feature map is made from, beside the shape of an image."""

    whiten: float = 0.1
    mirror: bool = False

    def __post_init__(self) -> None:
        """Raise a `ValueError` for what no flag would have let through: files may hold anything."""
        if type(self.whiten) not in (int, float) or not 0 <= self.whiten < math.inf:
            raise ValueError(f"whiten is {self.whiten}")
        if not isinstance(self.mirror, bool):
            raise ValueError(f"mirror is {self.mirror}")


# Scenes that their mirror image leaves as they are; digits and house numbers are not.
_PHOTOS = MapConfig(mirror=True)
_MAPS = {"cifar10": _PHOTOS, "cifar100": _PHOTOS}
_GENERAL = TeacherHyper()
_SMALL = TeacherHyper(batch_size=1000)
_PHOTOS_NOISY = TeacherHyper(batch_size=8192, learning_rate=0.8, final_learning_rate=0.24)
# For budgets below and from `_LARGE_EPSILON`: with little noise, more steps that clip less.
_LARGE_EPSILON = 3.0
_NOISY = {
    "digits": _SMALL,
    "mnist": TeacherHyper(clip_norm=0.3, final_learning_rate=0.4),
    "fashion_mnist": _GENERAL,
    "cifar10": _PHOTOS_NOISY,
    "cifar100": _PHOTOS_NOISY,
}
_PHOTOS_CLEAR = TeacherHyper(
    epochs=40, batch_size=8192, clip_norm=10.0, learning_rate=1.2, final_learning_rate=0.3
)
_CLEAR = {
    "digits": _SMALL,
    "mnist": TeacherHyper(epochs=40),
    "fashion_mnist": TeacherHyper(epochs=40, learning_rate=0.8, final_learning_rate=0.24),
    "cifar10": _PHOTOS_CLEAR,
    "cifar100": _PHOTOS_CLEAR,
}


MATCHES = ("teacher", "embedding", "both")
# Beside a distance of class means, or of generated images, whose weight is 1.
_COSINE_BESIDE_MEANS = 0.06
_COSINE_BESIDE_IMAGES = 0.3
_MATCHING = (300, 0.01)


def check(settings: TeacherSettings) -> None:
    """Raise an `InputError` for the first flag whose value makes no sense on its own."""
    check_common(settings)
    if settings.ipc < 1:
        raise InputError(f"--ipc={settings.ipc}: must be at least 1 image per class")
    check_at_most(settings, "ipc", 2**31 - 1)
    check_at_most(settings, "epochs", 1e6)
    for name in ("epochs", "ridge", "distill_steps", "distill_learning_rate"):
        check_positive(settings, name)
    check_positive(settings, "chunk_size")
    check_clip_norm(settings)
    check_known("match", settings.match, MATCHES)
    if settings.match == "embedding":
        for name in ("cosine_weight", "learn_labels"):
            if getattr(settings, name):
                raise InputError(
                    f"--{name}={getattr(settings, name)}: needs a teacher, which "
                    "--match=embedding does without"
                )
    if settings.synthetic is not None and settings.match == "teacher":
        raise InputError(
            f"--synthetic={settings.synthetic}: is for --match=embedding or --match=both"
        )
    if not 0 < settings.embedding_share < 1:
        raise InputError(
            f"--embedding_share={settings.embedding_share}: must be a part of the budget in (0, 1)"
        )
    for name in ("whiten", "total_variation", "cosine_weight"):
        value = getattr(settings, name)
        if value is not None and not 0 <= value < math.inf:
            raise InputError(f"--{name}={value}: must be 0 or above")
    if not 0 <= settings.label_smoothing < 1:
        raise InputError(f"--label_smoothing={settings.label_smoothing}: must be in [0, 1)")
    if settings.epochs is not None and settings.steps is not None:
        raise InputError(f"--steps={settings.steps}: give either --steps or --epochs, not both")
    if settings.noise_seed is not None and not settings.draws_noise:
        raise InputError(
            f"--noise_seed={settings.noise_seed}: nothing is released anew here, leave it out"
        )


def hyper_for(settings: TeacherSettings, num_examples: int) -> TeacherHyper:
    """Return the defaults of the dataset with the flags that were given.

    Raises:
        InputError: a batch is larger than the data.
    """
    table = _CLEAR if settings.eps >= _LARGE_EPSILON else _NOISY
    defaults = table.get(settings.dataset, _GENERAL)
    steps, rate = _distillation(settings.ipc)
    weight = 1.0
    if settings.match != "teacher":
        steps, rate = 2 * steps, rate / 2
        beside = _COSINE_BESIDE_MEANS
        if settings.synthetic is not None:
            (steps, rate), beside = _MATCHING, _COSINE_BESIDE_IMAGES
        weight = beside if settings.match == "both" else 0.0
    defaults = dataclasses.replace(
        defaults,
        batch_size=min(defaults.batch_size, num_examples),
        distill_steps=steps,
        distill_learning_rate=rate,
        cosine_weight=weight,
    )
    if settings.batch_size is not None and settings.batch_size > num_examples:
        raise InputError(
            f"--batch_size={settings.batch_size}: larger than the {num_examples} training "
            f"examples of {settings.dataset}"
        )
    given = _given(settings, TeacherHyper)
    if "learning_rate" in given:
        ratio = defaults.final_learning_rate / defaults.learning_rate
        given["final_learning_rate"] = ratio * given["learning_rate"]
    hyper = dataclasses.replace(defaults, **given)
    if settings.steps is not None:
        epochs = settings.steps * hyper.batch_size / num_examples
        hyper = dataclasses.replace(hyper, epochs=epochs)
    return hyper


def _distillation(ipc: int) -> tuple[int, float]:
    """Return steps and step size: the more images, the fewer steps reach the teacher."""
    if ipc < 5:
        return 500, 0.03
    return (150, 0.05) if ipc < 30 else (60, 0.05)


def map_config_for(settings: TeacherSettings) -> MapConfig:
    """Return how features are made: the defaults of the dataset with the flags that were given."""
    return dataclasses.replace(
        _MAPS.get(settings.dataset, MapConfig()), **_given(settings, MapConfig)
    )


def _given(settings: TeacherSettings, kind: type) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(kind) if hasattr(settings, field.name)]
    return {n: getattr(settings, n) for n in names if getattr(settings, n) is not None}
