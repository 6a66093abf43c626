"""The images before the first step: noise of a public seed, and images that stand for clusters."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.images import Packing
from jaxdp.methods.teacher.settings import Settings
from jaxdp.methods.teacher.starts import initial_images, initial_support, representatives


def clusters(count: int) -> np.ndarray:
    """Two classes with `count` far clusters each, of 20 images around a middle one."""
    rng = np.random.default_rng(0)
    middles = 50.0 * rng.normal(size=(2, count, 1, 5))
    around = rng.normal(size=(2, count, 20, 5))
    around -= around.mean(axis=2, keepdims=True)
    around[:, :, 0] = 0  # still near the mean, and the nearest to it
    return (middles + around).reshape(2, -1, 5).astype(np.float32)


def test_every_cluster_is_represented_by_its_middle_image() -> None:
    images = clusters(3)
    found = representatives(images, 3, seed=0)
    for label in range(2):
        middles = images[label].reshape(3, 20, 5)[:, 0]
        of_class = found[3 * label : 3 * label + 3]
        assert {tuple(row) for row in of_class} == {tuple(row) for row in middles}


def test_representatives_are_images_and_all_different() -> None:
    images = np.random.default_rng(1).random((2, 30, 4)).astype(np.float32)
    found = representatives(images, 12, seed=0)
    assert len({tuple(row) for row in found}) == 24
    for label in range(2):
        given = {tuple(row) for row in images[label]}
        assert all(tuple(row) in given for row in found[12 * label : 12 * label + 12])


def test_all_images_may_be_asked_for() -> None:
    images = np.random.default_rng(1).random((2, 5, 4)).astype(np.float32)
    found = representatives(images, 5, seed=0)
    np.testing.assert_array_equal(np.sort(found[:5], axis=0), np.sort(images[0], axis=0))


@pytest.mark.parametrize(("mean", "smooth"), [(0.5, 0.0), (0.5, 1.5), (0.1, 2.0)])
def test_initial_images_are_noise_in_the_unit_range(mean: float, smooth: float) -> None:
    support = initial_images(
        jax.random.key(0),
        ipc=3,
        num_classes=10,
        image_shape=(16, 16, 3),
        mean=mean,
        scale=0.05,
        smooth=smooth,
    )
    assert support.x.shape == (30, 768)
    assert float(support.x.min()) >= 0
    assert float(support.x.max()) <= 1
    assert abs(float(jnp.mean(support.x)) - mean) < 0.01
    assert abs(float(jnp.std(support.x)) / 0.05 - 1) < 0.05
    images = np.asarray(support.x).reshape(-1, 16, 16, 3)
    neighbours = np.corrcoef(images[:, 1:].ravel(), images[:, :-1].ravel())[0, 1]
    assert (neighbours > 0.5) == (smooth > 0)
    np.testing.assert_array_equal(jnp.argmax(support.y, axis=1), np.repeat(np.arange(10), 3))
    np.testing.assert_allclose(jnp.sum(support.y, axis=1), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"ipc": 0}, "ipc >= 1"),
        ({"num_classes": 1}, "num_classes >= 2"),
        ({"smooth": -1.0}, "smooth"),
    ],
)
def test_impossible_starts_are_refused(changes: dict, match: str) -> None:
    values = {"ipc": 1, "num_classes": 2, "image_shape": (4, 5, 1)} | changes
    with pytest.raises(ValueError, match=match):
        initial_images(jax.random.key(0), **values)


@pytest.mark.parametrize(("channels", "grey"), [(1, 0.1), (3, 0.5)])
def test_blurs_are_dark_for_digits_and_grey_for_photographs(channels: int, grey: float) -> None:
    """A blur as dark as a digit's background leaves many photographs as noise."""
    spec = Spec.images("toy", (10, 16, 16, channels), class_names=["a", "b"])
    packing = Packing(image_shape=spec.image_shape, factor=2)
    settings = Settings(ipc=3)
    blurred, white = (
        initial_support(settings, spec, packing, blurred=blurred, images=None).x
        for blurred in (True, False)
    )
    assert blurred.shape == (2 * 3 * 4, 8 * 8 * channels)
    assert float(jnp.median(blurred)) == pytest.approx(grey, abs=0.05)

    def roughness(x: jax.Array) -> float:
        return float(jnp.std(jnp.diff(x.reshape(-1, 8, 8, channels), axis=1)) / jnp.std(x))

    assert roughness(blurred) < 0.8 * roughness(white)
