"""Logistic regression and the MLP: what they are trained on, and what they find."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from support import stripes

from jaxdp.program.evaluation import classifiers
from jaxdp.program.evaluation.classifiers import forest, logistic, mlp
from jaxdp.program.evaluation.figures import Prediction
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import DISTILLED, GENERATED, Recipe

BOTH = pytest.mark.parametrize("judge", [logistic, mlp, forest])


def subsets(size: int, *seeds: int) -> Recipe:
    return dataclasses.replace(GENERATED, subset=size, seeds=seeds)


@BOTH
def test_easy_classes_are_told_apart(judge: Any) -> None:
    found = judge(stripes.problem(recipe=subsets(62, 1, 4)))
    figures = found.pop("figures")
    assert (figures["auc"], figures["balanced_accuracy"]) == (1.0, 1.0)
    assert figures["confusion"] == (40 * np.eye(3, dtype=int)).tolist()  # of both
    assert figures["calibration_error"] < 0.1
    assert found == {
        "seeds": [1, 4],
        "num_examples": 60,
        "test_accuracies": [1.0, 1.0],
        "mean": 1.0,
        "std": 0.0,
        "macro_f1s": [1.0, 1.0],
        "macro_f1_mean": 1.0,
        "macro_f1_std": 0.0,
    }
    for per_class in (1, 4):
        found = judge(stripes.problem(per_class, recipe=DISTILLED))
        assert found.pop("figures")["sensitivity"] == [1.0, 1.0, 1.0]
        assert found == {
            "seeds": [0, 1, 2],
            "test_accuracies": [1.0] * 3,
            "mean": 1.0,
            "std": 0.0,
        }


@BOTH
def test_wrong_labels_give_chance(judge: Any) -> None:
    problem = stripes.problem(100, noise=0.1, recipe=subsets(150, 0, 1))
    wrong = np.random.default_rng(2).permutation(problem.y)
    assert 0.1 < judge(dataclasses.replace(problem, y=wrong))["mean"] < 0.65


@BOTH
def test_a_seed_gives_the_same_accuracy_again(judge: Any) -> None:
    three, last = (
        judge(stripes.problem(noise=0.4, recipe=subsets(30, *seeds))) for seeds in ((0, 1, 2), (2,))
    )
    for key in ("test_accuracies", "macro_f1s"):
        assert last[key] == three[key][2:]
    assert len(set(three["test_accuracies"])) > 1


def test_on_the_whole_set_a_seed_starts_the_mlp_and_logistic_regression_has_none() -> None:
    problem = stripes.problem(2, noise=0.4, recipe=DISTILLED)
    assert len(set(mlp(problem)["test_accuracies"])) > 1
    same = logistic(problem)
    assert len(same["test_accuracies"]) == 3
    assert same["std"] == 0.0


@BOTH
def test_a_missing_class_is_never_predicted(judge: Any) -> None:
    """Two classes of three: an accuracy of 2/3, and at best F1 of 1, 2/3 and 0."""
    problem = stripes.problem(recipe=subsets(60, 0))
    there = problem.y != 1
    found = judge(dataclasses.replace(problem, x=problem.x[there], y=problem.y[there]))
    assert found["num_examples"] == 40
    assert found["mean"] == pytest.approx(2 / 3)
    # All of class 1 counts as one of the others: F1 of 1 and 2/3, or of 0.8 and 0.8.
    assert 0.53 < found["macro_f1_mean"] < 0.56
    assert found["figures"]["sensitivity"][1] == 0.0
    assert found["figures"]["auc"] < 1.0


@BOTH
@pytest.mark.parametrize("recipe", [DISTILLED, GENERATED])
def test_a_single_class_is_predicted_always(judge: Any, recipe: Recipe) -> None:
    problem = stripes.problem(10, recipe=recipe)
    there = problem.y_test > 0
    found = judge(
        dataclasses.replace(
            problem,
            y=np.full(len(problem.x), 2),
            x_test=problem.x_test[there],
            y_test=problem.y_test[there],
        )
    )
    assert found["mean"] == 0.5
    # Of classes 1 and 2, which the test split has, one is always told with certainty.
    assert found["figures"]["auc"] == 0.5
    assert found["figures"]["calibration_error"] == 0.5
    if recipe.macro_f1:
        assert found["num_examples"] == len(problem.x)
        # Class 2: precision 1/2, recall 1. Class 0 is in neither and does not count.
        assert found["macro_f1_mean"] == pytest.approx((2 / 3) / 2)


@pytest.mark.parametrize(("recipe", "epochs"), [(GENERATED, 200), (DISTILLED, 5000)])
def test_classifiers_are_the_published_ones(
    recipe: Recipe, epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    models: list[dict[str, Any]] = []

    def record(model: Any, x: Any, y: Any, x_test: Any, num_classes: int) -> Prediction:
        models.append(model.get_params())
        assert x.dtype == np.float32
        assert x.shape == (60, 64)
        zeros = np.zeros(len(x_test), int)
        return Prediction(zeros, np.eye(num_classes)[zeros])

    monkeypatch.setattr(classifiers, "_predict", record)
    given = stripes.problem(20, recipe=dataclasses.replace(recipe, seeds=(7,)))
    given = dataclasses.replace(given, x=given.x.astype(np.float64))
    logistic(given)
    mlp(given)
    linear, layers = models
    assert (linear["solver"], linear["max_iter"], linear["C"]) == ("lbfgs", 5000, 1.0)
    assert (layers["hidden_layer_sizes"], layers["solver"]) == ((100,), "adam")
    assert (layers["max_iter"], layers["random_state"]) == (epochs, 7)


@BOTH
def test_rows_of_tables_are_judged_like_flat_images(judge: Any) -> None:
    images = stripes.problem(2, noise=0.4, recipe=DISTILLED)
    rows = Problem(
        x=images.rows,
        y=images.y,
        x_test=images.test_rows,
        y_test=images.y_test,
        num_classes=3,
    )
    assert judge(rows) == judge(images)
