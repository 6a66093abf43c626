"""Tangent features of networks against naive gradients of every example."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.example_maps import CLASSES, NETWORKS, network_map, rows

from jaxdp.features import base as feature_maps


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

    @jax.jit
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
