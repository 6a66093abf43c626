"""Generators against NumPy, batch statistics, gradients and errors."""

from __future__ import annotations

import copy
import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_generators import (
    CLASSES,
    CODE,
    CONV,
    DENSE,
    QUICK,
    RESNET,
    TABULAR,
    draw,
    inputs,
    upsample_oracle,
)

from jaxdp.networks import generators

MODULES = pytest.mark.parametrize(
    "module", [CONV, RESNET, DENSE, TABULAR], ids=("conv", "resnet", "dense", "tab")
)


@functools.cache
def compiled(module: nn.Module, train: bool) -> Any:
    def run(variables: Any, codes: Any, labels: Any) -> Any:
        return generators.generate(module, variables, codes, labels, train=train)

    return jax.jit(run, compiler_options=QUICK)


def generate(module: nn.Module, *args: Any, train: bool) -> Any:
    return compiled(module, train)(*args)


class Layers:
    """The layers in float64 NumPy, by loops, in training or not."""

    def __init__(self, variables: Any, *, train: bool) -> None:
        wide = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), variables)
        self.params, self.stats, self.train = wide["params"], wide["batch_stats"], train

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        mean, var = (self.stats[name][key] for key in ("mean", "var"))
        if self.train:
            axes = tuple(range(x.ndim - 1))
            mean, var = x.mean(axes), x.var(axes)
            for key, value in (("mean", mean), ("var", var)):
                self.stats[name][key] = 0.9 * self.stats[name][key] + 0.1 * value
        scale, bias = (self.params[name][key] for key in ("scale", "bias"))
        return (x - mean) / np.sqrt(var + 1e-5) * scale + bias

    def dense(self, x: np.ndarray, name: str) -> np.ndarray:
        layer = self.params[name]
        return x @ layer["kernel"] + layer.get("bias", 0.0)

    def conv(self, x: np.ndarray, layer: dict[str, np.ndarray]) -> np.ndarray:
        size = layer["kernel"].shape[0]
        margin = (size // 2, size // 2)
        height, width = x.shape[1:3]
        x = np.pad(x, ((0, 0), margin, margin, (0, 0)))
        return layer["bias"] + sum(
            x[:, i : i + height, j : j + width] @ layer["kernel"][i, j]
            for i in range(size)
            for j in range(size)
        )


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def conv_oracle(layers: Layers, x: np.ndarray) -> np.ndarray:
    x = relu(layers.norm(layers.dense(x, "input"), "BatchNorm_0"))
    x = layers.norm(layers.dense(x, "Dense_0"), "BatchNorm_1").reshape(-1, 2, 3, 4)
    x = relu(layers.conv(upsample_oracle(x), layers.params["UpsampleConv_0"]))
    x = layers.conv(upsample_oracle(x), layers.params["UpsampleConv_1"])
    return 1 / (1 + np.exp(-x))


def resnet_oracle(layers: Layers, x: np.ndarray) -> np.ndarray:
    x = layers.dense(x, "input").reshape(-1, 1, 2, 16)
    for name in ("UpBlock_0", "UpBlock_1", "UpBlock_2"):
        block = copy.copy(layers)
        block.params, block.stats = layers.params[name], layers.stats[name]
        skip, first, second = (block.params[f"Conv_{i}"] for i in range(3))
        y = relu(block.norm(x, "BatchNorm_0")).repeat(2, axis=1).repeat(2, axis=2)
        y = relu(block.norm(block.conv(y, first), "BatchNorm_1"))
        x = block.conv(y, second) + block.conv(x, skip).repeat(2, axis=1).repeat(2, axis=2)
    x = layers.conv(relu(layers.norm(x, "BatchNorm_0")), layers.params["Conv_0"])
    return (np.tanh(x) + 1) / 2


def tabular_oracle(layers: Layers, x: np.ndarray) -> np.ndarray:
    x = relu(layers.norm(layers.dense(x, "input"), "BatchNorm_0"))
    x = relu(layers.norm(layers.dense(x, "Dense_0"), "BatchNorm_1"))
    return layers.dense(x, "Dense_1")


def dense_oracle(layers: Layers, x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-tabular_oracle(layers, x)))


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize(
    ("module", "oracle"),
    [
        (CONV, conv_oracle),
        (RESNET, resnet_oracle),
        (DENSE, dense_oracle),
        (TABULAR, tabular_oracle),
    ],
    ids=("conv", "resnet", "dense", "tab"),
)
def test_rows_and_running_statistics_are_those_of_numpy(
    module: nn.Module, oracle: Any, train: bool
) -> None:
    variables, (codes, labels) = draw(module), inputs()
    rows, stats = generate(module, variables, codes, labels, train=train)
    layers = Layers(variables, train=train)
    given = np.concatenate([codes, np.eye(CLASSES)[labels]], axis=1)
    expected = oracle(layers, given.astype(np.float64)).reshape(len(codes), -1)
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-5)
    jax.tree.map(
        lambda new, old: np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-5),
        stats,
        layers.stats,
    )


@pytest.mark.parametrize(
    ("module", "num_classes", "dim", "num_params"),
    [
        # Dense 15 200 + 200 and 200 784 + 784; norms 2 (200 + 784); 25 16 8 + 8 and 25 8 + 1.
        (generators.ConvCondGen((28, 28, 1)), 10, 784, 166_161),
        (generators.ConvCondGen((32, 32, 3)), 10, 3072, None),
        # Transposed 15 16 512; blocks in o + o + 9 in o + o + 9 o o + o and norms 2 in + 2 o with
        # (in, o) = (512, 256), (256, 128), (128, 64); norm 2 64 and last 9 64 3 + 3.
        (generators.ResnetG((32, 32, 3)), 10, 3072, 2_623_235),
        (generators.ResnetG((16, 24, 1), base=2), 10, 384, None),
        # 15 500 + 500, 500 500 + 500, 500 784 + 784 and norms 2 (500 + 500).
        (generators.DenseGen(784), 10, 784, 653_284),
        # 12 20 + 20, 20 10 + 10, 10 5 + 5 and norms 2 (20 + 10).
        (generators.TabularGen(5), 7, 5, 585),
    ],
)
def test_rows_and_parameters(
    module: nn.Module, num_classes: int, dim: int, num_params: int | None
) -> None:
    def run(codes: jax.Array, labels: jax.Array) -> Any:
        variables = generators.init(module, jax.random.key(0), 5, num_classes)
        rows, _ = generators.generate(module, variables, codes, labels, train=True)
        return rows, variables["params"]

    codes = jax.ShapeDtypeStruct((2, 5), jnp.float32)
    rows, params = jax.eval_shape(run, codes, jax.ShapeDtypeStruct((2,), jnp.int32))
    assert rows.shape == (2, dim)
    if num_params is not None:
        assert sum(leaf.size for leaf in jax.tree.leaves(params)) == num_params


@MODULES
def test_images_are_between_0_and_1_however_large_the_codes(module: nn.Module) -> None:
    codes, labels = inputs(8)
    rows, _ = generate(module, draw(module), 1e4 * codes, labels, train=False)
    assert np.isfinite(rows).all()
    assert np.ptp(rows, axis=0).max() > 0.5
    if module is not TABULAR:
        assert rows.min() >= 0
        assert rows.max() <= 1


@MODULES
def test_trained_rows_are_independent(module: nn.Module) -> None:
    variables, (codes, labels) = draw(module), inputs()
    rows, stats = generate(module, variables, codes, labels, train=False)
    jax.tree.map(np.testing.assert_array_equal, stats, variables["batch_stats"])
    others = codes.at[1].set(1e6).at[2].set(jnp.nan)
    again, _ = generate(module, variables, others, labels, train=False)
    np.testing.assert_array_equal(again[0], rows[0])
    # In training they are not: the batch's statistics normalise.
    first, second = (
        generate(module, variables, batch, labels, train=True)[0][0]
        for batch in (codes, codes.at[1].multiply(2))
    )
    assert np.abs(first - second).max() > 1e-3


@MODULES
def test_label_and_code_matter_and_nothing_else_is_random(module: nn.Module) -> None:
    variables, (codes, labels) = draw(module), inputs()
    rows, _ = generate(module, variables, codes, labels, train=False)
    np.testing.assert_array_equal(rows, generate(module, variables, codes, labels, train=False)[0])
    for changed in ((codes, (labels + 1) % CLASSES), (-codes, labels)):
        others, _ = generate(module, variables, *changed, train=False)
        assert np.abs(others - rows).max(axis=1).min() > 1e-3


@MODULES
def test_gradients_are_finite_and_reach_every_parameter(module: nn.Module) -> None:
    variables, (codes, labels) = draw(module), inputs()

    def loss(params: Any) -> jax.Array:
        both = {**variables, "params": params}
        rows, _ = generators.generate(module, both, codes, labels, train=False)
        return jnp.sum(rows**2)

    gradient = jax.jit(jax.grad(loss), compiler_options=QUICK)(variables["params"])
    for leaf in jax.tree.leaves(gradient):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 0


def test_codes_are_standard_normal_and_reproducible() -> None:
    labels = jnp.zeros(1000, jnp.int32)
    codes = generators.sample_codes(jax.random.key(0), labels, 7)
    assert codes.shape == (1000, 7)
    assert codes.dtype == jnp.float32
    assert abs(codes.mean()) < 0.05
    assert codes.std() == pytest.approx(1, abs=0.05)
    np.testing.assert_array_equal(codes, generators.sample_codes(jax.random.key(0), labels, 7))


@MODULES
@pytest.mark.usefixtures("float64")
def test_computes_in_the_type_of_its_codes(module: nn.Module) -> None:
    """Statistics keep their type, or the next step would be another program."""
    variables, (codes, labels) = draw(module), inputs()
    for dtype in (jnp.float32, jnp.float64):
        rows, stats = jax.eval_shape(
            lambda codes: generators.generate(module, variables, codes, labels, train=True),
            codes.astype(dtype),
        )
        assert rows.dtype == dtype
        assert {leaf.dtype for leaf in jax.tree.leaves(stats)} == {jnp.dtype(jnp.float32)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generators.ConvCondGen((30, 28, 1)), r"divisible by 4, got \(30, 28, 1\)"),
        (lambda: generators.ConvCondGen((28, 28, 0)), r"got \(28, 28, 0\)"),
        (lambda: generators.ConvCondGen((28, 28, 1), hidden=0), "hidden and channels must be >= 1"),
        (lambda: generators.ConvCondGen((28, 28, 1), channels=(16, 0)), r"got 200 and \(16, 0\)"),
        (lambda: generators.ResnetG((32, 28, 3)), r"divisible by 8, got \(32, 28, 3\)"),
        (lambda: generators.ResnetG((32, 32, 3), base=0), "base must be >= 1, got 0"),
        (lambda: generators.DenseGen(0), "dim and hidden must be >= 1, got 0"),
        (lambda: generators.DenseGen(9, hidden=(5, 0)), r"got 9 and \(5, 0\)"),
        (lambda: generators.TabularGen(0), "num_columns must be >= 1, got 0"),
        (lambda: generators.init(TABULAR, jax.random.key(0), 0, 2), "got 0 and 2"),
    ],
)
def test_refuses_wrong_sizes(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_refuses_codes_of_another_length() -> None:
    codes, labels = jnp.zeros((2, CODE + CLASSES)), jnp.zeros(2, jnp.int32)
    with pytest.raises(ValueError, match="codes have length 7, but code and label together have 7"):
        generators.generate(TABULAR, draw(TABULAR), codes, labels, train=True)
