"""What is expected over epsilon as SVG: in a page, or as a file of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

from jaxdp.program.report.fidelity import svg
from jaxdp.program.runs.expected_curve import BAND_NAME, Curve

# Units are pixels of a phone: on a desk the picture is larger, and its text as well.
_WIDTH, _HEIGHT = 330.0, 172.0
_LEFT, _RIGHT, _TOP = 30.0, 8.0, 8.0
_ROW = 17.0
_TICKS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

CSS = """
.curve { --band: #9fcbdf; --mark: #b8430a; max-width: 36rem; margin: 0 auto .5rem; }
.curve svg { display: block; width: 100%; height: auto; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
.curve svg text { fill: var(--ink); font-size: 11.5px; }
.curve .axis { stroke: var(--faint); stroke-width: 1; }
.curve .grid { stroke: var(--line); stroke-width: .7; }
.curve .band { fill: var(--band); fill-opacity: .55; }
.curve .middle { fill: none; stroke: var(--accent); stroke-width: 2; }
.curve .ceiling { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 6 3; }
.curve .guess { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 1.5 2.5; }
.curve .here { stroke: var(--mark); stroke-width: 1.2; }
.curve circle { fill: var(--mark); }
@media (prefers-color-scheme: dark) { .curve { --band: #2a5f78; --mark: #ff9a5c; } }
"""
# A file of its own has no page around it.
_ALONE = """
svg.curve { --page: #fff; --ink: #1b1f24; --faint: #57606a; --line: #d8dee4; --accent: #0b6e99;
  background: var(--page); }
svg.curve text { font-family: system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg.curve { --page: #0f1418; --ink: #e6ebef; --faint: #9aa7b2;
  --line: #2d3943; --accent: #5cc1ec; } }
"""


class Own(NamedTuple):
    """What a run has reached, in percent, with the ends of its interval if there is one."""

    epsilon: float
    value: float
    low: float | None = None
    high: float | None = None


def picture(curve: Curve, *, chosen: float | None = None, own: Own | None = None) -> str:
    """Return the curve for a page that has `CSS`.

    Args:
        curve: what is expected.
        chosen: an epsilon that is marked; None or infinity for none.
        own: what a run at that epsilon has reached.
    """
    parts = [*_grid(curve), *_expected(curve), *_levels(curve)]
    if chosen is not None and math.isfinite(chosen):
        parts += _chosen(curve, chosen, own)
    legend, rows = _legend(curve, chosen, own)
    label = f"{curve.measure} over epsilon, expected"
    height = _TOP + _HEIGHT + 30 + _ROW * rows
    return f'<div class="curve">{svg.picture(_WIDTH, height, parts + legend, label=label)}</div>'


def alone(curve: Curve, *, chosen: float | None = None) -> str:
    """Return the curve as the text of an SVG file."""
    inside = picture(curve, chosen=chosen).removeprefix('<div class="curve">')
    head = '<svg xmlns="http://www.w3.org/2000/svg" class="curve" width="660" '
    style = f"<style>{_ALONE}{CSS.replace('.curve svg', '.curve')}</style>"
    opened, _, rest = inside.removesuffix("</div>").partition(">")
    return f"{head}{opened.removeprefix('<svg ')}>{style}{rest}\n"


def _across(curve: Curve, epsilon: float) -> float:
    low, high = (math.log(each.epsilon) for each in (curve.points[0], curve.points[-1]))
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log(epsilon) - low) / (high - low)


def _up(percent: float) -> float:
    return _TOP + _HEIGHT * (1 - percent / 100)


def _grid(curve: Curve) -> list[str]:
    right, parts = _WIDTH - _RIGHT, list[str]()
    for percent in range(0, 101, 20):
        y = _up(percent)
        parts.append(svg.line(_LEFT, y, right, y, "grid" if percent else "axis"))
        parts.append(svg.text(_LEFT - 4, y + 4, str(percent), anchor="end"))
    first, last = curve.points[0].epsilon, curve.points[-1].epsilon
    for tick in _TICKS:
        if first * 0.999 <= tick <= last * 1.001:
            x = _across(curve, tick)
            parts.append(svg.line(x, _up(0), x, _up(0) + 4))
            anchor = "end" if x > right - 6 else "middle"
            parts.append(svg.text(x, _up(0) + 15, f"{tick:g}", anchor=anchor))
    name = f"{curve.measure} in %, over epsilon"
    return [*parts, svg.text(_LEFT, _up(0) + 28, name)]


def _expected(curve: Curve) -> list[str]:
    places = [_across(curve, each.epsilon) for each in curve.points]
    lower = [(x, _up(each.low)) for x, each in zip(places, curve.points, strict=True)]
    upper = [(x, _up(each.high)) for x, each in zip(places, curve.points, strict=True)]
    middle = [(x, _up(each.middle)) for x, each in zip(places, curve.points, strict=True)]
    return [svg.polygon([*lower, *reversed(upper)], "band"), svg.path(middle, "middle")]


def _levels(curve: Curve) -> list[str]:
    right = _WIDTH - _RIGHT
    return [
        svg.line(_LEFT, _up(level), right, _up(level), kind)
        for level, kind in ((curve.ceiling, "ceiling"), (curve.guess, "guess"))
    ]


def _chosen(curve: Curve, chosen: float, own: Own | None) -> list[str]:
    x = _across(curve, chosen)
    if own is None:
        here = curve.at(chosen)
        dots = [] if here is None else [svg.dot(x, _up(here.middle), "own", title=str(here))]
        return [svg.line(x, _up(0), x, _up(100), "here"), *dots]
    ends = (own.value if own.low is None else own.low, own.value if own.high is None else own.high)
    said = f"this run: {own.value:.1f} %"
    return [
        svg.line(x, _up(ends[0]), x, _up(ends[1]), "here"),
        svg.dot(x, _up(own.value), "own", title=said),
    ]


def _legend(curve: Curve, chosen: float | None, own: Own | None) -> tuple[list[str], int]:
    """Return the legend below, and how many rows it has."""
    lines = [("middle", "expected: the middle"), ("band", BAND_NAME)]
    lines.append(("ceiling", f"{curve.ceiling_name} {curve.ceiling:.0f} %"))
    lines.append(("guess", f"{curve.guess_name} {curve.guess:.0f} %"))
    if own is not None:
        lines.append(("dot", f"this run {own.value:.1f} %"))
    elif chosen is not None and math.isfinite(chosen):
        lines.append(("dot", f"epsilon {chosen:g}"))
    parts = []
    for place, (kind, said) in enumerate(lines):
        x, y = _LEFT - 8 + 162 * (place % 2), _TOP + _HEIGHT + 42 + _ROW * (place // 2)
        if kind == "dot":
            parts.append(svg.dot(x + 9, y - 3.5, "own", title=""))
        elif kind == "band":
            parts.append(svg.rectangle(x, y - 9, 18, 9, kind))
        else:
            parts.append(svg.line(x, y - 4, x + 18, y - 4, kind))
        parts.append(svg.text(x + 23, y, said))
    return parts, (len(lines) + 1) // 2
