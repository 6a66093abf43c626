"""Settings of the private teacher, and what they are by default: by rules from held-out data.

A preset says otherwise for some datasets (`jaxdp.methods.presets`).
"""

import dataclasses
import math
from typing import Any

from jaxdp.methods.settings import (
    LEAST_SHARE,
    ByData,
    Distilling,
    SettingsError,
    bad,
    batch_size_for,
    budget,
    check_fields,
    filled,
    require_one_length,
    setting,
)

MATCHES = ("teacher", "embedding", "both")


@dataclasses.dataclass(frozen=True, kw_only=True)
class MapOptions:
    """What the public feature map is made from, beside the shape of an image."""

    whiten: ByData[float] = setting(
        None,
        "Floor of the whitening of features on synthetic public images, relative to the mean "
        "eigenvalue; 0 for no whitening (default: by the data).",
        at_least=0,
    )
    mirror: ByData[bool] = setting(
        None, "Use only features that mirror images share (default: for photographs)."
    )
    patches: ByData[int] = setting(
        None,
        "Words of a public dictionary of patches of images, whose features stand beside those of "
        "scattering; 0 for none (default: by the data).",
        at_least=0,
    )
    brightness: ByData[float] = setting(
        None,
        "Part of the squared norm of an image's features that the mean of each channel has at "
        "most; the others do not tell brightness or colour. 0 for none (default: by the data).",
        at_least=0,
        below=1,
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleaseOptions(MapOptions):
    """What both public maps are made from: the teacher's, and that of class means."""

    networks: ByData[int] = setting(
        None,
        "Random networks in whose features class means are released (--match=embedding or both); 0 "
        "takes scattering features (default: 64 for colour images).",
        at_least=0,
        at_most=1024,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ReleaseOptions, Distilling):
    """Settings of the private teacher; None stands for a default that depends on the data.

    Examples:
        >>> import jaxdp
        >>> teacher = jaxdp.methods.teacher
        >>> settings = teacher.Settings(ipc=10, eps=1.0)
        >>> spec = jaxdp.Spec.images("scans", (5000, 32, 32), class_names=["no", "yes"])
        >>> complete = teacher.complete(settings, spec)
        >>> complete.steps, complete.batch_size, complete.clip_norm
        (25, 4096, 5.0)
    """

    match: str = setting(
        "teacher",
        "What the images are moved towards: teacher; embedding, private class means of public "
        "features, for images that train networks; or both.",
        among=MATCHES,
        usual=True,
    )
    embedding_share: float = setting(
        0.5,
        "With --match=both: part of the budget that the class means get.",
        at_least=LEAST_SHARE,
        at_most=1 - LEAST_SHARE,
    )
    cosine_weight: ByData[float] = setting(
        None, "Weight of the teacher's cosine in the distillation (by --match).", at_least=0
    )
    final_learning_rate: ByData[float] = setting(
        None, "Step size of the last steps (default: by the data).", above=0
    )
    label_smoothing: float = setting(
        0.0, "Part of a label that is spread over all classes.", at_least=0, below=1
    )
    distill_steps: ByData[int] = setting(
        None, "Steps of the distillation, which are free.", above=0
    )
    distill_learning_rate: ByData[float] = setting(
        None, "First step size of Adam in the distillation.", above=0
    )
    learn_labels: bool = setting(False, "Also learn the labels of the distilled images.")
    total_variation: ByData[float] = setting(
        None, "Weight of a penalty on rough distilled images (by --match).", at_least=0
    )
    packing: ByData[int] = setting(
        None,
        "Small images in the place of each distilled one, so many side by side and below each "
        "other; they are enlarged to train on (default: 2 for photographs that train networks).",
        at_least=1,
    )

    def __post_init__(self) -> None:
        Distilling.__post_init__(self)

    def check(self) -> None:
        """Raise a `SettingsError` where settings contradict each other."""
        super().check()
        if self.ridge == 0:
            raise bad(self, "ridge", "must be a number above 0")

    @property
    def uses_teacher(self) -> bool:
        """Whether images are moved towards a teacher's weights."""
        return self.match != "embedding"


# For images of one's own, whose classes may differ in brightness or colour alone. More of it costs
# digits more.
_BRIGHTNESS = 0.1
# Values that depend on the data, of images.
_GENERAL: dict[str, Any] = {
    "epochs": 20.0,
    "batch_size": 4096,
    "learning_rate": 0.4,
    "final_learning_rate": 0.12,
    "clip_norm": 5.0,
    "ridge": 1e-3,
    "whiten": 0.1,
    "mirror": False,
    "patches": 0,
    "brightness": _BRIGHTNESS,
}
# Records have few features that tell, so steps may be long; nothing is whitened.
_TABLE = {
    "batch_size": 2000,
    "learning_rate": 4.0,
    "final_learning_rate": 1.2,
    "clip_norm": 0.3,
    "whiten": 0.0,
    "brightness": 0.0,
}
# Beside a distance of class means, or of generated images, whose weight is 1.
_COSINE_BESIDE_MEANS = 0.06
_COSINE_BESIDE_IMAGES = 0.3
_MATCHING_IMAGES, _MATCHING_NETWORKS = (600, 0.01), (600, 0.02)
_SMOOTHNESS_IN_NETWORKS = 0.24
_NETWORKS = 32  # as good as 64 or 128
# By how much photographs are packed, and the shortest side from which.
_PACKED, _LEAST_PACKED = 2, 16


def defaults(
    settings: Settings, spec: Any, *, beside_images: bool, networks: int = 0
) -> dict[str, Any]:
    """Return the values for data, a budget and what images are matched with."""
    table = _GENERAL | spec.kind.choose(images={}, rows=_TABLE, table=_TABLE)
    table |= settings.by_preset("teacher", spec, eps=settings.eps)
    if settings.whiten == 0:
        table["brightness"] = 0.0
    if settings.learning_rate is not None:  # the last steps keep their part of it
        ratio = table["final_learning_rate"] / table["learning_rate"]
        table["final_learning_rate"] = ratio * settings.learning_rate
    steps, rate = _distillation(settings.ipc)
    table |= {"cosine_weight": 1.0, "total_variation": 0.0, "packing": 1}
    if settings.match != "teacher":
        steps, rate, beside = 2 * steps, rate / 2, _COSINE_BESIDE_MEANS
        if networks:
            steps, rate = _MATCHING_NETWORKS
            table["total_variation"] = _SMOOTHNESS_IN_NETWORKS
        if beside_images:
            (steps, rate), beside = _MATCHING_IMAGES, _COSINE_BESIDE_IMAGES
        table["cosine_weight"] = beside if settings.match == "both" else 0.0
    table["networks"] = networks
    return table | {"distill_steps": steps, "distill_learning_rate": rate}


def _distillation(ipc: int) -> tuple[int, float]:
    """Return steps and step size: the more images, the fewer steps reach the teacher."""
    if ipc < 5:
        return 500, 0.03
    return (150, 0.05) if ipc < 30 else (60, 0.05)


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default.

    Args:
        settings: as given.
        spec: facts about the data.
        earlier: what earlier runs have released.

    Raises:
        SettingsError: settings do not go together, or not with the data or earlier releases.
    """
    stored = None if earlier is None else earlier.stored
    images = None if earlier is None else earlier.images
    require_one_length(settings)
    if settings.match == "embedding":
        for name in ("cosine_weight", "learn_labels"):
            if getattr(settings, name):
                raise bad(settings, name, "needs a teacher, which --match=embedding does without")
    if images is not None and settings.match == "teacher":
        raise SettingsError(f"{images.source}: is for --match=embedding or --match=both")
    uses_means = settings.match != "teacher" and images is None
    if stored is None and settings.networks and not uses_means:
        raise bad(settings, "networks", "there are no class means here, leave it out")
    if settings.noise_seed is not None and not draws_noise(settings, earlier):
        raise bad(settings, "noise_seed", "nothing is released anew here, leave it out")
    networks = _networks_of(settings, spec) if uses_means else 0
    if stored is not None and uses_means:
        networks = stored.options.networks
    table = defaults(settings, spec, beside_images=images is not None, networks=networks)
    table["batch_size"] = batch_size_for(settings, table["batch_size"], spec)
    if settings.match != "teacher":
        table["packing"] = _packing_of(spec)
    if stored is not None:
        stored.require_options(settings)
        table |= dataclasses.asdict(stored.options)
    done = filled(settings, table)
    if settings.steps is not None:
        epochs = settings.steps * done.batch_size / spec.num_examples
        return dataclasses.replace(done, epochs=epochs)
    steps = math.ceil(done.epochs * spec.num_examples / done.batch_size)
    return dataclasses.replace(done, steps=steps)


def _networks_of(settings: Settings, spec: Any) -> int:
    """Return in how many random networks class means are released; digits need none."""
    if settings.networks is not None:
        return settings.networks
    of_images = _NETWORKS if spec.shape[-1] > 1 else 0
    return spec.kind.choose(images=of_images, rows=0, table=0)


def _packing_of(spec: Any) -> int:
    """Return by how much images that train networks are packed: photographs, which have colours."""
    sides = spec.shape[:2]
    fits = min(sides) >= _LEAST_PACKED and not any(side % _PACKED for side in sides)
    of_images = _PACKED if fits and spec.shape[-1] > 1 else 1
    return spec.kind.choose(images=of_images, rows=1, table=1)


def draws_noise(settings: Settings, earlier: Any) -> bool:
    """Return whether a run releases anything that was not released before."""
    if earlier is None:
        return True
    matches_only = settings.match == "embedding" and earlier.images is not None
    return earlier.stored is None and not matches_only


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    certificate = (
        None if earlier is None else earlier.certificate(also_images=not settings.uses_teacher)
    )
    eps = budget(settings, certificate)
    return f"{spec.name}_teacher_ipc{settings.ipc}_eps{eps:g}"
