"""Convolutions by matrix products against XLA's."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp.networks.classifiers import Conv
from jaxdp.networks.convolution import convolve, unfolded

CASES = {
    "3x3, padded": ((9, 12, 4), (3, 3), (1, 1), "SAME"),
    "3x3, stride 2": ((9, 12, 4), (3, 3), (2, 2), "SAME"),
    "7x7, stride 2, one channel": ((28, 28, 1), (7, 7), (2, 2), "SAME"),
    "5x5, not padded": ((14, 14, 3), (5, 5), (1, 1), "VALID"),
    "1x1, stride 2": ((7, 8, 5), (1, 1), (2, 2), "SAME"),
    "wide border": ((6, 5, 2), (3, 3), (1, 1), ((3, 3), (3, 3))),
    "uneven": ((11, 7, 2), (2, 4), (3, 1), ((0, 2), (1, 0))),
    "one pixel": ((1, 1, 3), (3, 3), (2, 2), "SAME"),
}


def lax_convolve(x: Any, kernel: Any, strides: Any, padding: Any) -> Any:
    return jax.lax.conv_general_dilated(
        x, kernel, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


@pytest.mark.parametrize("case", list(CASES))
def test_unfolded_equals_xla_forwards_and_backwards(case: str, float64: None) -> None:
    shape, window, strides, padding = CASES[case]
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(3, *shape)), rng.normal(size=(*window, shape[-1], 6))
    ours, ours_vjp = jax.vjp(lambda x, k: unfolded(x, k, strides, padding), x, kernel)
    want, want_vjp = jax.vjp(lambda x, k: lax_convolve(x, k, strides, padding), x, kernel)
    np.testing.assert_allclose(ours, want, rtol=1e-12, atol=1e-12)
    cotangent = jnp.asarray(rng.normal(size=want.shape))
    for mine, theirs in zip(ours_vjp(cotangent), want_vjp(cotangent), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(9, 9, 4), (4, 4, 4), (2, 2, 4)], ids=str)
@pytest.mark.parametrize(
    "options",
    [{"strides": 2}, {"kernel_dilation": 2}, {"feature_group_count": 2}, {"padding": 3}],
    ids=["strides", "dilation", "groups", "padding"],
)
def test_layer_equals_that_of_flax(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, *shape)), jnp.float32)
    params = nn.Conv(6, (3, 3), **options).init(jax.random.key(0), x)
    np.testing.assert_allclose(
        Conv(6, (3, 3), **options).apply(params, x),
        nn.Conv(6, (3, 3), **options).apply(params, x),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("backend", "shape", "features", "is_unfolded"),
    [
        ("cpu", (4, 7, 64), 64, True),
        ("cpu", (28, 28, 1), 128, True),
        ("cpu", (28, 28, 1), 6, False),
        ("cpu", (8, 8, 64), 64, False),
        ("gpu", (4, 7, 64), 64, False),
        ("gpu", (28, 28, 1), 128, False),
    ],
)
def test_unfolds_where_xla_is_slow(
    backend: str,
    shape: tuple[int, int, int],
    features: int,
    is_unfolded: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    x, kernel = jnp.ones((1, *shape)), jnp.ones((3, 3, shape[-1], features))
    options = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    program = str(jax.make_jaxpr(lambda x, k: convolve(x, k, (1, 1), "SAME", **options))(x, kernel))
    assert ("dot_general" in program) == is_unfolded
    assert ("conv_general_dilated" in program) != is_unfolded
