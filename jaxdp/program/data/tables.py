"""Tables from files: CSV or Parquet, read in chunks and brought into their schema at once."""

from __future__ import annotations

import collections
import contextlib
import csv
import dataclasses
import functools
import gzip
import json
import math
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jaxdp.escapes import one_line
from jaxdp.program.data import dialects, headers
from jaxdp.program.data.outside_files import user_path
from jaxdp.program.data.persons import held_out_persons
from jaxdp.program.data.plain_text import NulError, PlainText
from jaxdp.program.data.splits import TEST_FRACTION
from jaxdp.program.errors import InputError
from jaxdp.saved.files import open_plain
from jaxdp.tables import cells, frames, raw, unlike
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.dialects import PLAIN, Dialect
from jaxdp.tables.open_schema import OpenSchema
from jaxdp.tables.schema import Schema, read_schema, read_stored

if TYPE_CHECKING:
    import pandas as pd

Part = TypeVar("Part")
_CHUNK = 200_000
_PARQUET = (".parquet", ".pq")
# Of a file that is looked through, at a time.
_PIECE = 2**18
_LONGEST = 2**31 - 1
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LINE = re.compile(r"(line|row) \d+")
_TOO_FEW = "two records are needed, one of them to test on"
_NOTHING: Mapping[str, bool] = {}


@dataclasses.dataclass(frozen=True)
class Source:
    """A file of a table, and the flag that names it.

    Attributes:
        flag: without dashes; empty where the path stands by itself.
        path: as given.
    """

    flag: str
    path: str

    def error(self, what: str) -> InputError:
        """Return the one-line error about the file."""
        return InputError(self.named(what))

    def named(self, what: str) -> str:
        """Return what is said of the file, after its name."""
        return f"{f'--{self.flag}=' if self.flag else ''}{self.path}: {what}"


def schema_of(
    text: str | None, target: str | None = None, told: Mapping[str, bool] = _NOTHING
) -> Schema:
    """Return the schema that a flag names.

    Args:
        text: of the flag.
        target: column of classes; None for the one that the schema marks.
        told: of CSV files, as `dialects.told` returns it.

    Raises:
        InputError: there is none.
    """
    if not text:
        raise InputError(
            "--schema: say what the table's columns are, as --schema=FILE.json or by the name of a "
            "built-in schema; `jaxdp schema --csv=FILE` begins one"
        )
    try:
        schema = read_schema(text, target=target)
    except SchemaError as error:
        raise InputError(f"--schema={error}") from error
    return dataclasses.replace(schema, csv=schema.csv.but(told))


def open_schema_of(
    text: str, target: str | None = None, told: Mapping[str, bool] = _NOTHING
) -> OpenSchema:
    """Return the schema that a flag names, of which facts may be open; as `schema_of`."""
    from_json = functools.partial(OpenSchema.from_json, target=target)
    try:
        found = read_stored(text, from_json)
    except SchemaError as error:
        raise InputError(f"--schema={error}") from error
    return found.with_csv(told) if told else found


class RawSplit(NamedTuple):
    """Records of a table as they were read.

    Attributes:
        records: columns by name.
        persons: as for `Split`.
        names: likewise.
    """

    records: raw.RawRecords
    persons: np.ndarray | None = None
    names: np.ndarray | None = None

    def part(self, chosen: np.ndarray) -> RawSplit:
        """Return those records that are chosen."""
        whose = None if self.persons is None else self.persons[chosen]
        names = None if self.names is None else self.names[chosen]
        return RawSplit(raw.part(self.records, chosen), whose, names)

    def encoded(self, schema: Schema) -> Split:
        """Return the records as stored by a schema."""
        return Split(*raw.encode(self.records, schema), self.persons, self.names)


class Split(NamedTuple):
    """Records of a table.

    Attributes:
        x: (n, columns) as stored.
        y: (n,) labels.
        persons: (n,) names of whom they are of; None where nothing tells.
        names: (n,) that tell records apart where persons choose which are there.
    """

    x: np.ndarray
    y: np.ndarray
    persons: np.ndarray | None = None
    names: np.ndarray | None = None

    def part(self, chosen: np.ndarray) -> Split:
        """Return those records that are chosen."""
        whose = None if self.persons is None else self.persons[chosen]
        names = None if self.names is None else self.names[chosen]
        return Split(self.x[chosen], self.y[chosen], whose, names)


def read_table(source: Source, schema: Schema, person_column: str | None = None) -> Split:
    """Return the records of a file.

    Args:
        source: the file.
        schema: its columns.
        person_column: that tells whose a record is; the schema need not have it.

    Raises:
        InputError: it cannot be read, or does not hold what the schema declares.
    """
    parts, persons = _read(source, schema, person_column, frames.encode)
    if not sum(len(y) for _, y in parts):
        raise source.error("holds no records")
    x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Split(x, y, persons, _names(persons))


def read_raw_table(source: Source, schema: Schema, person_column: str | None = None) -> RawSplit:
    """Return the records of a file as they are, by the types and formats of a schema.

    Raises:
        InputError: as `read_table`.
    """
    parts, persons = _read(source, schema, person_column, raw.read)
    if not sum(map(raw.length, parts)):
        raise source.error("holds no records")
    return RawSplit(raw.joined(parts), persons, _names(persons))


def require_readable(source: Source, schema: Schema, *, least: int) -> None:
    """Read a file as `read_raw_table` does, and keep nothing: before a schema of it is written.

    Args:
        source: the file.
        schema: of which types and formats count.
        least: number of records that it has to have.

    Raises:
        InputError: as `read_raw_table`, or there are fewer records.
    """
    lengths, _ = _read(source, schema, None, lambda *each: raw.length(raw.read(*each)))
    if sum(lengths) < least:
        raise source.error(_TOO_FEW)


def _names(persons: np.ndarray | None) -> np.ndarray | None:
    """Return what tells records apart where persons choose which are there."""
    return None if persons is None else np.arange(len(persons)).astype(str)


def _read(
    source: Source,
    schema: Schema,
    person_column: str | None,
    read: Callable[[pd.DataFrame, Schema], Part],
) -> tuple[list[Part], np.ndarray | None]:
    """Return what is read of each chunk of a file, and whose each record is."""
    fault = None if schema.csv.header is not None else headers.fault_of_schema(schema)
    if fault is not None and not _is_parquet(source):
        raise source.error(fault)
    parts, whose = [], []
    for frame in _frames(source, schema.csv, frozenset((*schema.order, *schema.dropped))):
        if person_column is not None:
            frame, persons = _without_persons(source, frame, schema, person_column)
            whose.append(persons)
        try:
            parts.append(read(frame, schema))
        except SchemaError as error:
            raise source.error(str(error)) from error
    return parts, np.concatenate(whose) if whose else None


def _without_persons(
    source: Source, frame: pd.DataFrame, schema: Schema, column: str
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a frame without the column of persons, where the schema does not know it, and that."""
    names = [str(name).strip() for name in frame.columns]
    if column not in names:
        raise source.error(f"has no column {column!r}, which --person_column names")
    if schema.target is not None and column == schema.target.name:
        raise source.error(f"--person_column={column} names the target; a person is none")
    persons = cells.texts(frame.iloc[:, names.index(column)])
    persons[[person in schema.missing for person in persons]] = ""
    if column not in (*schema.order, *schema.dropped):
        frame = frame.loc[:, [name != column for name in names]]
    return frame, persons


def read_records(source: Source, schema: Schema) -> np.ndarray:
    """Return the records (n, columns) of a file as stored, without labels.

    Columns that the schema does not know are left aside: new records have names and numbers of
    their own. The target may be missing, and is not looked at.

    Raises:
        InputError: it cannot be read, or lacks a column of the schema.
    """
    parts, strange = [], collections.Counter[str]()
    for frame in _frames(source, schema.csv, frozenset((*schema.order, *schema.dropped))):
        names = [str(name).strip() for name in frame.columns]
        known = frame.loc[:, [name in (*schema.order, *schema.dropped) for name in names]]
        try:
            parts.append(frames.records(known, schema))
            strange += unlike.counts(known, schema)
        except SchemaError as error:
            raise source.error(str(error)) from error
    count = sum(map(len, parts))
    if not count:
        raise source.error("holds no records")
    for line in unlike.lines(strange, schema, count):
        print(f"WARNING: {one_line(source.named(line))}", file=sys.stderr)
    return np.concatenate(parts)


def read_splits(flags: Any, schema: Schema, *, seed: int) -> tuple[Split, Split]:
    """Return the training and the test records that flags name.

    Test records come from `--test_csv`, or are held out by a public seed.

    Raises:
        InputError: a file cannot be read, or does not hold what the schema declares.

    Guarantee:
        Which records are held out depends on their number and their places alone, or on the names
        of persons alone.
    """
    _require_one_test_set(flags)
    table = read_table(Source("csv", flags.csv), schema, flags.person_column)
    if flags.test_csv is not None:
        source = Source("test_csv", flags.test_csv)
        return table, read_table(source, schema, flags.person_column)
    test = _held_out(flags, len(table.x), table.persons, seed=seed)
    return table.part(~test), table.part(test)


def read_raw_splits(flags: Any, schema: Schema, *, seed: int) -> tuple[RawSplit, RawSplit]:
    """Return the training and the test records that flags name, as they are.

    Raises:
        InputError: as `read_splits`.

    Guarantee:
        As `read_splits`.
    """
    _require_one_test_set(flags)
    table = read_raw_table(Source("csv", flags.csv), schema, flags.person_column)
    if flags.test_csv is not None:
        source = Source("test_csv", flags.test_csv)
        return table, read_raw_table(source, schema, flags.person_column)
    test = _held_out(flags, raw.length(table.records), table.persons, seed=seed)
    return table.part(~test), table.part(test)


def _require_one_test_set(flags: Any) -> None:
    if flags.test_csv is not None and flags.test_fraction is not None:
        raise InputError(f"--test_fraction={flags.test_fraction}: --test_csv has the test data")


def _held_out(flags: Any, num: int, persons: np.ndarray | None, *, seed: int) -> np.ndarray:
    """Return which records are held out."""
    if num < 2:
        raise Source("csv", flags.csv).error(_TOO_FEW)
    fraction = flags.test_fraction or TEST_FRACTION
    if persons is None:
        return held_out(num, fraction, seed=seed)
    return held_out_persons(persons, fraction, seed=seed)


def held_out(num: int, fraction: float, *, seed: int) -> np.ndarray:
    """Return which of `num` places are held out: those with the smallest random numbers."""
    # A stream of its own: tables are often simulated with `default_rng(0)`.
    stream = np.random.SeedSequence(seed).spawn(3)[2]
    numbers = np.random.default_rng(stream).random(num)
    chosen = np.zeros(num, bool)
    chosen[np.argsort(numbers, kind="stable")[: min(math.ceil(fraction * num), num - 1)]] = True
    return chosen


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
    with _reading(source, "any encoding that is known"):
        dialect = PLAIN if _is_parquet(source) else _dialect(source)
    dialect = dialect.but(dialects.told(no_header, line_breaks))
    first = next(_frames(source, dialect, frozenset()), None)
    if first is None or not len(first):
        raise source.error("holds no records")
    found = first.head(rows)
    if dialect.header is None and not _is_parquet(source):
        fault = headers.fault_of_table(list(found.columns), found)
        if fault is not None:
            raise source.error(fault)
    return found, dialect


def _is_parquet(source: Source) -> bool:
    return Path(source.path).suffix.lower() in _PARQUET


def _dialect(source: Source) -> Dialect:
    """Return the dialect that a CSV file is written in."""
    path = user_path(source.path, source.flag)
    with _opened_bytes(path) as file:
        encoding = dialects.encoding_of(iter(lambda: file.read(_PIECE), b""))
    with _opened(path, encoding) as text:
        return dialects.dialect_of(text.read(_PIECE), encoding)


def _frames(source: Source, dialect: Dialect, declared: frozenset[str]) -> Iterator[pd.DataFrame]:
    """Yield the table in chunks, of texts where the file holds texts."""
    path = user_path(source.path, source.flag)
    with _reading(source, dialect.encoding):
        if _is_parquet(source):
            yield from _parquet(path, source, declared)
        else:
            yield from _csv(path, source, dialect, declared)


@contextlib.contextmanager
def _reading(source: Source, encoding: str) -> Iterator[None]:
    """Tell in one line what keeps a file from being read."""
    try:
        yield
    except FileNotFoundError as error:
        raise source.error("there is no such file") from error
    except NulError as error:
        # Pandas may take it for the end of a field, and what stands behind it is then unchecked.
        raise source.error(
            f"line {error.line} holds a NUL (a byte 0), which no text does: take it out. Where all "
            'lines do, say how the file is written, as "csv": {"encoding": "utf-16"} in the schema'
        ) from error
    except UnicodeError as error:
        raise source.error(
            f"is not {encoding.upper()} text: save it so, or say in the schema how it is written, "
            'as "csv": {"encoding": "latin-1"}'
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
        raise source.error(fault)


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
                f"is separated by {what}: say so in the schema, as "
                f'"csv": {{"separator": {json.dumps(mark)}, "decimal": ","}}'
            )
    if dialect.header is False:
        return
    fault = headers.without_names(names) or headers.twice(names, declared)
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
