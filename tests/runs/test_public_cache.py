"""Public arrays are computed once, and again where what was kept is of no use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import program_cache
from experiments.runs import public_cache


def test_public_constants_are_computed_once_and_survive_a_broken_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []

    def compute() -> np.ndarray:
        calls.append(1)
        return np.arange(3.0)

    for _ in range(2):
        np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
    assert len(calls) == 1
    public_cache.cached({"a": 2}, compute)
    assert len(calls) == 2
    for path in program_cache.cache_folder().iterdir():
        path.write_bytes(b"broken")
    np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "file"))
    (tmp_path / "a").write_text("in the way")
    np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
