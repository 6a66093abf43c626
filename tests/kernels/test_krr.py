"""Kernel ridge regression against NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.kernels import krr


def gram(s: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(s, 2 * s))
    return root @ root.T, rng.normal(size=(s, 3))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("ridge", [0.0, 1e-8, 1e-3, 1.0])
def test_fit_and_predict_match_numpy(ridge: float) -> None:
    k, y = gram()
    shift = ridge * np.trace(k) / len(k)
    want = np.linalg.solve(k + shift * np.eye(len(k)), y)
    alpha = krr.fit(jnp.asarray(k), jnp.asarray(y), ridge=ridge)
    np.testing.assert_allclose(alpha, want, rtol=1e-10)
    rows = np.random.default_rng(1).normal(size=(5, len(k)))
    np.testing.assert_allclose(krr.predict(jnp.asarray(rows), alpha), rows @ want, rtol=1e-9)


def test_fit_in_float32() -> None:
    k, y = gram()
    want = np.linalg.solve(k + 0.1 * np.trace(k) / len(k) * np.eye(len(k)), y)
    alpha = krr.fit(jnp.asarray(k, jnp.float32), jnp.asarray(y, jnp.float32), ridge=0.1)
    assert alpha.dtype == jnp.float32
    np.testing.assert_allclose(alpha, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_ridge_is_relative_to_the_mean_of_the_diagonal(factor: float) -> None:
    """Scaling the kernel scales the weights and leaves the predictions alone."""
    k, y = (jnp.asarray(z) for z in gram())
    alpha = krr.fit(k, y, ridge=0.3)
    scaled = krr.fit(factor * k, y, ridge=0.3)
    np.testing.assert_allclose(factor * scaled, alpha, rtol=1e-10)
    assert not np.allclose(alpha, krr.fit(k, y, ridge=0.6), rtol=0.01)


@pytest.mark.usefixtures("float64")
def test_without_ridge_the_labels_are_interpolated() -> None:
    k, y = (jnp.asarray(z) for z in gram())
    np.testing.assert_allclose(krr.predict(k, krr.fit(k, y, ridge=0.0)), y, rtol=1e-8)


@pytest.mark.parametrize(
    ("case", "ridge"), [("indefinite", 0.0), ("nan", 1e-3), ("inf", 1e-3), ("zero", 1.0)]
)
def test_not_positive_definite_raises_and_is_nan_inside_jit(case: str, ridge: float) -> None:
    k, y = (jnp.asarray(z, jnp.float32) for z in gram())
    k = {
        "indefinite": k - 100 * jnp.eye(8),
        "nan": k.at[2, 3].set(jnp.nan).at[3, 2].set(jnp.nan),
        "inf": k.at[2, 2].set(jnp.inf),
        "zero": 0 * k,
    }[case]
    with pytest.raises(krr.NotPositiveDefiniteError, match=rf"8 x 8 .* ridge {ridge:g} .*float32"):
        krr.fit(k, y, ridge=ridge)
    inside = jax.jit(lambda k, y: krr.fit(k, y, ridge=ridge))(k, y)
    assert np.all(np.isnan(inside))


def test_the_error_is_a_value_error() -> None:
    assert issubclass(krr.NotPositiveDefiniteError, ValueError)


def test_a_singular_matrix_is_saved_by_the_ridge() -> None:
    k, y = jnp.ones((8, 8)), jnp.asarray(gram()[1], jnp.float32)
    assert np.all(np.isfinite(krr.fit(k, y, ridge=1e-3)))


@pytest.mark.usefixtures("float64")
def test_jit_changes_nothing() -> None:
    k, y = (jnp.asarray(z) for z in gram())
    plain = krr.fit(k, y, ridge=1e-3)
    compiled = jax.jit(lambda k, y: krr.fit(k, y, ridge=1e-3))(k, y)
    np.testing.assert_allclose(compiled, plain, rtol=1e-10)


def test_accuracy() -> None:
    scores = jnp.array([[0.1, 0.9], [0.8, 0.2], [-3.0, -4.0], [0.0, 1e-3]])
    assert float(krr.accuracy(scores, jnp.array([1, 0, 0, 1]))) == 1.0
    assert float(krr.accuracy(scores, jnp.array([1, 1, 0, 0]))) == 0.5
    assert float(krr.accuracy(scores, jnp.array([0, 1, 1, 0]))) == 0.0
