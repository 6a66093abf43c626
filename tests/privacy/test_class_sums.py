"""Mean embeddings against per-example float64 oracles, and the bounds that privacy rests on."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxdp import numerics
from jaxdp.features import base as feature_maps
from jaxdp.features.base import FeatureMap
from jaxdp.features.tangent import entk_map
from jaxdp.networks import tangent
from jaxdp.privacy import class_sums
from jaxdp.privacy.mechanism import private_key

N, CLASSES = 40, 3
NETWORKS: dict[str, tuple[Any, int]] = {
    "fc_1l": (tangent.FullyConnected1(16, 4), 12),
    "fc_2l": (tangent.FullyConnected2((10, 6), 4), 12),
    "cnn_2l": (tangent.ColumnNetwork((5, 7), 2), 6),
    "cnn2d": (tangent.Convolutional((4, 4, 2), 3, 5), 32),
    "lenet5": (tangent.OneLogit((8, 8, 1), residual=False), 64),
}


def rows(dim: int, n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (n, dim)).astype(np.float32)


def labels(n: int = N) -> np.ndarray:
    return np.random.default_rng(1).integers(0, CLASSES, n).astype(np.int32)


def network_map(name: str) -> tuple[FeatureMap, Any, Any, int]:
    module, dim = NETWORKS[name]
    params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, dim)))
    return entk_map(module.apply, params, dim), module, params, dim


def naive_features(module: Any, params: Any, x: np.ndarray) -> np.ndarray:
    """Each example's gradient by itself, in float64, divided by its norm."""
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), params)
    gradient = jax.jit(jax.grad(lambda theta, row: module.apply(theta, row[None])[0]))
    found = []
    for row in x.astype(np.float64):
        leaves = jax.tree.leaves(gradient(wide, jnp.asarray(row)))
        g = np.concatenate([np.asarray(leaf).reshape(-1) for leaf in leaves])
        found.append(g / np.linalg.norm(g))
    return np.array(found)


def sums_of(features: FeatureMap, x: np.ndarray, y: np.ndarray, chunk_size: int = 7) -> np.ndarray:
    chunks = class_sums.arrange_by_class(x, y, num_classes=CLASSES, chunk_size=chunk_size)
    return np.asarray(class_sums.class_sums(features, chunks, num_classes=CLASSES))


@pytest.mark.parametrize("name", list(NETWORKS))
def test_embedding_equals_the_naive_one_per_example(name: str, float64: None) -> None:
    features, module, params, dim = network_map(name)
    x, y = rows(dim), labels()
    oracle = np.eye(CLASSES)[y].T @ naive_features(module, params, x)
    found = sums_of(features, x, y)
    scale = np.abs(oracle).max()
    # 5e-4 of it is the margin that keeps norms below 1.
    np.testing.assert_allclose(found * (1 + 5e-4), oracle, atol=1e-6 * scale)


@pytest.mark.parametrize("name", ["fc_1l", "cnn2d"])
def test_gradient_of_the_distance_equals_that_through_naive_features(
    name: str, float64: None
) -> None:
    features, module, params, dim = network_map(name)
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), params)
    x = jnp.asarray(rows(dim, 2 * CLASSES).reshape(CLASSES, 2, dim), jnp.float64)
    weights = jnp.array([0.5, 0.3, 0.2])
    mu = jax.random.normal(jax.random.key(0), (CLASSES, features.dim), jnp.float64)

    def phi(row: jax.Array) -> jax.Array:
        gradient = jax.grad(lambda theta: module.apply(theta, row[None])[0])(wide)
        flat = jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(gradient)])
        return flat / (jnp.linalg.norm(flat) * (1 + 5e-4))

    def naive(x: jax.Array) -> jax.Array:
        nu = weights[:, None] * jnp.mean(jax.vmap(jax.vmap(phi))(x), axis=1)
        return jnp.sum((mu - nu) ** 2)

    def ours(x: jax.Array) -> jax.Array:
        return feature_maps.squared_distance(mu, feature_maps.block_means(features, x, weights))

    expected, found = jax.jit(jax.grad(naive))(x), jax.jit(jax.grad(ours))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(("name", "layer"), [("fc_1l", "Dense_0"), ("cnn2d", "Conv_0")])
def test_summed_logits_has_the_kernel_of_all_logits(name: str, layer: str, float64: None) -> None:
    """One row `sqrt(C)` times as long stands for C equal rows of the last layer's gradient."""
    module, dim = NETWORKS[name]
    classes = module.num_logits
    head = jax.random.uniform(jax.random.key(5), (100, classes), jnp.float64, -1, 1)
    params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, dim)))
    x = jnp.asarray(rows(dim, 2), jnp.float64)

    def with_head(theta: Any, kernel: Any) -> Any:
        last = theta["params"]["SummedLogits_0"]["Dense_0"]
        summed = {"kernel": kernel, "bias": last["bias"]}
        return {"params": theta["params"] | {"SummedLogits_0": {"Dense_0": summed}}}

    width = params["params"]["SummedLogits_0"]["Dense_0"]["kernel"].shape[0]
    full = jnp.resize(head, (width, classes))
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), params)
    collapsed = with_head(wide, jnp.sum(full, axis=1, keepdims=True) / np.sqrt(classes))

    def hidden(theta: Any, row: jax.Array) -> jax.Array:
        """What the last layer sees: the gradient of its kernel, over `sqrt(C)`."""
        gradient = jax.grad(lambda t: module.apply(t, row[None])[0])(theta)
        return gradient["params"]["SummedLogits_0"]["Dense_0"]["kernel"][:, 0] / np.sqrt(classes)

    def all_logits(theta: Any, kernel: jax.Array, row: jax.Array) -> jax.Array:
        # Its C outputs share the hidden vector, which depends on the rest of theta alone.
        return jnp.sum(hidden(theta, row) @ kernel)

    def gradients(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        ours = jax.grad(lambda t: module.apply(t, row[None])[0])(collapsed)
        inner = collapsed["params"][layer]
        theirs = jax.grad(
            lambda p, k: all_logits({"params": collapsed["params"] | {layer: p}}, k, row),
            argnums=(0, 1),
        )(inner, full)
        flat = [
            jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(tree)])
            for tree in (
                (ours["params"][layer], ours["params"]["SummedLogits_0"]["Dense_0"]["kernel"]),
                theirs,
            )
        ]
        return flat[0], flat[1]

    (a, b), (c, d) = gradients(x[0]), gradients(x[1])
    np.testing.assert_allclose([a @ c, a @ a], [b @ d, b @ b], rtol=1e-10)


def explicit_maps() -> dict[str, tuple[FeatureMap, int]]:
    linear = jax.random.normal(jax.random.key(1), (5, 9))

    def feature_fn(x: jax.Array) -> jax.Array:
        return jnp.tanh(x @ linear)

    fc_1l, _, _, dim = network_map("fc_1l")
    unit = feature_maps.unit_features(feature_fn, 5)
    squares = feature_maps.unit_features(lambda x: feature_fn(x) ** 2, 5)
    return {
        "joined": (feature_maps.joined([(unit, 0.3), (squares, 0.7)]), 5),
        "entk": (fc_1l, dim),
        "unit": (feature_maps.unit_features(feature_fn, 5), 5),
        "two moments": (feature_maps.unit_features(feature_fn, 5, moments=2), 5),
    }


@pytest.mark.parametrize("name", ["entk", "unit", "two moments", "joined"])
def test_guarantee_features_have_norm_at_most_one(name: str) -> None:
    features, dim = explicit_maps()[name]
    one = jax.jit(lambda row: features.weighted_sum(row[None], jnp.ones(1)))
    for scale in (1e-12, 1e-3, 1.0, 1e3, 1e15):
        for row in rows(dim, 5) * np.float32(scale):
            norm = float(np.linalg.norm(np.asarray(one(jnp.asarray(row)), np.float64)))
            assert norm <= 1
            if scale >= 1e-3:  # squares of smaller ones vanish in float32
                assert norm > 1 - 1e-3


@pytest.mark.parametrize("name", ["entk", "unit", "two moments", "joined"])
def test_guarantee_replacing_one_example_moves_the_sum_by_at_most_two(name: str) -> None:
    features, dim = explicit_maps()[name]
    x, y = rows(dim), labels()
    before = sums_of(features, x, y)
    for row, label in ((np.zeros(dim), 0), (-x[5] * 100, y[5]), (x[7], (y[5] + 1) % CLASSES)):
        x2, y2 = x.copy(), y.copy()
        x2[5], y2[5] = row, label
        assert np.linalg.norm(sums_of(features, x2, y2) - before) <= 2


def test_guarantee_the_bound_of_two_is_attained() -> None:
    """Odd features: an example and its mirror image are opposite, as far apart as can be."""
    features, dim = explicit_maps()["unit"]
    x, y = rows(dim), labels()
    mirrored = x.copy()
    mirrored[5] = -x[5]
    moved = np.linalg.norm(sums_of(features, mirrored, y) - sums_of(features, x, y))
    assert moved == pytest.approx(2, abs=1e-3)
    other_class = y.copy()
    other_class[5] = (y[5] + 1) % CLASSES
    moved = np.linalg.norm(sums_of(features, x, other_class) - sums_of(features, x, y))
    assert moved == pytest.approx(np.sqrt(2), abs=1e-3)


@pytest.mark.parametrize("name", ["entk", "unit", "two moments", "joined"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_guarantee_rows_that_are_not_finite_contribute_exactly_zero(name: str, bad: float) -> None:
    features, dim = explicit_maps()[name]
    x, y = rows(dim), labels()
    spoilt = np.concatenate([x, np.full((1, dim), bad, np.float32)])
    with_bad = sums_of(features, spoilt, np.append(y, 0).astype(np.int32), chunk_size=64)
    without = sums_of(features, x, y, chunk_size=64)
    assert np.all(np.isfinite(with_bad))
    difference = with_bad - without
    if np.isfinite(bad):  # a huge row may have features, of norm at most 1
        assert np.linalg.norm(difference) <= 1
    else:
        np.testing.assert_allclose(difference, 0, atol=1e-6)


def test_joined_maps_have_the_mean_of_their_kernels_and_distances() -> None:
    def one(by: float) -> FeatureMap:
        return feature_maps.summed_features(lambda x, w: w @ jnp.tanh(by * x) / 3, 5, diameter=by)

    a, b = one(1.5), one(2.0)
    both = feature_maps.joined([(a, 0.2), (b, 0.8)])
    x, z = rows(5, 2)[:, None]

    def kernel(features: FeatureMap) -> float:
        phi, other = (features.weighted_sum(jnp.asarray(row), jnp.ones(1)) for row in (x, z))
        assert phi.shape == (features.dim,)
        return float(phi @ other)

    assert kernel(both) == pytest.approx(0.2 * kernel(a) + 0.8 * kernel(b), rel=1e-5)
    assert both.diameter**2 == pytest.approx(0.2 * 1.5**2 + 0.8 * 2.0**2)
    for shares in ((0.5, 0.6), (1.0, 0.0), (1.5, -0.5)):
        with pytest.raises(ValueError, match="shares must be above 0"):
            feature_maps.joined(list(zip((a, b), shares, strict=True)))
    with pytest.raises(ValueError, match="shares must be above 0"):
        feature_maps.joined([])


def test_chunks_hold_every_example_once_in_its_class() -> None:
    x, y = rows(4, 23), labels(23)
    chunks = class_sums.arrange_by_class(x, y, num_classes=CLASSES, chunk_size=5)
    assert chunks.x.shape == (5 + CLASSES, 5, 4)
    for label in range(CLASSES):
        kept = chunks.weights[chunks.labels == label] > 0
        found = chunks.x[chunks.labels == label][kept]
        np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(x[y == label], axis=0))
    assert chunks.weights.sum() == 23


def test_number_of_chunks_does_not_tell_class_counts() -> None:
    x = rows(4, 23)
    for y in (np.zeros(23, int), np.arange(23) % CLASSES, np.full(23, CLASSES - 1)):
        chunks = class_sums.arrange_by_class(x, y, num_classes=CLASSES, chunk_size=5)
        assert len(chunks.labels) == 5 + CLASSES


@pytest.mark.parametrize("chunk_size", [1, 7, 100])
def test_chunk_size_does_not_matter(chunk_size: int) -> None:
    features, dim = explicit_maps()["unit"]
    x, y = rows(dim), labels()
    np.testing.assert_allclose(
        sums_of(features, x, y, chunk_size), sums_of(features, x, y), atol=1e-5
    )


def test_bad_arguments_are_refused() -> None:
    x = rows(4)
    with pytest.raises(ValueError, match="chunk_size"):
        class_sums.arrange_by_class(x, labels(), num_classes=CLASSES, chunk_size=0)
    with pytest.raises(ValueError, match="labels must be"):
        class_sums.arrange_by_class(x, labels() + 1, num_classes=CLASSES, chunk_size=4)
    with pytest.raises(ValueError, match="one label per row"):
        class_sums.arrange_by_class(x, labels(3), num_classes=CLASSES, chunk_size=4)
    with pytest.raises(ValueError, match="moments"):
        feature_maps.unit_features(lambda x: x, 4, moments=3)


def test_block_means_is_the_embedding_of_equal_blocks() -> None:
    features, dim = explicit_maps()["unit"]
    x = rows(dim, 4 * CLASSES)
    y = np.repeat(np.arange(CLASSES), 4).astype(np.int32)
    blocks = jnp.asarray(x).reshape(CLASSES, 4, dim)
    found = feature_maps.block_means(features, blocks, jnp.full(CLASSES, 1 / CLASSES))
    np.testing.assert_allclose(found, sums_of(features, x, y) / len(x), atol=1e-6)


@pytest.mark.parametrize("name", list(NETWORKS))
def test_few_rows_of_every_class_are_embedded_together_where_layers_are_dense(name: str) -> None:
    features, _, _, dim = network_map(name)
    assert (features.together > 0) == (name in ("fc_1l", "fc_2l", "cnn_2l"))
    blocks = jnp.asarray(rows(dim, 4 * CLASSES)).reshape(CLASSES, 4, dim)
    weights = jnp.arange(1.0, CLASSES + 1)
    found = jax.jit(lambda x: feature_maps.block_means(features, x, weights))(blocks)
    one_by_one = features._replace(inline=False, together=0)
    expected = jax.jit(lambda x: feature_maps.block_means(one_by_one, x, weights))(blocks)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def unit_maps() -> dict[str, FeatureMap]:
    module = tangent.FullyConnected1(16, CLASSES)
    params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, 6)))
    bare = jax.tree.map(lambda leaf: leaf if leaf.ndim == 2 else jnp.zeros_like(leaf), params)
    return {
        "unit": feature_maps.unit_features(lambda rows: rows, 6),
        "two moments": feature_maps.unit_features(lambda rows: rows, 6, moments=2),
        "entk": entk_map(module.apply, bare, 6),
    }


@pytest.mark.parametrize("name", ["unit", "two moments", "entk"])
def test_guarantee_no_row_has_features_of_a_norm_above_one(name: str) -> None:
    """Squares of small values underflow, those of large ones overflow; neither may show."""
    features = unit_maps()[name]
    total = jax.jit(features.weighted_sum)
    direction = np.random.default_rng(0).normal(size=6)
    for exponent in (*range(-45, 0), 0, *range(1, 38)):
        row = (direction * 10.0**exponent).astype(np.float32)[None]
        norm = np.linalg.norm(np.asarray(total(jnp.asarray(row), jnp.ones(1)), np.float64))
        assert norm <= 1
    assert np.linalg.norm(total(jnp.asarray(direction[None], jnp.float32), jnp.ones(1))) > 0.99


@pytest.mark.parametrize("name", ["unit", "two moments", "entk"])
def test_guarantee_no_row_spoils_the_sum_of_the_others(name: str) -> None:
    features = unit_maps()[name]
    good = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    alone = np.asarray(features.weighted_sum(jnp.asarray(good), jnp.ones(3)))
    for bad in (1e20, 3e38, np.inf, np.nan):
        both = np.concatenate([good, np.full((1, 6), bad, np.float32)])
        found = np.asarray(features.weighted_sum(jnp.asarray(both), jnp.ones(4)))
        assert np.linalg.norm(found - alone) <= 1 + 1e-6


def test_guarantee_class_sums_are_float64() -> None:
    """Four thousand chunks of the same row: in float32 their sum would lose digits."""
    features = feature_maps.summed_features(lambda x, w: jnp.sum(w)[None] / 3, 1)

    def sums(count: int) -> np.ndarray:
        chunks = class_sums.ClassChunks(
            np.zeros((count, 1, 1), np.float32),
            np.ones((count, 1), np.float32),
            np.zeros(count, np.int32),
        )
        return np.asarray(class_sums.class_sums(features, chunks, num_classes=1))

    assert sums(1).dtype == np.float64
    np.testing.assert_allclose(sums(4000), 4000 * sums(1), rtol=1e-12)


def test_guarantee_features_known_by_sums_stay_below_one() -> None:
    """By the margin that changes of later chunks need: these have norm 1 without it."""
    features = feature_maps.summed_features(lambda x, w: jnp.sum(w)[None], 1)
    one = float(features.weighted_sum(jnp.zeros((1, 3)), jnp.ones(1))[0])
    assert 0.999 < one < 1 - 4e-4


def test_guarantee_an_example_moves_the_sum_of_many_by_at_most_one() -> None:
    """Sums of float32 across chunks of 100,000 rows moved by 1.003."""
    n, d = 100_000, 40
    rng = np.random.default_rng(0)
    x = (1 + 0.3 * rng.normal(size=(n, d))).astype(np.float32)
    features = feature_maps.unit_features(lambda rows: rows, d)

    def sums(x: np.ndarray) -> np.ndarray:
        chunks = class_sums.arrange_by_class(
            x, np.zeros(len(x), int), num_classes=1, chunk_size=500
        )
        return np.asarray(class_sums.class_sums(features, chunks, num_classes=1))

    assert 0.999 < np.linalg.norm(sums(x) - sums(x[1:])) <= 1


def test_guarantee_noisy_sums_have_independent_noise_on_every_entry() -> None:
    with numerics.float64():
        exact = jnp.full((3, 20_000), 7.0)
    noisy = class_sums.noisy_sums(private_key(0), exact, stddev=4.0, divisor=2.0)
    assert noisy.dtype == jnp.float32
    noise = (2 * np.asarray(noisy) - 7.0) / 4.0
    assert scipy.stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    correlations = np.corrcoef(noise)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.04  # 5.6 standard deviations
    with pytest.raises(TypeError):
        class_sums.noisy_sums(private_key(0), jnp.ones((2, 3)), stddev=4.0, divisor=2.0)
    with pytest.raises(TypeError):
        class_sums.noisy_sums(jax.random.key(0), exact, stddev=4.0, divisor=2.0)


_SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxdp.features import base as feature_maps
from jaxdp.features.tangent import entk_map
from jaxdp.networks import tangent
from jaxdp.privacy import class_sums
module = tangent.FullyConnected1(16, 4)
params = jax.jit(module.init)(jax.random.key(3), jnp.zeros((1, 12)))
features = entk_map(module.apply, params, 12)
rng = np.random.default_rng(0)
x, y = rng.uniform(0, 1, (100, 12)).astype(np.float32), rng.integers(0, 3, 100)
chunks = class_sums.arrange_by_class(x, y, num_classes=3, chunk_size=16)
one = np.asarray(class_sums.class_sums(features, chunks, num_classes=3))
assert len(jax.devices()) == 8
mesh = Mesh(np.array(jax.devices()), ("data",))
across = NamedSharding(mesh, PartitionSpec(None, "data"))
whole = NamedSharding(mesh, PartitionSpec())
placed = class_sums.ClassChunks(
    jax.device_put(chunks.x, across),
    jax.device_put(chunks.weights, across),
    jax.device_put(chunks.labels, whole),
)
compiled = jax.jit(features.weighted_sum).lower(placed.x[0], placed.weights[0]).compile()
assert "all-reduce" in compiled.as_text()
found = class_sums.class_sums(features, placed, num_classes=3)
np.testing.assert_allclose(np.asarray(found), one, atol=1e-5)
print("equal")
"""


@pytest.mark.slow
def test_eight_devices_give_the_result_of_one() -> None:
    flags = "--xla_force_host_platform_device_count=8"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", _SHARDED],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "equal"


def test_rescaled_features_are_those_of_the_scaled_rows() -> None:
    features = feature_maps.unit_features(jnp.tanh, 4)
    stored = jnp.arange(12, dtype=jnp.uint8).reshape(3, 4)
    weights = jnp.array([1.0, -2.0, 0.5])
    found = feature_maps.rescaled(features, low=2.0, high=18.0).weighted_sum(stored, weights)
    expected = features.weighted_sum((jnp.asarray(stored, jnp.float32) - 2) / 16, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
