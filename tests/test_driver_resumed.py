"""A second run of DP-KIP into the same folder: resumption, refusals, full disks."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from support import drivers, kip_runs
from support.drivers import names_in, read
from support.kip_runs import FILES, TOY, assert_refused, drive

from jaxdp.program.errors import InputError
from jaxdp.program.runs.folder import RunFolder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kip_runs.finished(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def test_a_folder_with_a_run_is_not_touched(copied: Path, capsys: pytest.CaptureFixture) -> None:
    assert_refused(capsys, "already holds a run; give --resume", *TOY, "--eps=5", out=copied)


def test_overwrite_replaces_the_run(copied: Path) -> None:
    assert drive(*TOY, "--eps=9", "--overwrite", f"--out_dir={copied}") == 0
    assert read(copied, "config.json")["eps"] == 9
    assert names_in(copied) == FILES


def test_resuming_a_finished_run_changes_nothing(copied: Path) -> None:
    before = (copied / "distilled.npz").read_bytes()
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copied}") == 0
    assert (copied / "distilled.npz").read_bytes() == before


def test_resuming_with_other_settings_is_refused(
    copied: Path, capsys: pytest.CaptureFixture
) -> None:
    expected = "--eps=6.0: the run in"
    assert_refused(capsys, expected, *TOY, "--eps=6", "--resume", out=copied)


def test_resume_where_there_is_nothing_starts_a_run(tmp_path: Path) -> None:
    assert drive(*TOY, "--resume", f"--out_dir={tmp_path / 'new'}") == 0
    assert names_in(tmp_path / "new") == FILES


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    flags = ("--ipc=1", "--steps=60", "--eval_every=3", "--batch_size=50", "--noise_seed=7")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    checkpoints = killed / "checkpoints"

    def has_checkpoint() -> bool:
        return checkpoints.is_dir() and any(p.name.isdigit() for p in checkpoints.iterdir())

    drivers.kill_when("experiments.dp_kip", *flags, f"--out_dir={killed}", ready=has_checkpoint)
    assert not (killed / "distilled.npz").exists()
    assert read(killed, "privacy.json")["num_steps"] == 60  # counted before they are run

    # Leftovers of writes that the kill may have hit.
    (killed / "metrics.json.part").write_text("{")
    (checkpoints / "57.orbax-checkpoint-tmp").mkdir()
    assert drive(*flags, "--resume", f"--out_dir={killed}") == 0
    assert drive(*flags, f"--out_dir={whole}") == 0
    with np.load(killed / "distilled.npz") as a, np.load(whole / "distilled.npz") as b:
        np.testing.assert_array_equal(a["x"], b["x"])
    steps = [point["step"] for point in read(killed, "metrics.json")["history"]]
    assert steps == list(range(0, 61, 3))
    assert read(killed, "privacy.json") == read(whole, "privacy.json")
    assert read(killed, "privacy.json")["releasable"] is False
    assert names_in(killed) == FILES


def test_a_checkpoint_without_its_evaluation_is_evaluated(copied: Path) -> None:
    metrics = read(copied, "metrics.json")
    metrics["history"].pop()
    metrics["finished"] = False
    (copied / "metrics.json").write_text(json.dumps(metrics))
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copied}") == 0
    after = read(copied, "metrics.json")
    assert after["finished"] is True
    assert [point["step"] for point in after["history"]] == [0, 2, 4, 6]


def test_guarantee_steps_whose_checkpoints_are_gone_are_not_released_again(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(copied / "checkpoints")
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copied}") == 2
    assert "steps up to 6 were released" in capsys.readouterr().err


def test_guarantee_a_run_does_not_go_on_with_other_noise(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate for today's noise would be wrong of the steps that had less."""
    config = read(copied, "config.json")
    config["ledger"]["steps"]["noise_multiplier"] /= 2
    (copied / "config.json").write_text(json.dumps(config))
    before = (copied / "privacy.json").read_bytes()
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copied}") == 2
    assert "config.json: the run was started with other numbers" in capsys.readouterr().err
    assert (copied / "privacy.json").read_bytes() == before


def test_out_dir_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "run").write_text("")
    assert_refused(capsys, "is a file; name a folder", *TOY, out=tmp_path / "run")


@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_foreign_files_are_never_removed(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "thesis.tex").write_text("all of it")
    assert_refused(capsys, "holds other files (thesis.tex)", *TOY, flag, out=tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "all of it"


def test_out_dir_in_use_by_another_run(copied: Path, capsys: pytest.CaptureFixture) -> None:
    with (copied / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_refused(capsys, "in use, another run", *TOY, "--eps=5", "--overwrite", out=copied)


def test_no_space_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert_refused(capsys, "no space, the run needs", *TOY, out=tmp_path / "run")


def test_no_space_while_writing_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        folder.write_bytes("metrics.json", b"old")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="no space left while writing"):
            folder.write_bytes("metrics.json", b"new")
        assert (tmp_path / "run" / "metrics.json").read_bytes() == b"old"
        assert names_in(tmp_path / "run") == {"metrics.json", ".lock"}


def test_runs_of_before_there_were_more_features_go_on_without(tmp_path: Path) -> None:
    """Their config does not name what may be on by default now."""
    (tmp_path / "config.json").write_text("{}")
    with RunFolder(str(tmp_path), resume=True, overwrite=False) as run:
        names = ("patches", "second_layer", "encoder", "brightness")
        for key in (*names, *(f"teacher_{name}" for name in names)):
            run.require_same_config({key: 0})
            with pytest.raises(InputError, match=f"was started with {key}=(0|False)"):
                run.require_same_config({key: 0.5}, open_before=(key,))
