"""Candidates: drawn images first, and after them varied copies, each made from its own image."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.data import Codec
from jaxdp.methods.dp_ntk.labels import candidates
from jaxdp.methods.dp_ntk.labels.candidates import with_copies

BYTES = Codec(low=0.0, high=255.0, shift=0.0, scale=255.0)
FLOATS = Codec(low=-1.0, high=1.0, shift=0.0, scale=1.0, dtype="float32")


def drawn(channels: int, count: int = 60) -> np.ndarray:
    shape = (count, 12, 10, channels)
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_drawn_images_stay_and_copies_follow(channels: int) -> None:
    images = drawn(channels)
    found = with_copies(images, BYTES, 3, seed=0)
    assert found.shape == (180, 12, 10, channels)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[:60], images)
    changed = (found[60:] != np.tile(images, (2, 1, 1, 1))).any(axis=(1, 2, 3))
    assert changed.mean() > (0.95 if channels > 1 else 0.5)
    assert not np.array_equal(found[60:120], found[120:])
    np.testing.assert_array_equal(with_copies(images, BYTES, 1, seed=0), images)


def test_copies_are_varied_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flat images show no movement, and a rectangle of another as its level."""
    levels = np.random.default_rng(0).permutation(250)[:, None, None, None]
    flat = np.broadcast_to(levels, (250, 8, 8, 1)).astype(np.uint8)
    monkeypatch.setattr(candidates, "_PART", 70)
    copies = with_copies(flat, BYTES, 5, seed=0)[250:]
    numbers = [len(np.unique(image)) for image in copies]
    assert set(numbers) == {1, 2}
    assert np.mean(np.array(numbers) == 2) == pytest.approx(0.5, abs=0.06)
    # What is not of another image is of its own.
    for image, level in zip(copies, np.tile(levels.ravel(), 4), strict=True):
        assert level in image
    ramp = np.broadcast_to(np.arange(8, dtype=np.uint8)[:, None, None] * 30, (400, 8, 8, 1)).copy()
    monkeypatch.setattr(candidates, "_MIXED", (0.0, 0.0))
    moved = (with_copies(ramp, BYTES, 2, seed=0)[400:] != ramp).any(axis=(1, 2, 3))
    assert moved.mean() == pytest.approx(0.5, abs=0.08)


def test_half_of_the_rectangles_in_colour_come_from_dead_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Copies of flat images of one colour have others where something else hides them."""
    flat = np.full((400, 8, 8, 3), 90, np.uint8)
    monkeypatch.setattr(candidates, "colour_jittered", lambda unit, **_: unit)
    monkeypatch.setattr(candidates, "_leaves", lambda images, _: 0 * images[:50])
    copies = with_copies(flat, BYTES, 3, seed=0)[400:]
    hidden = (copies == 0).any(axis=(1, 2, 3))
    assert set(np.unique(copies)) == {0, 90}
    assert hidden.mean() == pytest.approx(0.4, abs=0.05)
    grey = with_copies(flat[..., :1], BYTES, 3, seed=0)
    assert np.all(grey == 90)


@pytest.mark.parametrize("codec", [BYTES, FLOATS])
def test_dead_leaves_are_stored_as_images_are(codec: Codec) -> None:
    like = codec.from_unit(np.zeros((7, 9, 40, 3), np.float32))
    found = candidates._leaves(like, codec)
    assert (found.shape, found.dtype) == (like.shape, like.dtype)
    unit = codec.to_unit(found)
    assert 0 <= unit.min() < 0.3 < 0.7 < unit.max() <= 1


def test_colours_change_and_values_stay_in_range() -> None:
    images = np.random.default_rng(0).uniform(-1, 1, (50, 6, 6, 3)).astype(np.float32)
    found = with_copies(images, FLOATS, 2, seed=0)
    assert found.dtype == np.float32
    assert found.min() >= -1
    assert found.max() <= 1
    assert (found[50:] != images).any(axis=(1, 2, 3)).all()


def test_the_seed_says_the_copies() -> None:
    images = drawn(1)
    first, again, other = (with_copies(images, BYTES, 2, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
