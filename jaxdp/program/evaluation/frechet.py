"""Is the distribution of synthetic images near the real one? The Frechet distance of features.

There is no FID here. It is defined by one trained Inception network, and what another network
measures is another quantity, with another name. Real data are looked at without noise, so the
privacy guarantee of the images does not cover the answer.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdp.features.scattering import num_paths, scatter_features
from jaxdp.program.evaluation.coverage import density_and_coverage
from jaxdp.program.evaluation.problem import check_unit_images, draw, flat

_MAX_SCALE, _NUM_ANGLES = 2, 8
_NEIGHBOURS = 5


def frechet_distance(features_a: np.ndarray, features_b: np.ndarray) -> float:
    """Return the squared Frechet distance of Gaussians fitted to two sets of features.

    With means `m` and covariances `C` (divided by n - 1), in float64,

        d^2 = |m_a - m_b|^2 + tr C_a + tr C_b - 2 tr (C_a^(1/2) C_b C_a^(1/2))^(1/2)

    The last trace is that of `(C_a C_b)^(1/2)`, from eigenvalues of symmetric matrices alone. It
    is d^2, not d, that the literature reports.

    Args:
        features_a: (n, p), n >= 2. Estimates of d^2 are too large by a bias that falls with n:
            compare only values from equally many examples, and many more than p.
        features_b: (m, p), m >= 2.

    Raises:
        ValueError: the shapes do not fit, a set has fewer than two rows, or a value is not finite.

    References:
        Dowson & Landau (1982), "The Frechet distance between multivariate normal distributions".
        Heusel et al. (2017), "GANs trained by a two time-scale update rule", section 2.
    """
    shapes = [np.shape(features_a), np.shape(features_b)]
    if any(len(shape) != 2 or shape[0] < 2 for shape in shapes) or shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"need two sets of at least 2 rows with equally many features, got shapes {shapes}"
        )
    if not (np.all(np.isfinite(features_a)) and np.all(np.isfinite(features_b))):
        raise ValueError("the features have values that are not finite")
    (mean_a, cov_a), (mean_b, cov_b) = _moments(features_a), _moments(features_b)
    eigenvalues, vectors = np.linalg.eigh(cov_a)
    # Rounding makes eigenvalues that are 0 a little negative.
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    product = np.maximum(np.linalg.eigvalsh(root @ cov_b @ root), 0.0)
    spread = np.trace(cov_a) + np.trace(cov_b) - 2.0 * np.sum(np.sqrt(product))
    return max(float(np.sum((mean_a - mean_b) ** 2) + spread), 0.0)


def _moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    features = np.asarray(features, np.float64)
    mean = np.mean(features, axis=0)
    centred = features - mean
    return mean, centred.T @ centred / (len(features) - 1)


def scatter_frechet(
    x: np.ndarray,
    x_real: np.ndarray,
    shape: tuple[int, int, int],
    *,
    max_images: int = 5000,
    seed: int,
) -> dict[str, Any]:
    """Return the Frechet distance of scattering features, averaged over space.

    It plays the part of FID where no trained network is at hand, but it is not FID, whose values
    it does not resemble: the features are scattering coefficients with 2 scales and 8 angles, not
    normalised, averaged over positions: 81 features a channel.

    Args:
        x: (n, h, w, ch) or (n, h w ch) synthetic images in [0, 1].
        x_real: real images, in the same range; held-out ones do not reward copies.
        shape: (h, w, ch) of an image; sides of at least 4 pixels.
        max_images: of either set, at most so many are drawn at random.
        seed: of the draws.

    Returns:
        Ready for JSON: `name`, `distance` (d^2 of `frechet_distance`), `num_images` and
        `num_real_images` that it was estimated from, `num_features`; and `density` and `coverage`
        of the same features, see `density_and_coverage`, None where real images are too few.

    Raises:
        InputError: the synthetic set has values that are not finite.
        ValueError: the arrays do not fit `shape` or are out of range, or there are fewer than two
            images; or see `jaxdp.features.scattering.filter_bank`.
    """
    for name, images in (("x", x), ("x_real", x_real)):
        if images.shape[1:] not in (tuple(shape), (math.prod(shape),)):
            raise ValueError(f"{name} has shape {images.shape}, which does not hold {shape} images")
    rows, real = flat(x), flat(x_real)
    check_unit_images(x=rows, x_real=real)
    rng, real_rng = np.random.default_rng(seed).spawn(2)
    rows, real = draw(rows, max_images, rng), draw(real, max_images, real_rng)
    features = _mean_scattering(tuple(shape))
    phi, phi_real = np.asarray(features(rows)), np.asarray(features(real))
    return {
        "name": "scatter Frechet distance",
        "distance": frechet_distance(phi, phi_real),
        "num_images": len(phi),
        "num_real_images": len(phi_real),
        "num_features": phi.shape[1],
        **_neighbourly(phi, phi_real),
    }


def _neighbourly(phi: np.ndarray, phi_real: np.ndarray) -> dict[str, float | None]:
    if len(phi_real) <= _NEIGHBOURS:
        return {"density": None, "coverage": None}
    return {**density_and_coverage(phi, phi_real, neighbours=_NEIGHBOURS)}


@functools.cache
def _mean_scattering(shape: tuple[int, int, int]) -> Callable[[np.ndarray], jax.Array]:
    paths = shape[2] * num_paths(_MAX_SCALE, _NUM_ANGLES)
    features = scatter_features(
        shape, max_scale=_MAX_SCALE, num_angles=_NUM_ANGLES, normalisation="none"
    )

    def means(rows: jax.Array) -> jax.Array:
        return jnp.mean(features(rows).reshape(rows.shape[0], paths, -1), axis=2)

    return jax.jit(means)
