"""Models that are trained on either table, and one that tells tables apart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from support.two_tables import categories, numbers

from jaxdp.program.evaluation.fidelity import models
from jaxdp.program.evaluation.fidelity.values import Values


def with_class(num: int, *, lost: bool, seed: int = 0) -> list[Values]:
    """Return a class that a number and a category tell; made ones are at random where `lost`."""
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, 2, n) for n in (num, num, num)]
    x = [rng.normal(size=num) + 2 * side for side in y]
    hue = [np.where(rng.random(num) < 0.9, side, 3) for side in y]
    x[0][:5], hue[0][5:9] = np.nan, -1
    made = rng.permutation(y[1]) if lost else y[1]
    told = numbers(*x, name="x"), categories(*hue, name="hue")
    return [*told, categories(y[0], made, y[2], names="no")]


@pytest.mark.parametrize("lost", [False, True])
def test_made_records_train_as_well_as_private_ones_if_they_hold_as_much(lost: bool) -> None:
    found = models.trained(with_class(400, lost=lost), ["c"])
    assert [(each.model, each.measure) for each in found] == [
        ("gradient boosting", "auc"), ("gradient boosting", "accuracy"),
        ("logistic regression", "auc"), ("logistic regression", "accuracy"),
    ]  # fmt: skip
    for each in found:
        assert each.target == "c"
        assert each.real is not None
        assert each.made is not None
        assert each.made.value is not None
        assert each.real.value is not None
        assert each.real.value > 0.85
        if each.model == "gradient boosting":  # a line through noise may point the right way
            assert (each.made.value < 0.7) == lost
        assert each.real.interval is not None
        assert each.real.interval[0] < each.real.value < each.real.interval[1]


def test_numbers_are_predicted() -> None:
    x, y = load_diabetes(return_X_y=True)
    columns = [numbers(x[:200, j], x[200:300, j], x[300:, j], name=f"x{j}") for j in range(10)]
    target = numbers(y[:200], y[200:300], y[300:], name="y")
    found = models.trained([*columns, target], ["y"])
    assert [(each.model, each.measure) for each in found] == [
        ("gradient boosting", "r2"), ("ridge regression", "r2"),
    ]  # fmt: skip
    for part, side in ((slice(200), found[1].real), (slice(200, 300), found[1].made)):
        middle, scale = x[part].mean(axis=0), x[part].std(axis=0)
        model = Ridge().fit((x[part] - middle) / scale, y[part])
        expected = r2_score(y[300:], model.predict((x[300:] - middle) / scale))
        assert side is not None
        assert side.value == pytest.approx(expected, abs=0.01)  # the targets' scale is in alpha
    assert models.trained([*columns, target], ["y", "x0"])[2].target == "x0"


def test_records_without_a_target_are_left_out() -> None:
    columns = with_class(300, lost=False)
    target = columns[2]
    gone = target._replace(
        real=np.r_[[-1] * 50, target.real[50:]], test=np.r_[target.test[:99], [-1] * 201]
    )
    (first, *_) = models.trained([*columns[:2], gone], ["c"])
    kept = [c._replace(real=c.real[50:], test=c.test[:99]) for c in columns]
    assert first == models.trained(kept, ["c"])[0]
    none = target._replace(made=np.full(300, -1))
    assert models.trained([*columns[:2], none], ["c"])[0].made is None
    assert models.trained([*columns[:2], target._replace(test=none.made)], ["c"]) == []


def test_a_class_that_occurs_once_or_alone_is_no_obstacle() -> None:
    columns = with_class(60, lost=False)
    once = np.r_[2, columns[2].real[1:]]
    three = columns[2]._replace(real=once, made=np.zeros(60, int), names=("a", "b", "c"))
    found = models.trained([*columns[:2], three], ["c"])
    assert found[0].made == (0.5, (0.5, 0.5))  # it always says the same
    assert found[0].real is not None
    assert found[0].real.value is not None
    assert found[0].real.value > 0.8


def test_columns_without_values_and_single_records_are_no_obstacle() -> None:
    nan = np.full(40, np.nan)
    columns = [numbers(nan, nan, nan, name="gone"), *with_class(40, lost=False)]
    assert len(models.trained(columns, ["c"])) == 4
    assert models.told_apart(columns).value is not None
    single = [numbers([1], [2], [3], name="x"), categories([1], [0], [1])]
    assert models.trained(single, ["c"])[1].real == (1, (1, 1))
    assert models.trained([numbers([1], [2], [3]), numbers([1], [2], [3], name="y")], ["y"])
    assert models.told_apart(single) == (None, None)
    assert (
        models.trained([categories([0, 1], [0, 1], [0, 1])], ["c"]) == []
    )  # nothing to tell it by
    assert models.trained(columns, []) == []


def test_more_records_than_are_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MOST_TRAINING", 100)
    columns = with_class(400, lost=False)
    found = models.trained(columns, ["c"])[3]
    assert found.real is not None
    assert found.real.value is not None
    assert found.real.value > 0.8
    assert models.told_apart(columns).value is not None


def test_tables_of_one_distribution_cannot_be_told_apart_and_others_can() -> None:
    rng = np.random.default_rng(1)
    same = models.told_apart([numbers(rng.random(600), rng.random(500))])
    assert same.interval is not None
    assert same.interval[0] < 0.5 < same.interval[1]
    whole = numbers(rng.integers(0, 50, 600), rng.random(500) * 50)
    other = models.told_apart([whole, categories(rng.integers(0, 2, 600), rng.integers(0, 2, 500))])
    assert other.value is not None
    assert other.value > 0.6
