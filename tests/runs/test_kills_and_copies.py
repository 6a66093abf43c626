"""A run that is killed after any write, beside a copy of its folder from after any earlier one.

Whoever goes on first, one entry in the ledger stands for one release: what was seen of a step, or
of a file, is the same wherever it was seen.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.counted_runs import FILE, Bench, counted_plan, distinct, drawing

from jaxdp.privacy.dataset_ledger import DatasetLedger
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.checkpoints import packed
from jaxdp.program.runs.folder import RunFolder


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_guarantee_a_run_that_is_killed_after_any_write_goes_on_and_releases_once(
    bench: Bench,
) -> None:
    states = bench.states()
    assert len(states) > 15
    for state in states:
        bench.seen.clear()
        path = bench.put(state, state)
        assert bench.resumed(path) == "", state
        assert len(DatasetLedger(bench.ledger).read().entries) == 1
        assert {name: len(found) for name, found in bench.seen.items()} == {
            FILE: 1,
            "1": 1,
            "2": 1,
        }
        before = bench.ledger.read_bytes()
        assert bench.resumed(path) == ""
        assert bench.ledger.read_bytes() == before


@pytest.mark.parametrize("copy_first", [True, False])
def test_guarantee_of_a_run_and_any_copy_of_it_one_goes_on(bench: Bench, copy_first: bool) -> None:
    states, went_on = bench.states(), 0
    for number, state in enumerate(states):
        for older in distinct(states[:number], names=("config.json", "released.json*")):
            bench.seen.clear()
            both = (bench.put(older, state), bench.put(state))
            done = [not bench.resumed(path) for path in (both if copy_first else both[::-1])]
            bench.require_counted()
            went_on += sum(done)
            entered = len(DatasetLedger(bench.ledger).read().entries)
            assert entered in (1, 2)  # 2 where the copy is from before the run was entered
    assert went_on > len(states)


def test_guarantee_a_copy_of_config_json_alone_is_no_run_that_can_go_on(bench: Bench) -> None:
    for state in bench.states():
        bench.seen.clear()
        path, bare = bench.put(state, state), bench.put(None)
        if not (path / "config.json").exists():
            continue
        shutil.copyfile(path / "config.json", bare / "config.json")
        bench.resumed(bare)
        bench.resumed(path)
        bench.require_counted()


def test_guarantee_a_copy_that_goes_on_at_the_same_time_shows_nothing_that_is_not_counted(
    bench: Bench,
) -> None:
    """The copy is made and ends while the run itself is in the middle of a step."""
    states = bench.states()
    for moment in range(len(states)):
        bench.seen.clear()
        path = bench.put(states[1], states[1])
        writes = [0]

        def beside(moment: int = moment, path: Path = path, writes: list[int] = writes) -> None:
            bench.look(path)
            writes[0] += 1
            if writes[0] >= moment and not bench.has_ledger_locked:
                copy = bench.place / f"copy-{moment}"
                shutil.copytree(path, copy)
                (copy / ".lock").unlink()
                bench.resumed(copy)
                bench.at_each = lambda: bench.look(path)

        bench.at_each = beside
        refused = ""
        try:
            bench.go(path)
        except InputError as error:
            refused = str(error)
        assert refused == "" or "nothing more is released here" in refused
        bench.at_each = lambda: None
        bench.look(path)
        bench.require_counted()


@pytest.mark.parametrize("ends", [True, False])
def test_guarantee_a_run_that_was_overtaken_leaves_nothing_that_was_not_counted(
    bench: Bench, ends: bool
) -> None:
    states = bench.states()
    middle = next(state for state in states if (state / "run/checkpoints/1").exists())
    first, second = bench.put(middle, middle), bench.put(middle)
    flags = RunFlags(resume=True, ledger=str(bench.ledger))
    folder = RunFolder(second, resume=True, overwrite=False)
    with run_start.started(counted_plan(), flags, folder, {}) as found:
        if ends:
            assert bench.resumed(first) == ""
        else:  # it is killed after its next step
            other = RunFolder(first, resume=True, overwrite=False)
            with (
                run_start.started(counted_plan(), flags, other, {}) as ahead,
                ahead.log.saving(2, b"its state"),
            ):
                pass
        saving = found.log.saving(2, packed(2, drawing().state))
        with pytest.raises(InputError, match="nothing more is released here"):
            saving.__enter__()
    assert not list(second.glob("*.part"))
    assert not (second / "checkpoints/2").exists()
    assert "does not know" in bench.resumed(second)


def test_guarantee_a_finished_run_releases_nothing_more(bench: Bench) -> None:
    bench.go(bench.run)
    flags = RunFlags(resume=True, ledger=str(bench.ledger))
    folder = RunFolder(bench.run, resume=True, overwrite=False)
    with (
        pytest.raises(InputError, match="the run has finished"),
        run_start.started(counted_plan(), flags, folder, {}) as found,
    ):
        found.log.write("another.npz", b"fresh noise")
    assert not (bench.run / "another.npz").exists()


def test_guarantee_another_state_in_the_place_of_the_released_one_is_refused(
    bench: Bench,
) -> None:
    states = bench.states()
    path = bench.put(states[-1], states[-1])
    for name in ("2", "1"):
        (path / "checkpoints" / name).write_bytes(os.urandom(64))
        assert "checkpoint" in bench.resumed(path)
        (path / "checkpoints" / name).unlink()
