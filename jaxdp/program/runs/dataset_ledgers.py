"""Where the ledger of a dataset is: beside the data, or in the user's folder.

`jaxdp.privacy.dataset_ledger` says what such a file holds.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.privacy.ledger_file import Contents
from jaxdp.program.data.outside_files import TABLE_ENDINGS, table_name, user_path
from jaxdp.program.data.sources import TFDS_NAMES
from jaxdp.program.errors import InputError
from jaxdp.tables.schema import BUILT_IN

NONE = "none"
ENDING = ".ledger.jsonl"
_PUBLIC = ("digits", *TFDS_NAMES)


def of_run(run_flags: Any) -> DatasetLedger | None:
    """Return the ledger that a run is entered into; None for none.

    Raises:
        InputError: a budget is asked for, and there is no ledger.
    """
    if run_flags.ledger == NONE:
        path = None
    elif run_flags.ledger is not None:
        path = user_path(run_flags.ledger, "ledger")
    else:
        path = _by_default(run_flags)
    if path is not None:
        return DatasetLedger(path)
    if run_flags.budget is not None:
        raise InputError(
            f"--budget={run_flags.budget:g}: needs a file that counts what runs release; name one "
            "by --ledger"
        )
    return None


def are_public(config: Mapping[str, Any]) -> bool:
    """Return whether a run is of data that are public by their name.

    Args:
        config: its flags by name, as config.json has them.
    """
    if config.get("csv") is not None:
        return config.get("schema") in BUILT_IN
    return config.get("dataset") in _PUBLIC


def _by_default(run_flags: Any) -> Path | None:
    """Return the file beside one's own data; None for datasets that are public by their name.

    A table is one of the papers', which are public, where its schema is a built-in one.

    Raises:
        InputError: there are two, and nobody can say which counts.
    """
    if are_public(vars(run_flags)):
        return None
    if run_flags.csv is not None:
        data, whole = user_path(run_flags.csv, "csv"), False
    else:
        folder = user_path(run_flags.data_dir, "data_dir")
        named = (folder / f"{run_flags.dataset}{ending}" for ending in (".npz", ""))
        data = next((path for path in named if path.exists()), folder / run_flags.dataset)
        whole = True
    # Data may be a link, beside which runs of before have left their ledger.
    files = (data, data.resolve())
    beside = [_beside(file, whole) for file in files]
    # Names of tables ended at the first dot in earlier versions, which may have left theirs, too.
    old = [] if whole else [_called(file, _old_name(file)) for file in files if _is_its(file)]
    elsewhere = list[Path]()
    with contextlib.suppress(RuntimeError):  # there is no home folder
        elsewhere += map(in_the_users_folder, [*old, *beside])
    places = dict.fromkeys([*beside, *old, *elsewhere])
    there = [path for path in places if path.exists() or path.is_symlink()]
    files_there = list({path.resolve(): path for path in there}.values())
    if len(files_there) > 1:
        raise InputError(
            f"--ledger: {files_there[0]} and {files_there[1]} both count runs on these data; name "
            "one by --ledger, and look with jaxdp spent what the other one holds"
        )
    if there:
        return there[0]
    own = beside[-1]
    return own if os.access(own.parent, os.W_OK) or not elsewhere else elsewhere[-1]


def _beside(data: Path, whole: bool) -> Path:
    """Return the file beside data, of a dataset under its whole name, which may have dots."""
    return _called(data, data.name.removesuffix(".npz") if whole else table_name(data))


def _old_name(data: Path) -> str:
    return data.name.split(".")[0]


def _is_its(data: Path) -> bool:
    """Whether a ledger by an old name is of a table, and not of one that has that name itself."""
    endings = [*TABLE_ENDINGS, *(f"{ending}.gz" for ending in TABLE_ENDINGS)]
    named = (data.with_name(f"{_old_name(data)}{ending}") for ending in endings)
    return not any(path.exists() and path.name != data.name for path in named)


def _called(data: Path, name: str) -> Path:
    return data.with_name(f"{name}{ENDING}")


def in_the_users_folder(beside: Path) -> Path:
    """Return the file for data in a folder that cannot be written."""
    root = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    digest = hashlib.sha256(os.fsencode(beside.resolve())).hexdigest()[:12]
    return root / "jaxdp" / "ledgers" / f"{beside.name.removesuffix(ENDING)}-{digest}{ENDING}"


@contextlib.contextmanager
def in_one_line(ledger: DatasetLedger) -> Iterator[None]:
    """Turn what is wrong with the file, or with the budget, into an error of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"--ledger={ledger.path}: cannot be used ({error.strerror}); name another file, or "
            "none for no ledger"
        ) from error
    except ValueError as error:
        raise InputError(str(error)) from error


def named(path: str) -> Contents:
    """Return what the ledger that --ledger names says of runs; there is one at least.

    Raises:
        InputError: there is no such file, no run is in it, or it was changed.
    """
    file = DatasetLedger(user_path(path, "ledger"))
    with in_one_line(file):
        found = file.read()
    if not found.entries:
        raise InputError(f"--ledger={path}: there is no such file, or no run is in it")
    return found
