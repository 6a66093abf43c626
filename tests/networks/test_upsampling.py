"""Upsampling against interpolation by loops, and the two forms of its convolution."""

from __future__ import annotations

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_generators import CONV, QUICK, draw, inputs, upsample_oracle

from jaxdp.networks import generators, upsampling


@pytest.mark.parametrize("shape", [(2, 7, 7, 2), (1, 1, 3, 1), (1, 14, 2, 1)])
def test_upsample_is_interpolation_between_corners(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    out = np.asarray(upsampling.upsample(jnp.asarray(x, jnp.float32)))
    np.testing.assert_allclose(out, upsample_oracle(x), atol=1e-6)
    corners = np.ix_(range(shape[0]), (0, -1), (0, -1))
    np.testing.assert_allclose(out[corners], x[corners], atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "features", "size"), [((7, 7, 16), 8, 5), ((14, 14, 8), 1, 5), ((1, 6, 2), 3, 3)]
)
def test_both_forms_are_upsampling_and_a_convolution(
    shape: tuple[int, int, int], features: int, size: int
) -> None:
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(3, *shape)), jnp.float32)
    kernel = jnp.asarray(rng.normal(size=(size, size, shape[2], features)), jnp.float32)
    kernel = kernel / math.sqrt(kernel[..., 0].size)
    out_shape = (3, 2 * shape[0], 2 * shape[1], features)
    cotangent = jnp.asarray(rng.normal(size=out_shape), jnp.float32)
    conv = nn.Conv(features, (size, size), padding=size // 2, use_bias=False)

    def flax_form(x: jax.Array, kernel: jax.Array) -> Any:
        return conv.apply({"params": {"kernel": kernel}}, upsampling.upsample(x))

    def output_and_gradients(form: Any) -> Any:
        def run(x: jax.Array, kernel: jax.Array) -> Any:
            out, pull_back = jax.vjp(form, x, kernel)
            return out, *pull_back(cotangent)

        # GPUs round factors to 10 bits otherwise.
        with jax.default_matmul_precision("highest"):
            return jax.jit(run, compiler_options=QUICK)(x, kernel)

    expected = output_and_gradients(flax_form)
    for banded in (True, False):
        results = output_and_gradients(
            lambda x, kernel, banded=banded: upsampling.upsample_conv(x, kernel, banded=banded)
        )
        for result, value in zip(results, expected, strict=True):
            scale = max(1, np.abs(value).max())
            np.testing.assert_allclose(result / scale, value / scale, atol=1e-5)


def test_both_forms_have_the_same_parameters_and_gradients() -> None:
    variables, (codes, labels) = draw(CONV), inputs()
    weights = jax.random.normal(jax.random.key(2), (len(codes), 8 * 12 * 2))

    def gradient(banded: bool | None) -> Any:
        module = CONV.copy(banded=banded)
        jax.tree.map(np.testing.assert_array_equal, draw(module), variables)

        def loss(params: Any) -> Any:
            both = {**variables, "params": params}
            rows, stats = generators.generate(module, both, codes, labels, train=True)
            return jnp.vdot(rows, weights), stats

        with jax.default_matmul_precision("highest"):
            run = jax.jit(jax.value_and_grad(loss, has_aux=True), compiler_options=QUICK)
            return run(variables["params"])

    banded, plain, default = (gradient(form) for form in (True, False, None))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), banded, plain)
    same = banded if jax.default_backend() == "cpu" else plain
    jax.tree.map(np.testing.assert_array_equal, default, same)
