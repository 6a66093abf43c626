"""Noisy class means: against the definition, and the guarantee by attack."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import base as feature_maps
from jaxdp.methods.teacher.release import release_class_means
from jaxdp.privacy import accounting, class_sums
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import private_key

N, D, C = 30, 5, 3
FEATURES = feature_maps.unit_features(jnp.tanh, D)


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)).astype(np.float32), np.arange(N) % C


def means(
    x: np.ndarray,
    y: np.ndarray,
    *,
    noise: float = 0.0,
    seed: int = 0,
    features: feature_maps.FeatureMap = FEATURES,
) -> np.ndarray:
    chunks = class_sums.labelled_chunks(x, y, num_classes=C, chunk_size=7)
    released = release_class_means(
        private_key(seed),
        features,
        chunks,
        num_classes=C,
        num_examples=N,
        noise_multiplier=noise,
    )
    return np.asarray(released, np.float64)


def test_means_are_those_of_equally_large_classes() -> None:
    x, y = data()
    phi = np.tanh(x.astype(np.float64))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    expected = np.stack([phi[y == k].mean(axis=0) for k in range(C)])
    np.testing.assert_allclose(means(x, y), expected, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_guarantee_one_example_moves_the_sums_by_at_most_one(scale: float) -> None:
    """An example that is NaN counts as absent, as its features contribute exactly zero."""
    x, y = data()
    x[4] *= scale
    without = x.copy()
    without[4] = np.nan
    moved = np.linalg.norm(means(x, y) - means(without, y)) * N / C
    assert 0.999 < moved <= 1


def test_guarantee_noise_is_what_is_accounted() -> None:
    dim = 2000
    wide = feature_maps.unit_features(jnp.tanh, dim)
    x = np.random.default_rng(0).normal(size=(N, dim)).astype(np.float32)
    exact, first, second = (
        means(x, data()[1], noise=noise, seed=seed, features=wide)
        for noise, seed in ((0.0, 0), (2.0, 0), (2.0, 1))
    )
    for noise in (first - exact, second - exact):
        assert np.std(noise) * N / C == pytest.approx(2.0, rel=0.05)
    assert abs(np.corrcoef((first - exact).ravel(), (second - exact).ravel())[0, 1]) < 0.05
    mechanism = one_release(N, noise_multiplier=2.0)
    assert (mechanism.clip_norm, mechanism.sampling_rate, mechanism.num_steps) == (1.0, 1.0, 1)
    exact = accounting.gaussian_epsilon(2.0, delta=1e-5)
    assert exact * (1 - 1e-6) <= accounting.epsilon(mechanism, delta=1e-5) <= exact * 1.001
