"""An accuracy as a bar, with its interval, the level of guessing and what is likely at most."""

from __future__ import annotations

from jaxdp.program.report.fidelity import svg

_WIDTH, _TOP, _HEIGHT = 330.0, 8.0, 20.0
_LEFT, _RIGHT = 8.0, 14.0
_ROW, _COLUMN = 17.0, 158.0


def picture(
    name: str,
    accuracy: float,
    *,
    interval: tuple[float, float] | None,
    guess: float | None,
    guess_name: str = "guessing",
    ceiling: float | None,
) -> str:
    """Return the bar for a report page.

    Args:
        name: whose accuracy it is.
        accuracy: in [0, 1].
        interval: its ends, with a confidence of 95 %.
        guess: of who looks at no example.
        guess_name: what that one does.
        ceiling: what measured sets reach without privacy, public; None where none is like these.
    """
    bottom = _TOP + _HEIGHT
    parts = [
        svg.rectangle(_across(0), _TOP, _across(1) - _across(0), _HEIGHT, "rail"),
        svg.rectangle(_across(0), _TOP, _across(accuracy) - _across(0), _HEIGHT, "value"),
    ]
    lines = [("value", f"accuracy {accuracy:.1%}")]
    if interval is not None:
        middle = _TOP + _HEIGHT / 2
        low, high = map(_across, interval)
        parts += [svg.line(low, middle, high, middle, "here")]
        parts += [svg.line(x, middle - 5, x, middle + 5, "here") for x in (low, high)]
        lines.append(("here", f"95 %: {100 * interval[0]:.1f} to {100 * interval[1]:.1f}%"))
    for kind, level, said in (
        ("guess", guess, guess_name),
        ("ceiling", ceiling, "without privacy"),
    ):
        if level is not None:
            parts.append(svg.line(_across(level), _TOP - 5, _across(level), bottom + 5, kind))
            lines.append((kind, f"{said} {100 * level:.0f}%"))
    for percent in range(0, 101, 20):
        x = _across(percent / 100)
        parts += [svg.text(x, bottom + 17, f"{percent}", anchor="middle")]
    for place, (kind, said) in enumerate(lines):
        x, y = _LEFT + _COLUMN * (place % 2), bottom + 36 + _ROW * (place // 2)
        if kind == "value":
            parts.append(svg.rectangle(x, y - 9, 18, 9, kind))
        else:
            parts.append(svg.line(x, y - 4, x + 18, y - 4, kind))
        parts.append(svg.text(x + 23, y, said))
    height = bottom + 28 + _ROW * ((len(lines) + 1) // 2)
    return f'<div class="bar">{svg.picture(_WIDTH, height, parts, label=f"{name}: accuracy")}</div>'


def _across(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share
