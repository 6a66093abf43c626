"""Write all tables of the pages: beside the stored results, because it reads nothing else.

A page has marked blocks, `<!-- results: MODULE.FUNCTION -->` up to `<!-- end -->`, and a function
of this folder says what is in each: which runs, which columns, how rounded. `make results` writes
all blocks anew, and the figures that `jaxdp recommend` goes by; a test compares both with what is
there.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from benchmarks.pages import points
from benchmarks.pages.stored import ROOT

BLOCK = re.compile(
    r"^(<!-- results: (\w+)\.(\w+) -->\n).*?^(<!-- end -->)$", re.DOTALL | re.MULTILINE
)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def files() -> dict[Path, str]:
    """Return every file that is written, and what is in it."""
    made = {points.FILE: points.measured()}
    return made | {path: page(path.read_text()) for path in PAGES}


def page(text: str) -> str:
    """Return a page with its blocks written anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{block(found[2], found[3])}\n{found[4]}", text)


def block(module: str, function: str) -> str:
    """Return what is in a block."""
    made: str = getattr(importlib.import_module(f"benchmarks.pages.{module}"), function)()
    return made


def main() -> None:
    """Write the files that differ, and name them."""
    # The program, whose choices are on a page, reads its figures when it is imported.
    written(points.FILE, points.measured())
    for path, text in files().items():
        written(path, text)


def written(path: Path, text: str) -> None:
    """Write a file if it differs, and name it."""
    if not path.exists() or text != path.read_text():
        path.write_text(text)
        print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
