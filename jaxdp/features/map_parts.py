"""Parts of public feature maps: opponent colours, margins, pooling, mirror symmetry.

DP-SGD adds the same noise to every direction of a feature space, so it costs least where there are
few directions and all of them matter alike. On top of scattering features these maps put

* opponent colours in, so that chroma has coefficients, and a normalisation, of its own;
* fewer directions out: averages over neighbouring patches (after padding where they are odd in
  number), and the projection onto what an image and its mirror image share;
* bounded maps, and others beside, each with its share of the kernel.

Their constants are chosen without data, and no row's features depend on other rows.

References:
    Ruderman, Cronin & Chiao (1998), "Statistics of cone responses to natural images: implications
    for visual coding" (opponent colours).
"""

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxdp.rows import require_floats, require_rows

FeatureFn = Callable[[Array], Array]

# Rows: luminance, red against blue, green against both.
OPPONENT = np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, -1 / 2], [-1 / 4, 1 / 2, -1 / 4]])


def with_opponent_colours(feature_fn: FeatureFn, *, channels: int = 3) -> FeatureFn:
    """Return `feature_fn` of opponent colours, for rows that hold red, green and blue last.

    Luminance `(r + g + b) / 3`, `(r - b) / 2` and `(2 g - r - b) / 4` take their places.

    Args:
        feature_fn: takes rows of as many channels.
        channels: 3 or more; those after blue, such as opacity, stay as they are.

    Raises:
        TypeError: from the map, rows that are not of floats.
    """
    matrix = np.eye(channels)
    matrix[:3, :3] = OPPONENT

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_floats(rows)
        colours = jnp.asarray(matrix.T, rows.dtype)
        pixels = rows.reshape(-1, rows.shape[1] // channels, channels)
        opponent = jnp.matmul(pixels, colours, precision="highest")
        return feature_fn(opponent.reshape(rows.shape))

    return features


def padded(
    feature_fn: FeatureFn,
    image_shape: tuple[int, int, int],
    *,
    margins: tuple[int, int],
    more: tuple[int, int] = (0, 0),
) -> FeatureFn:
    """Return `feature_fn` of images with margins of zeros, e.g. 28 x 28 within 32 x 32.

    Args:
        feature_fn: takes rows of images of the larger size.
        image_shape: (h, w, channels) of the rows to be given.
        margins: rows above and below, and columns left and right, >= 0.
        more: rows below and columns right that are there beside, >= 0.

    Raises:
        ValueError: a negative margin or, from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.
    """
    if min(margins) < 0 or min(more) < 0:
        raise ValueError(f"margins must be >= 0, got {margins} and {more} more")
    high, wide = ((margin, margin + one) for margin, one in zip(margins, more, strict=True))

    def features(rows: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(rows, math.prod(image_shape))
        images = rows.reshape(-1, *image_shape)
        images = jnp.pad(images, ((0, 0), high, wide, (0, 0)))
        return feature_fn(jax.lax.collapse(images, 1))

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
        num_maps = phi.shape[1] // (rows * columns)
        windows = phi.reshape(-1, num_maps, rows // high, high, columns // wide, wide)
        return jax.lax.collapse(jnp.mean(windows, axis=(3, 5)), 1)

    return features


def mirror_paths(max_scale: int, num_angles: int, channels: int) -> np.ndarray:
    """Return, for every path of a scattering transform, the path its mirror image has there.

    A wavelet of angle `theta` sees in a mirror image what the one of `-theta` sees in the image.
    Paths are in the order of `jaxdp.features.scattering`, of all channels one after another.
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
        phi = feature_fn(x)
        maps = phi.reshape(len(phi), len(paths), rows, columns)
        both = maps + maps[:, paths, :, ::-1]
        # A pair of columns has half of its energy on either side; the middle one is by itself.
        kept = jnp.concatenate(
            [both[..., :half] / np.sqrt(2), both[..., half : columns - half] / 2], axis=-1
        )
        return jax.lax.collapse(kept, 1)

    return features


def bounded(feature_fn: FeatureFn) -> FeatureFn:
    """Return `phi / sqrt(1 + |phi|^2)`, of norm below one: nearly `phi` where that is short.

    Whatever is far from the public images that a map was centred by, as digits on black are from
    photographs, would be one long vector that all its images share.
    """

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        phi = feature_fn(x)
        return phi / jnp.sqrt(1 + jnp.sum(phi**2, axis=1, keepdims=True))

    return features


def joined(parts: Sequence[tuple[FeatureFn, float]]) -> FeatureFn:
    """Return several maps side by side, each with its share: `phi = (sqrt(a) phi_1, sqrt(b) ...)`.

    Its kernel is the weighted mean of theirs.

    Args:
        parts: maps of the same rows with their shares, which are above 0 and have sum 1.

    Raises:
        ValueError: shares of another kind.
    """
    shares = [share for _, share in parts]
    if not shares or min(shares) <= 0 or not math.isclose(sum(shares), 1.0):
        raise ValueError(f"shares must be above 0 and have sum 1, got {shares}")

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        return jnp.concatenate([math.sqrt(share) * part(x) for part, share in parts], axis=1)

    return features
