"""Recipes: which rows classifiers are trained on, and how their predictions are scored."""

from __future__ import annotations

import dataclasses
import json
import statistics

import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.program.evaluation.figures import Prediction, figures
from jaxdp.program.evaluation.recipe import (
    DISTILLED,
    GENERATED,
    GENERATED_QUICKLY,
    GENERATED_ROWS,
    ConvNetRecipe,
    for_generated,
    macro_f1,
    scores,
    training_rows,
)
from jaxdp.saved.logistic import balanced_subset


def test_recipes_are_the_published_ones() -> None:
    """Of the ConvNet: Chen et al. (2022); of generated images: Yang et al. (2023), five seeds."""
    assert (DISTILLED.seeds, DISTILLED.subset, DISTILLED.mlp_iterations) == ((0, 1, 2), None, 5000)
    assert (GENERATED.seeds, GENERATED.subset) == ((0, 1, 2, 3, 4), 6000)
    assert (GENERATED.mlp_iterations, GENERATED.macro_f1) == (200, True)
    assert DISTILLED.convnet == ConvNetRecipe(width=128, epochs=301, batch_size=256)

    def images(*shape: int) -> Spec:
        return Spec.images("scans", (9, *shape), class_names=["no", "yes"])

    for shape in ((28, 28), (32, 32, 1), (32, 32, 3)):
        assert for_generated(images(*shape)) is GENERATED
    assert for_generated(images(32, 32, 1), fast=True) is GENERATED
    assert for_generated(images(32, 32, 3), fast=True) is GENERATED_QUICKLY
    rows = Spec.rows("rows", (9, 5000), class_names=["no", "yes"])
    assert for_generated(rows, fast=True) is GENERATED_ROWS
    names = ("by_default", "krr", "most_values", "most_counts")
    ours = {name: getattr(DISTILLED, name) for name in names}
    assert dataclasses.replace(GENERATED_ROWS, **ours) == DISTILLED


def test_subsets_are_balanced_and_drawn_without_replacement() -> None:
    y = np.repeat([0, 1, 3], [50, 4, 50])

    def draw(seed: int) -> np.ndarray:
        return balanced_subset(y, 10, np.random.default_rng(seed))

    rows = draw(0)
    assert len(set(rows)) == len(rows) == 24
    np.testing.assert_array_equal(np.bincount(y[rows]), [10, 4, 0, 10])
    assert np.any(np.diff(y[rows]) < 0)  # shuffled
    np.testing.assert_array_equal(draw(0), rows)
    assert set(draw(1)) != set(rows)


def test_small_sets_are_used_whole_and_large_ones_by_a_subset_for_each_seed() -> None:
    y = np.arange(30) % 3
    whole = training_rows(DISTILLED, y, 3)
    assert len(whole) == 3
    for rows in whole:
        np.testing.assert_array_equal(rows, np.arange(30))
    few = dataclasses.replace(GENERATED, subset=14, seeds=(5, 2))
    for rows, seed in zip(training_rows(few, y, 3), few.seeds, strict=True):
        np.testing.assert_array_equal(rows, balanced_subset(y, 4, np.random.default_rng(seed)))


def test_recipes_without_seeds_or_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one seed"):
        dataclasses.replace(DISTILLED, seeds=())
    with pytest.raises(ValueError, match="subset of 2 has no example for each of 3"):
        training_rows(dataclasses.replace(GENERATED, subset=2), np.arange(3), 3)


def test_macro_f1_is_the_mean_over_classes() -> None:
    y_test, predicted = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    # Class 0: precision 1, recall 2/3. Class 1: precision 1/2, recall 1. Class 2: neither.
    assert macro_f1(y_test, predicted) == pytest.approx((0.8 + 2 / 3 + 0) / 3)


def test_scores_have_means_and_deviations_over_seeds() -> None:
    y_test = np.array([0, 1, 2, 2])
    predicted = [np.array(each) for each in ([0, 1, 2, 2], [0, 1, 1, 2], [0, 0, 0, 0])]
    predictions = [Prediction(each, np.eye(3)[each]) for each in predicted]
    plain = scores(DISTILLED, y_test, predictions, 30, 3)
    assert list(plain) == ["seeds", "test_accuracies", "mean", "std", "figures"]
    assert plain["figures"] == figures(y_test, predictions, 3)
    assert plain["test_accuracies"] == [1.0, 0.75, 0.25]
    told = scores(dataclasses.replace(GENERATED, seeds=(0, 1, 2)), y_test, predictions, 30, 3)
    assert told["num_examples"] == 30
    assert told["macro_f1s"] == [macro_f1(y_test, each) for each in predicted]
    for result, values, mean, std in (
        (plain, "test_accuracies", "mean", "std"),
        (told, "test_accuracies", "mean", "std"),
        (told, "macro_f1s", "macro_f1_mean", "macro_f1_std"),
    ):
        assert result[mean] == pytest.approx(statistics.mean(result[values]))
        assert result[std] == pytest.approx(statistics.pstdev(result[values]))
        assert json.loads(json.dumps(result)) == result
