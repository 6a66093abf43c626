"""The release after a teacher's last step, that makes probabilities of its scores."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxdp
from jaxdp import numerics
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.teacher import classifier, probabilities, schedule
from jaxdp.methods.teacher import view as views
from jaxdp.privacy.ledger import one_release
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key

N, P, C = 40, 12, 3
T = 6
CLIP = 0.1
OWN = 0.7
GAPS = len(probabilities.TEMPERATURES)

_RNG = np.random.default_rng(0)
ROWS = jnp.asarray(_RNG.normal(size=(N, P)), jnp.float32).at[:, -1].set(views.CONSTANT)
LABELS = jnp.asarray(np.arange(N) % C, jnp.int32)
WEIGHTS = jnp.asarray(_RNG.normal(size=(P, C)), jnp.float32)
AS_THEY_ARE = views.as_they_are(P)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def slow_entries(weights: Any, row: Any, label: int, by_size: bool, own: float = OWN) -> np.ndarray:
    """Return what is summed of one record, by the docstring's formulas, in float64."""
    row, scores = np.asarray(row, np.float64), np.asarray(row, np.float64) @ np.asarray(weights)
    truth, length = np.eye(C)[label], np.linalg.norm(row)
    gradients = []
    for moment in (np.arange(10) + 0.5) / 10:
        residual = softmax(moment * scores) - truth
        gradients.append(residual / max(CLIP, length * np.linalg.norm(residual)))
    scores = scores + own * length**2 * np.mean(gradients, axis=0)
    right = np.argmax(scores) == label
    gaps = [softmax(scores / each).max() - right for each in probabilities.TEMPERATURES]
    if not by_size:
        return np.array(gaps) / math.sqrt(GAPS)
    return np.concatenate([np.array(gaps) / math.sqrt(GAPS), truth]) * math.sqrt(0.5)


def entries(weights: Any = WEIGHTS, rows: Any = ROWS, labels: Any = LABELS, **kwargs: Any) -> Any:
    values = {"own": OWN, "clip_norm": CLIP, "by_size": False, **kwargs}
    return probabilities.entries(weights, rows, labels, **values)


def last_of(noise: float = 0.0, *, by_size: bool = False, length: float = 1.0) -> Any:
    release = one_release(N, noise_multiplier=noise)
    return probabilities.Last(release, length=length, usual=1.7, by_size=by_size)


def calibrated(last: Any, weights: Any = WEIGHTS, rows: Any = ROWS, seed: int = 0) -> np.ndarray:
    calibrate = probabilities.calibrated(last, clip_norm=CLIP, chunk_size=7)
    return np.asarray(calibrate(private_key(seed), weights, AS_THEY_ARE, rows, LABELS))


def steps(noise: float = 1.0) -> SubsampledGaussian:
    return SubsampledGaussian(
        num_examples=N, sampling_rate=1.0, num_steps=T, clip_norm=CLIP, noise_multiplier=noise
    )


def fit_of(last: Any, first: Any = None) -> classifier.Teacher:
    config = classifier.TeacherConfig(optimizer=optax.sgd(0.5), chunk_size=7)
    return classifier.dp_teacher(steps(), config, first=first, last=last)


@pytest.mark.parametrize("by_size", [False, True])
def test_entries_are_those_of_the_formulas(by_size: bool) -> None:
    slow = [slow_entries(WEIGHTS, ROWS[i], int(LABELS[i]), by_size) for i in range(N)]
    np.testing.assert_allclose(entries(by_size=by_size), slow, atol=2e-6)


@pytest.mark.parametrize("by_size", [False, True])
def test_guarantee_a_record_adds_a_vector_of_norm_one_at_most(by_size: bool) -> None:
    """Also one that is surely wrong, whose gaps are all 1."""
    sure = 1e3 * jnp.eye(P, C)
    rows = jnp.eye(P)[:1]
    found = entries(sure, rows, jnp.array([1]), own=0.0, by_size=by_size)
    mask = jnp.ones(1, bool)
    added = np.asarray(probabilities.sum_clipped_entries(found, mask), np.float64)
    assert 0.997 < np.linalg.norm(added) <= 1.0


def test_guarantee_entries_are_clipped_whatever_they_are() -> None:
    huge = jnp.full((2, 5), 3e4).at[1].set(1e-3)
    added = probabilities.sum_clipped_entries(huge, jnp.array([True, False]))
    assert np.linalg.norm(np.asarray(added, np.float64)) <= 1.0
    kept = probabilities.sum_clipped_entries(huge, jnp.array([False, True]))
    np.testing.assert_allclose(kept, huge[1], rtol=1e-6)  # shorter than 1, and not shortened


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_guarantee_masked_and_non_finite_records_add_exactly_zero(bad: float) -> None:
    def total(rows: Any, mask: Any) -> np.ndarray:
        with numerics.float64():
            summed = probabilities.clipped_sum(
                WEIGHTS, rows, LABELS, view=AS_THEY_ARE, own=OWN, clip_norm=CLIP, by_size=True
            )
            return np.asarray(summed.chunk(jnp.arange(N), mask), np.float64)

    expected = total(ROWS, jnp.arange(N) != 2)
    np.testing.assert_array_equal(total(ROWS.at[2, 1].set(bad), jnp.ones(N, bool)), expected)
    np.testing.assert_array_equal(total(ROWS.at[2, 1].set(9.0), jnp.arange(N) != 2), expected)


def test_guarantee_a_record_moves_only_its_own_part() -> None:
    """What is summed of a record depends on it alone: others do not change it."""
    alone = entries(rows=ROWS[3:4], labels=LABELS[3:4], by_size=True)
    np.testing.assert_allclose(entries(by_size=True)[3:4], alone, atol=1e-6)


def test_guarantee_the_release_has_the_noise_that_is_accounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[np.ndarray] = []

    def noted(weights: Any, found: np.ndarray, last: Any) -> Any:
        seen.append(found)
        return weights

    monkeypatch.setattr(probabilities, "_adjusted", noted)
    noisy, exact = (
        probabilities.calibrated(last_of(each, by_size=True), clip_norm=CLIP, chunk_size=N)
        for each in (3.0, 0.0)
    )
    given = WEIGHTS, AS_THEY_ARE, jnp.zeros((N, P)), LABELS
    for seed in range(200):
        noisy(private_key(seed), *given)
    exact(private_key(0), *given)
    noise = N * (np.stack(seen[:-1]) - seen[-1])
    assert noise.shape == (200, GAPS + C)
    assert np.std(noise) == pytest.approx(3.0, rel=0.05)
    assert abs(np.mean(noise)) < 0.2


@pytest.mark.parametrize(
    "other",
    [
        SubsampledGaussian(
            num_examples=N, sampling_rate=0.5, num_steps=1, clip_norm=1.0, noise_multiplier=1.0
        ),
        steps(),
    ],
)
def test_guarantee_gaps_are_one_release_of_all_records(other: SubsampledGaussian) -> None:
    with pytest.raises(ValueError, match="released once, of all examples"):
        probabilities.calibrated(
            probabilities.Last(other, length=1.0, usual=1.7), clip_norm=CLIP, chunk_size=7
        )


def test_guarantee_gaps_are_released_once_in_a_run() -> None:
    """In the call that takes the last step, and in no other one, whatever its key."""
    fit, plain = fit_of(last_of(1.0, by_size=True)), fit_of(None)
    key = private_key(0)
    state, without = (
        each.update(each.init(P, C), key, ROWS, LABELS, T - 1) for each in (fit, plain)
    )
    assert state.average.shape == without.average.shape
    before = np.asarray(state.average)
    state = fit.update(state, key, ROWS, LABELS, 1)
    assert not np.allclose(state.average, before)
    for seed in (1, 2):
        later = fit.update(state, private_key(seed), ROWS, LABELS, 3)
        np.testing.assert_array_equal(later.average, state.average)


def test_guarantee_keys_of_the_three_releases_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: dict[str, bytes] = {}

    def noted(name: str, result: Any) -> Any:
        def release(key: Any, *rest: Any) -> Any:
            keys[name] = jax.random.key_data(key).tobytes()
            return result

        return release

    def accounted(mechanism: Any, step: Any) -> Any:
        def update(state: Any, key: Any, *rest: Any) -> Any:
            keys["steps"] = jax.random.key_data(key).tobytes()
            return state._replace(step=jnp.asarray(T))

        return update

    monkeypatch.setattr(classifier, "mean_of_features", lambda *_, **__: noted("mean", AS_THEY_ARE))
    monkeypatch.setattr(classifier, "calibrated", lambda *_, **__: noted("gaps", WEIGHTS))
    monkeypatch.setattr(classifier.dp_sgd, "accounted_steps", accounted)
    fit, key = fit_of(last_of(), first=one_release(N, noise_multiplier=1.0)), private_key(0)
    fit.update(fit.init(P, C), key, ROWS, LABELS, T)
    assert set(keys) == {"mean", "steps", "gaps"}
    assert len({*keys.values(), jax.random.key_data(key).tobytes()}) == 4


def test_a_run_with_gaps_cut_anywhere_equals_the_whole_run() -> None:
    fit, key = fit_of(last_of(1.0)), private_key(5)
    whole = fit.update(fit.init(P, C), key, ROWS, LABELS, T)
    cut = fit.init(P, C)
    for count in (1, 3, 2):
        cut = fit.update(cut, key, ROWS, LABELS, count)
    np.testing.assert_array_equal(whole.average, cut.average)


@pytest.mark.parametrize("true", [0.9, 1.7, 4.0])
def test_the_temperature_is_that_of_no_gap(true: float) -> None:
    gaps = 0.3 * np.log(true / np.array(probabilities.TEMPERATURES))
    found = probabilities.temperature(gaps, noise=0.0, usual=1.7)
    assert found == pytest.approx(true, rel=0.02)


def test_noise_leaves_the_usual_temperature() -> None:
    rng = np.random.default_rng(1)
    found = [
        probabilities.temperature(rng.normal(0, 50, GAPS), noise=50.0, usual=2.4) for _ in range(20)
    ]
    assert np.median(found) == pytest.approx(2.4, rel=0.1)
    assert max(found) < 5.5 * 1.4
    assert min(found) > 0.8 / 1.4


def test_temperatures_beyond_those_released_are_near_their_ends() -> None:
    sure = probabilities.temperature(np.full(GAPS, 0.5), noise=0.0, usual=1.7)
    doubtful = probabilities.temperature(np.full(GAPS, -0.5), noise=0.0, usual=1.7)
    assert sure == doubtful == pytest.approx(1.7, rel=0.02)  # no slope, nothing to go by


def test_scores_that_are_too_sure_become_probabilities() -> None:
    """Labels are drawn by softmax of scores, and the teacher's are three times as large."""
    n, rng = 4000, np.random.default_rng(3)
    rows = jnp.asarray(rng.normal(size=(n, P)), jnp.float32)
    logits = np.asarray(rows @ WEIGHTS)
    labels = jnp.asarray([rng.choice(C, p=softmax(each)) for each in logits], jnp.int32)
    last = probabilities.Last(one_release(n, noise_multiplier=0.0), length=0.0, usual=1.7)
    calibrate = probabilities.calibrated(last, clip_norm=CLIP, chunk_size=500)
    found = calibrate(private_key(0), 3 * WEIGHTS, AS_THEY_ARE, rows, labels)
    np.testing.assert_allclose(np.asarray(found) / np.asarray(WEIGHTS), 1.0, rtol=0.1)


def test_a_records_own_gradients_are_taken_off() -> None:
    """A score that is the record's own doing alone tells nothing."""
    rows, labels = jnp.eye(C, P), jnp.arange(C)
    pulled = 0.4 * jnp.eye(P, C)
    kept, off = (entries(pulled, rows, labels, own=own) for own in (0.0, 3.0))
    assert np.all(np.asarray(kept) < 0)  # right, and not sure
    assert np.all(np.asarray(off) > 0)  # wrong


def test_equal_priors_lower_scores_by_the_shares() -> None:
    labels = np.asarray(LABELS).copy()
    labels[:] = np.where(np.arange(N) < 30, 0, np.where(np.arange(N) < 36, 1, 2))
    calibrate = probabilities.calibrated(last_of(by_size=True), clip_norm=CLIP, chunk_size=7)
    plain = probabilities.calibrated(last_of(), clip_norm=CLIP, chunk_size=7)
    key, labels = private_key(0), jnp.asarray(labels)
    equal, data = (each(key, WEIGHTS, AS_THEY_ARE, ROWS, labels) for each in (calibrate, plain))
    np.testing.assert_allclose(equal[:-1], data[:-1], rtol=1e-4)
    moved = views.CONSTANT * np.asarray(equal - data)[-1]
    shares = np.array([30, 6, 4]) / N
    np.testing.assert_allclose(np.diff(moved), np.diff(-np.log(shares)), rtol=1e-3)


def test_a_class_that_noise_hides_is_not_infinitely_rare() -> None:
    found = calibrated(last_of(30.0, by_size=True), seed=4)
    assert np.all(np.isfinite(found))
    assert np.ptp(views.CONSTANT * found[-1]) < 20


SPEC = jaxdp.Spec.images("toy", (200, 8, 8), class_names=["a", "b"])


def plan_of(spec: Any = SPEC, **settings: Any) -> Any:
    teacher = jaxdp.methods.teacher
    return teacher.make_plan(teacher.complete(teacher.Settings(**settings), spec), spec)


@pytest.mark.parametrize("match", ["teacher", "both"])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_guarantee_gaps_are_accounted_beside_the_steps(match: str, share: float) -> None:
    plan = plan_of(eps=2.0, match=match, mean_share=0.1, calibration_share=share)
    noise = plan.mechanisms.calibration
    assert noise in plan.ledger.also
    assert len(plan.ledger.also) == (3 if match == "both" else 2)
    assert plan.training.last.mechanism.noise_multiplier == noise
    assert 1.96 < plan.ledger.epsilon() <= 2 * (1 + 1e-9)
    alone = plan_of(eps=2.0, match=match, mean_share=0.1, calibration_share=0.0)
    assert alone.training.last is None
    assert plan.ledger.steps.noise_multiplier > alone.ledger.steps.noise_multiplier


def test_guarantee_gaps_of_persons_have_their_noise() -> None:
    plan = plan_of(SPEC.of_persons(3), eps=2.0, calibration_share=0.1)
    assert plan.mechanisms.calibration > 2.5 * plan_of(eps=2.0).mechanisms.calibration * math.sqrt(
        plan_of(eps=2.0).settings.calibration_share / 0.1
    )
    assert plan.ledger.epsilon() <= 2 * (1 + 1e-9)


def test_the_release_knows_how_far_steps_went() -> None:
    plan = plan_of(eps=2.0)
    nu = schedule.noise(plan.settings, SPEC)
    assert plan.training.last.length == pytest.approx(schedule.length(nu))
    assert plan.training.last.usual == schedule.usual_temperature(nu)
    assert not plan.training.last.by_size
    assert plan_of(eps=2.0, priors="equal").training.last.by_size


def test_the_schedule_knows_the_sensitivity_of_gaps() -> None:
    assert schedule._NORM_OF_GAPS == probabilities.SENSITIVITY_OF_GAPS


def test_shares_of_gaps_follow_the_noise() -> None:
    shares = [schedule.calibration_share(nu) for nu in (1e-5, 3e-4, 1.0)]
    assert shares == [1e-3, pytest.approx(1.125e-3), 0.05]
    assert schedule.usual_temperature(1e-4) == 1.7
    assert schedule.usual_temperature(0.024) == pytest.approx(3.4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"priors": "equal", "calibration_share": 0.0}, "priors"),
        ({"priors": "equal", "match": "embedding"}, "without"),
        ({"priors": "rare"}, "known are data, equal"),
        ({"calibration_share": 1e-9}, "must be 0 or at least"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(jaxdp.SettingsError, match=said):
        plan_of(eps=2.0, **settings)


def test_equal_priors_find_a_rare_class() -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 20 == 0).astype(np.int32)
    x = np.clip(rng.normal(110 + 12 * y[:, None, None], 30, (200, 8, 8)), 0, 255).astype(np.uint8)
    found = {}
    for priors in ("data", "equal"):
        plan, runner = plan_of(eps=30.0, priors=priors), PlainRunner(progress=False)
        released = plan.release(jaxdp.Private(x[..., None], y), private_key(0), runner)
        found[priors] = np.mean(plan.classifier(released, runner).predict(x[..., None]))
    assert found["data"] < 0.1
    assert found["equal"] > found["data"] + 0.02
