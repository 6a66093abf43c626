"""How good a result is, as HTML: figures of every classifier, and whom it takes for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxdp.methods.card import apart
from jaxdp.program.evaluation import ordinary_models, targets
from jaxdp.program.report import accuracy_bar, curve_svg
from jaxdp.program.report.values import escaped, percent, span
from jaxdp.program.runs import chance
from jaxdp.program.runs.expected_curve import ACCURACY, OVERLAP, OVERLAP_MEANS, Curve

_NAMES = {"krr": "kernel regression on it", "teacher": "the released teacher"}
_ACCURACIES = {"krr": "krr_test_accuracy", "teacher": "teacher_test_accuracy"}
_COLUMNS = ("accuracy", "on new examples, 95 %", "balanced accuracy", "AUC", "calibration error")
_MATRIX = (
    "Of 100 test examples of a row's class, so many are taken for the column's class. The diagonal "
    "has the sensitivity of every class."
)
_EXPLAINED = (
    "The interval counts which examples are in the test split, and neither the noise of another "
    "run nor examples of another kind. Balanced accuracy is the mean of the classes' "
    "sensitivities. AUC is of one class against the rest, the mean over classes; 0.5 is chance. "
    "The calibration error says how far the probability of the predicted class is from how often "
    "it is right, in 15 bins."
)
_LONG_NAME = 3


class Judged(NamedTuple):
    """A classifier that was tested on real examples.

    Attributes:
        name: of it, in words.
        accuracy: a fraction, or None.
        figures: as `jaxdp.program.evaluation.figures.figures` returns them, or none.
    """

    name: str
    accuracy: float | None
    figures: Mapping[str, Any]


def judges(metrics: Mapping[str, Any]) -> Iterator[Judged]:
    """Yield the classifiers in the content of metrics.json, the run's own first."""
    for name, figures in metrics.get("figures", {}).items():
        yield Judged(_NAMES.get(name, name), metrics.get(_ACCURACIES.get(name, "")), figures)
    for key in ("evaluation", "accuracy"):
        for name, found in metrics.get(key, {}).items():
            if isinstance(found, Mapping) and "mean" in found:
                yield Judged(f"{name}, trained on it", found["mean"], found.get("figures", {}))


def is_shown(figures: Mapping[str, Any]) -> bool:
    """Return whether figures, or those of several classifiers by name, are in the section."""
    return "confusion" in figures or any(isinstance(each, Mapping) for each in figures.values())


def bar(metrics: Mapping[str, Any], class_names: Sequence[str], expected: Curve | None) -> str:
    """Return the accuracy of the first classifier as a bar; empty where none was tested.

    Args:
        metrics: content of metrics.json.
        class_names: in the order of the labels.
        expected: what such a run was likely to reach over epsilon, if it is known.
    """
    first = next((each for each in judges(metrics) if each.accuracy is not None), None)
    accuracy = metrics.get("krr_test_accuracy")
    if first is None and accuracy is not None:
        first = Judged(_NAMES["krr"], accuracy, {})
    if first is None or first.accuracy is None or len(class_names) < 2:
        return ""
    ends = first.figures.get("interval")
    is_accuracy = expected is not None and expected.measure == ACCURACY
    level = chance.guess(metrics)
    uneven = level is not None and level.is_uneven
    return accuracy_bar.picture(
        first.name,
        first.accuracy,
        interval=None if ends is None else (ends[0], ends[1]),
        guess=1 / len(class_names) if level is None else level.commonest,
        guess_name="always one class" if uneven else "guessing",
        ceiling=expected.ceiling / 100 if expected is not None and is_accuracy else None,
    )


def over_epsilon(
    metrics: Mapping[str, Any], config: Mapping[str, Any], expected: Curve | None
) -> str:
    """Return what was likely over epsilon with this run on it; empty where nobody can say.

    Args:
        metrics: content of metrics.json.
        config: content of config.json.
        expected: the curve.
    """
    if expected is None:
        return ""
    epsilon, accuracy, own = config.get("eps"), metrics.get("krr_test_accuracy"), None
    if expected.measure == ACCURACY and epsilon and accuracy is not None:
        low, high = metrics.get("figures", {}).get("krr", {}).get("interval", (accuracy, accuracy))
        own = curve_svg.Own(epsilon, 100 * accuracy, 100 * low, 100 * high)
    level = chance.guess(metrics)
    said = f"By measured public sets ({', '.join(expected.names)}) and theory; nothing of the data "
    said += "was looked at for it. Four of five sets that were left out are in the band."
    if expected.measure == OVERLAP:
        said += f" {OVERLAP_MEANS}"
    elif level is not None and level.is_uneven:
        said += (
            " Guessing is of classes that are equally common; of this test split, always naming "
            f"the largest class is right {level.commonest:.1%} of the time."
        )
    if expected.caution:
        said += f" {expected.caution[:1].upper()}{expected.caution[1:]}."
    picture = curve_svg.picture(expected, chosen=epsilon, own=own)
    return (
        f"<section><h2>What was likely, over ε</h2>{picture}"
        f'<p class="faint">{escaped(said)}</p></section>'
    )


def section(metrics: Mapping[str, Any], class_names: Sequence[str], *, bar: str = "") -> str:
    """Return the section, empty where no classifier was tested.

    Args:
        metrics: content of metrics.json.
        class_names: in the order of the labels.
        bar: the first accuracy as a picture.
    """
    found = [each for each in judges(metrics) if "confusion" in each.figures]
    if not found:
        alone = f"<section><h2>Test accuracy</h2>{bar}</section>" if bar else ""
        return _of_targets(metrics) or alone
    head = "".join(f'<th scope="col">{name}</th>' for name in ("classifier", *_COLUMNS))
    rows = "".join(map(_row, found))
    notes = dict.fromkeys(text for each in found for text in _untold(each))
    first, *others = (_confusion(each, class_names) for each in found)
    more = "".join(
        f"<details><summary>{escaped(each.name)}</summary>{text}</details>"
        for each, text in zip(found[1:], others, strict=True)
        if text
    )
    matrices = f'{first}<p class="faint">{_MATRIX}</p>{more}' if first else more
    note = escaped(str(found[0].figures.get("note", "")))
    return (
        f'<section class="quality"><h2>How good it is</h2><p class="faint">On '
        f"{found[0].figures.get('num_test')} real test examples; {note}.</p>{bar}"
        f'<div class="scroll" role="region" aria-label="Figures" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'{_ordinary(metrics)}<p class="faint">{_EXPLAINED}</p>{"".join(notes)}{matrices}</section>'
    )


def _ordinary(metrics: Mapping[str, Any]) -> str:
    """Return what ordinary models learn from the set, beside its own classifier."""
    line = ordinary_models.line(metrics)
    return "" if line is None else f"<p>{escaped(line)}.</p>"


def near(metrics: Mapping[str, Any]) -> str:
    """Return how near a made table is to the private one, by what was told with noise; or empty."""
    if not metrics.get("quality"):
        return ""
    return f"<section><h2>How near it is</h2><p>{escaped(apart(metrics['quality']))}</p></section>"


def _of_targets(metrics: Mapping[str, Any]) -> str:
    """Return the section of a table whose targets are no classes, empty where there are none."""
    lines = "".join(f"<li>{escaped(line)}</li>" for line in targets.as_lines(metrics))
    if not lines:
        return ""
    return (
        f'<section class="quality"><h2>How good it is</h2><ul>{lines}</ul><p class="faint">'
        "By gradient boosting that is trained on the made records. R2 is the share of the variance "
        "that it predicts, and 0 is no better than the mean; an AUC of 0.5 is chance. Intervals of "
        "95 % count which records are in the test split.</p></section>"
    )


def _row(judged: Judged) -> str:
    figures = judged.figures
    values = (
        percent(judged.accuracy),
        _interval(figures.get("interval")),
        percent(figures.get("balanced_accuracy")),
        _number(figures.get("auc")),
        _number(figures.get("calibration_error")),
    )
    cells = "".join(f"<td>{value}</td>" for value in values)
    return f'<tr><th scope="row">{escaped(judged.name)}</th>{cells}</tr>'


def _interval(ends: Sequence[float] | None) -> str:
    return "none" if ends is None else span(ends)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _untold(judged: Judged) -> Iterator[str]:
    for name, reason in judged.figures.get("untold", {}).items():
        if name == "sensitivity":  # the matrix says it by the classes' names
            continue
        said = escaped(f"{name.replace('_', ' ')}: {reason}")
        yield f'<p class="faint">{said}.</p>'


def _confusion(judged: Judged, class_names: Sequence[str]) -> str:
    """Return the matrix of a classifier as a table, in percent of each class."""
    counts = judged.figures["confusion"]
    if counts is None:
        return ""
    tall = ' class="tall"' if max(map(len, class_names)) > _LONG_NAME else ""
    head = "".join(
        f'<th scope="col"{tall}><span title="{escaped(name)}">{_short(name)}</span></th>'
        for name in class_names
    )
    rows = "".join(
        f'<tr><th scope="row">{_short(name)}</th>{_shares(row, label)}</tr>'
        for label, (name, row) in enumerate(zip(class_names, counts, strict=True))
    )
    label = f"Confusion of {judged.name}"
    return (
        f'<div class="scroll" role="region" aria-label="{escaped(label)}" tabindex="0">'
        f'<table class="confusion"><caption>{escaped(label)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _shares(row: Sequence[int], label: int) -> str:
    """Return the cells of a class: percents, shaded by their size; of no examples none."""
    total = sum(row)
    if not total:
        return f'<td colspan="{len(row)}" class="faint">not in the test split</td>'
    cells = []
    for column, count in enumerate(row):
        share = round(100 * count / total)
        kind = ' class="right"' if column == label else ' class="faint"' if not share else ""
        cells.append(f'<td{kind} style="--share:{share}">{share}</td>')
    return "".join(cells)


def _short(name: str) -> str:
    text = " ".join(name.split())
    return escaped(text if len(text) <= 20 else text[:19] + "…")
