"""The private release, its noise and its bounds; training as post-processing."""

from __future__ import annotations

import inspect
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

from jaxdp.features import base as feature_maps
from jaxdp.features import hermite
from jaxdp.features.base import FeatureMap
from jaxdp.methods import dp_ntk
from jaxdp.methods.dp_ntk import GeneratorConfig
from jaxdp.networks import generators
from jaxdp.privacy import class_sums, releases
from jaxdp.privacy.class_sums import LabelledChunks
from jaxdp.privacy.mechanism import private_key
from jaxdp.privacy.relations import REPLACE, ZERO_OUT

N, DIM, CLASSES, DELTA = 50, 6, 3, 1e-5


def odd_features(size: int = 8) -> FeatureMap:
    linear = jax.random.normal(jax.random.key(1), (DIM, size))
    return feature_maps.unit_features(lambda x: jnp.tanh(x @ linear), DIM)


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, DIM)).astype(np.float32), rng.integers(0, CLASSES, N)


def chunked(x: np.ndarray, y: np.ndarray) -> LabelledChunks:
    return class_sums.labelled_chunks(x, y, num_classes=CLASSES, chunk_size=16)


def release(
    x: np.ndarray,
    y: np.ndarray,
    *,
    epsilon: float,
    key: int = 0,
    weights: bool = False,
    features: FeatureMap | None = None,
) -> dp_ntk.Released:
    features = features or odd_features()
    bounds = dp_ntk.sensitivities(features, len(x), class_weights=weights, relation=REPLACE)
    return dp_ntk.release_embedding(
        private_key(key),
        features,
        chunked(x, y),
        releases.calibrate(bounds, target_epsilon=epsilon, delta=DELTA),
        num_examples=len(x),
        num_classes=CLASSES,
    )


def test_without_noise_it_is_the_mean_embedding() -> None:
    x, y = data()
    features = odd_features()
    found = release(x, y, epsilon=math.inf, weights=True)
    sums = np.asarray(class_sums.class_sums(features, chunked(x, y), num_classes=CLASSES))
    np.testing.assert_allclose(found.mu, sums / N, rtol=1e-6)
    np.testing.assert_allclose(found.class_weights, np.bincount(y, minlength=3) / N, rtol=1e-6)


def test_weights_that_are_not_released_are_uniform() -> None:
    x, _ = data()
    found = release(x, np.zeros(N, int), epsilon=math.inf)
    np.testing.assert_allclose(found.class_weights, 1 / CLASSES)


@pytest.mark.parametrize("weights", [False, True])
def test_guarantee_neighbours_stay_within_the_sensitivities(weights: bool) -> None:
    x, y = data()
    features = odd_features()
    bounds = dp_ntk.sensitivities(features, N, class_weights=weights, relation=REPLACE)
    before = release(x, y, epsilon=math.inf, weights=weights)
    for row, label in ((-x[0], y[0]), (x[1], (y[0] + 1) % CLASSES), (np.full(DIM, np.nan), 0)):
        x2, y2 = x.copy(), y.copy()
        x2[0], y2[0] = row, label
        after = release(x2, y2, epsilon=math.inf, weights=weights)
        moved = np.linalg.norm(np.asarray(after.mu) - np.asarray(before.mu))
        assert moved <= bounds[dp_ntk.EMBEDDING]
        if weights:
            counted = np.linalg.norm(
                np.asarray(after.class_weights) - np.asarray(before.class_weights)
            )
            assert counted <= bounds[dp_ntk.WEIGHTS]


def test_guarantee_the_sensitivity_is_attained() -> None:
    x, y = data()
    mirrored = x.copy()
    mirrored[0] = -x[0]
    a, b = (np.asarray(release(z, y, epsilon=math.inf).mu) for z in (x, mirrored))
    assert np.linalg.norm(a - b) == pytest.approx(2 / N, rel=1e-3)


@pytest.mark.parametrize("weights", [False, True])
def test_guarantee_removing_an_example_moves_less_than_its_multiplier_says(weights: bool) -> None:
    """Every release, in units of its noise, at n that stays what it was; nearly attained."""
    x, y = data()
    bounds = dp_ntk.sensitivities(odd_features(), N, class_weights=weights, relation=REPLACE)
    planned = releases.calibrate(bounds, target_epsilon=1.0, delta=DELTA)
    before = class_sums.class_sums(odd_features(), chunked(x, y), num_classes=CLASSES)
    after = class_sums.class_sums(odd_features(), chunked(x[1:], y[1:]), num_classes=CLASSES)
    moved = {dp_ntk.EMBEDDING: np.linalg.norm(before - after) / N, dp_ntk.WEIGHTS: 1 / N}
    emptied = dp_ntk.sensitivities(odd_features(), N, class_weights=weights, relation=ZERO_OUT)
    for release in planned:
        assert 0.999 * emptied[release.name] < moved[release.name] <= emptied[release.name]
    total = math.sqrt(sum((moved[r.name] / r.stddev) ** 2 for r in planned))
    found = dp_ntk.multiplier_by_removal(planned, N)
    assert 0.999 / found < total <= (1 + 1e-6) / found
    plain = releases.GaussianRelease(name="without noise", sensitivity=1.0, stddev=0.0)
    assert dp_ntk.multiplier_by_removal((*planned, plain), N) == 0


def test_guarantee_hermite_features_are_never_opposite() -> None:
    """Their diameter is sqrt(2), and so is the sensitivity, over n."""
    sums = hermite.hermite_weighted_sum(DIM, order=20, variance=0.5)
    features = feature_maps.summed_features(sums, DIM * 21, diameter=math.sqrt(2))
    x, y = data()
    assert dp_ntk.sensitivities(features, N, class_weights=False, relation=REPLACE) == {
        dp_ntk.EMBEDDING: math.sqrt(2) / N
    }
    before = np.asarray(release(x, y, epsilon=math.inf, features=features).mu)
    for row in (-x[0], np.full(DIM, 3.0), np.full(DIM, 1e9)):
        other = x.copy()
        other[0] = row
        after = np.asarray(release(other, y, epsilon=math.inf, features=features).mu)
        assert np.linalg.norm(after - before) <= math.sqrt(2) / N


def noise(epsilon: float, count: int) -> np.ndarray:
    """Noise of releases over the standard deviation that analytic calibration asks for."""
    x, y = data()
    features = odd_features(4000)
    exact = np.asarray(release(x, y, epsilon=math.inf, features=features).mu)
    bounds = dp_ntk.sensitivities(features, N, class_weights=False, relation=REPLACE)
    (one,) = releases.calibrate(bounds, target_epsilon=epsilon, delta=DELTA)
    noisy = [release(x, y, epsilon=epsilon, key=k, features=features).mu for k in range(count)]
    return (np.array(noisy, np.float64) - exact) / one.stddev


def test_guarantee_the_noise_has_the_scale_it_claims() -> None:
    """The right scale passes, 5 % less or more is rejected: a chi-squared test of known power."""
    draws = noise(1.0, 2).ravel()
    for scale, accepted in ((1.0, True), (0.95, False), (1.05, False)):
        total = float(np.sum((draws / scale) ** 2))
        tail = stats.chi2.cdf(total, len(draws))
        assert (1e-4 < tail < 1 - 1e-4) == accepted


def test_guarantee_noise_is_independent_between_entries_classes_and_releases() -> None:
    draws = noise(1.0, 3).reshape(3 * CLASSES, -1)
    correlation = np.corrcoef(draws)
    off = correlation[~np.eye(len(correlation), dtype=bool)]
    assert np.max(np.abs(off)) < 0.1  # of 4000 entries: six standard deviations


def test_guarantee_every_statistic_has_float64_noise_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row that is released is an exact float64 one plus noise of its own key and scale."""
    asked: list[tuple[bytes, np.dtype, int, float]] = []

    def known(key: jax.Array, row: jax.Array, *, stddev: float) -> jax.Array:
        asked.append((jax.random.key_data(key).tobytes(), row.dtype, row.size, stddev))
        return row + len(asked)

    x, y = data()
    features, exact = odd_features(), release(*data(), epsilon=math.inf, weights=True)
    monkeypatch.setattr(class_sums.mechanism, "add_gaussian_noise", known)
    found = release(x, y, epsilon=1.0, weights=True, features=features)
    shift = np.arange(1, CLASSES + 1)
    np.testing.assert_allclose(found.mu - exact.mu, np.tile(shift[:, None] / N, 8), atol=1e-6)
    shares = np.bincount(y, minlength=CLASSES) / N + (CLASSES + shift) / N
    np.testing.assert_allclose(found.class_weights, shares / shares.sum(), rtol=1e-5)
    assert len({key for key, *_ in asked}) == 2 * CLASSES
    assert {dtype for _, dtype, *_ in asked} == {np.dtype(np.float64)}
    assert [size for *_, size, _ in asked] == [8] * CLASSES + [1] * CLASSES
    bounds = dp_ntk.sensitivities(features, N, class_weights=True, relation=REPLACE)
    planned = releases.calibrate(bounds, target_epsilon=1.0, delta=DELTA)
    expected = [one.stddev * N for one in planned for _ in range(CLASSES)]
    assert [stddev for *_, stddev in asked] == pytest.approx(expected)


def test_guarantee_a_release_with_too_small_a_sensitivity_is_refused() -> None:
    x, y = data()
    claimed = releases.GaussianRelease(name=dp_ntk.EMBEDDING, sensitivity=1 / N, stddev=1.0)
    for wrong in ((claimed,), ()):
        with pytest.raises(ValueError, match=r"sensitivity|releases must be"):
            dp_ntk.release_embedding(
                private_key(0),
                odd_features(),
                chunked(x, y),
                wrong,
                num_examples=N,
                num_classes=CLASSES,
            )


def test_guarantee_adding_or_removing_an_example_moves_the_sums_by_at_most_one() -> None:
    x, y = data()
    features = odd_features()

    def sums(x: np.ndarray, y: np.ndarray, stddev: float = 0.0) -> np.ndarray:
        found = class_sums.release_sums(
            private_key(0),
            features,
            chunked(x, y),
            num_classes=CLASSES,
            stddev=stddev,
            divisor=1.0,
        )
        return np.asarray(found)

    moved = np.linalg.norm(sums(x, y) - sums(x[1:], y[1:]))
    assert 1 - 1e-3 < moved <= 1
    assert np.std(sums(x, y, 10.0) - sums(x, y)) == pytest.approx(10, rel=0.5)


def test_released_weights_are_positive_and_sum_to_one() -> None:
    x, y = data()
    found = release(x, np.zeros_like(y), epsilon=0.1, weights=True)
    assert float(found.class_weights.min()) > 0
    assert float(found.class_weights.sum()) == pytest.approx(1, abs=1e-6)


def config(**changes: Any) -> GeneratorConfig:
    defaults: dict[str, Any] = {
        "num_classes": CLASSES,
        "code_dim": 2,
        "batch_size": 30,
        "optimizer": optax.adam(0.01),
    }
    return GeneratorConfig(**(defaults | changes))


def trained(steps: int, **changes: Any) -> tuple[dp_ntk.GeneratorState, list[float]]:
    x, y = data()
    released = release(x, y, epsilon=math.inf)
    module = generators.TabularGen(DIM)
    training = dp_ntk.train_generator(module, odd_features(), config(**changes))
    state, distances = training.init(jax.random.key(0)), []
    for _ in range(steps):
        state, distance = training.update(state, jax.random.key(1), released)
        distances.append(float(distance))
    return state, distances


def test_training_comes_nearer_to_the_embedding() -> None:
    _, distances = trained(60)
    assert np.mean(distances[-5:]) < 0.5 * distances[0]


def test_average_of_the_first_steps_is_their_mean_and_none_is_the_last() -> None:
    last, _ = trained(3, ema_decay=0.0)
    leaves = map(jax.tree.leaves, (last.average["params"], last.params))
    for a, b in zip(*leaves, strict=True):
        np.testing.assert_array_equal(a, b)
    one, _ = trained(1, ema_decay=0.99)
    two, _ = trained(2, ema_decay=0.99)
    for a, p, q in zip(
        *map(jax.tree.leaves, (two.average["params"], one.params, two.params)), strict=True
    ):
        np.testing.assert_allclose(a, (p + q) / 2, atol=1e-6)


def test_guarantee_training_is_given_no_private_data() -> None:
    assert list(inspect.signature(dp_ntk.train_generator).parameters) == [
        "module",
        "features",
        "config",
    ]
    fields = dp_ntk.Released._fields
    assert fields == ("mu", "class_weights")


def test_codes_are_fresh_at_every_step_and_repeatable() -> None:
    _, first = trained(2)
    _, second = trained(2)
    assert first == second
    module = generators.TabularGen(DIM)
    training = dp_ntk.train_generator(module, odd_features(), config(optimizer=optax.sgd(0.0)))
    x, y = data()
    released = release(x, y, epsilon=math.inf)
    state = training.init(jax.random.key(0))
    state, one = training.update(state, jax.random.key(1), released)
    _, two = training.update(state, jax.random.key(1), released)
    assert float(one) != float(two)


def test_published_schedule_falls_in_stairs() -> None:
    schedule = dp_ntk.published_schedule(0.01, 500)
    found = [float(schedule(t)) for t in (0, 1, 500, 501)]
    assert found == pytest.approx([0.01, 0.009, 0.009, 0.0081])


@pytest.mark.parametrize("bad", [{"batch_size": 5}, {"code_dim": 0}, {"ema_decay": 1.0}])
def test_bad_numbers_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        config(**bad)
