"""Settings of DP-KIP, and what they are by default: chosen on held-out training data.

Data without a row of their own follow these rules:

* A step sees `min(n, 1000)` examples on average, so all of a small set.
* There are 20 expected passes over the data, and never fewer than 300 steps. What noise adds up to
  hardly depends on their number, and fewer steps do not move images far enough.
* Features of `scatter`, `perceptual` and `entk` are centred and whitened in directions of public
  images (`jaxdp.features.directions`). As they are they have most of their energy in their mean,
  which tells no class from another, and kernel regression and clipping are about that. Those of
  `scatter` are normalised by group before.
* Their ridge is a tenth of the mean of the kernel matrix's diagonal, and `clip_norm` a hundredth of
  the features' norm, so that nearly all gradients are clipped and have one length.
* Without noise (`eps=inf`) no gradient is clipped or smoothed, and there are at least 1000 steps.
  Those of `fc_ntk` are longer and start further away; features are whitened further, with a
  smaller ridge, but for unwhitened ones that are normalised by group.
"""

import dataclasses
import math
from typing import Any

from jaxdp.methods.dp_kip.kernels import KERNELS, KernelOptions, usual_scatter_norm
from jaxdp.methods.settings import (
    ByData,
    Distilling,
    batch_size_for,
    filled,
    require_one_length,
    setting,
)

CLIP_SPACES = ("pixels", "features")
ACCOUNTANTS = ("pld", "rdp")
# Beyond these a run would never begin its first step, or numbers overflow.
_MOST = 1e6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(KernelOptions, Distilling):
    """Settings of DP-KIP; None stands for a default that depends on the data.

    Examples:
        >>> import jaxdp
        >>> kip = jaxdp.methods.dp_kip
        >>> settings = kip.Settings(ipc=10, eps=1.0, kernel="fc_ntk")
        >>> spec = jaxdp.Spec.images("scans", (5000, 32, 32), class_names=["no", "yes"])
        >>> complete = kip.complete(settings, spec)
        >>> complete.steps, complete.batch_size, complete.clip_norm
        (300, 1000, 0.01)
    """

    clip_space: ByData[str] = setting(
        None,
        "For kernels of features: clip and add noise to gradients with respect to features "
        "(default) or pixels (as in the papers; much slower).",
        among=CLIP_SPACES,
    )
    corrupt: float = setting(
        0.0,
        "Fraction of the distilled images' pixels that stay at their initial noise.",
        at_least=0,
        below=1,
    )
    bounded: bool = setting(
        False, "Keep the distilled pixels within the range of stored ones after every step."
    )
    init_scale: ByData[float] = setting(
        None, "Standard deviation of the Gaussian initial images.", above=0, at_most=_MOST
    )
    smoothing: ByData[float] = setting(
        None,
        "Width in pixels of the Gaussian that noisy gradients are smoothed with.",
        at_least=0,
        at_most=_MOST,
    )
    average_decay: float = setting(
        0.9, "Decay of the moving average of iterates; 0 for none.", at_least=0, below=1
    )
    accountant: str = setting(
        "pld", "pld (tight) or rdp (what the papers used).", among=ACCOUNTANTS
    )


_GENERAL: dict[str, Any] = {
    "epochs": 20.0,
    "batch_size": 1000,
    "learning_rate": 0.05,
    "clip_norm": 1e-2,
    "ridge": 1e-6,
    "init_scale": 0.2,
    "smoothing": 1.0,
    "scatter_norm": "none",
    "whiten": 0.0,
}
_LEAST_STEPS = 300
# Hours a step; how many there are to be is for a user to say.
_DEAR = ("conv_ntk",)
_STROKES = {"smoothing": 1.5}
_PHOTOS = {"clip_norm": 1e-3, "smoothing": 3.0}
_FULLY_CONNECTED: dict[str, dict[str, Any]] = {
    "digits": {"epochs": 60.0, "batch_size": 500, "smoothing": 0.0},
    "mnist": _STROKES,
    "fashion_mnist": _STROKES,
    "cifar10": _PHOTOS,
    "cifar100": _PHOTOS,
    "svhn_cropped": _PHOTOS,
}
# Chosen for features as they are, before there were whitened ones; published figures are of these.
_SCATTER_PHOTOS = {"clip_norm": 1e-3, "ridge": 1e-4, "smoothing": 0.0, "scatter_norm": "group"}
_SCATTER: dict[str, dict[str, Any]] = {
    "mnist": {"clip_norm": 0.4, "ridge": 1e-4, "smoothing": 0.0},
    "fashion_mnist": _SCATTER_PHOTOS | {"clip_norm": 3e-3},
    "cifar10": _SCATTER_PHOTOS,
    "cifar100": _SCATTER_PHOTOS,
    "svhn_cropped": _SCATTER_PHOTOS,
}
_TABLES = {"fc_ntk": _FULLY_CONNECTED, "fc_nngp": _FULLY_CONNECTED, "scatter": _SCATTER}
_WHITENED = {
    "learning_rate": 0.1,
    "clip_norm": 1e-2,
    "ridge": 0.1,
    "smoothing": 0.0,
    "whiten": 1.0,
}
_BY_KERNEL: dict[str, dict[str, Any]] = {
    "scatter": _WHITENED | {"scatter_norm": None},  # by the images' shape
    "perceptual": _WHITENED,
    "entk": _WHITENED,
}
_LEAST_STEPS_WITHOUT_NOISE = 1000
_WITHOUT_NOISE: dict[str, Any] = {"clip_norm": math.inf, "smoothing": 0.0}
_FAR_STEPS = _WITHOUT_NOISE | {"learning_rate": 0.2, "init_scale": 1.0}
_WHITER = _WITHOUT_NOISE | {"learning_rate": 0.1, "whiten": 0.01, "ridge": 1e-3}
_BY_KERNEL_WITHOUT_NOISE: dict[str, dict[str, Any]] = {
    "fc_ntk": _FAR_STEPS,
    "fc_nngp": _FAR_STEPS,
    "scatter": _WHITER,
    "perceptual": _WHITER,
    "entk": _WHITER | {"learning_rate": 0.03},
}


def defaults(dataset: str, kernel: str, *, is_private: bool = True) -> dict[str, Any]:
    """Return the row of a dataset and a kernel, or the kernel's general one."""
    row = _GENERAL | _TABLES.get(kernel, {}).get(dataset, _BY_KERNEL.get(kernel, {}))
    if is_private:
        return row
    if row["scatter_norm"] == "group":  # as it is better than whitened
        return row | _WITHOUT_NOISE
    return row | _BY_KERNEL_WITHOUT_NOISE.get(kernel, _WITHOUT_NOISE)


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default; `spec` is of the data.

    Raises:
        SettingsError: settings do not go together, or not with the data.
    """
    del earlier
    require_one_length(settings)
    table = defaults(spec.name, settings.kernel, is_private=settings.is_private)
    table["batch_size"] = batch_size_for(settings, table["batch_size"], spec)
    table["clip_space"] = KERNELS.fitting(settings.kernel, spec).clip_space(spec)
    if table["scatter_norm"] is None:
        table["scatter_norm"] = usual_scatter_norm(settings, spec)
    done = filled(settings, table)
    n, batch = spec.num_examples, done.batch_size
    if settings.steps is not None:
        return dataclasses.replace(done, epochs=settings.steps * batch / n)
    steps = math.ceil(done.epochs * math.ceil(n / batch))
    least = _LEAST_STEPS if settings.is_private else _LEAST_STEPS_WITHOUT_NOISE
    if settings.epochs is None and settings.kernel not in _DEAR and steps < least:
        return dataclasses.replace(done, steps=least, epochs=least * batch / n)
    return dataclasses.replace(done, steps=steps)


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    del earlier
    return f"{spec.name}_ipc{settings.ipc}_eps{settings.eps:g}"
