"""Make a few images, or a generator, of private labelled images; how is chosen for your data.

jaxdp images scans/ --eps=2                      # a folder, CLASS/*.png in it
jaxdp images scans.npz --eps=2 --out_dir=runs/scans
jaxdp images digits                              # data known by a name
jaxdp images scans/ --eps=2 --method=dp_ntk      # a generator

The command says which method and settings it takes, and why: those that `jaxdp recommend` names
first. It chooses by public facts: shape, numbers of examples and classes, and epsilon. Flags that
you give stay as they are. `jaxdp run METHOD --help` has all flags of a method.
"""

import contextlib
import dataclasses
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import chosen, command_line, several_processes
from jaxdp.program.errors import InputError

USAGE = "FOLDER_OR_NPZ [--flag=value ...]"
TAKES_FILES = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImagesFlags:
    """The flags of this program."""

    GROUP: ClassVar[str] = "method"

    method: str | None = setting(
        None,
        "{names} (default: what suits the data).",
        among=tuple(chosen.METHODS),
        usual=True,
    )

    def __post_init__(self) -> None:
        check_fields(self)


KIND, KINDS = "images", chosen.define(ImagesFlags, "teacher")


def main(argv: Sequence[str]) -> None:
    """Run what is chosen; bad input ends it with one line and exit code 2."""
    with several_processes.ending_together(), command_line.one_line_errors():
        asked = command_line.settings_of(ImagesFlags)
        command_line.prepare()
        name_data(argv[1:])
        chosen.check(asked.method)
        with as_typed(argv[1:]):
            chosen.run(asked.method)


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
        raise InputError(f"{word}: is neither a folder nor an npz file")
    _require_there(word, path)
    path = path.resolve() if path.name == ".." else path.absolute()
    name = path.stem if path.suffix == ".npz" else path.name
    return {"dataset": name, "data_dir": str(path.parent)}


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
