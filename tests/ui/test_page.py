"""The page in headless Chromium: from choosing data to a packed zip file, and who may watch."""

from __future__ import annotations

import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import chromium

import jaxdp

pytest.importorskip("nicegui", reason="the extra [ui] is not installed")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=document.title='taken'>"
QUOTED = 'it\'s "q"'
LONG = 240_000  # milliseconds, for a run on a busy machine
SECRET = "7131771"  # a value of the table that no log and no address may hold


class Served(NamedTuple):
    """A server in a folder of its own.

    Attributes:
        address: with its token.
        folder: that it works in.
        said: file of what it has printed.
        browser: headless Chromium.
    """

    address: str
    folder: Path
    said: Path
    browser: Any

    @property
    def host(self) -> str:
        return self.address.split("/")[2]

    def tab(self, **more: Any) -> Any:
        """Return a new tab of a browser of its own, at the page."""
        page = self.browser.new_context(**more).new_page()
        page.set_default_timeout(40_000)
        page.goto(self.address)
        return page


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    with (folder / "records.csv").open("w", newline="") as file:
        rng, writer = random.Random(0), csv.writer(file)
        writer.writerow(["age", HOSTILE, QUOTED, "start_date", "end_date"])
        for number in range(300):
            text = SECRET if number == 0 else rng.choice("xy")
            day = 1 + number % 28
            writer.writerow(
                [rng.randint(18, 90), text, 1.5, f"2020-01-{day:02d}", f"2020-02-{day:02d}"]
            )
    said = folder.parent / "said.txt"
    with (
        said.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "jaxdp", "ui", "--nobrowser"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(Path(jaxdp.__file__).parents[1])},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"http\S+", process.stdout.readline())
            assert found is not None, said.read_text()
            with api.sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=shutil.which(chromium.program()), args=["--no-sandbox"]
                )
                yield Served(found[0], folder, said, browser)
                browser.close()
        finally:
            process.send_signal(signal.SIGINT)


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def test_a_table_goes_from_a_file_to_a_packed_one(served: Served) -> None:
    page, asked = served.tab(), []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_label("Folder of images").fill("records.csv")
    press(page, "Read")
    page.get_by_text(HOSTILE).wait_for()
    page.get_by_text(QUOTED).wait_for()
    page.get_by_text("start_date <= end_date").click()
    least = page.get_by_label("least").first
    least.fill("many")
    press(page, "These are right")
    page.get_by_text("column 'age': the least and the largest value are numbers").wait_for()
    press(page, "Close")
    least.fill("0")
    page.get_by_label("largest").first.fill("120")
    press(page, "These are right")
    page.get_by_text("270 training records").first.wait_for()
    page.get_by_text("Nothing: no run is in a ledger").wait_for()
    press(page, "Run")
    page.get_by_role("button", name="Stop").wait_for()
    page.context.close()  # a closed browser does not stop a run

    other = served.tab(viewport={"width": 360, "height": 800}, color_scheme="dark")
    press(other, "Show")
    other.get_by_text("MAY BE RELEASED").last.wait_for(timeout=LONG)
    frame = other.frame_locator("iframe.report")
    frame.get_by_text("May leave").first.wait_for()
    press(other, "Pack")
    other.get_by_text("pack records.zip: done").wait_for(timeout=LONG)
    assert other.evaluate("document.documentElement.scrollWidth") == 360
    assert other.title() == "jaxdp"
    loaded = jaxdp.load(served.folder / "runs" / "records.zip")
    assert loaded.certificate.releasable
    assert (loaded.frame["start_date"] <= loaded.frame["end_date"]).all()
    assert loaded.frame["age"].between(0, 120).all()

    assert {url.split("/")[2] for url in asked} == {served.host}
    assert not any(SECRET in url or "records" in url or "age" in url for url in asked)
    assert served.said.read_text() == ""
    assert not (served.folder / ".nicegui").exists()
    again = served.tab()
    again.get_by_label("Folder of images").fill("records.csv")
    press(again, "Read")
    again.get_by_text("records.json is there, beside the table").wait_for()
    press(again, "These are right")
    again.get_by_text(re.compile("^all 2 together")).wait_for()  # the schema and the run


def test_digits_are_distilled_and_a_second_tab_sees_it(served: Served) -> None:
    page = served.tab()
    press(page, "Try bundled digits")
    page.get_by_text("1437 training images").wait_for()
    page.get_by_label("epsilon").first.click()
    page.get_by_role("option", name="3", exact=True).click()
    page.get_by_text("is right at most 6").wait_for()
    press(page, "Run")
    second = served.tab()
    second.get_by_text("digits, epsilon 3: running").wait_for()
    second.get_by_text("digits, epsilon 3: done").wait_for(timeout=LONG)
    page.get_by_text("MAY BE RELEASED").last.wait_for(timeout=LONG)
    page.frame_locator("iframe.report").get_by_text("May leave").first.wait_for()


def test_what_cannot_be_read_is_said(served: Served) -> None:
    page = served.tab()
    for word, said in (("", "name a folder"), ("nowhere.csv", "there is no such file")):
        page.get_by_label("Folder of images").fill(word)
        press(page, "Read")
        page.get_by_text(said).wait_for()
        press(page, "Close")
    press(page, "Look for it")
    page.get_by_role("button", name="records.csv").click()
    named = page.get_by_label("Folder of images")
    api.expect(named).to_have_value(re.compile(re.escape(f"{served.folder.name}/records.csv")))


def test_guarantee_who_has_no_cookie_sees_nothing(served: Served) -> None:
    page = served.browser.new_context().new_page()
    for path in ("", "?token=wrong", "report/any", "_nicegui/auto/index.html"):
        answer = page.goto(f"http://{served.host}/{path}")
        assert answer.status == 403
    elsewhere = served.tab()
    address = f"ws://{served.host}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    opened = """address => new Promise(done => {
        const socket = new WebSocket(address);
        socket.onopen = () => done(true); socket.onerror = () => done(false);
    })"""
    assert elsewhere.evaluate(opened, address), "the own page may"
    page.goto("about:blank")
    assert not page.evaluate(opened, address)
