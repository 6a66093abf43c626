"""Records of tables: brought into their schema chunk by chunk, and split to train and to test."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jaxdp.escapes import one_line
from jaxdp.program.data import headers, table_files
from jaxdp.program.data.persons import held_out_persons
from jaxdp.program.data.splits import TEST_FRACTION
from jaxdp.program.data.table_files import Source
from jaxdp.program.errors import InputError
from jaxdp.tables import cells, frames, raw, unlike
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.open_schema import OpenSchema
from jaxdp.tables.schema import Schema, read_schema, read_stored

if TYPE_CHECKING:
    import pandas as pd

Part = TypeVar("Part")
_TOO_FEW = "two records are needed, one of them to test on"
_NOTHING: Mapping[str, bool] = {}


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
    if fault is not None and not table_files.is_parquet(source):
        raise source.error(fault)
    parts, whose = [], []
    declared = frozenset((*schema.order, *schema.dropped))
    for frame in table_files.frames(source, schema.csv, declared):
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
    try:
        persons = cells.texts(frame.iloc[:, names.index(column)])
    except SchemaError as error:
        raise source.error(f"--person_column={column}: {error}") from error
    missing = cells.missing_texts(schema)
    persons[[person in missing for person in persons]] = ""
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
    declared = frozenset((*schema.order, *schema.dropped))
    for frame in table_files.frames(source, schema.csv, declared):
        names = [str(name).strip() for name in frame.columns]
        known = frame.loc[:, [name in declared for name in names]]
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
