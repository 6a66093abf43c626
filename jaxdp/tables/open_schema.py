"""A schema that leaves facts open: bounds, categories and what may be missing are null.

A draft is one. What is open is bought (`jaxdp.bought`), or a person fills it in. The columns are
read nevertheless, as `raw` describes: by their types and formats, which are public.
"""

import contextlib
import copy
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jaxdp.tables import bought, rule_checks, totals
from jaxdp.tables.columns import BOOLEAN, CATEGORICAL, NUM_BINS, NUMERIC, Column, SchemaError
from jaxdp.tables.layout import edges
from jaxdp.tables.moments import MOMENTS, TIME, moment_of
from jaxdp.tables.new_columns import NEW_TYPES
from jaxdp.tables.rules import Determined, Rule, Skip
from jaxdp.tables.schema import Schema

_NUMBERS = (NUMERIC, *MOMENTS)
_CLASSES = (BOOLEAN, CATEGORICAL)
# The fields of a file that hold each fact, and what they are where they are left out.
_FIELDS: dict[str, dict[str, Any]] = {
    bought.BOUNDS: {"lower": None, "upper": None},
    bought.BINS: {"bins": NUM_BINS, "spikes": None},
    bought.CATEGORIES: {"categories": None, "other": True},
    bought.NULLABLE: {"nullable": False},
}
# Bounds and categories that make a column valid until its own are there; nothing is read by them,
# but whether a class is there at all. So none is a text that can stand for a missing value.
_UNKNOWN = ["a class", "another class"]
_TWO_YEARS = 2 * 366 * 86400 * 10**6  # microseconds


@dataclasses.dataclass(frozen=True)
class OpenSchema:
    """A schema of which facts are open.

    Attributes:
        stored: as a file holds it.
        schema: the same with every open fact filled by one that means nothing.
        open: for each column the facts that are open, in the order of `bought.FACTS`.

    Examples:
        >>> import jaxdp
        >>> draft = {"columns": {"age": {"type": "numeric", "lower": None, "upper": None}}}
        >>> jaxdp.tables.OpenSchema.from_json(draft).open
        {'age': ('bounds', 'bins')}
    """

    stored: Mapping[str, Any]
    schema: Schema
    open: Mapping[str, tuple[str, ...]]

    def with_csv(self, told: Mapping[str, bool]) -> "OpenSchema":
        """Return the same for files of another dialect, as fields of `Dialect` tell it."""
        dialect = self.schema.csv.but(told)
        stored = {**self.stored, "csv": dialect.to_json()}
        return OpenSchema(stored, dataclasses.replace(self.schema, csv=dialect), self.open)

    @property
    def must_be_bought(self) -> bool:
        """Whether anything is open without which there is no schema; bins have a default."""
        return any(set(facts) - {bought.BINS} for facts in self.open.values())

    def filled_by(self, schema: Schema) -> Schema | None:
        """Return this schema with its open facts filled by an earlier purchase; None for another.

        Columns of which something is open are to be read as they were then. All else may have been
        otherwise: what is to be predicted, rules, columns that are left out, and what is declared,
        even if it was bought. Categories of a target have to be of which a purchase tells fewer
        than two.

        Args:
            schema: complete.

        Raises:
            SchemaError: what is declared now does not go with what was bought.

        Guarantee:
            It is post-processing: what was bought and what is declared are all that it looks at,
            and the ledger of the purchase stays whole.
        """
        known = {} if schema.bought is None else schema.bought.facts
        if any(set(facts) - set(known.get(name, ())) for name, facts in self.open.items()):
            return None
        targets = {*_targets(schema), *_targets(self.schema)}
        then, now = (_reading(each, self.open, targets) for each in (schema, self.schema))
        if schema.bought is None or then != now:
            return None
        filled = {name: self._bought_of(schema, name, facts) for name, facts in self.open.items()}
        own = schema.bought
        for fact in bought.FACTS:
            own = own.without(fact, [name for name in known if fact not in self.open.get(name, ())])
        stored = completed(self.stored, filled) | {"bought": own.to_json()}
        return Schema.from_json(stored)

    def _bought_of(self, schema: Schema, name: str, facts: Sequence[str]) -> dict[str, Any]:
        """Return the fields of a column that an earlier purchase has."""
        (before,) = (column for column in schema.declared if column.name == name)
        (now,) = (column for column in self.schema.declared if column.name == name)
        stored = before.to_json()
        found = {
            field: stored.get(field, default)
            for fact in facts
            for field, default in _FIELDS[fact].items()
            if field in stored or default is not None
        }
        if bought.BINS in facts and bought.BOUNDS not in facts and now.bounds != before.bounds:
            found.pop("spikes", None)
            found |= _between(before, *now.bounds)
        return found

    @classmethod
    def from_json(cls, stored: Any, *, target: str | None = None) -> "OpenSchema":
        """Return what a file holds.

        Args:
            stored: its content.
            target: as for `Schema.from_json`.

        Raises:
            SchemaError: it holds something that is neither a fact nor open.
        """
        if not isinstance(stored, Mapping) or not isinstance(stored.get("columns"), Mapping):
            raise SchemaError('a schema is {"columns": {name: {"type": ...}, ...}}')
        # One by one: in Python one object may stand for several columns.
        columns = {str(name): copy.deepcopy(facts) for name, facts in stored["columns"].items()}
        if target is not None:
            stored = {**stored, "columns": _with_target(columns, target)}
            columns = copy.deepcopy(stored["columns"])
        filled = {**stored, "columns": columns}
        rules, _ = rule_checks.read(stored.get("rules", []))
        computed = totals.names(rules)
        found: dict[str, tuple[str, ...]] = {}
        for name, facts in columns.items():
            if isinstance(facts, dict) and not facts.get("drop") and name not in computed:
                if facts.get("nullable", 0) is None and _is_missing_by(rules, name):
                    facts["nullable"] = True
                which = _open(facts, _is_skipped(name, rules))
                _fill(facts, which)
                found |= {str(name): which} if which else {}
        schema = Schema.from_json(filled, target=target, unknown=found)
        of_classes = schema.target
        if of_classes is not None and bought.CATEGORIES in found.get(of_classes.name, ()):
            # Whatever stands there is of a class, once classes are bought.
            schema = dataclasses.replace(schema, target=dataclasses.replace(of_classes, other=True))
        return cls(stored, schema, found)


def _between(column: Column, low: float, high: float) -> dict[str, Any]:
    """Return the bins and spikes of a column that lie between other bounds."""
    ends = edges(column)
    spikes = column.numbers_of_spikes
    inner = [float(edge) for edge in ends if low < edge < high + column.is_whole]
    kept = [column.as_json(edge) for edge in inner if edge not in column.edges_of_spikes]
    own = [column.as_json(spike) for spike in spikes if low <= spike <= high]
    return {"bins": kept or 1} | ({"spikes": own} if own else {})


def _reading(schema: Schema, names: Collection[str], targets: Collection[str]) -> dict[str, Any]:
    """Return as JSON what decides how some columns are read, and so what was bought of them."""
    stored = schema.to_json()
    columns = {name: stored["columns"].get(name, {}) for name in names}
    for name, facts in columns.items():
        for field in ("target", *(each for fields in _FIELDS.values() for each in fields)):
            facts.pop(field, None)
        if name in targets:
            # A boolean is a category of two that are known, and classes name some of them.
            for field in ("classes", *(["type"] if facts.get("type") in _CLASSES else [])):
                facts.pop(field, None)
    # What may be read says nothing of what was bought.
    dialect = dataclasses.replace(schema.csv, line_breaks=False).to_json()
    return {"columns": columns, "missing": stored["missing"], "csv": dialect}


def _with_target(columns: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Return columns of which one is the target, whichever a file marks."""
    return {
        name: {k: v for k, v in facts.items() if k != "target"}
        | ({"target": True} if name == target else {})
        if isinstance(facts, dict)
        else facts
        for name, facts in columns.items()
    }


def _is_skipped(name: str, rules: Sequence[Rule]) -> bool:
    """Whether a rule says when a column is missing."""
    return any(isinstance(rule, Skip) and rule.column == name for rule in rules)


def _is_missing_by(rules: Sequence[Rule], name: str) -> bool:
    """Whether a rule speaks of missing values of a column, so that there may be some."""
    conditions = [each for rule in rules if isinstance(rule, Skip) for each in rule.unless]
    maps = [rule.map for rule in rules if isinstance(rule, Determined) and rule.column == name]
    return any(own == name and None in values for own, values in conditions) or any(
        value is None for each in maps for _, value in each
    )


def _open(facts: Mapping[str, Any], is_skipped: bool) -> tuple[str, ...]:
    """Return which facts of a column are open; a class cannot be missing, a skipped column can."""
    kind, found = facts.get("type"), []
    if kind in NEW_TYPES:
        return ()
    if kind in _NUMBERS:
        if kind != TIME and (facts.get("lower"), facts.get("upper")) == (None, None):
            found.append(bought.BOUNDS)
        if facts.get("bins") is None and not facts.get("log"):
            found.append(bought.BINS)
    elif kind == CATEGORICAL and facts.get("categories") is None:
        # Of ordinal columns nobody can buy the order: the error is that of a schema.
        found.append(bought.CATEGORIES)
    is_class = facts.get("target") is True and kind not in _NUMBERS
    is_known = is_class or is_skipped
    if "nullable" in facts and facts["nullable"] is None and not is_known:
        found.append(bought.NULLABLE)
    return tuple(found)


def _fill(facts: dict[str, Any], which: tuple[str, ...]) -> None:
    """Fill what is open with what means nothing."""
    if bought.BOUNDS in which and facts["type"] == NUMERIC:
        declared = facts.get("spikes")
        known = declared if isinstance(declared, list) else []
        spikes = [each for each in known if _is_number(each)]
        facts["lower"], facts["upper"] = min([0, *spikes]), max([1, *spikes])
    elif bought.BOUNDS in which and isinstance(facts.get("format"), str):
        with contextlib.suppress(ValueError):  # the error is that of a schema
            moment = moment_of(facts["type"], facts["format"], facts.get("zone") or "UTC")
            facts["lower"], facts["upper"] = (moment.write(moment.cut(t)) for t in (0, _TWO_YEARS))
    if bought.CATEGORIES in which:
        facts["categories"] = list(_UNKNOWN)
    if bought.NULLABLE in which:
        facts["nullable"] = True
    elif facts.get("nullable", 0) is None:
        del facts["nullable"]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _targets(schema: Schema) -> tuple[str, ...]:
    """Return the names of the columns that are to be predicted."""
    return schema.judged if schema.target is None else (schema.target.name,)


def completed(stored: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a file's content in which open facts are filled.

    Args:
        stored: of an open schema.
        facts: for each column what is filled in.
    """
    columns = {str(name): dict(own) for name, own in stored["columns"].items()}
    filled = {name: {**own, **facts.get(name, {})} for name, own in columns.items()}
    rules = rule_checks.read(stored.get("rules", []))[0]
    computed = totals.names(rules)
    for name, own in filled.items():
        is_open = own.get("nullable", 0) is None and name not in computed
        if is_open and _is_missing_by(rules, name):
            own["nullable"] = True
        elif is_open:  # of a class, which cannot be missing
            del own["nullable"]
    return {**stored, "columns": filled}
