"""Results that are guesses, or may hide one: by accuracy, balanced accuracy and AUC."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxdp.program.evaluation.figures import Prediction, figures
from jaxdp.program.runs import chance

INSTEAD = "this does better: x"


def said(metrics: dict[str, Any], *, c: int = 3, m: int = 75) -> tuple[str, ...]:
    names = [f"class {label}" for label in range(c)]
    return chance.warnings(metrics, class_names=names, num_test=m, instead=INSTEAD, missed="or y")


def of_counts(confusion: list[list[int]], auc: float | None = None) -> dict[str, Any]:
    """Return metrics of a kernel classifier that was tested on the sum of the counts."""
    counts = np.asarray(confusion)
    accuracy = float(np.trace(counts) / counts.sum())
    found = {"confusion": confusion, "auc": auc, "num_test": int(counts.sum())}
    return {"krr_test_accuracy": accuracy, "figures": {"krr": found}}


# --- Accuracy alone ------------------------------------------------------------------------------


def test_a_guess_is_named_with_what_does_better() -> None:
    (line,) = said({"krr_test_accuracy": 1 / 3})
    assert line == (
        "the test accuracy of kernel ridge regression, 33.33%, cannot be told from chance, 33.33% "
        "for 3 classes, on 75 test examples; this does better: x"
    )


@pytest.mark.parametrize(
    ("c", "m", "highest"),
    [(3, 75, 0.4422), (10, 10_000, 0.106), (2, 8, 0.8536), (10, 360, 0.1316)],
)
def test_how_far_above_chance_a_result_must_be_depends_on_the_test_examples(
    c: int, m: int, highest: float
) -> None:
    assert said({"krr_test_accuracy": highest - 1e-3}, c=c, m=m)
    assert not said({"krr_test_accuracy": highest + 1e-3}, c=c, m=m)


def test_generated_sets_are_judged_by_their_best_classifier() -> None:
    good, bad = {"mean": 0.9}, {"mean": 0.1}
    assert not said({"accuracy": {"logistic": bad, "mlp": good}})
    (line,) = said({"accuracy": {"logistic": bad, "mlp": bad | {"mean": 0.2}}})
    assert "accuracy of mlp, 20.00%" in line


def test_nothing_is_said_where_nothing_was_judged_or_there_is_one_class() -> None:
    assert not said({})
    assert not said({"krr_test_accuracy": None})
    assert not said({"accuracy": {"mlp": {"mean": 1.0}}}, c=1)


# --- Classes of different sizes ------------------------------------------------------------------


def test_naming_the_commonest_class_is_chance() -> None:
    (line,) = said(of_counts([[93, 0], [7, 0]], auc=0.5), c=2, m=100)
    assert line.startswith(
        "the balanced test accuracy of kernel ridge regression, 50.00%, cannot be told from chance"
    )


def test_naming_the_commonest_class_with_scores_in_good_order_knows_no_other_one() -> None:
    lines = said(of_counts([[93, 0], [7, 0]], auc=0.9), c=2, m=100)
    assert lines[0] == "none of the 7 test examples of class 1 is told to be one"
    assert lines[1].startswith("the test accuracy of kernel ridge regression, 93.00%, is not above")
    assert "always naming class 0" in lines[1]
    assert lines[1].endswith("its balanced accuracy is 50.00%; or y")
    assert len(lines) == 2


def test_a_classifier_that_knows_the_rare_class_is_no_guess_below_the_commonest_share() -> None:
    (line,) = said(of_counts([[160, 26], [2, 12]], auc=0.9), c=2, m=200)
    assert "86.00%, is not above the 93.00%" in line
    assert not said(of_counts([[184, 2], [2, 12]], auc=0.99), c=2, m=200)


def test_a_class_that_one_classifier_knows_is_known() -> None:
    blind = {"mean": 0.8, "figures": {"confusion": [[40, 0, 0], [0, 40, 0], [10, 10, 0]]}}
    sees = {"mean": 0.9, "figures": {"confusion": [[40, 0, 0], [0, 40, 0], [5, 5, 10]]}}
    (line,) = said({"accuracy": {"logistic": blind}}, m=100)
    assert line == "none of the 20 test examples of class 2 is told to be one; or y"
    assert not said({"accuracy": {"logistic": blind, "mlp": sees}}, m=100)
    uncounted = {"mean": 0.9, "figures": {"roc_auc": 0.5}}
    assert said({"accuracy": {"logistic": blind, "tree": uncounted}}, m=100) == (line,)


def test_several_trainings_see_the_same_test_examples() -> None:
    counts = np.array([[14, 11], [11, 14]])  # of 50: 56 %, less than two deviations of 7
    for trainings in (1, 5, 100):
        many = of_counts((trainings * counts).tolist(), auc=0.5)
        assert said(many, c=2, m=50)


def test_classes_that_the_test_split_lacks_are_left_out() -> None:
    (line,) = said(of_counts([[30, 0, 0], [30, 0, 0], [0, 0, 0]]), m=60)
    assert "50.00%, cannot be told from chance, 50.00%" in line


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.6, 0.3, 0.1), (0.1,) * 10])
@pytest.mark.parametrize("skew", [1.0, 3.0])
def test_guesses_are_seldom_taken_for_results(shares: tuple[float, ...], skew: float) -> None:
    rng, m, c = np.random.default_rng(0), 400, len(shares)
    named = np.array(shares) ** skew / np.sum(np.array(shares) ** skew)
    passed = 0
    for _ in range(300):
        y = rng.choice(c, m, p=shares)
        guess = np.full((m, c), 1 / c) + 1e-3 * rng.normal(size=(m, c))
        told = figures(y, [Prediction(rng.choice(c, m, p=named), guess)], c)
        metrics = {"krr_test_accuracy": 0.5, "figures": {"krr": told}}
        passed += not any("from chance" in line for line in said(metrics, c=c, m=m))
    assert passed < 0.08 * 300  # a fortieth by either figure, as counts are few


def test_a_test_split_of_one_class_says_nothing_of_chance() -> None:
    """Whoever names it always is right always."""
    for confusion in ([[40, 0], [0, 0]], [[30, 10], [0, 0]], [[0, 40], [0, 0]]):
        counts = np.array(confusion)
        right = float(np.trace(counts)) / 40
        metrics = {
            "krr_test_accuracy": right,
            "figures": {"krr": {"confusion": confusion, "auc": None}},
        }
        found = chance.warnings(metrics, class_names=("a", "b"), num_test=40, instead="", missed="")
        assert found == ()


# --- Without confusion: more than fifty classes --------------------------------------------------


def of_many(named: np.ndarray, y_test: np.ndarray, c: int) -> dict[str, Any]:
    """Return metrics of a kernel classifier of so many classes that no confusion is kept."""
    probabilities = np.full((len(y_test), c), 1 / c)
    found = figures(y_test, [Prediction(named, probabilities)], c)
    assert found["confusion"] is None
    return {"krr_test_accuracy": float(np.mean(named == y_test)), "figures": {"krr": found}}


def test_of_many_classes_naming_the_commonest_one_is_chance() -> None:
    y_test = np.concatenate([np.zeros(600, int), np.repeat(np.arange(60), 10)])
    found = of_many(np.zeros(1200, int), y_test, 60)
    assert found["krr_test_accuracy"] > 0.5
    (line,) = said(found, c=60, m=1200)
    assert "the balanced test accuracy of kernel ridge regression, 1.67%, cannot be told" in line
    assert str(chance.guess(found)) == "guessing 1.7%, always the commonest class 50.8%"
    metrics = {"mean": found["krr_test_accuracy"], "figures": found["figures"]["krr"]}
    assert chance.are_guesses({"logistic": metrics})


def test_of_many_classes_a_result_below_the_commonest_share_says_so() -> None:
    y_test = np.concatenate([np.zeros(600, int), np.repeat(np.arange(60), 10)])
    named = y_test.copy()
    named[:600] = np.arange(600) % 60  # it knows the small ones
    found = of_many(named, y_test, 60)
    found["krr_test_accuracy"] = 0.5
    (line,) = said(found, c=60, m=1200)
    assert "is not above the 50.83% of always naming the commonest class of the test split" in line
    assert "its balanced accuracy is 98.3" in line


def test_of_many_classes_a_result_that_knows_them_is_no_guess() -> None:
    y_test = np.repeat(np.arange(60), 10)
    assert not said(of_many(y_test.copy(), y_test, 60), c=60, m=600)
