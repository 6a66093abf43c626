"""A page in headless Chromium, at several widths, light or dark: what a script sees of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LIMIT_SECONDS = 120
_MEASURE = Path(__file__).with_name("measure.js")


def program() -> str:
    """Return Chromium's name; skip the test where it is not installed."""
    for name in _NAMES:
        if shutil.which(name):
            return name
    pytest.skip("Chromium is not installed: apt-get install chromium")


def measured(
    pages: dict[str, str], widths: tuple[int, ...], *, dark: bool, folder: Path
) -> list[dict[str, Any]]:
    """Return what a script sees of pages at widths in pixels, without network.

    Args:
        pages: by name.
        widths: of the windows.
        dark: whether the user prefers dark colours.
        folder: for the page around them and for Chromium's profile.
    """
    given = f"const pages = {json.dumps(pages)}, widths = {json.dumps(widths)};"
    script = given.replace("</", "<\\/") + _MEASURE.read_text()
    around = folder / "around.html"
    around.write_text(f'<!doctype html><meta charset="utf-8"><body><script>{script}</script>')
    scheme = 0 if dark else 1
    done = subprocess.run(
        [
            program(),
            *(
                "--headless",
                "--hide-scrollbars",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ),
            *(
                "--no-first-run",
                "--disable-background-networking",
                f"--user-data-dir={folder}/profile",
            ),
            f"--blink-settings=preferredColorScheme={scheme}",
            *("--virtual-time-budget=20000", "--dump-dom"),
            around.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=True,
    )
    body = done.stdout.partition("<body>")[2].rpartition("</body>")[0]
    found = json.loads(body.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert len(found) == len(pages) * len(widths), body
    return found


def pages_printed(page: str, folder: Path) -> int:
    """Return on how many sheets of paper a page is printed.

    Args:
        page: its text.
        folder: for files and Chromium's profile.
    """
    source, printed = folder / "page.html", folder / "page.pdf"
    source.write_text(page)
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    subprocess.run(
        [
            *(program(), *options, "--no-first-run", "--disable-background-networking"),
            *(f"--user-data-dir={folder}/profile", "--no-pdf-header-footer"),
            *(f"--print-to-pdf={printed}", source.as_uri()),
        ],
        capture_output=True,
        timeout=_LIMIT_SECONDS,
        check=True,
    )
    return len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
