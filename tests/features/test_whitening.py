"""Second moments and their inverse roots, against their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import whitening


def identity(rows: jax.Array) -> jax.Array:
    return rows


def test_second_moment_is_chunked() -> None:
    images = jax.random.normal(jax.random.key(0), (23, 5))
    expected = np.asarray(images.T @ images) / 23
    for chunk_size in (4, 23, 100):
        moment = whitening.second_moment(identity, images, chunk_size=chunk_size)
        np.testing.assert_allclose(moment, expected, rtol=1e-4, atol=1e-5)


def test_whitening_is_the_inverse_root() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    moment = root @ root.T
    gamma = 0.3
    w = np.asarray(whitening.whitening(jnp.asarray(moment, jnp.float32), gamma=gamma), np.float64)
    ridge = moment + gamma * np.trace(moment) / 6 * np.eye(6)
    np.testing.assert_allclose(w @ ridge @ w, np.eye(6), atol=1e-4)
    np.testing.assert_allclose(w, w.T, atol=1e-6)


def test_whitened_features_have_unit_second_moment() -> None:
    mix = jax.random.normal(jax.random.key(1), (4, 4))
    images = jax.random.normal(jax.random.key(0), (500, 4)) @ mix
    moment = whitening.second_moment(identity, images)
    white = whitening.transformed(identity, whitening.whitening(moment, gamma=1e-6))
    np.testing.assert_allclose(whitening.second_moment(white, images), np.eye(4), atol=1e-3)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf])
def test_whitening_needs_a_positive_gamma(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma"):
        whitening.whitening(jnp.eye(3), gamma=gamma)


def test_whitening_needs_a_moment() -> None:
    with pytest.raises(ValueError, match="second moment"):
        whitening.whitening(jnp.zeros((3, 3)), gamma=0.1)


@pytest.mark.parametrize(("num", "chunk_size"), [(0, 5), (4, 0)])
def test_second_moment_needs_images_and_chunks(num: int, chunk_size: int) -> None:
    with pytest.raises(ValueError, match="chunk_size"):
        whitening.second_moment(identity, jnp.zeros((num, 3)), chunk_size=chunk_size)


def kept_by(descriptions: list[dict[str, Any]]) -> whitening.Cached:
    def cached(
        what: dict[str, Any], compute: Callable[[whitening.Watch], np.ndarray]
    ) -> np.ndarray:
        descriptions.append(what)
        return compute(iter)

    return cached


def test_what_is_kept_is_told_apart_by_its_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that was kept for one gamma is no matrix of another one."""
    monkeypatch.setattr(whitening, "_NUM_IMAGES", 9)
    descriptions: list[dict[str, Any]] = []
    cached, drawn = (
        kept_by(descriptions),
        {(9, 4, 4, 1): jax.random.uniform(jax.random.key(0), (9, 16))},
    )
    found = [
        whitening.on_dead_leaves(
            identity, (4, 4, 1), gamma=gamma, what={"what": "pixels"}, cached=cached, drawn=drawn
        )
        for gamma in (0.1, 0.2)
    ]
    assert descriptions[0] != descriptions[1]
    for gamma, matrix in zip((0.1, 0.2), found, strict=True):
        moment = whitening.second_moment(identity, drawn[9, 4, 4, 1])
        np.testing.assert_allclose(matrix, whitening.whitening(moment, gamma=gamma), rtol=1e-5)


def test_maps_of_one_shape_are_measured_on_the_same_images(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def draw(key: jax.Array, count: int, shape: tuple[int, int, int], **_: Any) -> jax.Array:
        seen.append((count, *shape))
        return jax.random.uniform(key, (count, math.prod(shape)))

    monkeypatch.setattr(whitening, "dead_leaves_images", draw)
    monkeypatch.setattr(whitening, "_NUM_IMAGES", 50)
    drawn: whitening.Drawn = {}
    small, other, large = (3, 3, 1), (2, 3, 1), (64, 2, 1)
    # Few are drawn by themselves: a map does not depend on which maps were made before it.
    for shape, few in ((small, 0), (small, 0), (small, 1), (small, 1), (other, 1), (large, 0)):
        whitening.on_dead_leaves(
            lambda rows: rows[:, :3],
            shape,
            gamma=0.1,
            what={},
            cached=kept_by([]),
            drawn=drawn,
            few=bool(few),
        )
    assert seen == [(50, *small), (10, *small), (10, *other), (10, *large)]
    assert list(drawn) == seen[:3]  # larger ones are of one level alone
