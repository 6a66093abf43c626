"""What --kernel=scatter sees of an image."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.methods.dp_kip.kernels import KERNELS, KernelOptions
from jaxdp.methods.settings import SettingsError

pytestmark = pytest.mark.usefixtures("few_public_images")

COLOUR = Spec.images("toy", (10, 16, 16, 3), class_names=["a", "b"])


def gram(rows: jax.Array, **asked: Any) -> np.ndarray:
    options = KernelOptions(
        kernel="scatter", **({"scatter_scales": 1, "scatter_angles": 8, "whiten": 1.0} | asked)
    )
    return np.asarray(jax.jit(KERNELS["scatter"].build(options, COLOUR, 0).symmetric)(rows))


def squared_distance(kernel: np.ndarray) -> float:
    return float(kernel[0, 0] + kernel[1, 1] - 2 * kernel[0, 1])


def test_what_normalising_by_group_takes_away_is_beside_it() -> None:
    image = jax.random.uniform(jax.random.key(0), (256, 3), minval=-0.5, maxval=0.5)
    mixed = jax.random.permutation(jax.random.key(1), image)  # of the same brightness
    rows = jnp.stack([image, image + 0.4, mixed]).reshape(3, -1)
    by_group = gram(rows, scatter_norm="group")
    beside = (gram(rows, scatter_norm="group_and_brightness") - 0.95 * by_group) / 0.05
    np.testing.assert_allclose(beside[2], beside[0], atol=1e-3)
    assert squared_distance(by_group) < 1e-3 < 0.1 < squared_distance(beside)


def test_brightness_beside_needs_whitened_features() -> None:
    rows = jnp.ones((1, COLOUR.dim))
    with pytest.raises(SettingsError, match="--whiten"):
        gram(rows, scatter_norm="group_and_brightness", whiten=0.0)
