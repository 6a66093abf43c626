"""Decoded images beyond a part of the memory: in a file without a name, with the same values."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from toy_data import save_image

from jaxdp.program.data import large_arrays
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.resizing import parse
from jaxdp.program.data.sources import Wanted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an image folder `toy` is, and a folder `temporary` for temporary files."""
    rng = np.random.default_rng(0)
    for number in range(12):
        image = rng.integers(0, 256, (6, 5, 3), np.uint8)
        split = "test" if number > 7 else "train"
        save_image(tmp_path / "toy" / split / "ab"[number % 2] / f"{number}.png", image)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def _loaded(folder: Path, size: str | None) -> Dataset:
    wanted = Wanted(size=parse(size))
    return load_dataset("toy", data_dir=folder, download=False, wanted=wanted)


@pytest.mark.parametrize("size", [None, "9x7"])
def test_images_are_those_in_memory_and_leave_no_file(
    size: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _loaded(folder, size)
    assert not isinstance(expected.private.x, np.memmap)
    monkeypatch.setattr("jaxdp.large_arrays.most_bytes", lambda: 50)
    found = _loaded(folder, size)
    assert isinstance(found.private.x, np.memmap)
    np.testing.assert_array_equal(found.private.x, expected.private.x)
    np.testing.assert_array_equal(found.test.x, expected.test.x)
    assert found.private.x.dtype == expected.private.x.dtype
    assert not list((folder / "temporary").iterdir())


def test_an_npz_file_that_is_resized_goes_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.zeros((4, 8, 8), np.uint8), np.arange(4) % 2
    np.savez(tmp_path / "toy.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    monkeypatch.setattr("jaxdp.large_arrays.most_bytes", lambda: 1500)
    assert not isinstance(_loaded(tmp_path, None).private.x, np.memmap)
    assert isinstance(_loaded(tmp_path, "40").private.x, np.memmap)


def test_sizes_beyond_whole_numbers_of_64_bits_do_not_wrap_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def no_room(_: int, start: int, size: int) -> None:
        asked.append((start, size))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    with pytest.raises(Exception, match=r"TMPDIR"):
        large_arrays.images("toy", (2**40, 2**12, 2**12, 3), np.dtype(np.uint16))
    assert asked == [(0, 6 * 2**64)]


def test_a_system_without_reservations_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _loaded(folder, None).private.x
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr("jaxdp.large_arrays.most_bytes", lambda: 50)
    np.testing.assert_array_equal(_loaded(folder, None).private.x, expected)


def test_other_errors_of_the_disk_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "posix_fallocate", broken)
    monkeypatch.setattr("jaxdp.large_arrays.most_bytes", lambda: 0)
    with pytest.raises(OSError, match="Input/output error"):
        large_arrays.images("toy", (2, 2, 2, 1), np.dtype(np.uint8))
