"""Processes that share a run release what one does; when one is gone, the others say so."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support import drivers, toy_runs

from jaxdp.processes import TooFewRowsError
from jaxdp.program.commands import dp_kip

# Slow: every process imports and compiles for itself.
pytestmark = pytest.mark.slow
COMMON = ("--eps=5", "--noise_seed=3", *toy_runs.SUBSET)
RELEASED = {"dp_kip": "distilled.npz", "labelled": "labelled.npz"}
CHANGES = {"labelled": ("--labels=teacher", "--features=rff")}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return int(found.getsockname()[1])


def started(method: str, out: Path, number: int, *flags: str) -> list[subprocess.Popen[str]]:
    """Start the processes of a run."""
    program = "dp_ntk" if method == "labelled" else method
    where = f"--coordinator=localhost:{free_port()}"
    return [
        subprocess.Popen(
            [
                *(sys.executable, "-m", f"experiments.{program}", f"--out_dir={out}", *flags),
                *(where, f"--num_processes={number}", f"--process_id={index}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
        )
        for index in range(number)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Return exit codes and what was said on standard error, bars and gloo's greetings aside."""
    try:
        said = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, each) for process, each in zip(processes, said, strict=True)]


@pytest.mark.parametrize(("method", "number"), [("dp_kip", 4), ("labelled", 2)])
def test_guarantee_processes_release_what_one_does(
    tmp_path: Path, method: str, number: int
) -> None:
    flags = (*toy_runs.DRIVERS[method][1], *COMMON, *CHANGES.get(method, ()))
    together = ended(started(method, tmp_path / "together", number, *flags))
    assert [code for code, _ in together] == [0] * number, together
    assert toy_runs.run(method, *flags, f"--out_dir={tmp_path / 'alone'}") == 0
    name = RELEASED[method]
    with np.load(tmp_path / "together" / name) as these, np.load(tmp_path / "alone" / name) as one:
        assert set(these) == set(one)
        for key in one:
            if one[key].dtype.kind == "f":
                # Features are stored in float16, and chunks of another size round otherwise: by
                # 2e-4 on some machines. Where a record is missing, weights move by units.
                np.testing.assert_allclose(these[key], one[key], atol=1e-3)
    for each in ("together", "alone"):
        assert (tmp_path / each / "report.html").exists()
    one_certificate, other = (
        drivers.read(tmp_path / each, "privacy.json") for each in ("together", "alone")
    )
    assert one_certificate["epsilon"] == other["epsilon"]


def test_when_a_process_is_killed_the_other_ends_in_a_line_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    flags = ("--ipc=1", "--steps=150", "--eval_every=3", "--batch_size=20", *COMMON)
    processes = started("dp_kip", out, 2, *flags)
    checkpoints = out / "checkpoints"
    deadline = time.monotonic() + 200
    while not (checkpoints.is_dir() and any(p.name.isdigit() for p in checkpoints.iterdir())):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    processes[1].kill()
    (code, said), _ = ended(processes)
    assert code == 1
    lines = [line for line in said.splitlines() if line.startswith("error")]
    assert len(lines) == 1, said
    assert "another process of this run has ended" in lines[0]
    assert "Traceback" not in said
    assert not (out / "distilled.npz").exists()
    assert [code for code, _ in ended(started("dp_kip", out, 2, *flags, "--resume"))] == [0, 0]
    assert (out / "distilled.npz").exists()


def test_fewer_examples_than_devices_are_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "60 examples are too few for 1000 devices"

    def own_part(num_rows: int) -> slice:
        raise TooFewRowsError(said)

    monkeypatch.setattr("jaxdp.processes.own_part", own_part)
    drivers.assert_refused(dp_kip.main, capsys, said, *COMMON, out=tmp_path / "run")


def test_bad_flags_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for flags, said in {
        ("--num_processes=2",): "need --coordinator",
        ("--coordinator=nowhere",): "not HOST:PORT",
        ("--coordinator=localhost:9", "--num_processes=2"): "--process_id",
        ("--coordinator=localhost:9", "--num_processes=2", "--process_id=2"): "--process_id",
        ("--coordinator=scheduler", "--process_id=0"): "from the scheduler",
    }.items():
        out = tmp_path / "run"
        drivers.assert_refused(dp_kip.main, capsys, said, *flags, out=out)
