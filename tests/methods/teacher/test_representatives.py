"""Images that stand for their clusters."""

from __future__ import annotations

import numpy as np

from experiments.representatives import representatives


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
