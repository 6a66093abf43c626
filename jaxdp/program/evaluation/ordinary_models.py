"""What ordinary models learn from a distilled set, beside the classifier that it was made for."""

from collections.abc import Mapping
from typing import Any

from jaxdp.program.report.values import span
from jaxdp.program.runs import chance

NAMES = {"logistic": "logistic regression", "forest": "random forest"}
"""Judges, and what they are called."""


def line(metrics: Mapping[str, Any]) -> str | None:
    """Return a line on what they learn, by metrics.json; None where there is nothing to compare."""
    own, found = metrics.get("krr_test_accuracy"), metrics.get("evaluation", {})
    means = {name: found[name]["mean"] for name in NAMES if name in found}
    if own is None or not means or any(mean is None for mean in means.values()):
        return None
    ends = {name: found[name].get("figures", {}).get("interval") for name in means}
    # Less only where that is no chance of which test examples there are.
    most = max(mean if ends[name] is None else ends[name][1] for name, mean in means.items())
    much = "less" if most < own else "about as much"
    if chance.are_guesses({name: found[name] for name in means}):
        much = "no more than a guess"
    told = []
    for name, mean in means.items():
        beside = "" if ends[name] is None else f" ({span(ends[name])})"
        told.append(f"{NAMES[name]} {mean:.1%}{beside}")
    return f"ordinary models learn {much} from the set: {', '.join(told)}"


def without(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without the judges of the line, for those who show it in their place."""
    others = {k: v for k, v in metrics.get("evaluation", {}).items() if k not in NAMES}
    return {**metrics, "evaluation": others}
