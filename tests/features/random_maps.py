"""Random Fourier and Hermite features at toy size, and the exact kernel of both."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdp.features import fourier as random_features
from jaxdp.features import hermite

EXTREMES = [0.0, -0.0, -1.0, 3.7, -8.0, 12.3, -12.4, 13.5, -15.0, 40.0, -1e6, 1e6, 3e38, -3e38]


def rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def gaussian(x: np.ndarray, z: np.ndarray, variance: float) -> np.ndarray:
    """Return the exact kernel of every row and every column, (n, m, d)."""
    return np.exp(-((x[:, None] - z[None]) ** 2) / (2 * variance))


def fourier(d: int, p: int, length_scale: float = 1.0, seed: int = 0) -> Any:
    key = jax.random.key(seed)
    return jax.jit(
        random_features.fourier_features(key, d, num_features=p, length_scale=length_scale)
    )


def single_columns(d: int, order: int = 100, variance: float = 0.15) -> Any:
    return jax.jit(hermite.hermite_features(d, order=order, variance=variance))


def product(pairs: list[list[int]], order: int = 40, variance: float = 0.15) -> Any:
    columns = jnp.asarray(pairs)
    return jax.jit(hermite.hermite_product_features(columns, order=order, variance=variance))


MAPS: dict[str, Callable[[int], Any]] = {
    "fourier": functools.partial(fourier, p=40),
    "sum": single_columns,
    "product": lambda d: product([[0, 1], [d - 1, 0], [1, 1]]),
}
