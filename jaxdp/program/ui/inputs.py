"""What the page knows of the data that somebody has chosen: public facts, and the first records."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxdp import new_files
from jaxdp.methods import warned
from jaxdp.methods.settings import types_of
from jaxdp.program import named_data
from jaxdp.program.commands import recommend
from jaxdp.program.data import answers, drafts, proposed_rules, schema_files, tables
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


READING = {
    "image_size": (
        "Size of images",
        "in pixels, as 64 or 48x32; empty: as they are, or 64 where sizes differ or are larger",
    ),
    "channels": ("Channels of images", "1 makes all of them grey, 3 makes them RGB"),
    "pixel_bits": ("Bits of a pixel", "of images with 16 bits that use fewer"),
    "class_names": ("Names of all classes", "with commas between, in the order of labels"),
    "validation": ("Validation images", "yes: they are training images, too"),
    "person_separator": ("End of a person's name in a file's", "as _ for p17_left.png"),
    "no_header": ("Table without a line of names", "yes: columns are column_1, column_2, ..."),
    "target": ("Column to predict", "of a table; empty: as step 2 says"),
    "test_csv": ("Table of test records", "empty: some records are held out"),
    "test_fraction": ("Part held out for tests", "as 0.1"),
    "person_column": ("Column of persons", "that says whose a record of a table is"),
    "records_per_person": ("Most records of a person", "all of them are protected together"),
}
"""Flags that say how data are read, with their labels and hints in the form."""
_OF_THE_FORM = {"eps", "out_dir", "dataset", "data_dir", "csv", "schema"}
_OF_FILES = ("flagfile", "undefok")
_OF_BOTH = ("test_fraction", "records_per_person")
_ONLY_OF_TABLES = ("no_header", "target", "test_csv", "person_column")
_OF_TABLES = (*_ONLY_OF_TABLES, *_OF_BOTH)
_OF_IMAGES = tuple(name for name in READING if name not in _ONLY_OF_TABLES)
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


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
        return _table(path.absolute(), _flags(typed, _OF_TABLES))
    word = str(path.absolute()) if path.exists() else word  # a command takes it for no flag
    reading = _flags(typed, _OF_IMAGES)
    found = recommend.facts_of_data(recommend.RecommendFlags(**named_data.named(word), **reading))
    return Images(word, found.spec, found.line, found.notes, reading)


def _flags(typed: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    """Return the values of flags that somebody has typed.

    Raises:
        InputError: a text is no number, or neither yes nor no, where that is needed.
    """
    types = types_of(recommend.RecommendFlags)
    found: dict[str, Any] = {}
    for name in names:
        text = typed.get(name, "").strip()
        if text:
            found[name] = _value(types[name], text, READING[name][0])
    return found


def _value(kind: type, text: str, label: str) -> Any:
    if kind is bool:
        if text.lower() not in _WORDS:
            raise InputError(f"{label}: {text} is neither yes nor no")
        return _WORDS[text.lower()]
    try:
        return kind(text)
    except ValueError as error:
        what = "whole number" if kind is int else "number"
        raise InputError(f"{label}: {text} is no {what}") from error


def reading_words(chosen: Images | Table) -> list[str]:
    """Return the flags that say how data are read, for a command."""
    return [f"--{name}={value}" for name, value in chosen.reading.items()]


def _table(path: Path, reading: dict[str, Any]) -> Table:
    frame, dialect = tables.header(
        tables.Source("csv", str(path)), rows=drafts.ROWS, no_header=reading.get("no_header")
    )
    drafted = drafts.draft(frame, dialect.to_json())
    columns = answers.settled(drafted["columns"], frame)
    if reading.get("person_column") in columns:
        columns[reading["person_column"]] = {"drop": True}
    places = (schema_file(path), schema_purchase.file_of(RunFlags(csv=str(path))))
    schema = next((file for file in places if file.exists()), None)
    return Table(
        path=path,
        schema=schema,
        known={} if schema is None else _known(schema),
        drafted=drafted,
        columns=columns,
        rules=proposed_rules.of(columns),
        first={str(name).strip(): _first(frame[name]) for name in frame.columns},
        reading=reading,
    )


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


def ways(spec: Spec, epsilon: float) -> list[Way]:
    """Return what can be made of data at an epsilon, the best first."""
    lack = warned.too_weak(spec, epsilon)
    found = []
    for place, choice in enumerate(recommendation.choices(spec, epsilon, source="")):
        method, flags = commands.parsed(choice.command)
        flags.pop("eps", None)
        words = [f"--method={method}", *(f"--{name}={value}" for name, value in flags.items())]
        said = f"{choice.expected}. {lack}" if lack else choice.expected
        takes, _ = amounts.in_words(choice.estimate)
        found.append(Way(choice.purpose, words if place else [], said, takes))
    return found


def curve(spec: Spec, epsilon: float) -> str | None:
    """Return a picture of what is expected over epsilon, as SVG; None where nobody can say."""
    found = expected_curve.curve(spec, expected_curve.epsilons_with(epsilon))
    return None if found is None else curve_svg.alone(found, chosen=epsilon)


def folder_of(text: str) -> Path:
    """Return the folder of a run that somebody has typed: a new one, or one of an unfinished run.

    Raises:
        InputError: it is neither.
    """
    if not text.strip():
        raise InputError("name a folder for the result")
    path = _path_of(text)
    if _is_there(path) and not is_unfinished(path):
        raise InputError(f"{path}: is there already; name a new folder")
    return path


def new_file_of(text: str) -> Path:
    """Return the path of a file that somebody has typed, and that is not there yet.

    Raises:
        InputError: it is, or there can be none.
    """
    if not text.strip():
        raise InputError("name a file")
    path = _path_of(text)
    path = path if path.suffix == ".zip" else path.with_name(f"{path.name}.zip")
    if _is_there(path):
        raise InputError(f"{path}: is there already; name a new file")
    return path


def _path_of(text: str) -> Path:
    """Return a path in full.

    Raises:
        InputError: it names the home folder of nobody, or has a character that no path has.
    """
    if "\0" in text:
        raise InputError("no path has a zero character; leave it out")
    return Path(os.path.abspath(user_path(text.strip(), "out_dir")))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise InputError(f"{path}: cannot be used ({error.strerror}); name another one") from error


def is_begun(text: str) -> bool:
    """Whether a folder that somebody has typed has an unfinished run."""
    try:
        return is_unfinished(_path_of(text))
    except InputError:
        return False


def is_unfinished(folder: Path | None) -> bool:
    """Whether a folder has a run that was begun and has not ended."""
    try:
        if folder is None or not (folder / "config.json").is_file():
            return False
    except OSError:  # there can be no such folder
        return False
    try:
        return not json.loads((folder / "metrics.json").read_text("utf-8")).get("finished")
    except (OSError, ValueError, AttributeError):
        return True


def budget_words(text: str) -> list[str]:
    """Return the flag of the most that all runs may spend; none where nothing was typed.

    Raises:
        InputError: it is no number.
    """
    if not text.strip():
        return []
    try:
        most = float(text)
    except ValueError:
        most = math.nan
    if not 0 < most < math.inf:
        raise InputError(f"{text}: the most epsilon of all runs is a number above 0")
    return [f"--budget={most!r}"]


def more_words(text: str, own: Sequence[str]) -> list[str]:
    """Return further flags that somebody has typed.

    Args:
        text: as typed; no shell sees it.
        own: flags that the page gives.

    Raises:
        InputError: a word is no flag, or one that the page gives or has a field for.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{text}: a quote is not closed") from error
    taken = {word.removeprefix("--").partition("=")[0] for word in own} | _OF_THE_FORM
    for word in words:
        if not word.startswith("--") or word == "--":
            raise InputError(f"{word}: is no flag; write --name=value")
        name = word.removeprefix("--").partition("=")[0]
        for each in (name, name.removeprefix("no")):
            if each in READING:
                raise InputError(f"{word}: is asked for in step 1, as {READING[each][0]!r}")
            if each in taken:
                raise InputError(f"{word}: is asked for in the form")
        if name in _OF_FILES:
            raise InputError(f"{word}: is not for this page; write the flags themselves")
    return words


def values_of(more: str) -> dict[str, str]:
    """Return further flags that somebody has typed, with their values, by name.

    Raises:
        InputError: as for `more_words`.
    """
    words = (word.removeprefix("--").partition("=") for word in more_words(more, ()))
    return {name: value for name, equals, value in words if equals}
