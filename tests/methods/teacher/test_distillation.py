"""Distillation from a teacher: the loss against its definition, progress, options, resumption."""

from __future__ import annotations

import functools
import inspect

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdp import kernels
from jaxdp.features import base as feature_maps
from jaxdp.features import random_networks
from jaxdp.features.random_networks import RandomNetworks
from jaxdp.kernels import kip
from jaxdp.kernels.kip import SupportSet
from jaxdp.methods.teacher import finish as teacher_kip
from jaxdp.methods.teacher import targets
from jaxdp.methods.teacher.starts import initial_images
from jaxdp.numerics import ByBackend

SHAPE = (4, 5, 1)
D, P, C, IPC = 20, 15, 3, 2
RIDGE = 1e-3


@pytest.fixture(scope="module")
def projection() -> jax.Array:
    return jax.random.normal(jax.random.key(0), (D, P)) / np.sqrt(D)


@pytest.fixture(scope="module")
def feature_fn(projection: jax.Array) -> teacher_kip.FeatureFn:
    return lambda rows: jnp.tanh(jnp.matmul(rows, projection, precision="highest"))


@pytest.fixture(scope="module")
def teacher_weights() -> jax.Array:
    return jax.random.normal(jax.random.key(1), (P, C)) + jnp.arange(P)[:, None]


@pytest.fixture
def support() -> SupportSet:
    return initial_images(jax.random.key(2), ipc=IPC, num_classes=C, image_shape=SHAPE)


def config(**changes: object) -> teacher_kip.DistillConfig:
    return teacher_kip.DistillConfig(**({"num_steps": 100, "ridge": RIDGE} | changes))


def test_induced_weights_are_those_of_krr(
    support: SupportSet, feature_fn: teacher_kip.FeatureFn
) -> None:
    x_t = jax.random.uniform(jax.random.key(3), (7, D))
    weights = teacher_kip.induced_weights(feature_fn(support.x), support.y, ridge=RIDGE)
    scores = kip.predict(kernels.from_features(feature_fn), support, x_t, ridge=RIDGE)
    found = np.asarray(feature_fn(x_t)) @ np.asarray(weights)
    np.testing.assert_allclose(found, scores, rtol=1e-3, atol=1e-4)


def test_embedding_distance_is_that_of_class_means(projection: jax.Array) -> None:
    def feature_fn(rows: jax.Array) -> jax.Array:
        return jnp.tanh(jnp.matmul(rows, projection, precision="highest"))

    x = jax.random.uniform(jax.random.key(3), (C * IPC, D))
    means = jax.random.normal(jax.random.key(4), (C, P))
    phi = np.asarray(feature_fn(x))
    phi = phi / np.linalg.norm(phi, axis=1, keepdims=True)
    expected = np.mean(np.sum((phi.reshape(C, IPC, P).mean(1) - means) ** 2, axis=1))
    features = feature_maps.unit_features(feature_fn, D)
    found = targets.embedding_distance(x, jax.random.key(0), means, features=features)
    assert float(found) == pytest.approx(float(expected), rel=1e-4)


def test_network_distance_is_that_of_class_means_in_a_network_that_is_drawn() -> None:
    p, number = random_networks.num_features(SHAPE), 2
    networks = RandomNetworks(SHAPE, np.zeros((number, p), np.float32))
    x = jax.random.uniform(jax.random.key(3), (C * IPC, D))
    means = jax.random.normal(jax.random.key(4), (C, number * p)) / p
    each = jnp.full(IPC, 1 / IPC)
    expected = []
    for k in range(number):
        nu = jnp.stack([networks.one(k).weighted_sum(b, each) for b in x.reshape(C, IPC, D)])
        target = means[:, k * p : (k + 1) * p] * np.sqrt(number)
        expected.append(float(jnp.mean(jnp.sum((nu - target) ** 2, axis=1))))
    distance = jax.jit(lambda key: targets.network_distance(x, key, means, networks=networks))
    found = [float(distance(jax.random.key(seed))) for seed in range(8)]
    for value in found:
        assert min(abs(value - one) for one in expected) < 1e-4
    for one in expected:  # both have their turn
        assert min(abs(value - one) for value in found) < 1e-4


@pytest.mark.parametrize("each", [1, 8, 21])
def test_a_gradient_in_parts_is_that_of_the_distance(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, number = random_networks.num_features(SHAPE), 3
    networks = RandomNetworks(SHAPE, np.zeros((number, p), np.float32))
    x = jax.random.uniform(jax.random.key(3), (C * each, D))
    means = jax.random.normal(jax.random.key(4), (C, number * p)) / p
    distance = functools.partial(targets.network_distance, networks=networks)
    gradient = targets.network_gradient(networks)
    for seed in range(4):
        key = jax.random.key(seed)
        expected = jax.jit(jax.grad(distance))(x, key, means)
        for many in (0, 10**6):
            monkeypatch.setattr(targets, "_MANY", ByBackend(cpu=many, accelerator=many))
            error = jnp.abs(gradient(x, key, means) - expected)
            assert float(jnp.max(error)) < 1e-5 * float(jnp.max(jnp.abs(expected)))


def test_a_target_may_be_given_by_its_gradient(
    support: SupportSet, feature_fn: teacher_kip.FeatureFn, teacher_weights: jax.Array
) -> None:
    def enlarged(x: jax.Array) -> jax.Array:
        return jnp.repeat(x.reshape(-1, 2, 5), 2, axis=1).reshape(len(x), -1)

    def brightness(x: jax.Array, key: jax.Array, level: jax.Array) -> jax.Array:
        return jnp.mean((x - level * jax.random.uniform(key, x.shape)) ** 2)

    small = initial_images(jax.random.key(2), ipc=IPC, num_classes=C, image_shape=(2, 5, 1))
    moved = []
    for extra in ({"extra_loss": brightness}, {"extra_gradient": jax.grad(brightness)}):
        chosen = config(num_steps=20, enlarged=enlarged, extra_weight=3.0, **extra)
        algorithm = teacher_kip.distill(teacher_weights, feature_fn, chosen, jnp.float32(0.9))
        moved.append(algorithm.update(algorithm.init(small), 20).support.x)
    np.testing.assert_allclose(*moved, atol=1e-4)
    assert float(jnp.max(jnp.abs(moved[0] - small.x))) > 0.1


def test_small_images_are_seen_enlarged_and_moved_as_they_are(
    feature_fn: teacher_kip.FeatureFn, teacher_weights: jax.Array
) -> None:
    small = initial_images(jax.random.key(2), ipc=IPC, num_classes=C, image_shape=(2, 5, 1))

    def enlarged(x: jax.Array) -> jax.Array:
        return jnp.repeat(x.reshape(-1, 2, 5), 2, axis=1).reshape(len(x), -1)

    key, options = jax.random.key(0), {"total_variation": 0.5, "image_shape": (2, 5, 1)}
    found = teacher_kip.loss(
        small, teacher_weights, feature_fn, config(enlarged=enlarged, **options), key=key
    )
    whole = small._replace(x=enlarged(small.x))
    plain = teacher_kip.loss(whole, teacher_weights, feature_fn, config(), key=key)
    variation = teacher_kip.total_variation(small.x, image_shape=(2, 5, 1))
    assert float(found) == pytest.approx(float(plain + 0.5 * variation), rel=1e-5)
    settings = config(num_steps=2, enlarged=enlarged, **options)
    algorithm = teacher_kip.distill(teacher_weights, feature_fn, settings)
    moved = algorithm.update(algorithm.init(small), 2).support.x
    assert moved.shape == small.x.shape
    assert float(jnp.max(jnp.abs(moved - small.x))) > 0


def test_induced_weights_are_the_formula_in_float64() -> None:
    rng = np.random.default_rng(0)
    phi, y = rng.normal(size=(6, P)), rng.normal(size=(6, C))
    gram = phi @ phi.T
    regularised = gram + RIDGE * np.trace(gram) / 6 * np.eye(6)
    expected = phi.T @ np.linalg.solve(regularised, y)
    ours = teacher_kip.induced_weights(
        jnp.asarray(phi, jnp.float32), jnp.asarray(y, jnp.float32), ridge=RIDGE
    )
    np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)


def test_cosine_ignores_scale_and_what_classes_share(teacher_weights: jax.Array) -> None:
    moved = 3 * teacher_weights + jnp.arange(P)[:, None]
    assert abs(float(teacher_kip.cosine(moved, teacher_weights)) - 1) < 1e-5
    assert abs(float(teacher_kip.cosine(-moved, teacher_weights)) + 1) < 1e-5
    centred = np.asarray(teacher_weights) - np.asarray(teacher_weights).mean(1, keepdims=True)
    other = np.random.default_rng(0).normal(size=(P, C))
    other_centred = other - other.mean(1, keepdims=True)
    expected = np.sum(centred * other_centred) / np.linalg.norm(centred)
    expected /= np.linalg.norm(other_centred)
    ours = teacher_kip.cosine(jnp.asarray(other, jnp.float32), teacher_weights)
    np.testing.assert_allclose(ours, expected, rtol=1e-4)


def test_total_variation_is_the_naive_sum() -> None:
    images = np.random.default_rng(0).random((3, 4, 5, 2)).astype(np.float32)
    total = 0.0
    for n, i, j, k in np.ndindex(*images.shape):
        down = images[n, min(i + 1, 3), j, k] - images[n, i, j, k]
        right = images[n, i, min(j + 1, 4), k] - images[n, i, j, k]
        total += np.sqrt(down**2 + right**2 + 1e-6)
    ours = teacher_kip.total_variation(jnp.asarray(images.reshape(3, -1)), image_shape=(4, 5, 2))
    np.testing.assert_allclose(ours, total / images.size, rtol=1e-5)
    flat = jnp.full((2, D), 0.3)
    grads = jax.grad(lambda x: teacher_kip.total_variation(x, image_shape=SHAPE))(flat)
    np.testing.assert_array_equal(grads, 0)


def test_the_loss_is_the_weighted_sum_of_its_terms(
    support: SupportSet,
    feature_fn: teacher_kip.FeatureFn,
    teacher_weights: jax.Array,
) -> None:
    def of(**changes: object) -> float:
        settings, key = config(**changes), jax.random.key(7)
        return float(
            teacher_kip.loss(
                support, teacher_weights, feature_fn, settings, key=key, extra_data=jnp.ones(2)
            )
        )

    weights = teacher_kip.induced_weights(feature_fn(support.x), support.y, ridge=RIDGE)
    cosine = 1 - float(teacher_kip.cosine(weights, teacher_weights))
    variation = float(teacher_kip.total_variation(support.x, image_shape=SHAPE))
    draw = jax.random.uniform(jax.random.key(7))
    extra = float(jnp.sum(support.x**2) + draw + 2)
    assert of() == pytest.approx(cosine, rel=1e-5)
    together = of(
        cosine_weight=0.3,
        total_variation=2.0,
        image_shape=SHAPE,
        extra_loss=lambda x, key, data: jnp.sum(x**2) + jax.random.uniform(key) + jnp.sum(data),
        extra_weight=5.0,
    )
    assert together == pytest.approx(0.3 * cosine + 2 * variation + 5 * extra, rel=1e-5)


def test_distillation_reaches_the_teacher(
    support: SupportSet,
    feature_fn: teacher_kip.FeatureFn,
    teacher_weights: jax.Array,
) -> None:
    fit = teacher_kip.distill(teacher_weights, feature_fn, config(num_steps=600))
    state = fit.update(fit.init(support), 600)
    weights = teacher_kip.induced_weights(feature_fn(state.support.x), state.support.y, ridge=RIDGE)
    assert float(teacher_kip.cosine(weights, teacher_weights)) > 0.99
    chex.assert_type([state.support.x, state.support.y], jnp.float32)
    np.testing.assert_array_equal(state.support.y, support.y)
    x_t = jax.random.uniform(jax.random.key(4), (300, D))
    scores = kip.predict(kernels.from_features(feature_fn), state.support, x_t, ridge=RIDGE)
    agreement = jnp.argmax(scores, axis=1) == jnp.argmax(feature_fn(x_t) @ teacher_weights, axis=1)
    assert float(jnp.mean(agreement)) > 0.9


def test_learned_labels_move_and_help(
    support: SupportSet,
    feature_fn: teacher_kip.FeatureFn,
    teacher_weights: jax.Array,
) -> None:
    def reached(learn_labels: bool) -> tuple[float, SupportSet]:
        settings = config(num_steps=20, learn_labels=learn_labels)
        fit = teacher_kip.distill(teacher_weights, feature_fn, settings)
        after = fit.update(fit.init(support), 20).support
        key = jax.random.key(0)
        return float(teacher_kip.loss(after, teacher_weights, feature_fn, settings, key=key)), after

    fixed, _ = reached(False)
    learned, after = reached(True)
    assert learned < fixed
    assert np.all(np.asarray(after.y != support.y))


def test_bounds_hold(
    support: SupportSet,
    feature_fn: teacher_kip.FeatureFn,
    teacher_weights: jax.Array,
) -> None:
    for bounds, inside in (((0.0, 1.0), True), (None, False)):
        settings = config(learning_rate=0.3, bounds=bounds)
        fit = teacher_kip.distill(teacher_weights, feature_fn, settings)
        x = fit.update(fit.init(support), 20).support.x
        assert bool(jnp.all((x >= 0) & (x <= 1))) == inside


def test_a_run_cut_anywhere_equals_the_whole_run_and_stops_at_the_end(
    support: SupportSet,
    feature_fn: teacher_kip.FeatureFn,
    teacher_weights: jax.Array,
) -> None:
    fit = teacher_kip.distill(teacher_weights, feature_fn, config(num_steps=9))
    whole = fit.update(fit.init(support), 100)
    assert int(whole.step) == 9
    cut = fit.init(support)
    for steps in (1, 3, 0, 5):
        cut = fit.update(cut, steps)
    chex.assert_trees_all_equal(whole, cut)


def test_compiled_once_per_run(
    support: SupportSet,
    feature_fn: teacher_kip.FeatureFn,
    teacher_weights: jax.Array,
) -> None:
    traces = []

    def counted(rows: jax.Array) -> jax.Array:
        traces.append(rows.shape)
        return feature_fn(rows)

    fit = teacher_kip.distill(teacher_weights, counted, config())
    state = fit.update(fit.init(support), 1)
    compiled = len(traces)
    for steps in (2, 5, 1):
        state = fit.update(state, steps)
    assert compiled > 0
    assert len(traces) == compiled


def test_guarantee_no_argument_takes_private_data() -> None:
    """Released weights and arrays, a public map and settings are all there is."""
    assert list(inspect.signature(teacher_kip.distill).parameters) == [
        "teacher_weights",
        "feature_fn",
        "config",
        "extra_data",
    ]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"num_steps": 0}, "num_steps"),
        ({"ridge": 0.0}, "ridge"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"cosine_weight": -1.0}, "cosine_weight"),
        ({"total_variation": float("nan")}, "total_variation"),
        ({"total_variation": 0.1}, "image_shape"),
        ({"extra_weight": float("inf")}, "extra_weight"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
    ],
)
def test_impossible_configurations_are_refused(changes: dict, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        config(**changes)


def test_without_a_teacher_only_the_other_target_counts(
    support: SupportSet, feature_fn: teacher_kip.FeatureFn
) -> None:
    def brightness(x: jax.Array, key: jax.Array, level: jax.Array) -> jax.Array:
        del key
        return jnp.mean((x - level) ** 2)

    alone = config(num_steps=200, cosine_weight=0.0, extra_loss=brightness)
    algorithm = teacher_kip.distill(None, feature_fn, alone, jnp.float32(0.9))
    after = algorithm.update(algorithm.init(support), 200)
    np.testing.assert_allclose(after.support.x, 0.9, atol=0.05)
    with pytest.raises(ValueError, match="needs the weights of a teacher"):
        teacher_kip.distill(None, feature_fn, config(extra_loss=brightness))


def test_every_step_gives_the_other_target_a_key_of_its_own(
    support: SupportSet, feature_fn: teacher_kip.FeatureFn
) -> None:
    """A step moves the images along a random direction: the second is not the first again."""

    def pushed(x: jax.Array, key: jax.Array, _: None) -> jax.Array:
        return jnp.sum(x * jax.random.normal(key, x.shape))

    def first_gradients(seed: int) -> list[np.ndarray]:
        alone = config(num_steps=2, cosine_weight=0.0, extra_loss=pushed, seed=seed)
        algorithm = teacher_kip.distill(None, feature_fn, alone)
        states = [algorithm.init(support)]
        for _ in range(2):
            states.append(algorithm.update(states[-1], 1))
        moments = [np.asarray(state.opt_state[0].mu.x) for state in states]
        return [moments[1] / 0.1, (moments[2] - 0.9 * moments[1]) / 0.1]

    (first, second), (other, _) = first_gradients(0), first_gradients(1)
    for gradient in (second, other):
        assert abs(np.corrcoef(first.ravel(), gradient.ravel())[0, 1]) < 0.5
