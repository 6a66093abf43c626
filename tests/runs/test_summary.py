"""What a run says when it has ended."""

from __future__ import annotations

from typing import Any

from jaxdp.program.evaluation import registry
from jaxdp.program.runs import chance, summary

FIGURES = {
    "interval": [0.921, 0.9544],
    "num_test": 700,
    "auc": 0.9876,
    "balanced_accuracy": 0.81,
    "sensitivity": [0.99, 0.63],
}


def lines(metrics: dict[str, Any], *names: str) -> list[str]:
    return list(summary._own_classifier(metrics, names))


def test_an_accuracy_has_an_interval_and_what_rare_classes_need() -> None:
    metrics = {"krr_test_accuracy": 0.94, "krr_test_accuracy_before": 0.5}
    assert lines(metrics | {"figures": {"krr": FIGURES}}, "well", "ill") == [
        "KRR test accuracy 94.00% (before: 50.00%)",
        "  92.1 to 95.4% on new examples (95 %, by 700 test examples)",
        "  AUC 0.988; balanced accuracy 81.00%; found: 99.0% of well, 63.0% of ill",
    ]
    assert lines(metrics, "well", "ill") == ["KRR test accuracy 94.00% (before: 50.00%)"]


def test_many_classes_are_not_listed_and_what_is_not_known_is_left_out() -> None:
    many = FIGURES | {"auc": None, "sensitivity": [0.8] * 9}
    found = lines({"teacher_test_accuracy": 0.9, "figures": {"teacher": many}}, *"abcdefghi")
    assert found[0] == "teacher test accuracy 90.00%"
    assert found[-1] == "  balanced accuracy 81.00%"
    none = FIGURES | {"sensitivity": [0.99, None]}
    found = lines({"teacher_test_accuracy": 0.9, "figures": {"teacher": none}}, "well", "ill")
    assert found[-1].endswith("found: 99.0% of well")
    assert lines({}, "a") == []


def test_the_level_of_a_guess_is_told() -> None:
    counts = [[30, 10], [5, 15]]
    metrics = {"krr_test_accuracy": 0.75, "figures": {"krr": {"confusion": counts}}}
    assert str(chance.guess(metrics)) == "guessing 50.0%, always the commonest class 66.7%"
    even = {"mlp": {"mean": 0.5, "figures": {"confusion": [[5, 5], [5, 5]]}}}
    assert str(chance.guess({"accuracy": even})) == "guessing 50.0%"
    assert chance.guess({"krr_test_accuracy": 0.75}) is None
    line = registry.as_line("mlp", {"mean": 0.5, "std": 0.1, "figures": {"interval": [0.4, 0.6]}})
    assert line == "mlp test accuracy 50.00% (std 10.00%; 95 %: 40.0 to 60.0%)"
