"""Synthetic images: what they look like to statistics, and that they are the same every time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import public_images
from jaxdp.features.public_images import dead_leaves_images


def test_they_are_images_and_repeatable() -> None:
    shape = (6, 8, 3)
    images = dead_leaves_images(jax.random.key(0), 50, shape)
    assert images.shape == (50, 6 * 8 * 3)
    assert images.dtype == jnp.float32
    assert float(images.min()) >= 0
    assert float(images.max()) <= 1
    np.testing.assert_array_equal(images, dead_leaves_images(jax.random.key(0), 50, shape))
    assert len(np.unique(images, axis=0)) == 50


def test_one_leaf_is_a_disc() -> None:
    images = dead_leaves_images(jax.random.key(0), 100, (16, 16, 1), num_leaves=1, radii=(3.0, 3.0))
    covered = [256 - np.unique(row, return_counts=True)[1].max() for row in np.asarray(images)]
    # A disc of radius 3 whose centre is within the image, and half a pixel of soft edge.
    assert np.pi * 3**2 < max(covered) < np.pi * 3.8**2


def test_leaves_have_edges() -> None:
    """Differences of neighbours are mostly none, and sometimes large; Gaussian ones have 3."""
    images = dead_leaves_images(jax.random.key(0), 200, (32, 32, 1)).reshape(-1, 32, 32)
    difference = np.diff(images, axis=2).ravel()
    assert np.mean(difference**4) / np.mean(difference**2) ** 2 > 6


def test_leaves_have_the_contrast_and_the_colours_asked_for() -> None:
    """One pixel of many images: edges are soft, so neighbours are mixed."""
    images = dead_leaves_images(jax.random.key(0), 4000, (1, 1, 3), num_leaves=1, contrast=0.05)
    pixels = np.asarray(images).reshape(-1, 3) - 0.5
    luminance = pixels.mean(axis=1)
    red_blue, green = (pixels[:, 0] - pixels[:, 2]) / 2, pixels[:, 1] - luminance
    for channel, expected in ((luminance, 1.0), (red_blue, 0.35), (green, 4 / 3 * 0.2)):
        assert abs(np.std(channel) / (0.05 * expected) - 1) < 0.05
    assert np.abs(np.corrcoef([luminance, red_blue, green]) - np.eye(3)).max() < 0.1


@pytest.mark.parametrize(
    ("num", "shape", "match"), [(0, (8, 8, 1), "num_images"), (1, (8, 8, 2), "channels")]
)
def test_impossible_images_are_refused(num: int, shape: tuple, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        dead_leaves_images(jax.random.key(0), num, shape)


@pytest.mark.parametrize(
    "changes", [{"num_leaves": 0}, {"radii": (0.0, 1.0)}, {"radii": (3.0, 2.0)}]
)
def test_impossible_leaves_are_refused(changes: dict) -> None:
    with pytest.raises(ValueError, match="num_leaves"):
        dead_leaves_images(jax.random.key(0), 1, (8, 8, 1), **changes)


def test_images_are_painted_in_the_order_of_their_keys() -> None:
    """They are painted some hundreds at a time, of which the last may be fewer."""
    key, num, shape = jax.random.key(3), public_images._IMAGE_CHUNK + 2, (5, 4, 1)
    images = dead_leaves_images(key, num, shape, num_leaves=3)
    keys = jax.random.split(key, num)
    for i in (0, public_images._IMAGE_CHUNK - 1, num - 2, num - 1):
        alone = public_images._paint_leaves(keys[i : i + 1], shape, 3, (1.0, 16.0), 0.25)
        np.testing.assert_allclose(images[i], alone[0], atol=1e-6)
