"""The mean of features before a teacher's first step: its release, and how training sees rows."""

from __future__ import annotations

import math
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxdp
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.teacher import classifier, feature_mean
from jaxdp.methods.teacher import view as views
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

N, P, C = 40, 12, 3
T = 6


def rows_of(seed: int = 0) -> jax.Array:
    """Return features of norm 1 that share a mean, and the constant."""
    rng = np.random.default_rng(seed)
    rows = 2 + rng.normal(size=(N, P - 1))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return jnp.asarray(np.concatenate([rows, np.full((N, 1), views.CONSTANT)], axis=1), jnp.float32)


ROWS, LABELS = rows_of(), jnp.asarray(np.arange(N) % C, jnp.int32)


def mean_release(noise: float = 0.0, rows: Any = ROWS, seed: int = 0) -> views.View:
    look = feature_mean.mean_of_features(one_release(N, noise_multiplier=noise), chunk_size=7)
    return look(private_key(seed), rows, LABELS)


def released_mean(monkeypatch: pytest.MonkeyPatch, rows: Any, noise: float = 0.0) -> np.ndarray:
    """Return the mean itself, before it is shrunk, times n."""
    seen: list[np.ndarray] = []

    def noted(mean: jax.Array, *, noise: float) -> views.View:
        seen.append(np.asarray(mean, np.float64))
        return views.as_they_are(len(mean))

    monkeypatch.setattr(feature_mean, "centred_on", noted)
    mean_release(noise, rows)
    return seen[-1] * N


def steps(noise: float = 1.0) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=N, sampling_rate=1.0, num_steps=T, clip_norm=0.1, noise_multiplier=noise
    )


def fit_of(noise: float = 1.0, mean_noise: float = 1.0) -> classifier.Teacher:
    config = classifier.TeacherConfig(optimizer=optax.sgd(0.5), chunk_size=7)
    first = one_release(N, noise_multiplier=mean_noise)
    return classifier.dp_teacher(steps(noise), config, first=first)


@pytest.mark.parametrize("scale", [1.0, 1 + 2.0**-11, 1e3, 1e15, 1e-30])
def test_guarantee_one_record_moves_the_mean_by_at_most_one(
    monkeypatch: pytest.MonkeyPatch, scale: float
) -> None:
    rows = ROWS.at[3, :-1].multiply(scale)
    whole = released_mean(monkeypatch, rows)
    without = released_mean(monkeypatch, rows.at[3].set(0.0))
    moved = np.linalg.norm(whole - without)
    assert moved <= 1 + 2e-6  # float32 of the result
    assert moved == pytest.approx(min(1.0, scale), rel=1e-5, abs=1e-6)
    assert whole[-1] == 0  # the constant is public


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_guarantee_masked_and_non_finite_rows_add_exactly_zero(bad: float) -> None:
    mask, far = jnp.arange(N) != 2, ROWS.at[2, 1].set(1e30)
    expected = feature_mean.sum_clipped_rows(ROWS, mask)
    np.testing.assert_array_equal(feature_mean.sum_clipped_rows(far, mask), expected)
    found = feature_mean.sum_clipped_rows(ROWS.at[2, 1].set(bad), jnp.ones(N, bool))
    np.testing.assert_array_equal(found, expected)


def test_guarantee_no_rounding_lets_a_row_add_more_than_one() -> None:
    """Rows of float16 have a norm of up to 1 + 2^-11 where that of float32 was 1."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 1300))
    rows = jnp.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), jnp.float16)
    one = jnp.ones(1, bool)
    sums = [np.asarray(feature_mean.sum_clipped_rows(row[None], one), np.float64) for row in rows]
    assert max(np.linalg.norm(each) for each in sums) <= 1.0


def test_guarantee_the_mean_has_the_noise_that_is_accounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = jnp.zeros((N, 4000)).at[:, -1].set(1.0)
    noise = released_mean(monkeypatch, wide, noise=3.0)[:-1]
    assert np.std(noise) == pytest.approx(3.0, rel=0.05)
    assert abs(np.mean(noise)) < 0.2


def test_guarantee_labels_are_not_read() -> None:
    look = feature_mean.mean_of_features(one_release(N, noise_multiplier=1.0), chunk_size=7)
    found = [look(private_key(0), ROWS, labels) for labels in (LABELS, 0 * LABELS)]
    chex.assert_trees_all_equal(*found)


@pytest.mark.parametrize(
    "other",
    [
        SubsampledGaussian(
            num_examples=N, sampling_rate=0.5, num_steps=1, clip_norm=1.0, noise_multiplier=1.0
        ),
        steps(),
    ],
)
def test_guarantee_a_mean_is_one_release_of_all_examples(other: SubsampledGaussian) -> None:
    with pytest.raises(ValueError, match="released once, of all examples"):
        feature_mean.mean_of_features(other, chunk_size=7)


def test_guarantee_the_mean_is_released_once_in_a_run() -> None:
    """Whatever keys later calls have: a resumed run has another one."""
    fit = fit_of()
    state = fit.update(fit.init(P, C), private_key(0), ROWS, LABELS, 1)
    assert float(jnp.linalg.norm(state.view.centre)) > 0
    for seed in (1, 2):
        later = fit.update(state, private_key(seed), rows_of(9), LABELS, 2)
        chex.assert_trees_all_equal(later.view, state.view)


def test_guarantee_keys_of_mean_and_steps_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: dict[str, bytes] = {}

    def look(key: Any, features: Any, labels: Any) -> views.View:
        keys["mean"] = jax.random.key_data(key).tobytes()
        return views.as_they_are(P)

    def accounted(mechanism: Any, step: Any) -> Any:
        def update(state: Any, key: Any, *rest: Any) -> Any:
            keys["steps"] = jax.random.key_data(key).tobytes()
            return state

        return update

    monkeypatch.setattr(classifier, "mean_of_features", lambda *_, **__: look)
    monkeypatch.setattr(classifier.dp_sgd, "accounted_steps", accounted)
    fit, key = fit_of(), private_key(0)
    fit.update(fit.init(P, C), key, ROWS, LABELS, 1)
    assert len({keys["mean"], keys["steps"], jax.random.key_data(key).tobytes()}) == 3


def test_a_run_with_a_mean_cut_anywhere_equals_the_whole_run() -> None:
    fit, key = fit_of(), private_key(5)
    whole = fit.update(fit.init(P, C), key, ROWS, LABELS, T)
    cut = fit.init(P, C)
    for count in (1, 3, 2):
        cut = fit.update(cut, key, ROWS, LABELS, count)
    chex.assert_trees_all_equal(whole, cut)


def test_rows_are_centred_and_have_norm_one_on_average() -> None:
    view = mean_release()
    seen = np.asarray(view.seen(ROWS))
    np.testing.assert_allclose(seen[:, :-1].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(np.mean(np.sum(seen[:, :-1] ** 2, axis=1)), 1, rtol=1e-4)
    np.testing.assert_array_equal(seen[:, -1], views.CONSTANT)  # as where no mean is taken off


def test_a_mean_of_noise_alone_is_shrunk_to_nothing() -> None:
    many = [mean_release(500.0, jnp.zeros((N, P)), seed) for seed in range(20)]
    shrunk = [float(jnp.linalg.norm(view.centre)) for view in many]
    # The noise of the mean has norm 500 sqrt(11) / 40 = 41.
    assert np.median(shrunk) < 8
    assert all(np.isfinite(np.asarray(view.scale)).all() for view in many)


def test_weights_on_what_is_seen_and_on_rows_say_the_same() -> None:
    view = mean_release(0.5)
    weights = jnp.asarray(np.random.default_rng(2).normal(size=(P, C)), jnp.float32)
    np.testing.assert_allclose(view.seen(ROWS) @ weights, ROWS @ view.on_rows(weights), atol=2e-5)
    np.testing.assert_allclose(view.on_seen(view.on_rows(weights)), weights, atol=2e-4)


def test_a_view_is_stored_as_an_array() -> None:
    view = mean_release(0.5)
    chex.assert_trees_all_equal(views.from_array(view.as_array()), view)
    for bad in (np.ones((3, P)), np.ones(P), np.array([[0.0], [0.0]]), np.array([[np.nan], [1.0]])):
        with pytest.raises(ValueError, match="a centre and scales above 0"):
            views.from_array(bad)


SPEC = jaxdp.Spec.images("toy", (200, 8, 8), class_names=["a", "b"])


def plan_of(**settings: Any) -> Any:
    teacher = jaxdp.methods.teacher
    return teacher.make_plan(teacher.complete(teacher.Settings(**settings), SPEC), SPEC)


@pytest.mark.parametrize("match", ["teacher", "both"])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_guarantee_the_mean_is_accounted_beside_the_steps(match: str, share: float) -> None:
    plan = plan_of(eps=2.0, match=match, mean_share=share)
    mean = plan.mechanisms.mean
    assert mean in plan.ledger.also
    assert plan.training.first.noise_multiplier == mean
    assert 1.96 < plan.ledger.epsilon() <= 2 * (1 + 1e-9)
    alone = plan_of(eps=2.0, match=match, mean_share=0.0)
    assert alone.training.first is None
    assert plan.ledger.steps.noise_multiplier > alone.ledger.steps.noise_multiplier


def test_guarantee_the_mean_of_persons_has_their_noise() -> None:
    teacher, persons = jaxdp.methods.teacher, SPEC.of_persons(3)
    asked = teacher.complete(teacher.Settings(eps=2.0, mean_share=0.1), persons)
    plan = teacher.make_plan(asked, persons)
    assert plan.mechanisms.mean > 2.5 * plan_of(eps=2.0, mean_share=0.1).mechanisms.mean
    assert plan.ledger.epsilon() <= 2 * (1 + 1e-9)


def test_a_teacher_keeps_how_it_saw_features() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200, dtype=np.int32) % 2
    x = np.clip(rng.normal(100 + 60 * y[:, None, None], 30, (200, 8, 8)), 0, 255).astype(np.uint8)
    plan = plan_of(eps=20.0)
    runner = PlainRunner(progress=False)
    released = plan.release(jaxdp.Private(x[..., None], y), private_key(0), runner)
    assert released.view.shape == (2, len(released.weights))
    again = plan.form.from_arrays({"weights": released.weights, "view": released.view})
    np.testing.assert_array_equal(again.view, released.view)
    with pytest.raises(ValueError, match="which fits no weights"):
        plan.form.from_arrays({"weights": released.weights[:-1], "view": released.view})
    with pytest.raises(ValueError, match="which fits no weights"):
        plan.form.from_arrays({"view": released.view})
