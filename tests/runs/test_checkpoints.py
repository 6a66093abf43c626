"""Checkpoints: a round trip, and what is done about damaged ones."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from support.drivers import damage

from jaxdp.program.runs.checkpoints import (
    Checkpoints,
    DamagedError,
    files_digest,
    restore_tree,
    save_tree,
)


def state(step: int) -> dict[str, Any]:
    return {"x": jnp.full((2, 3), float(step)), "step": jnp.asarray(step)}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Checkpoints of steps 2 and 4."""
    stored = Checkpoints(tmp_path / "checkpoints", repeatable=True)
    for step in (2, 4):
        stored.save(step, state(step))
    stored.close()
    return tmp_path / "checkpoints"


def restored(folder: Path, *, repeatable: bool) -> Any:
    stored = Checkpoints(folder, repeatable=repeatable)
    try:
        return stored.restore(state(0))
    finally:
        stored.close()


def test_checkpoints_survive_a_round_trip(saved: Path) -> None:
    found = restored(saved, repeatable=False)
    assert int(found["step"]) == 4
    np.testing.assert_array_equal(found["x"], state(4)["x"])


def test_guarantee_private_steps_are_not_made_again_after_a_damaged_checkpoint(
    saved: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(saved, 4)
    with pytest.raises(DamagedError, match="release steps 3 to 4 a second time"):
        restored(saved, repeatable=False)
    assert capfd.readouterr().err == ""


def test_free_steps_go_on_from_the_older_checkpoint_or_the_start(
    saved: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(saved, 4)
    assert int(restored(saved, repeatable=True)["step"]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"WARNING: the checkpoint {saved}/4 is damaged")
    assert said.count("\n") == 1
    damage(saved, 2)
    assert restored(saved, repeatable=True) is None
    stored = Checkpoints(saved, repeatable=True)  # and the same steps can be saved again
    stored.save(2, state(2))
    stored.close()
    assert int(restored(saved, repeatable=False)["step"]) == 2


def test_a_checkpoint_under_another_number_is_damaged(saved: Path) -> None:
    (saved / "4").rename(saved / "5")
    with pytest.raises(DamagedError, match="of step 5"):
        restored(saved, repeatable=False)


def test_a_checkpoint_of_another_shape_is_damaged(saved: Path) -> None:
    stored = Checkpoints(saved, repeatable=False)
    with pytest.raises(DamagedError):
        stored.restore({"x": jnp.zeros((3, 3)), "step": jnp.asarray(0)})
    stored.close()


def test_ctrl_c_waits_for_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Checkpoints(tmp_path / "checkpoints", repeatable=True)
    finished = stored._manager.wait_until_finished

    def pressed() -> None:
        signal.raise_signal(signal.SIGINT)
        finished()

    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(stored._manager, "wait_until_finished", pressed)
        with pytest.raises(KeyboardInterrupt):
            stored.save(1, state(1))
    assert signal.getsignal(signal.SIGINT) is handler
    stored.close()
    assert int(restored(tmp_path / "checkpoints", repeatable=False)["step"]) == 1


def test_a_full_disk_in_orbax_is_an_error_of_the_operating_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = Checkpoints(tmp_path / "checkpoints", repeatable=True)

    def full(*_: Any, **__: Any) -> None:
        raise ValueError("RESOURCE_EXHAUSTED: Failed to write to file 14 [os_error_code='28']")

    monkeypatch.setattr(stored._manager, "save", full)
    with pytest.raises(OSError, match="No space left"):
        stored.save(1, state(1))
    stored.close()


def test_a_tree_survives_a_round_trip_and_has_a_digest(tmp_path: Path) -> None:
    tree = {"params": {"kernel": np.arange(6.0).reshape(2, 3)}}
    save_tree(tmp_path / "tree", tree)
    before = files_digest(tmp_path / "tree")
    np.testing.assert_array_equal(
        restore_tree(tmp_path / "tree")["params"]["kernel"], tree["params"]["kernel"]
    )
    assert files_digest(tmp_path / "tree") == before
    data = max((tmp_path / "tree").rglob("d/*"), key=lambda path: path.stat().st_size)
    data.write_bytes(b"")
    assert files_digest(tmp_path / "tree") != before
    with pytest.raises(ValueError, match="Error"):
        restore_tree(tmp_path / "nothing")
