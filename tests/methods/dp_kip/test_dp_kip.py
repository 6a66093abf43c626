"""DP-KIP: one step against its definition, the guarantee, randomness, resumption, compilation."""

import dataclasses
import functools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdp import kernels, numerics
from jaxdp.kernels import krr, preprocess
from jaxdp.methods import dp_kip
from jaxdp.privacy import clipping, sampling
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

N, D, C, IPC = 40, 12, 3, 2
RIDGE = 1e-3


def mechanism(**changes: float) -> SubsampledGaussian:
    values = {
        "num_examples": N,
        "sampling_rate": 0.5,
        "num_steps": 20,
        "clip_norm": math.inf,
        "noise_multiplier": 0.0,
    }
    return SubsampledGaussian(**(values | changes))


def config(**changes: object) -> dp_kip.KIPConfig:
    values = {"ridge": RIDGE, "optimizer": optax.sgd(1.0), "chunk_size": 7}
    return dp_kip.KIPConfig(**(values | changes))


@pytest.fixture
def data() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    labels = np.arange(N) % C
    centres = 2 * rng.normal(size=(C, D))
    x = centres[labels] + rng.normal(size=(N, D))
    return jnp.asarray(x, jnp.float32), jnp.asarray(labels, jnp.int32)


@pytest.fixture
def support() -> dp_kip.SupportSet:
    return dp_kip.initial_support(jax.random.key(3), ipc=IPC, num_classes=C, dim=D)


def oracle_sum(
    kernel: kernels.Kernel,
    support: dp_kip.SupportSet,
    x: jax.Array,
    labels: jax.Array,
    clip_norm: float,
) -> np.ndarray:
    """Sum of clipped gradients by autodiff, in float64."""

    @jax.jit  # its many small operations would be compiled one by one
    def clipped_sum(x_s: jax.Array, targets: tuple) -> jax.Array:
        return clipping.sum_clipped_grads(
            lambda x_s, t: dp_kip.loss(kernel, dp_kip.SupportSet(x_s, y_s), *t, ridge=RIDGE),
            x_s,
            targets,
            jnp.ones(len(x), bool),
            clip_norm=clip_norm,
        )

    with numerics.float64():
        y_s = jnp.asarray(support.y, jnp.float64)
        y = preprocess.centred_one_hot(labels, C).astype(jnp.float64)
        wide = jnp.asarray(support.x, jnp.float64)
        return np.asarray(clipped_sum(wide, (jnp.asarray(x, jnp.float64), y)))


def drawn(key: jax.Array, step: int, rate: float) -> np.ndarray:
    """Return the examples that step `step` of a run with `key` draws."""
    sample_key, _ = jax.random.split(jax.random.fold_in(key, step))
    sample = sampling.poisson_sample(sample_key, num_examples=N, sampling_rate=rate)
    return np.asarray(sample.indices[: int(sample.size)])


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


@pytest.mark.parametrize("clip_norm", [1e-4, 1e-2])
def test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm(
    data: tuple, support: dp_kip.SupportSet, clip_norm: float
) -> None:
    x, labels = data
    m = mechanism(sampling_rate=1.0, clip_norm=clip_norm)
    kip = dp_kip.dp_kip(kernels.fc_ntk(), m, config())

    def released(x: jax.Array) -> np.ndarray:
        after = kip.update(kip.init(support), private_key(0), x, labels, 1)
        # Undo the division by public constants: what is left is the clipped sum.
        return np.asarray(support.x - after.support.x, np.float64) * N * clip_norm

    whole = released(x)
    # A record of NaN contributes exactly zero, as one that was left out (tested below).
    moved = [np.linalg.norm(whole - released(x.at[i].set(jnp.nan))) for i in range(N)]
    assert max(moved) <= clip_norm * (1 + 1e-3)  # the state is float32
    assert max(moved) >= clip_norm * (1 - 1e-3)  # and the bound is attained


def test_guarantee_nothing_but_the_sample_and_the_noise_depends_on_data(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(sampling_rate=0.1), config())
    key = private_key(2)
    batch = drawn(key, 0, 0.1)
    not_drawn = np.setdiff1d(np.arange(N), batch)
    changed = (data[0].at[not_drawn].set(99.0), data[1].at[not_drawn].set(0))
    first, second = (kip.update(kip.init(support), key, *z, 1) for z in (data, changed))
    chex.assert_trees_all_equal(first, second)


def pure_noise(support: dp_kip.SupportSet, steps: int, noise_multiplier: float) -> np.ndarray:
    """Return the updates of steps whose every record is NaN: all that is left is noise."""
    m = mechanism(clip_norm=0.1, noise_multiplier=noise_multiplier, num_steps=steps)
    kip = dp_kip.dp_kip(kernels.fc_ntk(), m, config(optimizer=optax.sgd(1e-3)))
    x, labels = jnp.full((N, support.x.shape[1]), jnp.nan), jnp.zeros(N, jnp.int32)
    state, key, moves = kip.init(support), private_key(7), []
    for _ in range(steps):
        after = kip.update(state, key, x, labels, 1)
        moves.append(np.asarray(state.support.x - after.support.x, np.float64))
        state = after
    return np.stack(moves) / 1e-3 * m.expected_batch_size  # in units of the clip norm


def test_guarantee_noise_has_the_accounted_scale_and_is_fresh_every_step() -> None:
    # 20 steps of 20 x 200 draws: the variance is known to 0.5 %, and 3 % off would be seen.
    support = dp_kip.initial_support(jax.random.key(0), ipc=10, num_classes=2, dim=200)
    noise = pure_noise(support, 20, noise_multiplier=1.5)
    assert abs(np.std(noise) / 1.5 - 1) < 0.015
    rows = noise.reshape(20, -1)
    correlation = np.corrcoef(rows) - np.eye(20)
    assert np.abs(correlation).max() < 0.08  # 5 standard errors; repeated noise gives 1


def test_non_finite_records_contribute_exactly_zero(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    x, labels = data
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(sampling_rate=1.0, clip_norm=0.1), config())
    state = kip.init(support)
    poisoned = kip.update(
        state, private_key(0), x.at[3].set(jnp.nan).at[4, 0].set(jnp.inf), labels, 1
    )
    assert np.isfinite(poisoned.support.x).all()
    rest = np.delete(np.arange(N), [3, 4])
    m = mechanism(num_examples=N - 2, sampling_rate=1.0, clip_norm=0.1)
    clean = dp_kip.dp_kip(kernels.fc_ntk(), m, config())
    without = clean.update(state, private_key(0), x[rest], labels[rest], 1)
    step, expected = (support.x - z.support.x for z in (poisoned, without))
    np.testing.assert_allclose(step * N, expected * (N - 2), rtol=1e-4, atol=1e-4)


def test_a_run_cut_anywhere_equals_the_whole_run(data: tuple, support: dp_kip.SupportSet) -> None:
    m = mechanism(clip_norm=0.1, noise_multiplier=1.0)
    kip = dp_kip.dp_kip(kernels.fc_ntk(), m, config(optimizer=optax.adam(0.1), average_decay=0.9))
    key = private_key(11)
    whole = kip.update(kip.init(support), key, *data, 9)
    cut = kip.init(support)
    for steps in (1, 3, 0, 5):
        cut = kip.update(cut, key, *data, steps)
    chex.assert_trees_all_equal(whole, cut)


def test_never_more_steps_than_accounted(data: tuple, support: dp_kip.SupportSet) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(num_steps=5), config())
    state = kip.update(kip.init(support), private_key(0), *data, 3)
    state = kip.update(state, private_key(0), *data, 100)
    assert int(state.step) == 5
    chex.assert_trees_all_equal(state, kip.update(state, private_key(1), *data, 1))


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
        return preprocess.scale(rows, shift=100.0, scale=50.0)

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
    alpha = krr.fit(kernel.symmetric(support.x), support.y, ridge=RIDGE)
    expected = krr.predict(kernel.cross(data[0], support.x), alpha)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)


def test_predict_refuses_a_diverged_support(data: tuple, support: dp_kip.SupportSet) -> None:
    broken = support._replace(x=support.x.at[0, 0].set(jnp.nan))
    with pytest.raises(krr.NotPositiveDefiniteError, match="not positive definite"):
        dp_kip.predict(kernels.fc_ntk(), broken, data[0], ridge=RIDGE)


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


def test_update_needs_the_accounted_number_of_examples(
    data: tuple, support: dp_kip.SupportSet
) -> None:
    kip = dp_kip.dp_kip(kernels.fc_ntk(), mechanism(num_examples=N + 1), config())
    with pytest.raises(ValueError, match="41 examples, got 40"):
        kip.update(kip.init(support), private_key(0), *data, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ridge", -1.0), ("average_decay", 1.0), ("chunk_size", 0), ("bounds", (1.0, 1.0))],
)
def test_config_checks_its_ranges(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        config(**{name: value})


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
