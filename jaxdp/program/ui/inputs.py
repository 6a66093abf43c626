"""What the page knows of the data that somebody has chosen: public facts, and the first records."""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxdp.methods import warned
from jaxdp.privacy import relations, releases
from jaxdp.privacy.certificates import whole_loss
from jaxdp.privacy.ledger import Ledger
from jaxdp.program.commands import images, recommend, spent
from jaxdp.program.data import answers, drafts, proposed_rules, tables
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import dataset_ledgers, recommendation, schema_purchase

if TYPE_CHECKING:
    import pandas as pd

    from jaxdp.data import Spec

_TABLES = (".csv", ".tsv", ".txt", ".parquet", ".gz")
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
    """

    word: str
    spec: Spec
    line: str
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of which the first records were read.

    Attributes:
        path: of the file.
        schema: file of its schema where there is one already.
        drafted: as `drafts.draft` returns it.
        columns: what is proposed for each.
        rules: that names of columns suggest.
        first: the first values of each column; private.
    """

    path: Path
    schema: Path | None
    drafted: dict[str, Any]
    columns: dict[str, dict[str, Any]]
    rules: list[dict[str, Any]]
    first: dict[str, str]


def looks_like_a_table(path: Path) -> bool:
    """Whether a path is of a file that holds records."""
    return path.suffix.lower() in _TABLES


def read(word: str, more: Mapping[str, Any]) -> Images | Table:
    """Return what a path or a name holds.

    Args:
        word: path of a folder or a file, or "digits".
        more: flags of images, as `image_size`, by name.

    Raises:
        InputError: it cannot be read.
    """
    word = word.strip()
    if not word:
        raise InputError("name a folder of images, an npz file or a table")
    path = Path(word).expanduser()
    if looks_like_a_table(path):
        return _table(path)
    asked = recommend.RecommendFlags(**images.named(word), **more)
    found = recommend.facts_of_data(asked)
    return Images(word, found.spec, found.line, found.notes)


def _table(path: Path) -> Table:
    frame, dialect = tables.header(tables.Source("csv", str(path)), rows=drafts.ROWS)
    drafted = drafts.draft(frame, dialect.to_json())
    columns = answers.settled(drafted["columns"], frame)
    beside = path.with_name(f"{path.name.split('.')[0]}.json")
    known = (beside, schema_purchase.file_of(RunFlags(csv=str(path))))
    return Table(
        path=path,
        schema=next((file for file in known if file.exists()), None),
        drafted=drafted,
        columns=columns,
        rules=proposed_rules.of(columns),
        first={str(name).strip(): _first(frame[name]) for name in frame.columns},
    )


def _first(values: pd.Series) -> str:
    text = ", ".join(map(str, values.head(_SHOWN)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def schema_of(
    table: Table, columns: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the content of the schema file of what somebody has said.

    Args:
        table: as read.
        columns: facts of each.
        rules: that hold.
    """
    return drafts.confirmed(table.drafted, dict(columns), [dict(rule) for rule in rules])


def spec_of(table: Table, stored: Mapping[str, Any] | None) -> tuple[Spec, str]:
    """Return the facts about a table, and a line on them.

    All records are read by the schema, so that what does not fit is known before anything is spent.

    Args:
        table: as read.
        stored: content of the schema; None for that of its file.

    Raises:
        InputError: the schema is none, or records do not fit it.
    """
    with tempfile.TemporaryDirectory() as folder:
        schema = str(table.schema)
        if stored is not None:
            schema = f"{folder}/schema.json"
            Path(schema).write_text(json.dumps(stored), "utf-8")
        asked = recommend.RecommendFlags(csv=str(table.path), schema=schema)
        try:
            found = recommend.facts_of_data(asked)
        except InputError as error:  # of a file that nobody has seen
            raise InputError(str(error).replace(f"--schema={schema}: ", "")) from error
    return found.spec, found.line


def write_schema(table: Table, stored: Mapping[str, Any]) -> Path:
    """Write the schema beside the table, where `jaxdp table` finds it, and return its path.

    Raises:
        InputError: it cannot be written.
    """
    path = table.path.with_name(f"{table.path.name.split('.')[0]}.json")
    drafts.write(path, dict(stored))
    return path


def expected(spec: Spec, epsilon: float) -> str:
    """Say what such data are likely to give at an epsilon."""
    first = recommendation.choices(spec, epsilon, source="")[0]
    lack = warned.too_weak(spec, epsilon)
    return f"{first.expected}. {lack}" if lack else first.expected


def spent_before(chosen: Images | Table) -> list[str]:
    """Return lines on what the ledger of the data has; none where nothing was spent.

    Raises:
        InputError: the ledger cannot be read.
    """
    if isinstance(chosen, Table):
        flags = RunFlags(csv=str(chosen.path))
    else:
        flags = RunFlags(**images.named(chosen.word))
    ledger = dataset_ledgers.of_run(flags)
    if ledger is None or not ledger.path.exists():
        return []
    return spent.lines(str(ledger.path), None)


def attack(epsilon: float, delta: float) -> str:
    """Say what a budget lets an attacker do at most, in a sentence."""
    made = releases.calibrate(
        {"all": 1.0}, target_epsilon=epsilon, delta=delta, relation=relations.ZERO_OUT
    )
    ledger = Ledger(num_examples=math.ceil(1 / delta), delta=delta, releases=made)
    return str(whole_loss((ledger,))["attacker"]["in_words"])


def verdict(folder: Path) -> str:
    """Return whether the result of a finished run may be released, in a line."""
    try:
        return str(json.loads((folder / "privacy.json").read_text("utf-8"))["verdict"])
    except (OSError, ValueError, KeyError, TypeError):
        return "This folder has no certificate."
