"""Commands that a page starts: what they say, how they end, and that a page may go away."""

from __future__ import annotations

import time
from pathlib import Path

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
    job._heard("\x1b[32mtraining:  67%|######7   | 168/250 [00:20<00:08,  9.41step/s]\x1b[0m")
    assert job.progress == ("training", 0.67)
    job._heard("counts all 28 pairs: 50 % of them")
    assert job.lines[-1] == "counts all 28 pairs: 50 % of them"


def test_a_stopped_run_can_be_resumed(tmp_path: Path) -> None:
    words = ["run", "dp_kip", "--dataset=digits", "--ipc=1", "--steps=100000", "--eps=1"]
    job = Job([*words, f"--out_dir={tmp_path / 'run'}"], "long", tmp_path / "run")
    deadline = time.monotonic() + 120
    while job.progress is None and time.monotonic() < deadline:
        time.sleep(0.2)
    job.stop()
    job.wait()
    assert job.code == 130
    assert any("--resume continues this run" in line for line in job.lines)
