"""The kernels by name: how each is built from the flags, for which data, and where to clip."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments.data import Dataset
from experiments.errors import InputError
from jaxdp import kernels, scatter

if TYPE_CHECKING:
    from experiments.plan import Settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelChoice:
    """A kernel of the driver.

    Attributes:
        build: makes it from flags and data.
        clip_space: where gradients are clipped by default, for kernels of features.
    """

    build: Callable[["Settings", Dataset], kernels.Kernel]
    clip_space: str = "pixels"


def _fc_ntk(settings: "Settings", data: Dataset) -> kernels.Kernel:
    del data
    return kernels.fc_ntk(depth=settings.depth)


def _fc_nngp(settings: "Settings", data: Dataset) -> kernels.Kernel:
    del data
    return kernels.fc_nngp(depth=settings.depth)


def _scatter(settings: "Settings", data: Dataset) -> kernels.Kernel:
    normalisation = settings.scatter_norm
    if normalisation == "paper":
        grey = data.shape[-1] == 1
        normalisation = "pointwise" if grey else "none"
    try:
        features = scatter.scatter_features(
            _image_shape(settings, data),
            max_scale=settings.scatter_scales,
            num_angles=settings.scatter_angles,
            normalisation=normalisation,
        )
    except ValueError as error:
        raise InputError(f"--kernel=scatter on --dataset={settings.dataset}: {error}") from error
    return kernels.from_features(features)


def _image_shape(settings: "Settings", data: Dataset) -> tuple[int, int, int]:
    if not data.is_image:
        raise InputError(
            f"--kernel={settings.kernel}: works on images, and --dataset={settings.dataset} holds "
            f"rows of {data.dim} values; use --kernel=fc_ntk"
        )
    height, width, channels = data.shape
    return height, width, channels


KERNELS: dict[str, KernelChoice] = {
    "fc_ntk": KernelChoice(build=_fc_ntk),
    "fc_nngp": KernelChoice(build=_fc_nngp),
    "scatter": KernelChoice(build=_scatter, clip_space="features"),
}
