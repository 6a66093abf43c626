"""Paths that flags name."""

import os
from pathlib import Path

from jaxdp.program.errors import InputError

TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".gz")
"""Of files that hold a table, texts of them compressed where the last is behind another one."""


def user_path(path: str | os.PathLike[str], flag: str) -> Path:
    """Return the path that a flag names, ~ replaced by the home folder.

    Raises:
        InputError: there is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"--{flag}={path}: there is no such home folder; write the path in full"
        ) from error


def schema_file(data: Path) -> Path:
    """Return the file beside a table where its schema is looked for, and written."""
    return data.with_name(f"{table_name(data)}.json")


def table_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a table's file without the endings that say how it is written.

    Dots before them are a part of it: 2024.01.csv and 2024.02.csv are two tables.
    """
    name = Path(path).name
    for endings in (TABLE_ENDINGS[-1:], TABLE_ENDINGS):
        ending = next((each for each in endings if name.lower().endswith(each)), "")
        name = name[: len(name) - len(ending)] or name
    return name
