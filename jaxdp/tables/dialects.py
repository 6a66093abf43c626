"""How a CSV file is written: its separator, its decimal mark, its encoding and its quotes."""

import csv
import dataclasses
from collections.abc import Mapping
from typing import Any

SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
QUOTINGS = ("minimal", "all")
ENCODINGS = ("utf-8", "utf-16", "latin-1", "iso-8859-15", "cp1252", "cp1250", "cp1251", "mac-roman")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dialect:
    """The dialect of a CSV file.

    Attributes:
        separator: of the fields of a line.
        decimal: the decimal mark of numeric columns that name none.
        encoding: of its bytes.
        quoting: whether "all" fields have quotes where the file is written, or those that need
            them ("minimal"); both are read.
        header: whether the first line names the columns; None where nobody has said so, and names
            that look like a record are refused.
        line_breaks: whether fields in quotes may hold line breaks; else such a field is refused, as
            two stray quotes make one of all lines between them.

    Raises:
        ValueError: it is of no CSV file.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    quoting: str = "minimal"
    header: bool | None = None
    line_breaks: bool = False

    def __post_init__(self) -> None:
        for name, known in (
            ("separator", SEPARATORS),
            ("decimal", DECIMALS),
            ("encoding", ENCODINGS),
            ("quoting", QUOTINGS),
            ("header", (None, True, False)),
            ("line_breaks", (True, False)),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f'"{name}" must be one of {", ".join(map(repr, known))}')

    def but(self, told: Mapping[str, bool]) -> "Dialect":
        """Return the same with some fields as they are told."""
        return Dialect(**{**dataclasses.asdict(self), **told})

    @property
    def python_quoting(self) -> int:
        """The quoting as the module `csv` has it."""
        return csv.QUOTE_ALL if self.quoting == "all" else csv.QUOTE_MINIMAL

    def for_pandas(self) -> dict[str, Any]:
        """Return the options with which `pandas.read_csv` reads such a file."""
        options = {"sep": self.separator, "decimal": self.decimal, "encoding": self.encoding}
        plain = {"sep": ",", "decimal": ".", "encoding": "utf-8"}
        found: dict[str, Any] = {k: v for k, v in options.items() if v != plain[k]}
        return found | ({"header": None} if self.header is False else {})

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text; a mark that the encoding lacks becomes a question mark."""
        return text.encode(self.encoding, errors="replace")

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file says of it."""
        fields = dataclasses.asdict(self)
        default = dataclasses.asdict(PLAIN)
        return {key: value for key, value in fields.items() if value != default[key]}


PLAIN = Dialect()
"""Commas, decimal points and UTF-8."""
