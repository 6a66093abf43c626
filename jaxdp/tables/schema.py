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
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxdp.tables.columns import TYPES, Column, SchemaError, as_text, is_number
from jaxdp.tables.formulas import opens_as_formula

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schema:
    """What is public about a table.

    Attributes:
        columns: that are used, the target aside, in the order of the table made.
        target: the column of classes.
        order: names of all columns that a table made has, the target among them.
        dropped: names of columns that are left out.
        missing: texts that stand for a missing value; a table made has the first.

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
    target: Column
    order: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("there must be at least one column beside the target")
        if self.target.is_numeric:
            raise self.target.error(
                "a target of numbers asks for regression, which is not offered: take a column of "
                "categories as the target; numbers are made beside it, and a regression can learn "
                "from those"
            )
        if opens_as_formula(self.missing[0]):
            raise SchemaError(
                f'"missing" begins with {self.missing[0]!r}, which stands in tables made and would '
                "run as a formula in a spreadsheet: put another text first"
            )
        if self.target.nullable:
            raise self.target.error("a class cannot be missing: leave such records out")
        for column in self.columns:
            if column.classes is not None:
                raise column.error('only the target has "classes"')
        if len(self.class_names) < 2:
            raise self.target.error("a target needs at least two classes")

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of classes, and the categories of the target that each stands for."""
        if self.target.classes is not None:
            return dict(self.target.classes)
        return {category: (category,) for category in self.target.categories}

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of labels."""
        return tuple(self.groups)

    def to_json(self) -> dict[str, Any]:
        """Return what a schema file holds."""
        by_name = {column.name: column.to_json() for column in self.columns}
        by_name[self.target.name] = self.target.to_json() | {"target": True}
        columns = {name: by_name[name] for name in self.order}
        columns |= {name: {"drop": True} for name in self.dropped}
        return {"missing": list(self.missing), "columns": columns}

    @classmethod
    def from_json(cls, stored: Any, *, target: str | None = None) -> "Schema":
        """Return the schema that a file holds.

        Args:
            stored: its content.
            target: column of classes, whichever the file marks (default: that which it marks).

        Raises:
            SchemaError: it holds no schema.
        """
        if not isinstance(stored, Mapping) or not isinstance(stored.get("columns"), Mapping):
            raise SchemaError('a schema is {"columns": {name: {"type": ...}, ...}}')
        unknown = sorted(set(stored) - {"columns", "missing", "about"})
        if unknown:
            raise SchemaError(
                f'{unknown[0]!r} is unknown; a schema has "columns", "missing", "about"'
            )
        declared = {str(name): facts for name, facts in stored["columns"].items()}
        dropped = tuple(name for name, facts in declared.items() if _is_dropped(name, facts))
        kept = {name: facts for name, facts in declared.items() if name not in dropped}
        targets = [name for name, facts in kept.items() if facts.get("target") is True]
        if target is not None:
            if target not in kept:
                raise SchemaError(f"has no column {target!r} to be the target")
            targets = [target]
        if len(targets) != 1:
            raise SchemaError(
                f'exactly one column must have "target": true, the one of classes; here '
                f"{len(targets)} have; where nothing is to be predicted, take any column of few "
                "categories"
            )
        columns = {name: _column(name, facts) for name, facts in kept.items()}
        classes = columns.pop(targets[0])
        return cls(
            columns=tuple(columns.values()),
            # Who leaves a class out of the list has no place for it, so none is made.
            target=dataclasses.replace(classes, other=False),
            order=tuple(kept),
            dropped=dropped,
            missing=_texts(stored.get("missing", MISSING), "missing"),
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
    path = _DIRECTORY / f"{name}.json" if str(name) in BUILT_IN else Path(name).expanduser()
    try:
        stored = json.loads(path.read_text("utf-8-sig"), object_pairs_hook=_once)
        return Schema.from_json(stored, target=target)
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
    except ValueError as error:  # SchemaError, or a number of too many digits
        raise SchemaError(f"{name}: {error}") from error


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; json alone keeps the last of two entries of one name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"{twice!r} is there twice")
    return found


def _is_dropped(name: str, facts: Any) -> bool:
    if not isinstance(facts, Mapping):
        raise SchemaError(f'column {name!r}: must be an object, as {{"type": ...}}')
    for key in ("drop", "target"):
        if not _is_flag(facts.get(key, False)):
            raise SchemaError(f"column {name!r}: {key!r} must be true or false")
    return facts.get("drop") is True


def _column(name: str, facts: Mapping[str, Any]) -> Column:
    fields = {k: v for k, v in facts.items() if k not in ("target", "drop", "about")}
    for key in fields:
        if key not in _KINDS:
            raise SchemaError(
                f"column {name!r}: {key!r} is unknown; known are {', '.join(_KINDS)}, target, "
                "drop, about"
            )
    for key, value in fields.items():
        is_right, what = _KINDS[key]
        if not is_right(value):
            raise SchemaError(f"column {name!r}: {key!r} must be {what}")
    if fields.get("categories", ()) is None:
        del fields["categories"]
    if "type" not in fields:
        raise SchemaError(f'column {name!r}: needs "type", one of {", ".join(TYPES)}')
    if "categories" in fields:
        fields["categories"] = _texts(fields["categories"], f"column {name!r}: categories")
    if isinstance(fields.get("bins"), list):
        fields["bins"] = tuple(fields["bins"])
    classes = fields.get("classes")
    if classes is not None:
        fields["classes"] = {
            str(key): _texts(group, f"column {name!r}: classes") for key, group in classes.items()
        }
    return Column(name=str(name), **fields)


def _texts(values: Any, what: str) -> tuple[str, ...]:
    """Return a list of texts or numbers as texts, spaces at their ends aside."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise SchemaError(f"{what} must be a list, and not empty")
    if not all(isinstance(v, str) or is_number(v) for v in values):
        raise SchemaError(f"{what} must hold texts or numbers")
    return tuple(as_text(v) for v in values)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_bound(value: Any) -> bool:
    return value is None or is_number(value)


def _is_bins(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(is_number, value))
    return isinstance(value, int) and not isinstance(value, bool)


# What a file may say of a column. A draft has null where a person is to fill something in.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: isinstance(value, str), f"one of {', '.join(TYPES)}"),
    "lower": (_is_bound, "a number"),
    "upper": (_is_bound, "a number"),
    "log": (_is_flag, "true or false"),
    "integer": (_is_flag, "true or false"),
    "bins": (_is_bins, "a number of bins or a list of inner edges"),
    "categories": (lambda value: value is None or isinstance(value, list), "a list"),
    "nullable": (_is_flag, "true or false"),
    "other": (_is_flag, "true or false"),
    "classes": (lambda value: isinstance(value, Mapping), "an object, {class: [categories]}"),
}
