"""What goes wrong around a run: Ctrl-C, full disks, damaged checkpoints, clocks, links, bombs."""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import drivers
from support.drivers import damage, read

from jaxdp.methods.runner import next_length
from jaxdp.program import command_line
from jaxdp.program.commands import dp_kip, dp_ntk
from jaxdp.program.errors import InputError, StoppedError
from jaxdp.program.runs import metrics
from jaxdp.program.runs.checkpoints import Checkpoints
from jaxdp.program.runs.folder import RunFolder
from jaxdp.saved import npz as npz_files

kip = functools.partial(drivers.drive, dp_kip.main)
KIP = ("--ipc=1", "--steps=4", "--eval_every=2", "--batch_size=50", "--eps=5")
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# --- Damage -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("faults") / "run"
    assert kip(*KIP, f"--out_dir={out}") == 0
    return out


def test_a_finished_run_with_a_damaged_checkpoint_is_rebuilt_from_its_results(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    before = (out / "distilled.npz").read_bytes()
    damage(out / "checkpoints", 4)
    assert kip(*KIP, "--resume", f"--out_dir={out}") == 0
    assert "The run is whole: distilled.npz is used" in capsys.readouterr().err
    assert (out / "distilled.npz").read_bytes() == before
    (out / "distilled.npz").unlink()
    assert kip(*KIP, "--resume", f"--out_dir={out}") == 2
    said = capsys.readouterr().err
    assert "release steps 3 to 4 a second time" in said
    assert said.count("\n") == 1


# --- A full disk, whatever is written ----------------------------------------------------------


class FullDisk:
    """Lets so many operations on files succeed, then none that writes."""

    def __init__(self, allowed: int) -> None:
        self.left = allowed

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise FULL
            return function(*args, **kwargs)

        return call


def fill_disk(patch: pytest.MonkeyPatch, allowed: int) -> FullDisk:
    disk = FullDisk(allowed)
    patch.setattr(os, "fsync", disk.wrap(os.fsync))
    patch.setattr(Path, "replace", disk.wrap(Path.replace))
    patch.setattr(Checkpoints, "save", disk.wrap(Checkpoints.save))
    return disk


def valid(folder: Path) -> None:
    """Check that every file that has its name is whole."""
    for path in folder.glob("*.json"):
        json.loads(path.read_text())
    for path in folder.glob("*.npz"):
        npz_files.load(path)


def test_a_full_disk_at_every_write_is_one_line_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = (*KIP, "--noise_seed=1")
    assert kip(*flags, f"--out_dir={tmp_path / 'whole'}") == 0
    expected = (tmp_path / "whole" / "distilled.npz").read_bytes()
    out, writes = tmp_path / "run", 0
    while True:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            disk = fill_disk(patch, allowed=writes)
            code = kip(*flags, "--resume", f"--out_dir={out}")
        valid(out)
        if disk.left >= 0:
            break
        assert code == 2
        said = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
        assert len(said) == 1, said
        assert f"--out_dir={out}" in said[0]
        assert "--resume" in said[0]
        writes += 1
    assert code == 0
    assert writes >= 8
    assert (out / "distilled.npz").read_bytes() == expected


def test_a_folder_that_cannot_be_read_or_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(self: Path, *_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", denied)
        (tmp_path / "run").mkdir()
        assert kip(*KIP, f"--out_dir={tmp_path / 'run'}") == 2
    said = capsys.readouterr().err
    assert said == f"error: --out_dir={tmp_path}/run: cannot be read (Permission denied)\n"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", denied)
        assert kip(*KIP, f"--out_dir={tmp_path / 'run'}") == 2
    said = capsys.readouterr().err
    assert said == f"error: --out_dir={tmp_path}/run: cannot be written (Permission denied)\n"


def test_a_folder_below_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert kip(*KIP, f"--out_dir={tmp_path}/file/run") == 2
    said = capsys.readouterr().err
    assert "cannot be written, as" in said
    assert f"{tmp_path}/file is not a folder that you may write in" in said


def test_metrics_that_no_run_writes_are_refused(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, before = finished / "metrics.json", (finished / "metrics.json").read_text()
    for content in (
        '{"history": 5}',
        '{"finished": 1}',
        '{"train_seconds": "long"}',
        "[1]",
        '{"x": NaN}',
        "[" * 9999,
    ):
        path.write_text(content)
        assert kip(*KIP, "--resume", f"--out_dir={finished}") == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1, said
        assert "metrics.json" in said[0]
    path.write_text(before)


def test_metrics_that_a_run_has_no_use_for_are_left_out(tmp_path: Path) -> None:
    """A history belongs to DP-KIP and to generators, and would be drawn on the page of others."""
    first = {"teacher_seconds": 0.0, "finished": False}
    judged = {"evaluation": {"mlp": {"mean": 0.5, "std": 0.0}}, "frechet": {"distance": 1.0}}
    stored = {"teacher_seconds": 2.0, "history": 5, "accuracy": 1} | judged
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        folder.write_json("metrics.json", stored)
        found = metrics.resumed(folder, first, point="krr_test_accuracy")
    assert found == first | {"teacher_seconds": 2.0} | judged


@pytest.mark.parametrize("found", [5, {"mlp": 5}, {"mlp": {}}, {"nobody": {"mean": 1.0}}, [1]])
def test_what_no_judge_has_found_is_left_out(tmp_path: Path, found: object) -> None:
    """An edited file would end the summary of a run in a traceback."""
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        folder.write_json("metrics.json", {"evaluation": found, "finished": True})
        assert metrics.resumed(folder, {"finished": False}) == {"finished": True}


# --- Ctrl-C, pipes, memory ---------------------------------------------------------------------


def ended(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop, command_line.one_line_errors():
        raise error
    return stop.value.code, capsys.readouterr().err  # type: ignore[return-value]


def test_every_end_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = ["jaxdp run dp_kip", "--eps=2", "--overwrite", "--out_dir=a b"]
    monkeypatch.setattr(command_line, "_TYPED", typed)
    assert ended(KeyboardInterrupt(), capsys) == (130, "stopped; no run was begun\n")
    code, said = ended(StoppedError(Path("run")), capsys)
    command = "jaxdp run dp_kip --eps=2 '--out_dir=a b' --resume"
    assert (code, said) == (130, f"stopped; --resume continues this run: {command}\n")
    code, said = ended(PermissionError(errno.EACCES, "Permission denied", "/x/y\nz"), capsys)
    expected = "error: /x/y z: Permission denied; put that right and run again\n"
    assert (code, said) == (2, expected)
    code, said = ended(MemoryError("Unable to allocate 9 TB"), capsys)
    assert (code, said.count("\n")) == (2, 1)
    assert "out of memory (Unable to allocate 9 TB)" in said
    code, said = ended(InputError("--x=\x1b[31m" + "long " * 999), capsys)
    assert "\\x1b[31m" in said
    assert len(said) < 1100
    with pytest.raises(ZeroDivisionError), command_line.one_line_errors():
        raise ZeroDivisionError("a bug keeps its traceback")


def test_an_interrupted_run_says_so_and_goes_on(tmp_path: Path) -> None:
    def run(error: BaseException) -> None:
        with RunFolder(tmp_path / "run", resume=True, overwrite=False) as folder:
            folder.write_json("config.json", {})
            raise error

    with pytest.raises(StoppedError):
        run(KeyboardInterrupt())
    assert drivers.names_in(tmp_path / "run") == {"config.json"}
    with pytest.raises(InputError, match="No space left on device; put that right and give --resu"):
        run(FULL)


@pytest.mark.slow
def test_ctrl_c_is_one_line_with_the_command_that_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    flags = ["--ipc=1", "--steps=100000", "--eval_every=2", "--batch_size=50", "--eps=50"]
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.dp_kip", *flags, f"--out_dir={out}"],
        cwd=drivers.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 120
    while not (out / "checkpoints" / "2").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    command = f"python -m experiments.dp_kip {' '.join(flags)} --out_dir={out} --resume"
    assert stderr.splitlines()[-1] == f"stopped; --resume continues this run: {command}"
    assert drivers.READ.fullmatch(stdout)


def test_a_closed_pipe_is_quiet() -> None:
    code = (
        "from jaxdp.program import command_line\n"
        "with command_line.one_line_errors():\n"
        "    print('x' * 10**6)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=drivers.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # type: ignore[union-attr]
    with process.stderr as said:  # type: ignore[union-attr]
        assert said.read() == b""
    assert process.wait(timeout=60) == 141


def test_a_home_folder_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--out_dir=~nobody-here/x", "--data_dir=~nobody-here"):
        assert kip(*KIP, "--dataset=x", flag) == 2
        assert "no such home folder" in capsys.readouterr().err or flag.startswith("--out")


# --- Clocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.0, -5.0, 1e-9])
def test_a_clock_that_stands_still_or_goes_back_doubles_the_steps(seconds: float) -> None:
    assert next_length(3, seconds) == 6


def test_slices_take_about_a_second() -> None:
    assert next_length(10, 0.8) == 12
    assert next_length(10, 100.0) == 1


def test_a_run_ends_whatever_the_clocks_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    backwards: Iterator[float] = (now - 100 * i for i in range(10**9))
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: next(backwards))
        patch.setattr(time, "monotonic", lambda: 5.0)
        assert kip(*KIP, f"--out_dir={tmp_path / 'run'}") == 0
    assert read(tmp_path / "run", "metrics.json")["finished"]


# --- The other drivers -------------------------------------------------------------------------


@pytest.mark.usefixtures("few_public_images")
def test_a_generator_is_trained_again_after_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ntk = functools.partial(drivers.drive, dp_ntk.main)
    flags = (
        "--ntk_width=8",
        "--steps=4",
        "--batch_size=40",
        "--num_synthetic=200",
        "--evaluate=none",
    )
    out = tmp_path / "generated"
    assert ntk(*flags, f"--out_dir={out}") == 0
    released, made = ((out / name).read_bytes() for name in ("embedding.npz", "synthetic.npz"))
    damage(out / "checkpoints", 4)
    capsys.readouterr()
    assert ntk(*flags, "--resume", f"--out_dir={out}") == 0
    assert f"WARNING: the checkpoint {out}/checkpoints/4 is damaged" in capsys.readouterr().err
    assert (out / "embedding.npz").read_bytes() == released
    assert (out / "synthetic.npz").read_bytes() == made


def test_tiny_budgets_are_planned_and_not_a_logarithm_of_zero() -> None:
    made = drivers.prepared("dp_kip", "--eps=0.0001", "--steps=2").plan
    assert 100 < made.mechanism.noise_multiplier < 1e6
