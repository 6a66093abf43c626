"""The private teacher: clipped sums against autodiff, the guarantee, randomness, resumption."""

from __future__ import annotations

import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdp import numerics
from jaxdp.methods.teacher import classifier as teacher
from jaxdp.methods.teacher.view import View
from jaxdp.privacy import clipping, sampling, sums
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

N, P, C = 40, 12, 3


def mechanism(**changes: float) -> SubsampledGaussian:
    values = {
        "num_examples": N,
        "sampling_rate": 0.5,
        "num_steps": 20,
        "clip_norm": math.inf,
        "noise_multiplier": 0.0,
    }
    return SubsampledGaussian(**(values | changes))


def config(**changes: object) -> teacher.TeacherConfig:
    values = {"optimizer": optax.sgd(1.0), "chunk_size": 7}
    return teacher.TeacherConfig(**(values | changes))


@pytest.fixture
def data() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    labels = np.arange(N) % C
    centres = 2 * rng.normal(size=(C, P))
    features = centres[labels] + rng.normal(size=(N, P))
    return jnp.asarray(features, jnp.float32), jnp.asarray(labels, jnp.int32)


@pytest.fixture
def weights() -> jax.Array:
    return jnp.asarray(0.1 * np.random.default_rng(1).normal(size=(P, C)), jnp.float32)


def cross_entropy(weights: jax.Array, example: tuple, smoothing: float = 0.0) -> jax.Array:
    phi, label = example
    target = optax.smooth_labels(jax.nn.one_hot(label, C, dtype=weights.dtype), smoothing)
    return -jnp.sum(target * jax.nn.log_softmax(phi @ weights))


def oracle_sum(
    weights: jax.Array, data: tuple, clip_norm: float = math.inf, smoothing: float = 0.0
) -> np.ndarray:
    """Sum of clipped gradients by autodiff, in float64; norms are raised by the margin of sums."""
    with numerics.float64():
        return np.asarray(
            clipping.sum_clipped_grads(
                lambda w, example: cross_entropy(w, example, smoothing),
                weights.astype(jnp.float64),
                (data[0].astype(jnp.float64), data[1]),
                jnp.ones(len(data[1]), bool),
                clip_norm=clip_norm / sums.MARGIN,
            )
        )


def drawn(key: jax.Array, step: int, rate: float) -> np.ndarray:
    """Return the examples that step `step` of a run with `key` draws."""
    sample_key, _ = jax.random.split(jax.random.fold_in(key, step))
    sample = sampling.poisson_sample(sample_key, num_examples=N, sampling_rate=rate)
    return np.asarray(sample.indices[: int(sample.size)])


@pytest.mark.parametrize(("clip_norm", "smoothing"), [(1e-3, 0.0), (3.0, 0.2), (math.inf, 0.2)])
def test_clipped_sum_is_the_one_of_autodiff(
    data: tuple, weights: jax.Array, clip_norm: float, smoothing: float
) -> None:
    def ours(weights: jax.Array, features: jax.Array) -> jax.Array:
        return teacher.sum_clipped_grads(
            weights,
            features,
            data[1],
            jnp.ones(N, bool),
            clip_norm=clip_norm,
            label_smoothing=smoothing,
        )

    expected = oracle_sum(weights, data, clip_norm, smoothing)
    scale = np.abs(expected).max()
    for fn in (ours, jax.jit(ours)):
        np.testing.assert_allclose(fn(weights, data[0]), expected, rtol=1e-4, atol=1e-5 * scale)


def test_float16_features_are_computed_in_float32(data: tuple, weights: jax.Array) -> None:
    half = data[0].astype(jnp.float16)
    short, wide = (
        teacher.sum_clipped_grads(weights, z, data[1], jnp.ones(N, bool), clip_norm=0.5)
        for z in (half, half.astype(jnp.float32))
    )
    assert short.dtype == jnp.float32
    np.testing.assert_array_equal(short, wide)


def test_sgd_without_noise_and_clipping_is_plain_sgd(data: tuple) -> None:
    rate = 0.3
    m = mechanism(sampling_rate=rate)
    fit = teacher.dp_teacher(m, config(optimizer=optax.sgd(0.5, momentum=0.9)))
    key = private_key(5)
    state = fit.update(fit.init(P, C), key, *data, 6)
    weights, velocity = np.zeros((P, C)), np.zeros((P, C))
    for step in range(6):
        batch = drawn(key, step, rate)
        phi, labels = np.asarray(data[0], np.float64)[batch], np.asarray(data[1])[batch]
        scores = np.exp(phi @ weights)
        grad = phi.T @ (scores / scores.sum(axis=1, keepdims=True) - np.eye(C)[labels])
        velocity = 0.9 * velocity + grad / m.expected_batch_size
        weights = weights - 0.5 * velocity
    np.testing.assert_allclose(state.weights, weights, rtol=1e-4, atol=1e-5)


def test_a_clipped_step_is_in_units_of_the_clip_norm(data: tuple) -> None:
    clip_norm = 1e-3
    fit = teacher.dp_teacher(mechanism(sampling_rate=1.0, clip_norm=clip_norm), config())
    state = fit.update(fit.init(P, C), private_key(0), *data, 1)
    expected = -oracle_sum(jnp.zeros((P, C)), data, clip_norm) / (clip_norm * N)
    np.testing.assert_allclose(state.weights, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("clip_norm", [1e-20, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1e-25, 1e-12, 1.0, 1e4])
def test_guarantee_no_clipped_norm_exceeds_the_clip_norm(
    weights: jax.Array, clip_norm: float, scale: float
) -> None:
    """Every addend alone, measured in float64 without rounding of its own."""
    rng = np.random.default_rng(2)
    features = jnp.asarray(scale * rng.normal(size=(200, P)), jnp.float32)
    labels = jnp.asarray(rng.integers(0, C, 200), jnp.int32)

    def alone(phi: jax.Array, label: jax.Array) -> jax.Array:
        return teacher.sum_clipped_grads(
            weights, phi[None], label[None], jnp.ones(1, bool), clip_norm=clip_norm
        )

    addends = np.asarray(jax.jit(jax.vmap(alone))(features, labels), np.float64)
    norms = np.sqrt(np.sum(addends**2, axis=(1, 2)))
    # Only entries' own last rounding, which cannot be told from the sum's, may be on top.
    assert norms.max() <= clip_norm * (1 + 2.0**-24)


def test_guarantee_long_rows_of_equal_values_stay_below_the_clip_norm() -> None:
    """Sums of thousands of squares round most; the margin covers it."""
    p = 4096
    for value in (0.1, 1 / 3, 0.7, 1.1):
        features = jnp.full((1, p), value, jnp.float32)
        grad = teacher.sum_clipped_grads(
            jnp.zeros((p, C)), features, jnp.zeros(1, jnp.int32), jnp.ones(1, bool), clip_norm=0.1
        )
        norm = np.linalg.norm(np.asarray(grad, np.float64))
        assert 0.1 * (1 - 1e-3) / sums.MARGIN < norm <= 0.1


def test_guarantee_norms_that_underflow_are_clipped_too(weights: jax.Array) -> None:
    """Squares of 1e-24 vanish in float32, and the norm is a hundred times the clip norm."""
    phi = jnp.full((1, P), 1e-24, jnp.float32)
    grad = teacher.sum_clipped_grads(
        weights, phi, jnp.zeros(1, jnp.int32), jnp.ones(1, bool), clip_norm=1e-26
    )
    assert np.linalg.norm(np.asarray(grad, np.float64)) <= 1e-26


@pytest.mark.parametrize("clip_norm", [1e-3, 0.5])
def test_guarantee_one_record_moves_a_release_by_at_most_the_clip_norm(
    data: tuple, clip_norm: float
) -> None:
    features, labels = data
    fit = teacher.dp_teacher(mechanism(sampling_rate=1.0, clip_norm=clip_norm), config())

    def released(features: jax.Array) -> np.ndarray:
        state = fit.update(fit.init(P, C), private_key(0), features, labels, 1)
        # Undo the division by public constants: what is left is the clipped sum.
        return -np.asarray(state.weights, np.float64) * N * clip_norm

    whole = released(features)
    # A record of NaN contributes exactly zero, as one that was left out (tested below).
    moved = [np.linalg.norm(whole - released(features.at[i].set(jnp.nan))) for i in range(N)]
    assert max(moved) <= clip_norm * (1 + 1e-5)  # the rounding of the sum
    assert max(moved) >= clip_norm * (1 - 1e-4) / sums.MARGIN  # and the bound is attained


def test_guarantee_nothing_but_the_sample_and_the_noise_depends_on_data(data: tuple) -> None:
    fit = teacher.dp_teacher(mechanism(sampling_rate=0.1), config())
    key = private_key(2)
    not_drawn = np.setdiff1d(np.arange(N), drawn(key, 0, 0.1))
    changed = (data[0].at[not_drawn].set(99.0), data[1].at[not_drawn].set(0))
    first, second = (fit.update(fit.init(P, C), key, *z, 1) for z in (data, changed))
    chex.assert_trees_all_equal(first, second)


def pure_noise(steps: int, noise_multiplier: float, clip_norm: float) -> np.ndarray:
    """Return the updates of steps whose every record is NaN: all that is left is noise."""
    p, c = 400, 10
    m = mechanism(clip_norm=clip_norm, noise_multiplier=noise_multiplier, num_steps=steps)
    fit = teacher.dp_teacher(m, config(optimizer=optax.sgd(1e-3)))
    features, labels = jnp.full((N, p), jnp.nan), jnp.zeros(N, jnp.int32)
    state, moves = fit.init(p, c), []
    for _ in range(steps):
        after = fit.update(state, private_key(7), features, labels, 1)
        moves.append(np.asarray(state.weights - after.weights, np.float64).ravel())
        state = after
    return np.stack(moves) / 1e-3 * m.expected_batch_size  # in units of the clip norm


@pytest.mark.parametrize("clip_norm", [0.1, 7.0])
def test_guarantee_noise_has_the_accounted_scale_and_is_fresh_every_step(clip_norm: float) -> None:
    """The right scale is accepted, wrong ones are not, and no two steps share their noise.

    With 20 x 4000 draws the variance is known to 0.5 %: 3 % off would be seen.
    """
    noise = pure_noise(20, 1.5, clip_norm)

    def accepts(stddev: float) -> bool:
        chi_square = np.sum((noise / stddev) ** 2)
        return bool(abs(chi_square - noise.size) / math.sqrt(2 * noise.size) < 4)

    assert accepts(1.5)
    assert not any(accepts(wrong * 1.5) for wrong in (0.5, 0.97, 1.03, 2.0))
    assert np.abs(np.corrcoef(noise) - np.eye(20)).max() < 0.08  # 5 standard errors


def test_non_finite_records_contribute_exactly_zero(data: tuple) -> None:
    features, labels = data
    bad = features.at[3].set(jnp.nan).at[4, 0].set(jnp.inf).at[5].set(-3e38)
    rest = np.delete(np.arange(N), [3, 4, 5])
    weights = jnp.zeros((P, C))
    poisoned, clean = (
        teacher.sum_clipped_grads(weights, z, labels, keep, clip_norm=0.1)
        for z, keep in (
            (bad, jnp.ones(N, bool)),
            (features, jnp.zeros(N, bool).at[rest].set(True)),
        )
    )
    np.testing.assert_array_equal(poisoned, clean)
    expected = oracle_sum(weights, (features[rest], labels[rest]), 0.1)
    np.testing.assert_allclose(clean, expected, rtol=1e-4, atol=1e-5)


def test_guarantee_records_that_a_view_makes_infinite_contribute_exactly_zero(data: tuple) -> None:
    features, labels = data
    bad = features.at[3].set(3e38)
    view = View(jnp.zeros(P), jnp.full(P, 2.0).at[-1].set(1.0))
    poisoned, clean = (
        teacher.sum_clipped_grads(jnp.zeros((P, C)), z, labels, keep, clip_norm=0.1, view=view)
        for z, keep in ((bad, jnp.ones(N, bool)), (features, jnp.ones(N, bool).at[3].set(False)))
    )
    np.testing.assert_array_equal(poisoned, clean)
    assert np.any(clean != 0)


def test_diverged_weights_release_nothing_but_noise(data: tuple) -> None:
    weights = jnp.full((P, C), jnp.nan)
    total = teacher.sum_clipped_grads(weights, *data, jnp.ones(N, bool), clip_norm=0.1)
    np.testing.assert_array_equal(total, jnp.zeros((P, C)))


def test_a_run_cut_anywhere_equals_the_whole_run(data: tuple) -> None:
    m = mechanism(clip_norm=0.1, noise_multiplier=1.0)
    fit = teacher.dp_teacher(m, config(optimizer=optax.sgd(0.4, momentum=0.9)))
    key = private_key(11)
    whole = fit.update(fit.init(P, C), key, *data, 18)
    cut = fit.init(P, C)
    for steps in (1, 3, 0, 9, 5):
        cut = fit.update(cut, key, *data, steps)
    chex.assert_trees_all_equal(whole, cut)


def test_never_more_steps_than_accounted(data: tuple) -> None:
    fit = teacher.dp_teacher(mechanism(num_steps=5), config())
    state = fit.update(fit.init(P, C), private_key(0), *data, 3)
    state = fit.update(state, private_key(0), *data, 100)
    assert int(state.step) == 5
    chex.assert_trees_all_equal(state, fit.update(state, private_key(1), *data, 1))


def test_compiled_once_per_run(data: tuple) -> None:
    traces = []

    def counted(grads: jax.Array, params: jax.Array | None = None) -> jax.Array:
        traces.append(grads.shape)
        return grads

    fit = teacher.dp_teacher(mechanism(), config(optimizer=optax.stateless(counted)))
    state = fit.update(fit.init(P, C), private_key(0), *data, 1)
    compiled = len(traces)
    for steps in (2, 5, 1):
        state = fit.update(state, private_key(steps), *data, steps)
    assert compiled > 0
    assert len(traces) == compiled


@pytest.mark.parametrize("fraction", [0.3, 1.0, 0.01])
def test_average_is_the_mean_of_the_last_iterates(data: tuple, fraction: float) -> None:
    m = mechanism(clip_norm=0.1, noise_multiplier=1.0)
    fit = teacher.dp_teacher(m, config(average_fraction=fraction))
    state, iterates = fit.init(P, C), []
    for _ in range(m.num_steps):
        state = fit.update(state, private_key(0), *data, 1)
        iterates.append(np.asarray(state.weights))
    last = max(1, math.ceil(fraction * m.num_steps))
    np.testing.assert_allclose(state.average, np.mean(iterates[-last:], axis=0), atol=1e-6)


def test_a_teacher_learns_and_predicts(data: tuple) -> None:
    fit = teacher.dp_teacher(mechanism(clip_norm=0.1), config())
    state = fit.update(fit.init(P, C), private_key(0), *data, 20)
    scores = teacher.predict(state.average, data[0].astype(jnp.float16), chunk_size=9)
    assert scores.dtype == jnp.float32
    np.testing.assert_allclose(scores, data[0] @ state.average, rtol=1e-2, atol=1e-2)
    assert float(jnp.mean(jnp.argmax(scores, axis=1) == data[1])) > 0.9


def test_update_needs_the_accounted_number_of_examples(data: tuple) -> None:
    fit = teacher.dp_teacher(mechanism(num_examples=N + 1), config())
    with pytest.raises(ValueError, match="for 41 examples, got 40"):
        fit.update(fit.init(P, C), private_key(0), *data, 1)


def test_guarantee_every_row_has_a_label_of_its_own(data: tuple) -> None:
    fit = teacher.dp_teacher(mechanism(), config())
    with pytest.raises(ValueError, match="need one label per row"):
        fit.update(fit.init(P, C), private_key(0), data[0], data[1][:-1], 1)


@pytest.mark.parametrize("wrong", [-1, C, 100])
def test_update_refuses_labels_that_are_no_classes(wrong: int, data: tuple) -> None:
    fit = teacher.dp_teacher(mechanism(), config())
    with pytest.raises(ValueError, match=r"labels must be whole numbers in 0\.\.2"):
        fit.update(fit.init(P, C), private_key(0), data[0], data[1].at[3].set(wrong), 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("average_fraction", 0.0),
        ("average_fraction", 1.5),
        ("label_smoothing", -0.1),
        ("label_smoothing", 1.0),
        ("chunk_size", 0),
    ],
)
def test_impossible_configurations_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        config(**{name: value})
