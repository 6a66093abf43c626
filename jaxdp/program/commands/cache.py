"""List the public arrays that runs keep in the user's cache folder, or remove them.

jaxdp cache
jaxdp cache --clear
"""

import dataclasses
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from jaxdp.methods.settings import check_fields, setting
from jaxdp.program import command_line


@dataclasses.dataclass(frozen=True, kw_only=True)
class CacheFlags:
    """The flags of this program."""

    GROUP: ClassVar[str] = "output"

    clear: bool = setting(False, "Remove all of them.")

    def __post_init__(self) -> None:
        check_fields(self)


KINDS = command_line.define(CacheFlags)


def _line(path: Path, stat: os.stat_result) -> str:
    try:
        what = path.with_suffix(".json").read_text()
    except (OSError, ValueError):
        what = "kept by an earlier version"
    day = time.strftime("%Y-%m-%d", time.localtime(stat.st_mtime))
    return f"{stat.st_size / 1e6:8.1f} MB  {day}  {path.name}  {what}"


def main(argv: Sequence[str]) -> None:
    """List the arrays that are kept, with the day of their last use, or remove them all."""
    del argv
    with command_line.one_line_errors():
        clear = command_line.settings_of(CacheFlags).clear
        from jaxdp.saved import public_cache  # imports jax: not before flags are parsed
        from jaxdp.saved.cache_folder import cache_folder

        files = public_cache.files()
        for path, stat in files:
            if clear:
                public_cache.remove(path)
            else:
                print(_line(path, stat))
        total = sum(stat.st_size for _, stat in files)
        verb = "removed" if clear else f"of at most {public_cache.MOST_BYTES / 1e6:.0f} MB"
        print(f"{len(files)} arrays, {total / 1e6:.1f} MB {verb}, in {cache_folder()}")
