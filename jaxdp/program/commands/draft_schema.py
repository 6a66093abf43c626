"""Begin the schema of a table: column names and guessed types; the rest is for a person.

    jaxdp schema --csv=patients.csv        # writes patients.json

Bounds and categories are left open on purpose. Read off the data they would tell about single
records, so a person who knows what can occur writes them down. The guesses are read off the data,
and a single record can change one: a person checks each of them, too.
"""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import command_line
from jaxdp.program.errors import InputError
from jaxdp.tables.columns import as_text

_ROWS = 1000
# A column of fewer different numbers is taken as one of categories.
_FEW = 10
_MISSING = ("", "NA", "?")
# Texts of which as many are different are names or free text, if there are so many at all.
_DIFFERENT, _ENOUGH = 0.5, 50
_ABOUT = (
    "Types, and what is said about dates and names, were guessed from records of the table, and "
    "one record can change a guess: check every one by what can occur before this is public. "
    'Fill in every null, give one column "target": true, write "nullable": true where a value can '
    'be missing, and {"drop": true} for columns that are to be left out'
)
_DATES = "dates are no type: make a number of it, as a year or days since another date, or drop it"
_NAMES = "names, numbers of records or free text: drop it"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DraftFlags:
    """The flags of this program."""

    csv: str | None = setting(None, "The table, CSV or Parquet.")
    out: str | None = setting(None, "Where to write the schema (default: beside the table, .json).")

    def __post_init__(self) -> None:
        check_fields(self)


USAGE, TAKES = "FILE.csv", "csv"
KINDS = command_line.define(DraftFlags)


def draft(frame: Any) -> dict[str, Any]:
    """Return a schema of the columns of a frame, with its types guessed and all else left open."""
    columns = {str(name).strip(): _guessed(frame[name]) for name in frame.columns}
    return {
        "about": _ABOUT,
        "missing": list(_MISSING),
        "columns": columns,
    }


def _guessed(values: Any) -> dict[str, Any]:
    import pandas as pd

    # One by one: pandas would decode bytes, which need not be text.
    texts = values.dropna().map(as_text).astype(str)
    texts = texts[~texts.isin([*_MISSING, "nan", "None"])]
    numbers = pd.to_numeric(texts, errors="coerce")
    if len(numbers) and numbers.notna().all() and numbers.nunique() > _FEW:
        whole = {"integer": True} if (numbers % 1 == 0).all() else {}
        return {"type": "numeric", "lower": None, "upper": None, **whole, "nullable": False}
    found = {"type": "categorical", "categories": None, "nullable": False}
    if _are_dates(texts):
        return found | {"about": _DATES}
    if len(texts) >= _ENOUGH and texts.nunique() > _DIFFERENT * len(texts):
        return found | {"about": _NAMES}
    return found


def _are_dates(texts: Any) -> bool:
    """Return whether texts begin like 2024-05-31, 31.05.2024, 5/31/2024."""
    day = r"(\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4})([T ].*)?"
    return len(texts) > 0 and bool(texts.str.fullmatch(day).all())


def main(argv: Sequence[str]) -> None:
    """Write the draft; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        asked = command_line.settings_of(DraftFlags)
        from jaxdp.program.data import tables  # numpy: not before flags are parsed

        if asked.csv is None:
            raise InputError("--csv: name the table")
        found = draft(tables.header(tables.Source("csv", asked.csv), rows=_ROWS))
        name = Path(asked.csv).name.split(".")[0]
        out = Path(asked.out or Path(asked.csv).with_name(f"{name}.json")).expanduser()
        _write(out, found)
        print(
            f"{out}: fill in every null, and check every type: types and notes were guessed from "
            "the table's records, names of columns are from its header; no bounds and no "
            "categories of the data are in it"
        )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(out: Path, found: dict[str, Any]) -> None:
    columns = ",\n".join(
        f"  {_text(name)}: {_text(facts)}" for name, facts in found["columns"].items()
    )
    head = "".join(f" {_text(k)}: {_text(found[k])},\n" for k in ("about", "missing"))
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(f'{{\n{head} "columns": {{\n{columns}\n }}\n}}\n')
    except FileExistsError as error:
        raise InputError(f"--out={out}: is there already; name another file") from error
