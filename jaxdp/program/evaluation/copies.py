"""Are synthetic images copies of training images? Distances to the nearest of these.

They are computed on private data without noise, and are themselves private.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdp import numerics
from jaxdp.program.evaluation.problem import check_unit_images, draw, flat

_NOTE = (
    "Computed on private training data without noise: not covered by the privacy guarantee and "
    "must not be released. Distances are no evidence of privacy: a set that leaks may be far from "
    "every record, and one that is safe may be near. Epsilon, delta and mu in privacy.json are "
    "what protects (Yao et al. 2025, 'The DCR delusion')."
)


def nearest_neighbours(
    x: np.ndarray,
    x_train: np.ndarray,
    x_test: np.ndarray,
    *,
    max_images: int = 500,
    seed: int,
    chunk: int = 4096,
) -> dict[str, Any]:
    """Measure how near synthetic images come to training images, beside held-out real ones.

    Synthetic images that are much nearer to a training image than real images of the test set are
    suspicious of being copies. The reverse proves nothing: distances are no evidence of privacy
    (Yao et al. 2025, "The DCR delusion: measuring the privacy risk of synthetic data", ESORICS).

    Args:
        x: (n, h, w, ch) or (n, d) synthetic images in [0, 1].
        x_train: the real images that the generator was trained on.
        x_test: real images that it was not.
        max_images: so many synthetic and as many test images are drawn at random, fewer if either
            set has fewer; minima of equally many are comparable.
        seed: of the draws.
        chunk: training images that are compared at a time; it bounds memory.

    Returns:
        Ready for JSON, and **private**: `computed_on_private_data` is True and `note` says what
        that means; `num_images`; `synthetic` and `held_out`, each with `min`, `quantile_05` and
        `median` of the Euclidean distances to the nearest training image.

    Raises:
        InputError: the synthetic set has values that are not finite.
        ValueError: the arrays do not fit each other or are out of range, or `max_images` or
            `chunk` is below 1.
    """
    check_unit_images(x=x, x_train=x_train, x_test=x_test)
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")
    count = min(max_images, len(x), len(x_test))
    rng, test_rng = np.random.default_rng(seed).spawn(2)
    queries = [
        draw(flat(x), count, rng),
        draw(flat(x_test), count, test_rng),
    ]
    distances = nearest_distances(np.concatenate(queries), flat(x_train), chunk=chunk)
    return {
        "computed_on_private_data": True,
        "note": _NOTE,
        "num_images": count,
        "synthetic": _quantiles(distances[:count]),
        "held_out": _quantiles(distances[count:]),
    }


def nearest_distances(x: np.ndarray, x_train: np.ndarray, *, chunk: int) -> np.ndarray:
    """Return the Euclidean distance (q,) from each row of `x` to the nearest of `x_train`.

    The nearest row is found by inner products in float64, and its distance is that of the
    difference: exactly 0 for a copy.
    """
    chunk = min(chunk, len(x_train))
    best, nearest = np.full(len(x), np.inf), np.zeros(len(x), np.int64)
    with numerics.float64():
        for start in range(0, len(x_train), chunk):
            rows = x_train[start : start + chunk]
            # The last chunk is filled up with its own rows: one shape is compiled.
            squares, indices = _nearest_in_chunk(x, np.resize(rows, (chunk, *rows.shape[1:])))
            nearer = np.asarray(squares) < best
            best = np.where(nearer, squares, best)
            nearest = np.where(nearer, start + np.asarray(indices) % len(rows), nearest)
    return np.linalg.norm(x.astype(np.float64) - x_train[nearest], axis=1)


@jax.jit
def _nearest_in_chunk(x: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, rows = x.astype(jnp.float64), rows.astype(jnp.float64)
    products = jnp.matmul(x, rows.T, precision=jax.lax.Precision.HIGHEST)
    squares = jnp.sum(x**2, axis=1)[:, None] + jnp.sum(rows**2, axis=1) - 2.0 * products
    return jnp.min(squares, axis=1), jnp.argmin(squares, axis=1)


def _quantiles(distances: np.ndarray) -> dict[str, float]:
    return {
        "min": float(np.min(distances)),
        "quantile_05": float(np.quantile(distances, 0.05)),
        "median": float(np.median(distances)),
    }
