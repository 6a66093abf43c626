"""Hyper-parameters per dataset, chosen on held-out training data; any flag overrides them."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """Values of the flags that depend on the dataset; the flags' help gives their meaning.

    The defaults here are those of a dataset that has no row of its own.
    """

    epochs: float = 20
    batch_size: int = 1000
    learning_rate: float = 0.05
    clip_norm: float = 1e-2
    ridge: float = 1e-6
    init_scale: float = 0.2
    smoothing: float = 1.0
    scatter_norm: str = "none"


_STROKES = Hyperparameters(smoothing=1.5)
_PHOTOS = Hyperparameters(clip_norm=1e-3, smoothing=3.0)
_FULLY_CONNECTED = {
    "digits": Hyperparameters(epochs=60, batch_size=500, smoothing=0.0),
    "mnist": _STROKES,
    "fashion_mnist": _STROKES,
    "cifar10": _PHOTOS,
    "cifar100": _PHOTOS,
    "svhn_cropped": _PHOTOS,
}
_SCATTER_GENERAL = Hyperparameters(clip_norm=1e-3, ridge=1e-4, smoothing=0.0, scatter_norm="group")
_SCATTER_STROKES = Hyperparameters(clip_norm=0.4, ridge=1e-4, smoothing=0.0)
_SCATTER = {
    "digits": dataclasses.replace(_SCATTER_STROKES, epochs=60, batch_size=500),
    "mnist": _SCATTER_STROKES,
    "fashion_mnist": dataclasses.replace(_SCATTER_GENERAL, clip_norm=3e-3),
}
_TABLES = {"fc_ntk": _FULLY_CONNECTED, "fc_nngp": _FULLY_CONNECTED, "scatter": _SCATTER}
# Features of networks have about unit norm.
_NETWORKS = Hyperparameters(clip_norm=0.2, ridge=1e-4, smoothing=0.0)
_GENERAL = {"scatter": _SCATTER_GENERAL, "perceptual": _NETWORKS, "entk": _NETWORKS}


def defaults_for(dataset: str, kernel: str) -> Hyperparameters:
    """Return the row of a dataset and a kernel, or the kernel's general one."""
    general = _GENERAL.get(kernel, Hyperparameters())
    return _TABLES.get(kernel, {}).get(dataset, general)
