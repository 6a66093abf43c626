"""The kernels by name: how each is built from its options, for which data, and where to clip.

This file imports the standard library alone until a kernel is built.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from jaxdp.methods.registry import Entry, Registry
from jaxdp.methods.settings import ByData, SettingsError, setting

_NETWORK_KEY = 2  # the initial images and the corrupted pixels have keys 0 and 1
# A side of an image with fewer leaves groups of its features too few values: at epsilon 1 digits of
# 8 x 8 pixels lose eight points by it, those of 28 x 28 gain seven.
_LEAST_PATCHES = 4
# Synthetic images of a fixed public seed; part of the kernels, not of a run.
_IMAGES_SEED, _NUM_IMAGES = 20240, 800
# Hidden units of entk's network, and values of an image's gradient where it is formed.
_WIDTH, _MOST_GRADIENTS = 800, 2**16
_GRADIENT = 2.5  # a gradient's cost over that of its Gram matrix, as measured
# What normalising by group takes away is put beside it, with a small share of the kernel.
WITH_BRIGHTNESS, _BRIGHTNESS_SHARE = "group_and_brightness", 0.05
SCATTER_NORMS = ("paper", "none", "unit", "group", WITH_BRIGHTNESS, "pointwise")


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
    from jaxdp.features import image_maps

    normalisation = options.scatter_norm
    if normalisation == "paper":
        normalisation = "pointwise" if spec.shape[-1] == 1 else "none"
    beside = _BRIGHTNESS_SHARE if normalisation == WITH_BRIGHTNESS else 0.0
    if beside:
        if not options.whiten:
            raise SettingsError(f"--scatter_norm={normalisation}: needs --whiten above 0")
        normalisation = "group"
    largest = image_maps.largest_side(options.scatter_scales)

    def features(shape: tuple[int, int, int]) -> Any:
        return image_maps.patch_map(
            shape,
            max_scale=options.scatter_scales,
            num_angles=options.scatter_angles,
            normalisation=str(normalisation),
        )

    try:
        return _of_features(features, options, spec, largest, brightness=beside)
    except ValueError as error:
        raise SettingsError(f"--kernel=scatter on --dataset={spec.name}: {error}") from error


def usual_scatter_norm(options: "KernelOptions", spec: Any) -> str:
    """Return the normalisation by default: by group, where paths divide and patches are enough.

    Brightness is beside it, but where features are not whitened.
    """
    from jaxdp.features import scattering

    height, width, channels = spec.shape
    divides = scattering.has_groups(channels, options.scatter_scales, options.scatter_angles)
    patches = min(height, width) // 2**options.scatter_scales
    if not divides or patches < _LEAST_PATCHES:
        return "none"
    return "group" if options.whiten == 0 else WITH_BRIGHTNESS


def _entk(options: "KernelOptions", spec: Any, seed: int) -> Any:
    """One hidden layer; networks with convolutions are narrow where they are as long to compute."""
    import math

    import jax

    from jaxdp import kernels
    from jaxdp.features import directions, levels
    from jaxdp.kernels import empirical

    key = jax.random.fold_in(jax.random.key(seed), _NETWORK_KEY)
    shape = levels.shrunk_shape(spec.image_shape, levels.COARSE)
    dim = math.prod(shape)
    if options.whiten:
        network = empirical.one_layer_entk(key, dim=dim, width=_WIDTH)
        images = _public_images(shape, spec.codec.kernel_range)
        features = directions.directions_of_kernel(network.cross, images, gamma=options.whiten)
    else:
        width = max(1, _MOST_GRADIENTS // (dim + 1))
        features = empirical.one_layer_features(key, dim=dim, width=width)
    return kernels.from_features(
        levels.then(levels.shrunk(spec.image_shape, levels.COARSE), features)
    )


def _perceptual(options: "KernelOptions", spec: Any, seed: int) -> Any:
    import functools

    from jaxdp.features import levels, perceptual

    features = functools.partial(perceptual.perceptual_features, seed=seed)
    try:
        # Activations of large images are too many.
        return _of_features(features, options, spec, levels.COARSE)
    except ValueError as error:
        raise SettingsError(
            f"--kernel=perceptual: {error}; use --kernel=scatter or fc_ntk"
        ) from error


def _of_features(
    features: Callable[..., Any],
    options: Any,
    spec: Any,
    largest: int,
    *,
    brightness: float = 0.0,
) -> Any:
    """Return the kernel of features of an image with sides averaged down to `largest`.

    With `whiten` they are in whitened directions of public images, of root mean square norm 1, and
    the mean of each channel, whitened alike and bounded, may have a share of the kernel.
    """
    from jaxdp import kernels
    from jaxdp.features import directions, levels, map_parts

    shape = levels.shrunk_shape(spec.image_shape, largest)
    feature_fn = features(shape)
    if options.whiten:
        images = _public_images(shape, spec.codec.kernel_range)

        def white(feature_fn: Any) -> Any:
            return directions.public_directions(feature_fn, images, gamma=options.whiten)

        feature_fn = white(feature_fn)
        if brightness:
            means = map_parts.bounded(white(levels.shrunk(shape, 1)))
            feature_fn = map_parts.joined([(feature_fn, 1 - brightness), (means, brightness)])
    see = levels.shrunk(spec.image_shape, largest)
    return kernels.from_features(levels.then(see, feature_fn))


def _public_images(shape: tuple[int, int, int], between: tuple[float, float]) -> Any:
    """Return rows of synthetic images in a range."""
    import jax

    from jaxdp.features import public_images

    low, high = between
    key = jax.random.key(_IMAGES_SEED)
    return low + (high - low) * public_images.dead_leaves_images(key, _NUM_IMAGES, shape)


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
            help="gradients of a network of one hidden layer",
            kinds=_IMAGES,
            clip_space=_in_features,
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
        "fc_ntk", f"Kernel of the regression: {KERNELS.help()}.", among=tuple(KERNELS), usual=True
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
        "and none for colour, and group_and_brightness has the mean of each channel beside; "
        "default: by the images' shape.",
        among=SCATTER_NORMS,
    )
    whiten: ByData[float] = setting(
        None,
        "Centre and whiten the features of a kernel in directions of public images, none amplified "
        "beyond this part of the mean; 0 for features as they are.",
        at_least=0,
        at_most=1e6,
    )
