"""What tests of drivers share: runs in this process and in others, and refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from absl.testing import flagsaver

from jaxdp.methods.dp_kip.settings import Settings as KipSettings
from jaxdp.methods.dp_ntk.labels.settings import Settings as NtkSettings
from jaxdp.methods.marginals.settings import Settings as MarginalsSettings
from jaxdp.methods.teacher.settings import Settings as TeacherSettings
from jaxdp.program import command_line
from jaxdp.program.commands import dp_kip, dp_kip_teacher, dp_ntk, marginals
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import dataset_for
from jaxdp.program.run_flags import CountFlags, GenerateFlags, KipFlags, TeacherFlags
from jaxdp.program.runs import planning
from jaxdp.program.runs.folder import RunFolder

ROOT = Path(__file__).parents[2]
_LIMIT_SECONDS = 240
COMMON_FILES = {
    "README.md",
    "report.html",
    "metrics.json",
    "privacy.json",
    "released.json",
    "config.json",
    "checkpoints",
}
"""What every finished run leaves."""
ORBAX = ("checkpoints/", "teacher_checkpoints/", "generator/variables")
"""Folders whose files have names and times of their own: compare what they restore."""
FLAGS: dict[str, tuple[Any, Any]] = {
    "dp_kip": (KipFlags, KipSettings),
    "teacher": (TeacherFlags, TeacherSettings),
    "dp_ntk": (GenerateFlags, NtkSettings),
    "marginals": (CountFlags, MarginalsSettings),
}
"""The flags of a run and the settings of every method."""
_ENTRIES = (dp_kip, dp_kip_teacher, dp_ntk, marginals)  # define the flags


def drive(main: Callable[[Sequence[str]], None], *arguments: str) -> int:
    """Run a driver in this process; return its exit code."""
    with flagsaver.flagsaver():
        try:
            main(command_line.parse(["driver", *arguments]))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def settings(kind: Any, *arguments: str) -> Any:
    """Return a driver's settings with flags as given."""
    with flagsaver.flagsaver():
        command_line.parse(["driver", *arguments])
        return command_line.settings_of(kind)


class Prepared(NamedTuple):
    """A run as its driver has it before anything is written."""

    plan: Any
    folder: RunFolder
    flags: Any
    data: Dataset


def prepared(method: str, *arguments: str) -> Prepared:
    """Return a run as its driver prepares it, with flags as given."""
    run_flags, given = (settings(kind, *arguments) for kind in FLAGS[method])
    data = dataset_for(run_flags, seed=given.seed)
    plan, folder = planning.prepared(method, given, run_flags, data.spec)
    return Prepared(plan, folder, run_flags, data)


def read(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text())


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


READ = re.compile(
    r"\S+: \d+ training .+; \d+ test examples\n(preset: .+\n)?(expect: .+\n)?"
    r"estimate: about .+\n  start .+\n"
)
"""What a run says first, of data that it could read and of the time that it will take."""


def assert_refused(
    main: Callable[[Sequence[str]], None],
    capsys: pytest.CaptureFixture[str],
    expected: str,
    *arguments: str,
    out: Path | None = None,
) -> None:
    """Run; check for one clear line, exit code 2 and an untouched folder."""
    before = names_in(out) if out is not None and out.is_dir() else None
    capsys.readouterr()
    assert drive(main, *arguments, *([f"--out_dir={out}"] if out else [])) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert captured.out == "" or READ.fullmatch(captured.out)
    if out is not None:
        assert (names_in(out) if out.is_dir() else None) == before


def kill_when(module: str, *arguments: str, ready: Callable[[], bool], wait: float = 0.0) -> None:
    """Start a driver as a program and kill it `wait` seconds after something is there."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        limit = time.monotonic() + _LIMIT_SECONDS
        while not ready():
            assert process.poll() is None, "ended before it could be killed"
            assert time.monotonic() < limit, "was not ready in time"
            time.sleep(0.005)
        time.sleep(wait)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def damage(folder: Path, step: int) -> None:
    """Change one bit of the numbers, which orbax reads as if nothing were."""
    data = max((folder / str(step)).rglob("d/*"), key=lambda path: path.stat().st_size)
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
