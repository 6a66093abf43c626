"""Make a few images, or a generator, of private labelled images; how is chosen for your data.

jaxdp images scans/ --eps=2                      # a folder, CLASS/*.png in it
jaxdp images scans.npz --eps=2 --out_dir=runs/scans
jaxdp images digits                              # data known by a name
jaxdp images scans/ --eps=2 --method=dp_ntk      # a generator

The command says which method and settings it takes, and why: those that `jaxdp recommend` names
first. It chooses by public facts: shape, numbers of examples and classes, and epsilon. Flags that
you give stay as they are. `jaxdp run METHOD --help` has all flags of a method.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import chosen, command_line, named_data, several_processes

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
        named_data.name_data(argv[1:])
        chosen.check(asked.method)
        with named_data.as_typed(argv[1:]):
            chosen.run(asked.method)
