"""The page in headless Chromium: from choosing data to a packed zip file, and who may watch."""

from __future__ import annotations

import contextlib
import csv
import http.client
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from support import chromium
from support.own_folder import write_shapes

import jaxdp

pytest.importorskip("nicegui", reason="the extra [ui] is not installed")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=document.title='taken'>"
QUOTED = 'it\'s "q"'
LONG = 240_000  # milliseconds, for a run on a busy machine
ODD = "<b onclick=1>'x\""  # a folder
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
    (folder / ODD).mkdir()
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
                    executable_path=shutil.which(chromium.program()),
                    args=["--no-sandbox"],
                )
                yield Served(found[0], folder, said, browser)
                browser.close()
        finally:
            process.send_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def shown(served: Served, request: pytest.FixtureRequest) -> Iterator[None]:
    """Print what the pages show where a test fails, and close them."""
    failures = request.session.testsfailed
    yield
    pages = [page for context in served.browser.contexts for page in context.pages]
    for page in pages if request.session.testsfailed > failures else []:
        for frame in page.frames:
            print(frame.url)
            with contextlib.suppress(api.Error):  # a frame that answers nothing
                print(frame.locator("body").inner_text(timeout=5000))
    for context in served.browser.contexts:
        context.close()


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def named(page: Any, word: str) -> None:
    """Name data, and read them."""
    page.get_by_label("Path of the data").fill(word)
    press(page, "Read")


def is_at_its_end(log: Any) -> bool:
    """Whether the last lines of a log can be seen."""
    area = log.locator(".q-scrollarea__container")
    area.page.wait_for_timeout(500)
    return bool(
        area.evaluate("area => area.scrollHeight - area.scrollTop - area.clientHeight < 3")
        and area.evaluate("area => area.scrollHeight > area.clientHeight")
    )


def log_of(page: Any) -> Any:
    """Return the lines that a run has said, as the page shows them."""
    return page.locator(".log")


def wait_for_result(page: Any) -> None:
    """Wait for the verdict, which the log has, too, and for the report."""
    page.get_by_text("MAY BE RELEASED, under").nth(1).wait_for(timeout=LONG)
    frame = page.frame_locator("iframe.report")
    frame.get_by_text("May leave").first.wait_for(timeout=LONG)


def test_a_table_goes_from_a_file_to_a_packed_one(served: Served) -> None:
    page, asked = served.tab(), []
    page.on("request", lambda request: asked.append(request.url))
    assert page.url == f"http://{served.host}/", "the token does not stay in the address"
    named(page, "records.csv")
    page.get_by_text(HOSTILE).wait_for()
    page.get_by_text(QUOTED).wait_for()
    page.get_by_text("start_date <= end_date").click()
    least, largest = (page.get_by_label(each).nth(0) for each in ("least", "largest"))
    least.fill("many")
    other = page.get_by_label("least").nth(1)
    other.fill("5")
    press(page, "These are right")
    beside = page.locator(".of-column").filter(has_text="age")
    beside.get_by_text("the least and the largest value are numbers").wait_for()
    page.get_by_text("2 columns have mistakes: see above.").wait_for()
    other.fill("")
    least.fill("0")
    largest.fill("120")
    press(page, "These are right")
    page.get_by_text("270 training records").first.wait_for()
    assert page.get_by_text("have mistakes").count() == 0
    page.get_by_text("Nothing, by their ledger.").wait_for()
    page.get_by_label("Limit for all runs together").fill("much")
    press(page, "Run")
    page.get_by_text("much: the most epsilon of all runs is a number").wait_for()
    page.get_by_label("Limit for all runs together").fill("4")
    press(page, "Run")
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_text("all 2 together").wait_for(timeout=LONG)  # the ledger is read while it runs
    assert page.get_by_text("Nothing, by their ledger.").count() == 0
    page.get_by_text("All runs together, with one more like this").wait_for()
    page.context.close()  # a closed browser does not stop a run

    other = served.tab(viewport={"width": 360, "height": 800}, color_scheme="dark")
    shows = other.get_by_role("button", name="Show", exact=True).element_handle()
    press(other, "Show")
    wait_for_result(other)
    assert shows.is_visible(), "the end of a run leaves buttons in place: no press is lost"
    assert other.locator("iframe.report").get_attribute("sandbox") == ""
    rows = other.locator(".made tbody tr")
    assert rows.count() == 10
    days = rows.locator("td:nth-last-child(1)").all_inner_texts()
    assert all(re.fullmatch(r"(\d{4}-\d\d-\d\d)?", day) for day in days), days
    assert other.locator(".made th").nth(1).inner_text() == HOSTILE
    assert is_at_its_end(log_of(other))
    press(other, "Compare with the private records (stays here)")
    compared = other.get_by_title("Comparison with private records")
    compared.wait_for(timeout=LONG)
    assert compared.get_attribute("sandbox") == ""
    other.get_by_text(re.compile("NOT FOR RELEASE: .* stays in .*not_for_release")).wait_for()
    within = other.frame_locator('iframe[title="Comparison with private records"]')
    within.get_by_text("NOT FOR RELEASE").wait_for()
    press(other, "Pack")
    other.get_by_text("pack records.zip: done").wait_for(timeout=LONG)
    assert other.evaluate("document.documentElement.scrollWidth") == 360
    assert other.title() == "jaxdp"
    loaded = jaxdp.load(served.folder / "runs" / "records.zip")
    assert loaded.certificate.releasable
    assert (loaded.frame["start_date"] <= loaded.frame["end_date"]).all()
    assert loaded.frame["age"].between(0, 120).all()

    assert {url.split("/")[2] for url in asked} == {served.host}
    assert not any(word in url for url in asked for word in (SECRET, "records", "start_date"))
    assert served.said.read_text() == ""
    assert not (served.folder / ".nicegui").exists()
    again = served.tab()
    named(again, "records.csv")
    again.get_by_text("records.json is there, beside the table").wait_for()
    again.get_by_text("age: whole numbers, 0 to 120").wait_for()
    press(again, "These are right")
    again.get_by_text(re.compile("all 2 together.*of at most 4")).wait_for()  # schema and run
    again.get_by_text("All runs together, with this one").wait_for()
    said_anew(again, served.folder)


def said_anew(page: Any, folder: Path) -> None:
    """Change what is said of columns after a run; what was bought serves again."""
    press(page, "Change what is said")
    page.get_by_text("is used again at no cost").wait_for()
    age = page.locator(".of-column").filter(has_text="age")
    api.expect(age.get_by_label("largest")).to_have_value("120")
    age.get_by_label("largest").fill("110")
    press(page, "These are right")
    page.get_by_text("is used again at no cost").wait_for()
    press(page, "Run")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text(re.compile("records-2, epsilon 1: (stopped|ended)")).first.wait_for(
        timeout=LONG
    )
    assert '"upper": 120' in (folder / "records.json.old").read_text()
    assert '"upper": 110' in (folder / "records.json").read_text()


def test_digits_are_distilled_and_a_second_tab_sees_it(served: Served) -> None:
    page = served.tab()
    press(page, "Try bundled digits")
    page.get_by_text("1437 training images").wait_for()
    page.get_by_role("radio", name="3", exact=True).click()
    page.get_by_text("is right at most 6").wait_for()
    assert page.locator(".curve img").evaluate("image => image.naturalWidth > 0")
    page.get_by_text("These data are public").wait_for()
    page.get_by_text("More flags").click()
    flags = page.get_by_label("As `jaxdp images --help` lists them")
    flags.fill("--eps=9")
    press(page, "Run")
    page.get_by_role("alert").get_by_text("--eps=9: is asked for in the form").wait_for()
    flags.fill("--distill_steps=20")
    press(page, "Run")
    second = served.tab()
    second.get_by_text("digits, epsilon 3: running").wait_for()
    press(second, "Show")
    second.get_by_text("private teacher", exact=True).wait_for(timeout=LONG)
    second.get_by_text("digits, epsilon 3: done").first.wait_for(timeout=LONG)
    for tab in (page, second):
        wait_for_result(tab)
        api.expect(log_of(tab)).to_contain_text("KRR test accuracy")
        assert is_at_its_end(log_of(tab))
        assert tab.locator(".made img").evaluate("image => image.naturalWidth > 0")


def test_a_run_that_is_stopped_goes_on(served: Served) -> None:
    page = served.tab()
    press(page, "Try bundled digits")
    page.get_by_text("1437 training images").wait_for()
    page.get_by_label("Folder for the result").fill("runs/long")
    page.get_by_text("More flags").click()
    page.get_by_label("As `jaxdp images --help` lists them").fill("--distill_steps=1500")
    press(page, "Run")
    page.get_by_text("distilling", exact=True).wait_for(timeout=LONG)
    press(page, "Stop")
    page.get_by_text("long, epsilon 1: stopped").first.wait_for(timeout=LONG)
    press(page, "Go on with it")
    page.get_by_text("long, epsilon 1: done").first.wait_for(timeout=LONG)
    press(page, "Another run")
    (served.folder / "runs" / "begun").mkdir()
    (served.folder / "runs" / "begun" / "config.json").write_text("{}")
    out = page.get_by_label("Folder for the result")
    api.expect(out).to_have_value("runs/long-2")
    out.fill("runs/begun")
    page.get_by_text("An unfinished run is in this folder").wait_for()
    page.get_by_role("button", name="Go on with it").wait_for()
    out.fill("runs/long")
    press(page, "Run")
    page.get_by_text("is there already; name a new folder").wait_for()


def test_a_folder_of_images_is_read_as_it_is_said(served: Served) -> None:
    write_shapes(served.folder / "shapes", 12)
    (served.folder / "shapes" / "circle").rename(served.folder / "shapes" / "<i>circle")
    page = served.tab(viewport={"width": 360, "height": 800})
    named(page, "shapes")
    page.get_by_text("images of 64x64 pixels, grey; 3 classes").wait_for()
    page.get_by_text("How it is read").click()
    page.get_by_role("textbox", name="Size of images").fill("16")
    press(page, "Read")
    page.get_by_text("images of 16x16 pixels, grey; 3 classes (<i>circle, square,").wait_for()
    page.get_by_label("What to make").click()
    page.get_by_role("option", name="as many examples as you like").click()
    page.get_by_text("Takes", exact=True).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_what_cannot_be_read_is_said(served: Served) -> None:
    page = served.tab()
    for word, said in (
        ("", "name a folder"),
        (f"{HOSTILE}.csv", f"{HOSTILE}.csv: there is no such file"),
    ):
        named(page, word)
        page.get_by_text(said).wait_for()
    press(page, "Look for it")
    page.get_by_role("button", name=f"{ODD}/").click()
    page.get_by_text("Neither folders, npz files nor tables are in it.").wait_for()
    press(page, "Up")
    page.get_by_role("button", name="records.csv").click()
    path = page.get_by_label("Path of the data")
    api.expect(path).to_have_value(re.compile(re.escape(f"{served.folder.name}/records.csv")))
    assert page.title() == "jaxdp"


def test_guarantee_who_has_no_cookie_sees_nothing(served: Served) -> None:
    page = served.browser.new_context().new_page()
    for path in (
        "",
        "?token=wrong",
        "report/any",
        "report/any/comparison",
        "_nicegui/auto/index.html",
    ):
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


def test_guarantee_the_browser_that_is_started_is_told_no_address(
    served: Served, tmp_path: Path
) -> None:
    """Its words are seen by all on this machine; a file that they name is not."""
    heard, program = tmp_path / "heard", tmp_path / "browser"
    program.write_text(
        f'#!/bin/sh\nprintf %s "$1" > "{heard}.part" && mv "{heard}.part" "{heard}"\n'
    )
    program.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-m", "jaxdp", "ui"],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": str(Path(jaxdp.__file__).parents[1]), "BROWSER": f"{program} %s"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 120
            while not heard.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            address = heard.read_text()
            file = Path(unquote(urlsplit(address).path))
            assert address.startswith("file:///")
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
            page = served.browser.new_context().new_page()
            page.goto(address)
            page.get_by_text("1  Data").wait_for()
            assert "token" not in page.url
            other = served.browser.new_context().new_page()
            other.goto(address)
            other.get_by_text("This page is for the browser that opened the address").wait_for()
        finally:
            process.send_signal(signal.SIGINT)


def test_guarantee_another_name_of_this_machine_is_refused(served: Served) -> None:
    """A real request, with a cookie that is right."""
    (cookie,) = served.tab().context.cookies()
    port = int(served.host.split(":")[1])
    for host, status in ((served.host, 200), (f"evil.example:{port}", 403)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        sent = {"Host": host, "Cookie": f"{cookie['name']}={cookie['value']}"}
        connection.request("GET", "/", headers=sent)
        assert connection.getresponse().status == status
        connection.close()


def test_guarantee_nobody_else_on_the_network_can_connect(served: Served) -> None:
    port = int(served.host.split(":")[1])
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=10)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])
def test_a_server_that_ends_stops_its_runs(how: signal.Signals, tmp_path: Path) -> None:
    program = (
        "import signal, sys\n"
        "from pathlib import Path\n"
        "from jaxdp.program.ui import jobs, server\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "started = jobs.Jobs()\n"
        "server.Jobs = lambda: started\n"
        "words = ['run', 'dp_kip', '--ipc=1', '--steps=100000', '--eps=1', '--out_dir=secret']\n"
        "started.start(words, 'secret', Path('secret').absolute())\n"
        "server.serve(port=0, folder=Path.cwd(), opens=False)\n"
        "print([job.code for job in started])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(jaxdp.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 120
        while not (tmp_path / "secret" / "config.json").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("open ")
        time.sleep(1)
        process.send_signal(how)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out.splitlines()[-1] == "[130]"
    assert err.startswith("stopping what runs; Ctrl-C again ends it at once\n")
    assert "secret" not in err + out
