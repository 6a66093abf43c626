"""Make the pictures of docs/ui.md: the page in headless Chromium, on the bundled digits.

python tests/ui/pictures.py
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import PIL.Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "images"
_WAIT, _COLOURS = 300_000, 128


def main() -> None:
    """Write them."""
    words = [sys.executable, "-m", "jaxdp", "ui", "--nobrowser"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            words, cwd=folder, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
        ) as process,
        sync_playwright() as driver,
    ):
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        assert found is not None
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 696})
        page.goto(found[0])
        page.get_by_role("button", name="Try bundled digits").click()
        page.get_by_text("1437 training images").wait_for(timeout=_WAIT)
        page.wait_for_timeout(2000)  # until notes are gone
        _shoot(page, "3  Epsilon", "ui_epsilon.png")
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator("iframe.report").wait_for(timeout=_WAIT)
        _shoot(page, "5  Look", "ui_report.png")
        browser.close()
        process.send_signal(signal.SIGINT)


def _shoot(page: Page, title: str, name: str) -> None:
    """Take a picture of what begins with a title, as large as the window, in few colours."""
    page.get_by_text(title).evaluate("title => title.parentElement.scrollIntoView()")
    page.mouse.move(0, 0)
    page.wait_for_timeout(2000)  # until all is drawn
    picture = PIL.Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(_COLOURS).save(OUT / name, optimize=True)


if __name__ == "__main__":
    main()
