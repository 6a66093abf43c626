"""Numbers as people write them: $46,002 or 4.1% or 1,65; read and written by what is declared.

What a text means follows from that text and from the declaration alone. So "1,65" is no number
where the comma separates thousands, and never 165.
"""

import dataclasses
import functools
import re

import numpy as np

from jaxdp.tables.formulas import opens_as_formula

_SIGNS = "+-"
_MARKS = (".", ",", "'", " ", "\u00a0", "\u202f", "\u2019", "_")
MOST_DECIMALS = 12
"""Digits behind the decimal mark that a column may declare."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NumberFormat:
    """How the numbers of a column are written.

    Attributes:
        prefix: in front of each, as "$"; a text may lack it.
        suffix: behind each, as "%"; a text may lack it.
        thousands: between groups of three digits; empty for none. A text may lack it.
        decimal: the decimal mark.
        decimals: how many digits follow it in what is written; None for as many as tell it.

    Raises:
        ValueError: texts could not be read again, or could run as formulas.

    Examples:
        >>> import jaxdp
        >>> money = jaxdp.tables.NumberFormat(prefix="$", thousands=",", decimals=0)
        >>> money.read("$46,002"), money.read("1,65"), money.write(1234.5)
        (46002.0, None, '$1,234')
    """

    prefix: str = ""
    suffix: str = ""
    thousands: str = ""
    decimal: str = "."
    decimals: int | None = None

    def __post_init__(self) -> None:
        for name in ("thousands", "decimal"):
            mark = getattr(self, name)
            if mark not in _MARKS and not (name == "thousands" and mark == ""):
                raise ValueError(f'"{name}" must be one of {", ".join(map(repr, _MARKS))}')
        if self.thousands == self.decimal:
            raise ValueError('"thousands" and "decimal" must differ, else texts have two meanings')
        for name in ("prefix", "suffix"):
            _require_plain(name, getattr(self, name))
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f'"decimals" must be between 0 and {MOST_DECIMALS}')

    def read(self, text: str) -> float | None:
        """Return the number that a text is; None where it is none."""
        text, sign = _without_sign(text.strip())
        text = text.removeprefix(self.prefix.strip()).strip()
        text = text.removesuffix(self.suffix.strip()).strip()
        if not sign:  # "$-5"
            text, sign = _without_sign(text)
        found = self._digits.fullmatch(text)
        if found is None:
            return None
        whole = found["whole"].replace(self.thousands, "") if self.thousands else found["whole"]
        return float(f"{sign}{whole or '0'}.{found['part'] or '0'}{found['power'] or ''}")

    def write(self, number: float | int) -> str:
        """Return a number as a text that no spreadsheet runs, if one of its forms is such."""
        if self.decimals is None:
            digits = np.format_float_positional(abs(number), trim="-")
            whole, _, part = digits.partition(".")
        else:
            whole, _, part = f"{abs(number):.{self.decimals}f}".partition(".")
        sign = "-" if number < 0 and (whole + part).strip("0") else ""
        grouped = f"{int(whole):,}".replace(",", self.thousands)
        digits = f"{grouped}{self.decimal}{part}" if part else grouped
        text = f"{sign}{self.prefix}{digits}{self.suffix}"
        if sign and opens_as_formula(text):  # "-USD 5"
            text = f"{self.prefix}{sign}{digits}{self.suffix}"
        return text

    @functools.cached_property
    def _digits(self) -> re.Pattern[str]:
        groups = rf"|[0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+" if self.thousands else ""
        return re.compile(
            rf"(?={re.escape(self.decimal)}?[0-9])(?P<whole>[0-9]*{groups})"
            rf"({re.escape(self.decimal)}(?P<part>[0-9]*))?(?P<power>[eE][-+]?[0-9]{{1,3}})?"
        )


def _without_sign(text: str) -> tuple[str, str]:
    return (text[1:].lstrip(), text[0]) if text[:1] in tuple(_SIGNS) else (text, "")


def _require_plain(name: str, text: str) -> None:
    """Raise an error for what a spreadsheet runs, or what cannot be told from a number."""
    if not text.isprintable() or any(mark in _SIGNS or mark.isdecimal() for mark in text):
        raise ValueError(f'"{name}" must hold neither signs nor digits, and what can be seen alone')
    if opens_as_formula(text) or set(text) & set('=@;"\uff1d\uff0b\uff0d\uff20'):
        raise ValueError(f'"{name}" would run as a formula in a spreadsheet')
