"""Values of JSON files as HTML, and numbers rounded so that they promise no more than is true."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxdp.escapes import for_terminal
from jaxdp.privacy.wording import rounded_up

_LIMITS = ("epsilon", "epsilon_second_opinion", "epsilon_with_earlier_runs", "gaussian_dp_mu")


def escaped(text: str) -> str:
    """Return a text as HTML; controls and marks of direction are shown as their numbers."""
    return html.escape("\n".join(map(for_terminal, text.split("\n"))))


def as_html(value: Any) -> str:
    """Return any JSON value as HTML."""
    if isinstance(value, Mapping):
        rows = (
            f"<tr><th>{escaped(str(k))}</th><td>{_named(k, v)}</td></tr>" for k, v in value.items()
        )
        return f'<table class="keys"><tbody>{"".join(rows)}</tbody></table>' if value else "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _sequence(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _short(f"{value:.6g}")
    return "none" if value is None or value == "" else escaped(str(value))


def _named(name: str, value: Any) -> str:
    """Return a value of a certificate or of settings by its name: what limits a loss is rounded up.

    So a table never states less than the certificate's sentences do.
    """
    return round_up(value) if name in _LIMITS and isinstance(value, float) else as_html(value)


def _sequence(values: Sequence[Any]) -> str:
    if not values:
        return "none"
    if all(isinstance(value, Mapping) for value in values):
        keys = list(dict.fromkeys(key for value in values for key in value))
        rows = [[_named(key, value.get(key)) for key in keys] for value in values]
        head = "".join(f"<th>{escaped(str(key))}</th>" for key in keys)
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        table = f"<table><tbody><tr>{head}</tr>{body}</tbody></table>"
        return f"<details><summary>{len(values)} entries</summary>{table}</details>"
    if any(isinstance(value, str) and len(value) > 20 for value in values):
        return as_list(values)
    return ", ".join(as_html(value) for value in values)


def as_list(values: Sequence[Any]) -> str:
    """Return values as a list with a bullet each."""
    return f"<ul>{''.join(f'<li>{as_html(value)}</li>' for value in values)}</ul>"


def percent(fraction: float | None) -> str:
    """Return a fraction in percent, or that it was not measured."""
    return "not measured" if fraction is None else f"{100 * fraction:.1f}%"


def span(ends: Sequence[float]) -> str:
    """Return the ends of an interval of fractions in percent."""
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}%"


def round_up(value: float | None) -> str:
    """Return four digits that never state less than the value: for what limits a loss.

    Infinity is None in JSON.
    """
    if value is None:
        return "inf"
    return _short(rounded_up(value))


def _short(number: str) -> str:
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), number)
