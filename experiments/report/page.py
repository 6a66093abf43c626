"""A run as one HTML page that needs no server, no network and no script."""

from __future__ import annotations

import base64
import html
import math
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.report.values import as_html, as_list, percent, round_down, round_up
from jaxdp.methods.base import Words

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
.verdict { border-width: 2px; border-color: var(--accent); }
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


_COMMAND = "python -m experiments.classify --run=FOLDER {files}"
_CLASSIFIER = """from experiments.classify import classifier_of

classifier, certificate = classifier_of("FOLDER")
print(classifier.predict(x), classifier.predict_proba(x))"""

_COMMON_FILES = {
    "metrics.json": "accuracy, time and device",
    "privacy.json": "the privacy certificate: what is guaranteed, and for whom",
    "config.json": "every flag and version needed to repeat the run",
    "checkpoints/": "the state of the run, for --resume",
}


def render_report(
    *,
    title: str,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    privacy: Mapping[str, Any],
    picture_png: bytes,
    curve_png: bytes | None,
    words: Words,
    files: Iterable[str],
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
        words: what was made.
        files: names of what is in the folder.

    Returns:
        The text of the page; every value in it is escaped.
    """
    curve = figure_section(words.curve_heading, curve_png) if curve_png else ""
    sections = [
        _headline(_facts(config, metrics), privacy),
        _banners(privacy),
        _guarantee(privacy),
        figure_section(words.picture_heading, picture_png),
        curve,
        table_section("Metrics", metrics),
        table_section("Privacy certificate", privacy),
        table_section("Configuration", config),
        _use_section(config),
        _files_section(words, set(files)),
    ]
    return document(title, sections)


def document(title: str, sections: Iterable[str]) -> str:
    """Return a page of sections, each HTML or empty."""
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
        promise = f"ε = {round_up(privacy['epsilon'])}\nδ = {round_up(privacy['delta'])}"
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
            '<section class="loud"><h2>NO PRIVACY PROTECTION</h2><p>This run added no noise. Its '
            "results may reveal individual training records: handle them with the same care as "
            "the training data.</p></section>"
        )
    if privacy.get("releasable") is True:
        verdict = html.escape(str(privacy.get("verdict", "MAY BE RELEASED")))
        parts.append(f'<section class="verdict"><h2>{verdict}</h2>{_leaving(privacy)}</section>')
    else:
        reason = html.escape(privacy.get("not_releasable_reason") or "No reason was recorded.")
        parts.append(f'<section class="loud"><h2>NOT RELEASABLE</h2><p>{reason}</p></section>')
    if privacy.get("warnings"):
        items = as_list(privacy["warnings"])
        parts.append(f'<section class="loud warn"><h2>WARNING</h2>{items}</section>')
    return "\n".join(parts)


def _leaving(privacy: Mapping[str, Any]) -> str:
    """Return which files may leave and which must not."""
    return _columns(privacy, (("May leave", "may_leave"), ("Must stay", "must_stay")))


def _columns(privacy: Mapping[str, Any], headings: tuple[tuple[str, str], ...]) -> str:
    columns = "".join(
        f"<div><h3>{heading}</h3>{as_list(privacy[key])}</div>"
        for heading, key in headings
        if privacy.get(key)
    )
    return f'<div class="columns">{columns}</div>'


def _guarantee(privacy: Mapping[str, Any]) -> str:
    headings = (
        ("Covered", "covers"),
        ("Not covered", "does_not_cover"),
        ("Treated as public", "public"),
    )
    text = _promise(privacy) if _is_private(privacy) else "<p>Nothing: there is no guarantee.</p>"
    return (
        f"<section><h2>What the privacy guarantee says</h2>{text}"
        f"{_columns(privacy, headings)}</section>"
    )


def _promise(privacy: Mapping[str, Any]) -> str:
    epsilon, delta = float(privacy["epsilon"]), float(privacy["delta"])
    unit = html.escape(str(privacy.get("unit", "not stated")))
    factor = round_up(math.exp(min(epsilon, 700.0)))
    # Total variation of (epsilon, delta)-DP: best balanced accuracy of telling two runs apart.
    wrong = (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    weak = " A limit so close to always right is a weak promise." if wrong < 0.01 else ""
    return (
        f"<p>Compare this run with one on the same training data, but with {_change(privacy)}. "
        "Whatever anyone reads out of what is covered below, with any other knowledge and any "
        f"amount of computing, has at most e<sup>ε</sup> = {factor} times the probability in one "
        f"run that it has in the other, plus δ = {round_up(delta)}.</p>"
        "<p>As a bet: someone who has to tell which of the two runs made these files, both being "
        f"equally likely beforehand, is wrong at least {round_down(100 * wrong)}% of the time; "
        f"with no files to look at it would be 50%.{weak}</p>"
        f"<p>One record is: {unit}.</p>"
    )


def _change(privacy: Mapping[str, Any]) -> str:
    relation = str(privacy.get("relation", "not stated"))
    if relation.startswith("zero-out"):
        return "one record replaced by an empty one, which contributes nothing"
    if relation.startswith("replace"):
        return "one record replaced by any other"
    return f"one record changed ({html.escape(relation)})"


def figure_section(heading: str, png: bytes) -> str:
    """Return a section with a picture in it."""
    width, height = struct.unpack(">II", png[16:24])
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<section><h2>{heading}</h2><img alt="{heading}" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{data}"></section>'
    )


def table_section(heading: str, values: Mapping[str, Any]) -> str:
    """Return a section with JSON values in it."""
    return f"<section><h2>{heading}</h2>{as_html(values)}</section>"


def _use_section(config: Mapping[str, Any]) -> str:
    """Say how to tell the classes of new examples; empty where classes are not told apart."""
    if config.get("unconditional"):
        return ""
    files = "new.npz"
    if config.get("csv"):
        files = "new.csv"
    elif len(config.get("example_shape", ())) == 3:
        files = "new.png folder/ new.npz"
    command = html.escape(_COMMAND.format(files=files))
    return (
        "<section><h2>Use it</h2><p>FOLDER is this folder. In a checkout this tells the classes of "
        "new examples, without the training data:</p>"
        f"<pre><code>{command}</code></pre><pre><code>{html.escape(_CLASSIFIER)}</code></pre>"
        "</section>"
    )


def _files_section(words: Words, files: set[str]) -> str:
    there = {k: v for k, v in {**words.files, **_COMMON_FILES}.items() if k.strip("/") in files}
    rows = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in there.items())
    snippet = html.escape(_SNIPPET.format(name=words.result))
    return (
        f'<section><h2>Files in this folder</h2><table class="keys"><tbody>{rows}</tbody></table>'
        f"<pre><code>{snippet}</code></pre></section>"
    )


def _facts(config: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts at the top: what was asked for, and what came out."""
    facts = {"Dataset": str(config.get("dataset", "not named"))}
    if "ipc" in config:
        facts["Examples per class"] = str(config["ipc"])
    else:
        facts["Features"] = str(config.get("features", "not named"))
    if "krr_test_accuracy" in metrics:
        before = percent(metrics.get("krr_test_accuracy_before"))
        after = percent(metrics["krr_test_accuracy"])
        return facts | {"Test accuracy, before → after": f"{before} → {after}"}
    accuracies = [
        f"{name} {percent(found.get('mean'))}"
        for name, found in metrics.get("accuracy", {}).items()
    ]
    return facts | {"Test accuracy after training on it": "\n".join(accuracies) or "not measured"}
