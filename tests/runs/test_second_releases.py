"""Nothing is released twice: neither by a run that goes on, nor by one with other numbers."""

from __future__ import annotations

import errno
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from support.generated_folder import written
from support.old_runs import of_version_0_1_0, planned_run, started
from support.teaching import SCATTERING_ALONE
from support.toy_runs import StoppedError, begun, forbidden, planned, run

from jaxdp.methods import certified, dp_ntk, teacher
from jaxdp.methods.stored import Stored
from jaxdp.methods.teacher.settings import MapOptions
from jaxdp.privacy import dp_sgd
from jaxdp.program.errors import InputError
from jaxdp.program.runs import driver, released
from jaxdp.program.runs import runner as run_runner
from jaxdp.program.runs.checkpoints import Checkpoints, DamagedError
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog

PRIVATE_LOOPS = ["dp_kip", "dp_kip_teacher"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as found:
        yield found


def test_guarantee_a_run_that_has_ended_since_is_not_overwritten(tmp_path: Path) -> None:
    """Two runs were started with one folder that was empty; one of them had to wait."""
    one, other = (RunFolder(tmp_path / "run", resume=False, overwrite=False) for _ in range(2))
    with one:
        one.write_json("config.json", {})
    with pytest.raises(InputError, match="already holds a run"), other:
        pytest.fail("it was entered")
    assert (tmp_path / "run/config.json").read_text().strip() == "{}"
    with RunFolder(tmp_path / "run", resume=True, overwrite=False):
        pass  # no lock was left


def test_a_disk_without_locks_is_told_from_a_run_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    folder = RunFolder(tmp_path / "run", resume=False, overwrite=False)
    with pytest.raises(InputError, match="cannot be locked"), folder:
        pytest.fail("it was entered")


@pytest.mark.parametrize("name", PRIVATE_LOOPS)
def test_guarantee_private_steps_are_not_repeatable(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Spy:
        def __init__(self, folder: Path, *, repeatable: bool) -> None:
            asked.append(repeatable)
            raise StoppedError

    monkeypatch.setattr(run_runner, "Checkpoints", Spy)
    for number, extra in enumerate(((), ("--noise_seed=0",), ("--eps=inf",))):
        with pytest.raises(StoppedError):
            run(name, *extra, f"--out_dir={tmp_path / str(number)}")
    assert asked == [False, True, True]


def test_guarantee_a_damaged_checkpoint_ends_a_private_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = (jnp.zeros((), jnp.int32), jnp.ones(3))
    for repeatable in (False, True):
        checkpoints = Checkpoints(tmp_path / str(repeatable), repeatable=repeatable)
        for step in (1, 2):
            checkpoints.save(step, state)
        for path in (tmp_path / str(repeatable) / "2").rglob("*"):
            if path.is_file():
                path.write_bytes(b"")
        if repeatable:
            assert checkpoints.restore(state) is not None
        else:
            with pytest.raises(DamagedError, match="a second time, beyond what privacy"):
                checkpoints.restore(state)
        checkpoints.close()
    assert "costs no privacy" in capsys.readouterr().err


def _without_checkpoints(name: str, out: Path, patch: pytest.MonkeyPatch, *extra: str) -> int:
    """Resume a run that notes two released steps and has no checkpoints; steps raise an error."""

    def stop(*_: Any, **__: Any) -> None:
        raise StoppedError

    patch.setattr(driver, "private_key", stop)
    with pytest.raises(StoppedError):
        run(name, *extra, f"--out_dir={out}")
    patch.undo()
    patch.setattr(dp_sgd, "noisy_mean", stop)
    (out / "released.json").write_text(json.dumps({"files": {}, "step": 2}))
    return run(name, *extra, f"--out_dir={out}", "--resume")


@pytest.mark.parametrize("name", PRIVATE_LOOPS)
def test_guarantee_released_steps_are_not_made_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _without_checkpoints(name, tmp_path / "run", monkeypatch) == 2
    assert "steps up to 2 were released" in capsys.readouterr().err


@pytest.mark.parametrize("name", PRIVATE_LOOPS)
def test_steps_with_the_same_noise_may_be_made_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoppedError):
        _without_checkpoints(name, tmp_path / "run", monkeypatch, "--noise_seed=0")


@pytest.mark.parametrize("name", PRIVATE_LOOPS)
def test_guarantee_a_state_is_kept_and_noted_before_it_is_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a step whose outcome was seen could be made again, by a run that was killed."""
    seen = []

    def look(self: Any, steps: Any, step: int, state: Any, note: Any) -> None:
        if steps.free:
            return
        kept = {int(path.name) for path in (tmp_path / "run" / "checkpoints").iterdir()}
        noted = json.loads((tmp_path / "run" / "released.json").read_text())["step"]
        seen.append(step)
        assert step in kept
        assert noted == step

    monkeypatch.setattr(run_runner.FolderRunner, "_note", look)
    monkeypatch.setattr(driver._Run, "_write", forbidden)
    extra = ("--eval_every=1",) if name == "dp_kip" else ()
    with pytest.raises(AssertionError, match="second"):
        run(name, *extra, f"--out_dir={tmp_path / 'run'}")
    assert seen == ([1, 2] if name == "dp_kip" else [2])


def _stored_teacher(plan: Any) -> Stored[Any]:
    return Stored(
        released=teacher.Released(np.ones((3, 10)), np.ones((10, 4))),
        options=MapOptions(**SCATTERING_ALONE | {"whiten": 0.0}),
        example_shape=(8, 8, 1),
        num_classes=10,
        certificate=certified.certificate(plan),
        source="",
    )


def test_guarantee_a_resumed_run_takes_the_teacher_and_means_that_were_released(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = _stored_teacher(planned("dp_kip_teacher", "--match=both"))
    released.write(ReleaseLog(folder), "teacher.npz", teacher.FORM, stored)
    monkeypatch.setattr(teacher.TeacherPlan, "release", forbidden)
    found = begun("dp_kip_teacher", folder, "--match=both")._released()
    np.testing.assert_array_equal(found.weights, stored.released.weights)
    np.testing.assert_array_equal(found.means, stored.released.means)


def test_guarantee_a_resumed_run_takes_the_embedding_that_was_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "run", mu=0.25)
    (path / "config.json").write_text("{}")
    monkeypatch.setattr(dp_ntk.NtkPlan, "release", forbidden)
    with RunFolder(path, resume=True, overwrite=False) as folder:
        found = begun("dp_ntk", folder)._released()
    np.testing.assert_array_equal(found.mu, 0.25)


def test_guarantee_an_embedding_is_released_once_and_stored(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is what the generator is trained on, not another draw."""
    drawn = iter((1.0, 2.0))

    def release(*_: Any) -> dp_ntk.Released:
        return dp_ntk.Released(jnp.full((2, 3), next(drawn)), jnp.full(2, 0.5))

    monkeypatch.setattr(dp_ntk.NtkPlan, "release", release)
    found = begun("dp_ntk", folder)._released()
    np.testing.assert_array_equal(found.mu, 1.0)
    stored = released.read(folder.path / "embedding.npz", dp_ntk.FORM)
    np.testing.assert_array_equal(stored.released.mu, 1.0)


@pytest.mark.parametrize("name", ["dp_ntk", "labelled"])
def test_guarantee_a_generator_whose_release_is_gone_is_not_trained_on_another(
    name: str, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps may have been seen, and were taken on a release that nobody has noted."""
    begun_run = begun(name, folder)
    monkeypatch.setattr(type(begun_run._plan), "release", forbidden)
    (folder.path / "checkpoints" / "1").mkdir(parents=True)
    with pytest.raises(InputError, match=r"npz: is gone, and checkpoints was made from it"):
        begun_run._released()


def test_guarantee_a_single_release_that_is_not_kept_is_not_made(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run would make it again: a method of a user's own may forget its form."""
    monkeypatch.setattr(dp_ntk.NtkPlan, "form", None)
    monkeypatch.setattr(dp_ntk.NtkPlan, "release", forbidden)
    with pytest.raises(ValueError, match="NtkPlan releases once and does not keep it"):
        begun("dp_ntk", folder)._released()


@pytest.mark.parametrize("name", ["dp_kip_teacher", "dp_ntk"])
def test_guarantee_a_release_is_on_disk_before_it_is_used(
    name: str, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed run would draw another one, and what was made of the first may have been seen."""
    begun_run = begun(name, folder)
    plan = type(begun_run._plan)
    file = folder.path / begun_run._plan.story.released

    def finish(self: Any, result: Any, runner: Any) -> None:
        assert file.exists()
        assert file.name in json.loads((folder.path / "released.json").read_text())["files"]
        raise StoppedError

    monkeypatch.setattr(plan, "finish", finish)
    with pytest.raises(StoppedError):
        begun_run.finish()


def test_guarantee_a_run_goes_on_with_the_numbers_it_started_with(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = started(path, planned_run(), resume=False)
    assert started(path, planned_run(), resume=True) == first
    with pytest.raises(InputError, match="other numbers than it would go on with"):
        started(path, planned_run(noise=2.0), resume=True)
    with pytest.raises(InputError, match=r"--seed=1: .* started with seed=0"):
        started(path, planned_run(seed=1), resume=True)
    assert json.loads((path / "privacy.json").read_text()) == first


def test_guarantee_an_unfinished_run_without_a_ledger_does_not_go_on(tmp_path: Path) -> None:
    of_version_0_1_0(tmp_path / "half", finished=False)
    with pytest.raises(InputError, match=r"started by version 0\.1\.0"):
        started(tmp_path / "half", planned_run(), resume=True)
    old = of_version_0_1_0(tmp_path / "whole", finished=True)
    found = started(tmp_path / "whole", planned_run(noise=5.0), resume=True)
    assert found["epsilon"] == old["epsilon"]
