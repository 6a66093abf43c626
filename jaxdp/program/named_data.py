"""Words that name data on a command line, in the place of flags: a folder, a file or a name.

No flag is made here, so any program may take such words.
"""

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxdp.program import command_line
from jaxdp.program.errors import InputError

_TABLES = (".csv", ".tsv", ".parquet")
_INSTEAD = {".zip": "; unpack it, and name the folder with CLASS/*.png in it"}
_INSTEAD |= dict.fromkeys(_TABLES, '; tables are of "jaxdp table"')


def name_table(words: Sequence[str]) -> None:
    """Put --csv where a table is named.

    Raises:
        InputError: there are several words, or the flag is there, too.
    """
    if len(words) > 1:
        raise InputError(f"{words[1]}: unexpected argument; give one CSV or Parquet file")
    if words and command_line.is_given("csv"):
        raise InputError(f"{words[0]}: leave it out, --csv names the table")
    if words:
        command_line.put("csv", words[0])


def name_data(words: Sequence[str]) -> None:
    """Put --dataset and --data_dir where a path or a name is given."""
    if len(words) > 1:
        raise InputError(f"{words[1]}: unexpected argument; give one folder, npz file or name")
    if not words:
        if not command_line.is_given("dataset"):
            raise InputError("name a folder of images, CLASS/*.png in it, or an npz file")
        return
    (word,) = words
    if command_line.is_given("dataset"):
        raise InputError(f"{word}: leave it out, --dataset names the data")
    found = named(word)
    if "data_dir" in found and command_line.is_given("data_dir"):
        raise InputError(f"{word}: is a path; leave --data_dir out")
    for name, value in found.items():
        command_line.put(name, value)


def named(word: str) -> dict[str, Any]:
    """Return --dataset and --data_dir of a path, or --dataset alone of a name.

    Raises:
        InputError: it is a file that holds no images, or a path to nothing.
    """
    path = Path(word).expanduser()
    if not path.exists() and path.name == word:
        return {"dataset": word}  # known by its name, or in --data_dir
    if path.exists() and not path.is_dir() and path.suffix != ".npz":
        hint = _INSTEAD.get(path.suffix.lower(), "")
        raise InputError(f"{word}: is neither a folder nor an npz file{hint}")
    _require_there(word, path)
    path = path.resolve() if path.name == ".." else path.absolute()
    name = path.stem if path.suffix == ".npz" else path.name
    _require_own(word, path, name)
    return {"dataset": name, "data_dir": str(path.parent)}


def _require_own(word: str, path: Path, name: str) -> None:
    """Raise an `InputError` for a path by whose name other data would be read, or taken for public.

    Runs on datasets that everybody has are counted by no ledger, and have constants of their own.
    """
    from jaxdp.program.data.sources import TFDS_NAMES  # numpy: not before flags are parsed

    if path.exists() and name in ("digits", *TFDS_NAMES):
        raise InputError(
            f"{word}: data of this name are taken for the public ones; give your own another name, "
            f"and say --dataset={name} --data_dir={path.parent} for the public ones"
        )
    beside = path.with_name(f"{name}.npz")
    if path.is_dir() and beside.exists():
        raise InputError(f"{word}: {beside.name} is beside it; name that file, or move one of both")


def _require_there(word: str, path: Path) -> None:
    """Raise an `InputError` for a path at which there are no data, and none can be fetched."""
    from jaxdp.program.data.sources import TFDS_NAMES  # numpy: not before flags are parsed

    if path.exists() or path.with_name(f"{path.name}.npz").exists() or path.name in TFDS_NAMES:
        return
    there = path.parent.iterdir() if path.parent.is_dir() else ()
    names = [each.name for each in there if each.is_dir() or each.suffix == ".npz"]
    near = difflib.get_close_matches(path.name, names, n=1)
    meant = f"; did you mean {Path(word).parent / near[0]}?" if near else ""
    raise InputError(f"there is no folder {word}{meant}")


@contextlib.contextmanager
def as_typed(words: Sequence[str]) -> Iterator[None]:
    """Have errors about --dataset begin with the path or name that was typed in its place."""
    try:
        yield
    except InputError as error:
        flag = f"--dataset={command_line.FLAGS['dataset'].value}: "
        if not words or not str(error).startswith(flag):
            raise
        raise InputError(f"{words[0]}: {str(error).removeprefix(flag)}") from error
