"""One movement of a batch at a time, against what each has to keep."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.images import siamese

IMAGES = np.random.default_rng(0).normal(size=(40, 10, 12, 3)).astype(np.float32)
KEY = jax.random.key(5)


def of(movement: str) -> np.ndarray:
    return np.asarray(getattr(siamese, f"_{movement}")(KEY, jnp.asarray(IMAGES), count=len(IMAGES)))


def test_colours_are_linear_in_an_image_and_keep_its_mean_but_for_brightness() -> None:
    found = of("coloured")
    brighter = (found - IMAGES).mean(axis=(1, 2, 3))
    assert brighter.min() < -0.4
    assert brighter.max() > 0.4
    assert np.abs(brighter).max() <= 0.5
    grey, before = found.mean(axis=3), IMAGES.mean(axis=3)
    for image, old in zip(grey, before, strict=True):
        slope, _ = np.polyfit(old.ravel(), image.ravel(), 1)
        assert 0.5 <= slope <= 1.5
        assert np.corrcoef(old.ravel(), image.ravel())[0, 1] > 0.999


def test_shifts_are_of_whole_pixels_and_at_most_an_eighth() -> None:
    seen = set()
    for image, old in zip(of("shifted"), IMAGES, strict=True):
        moves = [(i, j) for i in range(-1, 2) for j in range(-2, 3)]
        inner = {m: np.roll(old, m, (0, 1))[2:-2, 2:-2] for m in moves}
        found = [m for m, each in inner.items() if np.allclose(image[2:-2, 2:-2], each, atol=1e-5)]
        assert len(found) == 1
        seen.add(found[0])
    assert len(seen) > 5


def test_a_blanked_square_has_half_of_the_sides_and_the_mean() -> None:
    for image, old in zip(of("blanked"), IMAGES, strict=True):
        changed = np.any(image != old, axis=2)
        rows, columns = changed.any(axis=1).sum(), changed.any(axis=0).sum()
        assert rows <= 5
        assert columns <= 6
        assert changed.sum() == rows * columns
        np.testing.assert_allclose(image[changed], old.mean(), atol=1e-5)
    assert np.any(of("blanked") != IMAGES, axis=3).sum(axis=(1, 2)).max() == 30


def test_half_of_the_images_are_reflected() -> None:
    found = of("reflected")
    turned = [np.array_equal(image, old[:, ::-1]) for image, old in zip(found, IMAGES, strict=True)]
    kept = [np.array_equal(image, old) for image, old in zip(found, IMAGES, strict=True)]
    assert all(a != b for a, b in zip(turned, kept, strict=True))
    assert 8 < sum(turned) < 32


@pytest.mark.parametrize("movement", ["scaled", "rotated"])
def test_ramps_are_turned_and_stretched_within_limits(movement: str) -> None:
    """The slopes of a ramp tell the linear map."""
    rows, columns = np.mgrid[:21, :21].astype(np.float32)
    ramps = jnp.asarray(np.tile(np.stack([rows, columns], axis=-1), (200, 1, 1, 1)))
    found = np.asarray(getattr(siamese, f"_{movement}")(KEY, ramps, count=len(ramps)))[
        :, 8:13, 8:13
    ]
    down, right = np.diff(found, axis=1).mean(axis=(1, 2)), np.diff(found, axis=2).mean(axis=(1, 2))
    if movement == "rotated":
        degrees = np.rad2deg(np.arctan2(down[:, 1], down[:, 0]))
        assert np.abs(degrees).max() <= 15
        assert np.abs(degrees).max() > 12
        np.testing.assert_allclose(np.hypot(down[:, 0], down[:, 1]), 1.0, atol=1e-3)
        return
    np.testing.assert_allclose([down[:, 1], right[:, 0]], 0.0, atol=1e-4)
    factors = np.stack([down[:, 0], right[:, 1]])
    assert factors.min() >= 1 / 1.2 - 1e-3
    assert factors.max() <= 1.2 + 1e-3
    assert factors.min() < 0.87
    assert factors.max() > 1.15


def test_every_movement_is_drawn_and_digits_are_not_reflected() -> None:
    x = jnp.asarray(IMAGES[:4])
    changed = jax.jit(siamese.siamese_augmented, static_argnames="reflect")
    draw_keys = [jax.random.split(jax.random.key(seed)) for seed in range(60)]
    movements = ("coloured", "shifted", "blanked", "scaled", "rotated", "reflected")
    for reflect in (False, True):
        counts = dict.fromkeys(movements, 0)
        for seed, (_, draw_key) in enumerate(draw_keys):
            found = changed(jax.random.key(seed), x, reflect=reflect)
            for name in movements:
                expected = getattr(siamese, f"_{name}")(draw_key, x, count=len(x))
                counts[name] += bool(np.allclose(found, expected, atol=1e-5))
        assert (counts.pop("reflected") > 0) == reflect
        assert min(counts.values()) > 0


def test_images_that_are_moved_alike_stay_equal_in_any_batch() -> None:
    """Each movement moves copies of one image in the same way, in a batch of any size."""
    one = jnp.asarray(IMAGES[:1])
    changed = jax.jit(siamese.siamese_augmented, static_argnames=("reflect", "alike"))
    kinds = set()
    for seed in range(40):
        key = jax.random.key(seed)
        alone = np.asarray(changed(key, one, reflect=True, alike=True))
        both = np.asarray(changed(key, jnp.tile(one, (3, 1, 1, 1)), reflect=True, alike=True))
        np.testing.assert_allclose(both, np.tile(alone, (3, 1, 1, 1)), atol=1e-5)
        kinds.add(int(jax.random.randint(jax.random.split(key)[0], (), 0, 6)))
    assert kinds == set(range(6))
