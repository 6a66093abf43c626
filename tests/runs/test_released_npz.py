"""Files of released arrays: a round trip, and one clear line for whatever else they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.errors import InputError
from experiments.runs import released_npz
from experiments.runs.folder import RunFolder
from experiments.runs.release_log import ReleaseLog

ARRAYS = {"weights": np.eye(3)}
META = {"shape": [3, 3], "certificate": {"epsilon": None}}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    with RunFolder(str(tmp_path / "run"), resume=False, overwrite=False) as folder:
        released_npz.write(ReleaseLog(folder), "teacher.npz", ARRAYS, META)
    return tmp_path / "run" / "teacher.npz"


def read(path: Path) -> Any:
    return released_npz.read(path, lambda *found: found, flag="teacher", what="a teacher")


def test_round_trip(stored: Path) -> None:
    arrays, meta = read(stored)
    assert list(arrays) == ["weights"]
    np.testing.assert_array_equal(arrays["weights"], ARRAYS["weights"])
    assert meta == META


def test_nan_is_refused_on_both_sides(tmp_path: Path) -> None:
    np.savez(tmp_path / "nan.npz", weights=np.array([np.nan]), meta=np.array("{}"))
    with pytest.raises(InputError, match=r"--teacher=.*weights is not finite"):
        read(tmp_path / "nan.npz")
    folder = RunFolder(str(tmp_path / "run"), resume=False, overwrite=False)
    with folder, pytest.raises(ValueError, match="not JSON compliant"):
        released_npz.write(ReleaseLog(folder), "x.npz", {}, {"eps": float("nan")})


def bad_file(kind: str, good: Path) -> Path:
    path = good.with_name(f"{kind}.npz")
    if kind == "truncated":
        path.write_bytes(good.read_bytes()[:200])
    elif kind == "text":
        path.write_text("epsilon = 1")
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "array":
        with path.open("wb") as file:
            np.save(file, np.eye(3))
    elif kind == "objects":
        np.savez(path, weights=np.array([{}], dtype=object), meta=np.array("{}"))
    elif kind == "json":
        np.savez(path, weights=np.eye(3), meta=np.array("{"))
    elif kind == "bare":
        np.savez(path, weights=np.eye(3))
    return path


KINDS = ("truncated", "text", "empty", "folder", "array", "objects", "json", "bare", "missing")


@pytest.mark.parametrize("kind", KINDS)
def test_any_other_file_is_one_clear_error(kind: str, stored: Path) -> None:
    with pytest.raises(InputError, match=rf"--teacher=.*{kind}\.npz: (is not a teacher|there is)"):
        read(bad_file(kind, stored))
