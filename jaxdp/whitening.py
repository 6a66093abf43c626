"""Public feature maps: opponent colours, pooling, mirror symmetry, whitening on synthetic images.

DP-SGD adds the same noise to every direction of a feature space, so it costs least where there are
few directions and all of them matter alike. Three kinds of public maps see to that, on top of
scattering features `phi`:

* opponent colours in, so that chroma has coefficients, and a normalisation, of its own;
* fewer directions out: averages over neighbouring patches (after padding where they are odd in
  number), and the projection onto what an image and its mirror image share;
* whitening by the second moment of the same features on images that nobody took,
  `phi -> phi (Sigma + gamma mean(eig) I)^(-1/2)`.

Privacy in plain words: none of these functions is given a private array. Their constants are
those of scattering, and of noise from a fixed public seed.

References:
    Ruderman (1994), "The statistics of natural images": power spectra fall off as 1/f^2.
    Lee, Mumford & Huang (2001), "Occlusion models for natural images" (dead leaves).
    Baradad et al. (2021), "Learning to see by looking at noise".
    Kessy, Lewin & Strimmer (2018), "Optimal whitening and decorrelation" (ZCA).
    Ruderman, Cronin & Chiao (1998), "Statistics of cone responses to natural images: implications
    for visual coding" (opponent colours).
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

_HIGHEST = jax.lax.Precision.HIGHEST

FeatureFn = Callable[[Array], Array]

# Rows: luminance, red against blue, green against both.
_OPPONENT = np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, -1 / 2], [-1 / 4, 1 / 2, -1 / 4]])
# Typical contrast of the opponent channels of photographs, relative to luminance.
_OPPONENT_CONTRAST = (1.0, 0.35, 0.2)
_IMAGE_CHUNK = 200


def noise_images(
    key: Key[Array, ""],
    num_images: int,
    image_shape: tuple[int, int, int],
    *,
    exponent: float = 1.0,
    contrast: float = 0.25,
) -> Float[Array, "n d"]:
    """Return images of coloured Gaussian noise in [0, 1]: amplitudes fall off as 1/f^exponent.

    `clip(1/2 + contrast z, 0, 1)` with unit variance z on average over images. Three channels
    are independent in opponent colours, with less contrast in chroma than in luminance.

    Args:
        key: public and fixed, so that the images are the same in every run.
        num_images: n, >= 1.
        image_shape: (h, w, channels) with 1 or 3 channels; `d = h w channels`.
        exponent: 1 for natural images, more for smoother ones, 0 for white noise.
        contrast: standard deviation before clipping.

    Raises:
        ValueError: no image, or another number of channels.
    """
    _check_images(num_images, image_shape)
    height, width, channels = image_shape
    # Twice the size, cropped, so that opposite borders differ.
    size = (2 * height, 2 * width)
    frequencies = np.hypot(np.fft.fftfreq(size[0])[:, None], np.fft.rfftfreq(size[1])[None, :])
    frequencies[0, 0] = frequencies[0, 1]
    amplitudes = jnp.asarray(frequencies**-exponent, jnp.float32)
    white = jax.random.normal(key, (channels, num_images, *size), jnp.float32)
    noise = jnp.fft.irfft2(jnp.fft.rfft2(white) * amplitudes, s=size)[..., :height, :width]
    noise = noise / jnp.std(noise, axis=(1, 2, 3), keepdims=True)
    return _coloured(contrast * jnp.moveaxis(noise, 0, -1)).reshape(num_images, -1)


def dead_leaves_images(
    key: Key[Array, ""],
    num_images: int,
    image_shape: tuple[int, int, int],
    *,
    num_leaves: int = 150,
    radii: tuple[float, float] = (1.0, 16.0),
    contrast: float = 0.25,
) -> Float[Array, "n d"]:
    """Return images in [0, 1] of discs that occlude each other: edges at all scales.

    Centres are uniform, radii have a density proportional to `r^-3`, which makes occlusion the
    same at every scale, and grey levels are `clip(1/2 + contrast z, 0, 1)` with z standard
    normal; colours as those of `noise_images`.

    Args:
        key: public and fixed, so that the images are the same in every run.
        num_images: n, >= 1.
        image_shape: (h, w, channels) with 1 or 3 channels; `d = h w channels`.
        num_leaves: discs of an image, >= 1, the last one on top.
        radii: least and largest radius in pixels, 0 < least <= largest.
        contrast: standard deviation of leaves before clipping.

    Raises:
        ValueError: no image, no leaf, another number of channels, or radii out of order.

    References:
        Lee, Mumford & Huang (2001), section 2.
    """
    _check_images(num_images, image_shape)
    least, largest = radii
    if num_leaves < 1 or not 0 < least <= largest:
        raise ValueError(
            f"need num_leaves >= 1 and 0 < least <= largest radius, got {num_leaves} and {radii}"
        )
    return _paint_leaves(key, num_images, image_shape, num_leaves, radii, contrast)


@functools.partial(jax.jit, static_argnums=(1, 2, 3, 4))
def _paint_leaves(
    key: Array,
    num_images: int,
    image_shape: tuple[int, int, int],
    num_leaves: int,
    radii: tuple[float, float],
    contrast: Array | float,
) -> Float[Array, "n d"]:
    height, width, channels = image_shape
    least, largest = radii
    rows, columns = jnp.arange(height)[:, None] + 0.5, jnp.arange(width)[None, :] + 0.5

    def paint(image: Array, leaf: tuple[Array, Array, Array]) -> tuple[Array, None]:
        radius, (row, column), colour = leaf
        distance = jnp.sqrt((rows - row) ** 2 + (columns - column) ** 2)
        inside = jnp.clip(radius - distance + 0.5, 0.0, 1.0)[..., None]  # one pixel of soft edge
        return image * (1 - inside) + inside * colour, None

    def one(key: Array) -> Array:
        keys = jax.random.split(key, 4)
        u = jax.random.uniform(keys[0], (num_leaves,))
        radius = 1 / jnp.sqrt(u / least**2 + (1 - u) / largest**2)
        # Centres beyond the border, so that leaves are as frequent at it as in the middle.
        spread = jnp.asarray([height, width]) + largest
        centre = jax.random.uniform(keys[1], (num_leaves, 2)) * spread - largest / 2
        colour = contrast * jax.random.normal(keys[2], (num_leaves, channels))
        ground = contrast * jax.random.normal(keys[3], (channels,))
        image = jnp.broadcast_to(ground, image_shape)
        return jax.lax.scan(paint, image, (radius, centre, colour))[0]

    images = jax.lax.map(one, jax.random.split(key, num_images), batch_size=_IMAGE_CHUNK)
    return _coloured(images).reshape(num_images, -1)


def _check_images(num_images: int, image_shape: tuple[int, int, int]) -> None:
    if num_images < 1:
        raise ValueError(f"num_images must be >= 1, got {num_images}")
    if image_shape[2] not in (1, 3):
        raise ValueError(f"need 1 or 3 channels, got {image_shape[2]}")


def _coloured(images: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
    """Return images of mean 1/2 in [0, 1] from independent grey or opponent channels."""
    if images.shape[-1] == 3:
        to_rgb = np.linalg.inv(_OPPONENT) * _OPPONENT_CONTRAST
        images = jnp.matmul(images, jnp.asarray(to_rgb.T, images.dtype), precision=_HIGHEST)
    return jnp.clip(0.5 + images, 0.0, 1.0)


def with_opponent_colours(feature_fn: FeatureFn) -> FeatureFn:
    """Return `feature_fn` of opponent colours, for rows that hold red, green and blue last.

    Luminance `(r + g + b) / 3`, `(r - b) / 2` and `(2 g - r - b) / 4` take their places.
    """

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        colours = jnp.asarray(_OPPONENT.T, rows.dtype)
        opponent = jnp.matmul(rows.reshape(len(rows), -1, 3), colours, precision=_HIGHEST)
        return feature_fn(opponent.reshape(rows.shape))

    return features


def padded(
    feature_fn: FeatureFn, image_shape: tuple[int, int, int], *, margins: tuple[int, int]
) -> FeatureFn:
    """Return `feature_fn` of images with margins of zeros, e.g. 28 x 28 within 32 x 32.

    Args:
        feature_fn: takes rows of images of the larger size.
        image_shape: (h, w, channels) of the rows to be given.
        margins: rows above and below, and columns left and right, >= 0.

    Raises:
        ValueError: a negative margin.
    """
    if min(margins) < 0:
        raise ValueError(f"margins must be >= 0, got {margins}")
    high, wide = margins

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        images = rows.reshape(-1, *image_shape)
        images = jnp.pad(images, ((0, 0), (high, high), (wide, wide), (0, 0)))
        return feature_fn(images.reshape(len(rows), -1))

    return features


def pooled(
    feature_fn: FeatureFn, grid: tuple[int, int], *, window: tuple[int, int] = (2, 2)
) -> FeatureFn:
    """Return `feature_fn` averaged over windows of its spatial grid.

    Args:
        feature_fn: returns rows of maps on a grid, `p = maps rows columns`, columns last.
        grid: its rows and columns.
        window: rows and columns of a window, which divide the grid's.

    Raises:
        ValueError: they do not.
    """
    (rows, columns), (high, wide) = grid, window
    if rows % high or columns % wide:
        raise ValueError(f"windows of {window} do not divide a grid of {grid}")

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        phi = feature_fn(x)
        windows = phi.reshape(len(phi), -1, rows // high, high, columns // wide, wide)
        return jnp.mean(windows, axis=(3, 5)).reshape(len(phi), -1)

    return features


def mirror_paths(max_scale: int, num_angles: int, channels: int) -> np.ndarray:
    """Return, for every path of a scattering transform, the path its mirror image has there.

    A wavelet of angle `theta` sees in a mirror image what the one of `-theta` sees in the image.
    Paths are in the order of `jaxdp.scatter`, of all channels one after another.
    """
    top = int(num_angles - num_angles / 2 - 1)  # kymatio's angles are (top - t) pi / num_angles

    def mirrored(angle: int) -> int:
        return (2 * top - angle) % num_angles

    wavelets = [(j, t) for j in range(max_scale) for t in range(num_angles)]
    paths: list[tuple[tuple[int, int], ...]] = [(), *((w,) for w in wavelets)]
    paths += [(v, w) for v in wavelets for w in wavelets if w[0] > v[0]]
    index = {path: i for i, path in enumerate(paths)}
    one = np.array([index[tuple((j, mirrored(t)) for j, t in path)] for path in paths])
    return np.concatenate([one + channel * len(paths) for channel in range(channels)])


def symmetrised(feature_fn: FeatureFn, grid: tuple[int, int], paths: np.ndarray) -> FeatureFn:
    """Return the part of `feature_fn` that does not change when the image is mirrored.

    With `P` the permutation of features that belongs to a mirror, this is `(phi + P phi) / 2` in
    coordinates that keep norms and have half the dimension: a linear classifier on it is one on
    `phi` whose weights are tied between left and right. `P` is exact for the paths, and
    up to the position of the grid's points for the columns.

    Args:
        feature_fn: returns rows of maps on a grid, `p = paths rows columns`, columns last.
        grid: its rows and columns.
        paths: the mirror image of every path; see `mirror_paths`.

    Raises:
        ValueError: `paths` is not an involution.
    """
    rows, columns = grid
    if not np.array_equal(paths[paths], np.arange(len(paths))):
        raise ValueError("mirroring twice must give every path itself")
    half = columns // 2

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        maps = feature_fn(x).reshape(-1, len(paths), rows, columns)
        both = maps + maps[:, paths, :, ::-1]
        # A pair of columns has half of its energy on either side; the middle one is by itself.
        kept = jnp.concatenate(
            [both[..., :half] / np.sqrt(2), both[..., half : columns - half] / 2], axis=-1
        )
        return kept.reshape(len(kept), -1)

    return features


def second_moment(
    feature_fn: FeatureFn, images: Float[Array, "n d"], *, chunk_size: int = 500
) -> Float[Array, "p p"]:
    """Return `Sigma = Phi^T Phi / n` of public images, a chunk at a time.

    Raises:
        ValueError: no image, or a chunk without one.
    """
    n = len(images)
    if n < 1 or chunk_size < 1:
        raise ValueError(f"need images and chunk_size >= 1, got {n} and {chunk_size}")

    @jax.jit
    def add(total: Array | float, rows: Array) -> Array:
        phi = feature_fn(rows)
        return total + jnp.matmul(phi.T, phi, precision=_HIGHEST)

    total: Array | float = 0.0
    for start in range(0, n, chunk_size):
        total = add(total, images[start : start + chunk_size])
    return jnp.asarray(total) / n


def whitening(moment: Float[Array, "p p"], *, gamma: float) -> Float[Array, "p p"]:
    """Return `(Sigma + gamma mean(eig) I)^(-1/2)`, symmetric.

    Args:
        moment: Sigma, symmetric positive semi-definite; not zero.
        gamma: > 0: directions weaker than `gamma` of the mean are not amplified further.

    Raises:
        ValueError: `gamma` or the moment is not of this kind.

    References:
        Kessy, Lewin & Strimmer (2018), table 1 ("ZCA").
    """
    if not 0 < gamma < float("inf"):
        raise ValueError(f"gamma must be > 0 and finite, got {gamma}")
    eigenvalues, vectors = np.linalg.eigh(np.asarray(moment))
    if not eigenvalues[-1] > 0:
        raise ValueError("the second moment must be finite, positive semi-definite and not zero")
    eigenvalues = np.maximum(eigenvalues, 0)  # rounding
    scales = 1 / np.sqrt(eigenvalues + gamma * eigenvalues.mean())
    return jnp.asarray((vectors * scales) @ vectors.T, moment.dtype)


def transformed(feature_fn: FeatureFn, matrix: Float[Array, "p k"]) -> FeatureFn:
    """Return `phi(x) matrix`, e.g. whitened features."""

    def features(x: Float[Array, "n d"]) -> Float[Array, "n k"]:
        return jnp.matmul(feature_fn(x), matrix, precision=_HIGHEST)

    return features
