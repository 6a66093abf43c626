"""Empirical NTK: factorised Gram matrices and norms against all gradients, formed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import kernels
from jaxdp.kernels import empirical
from jaxdp.networks import classifiers, gradients
from jaxdp.numerics import ByBackend

QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

pytestmark = pytest.mark.usefixtures("float64")


class TinyResNet(nn.Module):
    """Stem, normalisation, pooling and a residual block, like ResNet-18."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.Conv(4, (3, 3), (2, 2), use_bias=False, dtype=x.dtype)(x)
        x = nn.relu(nn.GroupNorm(2, dtype=x.dtype)(x))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        x = classifiers.ResidualBlock(8, stride=2)(x)
        return nn.Dense(3, dtype=x.dtype)(jnp.mean(x, axis=(1, 2)))


class Odd(nn.Module):
    """A layer called twice, a tied kernel, dense layers on maps and layers that are not plain."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        twice = nn.Dense(4)
        x = nn.tanh(nn.Dense(4)(x))
        x = twice(nn.tanh(twice(x)))
        x = nn.Conv(4, (2, 3), strides=(1, 2), padding=((1, 0), 1), feature_group_count=2)(x)
        x = nn.tanh(nn.Conv(3, (2, 2), strides=2, padding=((1, 0), (0, 2)))(x))
        x = x * self.param("scale", nn.initializers.normal(), (3,))
        return nn.Dense(2, use_bias=False)(x.reshape(x.shape[0], -1))


class Small(nn.Module):
    """A convolution that is formed and a dense layer that is not."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.tanh(nn.Conv(2, (2, 2), dtype=x.dtype)(x))
        return nn.Dense(2, dtype=x.dtype)(x.reshape(x.shape[0], -1))


NETWORKS: dict[str, tuple[nn.Module, tuple[int, int, int]]] = {
    "lenet": (classifiers.LeNet(3), (8, 8, 1)),
    "resnet": (TinyResNet(), (16, 16, 1)),
    "odd": (Odd(), (4, 4, 2)),
    "small": (Small(), (3, 3, 1)),
}


@functools.cache
def parameters(name: str) -> Any:
    """Return parameters away from biases of 0 and scales of 1, which could hide a term."""
    net, shape = NETWORKS[name]
    rng = np.random.default_rng(0)

    def leaf(path: Any, struct: jax.ShapeDtypeStruct) -> jax.Array:
        noise = rng.normal(size=struct.shape) * struct.size**-0.25
        return jnp.asarray(noise + (path[-1].key == "scale"), struct.dtype)

    image = jax.ShapeDtypeStruct((1, *shape), jnp.float32)
    params = jax.eval_shape(net.init, jax.random.key(0), image)
    return jax.tree_util.tree_map_with_path(leaf, params)


def case(name: str) -> tuple[kernels.Kernel, Callable[[Any], Any], jax.Array]:
    net, shape = NETWORKS[name]
    params = parameters(name)
    features = empirical.entk_features(net.apply, params, image_shape=shape)
    x = np.random.default_rng(1).normal(size=(5, int(np.prod(shape))))
    return empirical.entk(net.apply, params, shape), features, jnp.asarray(x)


@pytest.mark.parametrize("name", ["lenet", "resnet", "odd"])
def test_gram_matrix_and_gradient_equal_those_of_the_formed_features(name: str) -> None:
    kernel, features, x = case(name)
    weights = jnp.asarray(np.random.default_rng(2).normal(size=(3, 3)))

    def evaluate(kernel: kernels.Kernel) -> Any:
        def loss(z: jax.Array) -> Any:
            k_ss = kernel.symmetric(z)
            return jnp.sum(weights * k_ss), k_ss

        return jax.jit(jax.grad(loss, has_aux=True), compiler_options=QUICK)(x[:3])

    ours, theirs = evaluate(kernel), evaluate(kernels.from_features(features))
    for got, want in zip(ours, theirs, strict=True):
        assert got.dtype == jnp.float64
        assert float(jnp.max(jnp.abs(want))) > 1e-3
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * np.abs(want).max())


@pytest.mark.parametrize("chunk", [64, 2])
def test_all_arguments_and_results_in_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both Gram matrices, their gradients, and norms; 5 rows are two chunks of 2 and a row."""
    kernel, features, x = case("small")
    net, shape = NETWORKS["small"]
    monkeypatch.setattr(gradients, "ROWS_AT_ONCE", ByBackend(chunk, chunk))

    def evaluate(kernel: kernels.Kernel) -> Any:
        def loss(x: jax.Array) -> Any:
            k_ts, k_ss = kernel.cross(x, x[::2]), kernel.symmetric(x)
            return jnp.sum(jnp.sin(k_ts)) + jnp.sum(k_ss**2), (k_ts, k_ss)

        return jax.jit(jax.grad(loss, has_aux=True), compiler_options=QUICK)(x)

    ours, theirs = evaluate(kernel), evaluate(kernels.from_features(features))
    for got, want in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * np.abs(want).max())
    k_ss = ours[1][1]
    np.testing.assert_array_equal(k_ss, k_ss.T)
    norms = jax.jit(
        lambda x: gradients.entk_norms(net.apply, parameters("small"), x, image_shape=shape),
        compiler_options=QUICK,
    )
    np.testing.assert_allclose(norms(x), np.sqrt(np.diagonal(k_ss)), rtol=1e-12)


def dense(d: int, features: int) -> dict[str, jax.Array]:
    rng = np.random.default_rng(d)
    return {"kernel": jnp.asarray(rng.normal(size=(d, features))), "bias": jnp.ones(features) / 8}


def test_features_are_the_closed_form_of_one_hidden_layer() -> None:
    """With `h = relu(W x + b)`, `delta = relu' * V 1`: grads `delta, x delta^T, 1, h 1^T`."""
    net = nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(3)])
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 5)))
    first, last = dense(5, 4), dense(4, 3)
    params = {"params": {"layers_0": first, "layers_2": last}}
    features = empirical.entk_features(net.apply, params)
    phi = jax.jit(features, compiler_options=QUICK)(x)
    for row, got in zip(np.asarray(x), phi, strict=True):
        a = row @ np.asarray(first["kernel"]) + np.asarray(first["bias"])
        h, delta = np.maximum(a, 0), (a > 0) * np.sum(np.asarray(last["kernel"]), axis=1)
        parts = delta, np.outer(row, delta), np.ones(3), np.outer(h, np.ones(3))
        np.testing.assert_allclose(got, np.concatenate([p.reshape(-1) for p in parts]), rtol=1e-12)


def test_layers_take_their_cheaper_form() -> None:
    """Dense layers and late convolutions stay factors, so little is formed."""
    net, image = classifiers.ResNet18(10), jnp.zeros((1, 32, 32, 3), jnp.float32)
    params = jax.eval_shape(net.init, jax.random.key(0), image)
    compact = jax.eval_shape(
        lambda params, image: gradients.compact_gradient(net.apply, params, image), params, image
    )
    shapes = {(*pair.a.shape, pair.delta.shape[1]) for pair in compact.factors}
    # All of the last two stages, their shortcuts (fan-in 128 and 256), and the dense layer.
    third = {(4, 1152, 256), (4, 2304, 256), (4, 128, 256)}
    fourth = {(1, 2304, 512), (1, 4608, 512), (1, 256, 512)}
    assert shapes == {(1, 512, 10), *third, *fourth}
    formed = sum(leaf.size for leaf in jax.tree.leaves(compact))
    everything = sum(leaf.size for leaf in jax.tree.leaves(params))
    assert (formed, everything) == (748_116, 11_181_642)


def test_float32_agrees_with_float64() -> None:
    kernel, _, x = case("small")
    symmetric = jax.jit(kernel.symmetric, compiler_options=QUICK)
    single = symmetric(x.astype(jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, want := symmetric(x), atol=1e-5 * float(jnp.max(want)))


def test_tied_parameters_are_not_factored() -> None:
    """Two layers that share a kernel have the sum of their products as its gradient."""
    net = nn.Sequential([nn.Dense(4), nn.tanh, nn.Dense(4)])
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)))
    params = dense(4, 4)

    def tied(params: Any, x: jax.Array) -> Any:
        return net.apply({"params": {"layers_0": params, "layers_2": params}}, x)

    phi = jax.jit(empirical.entk_features(tied, params), compiler_options=QUICK)(x)
    assert phi.shape == (3, 20)
    k_ss = jax.jit(empirical.entk(tied, params, None).symmetric, compiler_options=QUICK)(x)
    np.testing.assert_allclose(k_ss, phi @ phi.T, rtol=1e-12)


def test_a_linear_network_has_nothing_but_factors() -> None:
    """`f = sum_c w_c . x` has `phi(x) . phi(z) = c x . z`."""
    net = nn.Dense(6, use_bias=False)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)))
    params = {"params": {"kernel": dense(4, 6)["kernel"]}}
    k_ss = jax.jit(empirical.entk(net.apply, params, None).symmetric, compiler_options=QUICK)(x)
    np.testing.assert_allclose(k_ss, 6 * x @ x.T, rtol=1e-12, atol=1e-14)


def _one_layer(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Return the network of `one_layer_features`, written out."""
    hidden, output = params["hidden"], params["output"]
    units = x @ hidden.T * np.sqrt(2 / hidden.shape[1])
    return jnp.sqrt(2 / len(output)) * nn.relu(units) @ output[:, None]


def test_features_of_one_layer_are_its_gradient() -> None:
    key, x = jax.random.key(3), jax.random.normal(jax.random.key(1), (5, 7))
    hidden_key, output_key = jax.random.split(key)
    params = {
        # As drawn, in float32, by the features.
        "hidden": jax.random.normal(hidden_key, (7, 4), jnp.float32).T.astype(x.dtype),
        "output": jax.random.normal(output_key, (4,), jnp.float32).astype(x.dtype),
    }
    found = kernels.one_layer_features(key, dim=7, width=4)(x)
    np.testing.assert_allclose(found, kernels.entk_features(_one_layer, params)(x), rtol=1e-6)


def test_kernel_of_one_layer_is_that_of_its_features() -> None:
    key, x = jax.random.key(3), jax.random.normal(jax.random.key(1), (5, 7))
    phi = kernels.one_layer_features(key, dim=7, width=4)(x)
    network = kernels.one_layer_entk(key, dim=7, width=4)
    np.testing.assert_allclose(network.cross(x, x[:2]), phi @ phi[:2].T, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(network.symmetric(x), phi @ phi.T, rtol=1e-6, atol=1e-9)


def test_wide_layer_has_the_infinite_network_s_kernel() -> None:
    x = jax.random.normal(jax.random.key(1), (6, 10))
    phi = kernels.one_layer_features(jax.random.key(0), dim=10, width=20000)(x)
    expected = kernels.fc_ntk(depth=1, bias_std=0.0).symmetric(x)
    # Their kernel is a mean over units.
    np.testing.assert_allclose(phi @ phi.T, expected, rtol=0.1, atol=0.1)


def test_a_layer_needs_a_unit() -> None:
    for of_width in (kernels.one_layer_features, kernels.one_layer_entk):
        with pytest.raises(ValueError, match="width"):
            of_width(jax.random.key(0), dim=3, width=0)
