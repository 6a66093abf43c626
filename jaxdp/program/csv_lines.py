"""Lines of a CSV file, which whoever opens it in a spreadsheet or shows it can trust."""

import csv
import io
from collections.abc import Iterable, Sequence

from jaxdp.escapes import for_terminal
from jaxdp.program.errors import InputError
from jaxdp.tables.formulas import opens_as_formula


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Return lines as the text of a CSV file.

    Raises:
        InputError: a text would run as a formula in a spreadsheet.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for line in lines:
        for cell in line:
            if isinstance(cell, str) and opens_as_formula(cell):
                raise InputError(
                    f"{cell!a} would run as a formula in a spreadsheet, so it is written into "
                    "no CSV file: give that class or file another name"
                )
        writer.writerow([for_terminal(cell) if isinstance(cell, str) else cell for cell in line])
    return text.getvalue()


def csv_path(path: str) -> str:
    """Return a path as a CSV file can have it: one that begins as a formula begins with ./."""
    return f"./{path}" if opens_as_formula(path) else path
