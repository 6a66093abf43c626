"""What a tab shows belongs to what is typed in it: later words end what earlier ones led to."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the extra [ui] is not installed")

from support.simulated_page import Simulated, opened

from jaxdp.program.ui import inputs
from jaxdp.program.ui.tab import free
from jaxdp.tables import rules

Script = Callable[[Simulated], Awaitable[None]]
Play = Callable[[Script], None]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return what plays a script in a tab, in a folder with two tables."""
    for name in ("stays", "visits"):
        write_table(tmp_path / f"{name}.csv")

    def played(script: Script) -> None:
        async def whole() -> None:
            async with opened(monkeypatch, tmp_path) as page:
                await script(page)

        asyncio.run(whole())

    return played


def write_table(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "ward"])
        writer.writerows([[20 + number % 60, "ab"[number % 2]] for number in range(80)])


@pytest.mark.parametrize(
    ("label", "text"),
    [("Most records of a person", "5"), ("Column of persons", "ward"), ("Path of the data", "x")],
)
def test_guarantee_a_reading_ends_where_it_is_said_otherwise(
    play: Play, label: str, text: str
) -> None:
    """A run protects as many records of a person as the page says when it is started."""

    async def script(page: Simulated) -> None:
        await page.reads("stays.csv")
        await page.agrees()
        page.type(label, text)
        assert page.tab.chosen is None
        assert page.tab.spec is None
        await page.until(lambda: not {"Run", "These are right"} & set(page.buttons))

    play(script)


def test_guarantee_a_run_has_the_reading_that_is_typed(play: Play) -> None:
    async def script(page: Simulated) -> None:
        await page.reads("stays.csv")
        page.type("Most records of a person", "5")
        await page.press("Read")
        await page.until(lambda: page.tab.chosen is not None)
        await page.agrees()
        await page.says("single person")
        await page.press("Run")
        await page.until(lambda: page.tab.job is not None)
        assert "--records_per_person=5" in page.tab.job.words

    play(script)


def test_guarantee_an_agreement_ends_where_something_else_is_said(play: Play) -> None:
    """And so does one that is followed by mistakes: no run takes what a form does not say."""

    async def script(page: Simulated) -> None:
        await page.reads("stays.csv")
        await page.agrees()
        page.type("least", "200")
        assert page.tab.spec is None
        assert page.tab.stored is None
        await page.until(lambda: "Run" not in page.buttons)
        page.type("largest", "100")
        await page.press("These are right")
        await page.says("A column has mistakes: see above.")
        assert page.tab.spec is None
        assert "Run" not in page.buttons
        page.type("largest", "300")
        await page.agrees()
        page.field("holds").value = "left out"
        assert page.tab.spec is None

    play(script)


def test_a_proposed_rule_is_not_ticked(play: Play, tmp_path: Path) -> None:
    facts = {"type": "date", "format": "%Y-%m-%d", "lower": "2020-01-01", "upper": "2020-12-31"}
    columns = {"start_date": facts, "end_date": facts}
    proposed = {"order": ["start_date", "end_date"], rules.PROPOSED: True}
    (tmp_path / "dates.csv").write_text("start_date,end_date\n" + "2020-01-05,2020-02-05\n" * 60)

    async def script(page: Simulated) -> None:
        for rule, is_ticked in ((proposed, False), ({**proposed}, True)):
            if is_ticked:
                del rule[rules.PROPOSED]
            schema = {"columns": columns, "rules": [rule]}
            (tmp_path / "dates.json").write_text(json.dumps(schema))
            await page.reads("dates.csv")
            await page.press("Change what is said")
            await page.says("Does this hold in every record that can occur?")
            assert page.boxes()[-1].value is is_ticked
            assert page.tab.agreed == ({0} if is_ticked else set())

    play(script)


def test_a_slow_reading_does_not_overtake_a_later_one(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, goes_on = inputs.read, threading.Event()

    def slow(word: str, typed: Any) -> Any:
        if word == "stays.csv":
            goes_on.wait(60)
        return read(word, typed)

    monkeypatch.setattr(inputs, "read", slow)

    async def script(page: Simulated) -> None:
        page.type("Path of the data", "stays.csv")
        await page.press("Read")
        await asyncio.sleep(0.1)
        await page.reads("visits.csv")
        goes_on.set()
        await asyncio.sleep(0.5)
        assert page.tab.chosen.path.name == "visits.csv"
        assert page.tab.out.endswith("visits")
        await page.says("Of " + str(page.tab.chosen.path))

    play(script)


@pytest.mark.parametrize("fault", ["is damaged", "are two"])
def test_guarantee_nobody_can_say_what_was_spent_by_a_ledger_that(
    play: Play, tmp_path: Path, fault: str
) -> None:
    (tmp_path / "2024.01.csv").write_bytes((tmp_path / "stays.csv").read_bytes())
    (tmp_path / "2024.01.ledger.jsonl").write_text('{"broken": 1}\n')
    if fault == "are two":
        (tmp_path / "2024.ledger.jsonl").write_text("")

    async def script(page: Simulated) -> None:
        await page.reads("2024.01.csv")
        await page.agrees()
        await page.says("Nobody can say: ")
        assert not any("Nothing, by" in text for text in page.texts)

    play(script)


def test_guarantee_what_an_epsilon_means_is_by_all_flags(play: Play) -> None:
    async def script(page: Simulated) -> None:
        await page.reads("stays.csv")
        await page.agrees()

        def means() -> str:
            return page.texts[page.texts.index("What it means") + 1]

        before = means()
        page.type("As `jaxdp table --help` lists them", "--relation='replace'")
        await page.until(lambda: means() != before, "another meaning")
        page.type("As `jaxdp table --help` lists them", "--relation=other")
        await page.until(lambda: means().startswith("nobody can say: "), "a fault")
        page.type("As `jaxdp table --help` lists them", "--ledger=none")
        await page.says("no ledger counts the next run")
        for flag in ("--records_per_person=5", "--schema=other.json", "--flagfile=flags"):
            page.type("As `jaxdp table --help` lists them", flag)
            await page.press("Run")
            await page.says(f"{flag}: is ")
        assert list(page.jobs) == []

    play(script)


def test_a_list_that_is_open_stays_while_nothing_changes(play: Play) -> None:
    """What is shown again closes it, as the first look at the ledger did."""

    async def script(page: Simulated) -> None:
        await page.reads("digits")
        await page.until(lambda: "Run" in page.buttons, "the next steps")
        shown = page.field("What to make")
        await page.says("no ledger counts runs on them")
        assert page.field("What to make") is shown
        page.type("As `jaxdp images --help` lists them", "--relation=replace")
        await page.until(lambda: page.field("What to make") is not shown, "what is said anew")

    play(script)


@pytest.mark.parametrize(
    ("folder", "said"),
    [("~nobody-of-this-name/x", "no such home folder"), ("x" * 300, "name too long")],
)
def test_a_folder_that_cannot_be_is_told(play: Play, folder: str, said: str) -> None:
    async def script(page: Simulated) -> None:
        await page.reads("stays.csv")
        await page.agrees()
        page.type("Folder for the result, a new one", folder)
        await page.press("Run")
        await page.until(lambda: any(said in text.lower() for text in page.texts), said)
        assert list(page.jobs) == []
        page.type("Path of the data", f"{folder}.csv")
        await page.press("Read")
        await page.until(lambda: any(said in text.lower() for text in page.texts), said)

    play(script)


def test_guarantee_a_second_run_waits_for_the_schema_that_the_first_buys(play: Play) -> None:
    async def script(page: Simulated) -> None:
        await page.reads("stays.csv")
        await page.agrees()
        await page.press("Run")
        await page.until(lambda: page.tab.job is not None)
        await page.reads("stays.csv")
        await page.agrees()
        page.type("Folder for the result, a new one", "runs/other")
        await page.press("Run")
        await page.says("another run buys what is open of the schema of stays.csv now")
        assert len(list(page.jobs)) == 1
        page.tab.jobs.running[0].code = 0
        await page.press("Run")
        await page.until(lambda: len(list(page.jobs)) == 2, "a second run")

    play(script)


def test_names_that_are_no_text_are_shown_and_not_taken(play: Play, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.csv")).write_text("age\n1\n")
    (tmp_path / os.fsdecode(b"f\xff")).mkdir()

    async def script(page: Simulated) -> None:
        page.tab.folder = tmp_path
        await page.press("Look for it")
        await page.press("caf\\udce9.csv")
        await page.press("f\\udcff/")
        await page.says("Neither folders, npz files nor tables are in it.")
        await page.press("Take this folder")
        assert page.tab.word == ""
        for text in (*page.texts, *page.buttons):
            text.encode()

    play(script)


def test_a_table_without_a_line_of_names_is_read(play: Play, tmp_path: Path) -> None:
    lines = (f"{20 + each % 60};{'ab'[each % 2]};{each % 7},50" for each in range(80))
    (tmp_path / "bare.csv").write_text("\n".join(lines) + "\n")

    async def script(page: Simulated) -> None:
        page.type("Table without a line of names", "perhaps")
        page.type("Path of the data", "bare.csv")
        await page.press("Read")
        await page.says("perhaps is neither yes nor no")
        page.type("Table without a line of names", "yes")
        await page.reads("bare.csv")
        await page.says("column_1")
        await page.says("separator ';'; decimal ','; no line names the columns")
        await page.agrees()
        await page.press("Run")
        await page.until(lambda: page.tab.job is not None)
        assert "--no_header=True" in page.tab.job.words

    play(script)


def test_each_command_is_started_once(play: Play, tmp_path: Path) -> None:
    """However often a button is pressed, and in whichever tab."""
    folder = tmp_path / "runs" / "stays"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")

    async def script(page: Simulated) -> None:
        job = page.jobs.start(["table", "stays.csv", f"--out_dir={folder}"], "stays", folder)
        job.code = 130
        await page.press("Show")
        await page.says("For another run, read data in step 1.")
        assert "Another run" not in page.buttons, "there is none to be said in this tab"
        await page.press("Go on with it")
        await page.press("Go on with it")
        await page.until(lambda: page.tab.job is not job)
        assert len(list(page.jobs)) == 2
        page.tab.job.code = 0
        await page.press("Compare with the private records (stays here)")
        await page.press("Pack")
        await page.press("Pack")
        await page.until(lambda: page.tab.packing is not None)
        assert [job.words[0] for job in page.jobs] == ["table", "table", "table", "pack"]
        page.tab.packing.code = 0
        (folder.with_name("stays.zip")).write_text("of before")
        await page.press("Pack")
        await page.says("stays.zip: is there already; name a new file")
        assert len(list(page.jobs)) == 4

    play(script)


def test_a_free_name_keeps_the_numbers_of_a_name(tmp_path: Path) -> None:
    for name in ("patients-2023", "digits", "digits-2", "ward-7", "set.zip"):
        (tmp_path / name).mkdir()
    for name, expected in (
        ("patients-2024", "patients-2024"),
        ("patients-2023", "patients-2023-2"),
        ("digits", "digits-3"),
        ("digits-2", "digits-3"),
        ("ward-7", "ward-7-2"),
        ("set.zip", "set-2.zip"),
    ):
        assert free(tmp_path / name) == tmp_path / expected
    assert free(Path()) == Path()
