"""Make the pictures of docs/ui.md: the page in headless Chromium, on the bundled digits.

python tests/ui/pictures.py
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "images"
_WAIT = 300_000


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
        page = browser.new_page(viewport={"width": 1000, "height": 760})
        page.goto(found[0])
        page.get_by_role("button", name="Try bundled digits").click()
        page.get_by_text("1437 training images").wait_for(timeout=_WAIT)
        page.get_by_role("button", name="Run", exact=True).scroll_into_view_if_needed()
        page.wait_for_timeout(6000)  # until notes are gone
        page.screenshot(path=OUT / "ui_epsilon.png")
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator("iframe.report").wait_for(timeout=_WAIT)
        page.get_by_role("button", name="Pack", exact=True).scroll_into_view_if_needed()
        page.wait_for_timeout(3000)
        page.screenshot(path=OUT / "ui_report.png")
        browser.close()
        process.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
