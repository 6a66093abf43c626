"""Augmented images against ones moved by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from jaxdp.images.augmentation import augmented

NOTHING = {"max_shift": 0.0, "max_scaling": 0.0, "max_rotation": 0.0}
IMAGES = np.random.default_rng(0).normal(size=(60, 9, 12, 2)).astype(np.float32)


def moved(images: np.ndarray, seed: int = 0, **limits: Any) -> np.ndarray:
    return np.asarray(augmented(jax.random.key(seed), jnp.asarray(images), **(NOTHING | limits)))


def test_without_room_nothing_moves() -> None:
    np.testing.assert_allclose(moved(IMAGES), IMAGES, atol=1e-6)


@pytest.mark.parametrize(
    ("limits"),
    [{"max_shift": 3.0}, {"max_scaling": 0.2}, {"max_rotation": 45.0}],
    ids=["shift", "scaling", "rotation"],
)
def test_about_a_third_of_the_images_moves_in_each_way(limits: dict[str, float]) -> None:
    found = moved(np.tile(IMAGES, (10, 1, 1, 1)), **limits)
    changed = np.any(np.abs(found - np.tile(IMAGES, (10, 1, 1, 1))) > 1e-4, axis=(1, 2, 3))
    assert 0.27 < changed.mean() < 0.40


def test_shifts_are_those_of_the_border_replicated() -> None:
    rows, columns = np.mgrid[:9, :12].astype(np.float32)
    ramps = np.tile(np.stack([rows, columns], axis=-1), (60, 1, 1, 1))
    found = moved(ramps, max_shift=4.0)
    middle = found[:, 4, 6] - ramps[:, 4, 6]  # minus the shift of each image
    assert np.all(np.abs(middle) <= 4)
    assert np.max(np.abs(middle)) > 3
    for image, ramp, shift in zip(found, ramps, middle, strict=True):
        expected = np.stack(
            [
                ndimage.shift(ramp[..., k], -shift, order=1, mode="nearest")
                for k in range(ramp.shape[-1])
            ],
            axis=-1,
        )
        np.testing.assert_allclose(image, expected, atol=1e-4)


def test_scaling_keeps_the_middle_and_stretches_distances() -> None:
    rows, columns = np.mgrid[:9, :11].astype(np.float32)
    ramps = np.tile(np.stack([rows, columns], axis=-1), (60, 1, 1, 1))
    found = moved(ramps, max_scaling=0.2)
    np.testing.assert_allclose(found[:, 4, 5], ramps[:, 4, 5], atol=1e-5)
    factors = 1 / np.stack(
        [found[:, 5, 5, 0] - found[:, 4, 5, 0], found[:, 4, 6, 1] - found[:, 4, 5, 1]], axis=1
    )
    assert np.all((factors >= 0.8 - 1e-5) & (factors <= 1.2 + 1e-5))
    assert np.max(factors) > 1.1
    assert np.min(factors) < 0.9
    assert np.any(np.abs(factors[:, 0] - factors[:, 1]) > 0.1)


def test_rotation_turns_about_the_middle() -> None:
    rows, columns = np.mgrid[:9, :9].astype(np.float32)
    ramps = np.tile(np.stack([rows, columns], axis=-1), (60, 1, 1, 1))
    found = moved(ramps, max_rotation=45.0)
    np.testing.assert_allclose(found[:, 4, 4], ramps[:, 4, 4], atol=1e-5)
    sideways = found[:, 4, 5] - found[:, 4, 4]  # where a step to the right comes from
    np.testing.assert_allclose(np.linalg.norm(sideways, axis=1), 1.0, atol=1e-5)
    degrees = np.rad2deg(np.arctan2(sideways[:, 0], sideways[:, 1]))
    assert np.all(np.abs(degrees) <= 45 + 1e-3)
    assert np.max(degrees) > 30
    assert np.min(degrees) < -30


def test_each_image_moves_in_its_own_way_and_a_key_fixes_it() -> None:
    same = np.tile(IMAGES[:1], (60, 1, 1, 1))
    limits = {"max_shift": 2.0, "max_scaling": 0.1, "max_rotation": 20.0}
    found = moved(same, **limits)
    assert len(np.unique(found.reshape(60, -1), axis=0)) == 60
    np.testing.assert_array_equal(found, moved(same, **limits))
    assert np.any(found != moved(same, seed=1, **limits))
