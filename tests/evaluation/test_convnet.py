"""The papers' ConvNet: its recipe, its seeds and its augmentation."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import stripes

from jaxdp.networks.classifiers import ConvNet
from jaxdp.numerics import ByBackend
from jaxdp.program.evaluation import convnet as convnet_training
from jaxdp.program.evaluation.convnet import convnet, convnet_dsa, convnet_dsa_soft, convnet_soft
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import DISTILLED, GENERATED, ConvNetRecipe

# Shared by the tests, as compiling it takes longer than using it.
# Stripes are not moved: it would turn one class into another.
SMALL = ConvNetRecipe(
    width=4, epochs=20, batch_size=8, max_shift=0.0, max_scaling=0.0, max_rotation=0.0
)
RECIPE = dataclasses.replace(DISTILLED, seeds=(3, 5), convnet=SMALL)


def centred(per_class: int, *, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw stripes with values about -1 and 1, which so small a network learns at once."""
    x, y = stripes.stripes(per_class, noise=0.15 * noise, seed=seed)
    return (x - 0.5) / 0.15, y


def toy_problem() -> Problem:
    """Take test images of little but noise, so that classifiers disagree about them."""
    x, y = centred(1, noise=0.5, seed=0)
    x_test = np.random.default_rng(1).normal(size=(23, *stripes.SHAPE))
    y_test = np.arange(23) % 3
    return Problem(x=x, y=y, x_test=x_test, y_test=y_test, num_classes=3, recipe=RECIPE)


@pytest.mark.parametrize("per_class", [1, 4])
def test_easy_classes_are_told_apart(per_class: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one image a class in one batch, and four in two batches of six.

    The chunks do not divide the test set, in which a class is missing.
    """
    monkeypatch.setattr(convnet_training, "_TEST_CHUNK", 8)
    x, y = centred(per_class, noise=0.05, seed=0)
    x_test, y_test = centred(11, noise=0.05, seed=1)
    x_test, y_test = x_test[y_test < 2], y_test[y_test < 2]
    given = Problem(x=x, y=y, x_test=x_test, y_test=y_test, num_classes=3, recipe=RECIPE)
    perfect = {"seeds": [3, 5], "test_accuracies": [1.0, 1.0], "mean": 1.0, "std": 0.0}
    judged = convnet(given)
    figures = judged.pop("figures")
    assert judged == perfect
    assert figures["sensitivity"] == [1.0, 1.0, None]
    assert figures["auc"] == 1.0
    several = dataclasses.replace(GENERATED, subset=3, seeds=(3, 5), convnet=SMALL)
    found = convnet(dataclasses.replace(given, recipe=several))
    assert (found["num_examples"], found["mean"]) == (3, 1.0)
    assert 0 < found["macro_f1_mean"] <= 1


def test_convnet_depends_on_its_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given = toy_problem()
    rows = np.arange(len(given.x))
    first, second = (
        convnet_training._predicted(given, given.hard_targets, rows, seed, SMALL, "convnet")
        for seed in (0, 1)
    )
    assert first.classes.shape == (23,)
    assert first.probabilities.shape == (23, 3)
    np.testing.assert_allclose(first.probabilities.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(np.argmax(first.probabilities, axis=1), first.classes)
    assert np.any(first.classes != second.classes)
    monkeypatch.setattr(convnet_training, "_TEST_CHUNK", 8)
    again = convnet_training._predicted(given, given.hard_targets, rows, 1, SMALL, "convnet")
    np.testing.assert_array_equal(again.classes, second.classes)


@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_convnet_training_is_sgd_on_cross_entropy(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two steps as torch's SGD would take them, of three images; two at once do not divide them."""
    monkeypatch.setattr(convnet_training, "_CHUNK", ByBackend(at_once, at_once))
    problem = toy_problem()
    network = convnet_training._network(SMALL, 3, 1)
    x, y = jnp.asarray(problem.x), jnp.asarray(problem.y)
    targets = jnp.asarray(problem.hard_targets)
    model = ConvNet(3, width=4)

    @jax.jit
    def gradient(params: Any) -> Any:
        def loss(params: Any) -> Any:
            log_p = jax.nn.log_softmax(model.apply(params, x))
            return -jnp.mean(log_p[jnp.arange(len(y)), y])

        return jax.grad(loss)(params)

    state = network.init(jax.random.key(0), x[:1])
    params, velocity = state.params, jax.tree.map(jnp.zeros_like, state.params)
    for _ in range(2):
        rows = np.random.default_rng(0).permutation(len(y))
        state = network.step(jax.random.key(0), state, x[rows], targets[rows])
        velocity = jax.tree.map(
            lambda v, g, p: 0.9 * v + g + 5e-4 * p, velocity, gradient(params), params
        )
        params = jax.tree.map(lambda p, v: p - 0.01 * v, params, velocity)
        for ours, expected in zip(
            jax.tree.leaves(state.params), jax.tree.leaves(params), strict=True
        ):
            # The decay moves a parameter of 0.3 by 1.5e-6 a step.
            np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-7)


@pytest.mark.parametrize("channels", [1, 3])
def test_grey_images_are_moved_at_every_step_and_colour_ones_are_not(channels: int) -> None:
    network = convnet_training._network(ConvNetRecipe(width=4), 3, 1)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(6, 8, 8, channels)), jnp.float32)
    y = jax.nn.one_hot(jnp.arange(6) % 3, 3)
    start = network.init(jax.random.key(0), x[:1])
    first, second = (
        jax.tree.leaves(network.step(jax.random.key(seed), start, x, y).params) for seed in (0, 1)
    )
    differ = [bool(jnp.any(a != b)) for a, b in zip(first, second, strict=True)]
    assert any(differ) == (channels == 1)


@pytest.mark.parametrize(("batches", "epochs", "half"), [(1, 301, 151), (2, 10, 10)])
def test_step_size_falls_once_half_way(batches: int, epochs: int, half: int) -> None:
    optimizer = convnet_training._optimizer(ConvNetRecipe(epochs=epochs), batches)
    param = jnp.zeros(())  # without decay, and without a gradient after the first step
    state = optimizer.init(param)
    moves = []
    for step in range(half + 2):
        update, state = optimizer.update(jnp.float32(step == 0), state, param)
        moves.append(float(update) / 0.9**step)
    expected = [-0.01] * half + [-0.001] * 2
    np.testing.assert_allclose(moves, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("num_images", "shape"), [(1, (1, 1)), (7, (3, 3)), (8, (2, 4)), (3, (1, 3))]
)
def test_every_epoch_shows_every_image(num_images: int, shape: tuple[int, int]) -> None:
    recipe = ConvNetRecipe(epochs=5, batch_size=4 if num_images != 7 else 3)
    epochs = list(convnet_training._epochs(num_images, recipe, np.random.default_rng(0)))
    assert [rows.shape for rows in epochs] == [shape] * 5
    for rows in epochs:
        assert set(rows.flat) == set(range(num_images))
    if num_images > 3:
        assert any(np.any(rows != epochs[0]) for rows in epochs)


def test_condensations_recipe_moves_and_scales_images_and_takes_its_own_epochs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def still(key: jax.Array, x: jax.Array, *, reflect: bool) -> jax.Array:
        seen.append((x.shape, reflect))
        return x

    monkeypatch.setattr(convnet_training, "siamese_augmented", still)
    x, y = centred(4, noise=0.05, seed=0)
    x_test, y_test = centred(11, noise=0.05, seed=1)
    recipe = dataclasses.replace(
        RECIPE, seeds=(3,), convnet_dsa=dataclasses.replace(SMALL, siamese=True)
    )
    given = Problem(
        x=50 * x + 7, y=y, x_test=50 * x_test + 7, y_test=y_test, num_classes=3, recipe=recipe
    )
    assert convnet_dsa(given)["mean"] == 1.0
    assert seen == [((6, *stripes.SHAPE), False)]  # traced once
    assert DISTILLED.convnet_dsa == ConvNetRecipe(epochs=1000, siamese=True)


@pytest.mark.parametrize("judge", [convnet_soft, convnet_dsa_soft])
def test_soft_labels_are_learnt_instead_of_hard_ones(judge: Any) -> None:
    """Labels that say that each class is the next one are believed."""
    x, y = centred(4, noise=0.05, seed=0)
    x_test, y_test = centred(5, noise=0.05, seed=1)
    recipe = dataclasses.replace(RECIPE, seeds=(3,), convnet_dsa=SMALL)
    given = Problem(x=x, y=y, x_test=x_test, y_test=y_test, num_classes=3, recipe=recipe)
    turned = np.roll(given.hard_targets, 1, axis=1)
    found = judge(dataclasses.replace(given, soft_labels=0.9 * turned + 0.1 / 3))
    assert found["mean"] == 0.0
    with pytest.raises(ValueError, match="no soft labels"):
        judge(given)
