"""Public arrays are computed once, and again where what was kept is of no use; they take no more
room than they may."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import drivers

from jaxdp.methods.steps import Watch
from jaxdp.program.commands import cache
from jaxdp.saved import public_cache
from jaxdp.saved.cache_folder import cache_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return cache_folder()


def keep(number: int, size: int = 3) -> None:
    public_cache.cached({"a": number}, lambda _: np.arange(float(size)))


def aged(folder: Path, days: float) -> None:
    """Make everything that is kept so many days older."""
    for path in folder.glob("*.npy"):
        used = path.stat().st_mtime - days * 86400
        os.utime(path, (used, used))


def kept(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.glob("*.json")}


def test_public_constants_are_computed_once_and_survive_a_broken_file(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def compute(watch: Watch) -> np.ndarray:
        calls.extend(watch([1]))
        return np.arange(3.0)

    for _ in range(2):
        np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
    assert len(calls) == 1
    public_cache.cached({"a": 2}, compute)
    assert len(calls) == 2
    for path in folder.iterdir():
        path.write_bytes(b"broken")
    np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "file"))
    (tmp_path / "a").write_text("in the way")
    np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))


def test_what_was_not_used_for_longest_gives_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_cache, "MOST_BYTES", 500)  # two files of 152 bytes and room
    for number in (1, 2, 3):
        keep(number)
        aged(folder, 1)
    keep(1)
    keep(4)
    assert kept(folder) == {'{"a": 1}', '{"a": 3}', '{"a": 4}'}
    keep(5, size=100)
    assert kept(folder) == {'{"a": 1}', '{"a": 3}', '{"a": 4}'}
    assert sum(path.stat().st_size for path in folder.glob("*.npy")) <= 500


def test_half_written_files_go_when_nobody_can_be_writing_them(folder: Path) -> None:
    folder.mkdir(parents=True)
    part = folder / "0.1.part.npy"
    part.touch()
    keep(1)
    assert part.exists()
    aged(folder, 2)
    keep(2)
    assert not part.exists()


def test_they_are_listed_and_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(1)
    (folder / "old.npy").write_bytes(b"of an earlier version")
    (folder / "programs").mkdir()
    assert drivers.drive(cache.main) == 0
    listed = capsys.readouterr().out
    assert '{"a": 1}' in listed
    assert "kept by an earlier version" in listed
    assert "2 arrays" in listed
    assert drivers.drive(cache.main, "--clear") == 0
    assert "2 arrays" in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["programs"]
    assert drivers.drive(cache.main) == 0
    assert "0 arrays" in capsys.readouterr().out
