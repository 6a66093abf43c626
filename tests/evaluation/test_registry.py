"""Classifiers trained on a distilled set: their recipe, their numbers and their errors."""

import json
import re
import statistics
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.errors import InputError
from experiments.evaluation import convnet as convnet_training
from experiments.evaluation.convnet import ConvNetRecipe
from experiments.evaluation.registry import (
    EVALUATORS,
    Problem,
    check_names,
    convnet,
    evaluate,
    parse_names,
)
from jaxdp.networks.classifiers import ConvNet

pytestmark = pytest.mark.usefixtures("quick_compilation")

# Shared by the tests, as compiling it takes longer than using it.
# Stripes are not moved: it would turn one class into another.
SMALL = ConvNetRecipe(
    width=4, epochs=20, batch_size=8, max_shift=0.0, max_scaling=0.0, max_rotation=0.0
)
SHAPE = (8, 8, 1)


def toy(per_class: int, *, noise: float, seed: int, classes: int = 3) -> tuple[Any, Any]:
    """Draw images of stripes, whose direction or width is the class, in noise."""
    rng = np.random.default_rng(seed)
    i, j = np.indices(SHAPE[:2])
    patterns = np.stack([i % 2, j % 2, (i // 2) % 2])[..., None] * 2.0 - 1.0
    y = np.repeat(np.arange(classes), per_class)
    return patterns[y] + noise * rng.normal(size=(len(y), *SHAPE)), y


def toy_problem() -> Problem:
    """Take test images of little but noise, so that classifiers disagree about them."""
    x, y = toy(1, noise=0.5, seed=0)
    x_test = np.random.default_rng(1).normal(size=(23, *SHAPE))
    return Problem(
        x=x.astype(np.float32),
        y=y.astype(np.int32),
        x_test=x_test.astype(np.float32),
        num_classes=3,
        recipe=SMALL,
    )


# --- Names -------------------------------------------------------------------------------


def test_names_are_parsed_in_order_and_once() -> None:
    assert parse_names("krr") == ("krr",)
    assert parse_names(" mlp, convnet,krr,mlp ") == ("mlp", "convnet", "krr")
    assert tuple(EVALUATORS) == ("convnet", "logistic", "mlp")


@pytest.mark.parametrize("text", ["resnet", "", "krr,", "krr,resnet", "KRR"])
def test_unknown_names_are_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_names(text)
    message = str(caught.value)
    assert message.startswith(f"--evaluate={text}: ")
    assert message.endswith("is unknown; known are krr, convnet, logistic, mlp")


def test_convnet_refuses_tabular_data_before_work() -> None:
    check_names(("krr", "convnet"), (8, 8, 1), is_image=True)
    check_names(("krr", "logistic", "mlp"), (14,), is_image=False)
    message = re.escape("--evaluate=krr,convnet: convnet takes images") + r".*\(14,\)"
    with pytest.raises(InputError, match=message):
        check_names(("krr", "convnet"), (14,), is_image=False)
    rows = np.zeros((2, 14))
    with pytest.raises(InputError, match="convnet takes images"):
        evaluate(
            ("convnet",), rows, np.arange(2), rows, np.arange(2), num_classes=2, is_image=False
        )


# --- All evaluators ----------------------------------------------------------------------


@pytest.mark.parametrize("per_class", [1, 4])
def test_easy_classes_are_told_apart(per_class: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one image a class in one batch, and four in two batches of six.

    The chunks do not divide the test set, in which a class is missing.
    """
    monkeypatch.setattr(convnet_training, "_TEST_CHUNK", 8)
    x, y = toy(per_class, noise=0.05, seed=0)
    x_test, y_test = toy(11, noise=0.05, seed=1, classes=2)
    names = ("convnet", "krr", "logistic", "mlp")
    results = evaluate(
        names, x, y, x_test, y_test, num_classes=3, seeds=(3, 5), is_image=True, recipe=SMALL
    )
    perfect = {"seeds": [3, 5], "test_accuracies": [1.0, 1.0], "mean": 1.0, "std": 0.0}
    assert results == {"convnet": perfect, "logistic": perfect, "mlp": perfect}
    assert json.loads(json.dumps(results)) == results


def test_rows_are_judged_with_mean_and_deviation_over_seeds() -> None:
    x, y = toy(2, noise=2.0, seed=0)
    x_test, y_test = toy(40, noise=2.0, seed=1)
    rows, test_rows = x.reshape(-1, 64), x_test.reshape(-1, 64)

    def judge() -> dict[str, dict[str, Any]]:
        return evaluate(
            ("logistic", "mlp"), rows, y, test_rows, y_test, num_classes=3, is_image=False
        )

    results = judge()
    assert judge() == results
    mlp = results["mlp"]
    assert mlp["seeds"] == [0, 1, 2]
    assert len(set(mlp["test_accuracies"])) > 1
    assert mlp["mean"] == pytest.approx(statistics.mean(mlp["test_accuracies"]))
    assert mlp["std"] == pytest.approx(statistics.pstdev(mlp["test_accuracies"]))
    assert len(results["logistic"]["test_accuracies"]) == 3
    assert results["logistic"]["std"] == 0.0
    for result in results.values():
        assert 0.5 < result["mean"] < 1.0


def test_bad_arrays_are_refused() -> None:
    x, y = toy(1, noise=0.0, seed=0)

    def judge(x: Any, y: Any, x_test: Any, y_test: Any, seeds: tuple[int, ...] = (0,)) -> None:
        evaluate(
            ("mlp",), x, y, x_test, y_test, num_classes=3, is_image=True, seeds=seeds, recipe=SMALL
        )

    with pytest.raises(ValueError, match="do not fit"):
        judge(x, y, x[:, :4], y)
    with pytest.raises(ValueError, match="do not fit"):
        judge(x, y, x, y[:2])
    with pytest.raises(ValueError, match="seed"):
        judge(x, y, x, y, ())
    with pytest.raises(InputError, match=r"--evaluate=mlp: .*not finite"):
        judge(np.where(x > 0, np.nan, x), y, x, y)


# --- The ConvNet -------------------------------------------------------------------------


def test_convnet_depends_on_its_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = toy_problem()
    first, second = convnet(problem, (0, 1))
    assert first.shape == (23,)
    assert np.any(first != second)
    monkeypatch.setattr(convnet_training, "_TEST_CHUNK", 8)
    (again,) = convnet(problem, (1,))
    np.testing.assert_array_equal(again, second)


def test_convnet_training_is_sgd_on_cross_entropy() -> None:
    """Two steps as torch's SGD would take them."""
    problem = toy_problem()
    network = convnet_training._network(SMALL, 3, 1)
    x, y = jnp.asarray(problem.x), jnp.asarray(problem.y)
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
        state = network.step(jax.random.key(0), state, x[rows], y[rows])
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
    y = jnp.arange(6) % 3
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


def test_default_recipe_is_the_published_one() -> None:
    assert ConvNetRecipe() == ConvNetRecipe(width=128, epochs=301, batch_size=256)
