"""Random colours of images."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.images import colour_jittered


@pytest.mark.parametrize("channels", [1, 3])
def test_means_move_by_tint_and_brightness_and_the_rest_by_contrast(channels: int) -> None:
    rng = np.random.default_rng(0)
    # So little contrast that nothing leaves [0, 1].
    images = rng.uniform(0.45, 0.55, (500, 6, 5, channels)).astype(np.float32)
    changed = colour_jittered(images, seed=1)
    assert changed.dtype == np.float32
    means, moved = images.mean(axis=(1, 2)), changed.mean(axis=(1, 2))
    inner, before = changed - moved[:, None, None], images - means[:, None, None]
    contrasts = (inner * before).sum(axis=(1, 2, 3)) / (before**2).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(inner, contrasts[:, None, None, None] * before, atol=1e-5)
    np.testing.assert_allclose([contrasts.min(), contrasts.max()], [0.5, 1.8], atol=0.02)
    shifts = moved - means
    tinted = 0.3 * means.max()
    assert np.abs(shifts).max() <= 0.16 + tinted
    assert shifts.min() < -0.16
    assert shifts.max() > 0.16
    if channels == 3:  # tints differ, brightness does not
        assert np.std(shifts - shifts.mean(axis=1, keepdims=True)) > 0.05


def test_values_stay_in_range_and_images_as_they_were() -> None:
    images = np.random.default_rng(0).integers(0, 2, (50, 4, 4, 3)).astype(np.float32)
    before = images.copy()
    changed = colour_jittered(images, seed=0)
    np.testing.assert_array_equal(images, before)
    assert changed.min() == 0
    assert changed.max() == 1


def test_the_seed_says_the_colours() -> None:
    images = np.full((10, 3, 3, 3), 0.5, np.float32)
    first, again, other = (colour_jittered(images, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first[:, 0, 0, 0])) == 10


def test_no_images_are_none() -> None:
    assert colour_jittered(np.zeros((0, 4, 4, 3), np.float32), seed=0).shape == (0, 4, 4, 3)
