"""Texts that a spreadsheet takes for a formula, and runs, where it opens a CSV file."""

import re

_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # also as wide letters
# Where a comma is the decimal mark, semicolons separate cells.
_ENDS = re.compile(r"[;\t\r\n]")
# Beside a sign of money, or before a short unit of letters alone, nothing can be called; nor can
# it where three digits follow a mark of thousands. A colon is left out: -1:05 are rows 1 to 5.
_NUMBER = re.compile(
    r"[-+]?\s*[$\u20ac\u00a3\u00a5]?\s*(\d+([.,]\d*|[ '\u2019_]\d{3}(?!\d))*|[.,]\d+)(e[-+]?\d+)?"
    r"\s*([.%$\u20ac\u00a3\u00a5]|\u00b0?[a-z]{1,3})?",
    re.I,
)
_SIGNS_ALONE = re.compile(r"[-+=@/.\s]*")


def opens_as_formula(text: str) -> bool:
    """Return whether a text, or what follows a separator in it, opens as a formula.

    Numbers with a sign do not, as -5, +1.5, "- 50000", "-1 234,50", -$5 and "-5 kg", nor do signs
    alone, as "-" and "+/-".
    """
    return any(map(_is_formula, _ENDS.split(text)))


def _is_formula(cell: str) -> bool:
    # Spreadsheets leave out what cannot be seen in front.
    seen = "".join(mark for mark in cell if mark.isprintable()).strip()
    if not seen.startswith(_SIGNS):
        return False
    return not (_NUMBER.fullmatch(seen) or _SIGNS_ALONE.fullmatch(seen))
