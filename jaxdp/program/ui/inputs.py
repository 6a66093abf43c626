"""What the page knows of the data that somebody has chosen: public facts, and the first records."""

from __future__ import annotations

import dataclasses
import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxdp import new_files
from jaxdp.methods import warned
from jaxdp.privacy import relations
from jaxdp.program import named_data
from jaxdp.program.commands import recommend
from jaxdp.program.data import answers, drafts, proposed_rules, schema_files, table_files, tables
from jaxdp.program.data.outside_files import TABLE_ENDINGS, schema_file, user_path
from jaxdp.program.errors import InputError
from jaxdp.program.report import curve_svg
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import (
    amounts,
    commands,
    expected_curve,
    foreseen,
    recommendation,
    schema_purchase,
)
from jaxdp.program.ui import columns as columns_of_forms
from jaxdp.program.ui import typed_words
from jaxdp.program.ui.columns import Row
from jaxdp.tables.open_schema import OpenSchema

if TYPE_CHECKING:
    import pandas as pd

    from jaxdp.data import Spec

_SHOWN, _LONGEST = 3, 60
DIGITS = "digits"
"""Images that come along, to try the page."""


@dataclasses.dataclass(frozen=True)
class Images:
    """Images that were read.

    Attributes:
        word: path or name, as `jaxdp images` takes it.
        spec: facts about them.
        line: what was read.
        notes: what else is to be known of that.
        reading: flags that said how they are read, by name.
    """

    word: str
    spec: Spec
    line: str
    notes: tuple[str, ...]
    reading: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of which the first records were read.

    Attributes:
        path: of the file.
        schema: file of its schema where there is one already.
        known: what that says of each column, in words.
        drafted: as `drafts.draft` returns it.
        columns: what is proposed for each.
        classes: what is proposed for those that would be classes as the target.
        rules: that names of columns suggest.
        first: the first values of each column; private.
        reading: flags that say how records are read, by name.
        replaced: file that what is said now is written in place of; None for none.
    """

    path: Path
    schema: Path | None
    known: dict[str, str]
    drafted: dict[str, Any]
    columns: dict[str, dict[str, Any]]
    classes: dict[str, dict[str, Any]]
    rules: list[dict[str, Any]]
    first: dict[str, str]
    reading: dict[str, Any]
    replaced: Path | None = None

    @property
    def own_schema(self) -> Path:
        """The file beside the table where its schema is written, and where a command finds it."""
        return schema_file(self.path)

    @property
    def bought(self) -> Path:
        """The file beside it of what was bought."""
        return schema_purchase.file_of(RunFlags(csv=str(self.path)))


def looks_like_a_table(path: Path) -> bool:
    """Whether a path is of a file that holds records."""
    return path.suffix.lower() in TABLE_ENDINGS


def read(word: str, typed: Mapping[str, str]) -> Images | Table:
    """Return what a path or a name holds.

    Args:
        word: path of a folder or a file, or "digits".
        typed: texts for `READING`; those for other data are left aside.

    Raises:
        InputError: it cannot be read.
    """
    word = word.strip()
    if not word:
        raise InputError("name a folder of images, an npz file or a table")
    path = user_path(word, "csv")
    if looks_like_a_table(path):
        return _table(path.absolute(), typed_words.flags_of(typed, typed_words.OF_TABLES))
    word = str(path.absolute()) if path.exists() else word  # a command takes it for no flag
    reading = typed_words.flags_of(typed, typed_words.OF_IMAGES)
    found = recommend.facts_of_data(recommend.RecommendFlags(**named_data.named(word), **reading))
    return Images(word, found.spec, found.line, found.notes, reading)


def reading_words(chosen: Images | Table) -> list[str]:
    """Return the flags that say how data are read, for a command."""
    return [f"--{name}={value}" for name, value in chosen.reading.items()]


def _table(path: Path, reading: dict[str, Any]) -> Table:
    frame, dialect = table_files.header(
        table_files.Source("csv", str(path)),
        rows=drafts.ROWS,
        no_header=reading.get("no_header"),
        line_breaks=reading.get("line_breaks"),
    )
    drafted = drafts.draft(frame, dialect.to_json())
    columns = answers.settled(drafted["columns"], frame, target=reading.get("target"))
    if reading.get("person_column") in columns:
        columns[reading["person_column"]] = {"drop": True}
    schema = schema_purchase.found_beside(RunFlags(csv=str(path)))
    return Table(
        path=path,
        schema=schema,
        known={} if schema is None else _known(schema),
        drafted=drafted,
        columns=columns,
        classes=_classes(columns, frame),
        rules=proposed_rules.of(columns),
        first={str(name).strip(): _first(frame[name]) for name in frame.columns},
        reading=reading,
    )


def _classes(columns: Mapping[str, Any], frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what is said of columns that would be classes as the target."""
    found = {str(name).strip(): answers.of_classes(frame[name]) for name in frame.columns}
    return {
        name: facts
        for name, facts in found.items()
        if facts is not None and not columns.get(name, {}).get("drop")
    }


def _known(schema: Path) -> dict[str, str]:
    """Return what a schema file says of columns, in words.

    Raises:
        InputError: it is no schema.
    """
    found = tables.open_schema_of(str(schema)).stored["columns"]
    return {str(name): columns_of_forms.in_words(facts) for name, facts in found.items()}


def _first(values: pd.Series) -> str:
    text = ", ".join(map(str, values.head(_SHOWN)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def schema_of(
    table: Table,
    columns: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    *,
    num_seen: int | None = None,
) -> dict[str, Any]:
    """Return the content of the schema file of what somebody has said.

    Args:
        table: as read.
        columns: facts of each.
        rules: that hold.
        num_seen: how many columns the form has shown, the first ones; None for all.
    """
    held = [dict(rule) for rule in rules]
    return drafts.confirmed(table.drafted, dict(columns), held, num_seen=num_seen)


def again(table: Table) -> tuple[Table, list[Row]]:
    """Return a table whose columns are said anew, and the rows of a form as its schema has them.

    What was bought is left to be bought, and so is used again where it still fits.

    Args:
        table: that has a schema.

    Raises:
        InputError: the schema cannot be read.
    """
    stored = dict(tables.open_schema_of(str(table.schema)).stored)
    bought = (stored.pop("bought", None) or {}).get("facts", {})
    columns = stored.pop("columns")
    rules = [dict(rule) for rule in stored.get("rules", [])]
    replaced = table.own_schema if table.own_schema.exists() else None
    changed = dataclasses.replace(
        table, schema=None, drafted=stored, rules=rules, replaced=replaced
    )
    return changed, columns_of_forms.rows_again(columns, bought)


def spec_of(table: Table, stored: Mapping[str, Any] | None) -> Facts:
    """Return the facts about a table.

    All records are read by the schema, so that what does not fit is known before anything is spent.

    Args:
        table: as read.
        stored: content of the schema; None for that of its file.

    Raises:
        InputError: the schema is none, records do not fit it, or what was bought does not.
    """
    with tempfile.TemporaryDirectory() as folder:
        schema = str(table.schema)
        if stored is not None:
            schema = f"{folder}/schema.json"
            Path(schema).write_text(json.dumps(stored), "utf-8")
        asked = recommend.RecommendFlags(csv=str(table.path), schema=schema, **table.reading)
        try:
            found = recommend.facts_of_data(asked)
        except InputError as error:  # of a file that nobody has seen
            raise InputError(str(error).replace(f"--schema={schema}: ", "")) from error
    return Facts(found.spec, "\n".join([found.line, *found.notes]), found.opened)


def write_schema(table: Table, stored: Mapping[str, Any]) -> Path:
    """Write the schema beside the table, where `jaxdp table` finds it, and return its path.

    A file that it takes the place of is kept beside, as NAME.json.old. One that says the same is
    left as it is.

    Raises:
        InputError: it cannot be written, or is there and not to be replaced.
    """
    path = table.own_schema
    if path.exists() and _holds(path, stored):
        return path
    if path.exists() and table.replaced == path:
        try:
            with _free_old(path).open("xb") as old:  # a copy: not every disk gives a file two names
                old.write(path.read_bytes())
            new_files.write(path, schema_files.as_text(dict(stored)).encode())
        except OSError as error:
            raise InputError(f"{path}: cannot be replaced ({error.strerror})") from error
    elif path.exists():
        raise InputError(
            f"{path}: is there since the table was read, and says something else; read the table "
            "again to use it, or move it away"
        )
    else:
        drafts.write(path, dict(stored))
    return path


def _holds(path: Path, stored: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads(path.read_text("utf-8")) == stored)
    except (OSError, ValueError):
        return False


def _free_old(path: Path) -> Path:
    """Return where the old file is kept: NAME.json.old, with a number where that is taken."""
    names = (path.with_name(f"{path.name}.old{number or ''}") for number in itertools.count())
    return next(each for each in names if not each.exists())


class Facts(NamedTuple):
    """What is known of a table before a run.

    Attributes:
        spec: facts.
        line: what was read.
        opened: its schema where something of it is still to be bought.
    """

    spec: Spec
    line: str
    opened: OpenSchema | None


def as_bought(table: Table, facts: Facts) -> Facts:
    """Return facts by what has been bought since they were read, without reading records again."""
    if facts.opened is None or not table.bought.exists():
        return facts
    schema = schema_purchase.earlier(table.bought, facts.opened)
    return Facts(foreseen.with_schema(facts.spec, schema), facts.line.split("\n")[0], None)


class Way(NamedTuple):
    """Something that can be made of data.

    Attributes:
        purpose: what it is for.
        words: flags that ask for it; none for what a command takes by itself.
        expected: how good it is likely to be, with what is to be known of that.
        takes: time, memory and disk.
    """

    purpose: str
    words: list[str]
    expected: str
    takes: str


def ways(spec: Spec, epsilon: float, relation: str = relations.ZERO_OUT) -> list[Way]:
    """Return what can be made of data at an epsilon, the best first.

    Args:
        spec: facts about the data.
        epsilon: the budget.
        relation: which datasets are neighbours.
    """
    contributions = relations.contributions(relation)
    lack = warned.too_weak(spec, epsilon, contributions=contributions)
    choices, found = recommendation.choices(spec, epsilon, source="", relation=relation), []
    for place, choice in enumerate(choices):
        method, flags = commands.parsed(choice.command)
        for typed in ("eps", "relation"):
            flags.pop(typed, None)
        words = [f"--method={method}", *(f"--{name}={value}" for name, value in flags.items())]
        said = f"{choice.expected}. {lack}" if lack else choice.expected
        takes, _ = amounts.in_words(choice.estimate)
        found.append(Way(choice.purpose, words if place else [], said, takes))
    return found


def curve(spec: Spec, epsilon: float, relation: str = relations.ZERO_OUT) -> str | None:
    """Return a picture of what is expected over epsilon, as SVG; None where nobody can say.

    Args:
        spec: facts about the data.
        epsilon: the budget.
        relation: which datasets are neighbours.
    """
    spec = expected_curve.with_all_noise(spec, relations.contributions(relation))
    found = expected_curve.curve(spec, expected_curve.epsilons_with(epsilon))
    return None if found is None else curve_svg.alone(found, chosen=epsilon)
