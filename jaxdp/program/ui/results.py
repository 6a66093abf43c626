"""What a run has left in its folder, and beside it, as the page shows it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from jaxdp.methods import facts as data_facts
from jaxdp.methods.record import CONFIG
from jaxdp.program.commands import verify
from jaxdp.program.data import table_files
from jaxdp.program.errors import InputError
from jaxdp.program.runs.folder import RunFolder
from jaxdp.saved import loading
from jaxdp.saved.files import json_file

_TABLES = ("synthetic.csv", "distilled.csv")
_PICTURES = ("samples.png", "distilled.png")
_COMPARISONS = ("fidelity.html", "side_by_side.html")
_ROWS = 10


class Records(NamedTuple):
    """Records, as texts.

    Attributes:
        names: of their columns.
        rows: one text for each of these.
    """

    names: list[str]
    rows: list[list[str]]


def first_records(folder: Path | None) -> Records | None:
    """Return the first records of the table that a run has made; None where it made none."""
    path = _first_there(folder, _TABLES)
    if path is None:
        return None
    try:
        facts = data_facts.from_config(json_file(path.parent / CONFIG))
        no_header = facts.schema is not None and facts.schema.csv.header is False
        source = table_files.Source("csv", str(path))
        frame, _ = table_files.header(source, rows=_ROWS, no_header=no_header)
    except (OSError, ValueError, InputError):  # somebody has changed it
        return None
    texts = frame.head(_ROWS).fillna("").astype(str)
    return Records([str(name) for name in texts.columns], texts.to_numpy().tolist())


def picture(folder: Path | None) -> bytes | None:
    """Return the picture of what a run has made, as PNG; None where there is none."""
    path = _first_there(folder, _PICTURES)
    return None if path is None else path.read_bytes()


def verdict(folder: Path) -> str:
    """Return whether the result of a finished run may be released, in a line.

    The certificate is computed again from its ledger, and files are compared with their digests.
    """
    try:
        return verify.lines(loading.opened(folder, str(folder)))[-1]
    except InputError as error:
        return f"MUST NOT BE RELEASED as it is: {error}"


def comparison(folder: Path | None) -> Path | None:
    """Return the page that compares what was made with private records; None where there is none.

    It is not for release, and lies beside the folder of the run.
    """
    return None if folder is None else _first_there(not_for_release(folder), _COMPARISONS)


def not_for_release(folder: Path | None) -> Path | None:
    """Return the folder beside a run's, for what is as private as the data."""
    if folder is None:
        return None
    return RunFolder(folder, resume=True, overwrite=False).not_for_release


def _first_there(folder: Path | None, names: tuple[str, ...]) -> Path | None:
    paths = () if folder is None else (folder / name for name in names)
    return next((path for path in paths if path.is_file()), None)
