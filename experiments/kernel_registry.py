"""The kernels by name: how each is built from the flags, for which data, and where to clip."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from experiments.data.load import Dataset
from experiments.defaults import Hyperparameters
from experiments.errors import InputError
from jaxdp import kernels
from jaxdp.features import scattering
from jaxdp.kernels import convolutional

if TYPE_CHECKING:
    from experiments.settings import Settings

_NETWORK_KEY = 2  # the initial images and the corrupted pixels have keys 0 and 1
_PROBES = 16
_GRADIENT = 2.5  # a gradient's cost over that of its Gram matrix, as measured


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelChoice:
    """A kernel of the driver.

    Attributes:
        build: makes it from flags, hyper-parameters and data.
        clip_space: where gradients are clipped by default, for kernels of features.
        cost: `(batch size, support size, example shape) -> text`, said before the first step of a
            kernel that takes more than patience.
        seeded: whether its features depend on `--seed`.
    """

    build: Callable[["Settings", Hyperparameters, Dataset], kernels.Kernel]
    clip_space: str = "pixels"
    cost: Callable[[int, int, tuple[int, int, int]], str] | None = None
    seeded: bool = False


def _fc_ntk(settings: "Settings", hyper: Hyperparameters, data: Dataset) -> kernels.Kernel:
    del hyper, data
    return kernels.fc_ntk(depth=settings.depth)


def _fc_nngp(settings: "Settings", hyper: Hyperparameters, data: Dataset) -> kernels.Kernel:
    del hyper, data
    return kernels.fc_nngp(depth=settings.depth)


def _scatter(settings: "Settings", hyper: Hyperparameters, data: Dataset) -> kernels.Kernel:
    normalisation = hyper.scatter_norm
    if normalisation == "paper":
        grey = data.shape[-1] == 1
        normalisation = "pointwise" if grey else "none"
    try:
        features = scattering.scatter_features(
            _image_shape(settings, data),
            max_scale=settings.scatter_scales,
            num_angles=settings.scatter_angles,
            normalisation=normalisation,
        )
    except ValueError as error:
        raise InputError(f"--kernel=scatter on --dataset={settings.dataset}: {error}") from error
    return kernels.from_features(features)


def _entk(settings: "Settings", hyper: Hyperparameters, data: Dataset) -> kernels.Kernel:
    """Grey images take LeNet, whose gradients are short enough to be features; colour ResNet-18."""
    del hyper
    from jaxdp.kernels import empirical
    from jaxdp.networks import classifiers  # import flax, which most runs do not need

    shape = _image_shape(settings, data)
    grey = shape[-1] == 1
    module = (classifiers.LeNet if grey else classifiers.ResNet18)(num_classes=data.num_classes)
    key = jax.random.fold_in(jax.random.key(settings.seed), _NETWORK_KEY)
    try:
        variables = jax.jit(module.init)(key, jnp.zeros((1, *shape)))
    except ValueError as error:
        raise InputError(f"--kernel=entk on --dataset={settings.dataset}: {error}") from error

    def logits(variables: Any, images: Array) -> Any:
        return module.apply(variables, images)

    if not grey:
        return empirical.entk(logits, variables, shape)
    features = empirical.entk_features(logits, variables, image_shape=shape)
    noise = jax.random.normal(jax.random.fold_in(key, 1), (_PROBES, data.dim))
    # A scale changes nothing but the unit of clip_norm; noise images make it a public one.
    return kernels.from_features(kernels.unit_scale(features, noise))


def _perceptual(settings: "Settings", hyper: Hyperparameters, data: Dataset) -> kernels.Kernel:
    del hyper
    from jaxdp.features import perceptual  # imports flax, which most runs do not need

    shape = _image_shape(settings, data)
    return kernels.from_features(perceptual.perceptual_features(shape, seed=settings.seed))


def _conv_ntk(settings: "Settings", hyper: Hyperparameters, data: Dataset) -> kernels.Kernel:
    del hyper
    try:
        return convolutional.conv_ntk(_image_shape(settings, data))
    except (ImportError, ValueError) as error:
        raise InputError(f"--kernel=conv_ntk: {error}") from error


def _conv_ntk_cost(batch_size: int, support_size: int, shape: tuple[int, int, int]) -> str:
    rows = batch_size + support_size
    flops, peak = convolutional.conv_ntk_cost(rows, support_size, shape)
    return (
        f"conv_ntk: a step needs about {_GRADIENT * flops:.2g} operations and "
        f"{_GRADIENT * peak / 1e9:.2g} GB; --subset, --batch_size and --chunk_size make it less"
    )


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
    "perceptual": KernelChoice(build=_perceptual, clip_space="features", seeded=True),
    "entk": KernelChoice(build=_entk, clip_space="features", seeded=True),
    "conv_ntk": KernelChoice(build=_conv_ntk, cost=_conv_ntk_cost),
}
