"""Commands that a page starts: what they say, how they end, and that a page may go away."""

from __future__ import annotations

import threading
import time
from collections import deque
from pathlib import Path

import pytest

from jaxdp.program.ui import typed_words
from jaxdp.program.ui.jobs import Job, Jobs


def test_what_a_command_says_is_kept() -> None:
    job = Job(["--version"], "a title")
    job.wait()
    assert job.is_done
    assert job.code == 0
    assert [line.split()[0] for line in job.lines] == ["jaxdp"]


def test_what_ends_with_an_error_says_so() -> None:
    jobs = Jobs()
    job = jobs.start(["images", "/nowhere/at/all"], "none")
    job.wait()
    assert job.code == 2
    assert list(job.lines)[-1].startswith("error:")
    assert jobs.running == []
    assert jobs.get(job.name) is job
    assert jobs.get("other") is None


def test_progress_is_told_apart_from_lines() -> None:
    job = Job(["--version"], "any")
    job.wait()
    for part in (0, 67):
        job._heard(f"\x1b[32mtraining:  {part}%|######7   | 168/250 [00:20<00:08]\x1b[0m")
    job._heard("judging: 100%|##########| 3/3 [00:01<00:00]")
    assert job.phases == {"training": 0.67, "judging": 1.0}
    job._heard("counts all 28 pairs: 50 % of them")
    assert job.lines[-1] == "counts all 28 pairs: 50 % of them"


def test_warnings_are_kept_apart_each_once() -> None:
    job = Job(["--version"], "any")
    job.wait()
    for line in ("WARNING: few records", "a line", "WARNING: few records", "WARNING: odd"):
        job._heard(line)
    assert job.warnings == ["few records", "odd"]
    assert list(job.lines)[-4:].count("WARNING: few records") == 2


def test_lines_that_were_not_seen_are_told() -> None:
    job = Job(["--version"], "any")
    job.wait()
    assert job.lines_since(0)[1] == 1
    for number in range(500):
        job._heard(f"line {number}")
    assert job.lines_since(501) == ([], 501)
    assert job.lines_since(499) == (["line 498", "line 499"], 501)
    assert len(job.lines_since(0)[0]) == 400, "no more are kept"


def test_lines_that_come_while_others_are_told_are_told_once() -> None:
    job = Job(["--version"], "any")
    job.wait()
    job.lines = Slow(maxlen=400)
    speaks = threading.Thread(target=lambda: [job._heard(f"line {n}") for n in range(20)])
    speaks.start()
    told: list[str] = []
    seen = 1
    while speaks.is_alive():
        new, seen = job.lines_since(seen)
        told += new
        time.sleep(0.001)
    assert told + job.lines_since(seen)[0] == [f"line {number}" for number in range(20)]


class Slow(deque[str]):
    """Lines of which one is there some time before it is counted."""

    def append(self, line: str) -> None:
        super().append(line)
        time.sleep(0.005)


def test_a_folder_has_one_run_in_progress(tmp_path: Path) -> None:
    jobs = Jobs()
    job = jobs.start(["--version"], "any", tmp_path)
    job.wait()
    assert job.is_run
    assert jobs.of_folder(tmp_path) is None, "it has ended"
    job.code = None
    assert jobs.of_folder(tmp_path) is job
    assert jobs.of_folder(tmp_path / "other") is None
    assert jobs.of_folder(tmp_path / "other" / "..") is job, "paths are compared, not their words"
    assert jobs.of_words(["--version"]) is job
    assert jobs.of_words(["--version", "--more"]) is None


@pytest.mark.slow
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    words = ["run", "dp_kip", "--dataset=digits", "--ipc=1", "--steps=100000", "--eps=1"]
    job = Job([*words, f"--out_dir={tmp_path / 'run'}"], "long", tmp_path / "run")
    assert not typed_words.is_unfinished(tmp_path / "run")
    deadline = time.monotonic() + 120
    while not job.phases and time.monotonic() < deadline:
        time.sleep(0.2)
    job.stop()
    job.wait()
    assert job.code == 130
    assert any("--resume continues this run" in line for line in job.lines)
    assert typed_words.is_unfinished(tmp_path / "run")
    assert typed_words.folder_of(str(tmp_path / "run")) == tmp_path / "run"
    again = Job([*job.words, "--resume"], "long", tmp_path / "run")
    while not again.phases and not again.is_done and time.monotonic() < deadline:
        time.sleep(0.2)
    again.kill()
    again.wait()
    assert again.phases, list(again.lines)
    assert again.code == -9
