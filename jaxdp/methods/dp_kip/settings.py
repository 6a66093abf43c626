"""Settings of DP-KIP, and what they are by default: by rules, chosen on held-out training data.

A preset says otherwise for some datasets (`jaxdp.methods.presets`). The rules are these:

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
    require_classes,
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
    average_decay: ByData[float] = setting(
        None,
        "Decay of the moving average of iterates; 0 for none (default: 0.9).",
        at_least=0,
        below=1,
    )
    accountant: str = setting(
        "pld", "pld (tight) or rdp (what the papers used).", among=ACCOUNTANTS
    )


# `least_steps` is the fewest steps where neither steps nor passes are given.
_GENERAL: dict[str, Any] = {
    "epochs": 20.0,
    "least_steps": 300,
    "batch_size": 1000,
    "learning_rate": 0.05,
    "clip_norm": 1e-2,
    "ridge": 1e-6,
    "init_scale": 0.2,
    "smoothing": 1.0,
    "average_decay": 0.9,
    "scatter_norm": "none",
    "whiten": 0.0,
}
_WHITENED = {
    "learning_rate": 0.1,
    "clip_norm": 1e-2,
    "ridge": 0.1,
    "smoothing": 0.0,
    "whiten": 1.0,
}
# Hours a step; how many there are to be is for a user to say.
_DEAR = {"least_steps": 0}
_BY_KERNEL: dict[str, dict[str, Any]] = {
    "scatter": _WHITENED | {"scatter_norm": None},  # by the images' shape
    "perceptual": _WHITENED,
    "entk": _WHITENED,
    "conv_ntk": _DEAR,
}
_WITHOUT_NOISE: dict[str, Any] = {"clip_norm": math.inf, "smoothing": 0.0, "least_steps": 1000}
_FAR_STEPS = _WITHOUT_NOISE | {"learning_rate": 0.2, "init_scale": 1.0}
_WHITER = _WITHOUT_NOISE | {"learning_rate": 0.1, "whiten": 0.01, "ridge": 1e-3}
_BY_KERNEL_WITHOUT_NOISE: dict[str, dict[str, Any]] = {
    "fc_ntk": _FAR_STEPS,
    "fc_nngp": _FAR_STEPS,
    "scatter": _WHITER,
    "perceptual": _WHITER,
    "entk": _WHITER | {"learning_rate": 0.03},
    "conv_ntk": _WITHOUT_NOISE | _DEAR,
}


def defaults(kernel: str, *, is_private: bool = True) -> dict[str, Any]:
    """Return what the rules say of a kernel."""
    row = _GENERAL | _BY_KERNEL.get(kernel, {})
    return row if is_private else row | _BY_KERNEL_WITHOUT_NOISE.get(kernel, _WITHOUT_NOISE)


def complete(settings: Settings, spec: Any, earlier: Any = None) -> Settings:
    """Return settings in which nothing is None that has a default; `spec` is of the data.

    Raises:
        SettingsError: settings do not go together, or not with the data.
    """
    del earlier
    require_classes(spec, "dp_kip")
    require_one_length(settings)
    kernel = settings.kernel
    table: dict[str, Any] = {"clip_space": KERNELS.fitting(kernel, spec).clip_space(spec)}
    table |= defaults(kernel, is_private=settings.is_private)
    table |= settings.by_preset("dp_kip", spec, kernel=kernel, eps=settings.eps, ipc=settings.ipc)
    table["batch_size"] = batch_size_for(settings, table["batch_size"], spec)
    least = table.pop("least_steps")
    if table["scatter_norm"] is None:
        table["scatter_norm"] = usual_scatter_norm(settings, spec)
    done = filled(settings, table)
    n, batch = spec.num_examples, done.batch_size
    if settings.steps is not None:
        return dataclasses.replace(done, epochs=settings.steps * batch / n)
    steps = math.ceil(done.epochs * math.ceil(n / batch))
    if settings.epochs is None and steps < least:
        return dataclasses.replace(done, steps=least, epochs=least * batch / n)
    return dataclasses.replace(done, steps=steps)


def folder_name(settings: Settings, spec: Any, earlier: Any = None) -> str:
    """Return a name that tells runs of different settings apart."""
    del earlier
    return f"{spec.name}_ipc{settings.ipc}_eps{settings.eps:g}"
