"""What people do with folders and ledgers: every row of the table in docs/guarantee.md, done."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import drivers
from support.counted_runs import FILE, Bench, counted_plan, drawing
from test_runs_on_one_dataset import run, stored

from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.checkpoints import packed
from jaxdp.program.runs.folder import RunFolder

_PAGE = Path(__file__).parents[1] / "docs/guarantee.md"
_NOT_FOUND = "**Not found.**"
Case = Callable[[Bench], None]
CASES: dict[str, Case] = {}


def case(row: str) -> Callable[[Case], Case]:
    """Mark what does a row of the table."""

    def mark(of: Case) -> Case:
        CASES[row] = of
        return of

    return mark


def rows() -> dict[str, str]:
    """Return what the table says, by what is done."""
    table = _PAGE.read_text().partition("| what is done with folders and files |")[2]
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return {done.strip(): said.strip() for _, done, said, _ in (line.split("|") for line in lines)}


def halfway(bench: Bench) -> tuple[Path, Path]:
    """Return two folders of a run that was stopped after a step and before its file."""
    states = bench.states()
    state = next(s for s in states if (s / "run/checkpoints/1").exists())
    return bench.put(state, state), bench.put(state)


def finished(bench: Bench) -> Path:
    bench.go(bench.run)
    bench.look(bench.run)
    return bench.run


def entries(bench: Bench) -> int:
    return len(DatasetLedger(bench.ledger).read().entries)


@case("a finished folder is copied")
def _finished_copies(bench: Bench) -> None:
    path = finished(bench)
    shutil.copytree(path, bench.place / "copy")
    assert bench.resumed(path) == bench.resumed(bench.place / "copy") == ""


@case("an unfinished folder is copied, and both are resumed")
def _unfinished_copies(bench: Bench) -> None:
    first, second = halfway(bench)
    assert bench.resumed(second) == ""
    assert "counts releases of this run that" in bench.resumed(first)


@case("`config.json` alone is copied and resumed")
def _config_alone(bench: Bench) -> None:
    path, bare = finished(bench), bench.put(None)
    shutil.copyfile(path / "config.json", bare / "config.json")
    assert "does not know: it has no released.json" in bench.resumed(bare)
    assert [each.name for each in bare.iterdir()] == ["config.json"]


@case("a folder is moved or renamed")
def _moved(bench: Bench) -> None:
    path, _ = halfway(bench)
    path.rename(bench.place / "elsewhere")
    assert bench.resumed(bench.place / "elsewhere") == ""


@case("all files but one are deleted, and the rest is resumed")
def _all_but_one(bench: Bench) -> None:
    path = finished(bench)
    for kept in ("config.json", "released.json", "checkpoints", FILE, "privacy.json"):
        left = bench.place / f"only-{kept}"
        left.mkdir()
        for name in {"config.json", kept}:  # without the first one it is no run
            copy = shutil.copytree if (path / name).is_dir() else shutil.copyfile
            copy(path / name, left / name)
        assert bench.resumed(left), kept
        if kept != "config.json":
            (left / "config.json").unlink()
            with pytest.raises(InputError, match="holds other files"):
                RunFolder(left, resume=True, overwrite=False)


@case("a run that was stopped is resumed twice")
def _twice(bench: Bench) -> None:
    path, _ = halfway(bench)
    assert bench.resumed(path) == ""
    before = bench.ledger.read_bytes()
    assert bench.resumed(path) == ""
    assert bench.ledger.read_bytes() == before


@case("a finished run is resumed")
def _resumed_at_the_end(bench: Bench) -> None:
    """By a real driver, which makes its results again."""
    data, out = stored(bench.place / "data", seed=0), bench.place / "out"
    bench.ledger = data / "scans.ledger.jsonl"
    assert run(data, out) == 0
    before = bench.ledger.read_bytes()
    assert run(data, out, "--resume") == 0
    assert bench.ledger.read_bytes() == before
    assert run(data, out, "--resume", "--budget=1.2") == 0
    (out / "embedding.npz").unlink()
    assert run(data, out, "--resume") == 2


@case("two processes or machines are at work in one folder")
def _two_at_once(bench: Bench) -> None:
    path, other = halfway(bench)
    with RunFolder(path, resume=True, overwrite=False):
        assert "in use" in bench.resumed(path)
    flags = RunFlags(resume=True, ledger=str(bench.ledger))
    folder = RunFolder(other, resume=True, overwrite=False)
    with run_start.started(counted_plan(), flags, folder, {}) as found:  # the lock is not seen
        shutil.copytree(other, bench.place / "same")
        (bench.place / "same/.lock").unlink()
        assert bench.resumed(bench.place / "same") == ""
        with pytest.raises(InputError, match="nothing more is released here"):
            found.log.saving(2, packed(2, drawing().state)).__enter__()


@case("a folder is restored from a backup")
def _restored_folder(bench: Bench) -> None:
    path, backup = halfway(bench)
    assert bench.resumed(path) == ""
    assert "does not know" in bench.resumed(backup)


@case(
    "the ledger is restored from a backup, or cut at its end, and runs that it has lost are not "
    "resumed"
)
def _lost_entries(bench: Bench) -> None:
    """The loss itself is not found; it is made good where the folder is resumed."""
    bench.go(bench.place / "before")
    backup = bench.ledger.read_bytes()
    path = finished(bench)
    bench.ledger.write_bytes(backup)
    assert entries(bench) == 1
    assert bench.resumed(path) == ""
    assert entries(bench) == 2


@case("the ledger is restored, and a run is resumed that has released since")
def _restored_ledger(bench: Bench) -> None:
    path, _ = halfway(bench)
    backup = bench.ledger.read_bytes()
    assert bench.resumed(path) == ""
    bench.ledger.write_bytes(backup)
    assert "a released.json that is not the last" in bench.resumed(path)


@case("the clock is put back or forward")
def _clock(bench: Bench) -> None:
    path, copy = halfway(bench)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: 0.0)
        for each in (path / "released.json", path / "config.json", bench.ledger):
            os.utime(each, (4e9, 4e9))
        assert bench.resumed(path) == ""
        assert bench.resumed(copy)


@case("the data and the ledger beside them are moved")
def _data_moved(bench: Bench) -> None:
    """By a real driver, which looks for the ledger beside the data."""
    data = stored(bench.place / "data", seed=0)
    assert run(data, bench.place / "a") == 0
    data.rename(bench.place / "moved")
    bench.ledger = bench.place / "moved/scans.ledger.jsonl"
    assert run(bench.place / "moved", bench.place / "a", "--resume") == 0
    assert run(bench.place / "moved", bench.place / "b") == 0
    assert entries(bench) == 2


@case("the data are renamed or copied without their ledger")
def _data_copied(bench: Bench) -> None:
    """By a real driver; its certificate counts from nothing."""
    for name in ("data", "copy"):
        data = stored(bench.place / name, seed=0)
        assert run(data, bench.place / f"of-{name}") == 0
        assert drivers.read(bench.place / f"of-{name}", "privacy.json")["earlier_runs"] == []
    bench.ledger = data / "scans.ledger.jsonl"


@case("a run is resumed with `--ledger=none`")
def _without_ledger(bench: Bench) -> None:
    path, _ = halfway(bench)
    for ledger in ("none", None):
        assert "is counted in a ledger" in bench.resumed(path, ledger=ledger, dataset="digits")
    assert bench.resumed(path) == ""


@case("a run is resumed with another `--ledger`")
def _another_ledger(bench: Bench) -> None:
    path, copy = halfway(bench)
    other = bench.place / "other.ledger.jsonl"
    assert bench.resumed(path, ledger=str(other)) == ""
    (entry,) = DatasetLedger(other).read().entries
    assert entry.finished is not None
    bench.seen.clear()  # the copy is counted in the first one, and what is there in both
    assert bench.resumed(copy) == ""


@case("`--overwrite` replaces a run")
def _overwritten(bench: Bench) -> None:
    path = finished(bench)
    bench.go(path, resume=False, overwrite=True)
    bench.look(path)
    assert entries(bench) == 2


@case("a run is killed at any moment")
def _killed(bench: Bench) -> None:
    """After the ledger was told of each release, and before anything was in its place."""
    states = [s for s in bench.states() if list(s.glob("run/released.json.part"))]
    assert len(states) == 6  # before and after the ledger was told, of two steps and a file
    for state in states:
        bench.seen.clear()
        assert bench.resumed(bench.put(state, state)) == ""
        bench.require_counted()


@case("the disk is full")
def _disk_full(bench: Bench) -> None:
    path, _ = halfway(bench)
    for part in ("state.part", "released.json.part", f"{FILE}.part"):

        def full(descriptor: int, part: str = part) -> None:
            if os.readlink(f"/proc/self/fd/{descriptor}").endswith(part):
                raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(InputError, match="no space left"):
                bench.go(path)
        bench.look(path)
    assert bench.resumed(path) == ""


@case("an unfinished run of an earlier version is resumed")
def _of_an_earlier_version(bench: Bench) -> None:
    path, _ = halfway(bench)
    before = path.joinpath("released.json").read_bytes()
    bench.as_version_1()
    assert "by an earlier version, which did not tell" in bench.resumed(path)
    whole = finished_as_version_1(bench)
    assert bench.resumed(whole) == ""
    assert bench.resumed(whole) == ""
    assert path.joinpath("released.json").read_bytes() == before


def finished_as_version_1(bench: Bench) -> Path:
    """Leave a run that has finished, and a ledger in which it is of version 1."""
    path = bench.put(None)
    bench.ledger.unlink()
    bench.seen.clear()
    bench.go(path)
    (path / "metrics.json").write_text('{"finished": true}')
    bench.as_version_1()
    return path


def test_each_row_is_done_and_each_case_is_a_row() -> None:
    assert len(rows()) >= 15
    assert rows().keys() == CASES.keys()


@pytest.mark.parametrize("row", CASES)
def test_guarantee_what_the_table_says(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing more was seen than is counted, and the budget still holds, or it is marked."""
    bench = Bench(tmp_path, monkeypatch)
    if "real driver" in (CASES[row].__doc__ or ""):
        monkeypatch.undo()
    CASES[row](bench)
    if _NOT_FOUND in rows()[row]:
        return
    bench.require_counted()
    assert entries(bench) == (2 if re.search("are moved$|overwrite", row) else 1)
    bench.require_budget_holds()
