"""What a run says when it has ended: how good the result is, what is odd, what is guaranteed."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jaxdp.escapes import for_terminal
from jaxdp.methods import card
from jaxdp.program.evaluation import ordinary_models, registry, targets
from jaxdp.program.runs import chance
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.runner import METRICS
from jaxdp.program.terminal import print_guarantee

_FEW_CLASSES = 4


def show(
    folder: RunFolder,
    certificate: dict[str, Any],
    class_names: Sequence[str],
    *,
    said: Sequence[str],
) -> None:
    """Print it; warnings go to the standard error.

    Args:
        folder: of the finished run.
        certificate: of the run.
        class_names: of the data.
        said: warnings that the run began with.
    """
    metrics = folder.read_json(METRICS) or {}
    own: Iterable[str] = _own_classifier(metrics, class_names)
    level = chance.guess(metrics)
    ordinary = ordinary_models.line(metrics)
    if ordinary is not None:
        metrics = ordinary_models.without(metrics)
        own = (*own, ordinary)
    for line in (*own, *registry.as_lines(metrics), *targets.as_lines(metrics)):
        print(line)
    if level is not None:
        print(level)
    if "quality" in metrics:
        print(card.apart(metrics["quality"]))
    for line in (each for each in metrics.get("warnings", ()) if each not in said):
        print(f"WARNING: {line}", file=sys.stderr)
    print_guarantee(certificate)
    if "reused" in certificate:
        print(for_terminal(certificate["reused"]))
    print(f"results: {folder.path}/report.html")


def _own_classifier(metrics: Mapping[str, Any], class_names: Sequence[str]) -> Iterator[str]:
    """Yield lines on the classifier of the method itself, where it has one."""
    krr, teacher = metrics.get("krr_test_accuracy"), metrics.get("teacher_test_accuracy")
    figures = metrics.get("figures", {})
    if krr is not None:
        others = [f"before: {metrics['krr_test_accuracy_before']:.2%}"]
        others += [] if teacher is None else [f"the teacher: {teacher:.2%}"]
        yield f"KRR test accuracy {krr:.2%} ({'; '.join(others)})"
        yield from _beside(figures.get("krr", {}), class_names)
    elif teacher is not None:
        yield f"teacher test accuracy {teacher:.2%}"
        yield from _beside(figures.get("teacher", {}), class_names)


def _beside(figures: Mapping[str, Any], class_names: Sequence[str]) -> Iterator[str]:
    """Yield what stands below an accuracy: its interval, and what classes of unequal size need."""
    if "interval" not in figures:
        return
    low, high = (f"{100 * end:.1f}" for end in figures["interval"])
    yield f"  {low} to {high}% on new examples (95 %, by {figures['num_test']} test examples)"
    parts = []
    if figures["auc"] is not None:
        parts.append(f"AUC {figures['auc']:.3f}")
    parts.append(f"balanced accuracy {figures['balanced_accuracy']:.2%}")
    if len(class_names) <= _FEW_CLASSES:
        each = zip(class_names, figures["sensitivity"], strict=True)
        known = [(for_terminal(name), part) for name, part in each if part is not None]
        parts.append("found: " + ", ".join(f"{part:.1%} of {name}" for name, part in known))
    yield f"  {'; '.join(parts)}"
