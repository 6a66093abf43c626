"""The flags of a run, and whether each makes sense on its own."""

import dataclasses
import math
from typing import Any

from experiments.errors import InputError
from experiments.kernel_registry import KERNELS
from jaxdp.features import scattering
from jaxdp.methods import dp_kip
from jaxdp.privacy import accounting

# Where the search for the noise of a single release still ends: its steps are of a fixed size.
_LEAST_EPS, _LEAST_DELTA = 1e-6, 1e-100
# Above it noise is less than numbers can hold.
_MOST_EPS = 1e6
_LARGEST_SIZE = 2**31 - 1
# Beyond these a run would never begin its first step, or numbers overflow.
_MOST = {"epochs": 1e6, "init_scale": 1e6, "smoothing": 1e6, "depth": 100}
_MOST |= {"scatter_scales": 10, "scatter_angles": 64}
LEAST_CLIP_NORM = 1e-12
SCATTER_NORMS = ("paper", *scattering.NORMALISATIONS)


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
    allow_delta: bool
    allow_epsilon: bool
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
    evaluate: str | None
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
    check_at_most(settings, "ipc", _LARGEST_SIZE)
    check_common(settings)
    for name in (
        *("epochs", "eval_every", "chunk_size"),
        *("init_scale", "scatter_scales", "scatter_angles"),
    ):
        check_positive(settings, name)
    for name, most in _MOST.items():
        check_at_most(settings, name, most)
    check_clip_norm(settings)
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
    if settings.eps < _LEAST_EPS:
        raise InputError(
            f"--eps={settings.eps}: below {_LEAST_EPS:g} noise leaves nothing of the data; raise it"
        )
    if _MOST_EPS < settings.eps < math.inf:
        raise InputError(f"--eps={settings.eps}: promises nothing; give inf to do without noise")
    if not 0 < settings.delta < 1:
        raise InputError(f"--delta={settings.delta}: must be between 0 and 1, well below 1/n")
    if settings.delta < _LEAST_DELTA:
        raise InputError(f"--delta={settings.delta}: accountants reach {_LEAST_DELTA:g}; raise it")
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
    check_at_most(settings, name, _LARGEST_SIZE if isinstance(value, int) else math.inf)


def check_at_most(settings: Any, name: str, most: float) -> None:
    """Raise an `InputError` where a setting that was given is above what can be computed.

    jax ends the process without a word where the size of an array overflows.
    """
    value = getattr(settings, name)
    if value is not None and value > most:
        raise InputError(f"--{name}={value}: must be at most {most:g}")


def check_clip_norm(settings: Any) -> None:
    """Raise an `InputError` where a clip norm leaves noise that float32 results cannot hold."""
    value = settings.clip_norm
    if value is not None and not LEAST_CLIP_NORM <= value < math.inf:
        raise InputError(f"--clip_norm={value}: must be a number of at least {LEAST_CLIP_NORM:g}")


def check_known(name: str, value: str, known: Any) -> None:
    """Raise an `InputError` where a flag's value is not among the known ones."""
    if value not in known:
        raise InputError(f"--{name}={value}: unknown; known are {', '.join(known)}")
