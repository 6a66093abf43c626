"""Warnings about a run that its certificate does not know: odd data or sets, doubtful results.

They come from public facts, the made set and the test split. As test scores, which no guarantee
covers, they go to the terminal and into metrics.json, and not into the certificate.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxdp.methods import certified
from jaxdp.methods.base import Plan
from jaxdp.methods.made import Made
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.runs import chance, estimates, misfits, recommendation

_LISTED = 5
# Beyond it a value is hardly of a column that was scaled to about [-1, 1].
_LARGEST_SCALED = 10.0
# Of test examples of a class; with fewer a sensitivity says little.
_FEW = 10
# Part of its share below which a class of a made set is hardly learnt.
_LEAST_PART = 0.1


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
    found += [] if getattr(settings, "unconditional", False) else _rare(data)
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
    return (*found, *misfits.few_bins(settings, spec))


def _rare(data: Dataset) -> list[str]:
    """Return a line where a class has few test examples, and as many of each would be enough."""
    counts = np.bincount(data.y_test, minlength=data.spec.num_classes)
    if len(data.y_test) < _FEW * len(counts):
        return []
    rare = [
        f"{ascii(name)[1:-1]} ({number})"
        for name, number in zip(data.spec.class_names, counts, strict=True)
        if 0 < number < _FEW
    ][:_LISTED]
    return [f"the test split has few examples of {', '.join(rare)}"] if rare else []


def lost_classes(made: Made) -> tuple[str, ...]:
    """Return a line where a made set has no example of a class, or hardly any.

    That is less than a tenth of the share in which classes are drawn, which comes from what was
    released, or of an even share where nothing tells shares. So the line is post-processing, too.
    """
    c, m = len(made.class_names), len(made.y)
    if c < 2:
        return ()
    shares = getattr(made.generator, "class_weights", None)
    expected = np.full(c, m / c) if shares is None else m * np.asarray(shares) / np.sum(shares)
    counts = np.bincount(made.y, minlength=c)
    lost = np.flatnonzero((counts == 0) | (counts < _LEAST_PART * expected))
    if len(lost) == 0:
        return ()
    named = [
        f"{ascii(made.class_names[label])[1:-1]} ({counts[label]}, {expected[label]:.0f} by share)"
        for label in lost[:_LISTED]
    ]
    more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
    return (
        f"of {m} made examples hardly any is of class {', '.join(named)}{more}: what learns from "
        "them will not find that class, however high its accuracy",
    )


def of_run(
    method: str,
    plan: Plan[Any],
    run_flags: Any,
    data: Dataset,
    metrics: Mapping[str, Any],
    made: Made,
) -> list[str]:
    """Return all warnings of a finished run.

    Args:
        method: of `jaxdp.methods`.
        plan: of the run.
        run_flags: that name the data.
        data: of which public facts and the test split are looked at.
        metrics: of the run.
        made: what the run has made.
    """
    num_test = len(data.x_test)
    instead = recommendation.better(
        estimates.facts_of(data.spec, num_test=num_test),
        certified.epsilon(plan),
        method=method,
        source=recommendation.source_of(run_flags),
        schema=data.spec.schema is not None,
    )
    names = data.spec.class_names[: plan.num_classes]
    guesses = chance.warnings(metrics, class_names=names, num_test=num_test, instead=instead)
    of_made = (*lost_classes(made), *misfits.warnings(made))
    return [*before_work(plan.settings, data), *of_made, *guesses]
