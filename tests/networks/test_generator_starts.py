"""What generators start from: parameters as torch draws them."""

from __future__ import annotations

import math
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import pytest
from toy_generators import QUICK

from jaxdp.networks import generators


def start(module: nn.Module, seed: int = 0) -> Any:
    def run(key: jax.Array) -> Any:
        return generators.init(module, key, 5, 10)

    return jax.jit(run, compiler_options=QUICK)(jax.random.key(seed))


def fills(values: Any, bound: float) -> None:
    """Expect values uniform on [-bound, bound]: none beyond, some close to both ends, centred."""
    values = np.asarray(values).ravel() / bound
    assert np.abs(values).max() <= 1 + 1e-6
    assert values.std() == pytest.approx(1 / math.sqrt(3), abs=5 / math.sqrt(values.size))
    if values.size >= 100:
        assert min(values.max(), -values.min()) > 0.9


def test_starts_as_in_torch() -> None:
    module = generators.ConvCondGen((28, 28, 1))
    variables = start(module)
    params, stats = variables["params"], variables["batch_stats"]
    layers = {"input": 15, "Dense_0": 200, "UpsampleConv_0": 25 * 16, "UpsampleConv_1": 25 * 8}
    for name, fan_in in layers.items():
        fills(params[name]["kernel"], 1 / math.sqrt(fan_in))
        fills(params[name]["bias"], 1 / math.sqrt(fan_in))
    for name in ("BatchNorm_0", "BatchNorm_1"):
        for tree, key, value in ((params, "scale", 1), (params, "bias", 0)):
            np.testing.assert_array_equal(tree[name][key], value)
        for key, value in (("mean", 0), ("var", 1)):
            np.testing.assert_array_equal(stats[name][key], value)
    other = start(module, seed=1)["params"]
    assert np.abs(other["input"]["kernel"] - params["input"]["kernel"]).max() > 0.1


def test_residual_generator_starts_with_xavier_kernels() -> None:
    module = generators.ResnetG((32, 32, 3), base=8)
    params = start(module)["params"]
    # As torch counts the fans of a transposed convolution's (15, 64, 4, 4) kernel.
    fills(params["input"]["kernel"], math.sqrt(6 / (16 * (15 + 64))))
    assert "bias" not in params["input"]
    block = params["UpBlock_0"]
    cases = [(params["Conv_0"], 8, 3, 3), (block["Conv_0"], 64, 32, 1)]
    cases += [(block["Conv_1"], 64, 32, 3), (block["Conv_2"], 32, 32, 3)]
    for layer, channels, features, size in cases:
        fills(layer["kernel"], math.sqrt(6 / (size**2 * (channels + features))))
        fills(layer["bias"], 1 / math.sqrt(size**2 * channels))
