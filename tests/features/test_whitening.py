"""Second moments and their inverse roots, against their definitions."""

from __future__ import annotations

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
