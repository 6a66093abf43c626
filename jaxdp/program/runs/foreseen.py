"""What is foreseen of a table's schema before a run: what was bought before, or what is likely.

Whoever asks what a run will give gets the facts that the run will have, as far as they are public:
an earlier purchase is used again, as a run does, and in the place of what is still to be bought
stands what is common, and nothing of the table.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from jaxdp.data import Spec, TableCodec
from jaxdp.program.data.load import AsIfComplete
from jaxdp.program.runs import schema_purchase
from jaxdp.tables.bought import BOUNDS, CATEGORIES, NULLABLE
from jaxdp.tables.columns import NUMERIC, Column, SchemaError
from jaxdp.tables.open_schema import OpenSchema
from jaxdp.tables.raw import RawRecords
from jaxdp.tables.schema import Schema

# The median of the categories of a column, over those of measured tables that have more than two.
_CATEGORIES = tuple(f"?{number}" for number in range(6))
_RANGE = 1000  # of whole numbers


class Foreseen(AsIfComplete):
    """Completes a schema as a run will, without a purchase.

    Attributes:
        opened: the schema, once a table was read by it.
        is_bought: whether an earlier purchase has completed it.
    """

    def __init__(self, bought: Path | None) -> None:
        """Nothing is read yet.

        Args:
            bought: file of an earlier purchase, which may be missing; None where there is no table.
        """
        self._file = bought
        self.opened: OpenSchema | None = None
        self.is_bought = False

    def wants(self, opened: OpenSchema) -> bool:
        """Whether anything is open that a run would buy, or has bought."""
        self.opened = opened
        if opened.stored.get("bought") is not None:
            return False
        is_there = self._file is not None and self._file.exists()
        return opened.must_be_bought or (is_there and bool(opened.open))

    def complete(self, opened: OpenSchema, records: RawRecords | None = None) -> Schema:
        """Return the schema of an earlier purchase, or one with what stands for open facts.

        Raises:
            InputError: the purchase is of another schema, which a run would refuse.
        """
        if self._file is not None and self._file.exists():
            found = schema_purchase.earlier(self._file, opened)
            self.is_bought = True
            return found
        return super().complete(opened, records)

    def likely(self, spec: Spec) -> Spec:
        """Return facts about the data in which columns are as large as is common where it is open.

        Args:
            spec: by a schema that `complete` has returned.
        """
        if self.opened is None or self.is_bought or spec.schema is None:
            return spec
        return with_schema(spec, _likely(self.opened, spec.schema))

    def line(self, said: str) -> str:
        """Return a line on the data without the names that stand for classes which are open.

        Args:
            said: as `terminal.in_a_line` returns it.
        """
        target = None if self.opened is None else self.opened.schema.target
        if self.opened is None or self.is_bought or target is None:
            return said
        if CATEGORIES not in self.opened.open.get(target.name, ()):
            return said
        return said.replace("2 classes (?, ??)", f"classes of {target.name}, which are bought", 1)


def with_schema(spec: Spec, schema: Schema) -> Spec:
    """Return facts about a table by another schema of the same columns."""
    assert isinstance(spec.codec, TableCodec)
    form = spec.codec.layout.form
    return dataclasses.replace(
        Spec.table(spec.name, schema, spec.num_examples, form=form),
        records_per_person=spec.records_per_person,
        persons_declared=spec.persons_declared,
    )


def _likely(opened: OpenSchema, schema: Schema) -> Schema:
    columns = tuple(_likely_column(each, opened.open.get(each.name, ())) for each in schema.columns)
    try:
        return dataclasses.replace(schema, columns=columns)
    except SchemaError:  # a rule binds columns to each other
        return schema


def _likely_column(column: Column, facts: tuple[str, ...]) -> Column:
    changed: dict[str, object] = {}
    if BOUNDS in facts and column.type == NUMERIC and column.is_whole:
        changed["upper"] = int(column.bounds[0]) + _RANGE
    if CATEGORIES in facts:
        changed |= {"categories": _CATEGORIES, "other": False}
    if NULLABLE in facts:
        changed["nullable"] = False
    return dataclasses.replace(column, **changed)  # type: ignore[arg-type]
