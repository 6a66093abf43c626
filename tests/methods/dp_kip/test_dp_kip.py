"""DP-KIP: one step against its definition, resumption, compilation, predictions."""

from __future__ import annotations

import dataclasses
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from kip_problem import RIDGE, C, D, N, config, drawn, mechanism, oracle_sum

from jaxdp import kernels, numerics
from jaxdp.data import Codec
from jaxdp.kernels import krr
from jaxdp.methods import dp_kip
from jaxdp.privacy.mechanism import private_key


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_a_step_without_noise_is_plain_kip(
    data: tuple, support: dp_kip.SupportSet, rate: float
) -> None:
    kernel = kernels.fc_ntk()
    m = mechanism(sampling_rate=rate)
    kip = dp_kip.dp_kip(kernel, m, config())
    key = private_key(5)
    after = kip.update(kip.init(support), key, *data, 1)
    batch = drawn(key, 0, rate)
    expected = oracle_sum(kernel, support, data[0][batch], data[1][batch], math.inf)
    step = -(np.asarray(after.support.x) - np.asarray(support.x)) * m.expected_batch_size
    np.testing.assert_allclose(step, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_a_clipped_step_is_in_units_of_the_clip_norm(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    kernel, clip_norm = kernels.fc_ntk(depth=2), 1e-3
    m = mechanism(sampling_rate=1.0, clip_norm=clip_norm)
    kip = dp_kip.dp_kip(kernel, m, config())
    after = kip.update(kip.init(support), private_key(0), *data, 1)
    expected = oracle_sum(kernel, support, *data, clip_norm) / (clip_norm * N)
    np.testing.assert_allclose(
        np.asarray(support.x - after.support.x), expected, rtol=1e-3, atol=1e-5
    )


def test_kernels_without_dot_product_form_take_the_general_path(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    exact_kernel = kernels.linear()
    general_kernel = dataclasses.replace(exact_kernel, dot_product=None)
    m = mechanism(clip_norm=0.05)
    key = private_key(1)
    exact, general = (
        dp_kip.dp_kip(kernel, m, config()).update(
            dp_kip.dp_kip(kernel, m, config()).init(support), key, *data, 3
        )
        for kernel in (exact_kernel, general_kernel)
    )
    np.testing.assert_allclose(exact.support.x, general.support.x, rtol=1e-4, atol=1e-4)


def test_a_run_cut_anywhere_equals_the_whole_run(data: tuple, support: dp_kip.SupportSet) -> None:
    m = mechanism(clip_norm=0.1, noise_multiplier=1.0)
    kip = dp_kip.dp_kip(kernels.fc_ntk(), m, config(optimizer=optax.adam(0.1), average_decay=0.9))
    key = private_key(11)
    whole = kip.update(kip.init(support), key, *data, 9)
    cut = kip.init(support)
    for steps in (1, 3, 0, 5):
        cut = kip.update(cut, key, *data, steps)
    chex.assert_trees_all_equal(whole, cut)


def test_compiled_once_per_run(data: tuple, support: dp_kip.SupportSet) -> None:
    traces = []

    def target_fn(rows: jax.Array) -> jax.Array:
        traces.append(rows.shape)
        return rows

    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(), config(target_fn=target_fn))
    state = kip.init(support)
    state = kip.update(state, private_key(0), *data, 1)
    compiled = len(traces)
    for steps in (2, 5, 1):
        state = kip.update(state, private_key(steps), *data, steps)
    assert compiled > 0
    assert len(traces) == compiled


def test_stored_bytes_are_scaled_inside(support: dp_kip.SupportSet) -> None:
    rng = np.random.default_rng(1)
    stored = jnp.asarray(rng.integers(0, 256, size=(N, D)), jnp.uint8)
    labels = jnp.asarray(rng.integers(0, C, size=N), jnp.int32)

    def target_fn(rows: jax.Array) -> jax.Array:
        return Codec(low=0.0, high=255.0, shift=100.0, scale=50.0).to_kernel(rows)

    key = private_key(4)
    inside = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(), config(target_fn=target_fn))
    outside = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(), config())
    chex.assert_trees_all_close(  # how a scale is fused with what follows may turn a last bit
        inside.update(inside.init(support), key, stored, labels, 2),
        outside.update(outside.init(support), key, target_fn(stored), labels, 2),
        rtol=1e-5,
    )


def test_average_is_the_moving_average_of_iterates(data: tuple, support: dp_kip.SupportSet) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(), config(average_decay=0.75))
    state, expected = kip.init(support), None
    for step in range(6):
        state = kip.update(state, private_key(0), *data, 1)
        decay = min(0.75, step / (step + 1))
        x = np.asarray(state.support.x)
        expected = x if expected is None else decay * expected + (1 - decay) * x
    np.testing.assert_allclose(state.average, expected, rtol=1e-5, atol=1e-6)


def test_distillation_learns_and_leaves_jax_as_it_was(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    kernel = kernels.fc_ntk()
    kip = dp_kip.dp_kip(kernel, mechanism(), config(optimizer=optax.adam(0.1)))
    before = numerics.has_float64()
    state = kip.update(kip.init(support), private_key(0), *data, 20)
    assert numerics.has_float64() == before
    chex.assert_type([state.support.x, state.average], jnp.float32)

    def accuracy(s: dp_kip.SupportSet) -> float:
        return float(krr.accuracy(dp_kip.predict(kernel, s, data[0], ridge=RIDGE), data[1]))

    assert accuracy(state.support) > max(0.9, accuracy(support))


def test_predict_is_chunked_krr(data: tuple, support: dp_kip.SupportSet) -> None:
    kernel = kernels.fc_ntk()
    scores = dp_kip.predict(kernel, support, data[0], ridge=RIDGE, chunk_size=9)

    @jax.jit
    def at_once(x_s: jax.Array, y_s: jax.Array, x_t: jax.Array) -> jax.Array:
        alpha = krr.fit(kernel.symmetric(x_s), y_s, ridge=RIDGE)
        return krr.predict(kernel.cross(x_t, x_s), alpha)

    expected = at_once(support.x, support.y, data[0])
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)


def test_predict_refuses_a_diverged_support(data: tuple, support: dp_kip.SupportSet) -> None:
    broken = support._replace(x=support.x.at[0, 0].set(jnp.nan))
    with pytest.raises(krr.NotPositiveDefiniteError, match="not positive definite"):
        dp_kip.predict(kernels.fc_ntk(), broken, data[0], ridge=RIDGE)


@pytest.mark.parametrize("labels", [jnp.arange(4), jnp.zeros((4, 2), jnp.int32), jnp.zeros(4)])
def test_predict_refuses_labels_that_are_no_targets(data: tuple, labels: jax.Array) -> None:
    support = dp_kip.SupportSet(jnp.zeros((4, data[0].shape[1])), labels)
    with pytest.raises(TypeError, match="labels are"):
        dp_kip.predict(kernels.fc_ntk(), support, data[0], ridge=RIDGE)


@pytest.mark.parametrize("wrong", [-1, 5, 100])
def test_update_refuses_labels_that_are_no_classes(
    wrong: int, data: tuple, support: dp_kip.SupportSet
) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(), config())
    x, labels = data
    assert support.y.shape[1] <= 5
    with pytest.raises(ValueError, match="labels must be whole numbers in 0"):
        kip.update(kip.init(support), private_key(0), x, labels.at[3].set(wrong), 1)


def test_initial_support_is_balanced_gaussian_and_sees_no_data() -> None:
    support = dp_kip.initial_support(
        jax.random.key(0), ipc=50, num_classes=10, dim=300, init_scale=0.5
    )
    assert support.x.shape == (500, 300)
    assert abs(float(jnp.std(support.x)) / 0.5 - 1) < 0.01
    np.testing.assert_array_equal(jnp.argmax(support.y, axis=1), np.repeat(np.arange(10), 50))
    np.testing.assert_allclose(jnp.sum(support.y, axis=1), 0, atol=1e-6)


@pytest.mark.parametrize(("ipc", "num_classes"), [(0, 10), (1, 1)])
def test_initial_support_needs_rows_and_classes(ipc: int, num_classes: int) -> None:
    with pytest.raises(ValueError, match="ipc >= 1 and num_classes >= 2"):
        dp_kip.initial_support(jax.random.key(0), ipc=ipc, num_classes=num_classes, dim=4)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ridge", -1.0), ("average_decay", 1.0), ("chunk_size", 0), ("bounds", (1.0, 1.0))],
)
def test_config_checks_its_ranges(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        config(**{name: value})
