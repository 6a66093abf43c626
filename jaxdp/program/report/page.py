"""A run as one HTML page that needs no server, no network and no script."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxdp.methods.base import Story
from jaxdp.privacy import wording
from jaxdp.privacy.promises import Certificate, Statement
from jaxdp.program.report import curve_svg, headline, quality
from jaxdp.program.report.style import CSS
from jaxdp.program.report.values import as_html, as_list, escaped, round_up
from jaxdp.program.runs.expected_curve import Curve

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_SNIPPET = """import numpy as np

with np.load("{name}.npz") as data:
    {name} = {{name: data[name] for name in data.files}}
print({{name: array.shape for name, array in {name}.items()}})
x, y = {name}["x"], {name}["y"]"""


_COMMAND = "jaxdp classify --run=FOLDER {files}"
_CLASSIFIER = """import jaxdp

loaded = jaxdp.load("FOLDER")
print(loaded.predict(x), loaded.predict_proba(x))"""
_DRAW = "jaxdp sample --run=FOLDER --num=1000 --out={file}"
_OPEN = """import jaxdp

loaded = jaxdp.load("FOLDER")
print(loaded.{made})"""

_COMMON_FILES = {
    "README.md": "the card: what this is, what is guaranteed, how to load it",
    "metrics.json": "accuracy, time and device",
    "privacy.json": "the privacy certificate: what is guaranteed, and for whom",
    "config.json": "every flag and version needed to repeat the run",
    "checkpoints/": "the state of the run, for --resume",
    "teacher_checkpoints/": "the state of the teacher's training, for --resume",
}


def render_report(
    *,
    title: str,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    privacy: Mapping[str, Any],
    picture_png: bytes,
    curve_png: bytes | None,
    story: Story,
    files: Iterable[str],
    class_names: Sequence[str],
    expected: Curve | None = None,
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
        story: what was made.
        files: names of what is in the folder.
        class_names: in the order of the labels.
        expected: what such a run was likely to reach over epsilon; None where nobody can say.

    Returns:
        The text of the page; every value in it is escaped.
    """
    is_table = len(config.get("example_shape", ())) == 1
    good, bad = _verdict(privacy)
    picture = figure_section(story.picture_heading, picture_png, wide=is_table)
    curve = figure_section(story.curve_heading, curve_png) if curve_png else ""
    cards = headline.cards(config, metrics, privacy, expected)
    # The picture of a table is tall: what comes first is to be on the first screen.
    top = f"{cards}{picture}" if is_table else f"{picture}{cards}"
    bar = quality.bar(metrics, class_names, expected)
    sections = [
        _banners(privacy, metrics),
        bad,
        headline.lead(config, metrics, privacy, story, class_names),
        f'<div class="{"top wide" if is_table else "top"}">{top}</div>',
        good,
        quality.section(metrics, class_names, bar=bar),
        quality.near(metrics),
        quality.over_epsilon(metrics, config, expected),
        _guarantee(privacy, _record(config)),
        _use_section(config, class_names),
        folded(story.curve_heading, curve) if curve else "",
        folded("All metrics", table_section("Metrics", _without_figures(metrics))),
        folded("The whole certificate", table_section("Privacy certificate", privacy)),
        folded("All settings", table_section("Configuration", config)),
        folded("Files in this folder, and how to read them", _files_section(story, set(files))),
    ]
    return document(title, sections)


def folded(name: str, section: str) -> str:
    """Return a section that is opened by a click on its name."""
    return f"<details><summary>{escaped(name)}</summary>{section}</details>"


def document(title: str, sections: Iterable[str], *, more_css: str = "") -> str:
    """Return a page of sections, each HTML or empty; it may have styles of its own."""
    name = escaped(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{name}</title>\n<style>{CSS}{curve_svg.CSS}{more_css}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n" + "\n".join(filter(None, sections)) + "\n</main>\n</body>\n</html>\n"
    )


def _banners(privacy: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    parts = []
    if not headline.is_private(privacy):
        parts.append(
            '<section class="loud"><h2>NO PRIVACY PROTECTION</h2><p>This run added no noise. Its '
            "results may reveal individual training records: handle them with the same care as "
            "the training data.</p></section>"
        )
    warned = [*privacy.get("warnings", ()), *metrics.get("warnings", ())]
    if warned:
        items = as_list(list(dict.fromkeys(warned)))
        parts.append(f'<section class="loud warn"><h2>WARNING</h2>{items}</section>')
    return "\n".join(parts)


def _verdict(privacy: Mapping[str, Any]) -> tuple[str, str]:
    """Return the section that lets files leave, or the one that lets nothing leave; one is empty.

    The first one comes below what was made, and the second one before everything.
    """
    if privacy.get("releasable") is True:
        verdict = escaped(str(privacy.get("verdict", "MAY BE RELEASED")))
        return f'<section class="verdict"><h2>{verdict}</h2>{_leaving(privacy)}</section>', ""
    reason = escaped(privacy.get("not_releasable_reason") or "No reason was recorded.")
    return "", f'<section class="loud"><h2>NOT RELEASABLE</h2><p>{reason}</p></section>'


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


def _record(config: Mapping[str, Any]) -> str:
    """Return what one record is called, by what the settings tell of its shape."""
    axes = len(config.get("example_shape", ()))
    return {1: "one record", 3: "one image"}.get(axes, wording.ANY_RECORD)


def _guarantee(privacy: Mapping[str, Any], record: str) -> str:
    headings = (
        ("Covered", "covers"),
        ("Not covered", "does_not_cover"),
        ("Treated as public", "public"),
    )
    text = (
        _promise(privacy, record)
        if headline.is_private(privacy)
        else "<p>Nothing: there is no guarantee.</p>"
    )
    return (
        f"<section><h2>What the privacy guarantee says</h2>{text}"
        f"{_columns(privacy, headings)}</section>"
    )


def _promise(privacy: Mapping[str, Any], record: str) -> str:
    unit = escaped(wording.of_kind(str(privacy.get("unit", "not stated")), record))
    said = "".join(
        _statement(each, float(privacy["delta"])) for each in Certificate(privacy).statements
    )
    return f"{said}<p>What is protected: {unit}.</p>"


def _statement(said: Statement, delta: float) -> str:
    """Return what holds of a run, or of all together, under a heading where both are said."""
    heading = f"<h3>{escaped(said.of)}</h3>" if said.of else ""
    attack = f"<p>{escaped(said.attack)}</p>" if said.attack else ""
    if math.isinf(said.epsilon):
        return f"{heading}<p>{escaped(said.promise)}</p>{attack}"
    epsilon = said.epsilon
    factor = round_up(math.exp(min(epsilon, 700.0)))
    these, covered, one = "this run with one", "what is covered below", "in one run"
    if said.runs > 1:
        these = f"these {said.runs} runs with the same ones"
        covered, one = "all that they have released", "in one case"
    return (
        f"{heading}<p>Compare {these} on the same training data, but with "
        f"{_change(said.relation)}. Whatever anyone reads out of {covered}, with any other "
        f"knowledge and any amount of computing, has at most e<sup>{round_up(epsilon)}</sup> = "
        f"{factor} times the probability {one} that it has in the other, plus δ = "
        f"{round_up(delta)}.</p>{attack}"
    )


def _change(relation: str) -> str:
    if relation.startswith("zero-out"):
        return "one record replaced by an empty one, which contributes nothing"
    if relation.startswith("replace"):
        return "one record replaced by any other"
    return f"one record changed ({escaped(relation)})"


def figure_section(heading: str, png: bytes, *, wide: bool = False) -> str:
    """Return a section with a picture in it; a wide one has small text, and may be scrolled."""
    width, height = struct.unpack(">II", png[16:24])
    data = base64.b64encode(png).decode("ascii")
    kind, before, after = "", "", ""
    if wide:
        kind, after = 'class="wide" ', "</div>"
        before = f'<div class="scroll" role="region" aria-label="{heading}" tabindex="0">'
    return (
        f'<section><h2>{heading}</h2>{before}<img {kind}alt="{heading}" width="{width}" '
        f'height="{height}" src="data:image/png;base64,{data}">{after}</section>'
    )


def _without_figures(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without those figures that have a section of their own."""
    return {
        key: _without_figures(value) if isinstance(value, Mapping) else value
        for key, value in metrics.items()
        if not (key == "figures" and quality.is_shown(value))
    }


def table_section(heading: str, values: Mapping[str, Any]) -> str:
    """Return a section with JSON values in it."""
    return f"<section><h2>{heading}</h2>{as_html(values)}</section>"


def _use_section(config: Mapping[str, Any], class_names: Sequence[str]) -> str:
    """Say how to tell the classes of new examples; where there are none, how to draw more."""
    is_table = bool(config.get("csv"))
    if len(class_names) > 1:
        is_image = len(config.get("example_shape", ())) == 3
        files = "new.csv" if is_table else "new.png folder/ new.npz" if is_image else "new.npz"
        does = "tells the classes of new examples, without the training data"
        codes = (_COMMAND.format(files=files), _CLASSIFIER)
    else:  # what has no classes was generated, so there is what draws
        does = "draws more examples, and opens those that are here, at no cost in privacy"
        file, made = ("more.csv", "frame") if is_table else ("more.npz", "x")
        codes = (_DRAW.format(file=file), _OPEN.format(made=made))
    blocks = "".join(f"<pre><code>{escaped(code)}</code></pre>" for code in codes)
    return (
        "<section><h2>Use it</h2><p>FOLDER is this folder. Where jaxdp is installed, this "
        f"{does}:</p>{blocks}</section>"
    )


def _files_section(story: Story, files: set[str]) -> str:
    there = {k: v for k, v in {**story.files, **_COMMON_FILES}.items() if k.strip("/") in files}
    rows = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in there.items())
    snippet = escaped(_SNIPPET.format(name=story.result))
    return (
        f'<section><h2>Files in this folder</h2><table class="keys"><tbody>{rows}</tbody></table>'
        f"<pre><code>{snippet}</code></pre></section>"
    )
