"""Warnings about a run that its certificate does not know: odd data, and results at chance.

They come from public facts and the test split. As test scores, which no guarantee covers, they go
to the terminal and into metrics.json, and not into the certificate.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.data.dataset import Dataset
from experiments.runs import estimates, recommendation
from jaxdp.methods.base import Plan

_LISTED = 5
# Beyond it a value is hardly of a column that was scaled to about [-1, 1].
_LARGEST_SCALED = 10.0
# Standard deviations above chance that a guess reaches once in forty times.
_DEVIATIONS = 2.0


def before_work(settings: Any, data: Dataset) -> tuple[str, ...]:
    """Return what is odd about the data and the settings.

    Args:
        settings: complete.
        data: of which the number of training examples and the test split are looked at.
    """
    spec = data.spec
    found = []
    made = getattr(settings, "ipc", 0) * spec.num_classes
    if made > spec.num_examples:
        found.append(f"{made} examples are to be distilled from {spec.num_examples}; lower --ipc")
    missing = sorted(set(range(spec.num_classes)) - set(np.unique(data.y_test).tolist()))
    if missing and not getattr(settings, "unconditional", False):
        names = [ascii(spec.class_names[label])[1:-1] for label in missing[:_LISTED]]
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        found.append(
            f"the test split has no example of {', '.join(names)}{more}: test scores say "
            "nothing about that"
        )
    largest = 0.0 if spec.is_image or spec.schema is not None else np.abs(data.x_test).max()
    if largest > _LARGEST_SCALED:
        found.append(
            f"test rows hold values beyond {_LARGEST_SCALED:g} in size, and rows are taken as "
            "scaled to about [-1, 1]; divide the columns by public constants"
        )
    if hasattr(settings, "num_synthetic") and not spec.is_image and spec.schema is None:
        found.append(
            "rows without a schema: values that are drawn may be beyond all real ones; a table by "
            "--csv and --schema has valid records, and better ones"
        )
    return tuple(found)


def score(metrics: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the best test accuracy of a result and whose it is; None where none was taken."""
    found = {"kernel ridge regression": metrics.get("krr_test_accuracy")}
    found |= {name: judged.get("mean") for name, judged in metrics.get("accuracy", {}).items()}
    named = [(value, name) for name, value in found.items() if value is not None]
    if not named:
        return None
    value, name = max(named)
    return name, value


def at_chance(
    metrics: Mapping[str, Any], *, num_classes: int, num_test: int, instead: str
) -> tuple[str, ...]:
    """Return a line where a result tells classes apart no better than a guess does.

    A guess is right with probability p = 1/c, so often as `p + 2 sqrt(p (1 - p) / m)` of m test
    examples once in forty times. A result up to there is not told from it.

    Args:
        metrics: of the run.
        num_classes: c.
        num_test: m.
        instead: what would do better.
    """
    found = score(metrics)
    if found is None or num_classes < 2:
        return ()
    name, value = found
    chance = 1 / num_classes
    if value > chance + _DEVIATIONS * math.sqrt(chance * (1 - chance) / num_test):
        return ()
    return (
        f"the test accuracy of {name}, {value:.2%}, cannot be told from chance, {chance:.2%} for "
        f"{num_classes} classes, on {num_test} test examples; {instead}",
    )


def of_run(
    method: str, plan: Plan[Any], run_flags: Any, data: Dataset, metrics: Mapping[str, Any]
) -> list[str]:
    """Return all warnings of a finished run.

    Args:
        method: of `jaxdp.methods`.
        plan: of the run.
        run_flags: that name the data.
        data: of which public facts and the test split are looked at.
        metrics: of the run.
    """
    num_test = len(data.x_test)
    instead = recommendation.better(
        estimates.facts_of(data.spec, num_test=num_test),
        plan.eps,
        method=method,
        source=recommendation.source_of(run_flags),
        schema=data.spec.schema is not None,
    )
    chance = at_chance(metrics, num_classes=plan.num_classes, num_test=num_test, instead=instead)
    return [*before_work(plan.settings, data), *chance]
