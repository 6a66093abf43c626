"""The line that says what ordinary models learn from a distilled set."""

from __future__ import annotations

from typing import Any

import pytest

from jaxdp.program.evaluation import ordinary_models


def metrics(own: float | None, **means: float) -> dict[str, Any]:
    return {
        "krr_test_accuracy": own,
        "evaluation": {name: {"mean": mean} for name, mean in means.items()},
    }


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            metrics(0.7, logistic=0.475, forest=0.5),
            "ordinary models learn less from the set: logistic regression 47.5%, random forest "
            "50.0%",
        ),
        (
            metrics(0.5, logistic=0.4, forest=0.6, cnn=0.9),
            "ordinary models learn about as much from the set: logistic regression 40.0%, random "
            "forest 60.0%",
        ),
        (
            metrics(0.7, logistic=0.475),
            "ordinary models learn less from the set: logistic regression 47.5%",
        ),
        (metrics(0.7, cnn=0.475), None),
        (metrics(None, logistic=0.475), None),
        ({}, None),
    ],
)
def test_it_says_whether_they_learn_less(found: dict[str, Any], said: str | None) -> None:
    assert ordinary_models.line(found) == said


@pytest.mark.parametrize(
    ("right", "said"), [(8, "learn no more than a guess from the set"), (26, "learn less from")]
)
def test_it_says_where_they_have_learnt_nothing(right: int, said: str) -> None:
    """Of 30 test examples, 15 of each class; another model that is right does not count."""
    counts = [[right - right // 2, 15 - (right - right // 2)], [15 - right // 2, right // 2]]
    figures = {"confusion": counts, "num_test": 30, "auc": None}
    found = metrics(0.9, logistic=right / 30, cnn=0.8)
    found["evaluation"]["logistic"]["figures"] = figures
    assert said in str(ordinary_models.line(found))


def test_their_own_lines_are_left_out() -> None:
    found = metrics(0.7, logistic=0.475, forest=0.5, cnn=0.9)
    assert list(ordinary_models.without(found)["evaluation"]) == ["cnn"]
    assert len(found["evaluation"]) == 3


@pytest.mark.parametrize(("upper", "said"), [(0.69, "less"), (0.72, "about as much")])
def test_they_learn_less_only_where_their_interval_says_so(upper: float, said: str) -> None:
    found = metrics(0.7, logistic=0.65)
    found["evaluation"]["logistic"]["figures"] = {"interval": [0.6, upper]}
    line = str(ordinary_models.line(found))
    assert line.startswith(f"ordinary models learn {said} from the set: ")
    assert line.endswith(f"logistic regression 65.0% (60.0 to {100 * upper:.1f}%)")
