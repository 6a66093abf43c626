"""The curve of what is expected as text for a terminal: at most 72 columns, ASCII where need be."""

from __future__ import annotations

import math
import textwrap
from typing import NamedTuple

import numpy as np

from jaxdp.program.runs.expected_curve import BAND_NAME, Curve

WIDTH = 72
_LEFT, _ROWS, _TICKS = 5, 10, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_COLUMNS = WIDTH - _LEFT - 2


class Marks(NamedTuple):
    """The characters that a curve is drawn with."""

    band: str
    upper: str
    lower: str
    ceiling: str
    guess: str
    chosen: str
    axis: str
    corner: str
    rule: str
    tick: str


UNICODE = Marks("░", "▀", "▄", "┄", "┈", "◆", "│", "└", "─", "┴")
ASCII = Marks(".", "*", "*", "=", "~", "O", "|", "+", "-", "+")


def marks_for(encoding: str | None) -> Marks:
    """Return the marks that an encoding has."""
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def text(curve: Curve, *, chosen: float | None = None, marks: Marks = UNICODE) -> str:
    """Return the curve in lines.

    Args:
        curve: what is expected.
        chosen: the epsilon of a run, which is one of the curve's; None or infinity for none.
        marks: what it is drawn with.
    """
    rows = [
        f"{label:>4} {marks.axis}{line}".rstrip()
        for label, line in zip(_labels(), _canvas(curve, chosen, marks), strict=True)
    ]
    head = f"{curve.measure} in %, over epsilon"
    return "\n".join([head, *rows, *_axis(curve, marks), *_legend(curve, chosen, marks)])


def _labels() -> list[str]:
    """Return what stands at the rows, of which each has ten percent."""
    return [str(10 * row) if row % 2 == 0 else "" for row in range(_ROWS, -1, -1)]


def _canvas(curve: Curve, chosen: float | None, marks: Marks) -> list[str]:
    """Return the rows, 100 % first; each character has two halves, of five percent."""
    canvas = [[" "] * _COLUMNS for _ in range(_ROWS + 1)]
    for column in range(_COLUMNS):
        low, middle, high = _at_column(curve, column)
        for row in range(_row(high)[0], _row(low)[0] + 1):
            canvas[row][column] = marks.band
        row, is_upper = _row(middle)
        canvas[row][column] = marks.upper if is_upper else marks.lower
    for level, mark in ((curve.guess, marks.guess), (curve.ceiling, marks.ceiling)):
        row = _row(level)[0]
        canvas[row] = [mark if each in (" ", marks.band) else each for each in canvas[row]]
    if chosen is not None and math.isfinite(chosen):
        column = _column(curve, chosen)
        for row in range(_ROWS + 1):
            if canvas[row][column] in (" ", marks.band):
                canvas[row][column] = marks.axis
        canvas[_row(_at_column(curve, column)[1])[0]][column] = marks.chosen
    return ["".join(row) for row in canvas]


def _row(percent: float) -> tuple[int, bool]:
    """Return the row that a value is in, and whether it is in the upper half of it."""
    halves = round(percent / 5)
    return _ROWS - (halves // 2), halves % 2 == 1


def _ends(curve: Curve) -> tuple[float, float]:
    return math.log(curve.points[0].epsilon), math.log(curve.points[-1].epsilon)


def _column(curve: Curve, epsilon: float) -> int:
    low, high = _ends(curve)
    return round((_COLUMNS - 1) * (math.log(epsilon) - low) / (high - low))


def _at_column(curve: Curve, column: int) -> tuple[float, float, float]:
    """Return the band and its middle at a column."""
    first, last = _ends(curve)
    place = first + (last - first) * column / (_COLUMNS - 1)
    places = [math.log(each.epsilon) for each in curve.points]
    bands = np.array([each[1:] for each in curve.points]).T
    low, middle, high = (float(np.interp(place, places, values)) for values in bands)
    return low, middle, high


def _axis(curve: Curve, marks: Marks) -> list[str]:
    low, high = (point.epsilon for point in (curve.points[0], curve.points[-1]))
    ticks = [each for each in _TICKS if low * 0.999 <= each <= high * 1.001]
    rule, names = [marks.rule] * _COLUMNS, [" "] * (_COLUMNS + 1)
    for tick in ticks:
        column, name = _column(curve, tick), f"{tick:g}"
        rule[column] = marks.tick
        begin = max(0, column - len(name) // 2)
        names[begin : begin + len(name)] = name
    pad = " " * _LEFT
    return [f"{pad}{marks.corner}{''.join(rule)}", f"{pad} {''.join(names).rstrip()}"]


def _legend(curve: Curve, chosen: float | None, marks: Marks) -> list[str]:
    lines = []
    here = None if chosen is None else curve.at(chosen)
    if here is not None:
        lines.append(f"{marks.chosen} {here}")
    lines.append(
        f"{marks.ceiling * 2} {curve.ceiling_name} {curve.ceiling:.0f} %  "
        f"{marks.guess * 2} {curve.guess_name} {curve.guess:.0f} %  {marks.band * 2} {BAND_NAME}"
    )
    lines.append(f"By {', '.join(curve.names)}.")
    if curve.caution:
        lines.append(f"{curve.caution[:1].upper()}{curve.caution[1:]}.")
    return [part for line in lines for part in textwrap.wrap(line, WIDTH)]
