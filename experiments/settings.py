"""The flags of a run, and whether each makes sense on its own."""

import dataclasses
import math
from typing import Any

from experiments.errors import InputError
from experiments.kernel_registry import KERNELS
from jaxdp import accounting, dp_kip, scatter

SCATTER_NORMS = ("paper", *scatter.NORMALISATIONS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The flags of a run; None stands for a default that depends on the dataset."""

    dataset: str
    data_dir: str
    subset: int | None
    out_dir: str | None
    ipc: int
    eps: float
    delta: float
    kernel: str
    depth: int
    scatter_scales: int
    scatter_angles: int
    scatter_norm: str | None
    clip_space: str | None
    corrupt: float
    bounded: bool
    chunk_size: int | None
    feature_cache: str | None
    epochs: float | None
    steps: int | None
    batch_size: int | None
    learning_rate: float | None
    clip_norm: float | None
    ridge: float | None
    init_scale: float | None
    smoothing: float | None
    average_decay: float
    evaluate: str
    accountant: str
    seed: int
    noise_seed: int | None
    eval_every: int | None
    resume: bool
    overwrite: bool

    def resolved_clip_space(self) -> str:
        """Return where gradients are clipped, by flag or by kernel."""
        return self.clip_space or KERNELS[self.kernel].clip_space


def check(settings: Settings) -> None:
    """Raise an `InputError` for the first flag whose value makes no sense on its own."""
    if settings.ipc < 1:
        raise InputError(f"--ipc={settings.ipc}: must be at least 1 image per class")
    check_common(settings)
    for name in (
        *("epochs", "eval_every", "chunk_size"),
        *("clip_norm", "init_scale", "scatter_scales", "scatter_angles"),
    ):
        check_positive(settings, name)
    for name in ("ridge", "smoothing"):
        value = getattr(settings, name)
        if value is not None and not 0 <= value < math.inf:
            raise InputError(f"--{name}={value}: must be 0 or above")
    if not 0 <= settings.average_decay < 1:
        raise InputError(f"--average_decay={settings.average_decay}: must be in [0, 1)")
    if settings.depth < 0:
        raise InputError(f"--depth={settings.depth}: must be 0 or more hidden layers")
    check_known("kernel", settings.kernel, KERNELS)
    if settings.scatter_norm is not None:
        check_known("scatter_norm", settings.scatter_norm, SCATTER_NORMS)
    if settings.clip_space is not None:
        check_known("clip_space", settings.clip_space, dp_kip.CLIP_SPACES)
    if not 0 <= settings.corrupt < 1:
        raise InputError(f"--corrupt={settings.corrupt}: must be a fraction in [0, 1)")
    check_known("accountant", settings.accountant, accounting.ACCOUNTANTS)
    if settings.epochs is not None and settings.steps is not None:
        raise InputError(f"--steps={settings.steps}: give either --steps or --epochs, not both")


def check_common(settings: Any) -> None:
    """Raise an `InputError` for the first flag that all drivers have and whose value is wrong."""
    if not settings.eps > 0:
        raise InputError(f"--eps={settings.eps}: must be above 0; inf switches privacy off")
    if not 0 < settings.delta < 1:
        raise InputError(f"--delta={settings.delta}: must be between 0 and 1, well below 1/n")
    for name in ("subset", "steps", "batch_size", "learning_rate"):
        check_positive(settings, name)
    for name in ("seed", "noise_seed"):
        value = getattr(settings, name)
        if value is not None and not 0 <= value < 2**63:
            raise InputError(f"--{name}={value}: must be a whole number from 0 to 2^63 - 1")


def check_positive(settings: Any, name: str) -> None:
    """Raise an `InputError` where a setting that was given is not above 0."""
    value = getattr(settings, name)
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"--{name}={value}: must be a number above 0")


def check_known(name: str, value: str, known: Any) -> None:
    """Raise an `InputError` where a flag's value is not among the known ones."""
    if value not in known:
        raise InputError(f"--{name}={value}: unknown; known are {', '.join(known)}")
