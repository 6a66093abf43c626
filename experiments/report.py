"""A run as one HTML page that needs no server, no network and no script."""

from __future__ import annotations

import base64
import decimal
import html
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

_CSS = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b1f24; --faint: #57606a;
  --line: #d8dee4; --accent: #0b6e99; --bad: #b42318; --bad-page: #fef1ef; --warn: #8a5a00;
  --warn-page: #fff8e5; }
@media (prefers-color-scheme: dark) { :root { --page: #0f1418; --card: #182027; --ink: #e6ebef;
  --faint: #9aa7b2; --line: #2d3943; --accent: #5cc1ec; --bad: #ff9c8f; --bad-page: #351a17;
  --warn: #f2c14e; --warn-page: #2f2610; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .2rem; }
p { margin: 0 0 .7rem; }
ul { margin: 0; padding-left: 1.2rem; }
section, .fact { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; }
section { padding: 1.1rem 1.2rem; margin-top: 1rem; }
.facts { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); }
.fact { padding: .7rem 1rem; }
.fact span { display: block; color: var(--faint); font-size: .85rem; }
.fact strong { font-size: 1.25rem; line-height: 1.35; white-space: pre-line; }
.loud { border-width: 2px; border-color: var(--bad); background: var(--bad-page); }
.loud h2 { color: var(--bad); letter-spacing: .03em; font-size: 1.3rem; }
.loud :last-child { margin-bottom: 0; }
.warn { border-color: var(--warn); background: var(--warn-page); }
.warn h2 { color: var(--warn); }
.columns { display: grid; gap: 1rem 2rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-top: 1px solid var(--line); }
tr:first-child > * { border-top: 0; }
th { font-weight: 400; color: var(--faint); font-family: ui-monospace, Consolas, monospace; }
.keys > tbody > tr > th { width: 38%; }
code, pre { font-family: ui-monospace, Consolas, monospace; font-size: .9rem; }
pre { overflow-x: auto; margin: 1rem 0 0; padding: .8rem 1rem; background: var(--page);
  border-radius: .4rem; overflow-wrap: normal; }
summary { cursor: pointer; color: var(--accent); }
@media (max-width: 34rem) { main { padding: 1rem .6rem 2rem; } section { padding: .9rem; }
  .keys > tbody > tr > * { display: block; padding: .1rem 0 .35rem; border: 0; }
  .keys > tbody > tr > th { width: auto; border-top: 1px solid var(--line); padding: .35rem 0 0; }
  .keys > tbody > tr:first-child > th { border: 0; } }
@media print { body { background: none; } section { break-inside: avoid; } }
"""

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_SNIPPET = """import numpy as np

with np.load("{name}.npz") as data:
    {name} = {{name: data[name] for name in data.files}}
print({{name: array.shape for name, array in {name}.items()}})
x, y = {name}["x"], {name}["y"]"""


class Contents(NamedTuple):
    """What a run has made, in words: headings, files, and the facts at the top of the page.

    Attributes:
        name: of its npz file.
        picture: heading of the picture.
        curve: heading of the curve.
        files: what each file holds.
        facts: `(config, metrics) -> facts` shown at the top beside privacy.
    """

    name: str
    picture: str
    curve: str
    files: Mapping[str, str]
    facts: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, str]]


def _distilled_facts(config: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, str]:
    before = percent(metrics.get("krr_test_accuracy_before"))
    after = percent(metrics.get("krr_test_accuracy"))
    return {
        "Dataset": str(config.get("dataset", "not named")),
        "Examples per class": str(config.get("ipc", "not named")),
        "Test accuracy, before → after": f"{before} → {after}",
    }


_COMMON_FILES = {
    "metrics.json": "accuracy, time and device",
    "privacy.json": "the privacy certificate: what is guaranteed, and for whom",
    "config.json": "every flag and version needed to repeat the run",
    "checkpoints/": "the state of the run, for --resume",
}

DISTILLED = Contents(
    name="distilled",
    picture="The distilled set",
    curve="Accuracy over the run",
    files={
        "distilled.npz": "the distilled set: inputs, labels, class names and scaling",
        "distilled.png": "the picture above",
        **_COMMON_FILES,
    },
    facts=_distilled_facts,
)


TAUGHT = DISTILLED._replace(
    files={
        "teacher.npz": "the private teacher, which --teacher uses again",
        **DISTILLED.files,
    }
)


def _synthetic_facts(config: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, str]:
    accuracies = [
        f"{name} {percent(result.get('mean'))}"
        for name, result in metrics.get("accuracy", {}).items()
    ]
    return {
        "Dataset": str(config.get("dataset", "not named")),
        "Features": str(config.get("features", "not named")),
        "Test accuracy after training on it": "\n".join(accuracies) or "not measured",
    }


SYNTHETIC = Contents(
    name="synthetic",
    picture="Samples of the synthetic set",
    curve="Distance to the released embedding over the run",
    files={
        "synthetic.npz": "the synthetic set: inputs, labels and class names",
        "samples.png": "the picture above",
        "embedding.npz": "the released embedding, which --embedding uses again for free",
        "generator/": "the generator, from which experiments.sample draws any number of examples",
        **_COMMON_FILES,
    },
    facts=_synthetic_facts,
)


def render_report(
    *,
    title: str,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    privacy: Mapping[str, Any],
    picture_png: bytes,
    curve_png: bytes | None,
    contents: Contents = DISTILLED,
) -> str:
    """Write a run as one self-contained HTML page.

    Args:
        title: heading of the page.
        config: content of config.json; some of it goes into the headline.
        metrics: content of metrics.json; accuracies are fractions.
        privacy: content of privacy.json. Anything but `releasable` true is called not
            releasable, so that a missing key never reads as a promise.
        picture_png: picture of what was made.
        curve_png: progress over steps, or None where nothing was measured on the way.
        contents: what was made.

    Returns:
        The text of the page; every value in it is escaped.
    """
    curve = _figure_section(contents.curve, curve_png) if curve_png else ""
    sections = [
        _headline(contents.facts(config, metrics), privacy),
        _banners(privacy),
        _guarantee(privacy),
        _figure_section(contents.picture, picture_png),
        curve,
        _table_section("Metrics", metrics),
        _table_section("Privacy certificate", privacy),
        _table_section("Configuration", config),
        _files_section(contents),
    ]
    name = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{name}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n" + "\n".join(filter(None, sections)) + "\n</main>\n</body>\n</html>\n"
    )


def _is_private(privacy: Mapping[str, Any]) -> bool:
    """Return whether a certificate promises anything: a mechanism and a finite epsilon."""
    epsilon = privacy.get("epsilon")
    return privacy.get("mechanism") != "none" and epsilon is not None and math.isfinite(epsilon)


def _headline(facts: dict[str, str], privacy: Mapping[str, Any]) -> str:
    promise = "none"
    if _is_private(privacy):
        promise = f"ε = {_round_up(privacy['epsilon'])}\nδ = {_round_up(privacy['delta'])}"
    *first, last = facts.items()
    facts = dict([*first, ("Privacy", promise), last])
    cards = [
        f'<div class="fact"><span>{name}</span><strong>{html.escape(value)}</strong></div>'
        for name, value in facts.items()
    ]
    return f'<div class="facts">{"".join(cards)}</div>'


def _banners(privacy: Mapping[str, Any]) -> str:
    parts = []
    if not _is_private(privacy):
        parts.append(
            '<section class="loud"><h2>NO PRIVACY PROTECTION</h2><p>This run added no noise. The '
            "distilled set may reveal individual training records: handle it with the same care "
            "as the training data.</p></section>"
        )
    if privacy.get("releasable") is not True:
        reason = html.escape(privacy.get("not_releasable_reason") or "No reason was recorded.")
        parts.append(f'<section class="loud"><h2>NOT RELEASABLE</h2><p>{reason}</p></section>')
    if privacy.get("warnings"):
        items = _items(privacy["warnings"])
        parts.append(f'<section class="loud warn"><h2>WARNING</h2>{items}</section>')
    return "\n".join(parts)


def _guarantee(privacy: Mapping[str, Any]) -> str:
    columns = "".join(
        f"<div><h3>{heading}</h3>{_items(privacy[key])}</div>"
        for heading, key in (
            ("Covered", "covers"),
            ("Not covered", "does_not_cover"),
            ("Treated as public", "public"),
        )
        if privacy.get(key)
    )
    text = _promise(privacy) if _is_private(privacy) else "<p>Nothing: there is no guarantee.</p>"
    return (
        f"<section><h2>What the privacy guarantee says</h2>{text}"
        f'<div class="columns">{columns}</div></section>'
    )


def _promise(privacy: Mapping[str, Any]) -> str:
    epsilon, delta = float(privacy["epsilon"]), float(privacy["delta"])
    unit = html.escape(str(privacy.get("unit", "not stated")))
    factor = _round_up(math.exp(min(epsilon, 700.0)))
    # Total variation of (epsilon, delta)-DP: best balanced accuracy of telling two runs apart.
    wrong = (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    weak = " A limit so close to always right is a weak promise." if wrong < 0.01 else ""
    return (
        f"<p>Compare this run with one on the same training data, but with {_change(privacy)}. "
        "Whatever anyone reads out of what is covered below, with any other knowledge and any "
        f"amount of computing, has at most e<sup>ε</sup> = {factor} times the probability in one "
        f"run that it has in the other, plus δ = {_round_up(delta)}.</p>"
        "<p>As a bet: someone who has to tell which of the two runs made these files, both being "
        f"equally likely beforehand, is wrong at least {_round_down(100 * wrong)}% of the time; "
        f"with no files to look at it would be 50%.{weak}</p>"
        f"<p>One record is: {unit}.</p>"
    )


def _change(privacy: Mapping[str, Any]) -> str:
    relation = str(privacy.get("relation", "not stated"))
    if "replace" in relation.lower():
        return "one record replaced by any other"
    if "add" in relation.lower():
        return "one record added or removed"
    return f"one record changed ({html.escape(relation)})"


def _figure_section(heading: str, png: bytes) -> str:
    width, height = struct.unpack(">II", png[16:24])
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<section><h2>{heading}</h2><img alt="{heading}" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{data}"></section>'
    )


def _table_section(heading: str, values: Mapping[str, Any]) -> str:
    return f"<section><h2>{heading}</h2>{_value(values)}</section>"


def _files_section(contents: Contents) -> str:
    rows = "".join(
        f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in contents.files.items()
    )
    snippet = html.escape(_SNIPPET.format(name=contents.name))
    return (
        f'<section><h2>Files in this folder</h2><table class="keys"><tbody>{rows}</tbody></table>'
        f"<pre><code>{snippet}</code></pre></section>"
    )


def _value(value: Any) -> str:
    """Return any JSON value as HTML."""
    if isinstance(value, Mapping):
        rows = (
            f"<tr><th>{html.escape(str(k))}</th><td>{_value(v)}</td></tr>" for k, v in value.items()
        )
        return f'<table class="keys"><tbody>{"".join(rows)}</tbody></table>' if value else "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _sequence(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _short(f"{value:.6g}")
    return "none" if value is None or value == "" else html.escape(str(value))


def _sequence(values: Sequence[Any]) -> str:
    if not values:
        return "none"
    if all(isinstance(value, Mapping) for value in values):
        keys = list(dict.fromkeys(key for value in values for key in value))
        rows = [[_value(value.get(key)) for key in keys] for value in values]
        head = "".join(f"<th>{html.escape(str(key))}</th>" for key in keys)
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        table = f"<table><tbody><tr>{head}</tr>{body}</tbody></table>"
        return f"<details><summary>{len(values)} entries</summary>{table}</details>"
    if any(isinstance(value, str) and len(value) > 20 for value in values):
        return _items(values)
    return ", ".join(_value(value) for value in values)


def _items(values: Sequence[Any]) -> str:
    return f"<ul>{''.join(f'<li>{_value(value)}</li>' for value in values)}</ul>"


def percent(fraction: float | None) -> str:
    """Return a fraction in percent, or that it was not measured."""
    return "not measured" if fraction is None else f"{100 * fraction:.1f}%"


def _round_up(value: float) -> str:
    """Return four digits that never state less than the value: for what limits a loss."""
    return _digits(value, decimal.ROUND_CEILING)


def _round_down(value: float) -> str:
    return _digits(value, decimal.ROUND_FLOOR)


def _digits(value: float, rounding: str) -> str:
    context = decimal.Context(prec=4, rounding=rounding)
    return _short(f"{float(context.create_decimal(repr(float(value)))):.6g}")


def _short(number: str) -> str:
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), number)
