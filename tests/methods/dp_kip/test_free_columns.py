"""DP-KIP with columns that stay as they are, and with bounds on those that do not."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from kip_problem import RIDGE, C, D, N, config, mechanism

from jaxdp import kernels, numerics
from jaxdp.kernels import preprocess
from jaxdp.methods import dp_kip
from jaxdp.privacy import clipping
from jaxdp.privacy.mechanism import private_key


def test_only_free_columns_are_distilled_and_clipped(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    free = jnp.arange(D) % 3 != 0
    kernel, clip_norm = kernels.fc_ntk(), 1e-3
    m = mechanism(sampling_rate=1.0, clip_norm=clip_norm)
    general = dataclasses.replace(kernel, dot_product=None)

    def released(kernel: kernels.Kernel, **changes: object) -> np.ndarray:
        kip = dp_kip.dp_kip(kernel, m, config(free=free, **changes))
        after = kip.update(kip.init(support), private_key(0), *data, 1)
        np.testing.assert_array_equal(after.support.x[:, ~free], support.x[:, ~free])
        np.testing.assert_array_equal(after.average[:, ~free], support.x[:, ~free])
        return np.asarray(support.x - after.support.x)

    # The oracle differentiates with respect to the free columns alone.
    with numerics.float64():
        y = preprocess.centred_one_hot(data[1], C).astype(jnp.float64)
        x = support.x.astype(jnp.float64)

        def loss(part: jax.Array, target: tuple) -> jax.Array:
            whole = dp_kip.SupportSet(x.at[:, free].set(part), support.y.astype(jnp.float64))
            return dp_kip.loss(kernel, whole, *target, ridge=RIDGE)

        targets = data[0].astype(jnp.float64), y
        whole = functools.partial(clipping.sum_clipped_grads, loss, clip_norm=clip_norm)
        expected = jax.jit(whole)(x[:, free], targets, jnp.ones(N, bool)) / (clip_norm * N)
    for ours in (released(kernel), released(general)):
        np.testing.assert_allclose(ours[:, free], expected, rtol=1e-3, atol=1e-5)


def test_fixed_columns_stay_whatever_the_optimiser_does(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    free = jnp.arange(D) % 3 != 0
    spread = optax.stateless(lambda grads, _: jax.tree.map(lambda g: g + 1.0, grads))
    kip = dp_kip.dp_kip(
        kernels.fc_ntk(), mechanism(), config(free=free, optimizer=spread, average_decay=0.9)
    )
    after = kip.update(kip.init(support), private_key(0), *data, 4)
    np.testing.assert_array_equal(after.support.x[:, ~free], support.x[:, ~free])
    np.testing.assert_array_equal(after.average[:, ~free], support.x[:, ~free])
    assert np.all(np.asarray(after.support.x[:, free] != support.x[:, free]))


def test_bounds_are_kept_after_every_step_by_distilled_columns(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    free, low, high = jnp.arange(D) % 3 != 0, -0.1, 0.2
    assert support.x.min() < low < high < support.x.max()
    away = optax.stateless(lambda grads, _: jax.tree.map(lambda g: jnp.sign(g) * 9.0, grads))
    for step in (optax.sgd(0.0), away):
        kip = dp_kip.dp_kip(
            kernels.fc_ntk(), mechanism(), config(optimizer=step, bounds=(low, high), free=free)
        )
        x = np.asarray(kip.update(kip.init(support), private_key(0), *data, 1).support.x)
        moved, kept = x[:, free], np.clip(support.x, low, high)[:, free]
        expected = kept if step is not away else np.where(moved > 0, high, low)
        np.testing.assert_allclose(moved, expected, rtol=1e-6)
        np.testing.assert_array_equal(x[:, ~free], support.x[:, ~free])
