"""Scattering features of images: cascades of wavelet moduli, averaged over patches.

With Morlet wavelets `psi_{j, theta}` at scales `2^j`, `j < max_scale`, and a Gaussian average
`phi` at scale `2^max_scale`, the coefficients of an image `x` are

    S0 = x * phi,   S1 = |x * psi_1| * phi,   S2 = ||x * psi_1| * psi_2| * phi   (j_2 > j_1)

on a grid with step `2^max_scale`. The filters are kymatio's and so are the coefficients and their
order. The transform is ours: spectra of real images come from half of the frequencies, and since
`phi` is separable, every last convolution, subsampling and crop together are two small matrix
products instead of two Fourier transforms.

References:
    Bruna & Mallat (2013), "Invariant scattering convolution networks", sections 2 and 3.
    Andreux et al. (2020), "Kymatio: scattering transforms in Python".
    Oyallon & Mallat (2015), "Deep roto-translation scattering for object classification".
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from kymatio.scattering2d.filter_bank import filter_bank as kymatio_filters
from kymatio.scattering2d.utils import compute_padding

from jaxdp.numerics import ByBackend, map_rows
from jaxdp.rows import require_floats, require_rows

NORMALISATIONS = ("none", "pointwise", "group", "unit")

_HIGHEST = jax.lax.Precision.HIGHEST
_GROUPS = 27
_VARIANCE_FLOOR = 1e-5
# Images of so many pixels transformed at once: what stays in a CPU's cache, what fills a GPU.
_CHUNK = ByBackend(cpu=64, accelerator=2048)
_PIXELS = 32 * 32


class Wavelet(NamedTuple):
    """A wavelet's scale `j` and its real spectrum at every resolution `2^-r`, `r <= j`."""

    scale: int
    spectra: tuple[np.ndarray, ...]


class FilterBank(NamedTuple):
    """Filters for images of one size.

    `padding` are the pixels reflected at each border, `wavelets` are in kymatio's order and
    `averages[r]` is the pair of matrices (p, m) and (q, n) that average and subsample the rows and
    columns of an (m, n) image of resolution `2^-r` and crop the padding.
    """

    padding: tuple[tuple[int, int], tuple[int, int]]
    wavelets: tuple[Wavelet, ...]
    averages: tuple[tuple[np.ndarray, np.ndarray], ...]


@functools.cache
def filter_bank(height: int, width: int, max_scale: int, num_angles: int) -> FilterBank:
    """Return the filters for images of a size; built once.

    Those of an odd side are those of one pixel more.

    Raises:
        ValueError: a size below `2^max_scale`, or a scale or number of angles below 1.
    """
    if max_scale < 1 or num_angles < 1:
        raise ValueError(f"need max_scale and num_angles >= 1, got {max_scale} and {num_angles}")
    if min(height, width) < 2**max_scale:
        raise ValueError(
            f"scattering needs sides of at least {2**max_scale} pixels, got {height} x {width}; "
            "use fewer scales or larger images"
        )
    height, width = height + height % 2, width + width % 2
    padded = compute_padding(height, width, max_scale)
    filters = kymatio_filters(*padded, max_scale, num_angles)
    wavelets = tuple(
        Wavelet(psi["j"], tuple(np.asarray(level, np.float64) for level in psi["levels"]))
        for psi in filters["psi"]
    )
    averages = tuple(
        (
            _averaging(level[:, 0], 2 ** (max_scale - r)),
            _averaging(level[0, :], 2 ** (max_scale - r)),
        )
        for r, level in enumerate(filters["phi"]["levels"])
    )
    rows, columns = padded[0] - height, padded[1] - width
    padding = ((rows // 2, (rows + 1) // 2), (columns // 2, (columns + 1) // 2))
    return FilterBank(padding, wavelets, averages)


def _averaging(spectrum: np.ndarray, step: int) -> np.ndarray:
    """Return the matrix of a circular convolution, sampled every `step` and cropped by one."""
    # phi has mean 1, so the spectrum of its factor along an axis is phi's own on that axis.
    kernel = np.real(np.fft.ifft(np.asarray(spectrum, np.float64) / np.sqrt(spectrum[0])))
    size = len(kernel)
    rows, columns = np.arange(0, size, step)[:, None], np.arange(size)[None, :]
    return kernel[(rows - columns) % size][1:-1]


def num_paths(max_scale: int, num_angles: int) -> int:
    """Return how many coefficients there are per patch: 81 for 2 scales and 8 angles."""
    second = num_angles**2 * max_scale * (max_scale - 1) // 2
    return 1 + max_scale * num_angles + second


def has_groups(channels: int, max_scale: int, num_angles: int) -> bool:
    """Return whether the paths of an image divide into the groups that `normalise` takes."""
    return channels * num_paths(max_scale, num_angles) % _GROUPS == 0


def scattering(
    x: Float[Array, "n h w"], *, max_scale: int = 2, num_angles: int = 8
) -> Float[Array, "n paths p q"]:
    """Return the scattering coefficients of grey images up to order 2.

    Args:
        x: images, computed in their own float type. Odd sides get one pixel more, which repeats
            the last row or column.
        max_scale: number of octaves J; patches have sides of `2^J` pixels.
        num_angles: number of orientations L of the wavelets.

    Returns:
        Coefficients in kymatio's order. The gradient is finite everywhere: 0 is chosen where a
        modulus is 0.

    Raises:
        ValueError: see `filter_bank`.
        TypeError: images are not of floats.
    """
    require_floats(x)
    one = _transform_of(x.shape[1], x.shape[2], max_scale, num_angles)
    x = _with_even_sides(x)
    # Larger images, fewer at once.
    chunk = max(1, _CHUNK.here * _PIXELS // max(_PIXELS, x.shape[1] * x.shape[2]))
    return map_rows(one, x, at_most=chunk)


def _with_even_sides(x: Float[Array, "n h w"]) -> Float[Array, "n m q"]:
    odd = x.shape[1] % 2, x.shape[2] % 2
    return jnp.pad(x, ((0, 0), (0, odd[0]), (0, odd[1])), mode="edge") if any(odd) else x


@functools.cache
def _transform_of(height: int, width: int, max_scale: int, num_angles: int) -> Any:
    """Return the transform of one image; jit's, so that the programs it is in trace it once."""
    bank = filter_bank(height, width, max_scale, num_angles)
    return jax.jit(functools.partial(_transform, bank=bank))


def _transform(x: Float[Array, "h w"], bank: FilterBank) -> Float[Array, "paths p q"]:
    padded = jnp.pad(x, bank.padding, mode="reflect")
    spectrum = _spectrum(padded)
    zeroth = _average(padded, bank.averages[0])[None]
    first, second = [], []
    scales = [tuple(some) for _, some in itertools.groupby(bank.wavelets, lambda each: each.scale)]
    for scale, wavelets in enumerate(scales):
        coarser = scales[scale + 1 :]
        # All angles of the last scale of a path at once, and no more: what fits in the cache.
        for some in [(wavelet,) for wavelet in wavelets] if coarser else [wavelets]:
            moduli = _filtered_modulus(spectrum, some, 0)
            first.append(_average(moduli, bank.averages[scale]))
            for last, others in enumerate(coarser, scale + 1):
                outer = _filtered_modulus(_spectrum(moduli[0]), others, scale)
                second.append(_average(outer, bank.averages[last]))
    return jnp.concatenate([zeroth, *first, *second])


def _spectrum(x: Float[Array, "m n"]) -> Array:
    """Return the Fourier transform (m, n) of a real image from its half of the frequencies."""
    half = jnp.fft.rfft2(x)
    mirrored = jnp.conj(half[:, 1 : x.shape[1] // 2])[:, ::-1]
    mirrored = jnp.concatenate([mirrored[:1], mirrored[1:][::-1]])
    return jnp.concatenate([half, mirrored], axis=1)


def _filtered_modulus(
    spectrum: Array, wavelets: tuple[Wavelet, ...], resolution: int
) -> Float[Array, "k m n"]:
    """Return the moduli of convolutions with wavelets of one scale, subsampled to it."""
    filters = np.stack([wavelet.spectra[resolution] for wavelet in wavelets])
    filtered = spectrum * filters.astype(spectrum.real.dtype)
    step = 2 ** (wavelets[0].scale - resolution)
    return _modulus(jnp.fft.ifft2(_subsampled(filtered, step)))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _subsampled(spectrum: Array, step: int) -> Array:
    """Subsample in space, which is averaging over aliases in frequency.

    The VJP is given because XLA is slow at the one it would derive, from slices or from a mean.
    """
    for _ in range(step.bit_length() - 1):
        m, n = (size // 2 for size in spectrum.shape[-2:])
        spectrum = spectrum[..., :m, :] + spectrum[..., m:, :]
        spectrum = spectrum[..., :n] + spectrum[..., n:]
    return spectrum / step**2


def _subsampled_forward(spectrum: Array, step: int) -> tuple[Array, None]:
    return _subsampled(spectrum, step), None


def _subsampled_backward(step: int, _: None, cotangent: Array) -> tuple[Array]:
    return (jnp.tile(cotangent / step**2, (step, step)),)


_subsampled.defvjp(_subsampled_forward, _subsampled_backward)


def _modulus(z: Array) -> Array:
    square = z.real**2 + z.imag**2
    nonzero = square > 0
    return jnp.where(nonzero, jnp.sqrt(jnp.where(nonzero, square, 1.0)), 0.0)


def _average(x: Float[Array, "*k m n"], matrices: tuple[np.ndarray, np.ndarray]) -> Array:
    rows, columns = (jnp.asarray(matrix, x.dtype) for matrix in matrices)
    return jnp.matmul(rows, jnp.matmul(x, columns.T, precision=_HIGHEST), precision=_HIGHEST)


def normalise(
    coefficients: Float[Array, "n paths p q"], kind: str, *, num_groups: int = _GROUPS
) -> Float[Array, "n features"]:
    """Flatten coefficients, normalised per image.

    Args:
        coefficients: scattering coefficients of all channels of an image, in order.
        kind: `none`; `pointwise`: standardise runs of `paths / num_groups` neighbouring paths at
            each position by themselves (Vinaroz & Park 2024, for grey images); `group`: the
            same over all positions together (Wu & He 2018, "Group normalization");
            `unit`: divide by the Euclidean norm.
        num_groups: number of runs of paths.

    Raises:
        ValueError: unknown kind, or paths that do not divide into the groups.
    """
    n, paths, *_ = coefficients.shape
    if kind == "none":
        return jax.lax.collapse(coefficients, 1)
    if kind == "unit":
        rows = jax.lax.collapse(coefficients, 1)
        return rows / jnp.sqrt(jnp.sum(rows**2, axis=1, keepdims=True) + _VARIANCE_FLOOR)
    if kind not in NORMALISATIONS:
        raise ValueError(f"kind must be one of {', '.join(NORMALISATIONS)}, got {kind!r}")
    if paths % num_groups:
        raise ValueError(f"{paths} paths do not divide into {num_groups} groups")
    grid = math.prod(coefficients.shape[2:])
    groups = coefficients.reshape(n, num_groups, paths // num_groups, grid)
    axes = (2,) if kind == "pointwise" else (2, 3)
    centred = groups - jnp.mean(groups, axis=axes, keepdims=True)
    variance = jnp.mean(centred**2, axis=axes, keepdims=True)
    return jax.lax.collapse(centred / jnp.sqrt(variance + _VARIANCE_FLOOR), 1)


def scatter_features(
    shape: tuple[int, int, int],
    *,
    max_scale: int = 2,
    num_angles: int = 8,
    normalisation: str = "none",
    num_groups: int = _GROUPS,
) -> Callable[[Float[Array, "n d"]], Float[Array, "n features"]]:
    """Return the feature map of rows that hold images of `shape` (h, w, channels).

    Every channel is transformed by itself; `d = h w channels`. For `normalisation` and
    `num_groups` see `normalise`.

    Raises:
        ValueError: a size, scale or normalisation that does not work, found at once; from the
            map, rows of another width.
        TypeError: from the map, rows that are not of floats.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> phi = features.scatter_features((8, 8, 1), max_scale=1, num_angles=2)
        >>> phi(jnp.ones((3, 64))).shape
        (3, 48)
    """
    height, width, channels = shape
    filter_bank(height, width, max_scale, num_angles)
    paths = channels * num_paths(max_scale, num_angles)
    jax.eval_shape(
        functools.partial(normalise, kind=normalisation, num_groups=num_groups),
        jax.ShapeDtypeStruct((1, paths, 1, 1), jnp.float32),
    )

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n features"]:
        require_rows(rows, math.prod(shape))
        images = jnp.moveaxis(rows.reshape(-1, height, width, channels), 3, 1)
        coefficients = scattering(
            images.reshape(-1, height, width), max_scale=max_scale, num_angles=num_angles
        )
        per_image = (rows.shape[0], paths, *coefficients.shape[2:])
        return normalise(coefficients.reshape(per_image), normalisation, num_groups=num_groups)

    return features
