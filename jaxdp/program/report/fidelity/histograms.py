"""Histograms of both tables, one over the other, for each column."""

from __future__ import annotations

import itertools

from jaxdp.program.evaluation.fidelity.columns import Compared
from jaxdp.program.evaluation.fidelity.comparison import Fidelity
from jaxdp.program.evaluation.fidelity.values import Values
from jaxdp.program.report.fidelity import svg
from jaxdp.program.report.fidelity.bars import Bar, Histogram, histogram
from jaxdp.program.report.values import escaped

_WIDTH, _HEIGHT, _FOOT = 300.0, 100.0, 18.0
_APART = 5.0
_ROW, _LABEL, _NUMBER = 17.0, 112.0, 44.0
_MEASURES = {"ks": "KS", "total_variation": "total variation"}


def section(found: Fidelity) -> str:
    """Return the section of all columns that are compared in pairs."""
    figures = [_figure(found.values[at], found.compared[at]) for at in found.paired]
    left = len(found.values) - len(found.paired)
    more = f" {left} further columns stand in the tables alone." if left else ""
    return (
        "<section><h2>Columns: how often values occur</h2>"
        '<p class="legend"><span class="real">private</span> <span class="made">made</span>'
        f"</p><p class='faint'>Shares of records. Hover over a bar for its numbers.{more}</p>"
        f'<div class="panels">{"".join(figures)}</div></section>'
    )


def _figure(column: Values, compared: Compared) -> str:
    drawn = histogram(column)
    of = _of_numbers if column.is_number else _of_categories
    said = "no values in either table"
    if compared.apart is not None:
        distance, chance = compared.apart
        more = "" if chance is None else f", by chance {chance:.3f}"
        said = f"{_MEASURES[compared.measure]} {distance:.3f}{more}"
    return (
        f"<figure><figcaption><strong>{escaped(column.name)}</strong> <small>{said}</small>"
        f"</figcaption>{of(column.name, drawn)}</figure>"
    )


def _of_numbers(name: str, drawn: Histogram) -> str:
    """Draw bars that stand: private ones filled, made ones as outlines over them."""
    bars, parts = drawn.bars, list[str]()
    gaps = sum(not (a.inside and b.inside) for a, b in itertools.pairwise(bars))
    slot = (_WIDTH - _APART * gaps) / len(bars)
    highest = max([max(bar.real, bar.made) for bar in bars]) or 1.0
    x, inside = 0.0, list[float]()
    for place, bar in enumerate(bars):
        if place and not (bar.inside and bars[place - 1].inside):
            x += _APART
        parts += _standing(bar, x, slot, highest)
        if bar.inside:
            inside += [x, x + slot]
        x += slot
    parts.append(svg.line(0, _HEIGHT, _WIDTH, _HEIGHT))
    y = _HEIGHT + 13
    if inside:
        parts.append(svg.text(inside[0], y, drawn.ends[0]))
        if drawn.ends[0] != drawn.ends[1]:
            parts.append(svg.text(inside[-1], y, drawn.ends[1], anchor="end"))
    if bars[-1].text == "missing":
        parts.append(svg.text(_WIDTH, 9, "missing →" if len(bars) > 1 else "missing", anchor="end"))
    return svg.picture(_WIDTH, _HEIGHT + _FOOT, parts, label=f"histogram of {name}")


def _standing(bar: Bar, x: float, slot: float, highest: float) -> list[str]:
    width, more = slot * 0.92, "" if bar.inside else " apart"
    heights = [_HEIGHT * share / highest for share in (bar.real, bar.made)]
    return [
        svg.rectangle(x, _HEIGHT - heights[0], width, heights[0], f"real{more}"),
        svg.rectangle(x, _HEIGHT - heights[1], width, heights[1], f"made{more}"),
        svg.rectangle(x, 0, slot, _HEIGHT, "hit", title=_told(bar)),
    ]


def _of_categories(name: str, drawn: Histogram) -> str:
    """Draw bars that lie, with their names before them."""
    highest = max([max(bar.real, bar.made) for bar in drawn.bars], default=0) or 1.0
    room, parts = _WIDTH - _LABEL - _NUMBER, list[str]()
    for place, bar in enumerate(drawn.bars):
        y = _ROW * place
        widths = [room * share / highest for share in (bar.real, bar.made)]
        parts += [
            svg.text(_LABEL - 6, y + 12, svg.cut(bar.text, 15), anchor="end"),
            svg.rectangle(_LABEL, y + 2, widths[0], 6, "real"),
            svg.rectangle(_LABEL, y + 9, widths[1], 6, "made"),
            svg.text(_LABEL + max(widths) + 4, y + 12, f"{100 * bar.made:.1f} %"),
            svg.rectangle(0, y, _WIDTH, _ROW, "hit", title=_told(bar)),
        ]
    return svg.picture(_WIDTH, _ROW * len(drawn.bars) + 2, parts, label=f"shares of {name}")


def _told(bar: Bar) -> str:
    return f"{bar.text}: private {100 * bar.real:.2f} %, made {100 * bar.made:.2f} %"
