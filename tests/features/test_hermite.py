"""Hermite features against exact kernels, Hermite polynomials and loops."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_maps import MAPS, gaussian, product, rows, single_columns

from jaxdp.features import hermite


def naive_hermite(x: np.ndarray, order: int, variance: float) -> np.ndarray:
    """Return Mehler's features from the polynomials themselves, (order + 1, *n)."""
    alpha = 1 / (2 * variance)
    rho = -1 / (2 * alpha) + math.sqrt(1 / alpha**2 + 4) / 2
    phi = []
    for k in range(order + 1):
        polynomial = np.polynomial.hermite.hermval(x, np.eye(order + 1)[k])
        scale = math.sqrt(rho**k / (2.0**k * math.factorial(k))) * (1 - rho**2) ** 0.25
        phi.append(scale * polynomial * np.exp(-rho * x**2 / (1 + rho)))
    return np.stack(phi)


def naive_recursion(x: np.ndarray, order: int, variance: float) -> np.ndarray:
    rho = math.sqrt(1 + variance**2) - variance
    phi = [(1 - rho**2) ** 0.25 * np.exp(-rho * x**2 / (1 + rho))]
    phi.append(math.sqrt(2 * rho) * x * phi[0])
    for k in range(1, order):
        up, down = math.sqrt(2 * rho / (k + 1)), rho * math.sqrt(k / (k + 1))
        phi.append(up * x * phi[k] - down * phi[k - 1])
    return np.stack(phi[: order + 1])


@pytest.mark.usefixtures("float64")
def test_hermite_functions_equal_polynomials_and_recursion() -> None:
    for variance, order in ((0.15, 60), (0.005, 60), (3.0, 7), (0.15, 1)):
        x = np.concatenate([rows(20, 1)[:, 0] * 2, [0.0, -5.0]])
        ours = single_columns(1, order, variance)(x[:, None]).T
        np.testing.assert_allclose(ours, naive_hermite(x, order, variance), atol=1e-12)
        np.testing.assert_allclose(ours, naive_recursion(x, order, variance), atol=1e-12)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("variance", [0.15, 1.0, 30.0])
def test_sum_features_give_the_mean_of_column_kernels(variance: float) -> None:
    x, z = rows(7, 5), rows(6, 5, seed=1)
    phi = single_columns(5, 100, variance)
    np.testing.assert_allclose(phi(x) @ phi(z).T, gaussian(x, z, variance).mean(-1), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(phi(x), axis=1), 1.0, atol=1e-5)


@pytest.mark.usefixtures("float64")
def test_too_low_an_order_loses_the_mass_the_spec_names() -> None:
    phi = single_columns(1, 100, 0.005)(np.zeros((1, 1)))
    assert np.sum(phi**2) == pytest.approx(0.69, abs=0.005)


@pytest.mark.usefixtures("float64")
def test_product_features_give_the_mean_of_pair_kernels() -> None:
    x, z = rows(7, 4) / 2, rows(6, 4, seed=1) / 2
    pairs = [[0, 1], [3, 2], [1, 3]]
    phi, k = product(pairs, 100), gaussian(x, z, 0.15)
    expected = np.mean([k[..., i] * k[..., j] for i, j in pairs], axis=0)
    np.testing.assert_allclose(phi(x) @ phi(z).T, expected, atol=1e-5)


def test_product_features_are_outer_products() -> None:
    x = rows(3, 4).astype(np.float32)
    phi = naive_hermite(x.astype(np.float64), 5, 0.15)
    expected = np.einsum("knr,lnr->nrkl", phi[..., [0, 3]], phi[..., [2, 1]]) / math.sqrt(2)
    ours = product([[0, 2], [3, 1]], 5)(x)
    np.testing.assert_allclose(ours, expected.reshape(3, -1), atol=1e-6)


@pytest.mark.parametrize("order", [0, 5, 300])
@pytest.mark.parametrize("variance", [1e-4, 0.15, 10.0, 1e8])
def test_guarantee_hermite_norms_at_other_orders_and_variances(order: int, variance: float) -> None:
    scale = 13 * math.sqrt(1 + 2 * variance)
    x = np.linspace(-scale, scale, 5001, dtype=np.float32)[:, None]
    phi = np.asarray(single_columns(1, order, variance)(x), np.float64)
    assert np.all(np.linalg.norm(phi, axis=1) <= 1)
    assert np.any(phi != 0)


@pytest.mark.parametrize("name", ["sum", "product"])
def test_guarantee_hermite_mean_moves_by_at_most_sqrt_two_over_n(name: str) -> None:
    n, features = 10, MAPS[name](3)
    x = np.concatenate([np.zeros((1, 3)), rows(n - 1, 3)]).astype(np.float32)
    mean = np.asarray(features(x)).mean(0)
    others = np.concatenate([rows(50, 3, 1), 4 * rows(50, 3, 2), np.full((1, 3), 1e6)])

    def moved(other: np.ndarray) -> float:
        neighbour = np.concatenate([other[None], x[1:]]).astype(np.float32)
        return float(np.linalg.norm(np.asarray(features(neighbour)).mean(0) - mean))

    assert max(map(moved, others)) <= math.sqrt(2) / n * (1 + 1e-6)
    # Two points far apart for the kernel, near enough for the order: orthogonal unit vectors.
    far = {"sum": 2.5, "product": 1.5}[name]
    assert moved(np.full(3, far)) == pytest.approx(math.sqrt(2) / n, rel=5e-3)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_guarantee_a_record_adds_its_weight_to_the_sum(shape: tuple[int, ...]) -> None:
    weighted_sum = jax.jit(hermite.hermite_weighted_sum(3, order=100, variance=0.15))
    x = rows(9, 3).astype(np.float32)
    w = np.random.default_rng(1).normal(size=(9, *shape)).astype(np.float32)
    without = w.copy()
    without[0] = 0.0
    for first in (np.zeros(3), np.full(3, 1e6), np.array([12.0, -0.5, np.nan])):
        x[0] = first
        moved = weighted_sum(x, w) - weighted_sum(x, without)
        assert np.linalg.norm(moved) <= np.linalg.norm(w[0])
    x[0] = 0.0
    moved = weighted_sum(x, w) - weighted_sum(x, without)
    assert np.linalg.norm(moved) == pytest.approx(np.linalg.norm(w[0]), rel=1e-4)
    expected = np.tensordot(single_columns(3)(x), w, axes=(0, 0))
    np.testing.assert_allclose(weighted_sum(x, w), expected, atol=1e-5)


@pytest.mark.usefixtures("float64")
def test_weighted_sum_and_gradients_equal_those_of_features() -> None:
    # 120 rows: two full chunks of the gradient and a part.
    x, w = rows(120, 4), rows(120, 3, 1)
    x[0, 0] = 1e6
    options: dict[str, Any] = {"order": 25, "variance": 0.15}
    weighted_sum = hermite.hermite_weighted_sum(4, **options)
    features = hermite.hermite_features(4, **options)
    cotangent = rows(26 * 4, 3, 2)

    @functools.partial(jax.jit, static_argnums=0)
    def both(function: Any, x: Any, w: Any) -> Any:
        value, pullback = jax.vjp(function, x, w)
        return value, *pullback(jnp.asarray(cotangent))

    expected = both(lambda x, w: jnp.tensordot(features(x), w, axes=(0, 0)), x, w)
    for ours, theirs in zip(both(weighted_sum, x, w), expected, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


def test_random_pairs_are_uniform_pairs_of_different_columns() -> None:
    pairs = np.asarray(hermite.random_pairs(jax.random.key(0), 3, 6000))
    assert pairs.shape == (6000, 2)
    counts = np.zeros((3, 3))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    np.testing.assert_array_equal(np.diag(counts), 0)
    off_diagonal = counts[~np.eye(3, dtype=bool)]
    assert np.all(np.abs(off_diagonal - 1000) < 5 * math.sqrt(1000))


def test_pairs_may_be_drawn_inside_a_compiled_function() -> None:
    x = rows(3, 5).astype(np.float32)

    @jax.jit
    def redrawn(key: Any, x: Any) -> Any:
        columns = hermite.random_pairs(key, 5, 2)
        return hermite.hermite_product_features(columns, order=4, variance=0.15)(x)

    key = jax.random.key(3)
    expected = product(np.asarray(hermite.random_pairs(key, 5, 2)).tolist(), 4)(x)
    np.testing.assert_allclose(redrawn(key, x), expected, atol=1e-6)


def test_columns_of_another_shape_are_refused() -> None:
    # Beneath the run-time check of shapes, which would refuse them first.
    undecorated = getattr(
        hermite.hermite_product_features,
        "__wrapped__",
        hermite.hermite_product_features,
    )
    with pytest.raises(ValueError, match=r"columns must have shape \(pairs, 2\), got \(2, 3\)"):
        undecorated(jnp.zeros((2, 3), jnp.int32), order=1, variance=1.0)
