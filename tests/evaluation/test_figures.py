"""Figures beside accuracy: against scikit-learn and naive versions, and where they do not exist."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from jaxdp.program.evaluation.figures import (
    MOST_CLASSES,
    NOT_COVERED,
    Prediction,
    auc,
    calibration_error,
    figures,
    interval,
)


def drawn(num_classes: int, *, num_test: int = 200, seed: int = 0) -> tuple[np.ndarray, Prediction]:
    """Return classes and a prediction that knows something about them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, num_classes, num_test)
    powers = np.exp(rng.normal(size=(num_test, num_classes)) + np.eye(num_classes)[y])
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    return y, Prediction(np.argmax(probabilities, axis=1), probabilities)


@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_they_are_those_of_scikit_learn(num_classes: int) -> None:
    y, prediction = drawn(num_classes)
    found = figures(y, [prediction], num_classes)
    scores = prediction.probabilities[:, 1] if num_classes == 2 else prediction.probabilities
    area = metrics.roc_auc_score(y, scores, multi_class="ovr", average="macro")
    assert found["auc"] == pytest.approx(area)
    assert 0.5 < found["auc"] < 1
    balanced = metrics.balanced_accuracy_score(y, prediction.classes)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    assert np.mean(found["sensitivity"]) == pytest.approx(balanced)
    recalls = metrics.recall_score(y, prediction.classes, average=None)
    np.testing.assert_allclose(found["sensitivity"], recalls)
    assert np.sum(found["confusion"]) == found["num_test"] == 200
    for row, column in ((0, 1), (1, 0), (1, 1)):
        counted = np.sum((y == row) & (prediction.classes == column))
        assert found["confusion"][row][column] == counted
    assert found["note"] == NOT_COVERED
    assert "untold" not in found
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def naive_calibration_error(y: np.ndarray, prediction: Prediction) -> float:
    """Guo et al. (2017), eq. 3, bin by bin."""
    total = 0.0
    for m in range(1, 16):
        chosen = [
            i
            for i, label in enumerate(prediction.classes)
            if (m - 1) / 15 < prediction.probabilities[i, label] <= m / 15
        ]
        if chosen:
            right = np.mean([y[i] == prediction.classes[i] for i in chosen])
            sure = np.mean([prediction.probabilities[i, prediction.classes[i]] for i in chosen])
            total += len(chosen) / len(y) * abs(right - sure)
    return float(total)


@pytest.mark.parametrize("num_classes", [2, 10])
def test_calibration_error_is_that_of_its_definition(num_classes: int) -> None:
    y, prediction = drawn(num_classes, num_test=500)
    expected = naive_calibration_error(y, prediction)
    assert expected > 0.01
    assert calibration_error(y, prediction) == pytest.approx(expected)


def test_calibration_error_of_the_certain_and_of_the_calibrated() -> None:
    y = np.array([0, 0, 1, 1])
    always = Prediction(np.zeros(4, int), np.eye(2)[[0, 0, 0, 0]])
    assert calibration_error(y, always) == 0.5  # a confidence of 1, right half of the time
    half = Prediction(np.zeros(4, int), np.full((4, 2), 0.5))
    assert calibration_error(y, half) == 0.0


def test_ties_count_as_half() -> None:
    y = np.array([0, 0, 1, 1, 2])
    assert auc(y, np.full((5, 3), 1 / 3), 3) == 0.5
    assert auc(y[:4], np.full((4, 2), 0.5), 2) == 0.5


def test_several_classifiers_have_means_and_their_counts_are_added() -> None:
    (y, first), (_, other) = drawn(3), drawn(3, seed=1)
    one, two, both = (figures(y, each, 3) for each in ([first], [other], [first, other]))
    for name in ("auc", "balanced_accuracy", "calibration_error"):
        assert both[name] == pytest.approx((one[name] + two[name]) / 2)
    np.testing.assert_allclose(
        both["sensitivity"], np.mean([one["sensitivity"], two["sensitivity"]], 0)
    )
    np.testing.assert_array_equal(both["confusion"], np.add(one["confusion"], two["confusion"]))


def test_of_a_class_that_the_test_split_lacks_nothing_is_told() -> None:
    y, prediction = drawn(4)
    there = y != 2
    found = figures(y[there], [Prediction(*(part[there] for part in prediction))], 4)
    assert found["sensitivity"][2] is None
    assert None not in (found["sensitivity"][0], found["auc"], found["balanced_accuracy"])
    assert sum(found["confusion"][2]) == 0
    assert sum(row[2] for row in found["confusion"]) > 0  # it is predicted all the same
    assert found["untold"] == {
        "auc": "of the classes in the test split alone",
        "sensitivity": "the test split has no example of classes 2",
    }


@pytest.mark.parametrize("num_classes", [1, 2, 3])
def test_one_class_has_no_auc(num_classes: int) -> None:
    y = np.zeros(5, int)
    prediction = Prediction(y, np.eye(num_classes)[y])
    found = figures(y, [prediction], num_classes)
    assert (found["auc"], found["balanced_accuracy"]) == (None, 1.0)
    assert found["untold"]["auc"] == "all test examples are of one class"
    assert found["sensitivity"] == [1.0, *[None] * (num_classes - 1)]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_not_finite_have_no_auc_and_no_calibration(value: float) -> None:
    y, prediction = drawn(3)
    prediction.probabilities[0, 0] = value
    found: dict[str, Any] = figures(y, [prediction], 3)
    assert (found["auc"], found["calibration_error"]) == (None, None)
    assert found["untold"] == dict.fromkeys(("auc", "calibration_error"), "scores are not finite")


def test_very_many_classes_have_no_matrix() -> None:
    num = MOST_CLASSES + 1
    y, prediction = drawn(num)
    found = figures(y, [prediction], num)
    assert found["confusion"] is None
    assert found["untold"]["confusion"] == "there are more than 50 classes"
    assert len(found["sensitivity"]) == num
    assert found["commonest_share"] == np.bincount(y).max() / len(y)


@pytest.mark.parametrize("right", [0, 3, 97, 100])
def test_the_interval_is_wilsons(right: int) -> None:
    p, m, z = right / 100, 100, 1.959964
    middle, half = p + z**2 / 2 / m, z * np.sqrt(p * (1 - p) / m + z**2 / 4 / m**2)
    ends = [(middle + sign * half) / (1 + z**2 / m) for sign in (-1, 1)]
    np.testing.assert_allclose(interval(p, m), ends, atol=1e-6)
    assert 0 <= interval(p, m)[0] <= p <= interval(p, m)[1] <= 1


def test_figures_have_the_interval_of_their_accuracy() -> None:
    y, prediction = drawn(3)
    found = figures(y, [prediction, prediction], 3)
    right = float(np.mean(prediction.classes == y))
    assert tuple(found["interval"]) == interval(right, 200)
