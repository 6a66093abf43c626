"""Features of splits: in order, in chunks, and kept between runs only where that is asked for."""

import functools
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import drivers

from jaxdp.methods.steps import RowMap
from jaxdp.program.commands import dp_kip, dp_kip_teacher
from jaxdp.program.errors import InputError
from jaxdp.program.runs.rows import cache_for, features_of, require_apart

ROWS = np.arange(300 * 3, dtype=np.uint8).reshape(300, 3)
TOY = ("--dataset=digits", "--ipc=1", "--subset=60", "--steps=2", "--batch_size=20")


def scaled(by: float, dtype: type = np.float32, then: Any = None) -> RowMap:
    return RowMap(lambda rows: by * rows.astype(np.float32), {}, dtype, then)


features = functools.partial(features_of, rows=ROWS, description="rows")


def test_rows_are_mapped_in_their_order_whatever_the_chunks() -> None:
    for n in (1, 127, 128, 129, 300):
        found = features_of(scaled(2.0, np.float16), ROWS[:n], description="rows")
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, 2.0 * ROWS[:n])
        sums = scaled(2.0, np.float16, lambda rows: rows.sum(axis=1, keepdims=True, dtype="f4"))
        found = features_of(sums, ROWS[:n], description="rows")
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, 2.0 * ROWS[:n].sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="no rows"):
        features_of(scaled(2.0), ROWS[:0], description="rows")


def test_kept_features_are_used_again_for_the_same_rows_and_map(tmp_path: Path) -> None:
    cache = cache_for(str(tmp_path / "new" / "cache"), {"map": 1})
    assert cache is not None
    features(scaled(2.0), cache=cache)
    (file,) = cache.folder.glob("features_*")
    assert file.stat().st_mode & 0o077 == 0
    # What is used again is what is in the file: the last row is changed there to tell.
    stored = np.load(file)
    stored[-1] = 7.0
    np.save(file, stored)
    np.testing.assert_array_equal(features(scaled(2.0), cache=cache), stored)
    other = ROWS.copy()
    other[-1, -1] += 1
    found = features_of(scaled(2.0), other, description="rows", cache=cache)
    np.testing.assert_array_equal(found, 2.0 * other)
    assert len(list(cache.folder.glob("features_*"))) == 2


@pytest.mark.parametrize("harm", ["other map", "cut short", "other type"])
def test_a_file_of_something_else_is_made_anew(tmp_path: Path, harm: str) -> None:
    cache = cache_for(str(tmp_path), {})
    expected = np.array(features(scaled(2.0), cache=cache))
    (file,) = tmp_path.glob("features_*")
    if harm == "cut short":
        file.write_bytes(file.read_bytes()[:500])
    elif harm == "other type":
        np.save(file, expected.astype(np.float64))
    else:
        np.save(file, 2.1 * expected)
    np.testing.assert_array_equal(np.array(features(scaled(2.0), cache=cache)), expected)
    np.testing.assert_array_equal(np.load(file), expected)


def test_a_cache_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="--feature_cache="):
        cache_for(str(tmp_path / "file"), {})
    cache = cache_for(str(tmp_path / "gone"), {})
    assert cache is not None
    usage = shutil.disk_usage(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=100))
        with pytest.raises(InputError, match="more than is free"):
            features(scaled(2.0), cache=cache)
    assert [path.name for path in cache.folder.iterdir()] == [".secret"]
    shutil.rmtree(cache.folder)
    with pytest.raises(InputError, match="--feature_cache="):
        features(scaled(2.0), cache=cache)


@pytest.mark.parametrize(
    ("driver", "flags"),
    [(dp_kip, ("--kernel=scatter",)), (dp_kip_teacher, ("--distill_steps=2",))],
)
def test_drivers_give_the_same_result_with_kept_features(
    tmp_path: Path, driver: object, flags: tuple[str, ...]
) -> None:
    runs = [tmp_path / name for name in ("first", "second")]
    kept: dict[Path, int] = {}
    for run in runs:
        cache = f"--feature_cache={tmp_path / 'cache'}"
        common = (*TOY, *flags, cache, "--noise_seed=0", f"--out_dir={run}")
        assert drivers.drive(driver.main, *common) == 0  # type: ignore[attr-defined]
        found = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("features_*")}
        assert len(found) == 2
        assert kept in ({}, found)
        kept = found
    for name in ("config.json", "privacy.json"):
        assert len({(run / name).read_text() for run in runs}) == 1
    first, second = (np.load(run / "distilled.npz")["x"] for run in runs)
    np.testing.assert_array_equal(first, second)


def test_guarantee_names_of_files_tell_nothing_about_the_data(tmp_path: Path) -> None:
    """Names are keyed by a secret of the folder: who guesses the rows cannot check the guess."""
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    first, second = (cache_for(str(tmp_path / name), {"map": 1}) for name in ("a", "b"))
    assert first is not None
    assert second is not None
    assert first.path(rows, np.float32).name != second.path(rows, np.float32).name
    again = cache_for(str(tmp_path / "a"), {"map": 1})
    assert again is not None
    assert again.path(rows, np.float32) == first.path(rows, np.float32)
    secret = tmp_path / "a" / ".secret"
    assert len(secret.read_bytes()) == 32
    assert secret.stat().st_mode & 0o077 == 0
    assert (tmp_path / "a").stat().st_mode & 0o077 == 0


def test_guarantee_kept_features_of_other_rows_are_not_taken_for_these(tmp_path: Path) -> None:
    """The first rows are compared: those after them are another person's, or of other data."""
    cache = cache_for(str(tmp_path), {})
    rows = np.zeros((2000, 3), np.float32)
    features(scaled(2.0), rows=rows, cache=cache)
    rows[-1] = 1
    np.testing.assert_array_equal(features(scaled(2.0), rows=rows, cache=cache), 2 * rows)


def test_guarantee_kept_features_are_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While they are written, too, and whatever files are by default."""
    modes = []
    open_memmap = np.lib.format.open_memmap

    def spied(path: Path, **options: object) -> np.memmap:
        modes.append(path.stat().st_mode & 0o077)
        return open_memmap(path, **options)

    monkeypatch.setattr(np.lib.format, "open_memmap", spied)
    before = os.umask(0)
    try:
        cache = cache_for(str(tmp_path / "cache"), {})
        features(scaled(2.0), cache=cache)
    finally:
        os.umask(before)
    assert modes == [0]
    assert cache is not None
    assert all(path.stat().st_mode & 0o077 == 0 for path in cache.folder.iterdir())


def test_guarantee_features_are_not_kept_where_files_may_leave(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (tmp_path / "link").symlink_to(run)
    for inside in (run, run / "cache", tmp_path / "link/cache", tmp_path / "x/../run"):
        with pytest.raises(InputError, match="lies in --out_dir"):
            require_apart(str(inside), run)
    require_apart(str(tmp_path / "run2"), run)
    require_apart(None, run)
