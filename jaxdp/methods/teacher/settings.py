"""Settings of the private teacher; what they are by default, `defaults` beside this file says."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from jaxdp.methods.settings import (
    DATA_PRIORS,
    EQUAL_PRIORS,
    LEAST_SHARE,
    PRIORS,
    ByData,
    Distilling,
    bad,
    check_fields,
    setting,
)
from jaxdp.methods.teacher import schedule

MATCHES = ("teacher", "embedding", "both")
TRAINING = (
    *("epochs", "steps", "batch_size", "learning_rate", "clip_norm"),
    *("label_smoothing", "mean_share", "calibration_share", "priors"),
)
"""Settings of a training, which a run without one neither takes nor lists."""


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
        None,
        "Use only features that mirror images share: for scenes, not for letters or where left and "
        "right differ (default: for colour images).",
    )
    patches: ByData[int] = setting(
        None,
        "Words of a public dictionary of patches of images, whose features stand beside those of "
        "scattering; 0 for none (default: 512 for colour images).",
        at_least=0,
    )
    second_layer: ByData[int] = setting(
        None,
        "Words of a second public dictionary, of neighbourhoods of what patches show; 0 for none "
        "(default: 4096 for colour images, where the budget is ample and --ipc large enough for "
        "images to carry what such a teacher knows).",
        at_least=0,
    )
    encoder: ByData[bool] = setting(
        None,
        "Features of a small public network beside those of patches, which has learnt from random "
        "images (default: of images with sides of 16 pixels at least, where --ipc is large enough "
        "to carry them).",
    )
    brightness: ByData[float] = setting(
        None,
        "Part of the squared norm of an image's features that the mean of each channel has at "
        "most; the others do not tell brightness or colour. 0 for none (default: by the data).",
        at_least=0,
        below=1,
    )
    unit_norm: ByData[bool] = setting(
        None,
        "Features of norm 1 beside a constant, so that their mean can be taken off (default: on; "
        "for a stored teacher, as it was made).",
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleaseOptions(MapOptions):
    """What both public maps are made from: the teacher's, and that of class means."""

    networks: ByData[int] = setting(
        None,
        "Random networks in whose features class means are released (--match=embedding or both); 0 "
        "takes scattering features (default: 32 for colour images).",
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
        (100, 5000, 0.02)
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
    mean_share: ByData[float] = setting(
        None,
        "Part of the teacher's budget that the mean of features gets, which is taken off them; 0 "
        "for none (default: at most 0.1, by the data).",
        at_least=0,
        at_most=0.5,
    )
    calibration_share: ByData[float] = setting(
        None,
        "Part of the teacher's budget that makes its probabilities believable, and with "
        "--priors=equal tells the sizes of classes; 0 for none (default: at most 0.05, by the "
        "data).",
        at_least=0,
        at_most=0.5,
    )
    priors: str = setting(
        DATA_PRIORS,
        "How common the teacher takes classes to be: data, as in the data; or equal, so that rare "
        "ones are found, which costs accuracy where they are rare.",
        among=PRIORS,
        usual=True,
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
        for name in ("mean_share", "calibration_share"):
            if 0 < (getattr(self, name) or 0) < LEAST_SHARE:
                raise bad(self, name, f"must be 0 or at least {LEAST_SHARE:g}")
        if self.mean_share and self.unit_norm is False:
            raise bad(self, "mean_share", "needs --unit_norm")
        if self.takes_equal_priors and 0 in (self.calibration_share, self.unit_norm):
            raise bad(self, "priors", "equal needs --unit_norm and a --calibration_share above 0")
        if self.takes_equal_priors and not self.uses_teacher:
            raise bad(self, "priors", "is of a teacher, which --match=embedding does without")

    def odd(self, spec: Any) -> Iterator[str]:
        """Yield a line where complete settings ask for too few to carry what a teacher knows."""
        more = {"--second_layer=0": self.second_layer, "--encoder=false": self.encoder}
        are_images = spec.kind.choose(images=True, rows=False, table=False)
        without = [flag for flag, has in more.items() if has and are_images]
        if without and not schedule.are_carried(spec.image_shape, self):
            yield (
                f"--ipc={self.ipc}: so few images may carry less of a teacher with so many "
                f"features; raise --ipc, or train a teacher with {' '.join(without)}"
            )

    @property
    def uses_teacher(self) -> bool:
        """Whether images are moved towards a teacher's weights."""
        return self.match != "embedding"

    @property
    def takes_equal_priors(self) -> bool:
        """Whether the teacher takes all classes as equally common."""
        return self.priors == EQUAL_PRIORS
