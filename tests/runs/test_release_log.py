"""What is released is released once: notes, their order, and refusals on resumption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxdp.program.errors import InputError
from jaxdp.program.runs import release_log
from jaxdp.program.runs.folder import TEMPORARY, RunFolder
from jaxdp.program.runs.release_log import ReleaseLog

NAME = "embedding.npz"


class KilledError(BaseException):
    """Stands for a kill: nothing may be written after it."""


def opened(path: Path) -> RunFolder:
    resume = (path / "config.json").exists()
    return RunFolder(path, resume=resume, overwrite=False)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with opened(tmp_path / "run") as folder:
        folder.write_json("config.json", {})
        ReleaseLog(folder).write(NAME, b"released")
    return tmp_path / "run"


def test_a_release_is_noted_and_can_be_resumed(run: Path) -> None:
    assert (run / NAME).read_bytes() == b"released"
    with opened(run) as folder:
        log = ReleaseLog(folder)
        with pytest.raises(ValueError, match="released before"):
            log.write(NAME, b"again")
    assert (run / NAME).read_bytes() == b"released"


def test_guarantee_a_release_that_is_gone_is_not_made_again(run: Path) -> None:
    (run / NAME).rename(run.parent / "elsewhere.npz")
    with opened(run) as folder, pytest.raises(InputError, match=r"embedding\.npz: was released"):
        ReleaseLog(folder)


def test_guarantee_a_release_that_has_changed_is_refused(run: Path) -> None:
    (run / NAME).write_bytes(b"another")
    with opened(run) as folder, pytest.raises(InputError, match="is not the file that was"):
        ReleaseLog(folder)


@pytest.mark.parametrize("moment", ["part", "notes", "rename"])
def test_guarantee_a_run_killed_at_any_moment_releases_once(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the note nobody has seen the release; after it, resumption finishes the same one."""

    def kill(*_: object, **__: object) -> None:
        raise KilledError

    path = tmp_path / "run"
    with opened(path) as folder:
        folder.write_json("config.json", {})
        log = ReleaseLog(folder)
        if moment == "part":
            monkeypatch.setattr(release_log, "rename_durably", kill)
        elif moment == "notes":
            real = release_log.rename_durably
            monkeypatch.setattr(
                release_log,
                "rename_durably",
                lambda source, target: (kill if target.name == NAME else real)(source, target),
            )
        with pytest.raises(KilledError) if moment != "rename" else pytest.MonkeyPatch.context():
            log.write(NAME, b"first")
    monkeypatch.undo()
    with opened(path) as folder:
        log = ReleaseLog(folder)
        if moment == "part":
            assert not (path / NAME).exists()
            log.write(NAME, b"second")
    expected = b"second" if moment == "part" else b"first"
    assert (path / NAME).read_bytes() == expected
    assert not list(path.glob("*.part"))


def test_guarantee_released_steps_are_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with opened(path) as folder:
        folder.write_json("config.json", {})
        log = ReleaseLog(folder)
        with log.saving(7, b"state"):
            assert json.loads((path / release_log.NAME).read_text())["step"] == 7
            assert (path / "state.part").read_bytes() == b"state"  # until there is a checkpoint
        assert not (path / "state.part").exists()
    with opened(path) as folder:
        log = ReleaseLog(folder)
        log.require_step(7, b"state")
        with pytest.raises(InputError, match=r"steps up to 7 were released.*step 6"):
            log.require_step(6)
        for other in ((7, b"another"), (8, b"state")):
            with pytest.raises(InputError, match="is not the one that was released, of step 7"):
                log.require_step(*other)


def test_guarantee_a_noted_state_without_a_checkpoint_is_kept_for_one(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with opened(path) as folder:
        folder.write_json("config.json", {})
        with pytest.raises(KilledError), ReleaseLog(folder).saving(7, b"state"):
            raise KilledError
    for _ in range(2):  # it may be killed again
        with opened(path) as folder:
            assert ReleaseLog(folder).unsaved().__enter__() == (7, b"state")
    with opened(path) as folder:
        with ReleaseLog(folder).unsaved() as found:
            assert found == (7, b"state")
        with ReleaseLog(folder).unsaved() as found:
            assert found is None
    with opened(path) as folder:
        (path / "state.part").write_bytes(b"another")
        with ReleaseLog(folder).unsaved() as found:
            assert found is None
    assert not (path / "state.part").exists()


def test_guarantee_an_older_run_that_lost_its_release_is_refused(tmp_path: Path) -> None:
    """Version 0.1.0 took no notes: its results tell that there was a release."""
    path = tmp_path / "run"
    with opened(path) as folder:
        folder.write_json("config.json", {})
        log = ReleaseLog(folder)
        (path / "checkpoints").mkdir()
        log.require_unless_begun(NAME, "synthetic.npz", "checkpoints")
        (path / "checkpoints" / "3").mkdir()
        with pytest.raises(InputError, match="would be a second release"):
            log.require_unless_begun(NAME, "synthetic.npz", "checkpoints")
        (path / NAME).touch()
        log.require_unless_begun(NAME, "synthetic.npz", "checkpoints")


@pytest.mark.parametrize(
    "notes", [{"files": [], "step": 0}, {"files": {}, "step": -1}, {"files": {}, "step": "1"}, {}]
)
def test_notes_of_another_kind_are_refused(notes: dict, run: Path) -> None:
    (run / release_log.NAME).write_text(json.dumps(notes | {"more": 1}))
    with opened(run) as folder, pytest.raises(InputError, match="not what a run writes"):
        ReleaseLog(folder)


def test_guarantee_a_part_of_other_content_does_not_take_the_place_of_a_release(run: Path) -> None:
    (run / NAME).rename(run.parent / "elsewhere.npz")
    (run / f"{NAME}{TEMPORARY}").write_bytes(b"another draw")
    with opened(run) as folder, pytest.raises(InputError, match="was released and is gone"):
        ReleaseLog(folder)
    assert not (run / NAME).exists()
