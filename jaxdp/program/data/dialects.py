"""The dialect of a CSV file: what its bytes and flags tell of it, and what it does not allow.

Bytes are asked for the draft of a schema alone.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxdp.tables.dialects import PLAIN, SEPARATORS, Dialect

if TYPE_CHECKING:
    import pandas as pd

BREAKS = (
    '. Where fields do hold line breaks, say --line_breaks, or "csv": {"line_breaks": true} in the '
    "schema"
)
"""What may be declared where `fault_of_breaks` finds something."""
_LINES = 50
_DECIMAL_COMMA, _DECIMAL_POINT = re.compile(r"[-+]?\d+,\d+"), re.compile(r"[-+]?\d+\.\d+")
# Bytes that are letters and signs in cp1252 and nothing that is seen in latin-1.
_OF_WINDOWS = re.compile(rb"[\x80-\x9f]")


def encoding_of(chunks: Iterable[bytes]) -> str:
    """Return the encoding of a text: UTF-8 where it is that, UTF-16 where it says so."""
    decoder, is_utf8, is_windows, first = codecs.getincrementaldecoder("utf-8")(), True, False, True
    for chunk in chunks:
        if first and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        first = False
        is_windows = is_windows or _OF_WINDOWS.search(chunk) is not None
        try:
            is_utf8 = is_utf8 and decoder.decode(chunk) is not None
        except UnicodeDecodeError:
            is_utf8 = False
    try:
        is_utf8 = is_utf8 and decoder.decode(b"", final=True) is not None
    except UnicodeDecodeError:
        is_utf8 = False
    if is_utf8:
        return PLAIN.encoding
    return "cp1252" if is_windows else "latin-1"


def dialect_of(text: str, encoding: str) -> Dialect:
    """Return the dialect of a file.

    Args:
        text: its first lines.
        encoding: as found.
    """
    rows = {mark: _rows(text, mark) for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: _evenness(rows[mark]))
    fields = [field.strip() for row in rows[separator][1:] for field in row]
    commas = sum(_DECIMAL_COMMA.fullmatch(field) is not None for field in fields)
    points = sum(_DECIMAL_POINT.fullmatch(field) is not None for field in fields)
    return Dialect(
        separator=separator,
        decimal="," if separator != "," and commas > points else ".",
        encoding=encoding,
        quoting="all" if _is_all_quoted(text, rows[separator], separator) else "minimal",
    )


def told(no_header: bool | None, line_breaks: bool | None) -> dict[str, bool]:
    """Return what flags say of CSV files, as fields of `Dialect`; None where a schema says it."""
    header = None if no_header is None else not no_header
    said = {"header": header, "line_breaks": line_breaks}
    return {field: value for field, value in said.items() if value is not None}


def fault_of_breaks(records: pd.DataFrame, num_before: int) -> str | None:
    """Return which of some records is of several lines; None where none is.

    A record has a line break in quotes, or is one line. What stands there is private.

    Args:
        records: of a file, as texts.
        num_before: records in the file before them; -1 where they are its first line.
    """
    found = []
    for place in range(records.shape[1]):
        for mark in "\n\r":
            has = records.iloc[:, place].str.contains(mark, regex=False).to_numpy(bool)
            found += [int(has.argmax())] if has.any() else []
    if not found:
        return None
    number = num_before + min(found) + 1
    return (
        f"{f'record {number}' if number else 'the first line'} has a line break in quotes, as two "
        "stray quotes make one record of all lines between them: take stray quotes out"
    )


def _rows(text: str, mark: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text), delimiter=mark, skipinitialspace=True)
    try:
        found = [row for row, _ in zip(reader, range(_LINES), strict=False) if row]
    except csv.Error:
        return []
    return found[:-1] if len(found) > 2 else found  # the last may be cut


def _evenness(rows: list[list[str]]) -> tuple[bool, int]:
    """Return whether all lines have equally many fields, several, and how many the first has."""
    if not rows:
        return False, 0
    width = len(rows[0])
    return width > 1 and all(len(row) == width for row in rows), width


def _is_all_quoted(text: str, rows: list[list[str]], separator: str) -> bool:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(rows)
    plain = text.replace("\r\n", "\n").lstrip("\n")
    return bool(rows) and plain.startswith(written.getvalue())
