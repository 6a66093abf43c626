"""Kernels against neural-tangents, closed forms, quadrature and samples."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fully_connected import FACTORIES, KINDS

from jaxdp import kernels

NO_NEURAL_TANGENTS = "neural-tangents is not installed (it needs jax < 0.6: `make test-nt`)"
GOLDEN = Path(__file__).parent / "golden" / "fc_kernels.npz"


def sines(x: np.ndarray, z: np.ndarray, weight_std: float, bias_std: float) -> np.ndarray:
    """Return the sines of the angles that the first layer sees, accurate for small ones too."""

    def units(rows: np.ndarray) -> np.ndarray:
        rows = rows.astype(np.longdouble) * (weight_std / rows.shape[1] ** 0.5)
        rows = np.concatenate([rows, np.full((len(rows), 1), bias_std, np.longdouble)], axis=1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1)

    u, v = units(x)[:, None], units(z)[None]
    half = np.arctan2(np.linalg.norm(u - v, axis=2), np.linalg.norm(u + v, axis=2))
    return np.abs(np.sin(2 * half)).astype(float)


def diagonal(x: np.ndarray, depth: int, weight_std: float, bias_std: float, kind: str) -> Any:
    """Return k(x, x), whose angles are all zero: the recursion in plain NumPy."""
    w, b = weight_std**2, bias_std**2
    k = w * np.sum(x.astype(np.float64) ** 2, axis=1) / x.shape[1] + b
    ntk = k
    for _ in range(depth):
        k = w * k / 2 + b
        ntk = k + w * ntk / 2
    return ntk if kind == "ntk" else k


def assert_matches_golden(dtype: Any, rtol: float) -> None:
    """Compare every golden entry, elementwise as far as an entry is above 5 % of its scale.

    The scale `sqrt(k(x, x) k(z, z))` matters for entries that nearly vanish (no bias, antipodal
    points). Where two points are nearly parallel an inner product knows their angle only up to
    `eps / angle` (at most `sqrt(eps)`), in neural-tangents as here; the tangent kernel inherits
    that error, and the tolerance grows by it.
    """
    golden = np.load(GOLDEN)
    x, z = golden["x"], golden["z"]
    eps = float(np.finfo(dtype).eps)
    compared = 0
    for (c, i, j), _ in np.ndenumerate(golden["cross"][..., 0, 0]):
        kind, depth = str(golden["kinds"][c]), int(golden["depths"][i])
        weight_std, bias_std = golden["stds"][j]
        kernel = FACTORIES[kind](
            depth=depth, weight_std=float(weight_std), bias_std=float(bias_std)
        )
        args = depth, weight_std, bias_std, kind
        for ours, want, left, right in (
            (kernel.cross(jnp.asarray(x, dtype), jnp.asarray(z, dtype)), "cross", x, z),
            (kernel.symmetric(jnp.asarray(x, dtype)), "symmetric", x, x),
        ):
            assert ours.dtype == dtype
            want = golden[want][c, i, j]
            scale = np.sqrt(np.outer(diagonal(left, *args), diagonal(right, *args)))
            sine = sines(left, right, weight_std, bias_std)
            relative = np.maximum(rtol, 10 * eps / np.maximum(sine, np.sqrt(eps)))
            error = np.abs(np.asarray(ours, np.float64) - want)
            assert np.all(error <= relative * np.maximum(np.abs(want), 0.05 * scale)), args
            compared += want.size
    assert compared == 2 * 4 * 4 * (8 * 10 + 8 * 8)


@pytest.mark.usefixtures("float64")
def test_matches_golden_in_float64() -> None:
    assert_matches_golden(jnp.float64, 1e-12)


def test_matches_golden_in_float32() -> None:
    assert_matches_golden(jnp.float32, 1e-5)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_without_bias_collinear_points_are_exact(kind: str, depth: int) -> None:
    """k(x, c x) = c k(x, x): better than neural-tangents, which is off by 1e-9 here."""
    x = np.random.default_rng(0).normal(size=(4, 12))
    kernel = FACTORIES[kind](depth=depth, weight_std=1.3, bias_std=0.0)
    want = diagonal(x, depth, 1.3, 0.0, kind)
    for c in (1.0, 3.7, 1e-6, 1e4):
        ours = np.diagonal(kernel.cross(jnp.asarray(x), jnp.asarray(c * x)))
        np.testing.assert_allclose(ours, c * want, rtol=1e-14)
    if depth == 1:
        ours = np.diagonal(kernel.cross(jnp.asarray(x), jnp.asarray(-x)))
        np.testing.assert_allclose(ours, 0.0, atol=1e-14 * want.max())


@pytest.mark.parametrize("kind", KINDS)
def test_matches_neural_tangents_where_it_imports(kind: str, float64: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stax = pytest.importorskip("neural_tangents.stax", reason=NO_NEURAL_TANGENTS)
        x, z = jnp.asarray(np.random.default_rng(1).normal(size=(2, 20, 30)))
        for depth, weight_std, bias_std in ((0, 1.0, 0.3), (1, 2**0.5, 0.1), (4, 1.5, 0.0)):
            dense = stax.Dense(1, W_std=weight_std, b_std=bias_std)
            kernel_fn = stax.serial(*[dense, stax.Relu()] * depth, dense)[2]
            theirs = kernels.from_neural_tangents(kernel_fn, get=kind)
            ours = FACTORIES[kind](depth=depth, weight_std=weight_std, bias_std=bias_std)
            # Elementwise but for entries near zero, inner products that happen to cancel. On the
            # diagonal theirs is off by up to 1e-8.
            off = ~np.eye(20, dtype=bool)
            close = {"rtol": 1e-12, "atol": 1e-13}
            np.testing.assert_allclose(ours.cross(x, z), theirs.cross(x, z), **close)
            a, b = np.asarray(ours.symmetric(x)), np.asarray(theirs.symmetric(x))
            np.testing.assert_allclose(a[off], b[off], **close)
            np.testing.assert_allclose(np.diagonal(a), np.diagonal(b), rtol=1e-7)
            loss = {
                name: jax.grad(lambda q, k=k: jnp.sum(jnp.sin(k.cross(q, z))))(x)
                for name, k in (("ours", ours), ("theirs", theirs))
            }
            np.testing.assert_allclose(loss["ours"], loss["theirs"], rtol=1e-9, atol=1e-12)


def test_neural_tangents_convolutional_kernel() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stax = pytest.importorskip("neural_tangents.stax", reason=NO_NEURAL_TANGENTS)
        layers = stax.Conv(1, (3, 3)), stax.Relu(), stax.Flatten(), stax.Dense(1)
        kernel_fn = stax.serial(*layers)[2]
        kernel = kernels.from_neural_tangents(kernel_fn, input_shape=(4, 4, 3))
        x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 48)), jnp.float32)
        images = x.reshape(3, 4, 4, 3)
        np.testing.assert_array_equal(kernel.cross(x, x[:2]), kernel_fn(images, images[:2], "ntk"))
        assert kernel.symmetric(x).shape == (3, 3)


def test_from_neural_tangents_asks_for_the_right_thing() -> None:
    calls = []

    def kernel_fn(x1: Any, x2: Any, get: str) -> Any:
        calls.append((x1.shape, None if x2 is None else x2.shape, get))
        x2 = x1 if x2 is None else x2
        return jnp.sum(x1[:, None] * x2[None], axis=range(2, x1.ndim + 1))

    x = jnp.arange(24.0).reshape(2, 12)
    rows = kernels.from_neural_tangents(kernel_fn)
    np.testing.assert_allclose(rows.cross(x, x[:1]), x @ x[:1].T)
    images = kernels.from_neural_tangents(kernel_fn, get="nngp", input_shape=(2, 2, 3))
    np.testing.assert_allclose(images.symmetric(x), x @ x.T)
    assert calls == [((2, 12), (1, 12), "ntk"), ((2, 2, 2, 3), None, "nngp")]
    assert rows.dot_product is None
    with pytest.raises(ValueError, match="'cntk'"):
        kernels.from_neural_tangents(kernel_fn, get="cntk")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_diagonal_is_exact_and_the_matrix_symmetric(kind: str, dtype: Any, float64: None) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 100)) * 10.0 ** rng.uniform(-6, 4, size=(40, 1))
    x[3] = 0
    x = np.asarray(x, dtype)
    kernel = FACTORIES[kind](depth=2, weight_std=1.4, bias_std=0.2)
    k = np.asarray(jax.jit(kernel.symmetric)(jnp.asarray(x)))
    assert k.dtype == dtype
    want = diagonal(x, 2, 1.4, 0.2, kind)
    np.testing.assert_allclose(np.diagonal(k), want, rtol=30 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(k, k.T)
    off = ~np.eye(40, dtype=bool)
    cross = np.asarray(jax.jit(kernel.cross)(jnp.asarray(x), jnp.asarray(x)))
    np.testing.assert_allclose(k[off], cross[off], rtol=3e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float32, 1e-5), (jnp.float64, 1e-12)])
def test_positive_semi_definite(kind: str, dtype: Any, tolerance: float, float64: None) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 8))
    x[20:25], x[25:28], x[28] = x[:5], -x[5:8], 0
    for bias_std in (0.0, 0.1):
        kernel = FACTORIES[kind](depth=2, bias_std=bias_std)
        k = np.asarray(jax.jit(kernel.symmetric)(jnp.asarray(x, dtype)), np.float64)
        eigenvalues = np.linalg.eigvalsh(k)
        assert eigenvalues[0] >= -tolerance * eigenvalues[-1]
        assert eigenvalues[15] > 1e-4 * eigenvalues[-1]  # the matrix is not trivially definite


COVARIANCES = [
    (0.3, 1.0, 1.0),
    (-0.9, 1.0, 2.0),
    (1.5, 2.0, 3.0),
    (2.0, 2.0, 2.0),
    (-2.0, 2.0, 2.0),
    (0.0, 5.0, 0.1),
    (0.999, 1.0, 1.0),
]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_relu_expectations_match_quadrature(covariance: tuple[float, float, float]) -> None:
    """In polar coordinates only the angle is left to integrate, by the trapezoid rule."""
    k, kx, kz = covariance
    arguments = [jnp.asarray(value) for value in covariance]
    theta = np.arccos(np.clip(k / np.sqrt(kx * kz), -1, 1))
    phi = np.linspace(0, 2 * np.pi, 2_000_001)[:-1]
    u, v = np.cos(phi), np.cos(phi - theta)
    product = np.mean(np.maximum(u, 0) * np.maximum(v, 0)) * 2 * np.sqrt(kx * kz)
    np.testing.assert_allclose(kernels.relu_covariance(*arguments), product, rtol=1e-9, atol=1e-9)
    both = np.mean((u > 0) & (v > 0))
    ours = kernels.relu_derivative_covariance(*arguments)
    np.testing.assert_allclose(ours, both, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES[:3])
def test_relu_expectations_match_monte_carlo(covariance: tuple[float, float, float]) -> None:
    k, kx, kz = covariance
    samples = np.random.default_rng(0).multivariate_normal([0, 0], [[kx, k], [k, kz]], 400_000)
    u, v = samples.T
    for function, values in (
        (kernels.relu_covariance, np.maximum(u, 0) * np.maximum(v, 0)),
        (kernels.relu_derivative_covariance, (u > 0) * (v > 0.0)),
    ):
        standard_error = values.std() / np.sqrt(len(values))
        ours = function(*(jnp.asarray(value) for value in covariance))
        assert abs(ours - values.mean()) < 4 * standard_error
        assert standard_error < 0.01 * values.mean() + 0.001  # and so the test has power


@pytest.mark.parametrize("kind", KINDS)
def test_jit_changes_nothing(kind: str) -> None:
    x, z = jnp.asarray(np.random.default_rng(0).normal(size=(2, 7, 20)), jnp.float32)
    kernel = FACTORIES[kind]()
    for compiled, plain in (
        (jax.jit(kernel.cross)(x, z), kernel.cross(x, z)),
        (jax.jit(kernel.symmetric)(x), kernel.symmetric(x)),
    ):
        np.testing.assert_allclose(compiled, plain, rtol=1e-5)


def test_defaults_are_one_hidden_layer_with_standard_deviations_root_two_and_a_tenth() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7)), jnp.float32)
    for factory in FACTORIES.values():
        explicit = factory(depth=1, weight_std=2**0.5, bias_std=0.1)
        np.testing.assert_array_equal(factory().symmetric(x), explicit.symmetric(x))


@pytest.mark.parametrize("factory", FACTORIES.values())
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("depth", -1),
        ("weight_std", 0.0),
        ("weight_std", -1.0),
        ("weight_std", float("nan")),
        ("bias_std", -0.1),
        ("bias_std", float("nan")),
    ],
)
def test_bad_arguments_are_refused(factory: Any, argument: str, value: float) -> None:
    with pytest.raises(ValueError, match=argument):
        factory(**{argument: value})


@pytest.mark.usefixtures("float64")
def test_from_features() -> None:
    rng = np.random.default_rng(0)
    x, z, w = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=(3, 6))
    kernel = kernels.from_features(lambda rows: jnp.tanh(rows @ w))
    phi_x, phi_z = np.tanh(x @ w), np.tanh(z @ w)
    x, z = jnp.asarray(x), jnp.asarray(z)
    np.testing.assert_allclose(kernel.cross(x, z), phi_x @ phi_z.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.symmetric(x), phi_x @ phi_x.T, rtol=1e-12, atol=1e-14)
    assert kernel.dot_product is None


def test_inner_products_and_squared_norms() -> None:
    x, z = jnp.asarray(np.random.default_rng(0).normal(size=(2, 4, 9)), jnp.float32)
    np.testing.assert_allclose(kernels.inner_products(x, z), x @ z.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(kernels.squared_norms(x), np.sum(x**2, axis=1), rtol=1e-6)


def test_unit_scale_divides_by_the_norm_on_probes() -> None:
    probes = jnp.array([[3.0, 4.0], [0.0, 5.0]])
    features = kernels.unit_scale(lambda rows: 2 * rows, probes)
    np.testing.assert_allclose(features(jnp.array([[1.0, -2.0]])), [[0.2, -0.4]], rtol=1e-6)


def test_the_same_numbers_have_the_same_kernel() -> None:
    """So jax knows what it has compiled: a kernel is static in programs of its user."""
    traced = []

    @functools.partial(jax.jit, static_argnums=0)
    def gram(kernel: kernels.Kernel, x: jax.Array) -> jax.Array:
        traced.append(kernel)
        return kernel.symmetric(x)

    for factory in (kernels.linear, kernels.fc_ntk, kernels.fc_nngp):
        for _ in range(3):
            gram(factory(), jnp.eye(2))
    assert len(traced) == 3
    assert kernels.fc_ntk(depth=2, bias_std=0.5) is kernels.fc_ntk(depth=2, bias_std=0.5)
    assert kernels.fc_ntk(depth=2) is not kernels.fc_ntk(depth=1)
    assert kernels.fc_ntk() is not kernels.fc_nngp()


def test_numbers_without_a_hash_make_a_kernel() -> None:

    class Unhashed(float):
        __hash__ = None  # type: ignore[assignment]

    made = kernels.fc_ntk(bias_std=Unhashed(0.5))
    np.testing.assert_allclose(
        made.symmetric(jnp.eye(2)), kernels.fc_ntk(bias_std=0.5).symmetric(jnp.eye(2)), rtol=1e-6
    )
