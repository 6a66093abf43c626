"""Shapes, types and independence of records of the Flax modules; recording of linear calls."""

from __future__ import annotations

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import numerics
from jaxdp.networks import classifiers, linear_calls

POOLS = (classifiers.max_pool, nn.max_pool)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def draw(net: nn.Module, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Any:
    """Return parameters of the right shapes; most of `init` is compilation."""
    x = jax.ShapeDtypeStruct((1, *shape), dtype)
    rng = np.random.default_rng(0)

    def leaf(path: Any, struct: jax.ShapeDtypeStruct) -> jax.Array:
        noise = rng.normal(size=struct.shape) / np.sqrt(np.prod(struct.shape[:-1]))
        return jnp.asarray(noise + (path[-1].key == "scale"), struct.dtype)

    params = jax.eval_shape(net.init, jax.random.key(0), x)
    return jax.tree_util.tree_map_with_path(leaf, params)


def images(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def abstract(net: nn.Module, shape: tuple[int, ...]) -> tuple[Any, int]:
    """Return output shapes and the number of parameters, computing nothing."""
    x = jax.ShapeDtypeStruct((2, *shape), jnp.float32)
    out, params = jax.eval_shape(net.init_with_output, jax.random.key(0), x)
    shapes = jax.tree.map(lambda leaf: leaf.shape, out)
    return shapes, sum(leaf.size for leaf in jax.tree.leaves(params))


@pytest.mark.parametrize(
    ("net", "shape", "num_params"),
    [
        (classifiers.LeNet(10), (28, 28, 1), 61_706),
        (classifiers.LeNet(10), (8, 8, 3), None),
        (classifiers.LeNet(10), (32, 32, 3), None),
        # 64 (9 ch + 1) and twice 128 (9 128 + 1) in the convolutions, 6 128 in the norms,
        # 10 (4 4 128 + 1) in the end: the published 28x28 network, padded to 32x32.
        (classifiers.ConvNet(10), (28, 28, 1), 317_706),
        (classifiers.ConvNet(10), (32, 32, 3), 320_010),
        (classifiers.ConvNet(10), (8, 8, 1), None),
        (classifiers.ConvNet(10), (8, 8, 3), None),
        (classifiers.ConvNet(10, depth=5), (8, 8, 3), None),
        # The published WRN-16-2; batch norms have as many parameters.
        (classifiers.WideResNet(10), (32, 32, 3), 691_674),
        # torchvision's; batch norms have as many parameters.
        (classifiers.ResNet18(1000), (32, 32, 3), 11_689_512),
    ],
)
def test_logits_and_parameters(
    net: nn.Module, shape: tuple[int, ...], num_params: int | None
) -> None:
    logits, count = abstract(net, shape)
    assert logits == (2, net.num_classes)  # type: ignore[attr-defined]
    if num_params is not None:
        assert count == num_params


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 9, 3), (70, 64, 4)])
def test_the_small_network_takes_images_of_any_size(shape: tuple[int, ...]) -> None:
    logits, count = abstract(classifiers.SmallCnn(5), shape)
    assert logits == (2, 5)
    assert count < 1.2e6


@pytest.mark.parametrize(("shape", "window"), [((2, 9, 3), (2, 2)), ((1, 4, 1), (1, 2))])
def test_pooling_is_flax_s_with_its_gradient(
    shape: tuple[int, ...], window: tuple[int, int]
) -> None:
    x, weights = (
        images(2, *shape),
        images(2, shape[0] // window[0], shape[1] // window[1], shape[2]),
    )

    def total(pool: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(weights * pool(x, window, strides=window))

    ours, theirs = (jax.value_and_grad(functools.partial(total, pool))(x) for pool in POOLS)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    np.testing.assert_array_equal(ours[1], theirs[1])


def test_equal_values_share_the_gradient_of_pooling() -> None:
    gradient = jax.grad(lambda x: jnp.sum(classifiers.max_pool(x, (2, 2), (2, 2))))
    shares = gradient(jnp.ones((1, 2, 2, 1)))
    np.testing.assert_array_equal(shares, np.full((1, 2, 2, 1), 0.25))


def test_windows_of_pooling_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="do not touch each other"):
        classifiers.max_pool(jnp.zeros((1, 4, 4, 1)), (3, 3), (2, 2))


def test_resnet_activations_are_stem_block_inputs_and_average() -> None:
    shapes, _ = abstract(classifiers.ResNet18Trunk(), (28, 28, 3))
    blocks = [(7, 64)] * 3 + [(4, 128)] * 2 + [(2, 256)] * 2 + [(1, 512)]
    expected = [(14, 64), *blocks]
    assert shapes == (*((2, side, side, channels) for side, channels in expected), (2, 512))


@pytest.mark.parametrize("depth", [4, 8, 15])
def test_wide_networks_have_three_stages_of_whole_blocks(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth must be 10, 16, 22, ..., got {depth}"):
        classifiers.WideResNet(3, depth=depth)


@pytest.mark.parametrize("shape", [(27, 28, 3), (6, 8, 1)])
def test_lenet_refuses_sides_it_cannot_halve(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"even sides of at least 8 pixels, got \\({shape[0]}"):
        abstract(classifiers.LeNet(4), shape)


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (classifiers.LeNet(3), (8, 8, 1)),
        (classifiers.ConvNet(3, width=4), (8, 8, 1)),
        (classifiers.ResNet18(3), (28, 28, 3)),
    ],
    ids=("lenet", "convnet", "resnet"),
)
def test_computes_in_the_type_of_its_input(net: nn.Module, shape: tuple[int, ...]) -> None:
    """Not one float32 number appears in the program for float64, parameters aside."""
    for dtype in (jnp.float32, jnp.float64):
        with numerics.float64():
            x = jax.ShapeDtypeStruct((2, *shape), dtype)
            params = jax.eval_shape(net.init, jax.random.key(0), x)
            assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype(jnp.float32)}
            assert jax.eval_shape(net.apply, params, x).dtype == dtype
            wide = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.float64), params)
            if dtype == jnp.float64:
                assert "f32" not in str(jax.make_jaxpr(net.apply)(wide, x))


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (classifiers.LeNet(3), (8, 8, 1)),
        (classifiers.ConvNet(3, width=4), (8, 8, 1)),
        (classifiers.ConvNet(3, width=4, depth=4), (4, 4, 3)),
        (classifiers.ResidualBlock(4, stride=2), (4, 4, 2)),
        (classifiers.SmallCnn(3), (8, 8, 1)),
        (classifiers.WideResNet(3, depth=10, widening=1), (8, 8, 3)),
    ],
    ids=("lenet", "convnet", "deep", "block", "small", "wide"),
)
def test_records_are_independent_and_count(net: nn.Module, shape: tuple[int, ...]) -> None:
    x, apply = images(3, *shape), jax.jit(net.apply, compiler_options=QUICK)
    params = draw(net, shape)
    outputs = np.asarray(apply(params, x))
    assert np.ptp(outputs, axis=0).max() > 0.01  # nothing on the way has erased the image
    others = x.at[1].set(1e6).at[2].set(jnp.nan)
    np.testing.assert_array_equal(apply(params, others)[0], outputs[0])


def test_residual_branches_are_not_trivial_at_initialisation() -> None:
    net, x = classifiers.ResidualBlock(4), images(1, 4, 4, 4)
    params = jax.jit(net.init, compiler_options=QUICK)(jax.random.key(0), x)
    output = jax.jit(net.apply, compiler_options=QUICK)(params, x)
    assert float(jnp.max(jnp.abs(output - nn.relu(x)))) > 0.1


class Mixed(nn.Module):
    """Layers that are linear calls, and layers that look like it."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.Conv(4, (3, 2), strides=2, padding="SAME", name="plain")(x)
        x = nn.Conv(4, (3, 3), padding=((1, 2), (0, 1)), use_bias=False, name="padded")(x)
        x = nn.Conv(4, (3, 3), kernel_dilation=2, name="dilated")(x)
        x = nn.Conv(4, (3, 3), feature_group_count=2, name="grouped")(x)
        x = nn.Conv(4, (3, 3), padding="CIRCULAR", name="circular")(x)
        return nn.Dense(2, name="dense")(x.reshape(x.shape[0], -1))


def test_records_plain_linear_calls_and_taps_them() -> None:
    net, x = Mixed(), images(1, 6, 5, 2)
    variables = draw(net, (6, 5, 2))
    output, calls = linear_calls.record_linear_calls(net.apply, variables, x)
    np.testing.assert_array_equal(output, net.apply(variables, x))
    params = variables["params"]
    for name, call in zip(("plain", "padded", "dense"), calls, strict=True):
        assert call.kernel is params[name]["kernel"]
    assert [call.window for call in calls] == [
        linear_calls.Window((3, 2), (2, 2), ((0, 1), (0, 1))),
        linear_calls.Window((3, 3), (1, 1), ((1, 2), (0, 1))),
        None,
    ]
    assert calls[0].bias is params["plain"]["bias"]
    assert calls[1].bias is None
    np.testing.assert_array_equal(calls[0].inputs, x)
    np.testing.assert_array_equal(calls[2].output, output)
    tap = jnp.array([[1.0, -2.0]])
    tapped, _ = linear_calls.record_linear_calls(net.apply, variables, x, [None, None, tap])
    np.testing.assert_allclose(tapped, output + tap, rtol=1e-6)
