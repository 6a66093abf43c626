"""Random Fourier and Hermite features against exact kernels, Hermite polynomials and loops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.features import fourier as random_features
from jaxdp.features import hermite

EXTREMES = [0.0, -0.0, -1.0, 3.7, -8.0, 12.3, -12.4, 13.5, -15.0, 40.0, -1e6, 1e6, 3e38, -3e38]


def rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def gaussian(x: np.ndarray, z: np.ndarray, variance: float) -> np.ndarray:
    """Return the exact kernel of every row and every column, (n, m, d)."""
    return np.exp(-((x[:, None] - z[None]) ** 2) / (2 * variance))


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


def fourier(d: int, p: int, length_scale: float = 1.0, seed: int = 0) -> Any:
    key = jax.random.key(seed)
    return jax.jit(
        random_features.fourier_features(key, d, num_features=p, length_scale=length_scale)
    )


def frequencies(features: Any, d: int, p: int) -> np.ndarray:
    """Return W (p / 2, d), from the sines of small inputs."""
    sines = np.asarray(features(np.eye(d, dtype=np.float32) * 0.01), np.float64)[:, p // 2 :]
    return np.arcsin(sines * math.sqrt(p / 2)).T / 0.01


def single_columns(d: int, order: int = 100, variance: float = 0.15) -> Any:
    return jax.jit(hermite.hermite_features(d, order=order, variance=variance))


def product(pairs: list[list[int]], order: int = 40, variance: float = 0.15) -> Any:
    columns = jnp.asarray(pairs)
    return jax.jit(hermite.hermite_product_features(columns, order=order, variance=variance))


MAPS: dict[str, Callable[[int], Any]] = {
    "fourier": functools.partial(fourier, p=40),
    "sum": single_columns,
    "product": lambda d: product([[0, 1], [d - 1, 0], [1, 1]]),
}


@pytest.mark.parametrize("length_scale", [0.5, 2.0])
def test_fourier_features_estimate_the_gaussian_kernel(length_scale: float) -> None:
    x = rows(6, 3).astype(np.float32)
    phi = np.asarray(fourier(3, 40000, length_scale)(x), np.float64)
    expected = gaussian(x, x, length_scale**2).prod(-1)
    # Off the diagonal an entry is a mean of 20000 cosines, each of variance at most 1.
    np.testing.assert_allclose(phi @ phi.T, expected, atol=4.5 / math.sqrt(20000))


def test_fourier_features_are_cosines_then_sines() -> None:
    x = rows(4, 3).astype(np.float32)
    features = fourier(3, 10)
    angles = x @ frequencies(features, 3, 10).T
    expected = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / math.sqrt(5)
    np.testing.assert_allclose(features(x), expected, atol=1e-5)


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


@pytest.mark.parametrize("name", MAPS)
def test_float32_equals_float64(name: str, float64: None) -> None:
    x = rows(5, 3).astype(np.float32)
    features = MAPS[name](3)
    narrow, wide = features(x), features(x.astype(np.float64))
    assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
    # phi_0 is rounded down by 104 epsilons of float32.
    np.testing.assert_allclose(narrow, wide, atol=2e-5)


@pytest.mark.parametrize("name", ["fourier", "product"])
def test_jit_equals_no_jit(name: str) -> None:
    x = jnp.asarray(rows(5, 3), jnp.float32)
    features = MAPS[name](3)
    np.testing.assert_allclose(features.__wrapped__(x), features(x), atol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_guarantee_norms_are_at_most_one(name: str) -> None:
    features = MAPS[name](3)
    grid = np.linspace(-15, 15, 999).reshape(-1, 3)
    extremes = np.stack(np.meshgrid(EXTREMES, EXTREMES, [0.3]), axis=-1).reshape(-1, 3)
    x = np.concatenate([rows(300, 3), 5 * rows(300, 3), grid, extremes]).astype(np.float32)
    phi = np.asarray(features(x), np.float64)
    norms = np.linalg.norm(phi, axis=1)
    assert np.all(norms <= 1 + 1e-6)
    if name == "fourier":
        assert np.all((np.abs(norms - 1) < 1e-6) | (norms == 0))
        assert np.all(norms[np.abs(x).max(1) < 1e30] > 0)


@pytest.mark.parametrize("order", [0, 5, 300])
@pytest.mark.parametrize("variance", [1e-4, 0.15, 10.0, 1e8])
def test_guarantee_hermite_norms_at_other_orders_and_variances(order: int, variance: float) -> None:
    scale = 13 * math.sqrt(1 + 2 * variance)
    x = np.linspace(-scale, scale, 5001, dtype=np.float32)[:, None]
    phi = np.asarray(single_columns(1, order, variance)(x), np.float64)
    assert np.all(np.linalg.norm(phi, axis=1) <= 1)
    assert np.any(phi != 0)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_guarantee_of_rows_that_are_not_finite(name: str, bad: float) -> None:
    x = np.full((2, 3), 0.5, np.float32)
    x[0] = bad
    phi = np.asarray(MAPS[name](3)(x))
    np.testing.assert_array_equal(phi[0], 0.0)
    assert np.any(phi[1] != 0)


def test_guarantee_fourier_mean_moves_by_at_most_two_over_n() -> None:
    d, p, n = 12, 8, 10
    features = fourier(d, p)
    x = rows(n, d).astype(np.float32)
    mean = np.asarray(features(x)).mean(0)
    moves = []
    for other in (rows(1, d, 1), 100 * rows(1, d, 2), np.zeros((1, d))):
        neighbour = np.concatenate([other, x[1:]]).astype(np.float32)
        moves.append(np.linalg.norm(features(neighbour).mean(0) - mean))
    assert max(moves) <= 2 / n
    # With more columns than frequencies some shift turns every angle by pi: phi' = -phi.
    shift = np.linalg.pinv(frequencies(features, d, p)) @ np.full(p // 2, np.pi)
    opposite = x.copy()
    opposite[0] += shift
    moved = np.linalg.norm(np.asarray(features(opposite)).mean(0) - mean)
    assert moved == pytest.approx(2 / n, rel=1e-4)
    removed = np.linalg.norm(features(x)[0] / n)
    assert removed == pytest.approx(1 / n, rel=1e-6)


MIXING = rows(6, 4, seed=1).astype(np.float32)


def waves_of_squares(num_features: int, length_scale: float = 0.7) -> Any:
    return jax.jit(
        random_features.directional_fourier_features(
            lambda x: jnp.concatenate([x, x**2], axis=1),
            jnp.asarray(MIXING),
            jax.random.key(0),
            num_features=num_features,
            length_scale=length_scale,
        )
    )


def test_directional_fourier_features_have_the_kernel_of_directions() -> None:
    x = rows(6, 3).astype(np.float32)
    g = np.concatenate([x, x**2], axis=1) @ MIXING
    u = g / np.linalg.norm(g, axis=1, keepdims=True)
    squares = np.sum((u[:, None] - u[None]) ** 2, axis=2)
    phi = np.asarray(waves_of_squares(40000)(x))
    np.testing.assert_allclose(phi @ phi.T, np.exp(-squares / (2 * 0.7**2)), atol=0.03)


def test_guarantee_directional_fourier_features_have_norm_at_most_one() -> None:
    features = waves_of_squares(8)
    x = np.concatenate([rows(300, 3), np.zeros((1, 3)), [EXTREMES[:3]]]).astype(np.float32)
    for scale in (1e-20, 1e-3, 1.0, 1e10, 1e30):
        norms = np.linalg.norm(np.asarray(features(x * np.float32(scale)), np.float64), axis=1)
        assert np.all(norms <= 1 + 1e-6)
    # A row without a direction has a gradient, and it is 0.
    gradient = jax.grad(lambda x: jnp.sum(features(x)))(jnp.zeros((1, 3)))
    np.testing.assert_array_equal(gradient, 0.0)


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


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", MAPS)
def test_gradients_equal_difference_quotients(name: str) -> None:
    features = MAPS[name](3)
    x, direction = rows(4, 3), rows(4, 3, 1)
    cotangent = np.random.default_rng(2).normal(size=features(x).shape)

    @jax.jit
    def value_and_slopes(t: float) -> Any:
        def value(t: Any) -> Any:
            return jnp.sum(features(x + t * direction) * cotangent)

        return value(t), jax.grad(value)(t), jax.jvp(value, (t,), (1.0,))[1]

    step = 1e-5
    difference = (value_and_slopes(step)[0] - value_and_slopes(-step)[0]) / (2 * step)
    for slope in value_and_slopes(0.0)[1:]:
        np.testing.assert_allclose(slope, difference, rtol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_gradients_are_finite_everywhere(name: str) -> None:
    features = MAPS[name](3)
    values = np.array([*EXTREMES, np.inf, np.nan], np.float32)
    x = np.stack([values, values[::-1], np.full_like(values, 0.3)], axis=1)
    assert np.all(np.isfinite(jax.jit(jax.grad(lambda x: jnp.sum(features(x))))(x)))
    weighted_sum = hermite.hermite_weighted_sum(3, order=100, variance=0.15)
    w = jnp.ones(len(x))
    assert np.all(np.isfinite(jax.jit(jax.grad(lambda x: jnp.sum(weighted_sum(x, w))))(x)))


def test_same_key_gives_the_same_features() -> None:
    x = rows(2, 3).astype(np.float32)
    np.testing.assert_array_equal(fourier(3, 4)(x), fourier(3, 4)(x))
    assert np.any(fourier(3, 4)(x) != fourier(3, 4, seed=1)(x))


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fourier(3, 5), "num_features must be even and >= 2, got 5"),
        (lambda: fourier(3, 0), "num_features must be even and >= 2, got 0"),
        (lambda: fourier(0, 4), "dim must be >= 1, got 0"),
        (lambda: fourier(3, 4, 0.0), "length_scale must be > 0 and finite, got 0.0"),
        (lambda: fourier(3, 4, math.inf), "length_scale must be > 0 and finite, got inf"),
        (lambda: fourier(3, 4)(np.zeros((2, 4), np.float32)), "rows of width 3, got 4"),
        (lambda: single_columns(0), "dim must be >= 1, got 0"),
        (lambda: single_columns(3, -1), "order must be >= 0, got -1"),
        (lambda: single_columns(3, 5, math.nan), "variance must be > 0 and finite, got nan"),
        (lambda: single_columns(3, 5)(np.zeros((2, 1), np.float32)), "rows of width 3, got 1"),
        (
            lambda: hermite.hermite_weighted_sum(3, order=5, variance=-1.0),
            "variance must be > 0 and finite, got -1.0",
        ),
        (lambda: product([[0, 1]], -2), "order must be >= 0, got -2"),
        (lambda: product([[0, -1]]), "columns must be >= 0, got -1"),
        (lambda: product([[0, 3]])(np.zeros((2, 3), np.float32)), "no column 3 in rows of width 3"),
        (lambda: hermite.random_pairs(jax.random.key(0), 1, 1), "dim >= 2"),
        (lambda: hermite.random_pairs(jax.random.key(0), 2, 0), "num_pairs >= 1"),
    ],
)
def test_bad_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_columns_of_another_shape_are_refused() -> None:
    # Beneath the run-time check of shapes, which would refuse them first.
    undecorated = getattr(
        hermite.hermite_product_features,
        "__wrapped__",
        hermite.hermite_product_features,
    )
    with pytest.raises(ValueError, match=r"columns must have shape \(pairs, 2\), got \(2, 3\)"):
        undecorated(jnp.zeros((2, 3), jnp.int32), order=1, variance=1.0)
