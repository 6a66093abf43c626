"""CutMix: rectangles of other images."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.images import cutmix


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("shape", [(12, 16, 3), (7, 5, 1)])
def test_every_image_has_one_rectangle_of_another(shape: tuple[int, int, int], dtype: type) -> None:
    height, width, _ = shape
    images = np.zeros((300, *shape), dtype)
    others = np.arange(1, 5, dtype=dtype)[:, None, None, None] * np.ones((4, *shape), dtype)
    mixed = cutmix(images, others, seed=0)
    assert mixed.dtype == dtype
    assert not images.any()
    sides = []
    for image in mixed:
        rows, cols = (np.flatnonzero(image.any(axis=axes)) for axes in ((1, 2), (0, 2)))
        part = image[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
        assert np.all(part == part[0, 0, 0])  # of one image, without a hole
        sides.append(part.shape[:2])
    least, most = np.min(sides, axis=0), np.max(sides, axis=0)
    np.testing.assert_array_equal(least, [max(1, height // 4), max(1, width // 4)])
    np.testing.assert_array_equal(most, [3 * height // 4, 3 * width // 4])
    corners = mixed[:, [0, 0, -1, -1], [0, -1, 0, -1]].any(axis=(0, 2))
    assert corners.all()  # rectangles reach every corner
    assert set(np.unique(mixed)) == {0, 1, 2, 3, 4}


def test_rectangles_stay_at_their_place() -> None:
    others = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)
    mixed = cutmix(np.full((50, 4, 6, 1), -1, np.float32), others, seed=1)
    changed = mixed != -1
    np.testing.assert_array_equal(mixed[changed], np.broadcast_to(others, mixed.shape)[changed])


def test_every_rectangle_is_of_an_image_of_its_own() -> None:
    others = np.arange(1, 101, dtype=np.float32)[:, None, None, None] * np.ones((100, 8, 8, 1))
    mixed = cutmix(np.zeros((200, 8, 8, 1)), others, rectangles=2, seed=0)
    found = [len(np.unique(image[image > 0])) for image in mixed]
    assert max(found) == 2  # the second one may cover the first
    assert np.mean(found) > 1.5
    first = cutmix(np.zeros((200, 8, 8, 1)), others, seed=0)
    kept = [np.isin(np.unique(a[a > 0]), b).all() for a, b in zip(first, mixed, strict=True)]
    assert np.mean(kept) > 0.5
    assert not cutmix(np.zeros((2, 8, 8, 1)), others, rectangles=0, seed=0).any()


def test_the_seed_says_what_is_drawn() -> None:
    images, others = np.zeros((20, 8, 8, 1)), np.ones((3, 8, 8, 1))
    first, again, other = (cutmix(images, others, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_images_of_one_pixel_are_replaced_and_none_are_none() -> None:
    others = np.ones((2, 1, 1, 3))
    np.testing.assert_array_equal(cutmix(np.zeros((3, 1, 1, 3)), others, seed=0), 1)
    assert cutmix(np.zeros((0, 1, 1, 3)), others, seed=0).shape == (0, 1, 1, 3)


def test_no_others_are_refused() -> None:
    with pytest.raises(ValueError, match="other images"):
        cutmix(np.zeros((3, 4, 4, 1)), np.zeros((0, 4, 4, 1)), seed=0)
