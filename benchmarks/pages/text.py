"""Figures and tables as pages have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TypeVar

Row = TypeVar("Row")
NAMES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}


def table(rows: Iterable[Row], columns: Mapping[str, Callable[[Row], str]]) -> str:
    """Return a table of rows; a column is its heading and what it says of a row."""
    lines = [_line(columns), "|" + "---|" * len(columns)]
    return "\n".join([*lines, *(_line(cell(row) for cell in columns.values()) for row in rows)])


def fixed(value: float, digits: int = 0) -> str:
    """Return a figure with so many digits after the point."""
    return f"{value:.{digits}f}"


def percent(fraction: float) -> str:
    """Return a fraction in percent, with one digit after the point."""
    return fixed(100 * fraction, 1)


def significant(value: float, digits: int = 2) -> str:
    """Return a figure with so many significant digits, and all digits before the point."""
    return fixed(value, max(0, digits - 1 - Decimal(f"{value:.{digits - 1}e}").adjusted()))


def above(ours: str, theirs: str) -> str:
    """Return our figures, bold where they are above those of a paper, one by one as printed."""
    pairs = zip(ours.split(" / "), theirs.split(" / "), strict=True)
    return " / ".join(f"**{a}**" if _number(a) > _number(b) else a for a, b in pairs)


def code(words: str) -> str:
    """Return words as code, or nothing."""
    return f"`{words}`" if words else ""


def _line(cells: Iterable[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _number(shown: str) -> float:
    found = re.match(r"-?[\d.]+", shown)
    return float(found[0]) if found else float("inf")
