"""The top of a report page: what was made, how good, how private, and whether it may leave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from jaxdp.methods.base import Story
from jaxdp.privacy.promises import Certificate
from jaxdp.program.report.values import escaped, percent, round_up, span
from jaxdp.program.runs import chance, dataset_ledgers
from jaxdp.program.runs.expected_curve import BAND_NAME, OVERLAP, Curve

_NOT_MEASURED = "not measured"
# From this share of the largest class on, an accuracy that is a guess looks like one that is not;
# of smaller ones the bar below tells.
_MISTAKEN = 0.5


def is_private(privacy: Mapping[str, Any]) -> bool:
    """Return whether a certificate promises anything: a mechanism and a finite epsilon."""
    epsilon = privacy.get("epsilon")
    return privacy.get("mechanism") != "none" and epsilon is not None and math.isfinite(epsilon)


def lead(
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    privacy: Mapping[str, Any],
    story: Story,
    class_names: Sequence[str],
) -> str:
    """Return what was made, in a sentence, and the certificate's own sentence.

    Between them stands that an accuracy is none, where naming one class is right as often.

    Args:
        config: content of config.json.
        metrics: content of metrics.json.
        privacy: content of privacy.json; one without a verdict says nothing here.
        story: what was made.
        class_names: in the order of the labels.
    """
    noun = "records" if len(config.get("example_shape", ())) == 1 else "images"
    if story.kind == "generated":
        what = (
            f"A generator, and synthetic {noun} that it has drawn. They take the place of the "
            "private ones"
        )
    else:
        what = (
            f"A few made {noun} of each class. jaxdp classify tells new {noun} apart by them, of "
            "which other models may learn less"
        )
    below = chance.not_above_one_class(metrics)
    if below is not None:
        words = below.in_words(below.commonest(class_names))
        what += f". By accuracy this is no better than a guess: {words}"
    said = ""
    if privacy.get("verdict"):  # which has a place of its own
        said = str(Certificate(privacy)).removesuffix(f" {privacy['verdict']}.")
    return f'<p class="lead">{escaped(what)}. {escaped(said)}</p>'


def cards(
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    privacy: Mapping[str, Any],
    expected: Curve | None = None,
) -> str:
    """Return the four facts that come first; where nothing was tested, one of them is expected."""
    promise = "none"
    if is_private(privacy):
        promise = _promise(privacy)
    leave = "no"
    if privacy.get("releasable") is True:
        page = "" if dataset_ledgers.are_public(config) else " and this page"
        leave = f"yes, as below\nthe training data{page} stay"
    name, accuracy = _accuracy(metrics)
    level = chance.guess(metrics)
    measured = accuracy != _NOT_MEASURED
    if measured and level is not None and level.is_uneven and level.commonest >= _MISTAKEN:
        above = "" if chance.not_above_one_class(metrics) is None else "not above "
        accuracy += f"\n{above}always the largest class: {percent(level.commonest)}"
    likely = None if expected is None else expected.at(config.get("eps") or math.inf)
    if likely is not None and not measured:
        low, middle, high = (f"{each:.0f}" for each in likely[1:])
        name = f"{OVERLAP}, expected"
        accuracy = f"about {middle} %\n{BAND_NAME}: {low} to {high} %"
    facts = {
        "What": _what(config),
        f"How good: {name}": accuracy,
        "How private": promise,
    }
    first = "".join(map(_card, facts, facts.values()))
    return f'<div class="facts">{first}{_card("May it leave", leave, kind="fact leave")}</div>'


def _promise(privacy: Mapping[str, Any]) -> str:
    """Return epsilon, delta and mu: of all runs on the data together, where there are others."""
    certificate, several = Certificate(privacy), bool(privacy.get("earlier_runs"))
    if certificate.promises_nothing:
        return f"nothing is guaranteed\nwhatever its ε = {round_up(privacy['epsilon'])} is"
    loss, epsilon = privacy, certificate.promised_epsilon
    if several:
        loss = privacy["loss_with_earlier_runs"]
    lines = [f"ε = {round_up(epsilon)}", f"δ = {round_up(privacy['delta'])}"]
    if math.isinf(epsilon):
        lines, loss = ["no ε holds"], {}
    if loss.get("gaussian_dp_mu") is not None:
        lines.append(f"μ = {round_up(loss['gaussian_dp_mu'])}")
    if several:
        lines.append(f"with earlier runs; this one alone: ε = {round_up(privacy['epsilon'])}")
    return "\n".join(lines)


def _card(name: str, value: str, kind: str = "fact") -> str:
    """Return a fact: its first line is large."""
    first, _, others = escaped(value).partition("\n")
    more = f"<small>{others}</small>" if others else ""
    return f'<div class="{kind}"><span>{name}</span><strong>{first}</strong>{more}</div>'


def _what(config: Mapping[str, Any]) -> str:
    name = str(config.get("dataset", "not named"))
    if config.get("csv"):
        name = PurePath(str(config["csv"])).name
    if "ipc" in config:
        return f"{name}\n{config['ipc']} per class"
    if "features" in config:
        return f"{name}\nby {config['features']}"
    number = config.get("num_synthetic")
    return f"{name}\nby noisy counts" if number is None else f"{name}\n{number:,} records made"


def _accuracy(metrics: Mapping[str, Any]) -> tuple[str, str]:
    """Return what was measured on test examples, and its values."""
    if "krr_test_accuracy" in metrics:
        lines = [percent(metrics["krr_test_accuracy"])]
        ends = metrics.get("figures", {}).get("krr", {}).get("interval")
        lines += [] if ends is None else [f"on new examples: {span(ends)}"]
        lines.append(f"what it began with: {percent(metrics.get('krr_test_accuracy_before'))}")
        if metrics.get("teacher_test_accuracy") is not None:
            lines.append(f"teacher: {percent(metrics['teacher_test_accuracy'])}")
        return "test accuracy", "\n".join(lines)
    lines = []
    for name, found in metrics.get("accuracy", {}).items():
        ends = found.get("figures", {}).get("interval")
        lines.append(f"{name} {percent(found.get('mean'))}")
        lines += [] if ends is None else [f"on new examples: {span(ends)}"]
    return "test accuracy after training on it", "\n".join(lines) or _NOT_MEASURED
