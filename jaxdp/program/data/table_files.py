"""Files of tables: CSV or Parquet, read in chunks, of texts where the file holds texts."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import gzip
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxdp.program.data import dialects, headers
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.data.plain_text import NulError, PlainText
from jaxdp.program.errors import InputError
from jaxdp.saved.files import open_plain
from jaxdp.tables.dialects import PLAIN, Dialect

if TYPE_CHECKING:
    import pandas as pd

_CHUNK = 200_000
_PARQUET = (".parquet", ".pq")
_NO_ZIP = (zipfile.BadZipFile, NotImplementedError)
# First bytes of a zip file, which new workbooks are, and of old ones.
_ZIP, _OLD_WORKBOOK = b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
# Of a file that is looked through, at a time.
_PIECE = 2**18
_LONGEST = 2**31 - 1
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LINE = re.compile(r"(line|row) \d+")
_AS_OF_THE_RUN = "; new records have to be written as the table of the run is"


@dataclasses.dataclass(frozen=True)
class Source:
    """A file of a table, and the flag that names it.

    Attributes:
        flag: without dashes; empty for new records of a run, whose path stands by itself.
        path: as given.
    """

    flag: str
    path: str

    def error(self, what: str, *, else_declare: str = "") -> InputError:
        """Return the one-line error about the file.

        Args:
            what: is wrong with it.
            else_declare: what may be declared instead; nothing can be of a run that has ended.
        """
        remedy = else_declare if self.flag or not else_declare else _AS_OF_THE_RUN
        return InputError(self.named(f"{what}{remedy}"))

    def named(self, what: str) -> str:
        """Return what is said of the file, after its name."""
        return f"{f'--{self.flag}=' if self.flag else ''}{self.path}: {what}"


def header(
    source: Source, *, rows: int, no_header: bool | None = None, line_breaks: bool | None = None
) -> tuple[pd.DataFrame, Dialect]:
    """Return the first records of a file, and its dialect.

    Args:
        source: the file.
        rows: how many records.
        no_header: whether it has no header; None where that is to be found out.
        line_breaks: whether fields may hold line breaks; None for no.

    Raises:
        InputError: it cannot be read, or has no header although nobody said so.
    """
    with _reading(source, None):
        dialect = PLAIN if is_parquet(source) else _dialect(source)
    dialect = dialect.but(dialects.told(no_header, line_breaks))
    first = next(frames(source, dialect, frozenset()), None)
    if first is None or not len(first):
        raise source.error("holds no records")
    found = first.head(rows)
    if dialect.header is None and not is_parquet(source):
        fault = headers.fault_of_table(list(found.columns), found)
        if fault is not None:
            raise source.error(fault)
    return found, dialect


def is_parquet(source: Source) -> bool:
    """Return whether a file is named as Parquet is."""
    return Path(source.path).suffix.lower() in _PARQUET


def _dialect(source: Source) -> Dialect:
    """Return the dialect that a CSV file is written in."""
    path = user_path(source.path, source.flag)
    _require_no_workbook(path, source)
    with _opened_bytes(path) as file:
        encoding = dialects.encoding_of(iter(lambda: file.read(_PIECE), b""))
    with _opened(path, encoding) as text:
        return dialects.dialect_of(text.read(_PIECE), encoding)


def frames(source: Source, dialect: Dialect, declared: frozenset[str]) -> Iterator[pd.DataFrame]:
    """Yield the table in chunks, of texts where the file holds texts.

    Args:
        source: the file.
        dialect: that it is written in; of CSV alone.
        declared: names of the columns that a schema knows.

    Raises:
        InputError: it cannot be read, or is no table.
    """
    path = user_path(source.path, source.flag)
    with _reading(source, dialect.encoding):
        if is_parquet(source):
            yield from _parquet(path, source, declared)
        else:
            _require_no_workbook(path, source)
            yield from _csv(path, source, dialect, declared)


@contextlib.contextmanager
def _reading(source: Source, encoding: str | None) -> Iterator[None]:
    """Tell in one line what keeps a file from being read.

    Args:
        source: the file.
        encoding: that is declared; None where it is to be found out.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise source.error("there is no such file") from error
    except NulError as error:
        # Pandas may take it for the end of a field, and what stands behind it is then unchecked.
        raise source.error(
            f"line {error.line} holds a NUL (a byte 0), which no text does: take it out",
            else_declare=". Where all lines do, say how the file is written, as "
            '"csv": {"encoding": "utf-16"} in the schema',
        ) from error
    except UnicodeError as error:
        is_not = "text in no encoding that is tried: save it as UTF-8"
        if encoding is not None:
            is_not = f"not {encoding.upper()} text: save it so"
        raise source.error(
            f"is {is_not}",
            else_declare=', or say in the schema how it is written, as "csv": {"encoding": '
            '"latin-1"}',
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise source.error(f"cannot be read ({reason})") from error


def _csv(
    path: Path, source: Source, dialect: Dialect, declared: frozenset[str]
) -> Iterator[pd.DataFrame]:
    import pandas as pd
    from pandas.errors import EmptyDataError, ParserError, ParserWarning

    options: dict[str, Any] = {
        "dtype": str,
        "na_filter": False,
        "skipinitialspace": True,
        "index_col": False,
        "sep": dialect.separator,
    }
    try:
        with _opened(path, dialect.encoding) as file:
            first = pd.read_csv(file, header=None, nrows=1, **options)
        _require_one_line_each(source, first, dialect, -1)
        names = [str(name).strip() for name in first.iloc[0]]
        _require_columns(names, source, dialect, declared)
        if len(names) == 1:
            # A missing value is a blank line there. Were it skipped, the records after it would
            # have other places, and others of them would be held out.
            options["skip_blank_lines"] = False
            _require_first_line(path, source, dialect)
        if dialect.header is False:
            names = headers.public_names(len(names))
            options |= {"header": None, "names": names}  # or a blank first line would have none
        is_checked, num_read = len(names) == 1, 0
        with warnings.catch_warnings(), _opened(path, dialect.encoding) as file:
            warnings.simplefilter("error", ParserWarning)
            for chunk in pd.read_csv(file, chunksize=_CHUNK, **options):
                chunk.columns = names
                _require_one_line_each(source, chunk, dialect, num_read)
                num_read += len(chunk)
                if not is_checked and (chunk.iloc[:, -1] == "").any():
                    _require_whole_lines(path, dialect, len(names), source)
                    is_checked = True
                yield chunk
    except EmptyDataError as error:
        raise source.error("is empty: it needs a header and records") from error
    except ParserWarning as error:
        raise source.error("has lines with more fields than its header") from error
    except (ParserError, csv.Error) as error:
        # Where it is, and no more: what stands there is private.
        place = _LINE.search(str(error))
        where = f" ({place[0]})" if place else ""
        raise source.error(
            f"is not a table with {_SEPARATORS[dialect.separator]}{where}: every line needs as "
            "many fields as the header, and fields with such marks need quotes"
        ) from error


@contextlib.contextmanager
def _opened_bytes(path: Path) -> Iterator[Any]:
    """Open a file, which may be compressed by gzip; no pipe, which can be read but once."""
    with open_plain(path) as held:
        yield gzip.GzipFile(fileobj=held) if path.suffix.lower() == ".gz" else held


@contextlib.contextmanager
def _opened(path: Path, encoding: str) -> Iterator[PlainText]:
    """Open a text."""
    with _opened_bytes(path) as plain:
        marked = "utf-8-sig" if encoding == PLAIN.encoding else encoding
        with PlainText(plain, encoding=marked, newline="") as file:
            yield file


def _require_no_workbook(path: Path, source: Source) -> None:
    """Raise an error for a file of a spreadsheet, by its first bytes and what its zip file holds.

    Guarantee:
        What is said is the same whatever stands in its cells.
    """
    with _opened_bytes(path) as file:
        start, what = file.read(len(_OLD_WORKBOOK)), None
        if start == _OLD_WORKBOOK:
            what = "an Excel workbook of the old kind"
        elif start.startswith(_ZIP):
            file.seek(0)
            with contextlib.suppress(*_NO_ZIP), zipfile.ZipFile(file) as parts:
                names = parts.namelist()
                is_excel = any(name.startswith("xl/") for name in names)
                open_document = "an OpenDocument sheet" if "content.xml" in names else None
                what = "an Excel workbook" if is_excel else open_document
    if what is not None:
        raise source.error(f"is {what}, and no CSV file: open it there, and save its sheet as CSV")


def _require_first_line(path: Path, source: Source, dialect: Dialect) -> None:
    """Raise an error where a table of one column begins with a blank line, and not with a name."""
    with _opened(path, dialect.encoding) as file:
        if dialect.header is not False and not file.readline().strip():
            raise source.error("begins with a blank line: its first line names the column")


def _require_whole_lines(path: Path, dialect: Dialect, num_columns: int, source: Source) -> None:
    """Raise an error where a line has too few fields: pandas takes the others as empty."""
    with _long_fields(), _opened(path, dialect.encoding) as file:
        for fields in csv.reader(file, delimiter=dialect.separator, skipinitialspace=True):
            if fields not in ([], [""]) and len(fields) < num_columns:
                raise source.error("has lines with fewer fields than its header")


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Let fields be as long as those that pandas reads."""
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _require_one_line_each(
    source: Source, records: pd.DataFrame, dialect: Dialect, num_before: int
) -> None:
    """Raise an error where a record is of several lines and nobody has said that any may be."""
    fault = None if dialect.line_breaks else dialects.fault_of_breaks(records, num_before)
    if fault is not None:
        raise source.error(fault, else_declare=dialects.BREAKS)


def _require_columns(
    names: list[str], source: Source, dialect: Dialect, declared: frozenset[str]
) -> None:
    """Raise an error for a first line that is no header, by what is public of it alone."""
    for mark, what in _SEPARATORS.items():
        # A header may hold a comma by itself, as in "income, monthly".
        if mark not in (dialect.separator, ",") and (
            sum(name.count(mark) for name in names) >= len(names)
        ):
            raise source.error(
                f"is separated by {what}",
                else_declare=": say so in the schema, as "
                f'"csv": {{"separator": {json.dumps(mark)}, "decimal": ","}}',
            )
    if dialect.header is False:
        return
    is_header = dialect.header is not None or not source.flag
    fault = headers.without_names(names) or headers.twice(names, declared, is_header=is_header)
    if fault is not None:
        raise source.error(fault)


def _parquet(path: Path, source: Source, declared: frozenset[str]) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise source.error(
            "Parquet needs the extra [tables]: pip install 'jaxdp-toolkit[tables]'"
        ) from error
    try:
        file = ParquetFile(path)
    except ArrowException as error:
        raise source.error(f"is no Parquet file ({str(error).splitlines()[0]})") from error
    with file:
        fault = headers.twice([name.strip() for name in file.schema_arrow.names], declared)
        if fault is not None:
            raise source.error(fault)
        try:
            for batch in file.iter_batches(_CHUNK):
                batch.validate(full=True)  # pandas looks at texts only when they are used
                # Else one missing whole number makes all of its column floats.
                frame = batch.to_pandas(integer_object_nulls=True)
                # What pandas has written as an index is a column like others, where it has a name.
                is_named = any(name is not None for name in frame.index.names)
                yield frame.reset_index() if is_named else frame
        except (ArrowException, ValueError, OverflowError) as error:  # they quote values
            raise source.error(
                "has a part that cannot be read: it is damaged, or holds days or texts that pandas "
                "cannot hold; write it again, or leave those columns out"
            ) from error
