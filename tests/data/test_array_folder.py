"""Arrays in npy files: mapped into memory, embedded in one pass, refused where they are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import drivers

from jaxdp.program.commands import dp_ntk
from jaxdp.program.data.load import load_dataset
from jaxdp.program.errors import InputError

TOY = ("--features=rff", "--steps=1", "--batch_size=20", "--num_synthetic=20", "--evaluate=none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a dataset `mine` of 40 and 10 grey images is."""
    rng = np.random.default_rng(0)
    (tmp_path / "mine").mkdir()
    for split, number in (("train", 40), ("test", 10)):
        images = rng.integers(0, 256, (number, 8, 8), np.uint8)
        np.save(tmp_path / "mine" / f"x_{split}.npy", images)
        np.save(tmp_path / "mine" / f"y_{split}.npy", np.arange(number) % 2)
    return tmp_path


def test_examples_stay_in_their_files(folder: Path) -> None:
    data = load_dataset("mine", data_dir=folder)
    assert data.spec.shape == (8, 8, 1)
    # A view of the mapped file, whichever axes it has got.
    assert isinstance(data.private.x, np.memmap)
    assert isinstance(data.private.rows, np.memmap)
    assert not data.private.x.flags.writeable


def test_a_run_makes_of_them_what_it_makes_of_an_npz_file(folder: Path) -> None:
    keys = ("x_train", "y_train", "x_test", "y_test")
    arrays = {key: np.load(folder / "mine" / f"{key}.npy") for key in keys}
    (folder / "npz").mkdir()
    np.savez(folder / "npz" / "mine.npz", **arrays)
    made = []
    for where in (folder, folder / "npz"):
        out = where / "run"
        flags = (*TOY, "--eps=5", "--delta=1e-3", "--noise_seed=2", "--dataset=mine")
        places = (f"--data_dir={where}", f"--out_dir={out}", "--ledger=none")
        assert drivers.drive(dp_ntk.main, *flags, *places) == 0
        with np.load(out / "embedding.npz") as released:
            made.append(released["mu"])
    np.testing.assert_array_equal(*made)


def test_bad_files_are_refused_in_one_line(folder: Path) -> None:
    file = folder / "mine" / "x_test.npy"
    good = file.read_bytes()
    objects = np.array([{}], object)
    np.save(file, objects, allow_pickle=True)
    with pytest.raises(InputError, match="cannot read"):
        load_dataset("mine", data_dir=folder)
    file.write_bytes(good[: len(good) // 2])
    with pytest.raises(InputError, match="cannot read"):
        load_dataset("mine", data_dir=folder)
    file.write_bytes(b"")
    with pytest.raises(InputError, match="cannot read"):
        load_dataset("mine", data_dir=folder)
    file.unlink()
    with pytest.raises(InputError, match="has no array"):
        load_dataset("mine", data_dir=folder)
    rows = np.zeros((10, 3), np.float32)
    rows[3, 1] = np.nan
    np.save(file, rows)
    with pytest.raises(InputError, match="has NaN or infinite"):
        load_dataset("mine", data_dir=folder)
