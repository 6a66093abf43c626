"""A killed run of a generator with a teacher goes on: each of them has checkpoints of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import toy_runs

from jaxdp.methods.dp_ntk.labels import release as labelled


def test_a_run_stopped_between_teacher_and_embedding_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """The teacher's steps are not taken again: they are accounted once."""
    flags = ("--eps=5", "--features=rff", f"--out_dir={tmp_path / 'run'}")

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(labelled.embedding, "release", stopped)
        assert toy_runs.run("labelled", *flags) == 130
    kept = tmp_path / "run" / "teacher_checkpoints"
    before = sorted(path.name for path in kept.iterdir())
    assert before
    capsys.readouterr()
    assert toy_runs.run("labelled", *flags, "--resume") == 0
    said = capsys.readouterr().err
    assert "damaged" not in said
    assert "private teacher:" not in said  # whose steps are taken under a bar
    assert sorted(path.name for path in kept.iterdir()) == before
    assert (tmp_path / "run" / "labelled.npz").exists()
