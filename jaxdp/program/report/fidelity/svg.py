"""Pictures as SVG inside of a page: lines of text with numbers in them, and values on hover."""

from __future__ import annotations

from collections.abc import Iterable

from jaxdp.program.report.values import escaped


def picture(width: float, height: float, parts: Iterable[str], *, label: str) -> str:
    """Return a picture that is as wide as there is room for; sizes are its own units."""
    return (
        f'<svg viewBox="0 0 {_short(width)} {_short(height)}" role="img" '
        f'aria-label="{escaped(label)}">{"".join(parts)}</svg>'
    )


def rectangle(
    x: float, y: float, width: float, height: float, kind: str, *, title: str = "", more: str = ""
) -> str:
    """Return a rectangle of a class of the style sheet."""
    place = f'x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" height="{_short(height)}"'
    return _told("rect", f'class="{kind}" {place}{more}', title)


def dot(x: float, y: float, kind: str, *, title: str) -> str:
    """Return a dot of a class of the style sheet."""
    return _told("circle", f'class="{kind}" cx="{_short(x)}" cy="{_short(y)}" r="3.5"', title)


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    """Return a line."""
    ends = f'x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}"'
    return f'<line class="{kind}" {ends}/>'


def polygon(corners: Iterable[tuple[float, float]], kind: str) -> str:
    """Return an area between corners."""
    return f'<polygon class="{kind}" points="{_points(corners)}"/>'


def path(corners: Iterable[tuple[float, float]], kind: str) -> str:
    """Return lines from one corner to the next."""
    return f'<polyline class="{kind}" points="{_points(corners)}"/>'


def text(x: float, y: float, said: str, *, anchor: str = "start", turn: bool = False) -> str:
    """Return a text that begins, has its middle or ends at a place, or that is turned upwards."""
    turned = f' transform="rotate(-90 {_short(x)} {_short(y)})"' if turn else ""
    place = f'x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}"{turned}'
    return f"<text {place}>{escaped(said)}</text>"


def cut(said: str, limit: int) -> str:
    """Return a text that fits into a picture."""
    said = " ".join(said.split())
    return said if len(said) <= limit else said[: limit - 1] + "…"


def _told(name: str, attributes: str, title: str) -> str:
    inside = f"<title>{escaped(title)}</title>" if title else ""
    return f"<{name} {attributes}>{inside}</{name}>"


def _points(corners: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in corners)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
