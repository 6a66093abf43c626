"""Random Fourier features of Gaussian kernels, of rows or of other features of them.

They (DP-MERF) estimate `exp(-|x - z|^2 / (2 l^2))` by the cosines and sines of random projections.

References:
    Rahimi & Recht (2007), "Random features for large-scale kernel machines", algorithm 1.
    Harder, Adamczewski & Park (2021), "DP-MERF: differentially private mean embeddings with
        random features for practical privacy-preserving data generation".
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxdp.features.checks import require_columns, require_positive
from jaxdp.features.circle import cos_sin
from jaxdp.rows import require_floats, require_rows

# TF32 products on GPUs would cost the kernel three digits, and a mean its bound 1/n.
_HIGHEST = jax.lax.Precision.HIGHEST


def fourier_features(
    key: Key[Array, ""], dim: int, *, num_features: int, length_scale: float
) -> Callable[[Float[Array, "n d"]], Float[Array, "n p"]]:
    """Return DP-MERF's random Fourier features of rows, drawn independently of any data.

    `phi(x) = [cos(W x), sin(W x)] / sqrt(p / 2)` with `p / 2` rows of `W` from `N(0, I / l^2)`:
    `phi(x) . phi(z)` is `exp(-|x - z|^2 / (2 l^2))` up to an error of order `sqrt(2 / p)`.

    Args:
        key: public randomness; the same for private and for synthetic rows.
        dim: number of columns d, >= 1.
        num_features: p, even and >= 2.
        length_scale: l > 0, in the units of the columns; a public constant.

    Returns:
        A differentiable map of rows to (n, p), computed in their own float type.

    Raises:
        ValueError: a number out of range or, from the map, rows of another width.
        TypeError: from the map, rows that are not of floats.

    Guarantee:
        `|phi(x)| = 1` up to rounding for every finite row, since `cos^2 + sin^2 = 1` at each
        frequency; where `W x` overflows or is not a number, `phi(x) = 0`. One record
        contributes at most `1 / n` to a mean over n, and another in its place moves the mean by
        at most `2 / n`.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxdp import features
        >>> key = jax.random.key(0)
        >>> phi = features.fourier_features(key, 2, num_features=10_000, length_scale=1.0)
        >>> x, z = phi(jnp.array([[0.0, 0.0], [1.0, 0.0]]))
        >>> round(float(x @ z), 1), round(float(jnp.exp(-0.5)), 1)
        (0.6, 0.6)
    """
    require_columns(dim)
    _require_fourier(num_features, length_scale)
    frequencies = jax.random.normal(key, (dim, num_features // 2), jnp.float32) / length_scale

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        require_rows(x, dim)
        return _waves(jnp.matmul(x, frequencies.astype(x.dtype), precision=_HIGHEST))

    return features


def directional_fourier_features(
    feature_fn: Callable[[Float[Array, "n d"]], Float[Array, "n q"]],
    matrix: Float[Array, "q r"],
    key: Key[Array, ""],
    *,
    num_features: int,
    length_scale: float,
) -> Callable[[Float[Array, "n d"]], Float[Array, "n p"]]:
    """Return random Fourier features of the directions of other features, `u = g(x) / |g(x)|`.

    `g(x) = f(x) matrix` is never formed: the matrix is multiplied by the frequencies once, and the
    mean square of a row's projections estimates `|g(x)|^2` to a part `sqrt(4 / p)` of it. So
    `phi(x) . phi(z)` is about `exp(-|u(x) - u(z)|^2 / (2 l^2))`. A mean of `g` tells where a class
    is; a mean of these tells how it is spread as well, since the kernel is characteristic.

    Args:
        feature_fn: f, each row's by itself, chosen without data.
        matrix: of a public whitening, for example.
        key: public randomness; the same for private and for synthetic rows.
        num_features: p, even and >= 2.
        length_scale: l > 0; directions are at most 2 apart.

    Raises:
        ValueError: a number out of range.
        TypeError: from the map, features f that are not of floats.

    Guarantee:
        That of `fourier_features`, whatever `f` and the matrix: `phi(x) = 0` where projections, or
        their squares, overflow or are not numbers.

    References:
        Gretton et al. (2012), "A kernel two-sample test" (characteristic kernels).
    """
    _require_fourier(num_features, length_scale)
    drawn = jax.random.normal(key, (matrix.shape[1], num_features // 2), jnp.float32)
    frequencies = drawn.astype(matrix.dtype)
    projections = jnp.matmul(matrix, frequencies, precision=_HIGHEST)

    def features(x: Float[Array, "n d"]) -> Float[Array, "n p"]:
        f = feature_fn(x)
        require_floats(f)
        angles = jnp.matmul(f, projections.astype(f.dtype), precision=_HIGHEST)
        # What is not a number, or too large to have a direction, is no row of zeros.
        known = jnp.isfinite(jnp.mean(angles**2, axis=1, keepdims=True))
        angles = jnp.where(known, angles, 0.0)
        squares = jnp.mean(angles**2, axis=1, keepdims=True)
        some = known & (squares > 0)  # a row of zeros stays one, with a gradient of zero
        norms = length_scale * jnp.sqrt(jnp.where(some, squares, 1.0))
        return jnp.where(known, _waves(jnp.where(some, angles / norms, 0.0)), 0.0)

    return features


def _require_fourier(num_features: int, length_scale: float) -> None:
    if num_features < 2 or num_features % 2:
        raise ValueError(f"num_features must be even and >= 2, got {num_features}")
    require_positive("length_scale", length_scale)


def _waves(angles: Float[Array, "n k"]) -> Float[Array, "n p"]:
    """Return rows of norm 1, zeros where an angle is not finite."""
    finite = jnp.all(jnp.isfinite(angles), axis=1, keepdims=True)
    angles = jnp.where(finite, angles, 0.0)
    waves = jnp.concatenate(cos_sin(angles), axis=1)
    return jnp.where(finite, waves / math.sqrt(angles.shape[1]), 0.0)
