"""Figures of predictions against scikit-learn's, and their intervals against a plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from jaxdp.program.evaluation.fidelity.resampled import Measure, accuracy, auc, measured, r2

RNG = np.random.default_rng(0)
T = 120
Y = RNG.integers(0, 3, T)
SCORES = np.round(RNG.dirichlet([1, 1, 1], T) + 0.4 * np.eye(3)[Y], 1)
SCORES /= SCORES.sum(axis=1, keepdims=True)
NUMBERS = RNG.normal(1e6, 1, T)
TOLD = NUMBERS + RNG.normal(size=T)


def test_figures_are_those_of_scikit_learn() -> None:
    found = measured(auc(Y, SCORES), T).value
    assert found == pytest.approx(roc_auc_score(Y, SCORES, multi_class="ovr"))
    two = SCORES[:, :2]
    found = measured(auc(Y % 2, two), T).value
    assert found == pytest.approx(roc_auc_score(Y % 2, two[:, 1]))  # where many scores are equal
    found = measured(accuracy(Y, SCORES), T).value
    assert found == pytest.approx(accuracy_score(Y, SCORES.argmax(axis=1)))
    assert measured(r2(NUMBERS, TOLD), T).value == pytest.approx(r2_score(NUMBERS, TOLD))


@pytest.mark.parametrize("name", ["auc", "accuracy", "r2"])
def test_weights_are_records_that_are_there_several_times(name: str) -> None:
    weights = RNG.multinomial(T, np.full(T, 1 / T))
    places = np.repeat(np.arange(T), weights)
    measures = {
        "auc": (auc(Y, SCORES), auc(Y[places], SCORES[places])),
        "accuracy": (accuracy(Y, SCORES), accuracy(Y[places], SCORES[places])),
        "r2": (r2(NUMBERS, TOLD), r2(NUMBERS[places], TOLD[places])),
    }
    weighted, repeated = measures[name]
    expected = repeated(np.ones((1, T)))[0]
    assert weighted(weights[None].astype(float))[0] == pytest.approx(expected)


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    right = SCORES.argmax(axis=1) == Y
    plain = [right[RNG.integers(0, T, T)].mean() for _ in range(4000)]
    found = measured(accuracy(Y, SCORES), T)
    assert found.interval is not None
    assert found.interval == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=0.02)
    assert found == measured(accuracy(Y, SCORES), T)


def test_what_is_not_defined_is_not_told() -> None:
    one, flat = np.zeros(5, int), np.full(5, 3.0)
    measures: list[Measure] = [auc(one, SCORES[:5, :2]), auc(one, SCORES[:5]), r2(flat, TOLD[:5])]
    for measure in measures:
        assert measured(measure, 5) == (None, None)
    # A class of one record is not in every resample.
    rare = np.r_[1, np.zeros(9, int)]
    assert measured(auc(rare, np.eye(2)[rare]), 10) == (1, (1, 1))
    assert measured(accuracy(one[:1], np.ones((1, 2))), 1) == (1, (1, 1))
