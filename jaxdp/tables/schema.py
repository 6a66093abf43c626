"""The schema of a table: which columns there are, and what may stand in them.

A schema is public. A person declares it; nothing in it is read off the data, because a bound or a
category that occurs once tells about the one record that it occurs in. So every record is brought
into the schema by a rule of its own: values outside the bounds are clipped, unknown categories and
missing values have categories of their own, and how many there were is never told.

    {"columns": {
        "age":    {"type": "numeric", "lower": 0, "upper": 120, "integer": true},
        "smoker": {"type": "categorical", "categories": ["no", "yes"], "nullable": true},
        "stage":  {"type": "ordinal", "categories": ["I", "II", "III"]},
        "ill":    {"type": "categorical", "categories": ["no", "yes"], "target": true},
        "name":   {"drop": true}}}
"""

import dataclasses
import functools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jaxdp.tables import declarations, dtypes, totals
from jaxdp.tables.bought import CATEGORIES, Bought
from jaxdp.tables.columns import Column, SchemaError
from jaxdp.tables.dialects import PLAIN, Dialect
from jaxdp.tables.formulas import opens_as_formula
from jaxdp.tables.new_columns import NewColumn
from jaxdp.tables.rules import Rule

Read = TypeVar("Read")
ALL = "all"
"""The one class of records without classes."""
ONE_HOT, RAW, BINS = "one_hot", "raw", "bins"
FORMS = (ONE_HOT, RAW, BINS)
"""How records become rows; see `jaxdp.tables.layout`."""
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None")
"""Texts that stand for a missing value where a schema names none."""
BUILT_IN = (
    *("adult", "census", "cervical", "covtype", "credit", "epileptic", "intrusion", "isolet"),
)
"""Names of the schemas that come with the package, those of the papers' tables."""
_DIRECTORY = Path(__file__).parent / "schemas"
_MOST_BYTES = 2**24
_ENTRIES = ("columns", "rules", "missing", "about", "csv", "bought")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schema:
    """What is public about a table.

    Attributes:
        columns: that are used, the target of classes aside, in the order of the table made.
        target: the column of classes; None where there is none.
        order: names of all columns that a table made has, the target among them.
        dropped: names of columns that are left out.
        missing: texts that stand for a missing value; a table made has the first.
        new: columns that are made without the data, and are in `order`.
        csv: how CSV files of the table are written.
        judged: names of the columns that made records are to predict, where they are no classes:
            a number, or several columns.
        bought: which facts are not public but were released with noise; None for none.
        rules: that hold of every record made, as `jaxdp.tables.rules` has them; `from_json` checks
            them.
        derived: columns that are computed from others by these rules; they are in `order`, and
            nothing is read of them.

    Raises:
        SchemaError: it holds no columns, or the target does not do.

    Examples:
        >>> import jaxdp
        >>> schema = jaxdp.tables.Schema.from_json(
        ...     {
        ...         "columns": {
        ...             "age": {"type": "numeric", "lower": 0, "upper": 120},
        ...             "ill": {"type": "categorical", "categories": ["no", "yes"], "target": True},
        ...         }
        ...     }
        ... )
        >>> schema.class_names, [column.name for column in schema.columns]
        (('no', 'yes'), ['age'])
    """

    columns: tuple[Column, ...]
    target: Column | None
    order: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING
    new: tuple[NewColumn, ...] = ()
    csv: Dialect = PLAIN
    judged: tuple[str, ...] = ()
    bought: Bought | None = None
    rules: tuple[Rule, ...] = ()
    derived: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("there must be at least one column beside the target")
        if opens_as_formula(self.missing[0]):
            raise SchemaError(
                f'"missing" begins with {self.missing[0]!r}, which stands in tables made and would '
                "run as a formula in a spreadsheet: put another text first"
            )
        for column in self.columns:
            if column.classes is not None:
                raise column.error('only the target has "classes"')
        if self.target is not None:
            self._check_target(self.target)
        faults = [dtypes.fault(column) for column in (*self.declared, *self.derived)]
        if any(faults):
            raise SchemaError("; ".join(fault for fault in faults if fault))
        self._check_encoding()

    def _check_target(self, target: Column) -> None:
        if target.is_numeric:
            raise target.error("classes are categories, and this is a number")
        if target.nullable:
            raise target.error("a class cannot be missing: leave such records out")
        if len(self.class_names) < 2:
            raise target.error("a target needs at least two classes")

    @property
    def declared(self) -> tuple[Column, ...]:
        """All columns that are read of a table, the target last."""
        return self.columns if self.target is None else (*self.columns, self.target)

    def _check_encoding(self) -> None:
        """Refuse texts that a table made would hold as question marks."""
        texts = [*self.order, self.missing[0]]
        for column in (*self.declared, *self.derived):
            texts += [*column.values, column.prefix, column.suffix, column.format or ""]
        texts += [str(column.value) for column in self.new]
        try:
            "".join(texts).encode(self.csv.encoding)
        except UnicodeEncodeError as error:
            raise SchemaError(
                f'"encoding" {self.csv.encoding!r} has no {error.object[error.start]!r}, which '
                "names or categories hold"
            ) from error

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of classes, and the categories of the target that each stands for."""
        if self.target is None:
            return {}
        if self.target.classes is not None:
            return dict(self.target.classes)
        return {category: (category,) for category in self.target.categories}

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of labels; one name for all where there are none."""
        return tuple(self.groups) or (ALL,)

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file holds."""
        by_name = {column.name: column.to_json() for column in self.declared}
        marked = self.judged if self.target is None else (self.target.name,)
        by_name |= {name: by_name[name] | {"target": True} for name in marked}
        by_name |= {column.name: column.to_json() for column in self.new}
        by_name |= totals.to_json(self.derived, self.rules, self.columns)
        for column in (*self.declared, *self.derived):
            by_name[column.name] = declarations.with_mark(by_name[column.name], column, self.csv)
        columns = {name: by_name[name] for name in self.order}
        columns |= {name: {"drop": True} for name in self.dropped}
        dialect = self.csv.to_json()
        more: dict[str, Any] = {"csv": dialect} if dialect else {}
        more |= {"rules": [rule.to_json() for rule in self.rules]} if self.rules else {}
        more |= {} if self.bought is None else {"bought": self.bought.to_json()}
        return {"missing": list(self.missing), "columns": columns} | more

    @classmethod
    def from_json(
        cls, stored: Any, *, target: str | None = None, unknown: Collection[str] = ()
    ) -> "Schema":
        """Return the schema that a file holds.

        Args:
            stored: its content.
            target: column that is to be predicted, whichever the file marks (default: those that
                it marks). One of categories is the column of classes.
            unknown: columns whose bounds and categories mean nothing yet.

        Raises:
            SchemaError: it holds no schema.
        """
        if not isinstance(stored, Mapping) or not isinstance(stored.get("columns"), Mapping):
            raise SchemaError('a schema is {"columns": {name: {"type": ...}, ...}}')
        strange = sorted(set(stored) - set(_ENTRIES))
        if strange:
            raise SchemaError(
                f"{strange[0]!r} is unknown; a schema has {', '.join(map(json.dumps, _ENTRIES))}"
            )
        dialect = declarations.dialect_of(stored.get("csv", {}))
        bought = _bought(stored)
        facts = {} if bought is None else bought.facts
        found = declarations.read(
            stored["columns"],
            dialect,
            target=target,
            rules=stored.get("rules", []),
            unknown={*unknown, *facts},
        )
        columns, classes = dict(found.columns), None
        if len(found.targets) == 1 and not columns[found.targets[0]].is_numeric:
            # Who leaves a class out of the list has no place for it, so none is made.
            # Classes that were bought have one of all others.
            name = found.targets[0]
            is_bought = CATEGORIES in facts.get(name, ())
            classes = dataclasses.replace(columns.pop(name), other=is_bought)
        return cls(
            columns=tuple(columns.values()),
            target=classes,
            judged=() if classes is not None else found.targets,
            order=found.order,
            dropped=found.dropped,
            missing=declarations.texts(stored.get("missing", MISSING), "missing"),
            new=found.new,
            csv=dialect,
            bought=bought,
            rules=found.rules,
            derived=found.derived,
        )


def read_schema(name: str | Path, *, target: str | None = None) -> Schema:
    """Return a schema that comes with the package, by its name, or that of a JSON file.

    Args:
        name: of the schema or of the file.
        target: as for `Schema.from_json`.

    Raises:
        SchemaError: there is no such schema, or the file holds none; the message begins with it.

    Examples:
        >>> import jaxdp
        >>> schema = jaxdp.tables.read_schema("adult")
        >>> schema.target.name, schema.class_names, len(schema.columns)
        ('income', ('<=50K', '>50K'), 14)
    """
    return read_stored(name, functools.partial(Schema.from_json, target=target))


def read_stored(name: str | Path, from_json: Callable[[Any], Read]) -> Read:
    """Return what a schema file holds, or one that comes with the package.

    Args:
        name: as for `read_schema`.
        from_json: makes it of the file's content.

    Raises:
        SchemaError: as `read_schema`.
    """
    path = _DIRECTORY / f"{name}.json" if str(name) in BUILT_IN else Path(name).expanduser()
    try:
        with path.open("rb") as file:  # which may be a pipe, and need not end
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise SchemaError(f"is larger than {_MOST_BYTES >> 20} MB, as no schema is")
        return from_json(json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once))
    except FileNotFoundError as error:
        raise SchemaError(
            f"{name}: there is no such file, and the schemas known by name are "
            f"{', '.join(BUILT_IN)}; `jaxdp schema --csv=FILE` begins one"
        ) from error
    except OSError as error:
        raise SchemaError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SchemaError(f"{name}: is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise SchemaError(f"{name}: is not JSON ({error})") from error
    except RecursionError as error:
        raise SchemaError(f"{name}: is not a schema, its JSON is nested too deeply") from error
    except (ValueError, OverflowError) as error:  # SchemaError, or a number of too many digits
        raise SchemaError(f"{name}: {error}") from error


def _bought(stored: Mapping[str, Any]) -> Bought | None:
    """Return what a file says was bought.

    Raises:
        SchemaError: it is nothing that a purchase writes, or of a column that is not there.
    """
    if stored.get("bought") is None:
        return None
    try:
        found = Bought.from_json(stored["bought"])
    except ValueError as error:
        raise SchemaError(str(error)) from error
    unknown = [name for name in found.facts if name not in stored["columns"]]
    if unknown:
        raise SchemaError(f'"bought" tells of a column {unknown[0]!r}, which is not there')
    return found


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; json alone keeps the last of two entries of one name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"{twice!r} is there twice")
    return found
