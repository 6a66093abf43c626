"""The kernels by name: how each is built from its options, for which data, and where to clip.

This file imports the standard library alone until a kernel is built.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from jaxdp.methods.registry import Entry, Registry
from jaxdp.methods.settings import ByData, SettingsError, setting

_NETWORK_KEY = 2  # the initial images and the corrupted pixels have keys 0 and 1
_PROBES = 16
_GRADIENT = 2.5  # a gradient's cost over that of its Gram matrix, as measured
SCATTER_NORMS = ("paper", "none", "unit", "group", "pointwise")


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelEntry(Entry):
    """A kernel: `build(options, spec, seed)` makes it.

    Attributes:
        clip_space: `spec ->` where gradients are clipped by default: in features where the kernel
            has them for such data.
        cost: `(batch size, support size, example shape) -> text`, said before the first step of a
            kernel that takes more than patience.
        seeded: whether its features depend on the seed.
    """

    clip_space: Callable[[Any], str] = lambda spec: "pixels"
    cost: Callable[[int, int, tuple[int, int, int]], str] | None = None
    seeded: bool = False


def _fc_ntk(options: "KernelOptions", spec: Any, seed: int) -> Any:
    del spec, seed
    from jaxdp import kernels

    return kernels.fc_ntk(depth=options.depth)


def _fc_nngp(options: "KernelOptions", spec: Any, seed: int) -> Any:
    del spec, seed
    from jaxdp import kernels

    return kernels.fc_nngp(depth=options.depth)


def _scatter(options: "KernelOptions", spec: Any, seed: int) -> Any:
    del seed
    from jaxdp import kernels
    from jaxdp.features import image_maps

    normalisation = options.scatter_norm
    if normalisation == "paper":
        normalisation = "pointwise" if spec.shape[-1] == 1 else "none"
    try:
        features = image_maps.patch_map(
            spec.image_shape,
            max_scale=options.scatter_scales,
            num_angles=options.scatter_angles,
            normalisation=str(normalisation),
        )
    except ValueError as error:
        raise SettingsError(f"--kernel=scatter on --dataset={spec.name}: {error}") from error
    return kernels.from_features(features)


def _entk(options: "KernelOptions", spec: Any, seed: int) -> Any:
    """Grey images take LeNet, whose gradients are short enough to be features; colour ResNet-18."""
    del options
    import jax
    import jax.numpy as jnp

    from jaxdp import kernels
    from jaxdp.kernels import empirical
    from jaxdp.networks import classifiers

    shape = spec.image_shape
    grey = shape[-1] == 1
    module = (classifiers.LeNet if grey else classifiers.ResNet18)(num_classes=spec.num_classes)
    key = jax.random.fold_in(jax.random.key(seed), _NETWORK_KEY)
    try:
        variables = jax.jit(module.init)(key, jnp.zeros((1, *shape)))
    except ValueError as error:
        raise SettingsError(
            f"--kernel=entk on --dataset={spec.name}: {error}; use --kernel=scatter or fc_ntk"
        ) from error

    def logits(variables: Any, images: Any) -> Any:
        return module.apply(variables, images)

    if not grey:
        return empirical.entk(logits, variables, shape)
    features = empirical.entk_features(logits, variables, image_shape=shape)
    noise = jax.random.normal(jax.random.fold_in(key, 1), (_PROBES, spec.dim))
    # A scale changes nothing but the unit of clip_norm; noise images make it a public one.
    return kernels.from_features(kernels.unit_scale(features, noise))


def _perceptual(options: "KernelOptions", spec: Any, seed: int) -> Any:
    del options
    from jaxdp import kernels
    from jaxdp.features import levels, perceptual

    # Activations of large images are too many.
    seen = levels.shrunk_shape(spec.image_shape, levels.COARSE)
    try:
        features = perceptual.perceptual_features(seen, seed=seed)
    except ValueError as error:
        raise SettingsError(
            f"--kernel=perceptual: {error}; use --kernel=scatter or fc_ntk"
        ) from error
    see = levels.shrunk(spec.image_shape, levels.COARSE)
    return kernels.from_features(levels.then(see, features))


def _conv_ntk(options: "KernelOptions", spec: Any, seed: int) -> Any:
    del options, seed
    from jaxdp.kernels import convolutional

    try:
        return convolutional.conv_ntk(spec.image_shape)
    except (ImportError, ValueError) as error:
        raise SettingsError(f"--kernel=conv_ntk: {error}") from error


def _conv_ntk_cost(batch_size: int, support_size: int, shape: tuple[int, int, int]) -> str:
    from jaxdp.kernels import convolutional

    rows = batch_size + support_size
    flops, peak = convolutional.conv_ntk_cost(rows, support_size, shape)
    return (
        f"conv_ntk: a step needs about {_GRADIENT * flops:.2g} operations and "
        f"{_GRADIENT * peak / 1e9:.2g} GB; --subset, --batch_size and --chunk_size make it less"
    )


def _in_features(spec: Any) -> str:
    del spec
    return "features"


def _in_features_of_lenet(spec: Any) -> str:
    return "features" if spec.shape[-1] == 1 else "pixels"


_IMAGES = ("image",)
KERNELS = Registry(
    "kernel",
    {
        "fc_ntk": KernelEntry(build=_fc_ntk, help="infinitely wide fully connected network"),
        "fc_nngp": KernelEntry(build=_fc_nngp, help="the same before training"),
        "scatter": KernelEntry(
            build=_scatter, help="scattering features", kinds=_IMAGES, clip_space=_in_features
        ),
        "perceptual": KernelEntry(
            build=_perceptual,
            help="activations of a random ResNet-18",
            kinds=_IMAGES,
            clip_space=_in_features,
            seeded=True,
        ),
        "entk": KernelEntry(
            build=_entk,
            help="gradients of LeNet, or of ResNet-18 for colour",
            kinds=_IMAGES,
            clip_space=_in_features_of_lenet,
            seeded=True,
        ),
        "conv_ntk": KernelEntry(
            build=_conv_ntk,
            help="infinitely wide convolutional network; needs the extra [nt]",
            kinds=_IMAGES,
            cost=_conv_ntk_cost,
        ),
    },
    otherwise="use --kernel=fc_ntk",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelOptions:
    """Which kernel, and what it is made from."""

    kernel: str = setting(
        "fc_ntk", f"Kernel of the regression: {KERNELS.help()}.", among=tuple(KERNELS)
    )
    depth: int = setting(
        1, "Hidden layers of the network of fc_ntk and fc_nngp.", at_least=0, at_most=100
    )
    scatter_scales: int = setting(
        2, "Octaves J of scatter: patches of 2^J pixels.", above=0, at_most=10
    )
    scatter_angles: int = setting(8, "Orientations L of scatter.", above=0, at_most=64)
    scatter_norm: ByData[str] = setting(
        None,
        "Normalisation of scatter's features: {names}, of which paper is pointwise for grey images "
        "and none for colour; default: by dataset.",
        among=SCATTER_NORMS,
    )
