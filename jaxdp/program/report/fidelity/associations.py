"""Associations of pairs of columns: private against made in a plane, and as maps of colours."""

from __future__ import annotations

import math

from jaxdp.program.evaluation.fidelity.associations import CRAMER, ETA, PEARSON, Pair
from jaxdp.program.evaluation.fidelity.comparison import Fidelity
from jaxdp.program.report.fidelity import svg

NAMES = {PEARSON: "correlation", CRAMER: "Cramér's V", ETA: "correlation ratio"}
_PLANE, _MARGIN = 300.0, 34.0
_NEARLY = 0.05  # so much below 0 the plane has no room of its own for
_CELL, _LETTER, _LONGEST = 14.0, 5.6, 16
_SIDE_BY_SIDE = 15  # columns, up to which three maps stand in one row


def section(found: Fidelity) -> str:
    """Return the section of both pictures; empty where there are no pairs."""
    if not found.pairs:
        return ""
    kinds = [kind for kind in NAMES if any(pair.kind == kind for pair in found.pairs)]
    legend = "".join(f'<span class="{kind}">{NAMES[kind]}</span> ' for kind in kinds)
    maps = "maps small" if len(found.paired) <= _SIDE_BY_SIDE else "maps"
    return (
        "<section><h2>Pairs: how columns go together</h2>"
        "<p class='faint'>A dot is a pair of columns. On the line both tables have the same "
        "association. Hover for names and numbers.</p>"
        f'<p class="legend">{legend}</p>{_plane(found)}</section>'
        "<section><h2>Associations of all pairs</h2>"
        '<p class="legend"><span class="up">positive, or without a sign</span> '
        '<span class="down">negative</span></p>'
        f'<div class="{maps}">{_maps(found)}</div></section>'
    )


def told(found: Fidelity, pair: Pair) -> str:
    """Return the names of a pair's columns."""
    return " × ".join(found.values[place].name for place in pair.columns)


def _plane(found: Fidelity) -> str:
    least = min(min(pair.real, pair.made) for pair in found.pairs)
    low = math.floor(2 * min(least + _NEARLY, 0)) / 2
    size = _PLANE + _MARGIN + 8

    def across(value: float) -> float:
        return _MARGIN + _PLANE * (value - low) / (1 - low)

    def up(value: float) -> float:
        return 8 + _PLANE * (1 - value) / (1 - low)

    parts = [svg.line(across(low), up(low), across(1), up(1), "same")]
    for tick in (-1.0, -0.5, 0.0, 0.5, 1.0):
        if tick >= low:
            parts += [
                svg.line(across(tick), up(low), across(tick), up(1), "grid"),
                svg.line(across(low), up(tick), across(1), up(tick), "grid"),
                svg.text(across(tick), up(low) + 14, f"{tick:g}", anchor="middle"),
                svg.text(across(low) - 5, up(tick) + 4, f"{tick:g}", anchor="end"),
            ]
    middle = (low + 1) / 2
    parts += [
        svg.text(across(middle), size + 2, "private", anchor="middle"),
        svg.text(9, up(middle), "made", anchor="middle", turn=True),
    ]
    for pair in sorted(found.pairs, key=lambda pair: abs(pair.real - pair.made)):
        title = f"{told(found, pair)}: private {pair.real:.3f}, made {pair.made:.3f}"
        parts.append(svg.dot(across(pair.real), up(pair.made), pair.kind, title=title))
    label = "associations of private against made records"
    return f'<div class="plane">{svg.picture(size, size + 8, parts, label=label)}</div>'


def _maps(found: Fidelity) -> str:
    values = {
        "private": {pair.columns: pair.real for pair in found.pairs},
        "made": {pair.columns: pair.made for pair in found.pairs},
        "made less private": {pair.columns: pair.made - pair.real for pair in found.pairs},
    }
    size = len(found.paired)
    names = [svg.cut(found.values[place].name, _LONGEST) for place in found.paired]
    room = 10 + _LETTER * max(map(len, names))
    wide = room + _CELL * size
    # Below this width names could not be read, so the box around the map is scrolled.
    style = f"min-width:{min(0.85 * wide, 60 * 16):.0f}px;max-width:{1.5 * wide:.0f}px"
    return "".join(
        f"<figure><figcaption>{title}</figcaption>"
        f'<div class="scroll" role="region" aria-label="map, {title}" tabindex="0">'
        f'<div style="{style}">{_map(found, title, of, room)}</div></div></figure>'
        for title, of in values.items()
    )


def _map(found: Fidelity, title: str, of: dict[tuple[int, int], float], room: float) -> str:
    """Draw a map, with so much room for names on the left and below."""
    names = [found.values[place].name for place in found.paired]
    size = len(names)
    parts = [svg.rectangle(room, 0, _CELL * size - 1, _CELL * size - 1, "frame")]
    for row, name in enumerate(names):
        at = _CELL * row
        parts.append(svg.text(room - 4, at + _CELL - 3.5, svg.cut(name, _LONGEST), anchor="end"))
        x, y = room + at + _CELL - 3.5, _CELL * size + 4
        parts.append(svg.text(x, y, svg.cut(name, _LONGEST), anchor="end", turn=True))
    for (a, b), value in of.items():
        row, column = found.paired.index(a), found.paired.index(b)
        said = f"{names[row]} × {names[column]}, {title}: {value:.3f}"
        for x, y in ((column, row), (row, column)):
            place = (room + _CELL * x, _CELL * y, _CELL - 1, _CELL - 1)
            kind, more = "up" if value >= 0 else "down", f' fill-opacity="{abs(value):.2f}"'
            parts.append(svg.rectangle(*place, kind, title=said, more=more))
    return svg.picture(room + _CELL * size, room + _CELL * size, parts, label=f"map, {title}")
