"""The public arrays that runs keep: `python -m experiments.runs.public_cache` lists them.

`--clear` removes them.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from jaxdp.saved import public_cache
from jaxdp.saved.cache_folder import cache_folder


def _line(path: Path, stat: os.stat_result) -> str:
    try:
        what = path.with_suffix(".json").read_text()
    except (OSError, ValueError):
        what = "kept by an earlier version"
    day = time.strftime("%Y-%m-%d", time.localtime(stat.st_mtime))
    return f"{stat.st_size / 1e6:8.1f} MB  {day}  {path.name}  {what}"


def main(arguments: Sequence[str] | None = None) -> int:
    """List the arrays that are kept, with the day of their last use, or remove them all."""
    parser = argparse.ArgumentParser(description="Public arrays that runs keep; none is private.")
    parser.add_argument("--clear", action="store_true", help="Remove them all.")
    clear = parser.parse_args(arguments).clear
    files = public_cache.files()
    for path, stat in files:
        if clear:
            public_cache.remove(path)
        else:
            print(_line(path, stat))
    total = sum(stat.st_size for _, stat in files)
    verb = "removed" if clear else f"of at most {public_cache.MOST_BYTES / 1e6:.0f} MB"
    print(f"{len(files)} arrays, {total / 1e6:.1f} MB {verb}, in {cache_folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
