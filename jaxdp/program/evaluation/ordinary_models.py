"""What ordinary models learn from a distilled set, beside the classifier that it was made for."""

from collections.abc import Mapping
from typing import Any

from jaxdp.program.runs import chance

NAMES = {"logistic": "logistic regression", "forest": "random forest"}
"""Judges, and what they are called."""


def line(metrics: Mapping[str, Any]) -> str | None:
    """Return a line on what they learn, by metrics.json; None where there is nothing to compare."""
    own, found = metrics.get("krr_test_accuracy"), metrics.get("evaluation", {})
    means = {name: found[name]["mean"] for name in NAMES if name in found}
    if own is None or not means or any(mean is None for mean in means.values()):
        return None
    much = "less" if max(means.values()) < own else "as much"
    if chance.are_guesses({name: found[name] for name in means}):
        much = "no more than a guess"
    told = ", ".join(f"{NAMES[name]} {mean:.1%}" for name, mean in means.items())
    return f"ordinary models learn {much} from the set: {told}"


def without(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without the judges of the line, for those who show it in their place."""
    others = {k: v for k, v in metrics.get("evaluation", {}).items() if k not in NAMES}
    return {**metrics, "evaluation": others}
