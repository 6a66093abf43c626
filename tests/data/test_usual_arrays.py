"""Arrays by the names that people give them: MedMNIST's, scikit-learn's, pairs without a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_data import IMAGES, check_message, save_image

from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError

Y = np.array([0, 1, 2, 0], np.uint8)
MED = {
    "train_images": IMAGES[:4],
    "train_labels": Y[:, None],
    "val_images": IMAGES[4:5],
    "val_labels": Y[1:2, None],
    "test_images": IMAGES[4:6],
    "test_labels": Y[:2, None],
}
MANY = np.arange(40 * 20, dtype=np.uint16).reshape(40, 4, 5)


def load(folder: Path, held: dict[str, Any], *, npz: bool = True, **wanted: Any) -> Dataset:
    if npz:
        np.savez(folder / "toy.npz", **held)
    else:
        (folder / "toy").mkdir()
        for name, array in held.items():
            np.save(folder / "toy" / f"{name}.npy", array)
    return load_dataset("toy", data_dir=folder, download=False, wanted=Wanted(**wanted))


@pytest.mark.parametrize("npz", [True, False], ids=["npz", "npy"])
def test_files_of_medmnist_are_read_as_they_are(tmp_path: Path, npz: bool) -> None:
    data = load(tmp_path, MED, npz=npz)
    np.testing.assert_array_equal(data.private.x[..., 0], IMAGES[:4])
    np.testing.assert_array_equal(data.private.y, Y)
    np.testing.assert_array_equal(data.test.x[..., 0], IMAGES[4:6])
    assert any("val_images" in note and "--validation adds them" in note for note in data.notes)


def test_the_validation_part_joins_the_training_part_where_that_is_asked_for(
    tmp_path: Path,
) -> None:
    data = load(tmp_path, MED, validation=True)
    np.testing.assert_array_equal(data.private.x[..., 0], IMAGES[[0, 1, 2, 3, 4]])
    np.testing.assert_array_equal(data.private.y, [*Y, 1])
    assert data.spec.num_examples == 5
    assert data.notes == ()


@pytest.mark.parametrize("npz", [True, False], ids=["npz", "npy"])
@pytest.mark.parametrize(
    ("x", "y"), [("X", "y"), ("x", "y"), ("images", "labels"), ("data", "target")]
)
def test_of_a_pair_a_part_is_held_out(tmp_path: Path, x: str, y: str, npz: bool) -> None:
    data = load(tmp_path, {x: MANY, y: np.arange(40) % 2}, npz=npz, test_fraction=0.25)
    assert (len(data.private.x), len(data.test.x)) == (30, 10)
    rows = {bytes(row) for row in np.concatenate([data.private.x, data.test.x])}
    assert rows == {bytes(row) for row in MANY}
    first = data.private.x.reshape(30, -1)[:, 0].astype(int)
    np.testing.assert_array_equal(data.private.y, first // 20 % 2)
    assert "0.25 of all examples are held out" in data.notes[0]


def test_guarantee_which_examples_are_held_out_depends_on_their_places_alone(
    tmp_path: Path,
) -> None:
    """And without the last example, one more or less is held out at most."""
    held = {"X": MANY, "y": np.arange(40) % 2}
    one = load(tmp_path, held, test_fraction=0.5)
    other = {"X": MANY[::-1].copy(), "y": np.arange(40) // 20}
    other = load(tmp_path, other, test_fraction=0.5)
    places = one.private.x.reshape(len(one.private.x), -1)[:, 0] // 20
    mirrored = 39 - other.private.x.reshape(len(other.private.x), -1)[:, 0] // 20
    np.testing.assert_array_equal(places, mirrored)
    shorter = load(tmp_path, {"X": MANY[:-1], "y": np.arange(39) % 2}, test_fraction=0.5)
    before, after = ({bytes(row) for row in each.private.x} for each in (one, shorter))
    assert len(before ^ after) <= 2


@pytest.mark.parametrize(
    ("held", "wanted", "said"),
    [
        ({"train_images": IMAGES}, {}, "no array train_labels, test_images, test_labels: store"),
        ({"X": IMAGES}, {}, "no array x_train, y_train, x_test, y_test: store"),
        ({"X": IMAGES, "y": Y}, {}, "store a label for each of two examples"),
        ({"X": IMAGES[:1], "y": Y[:1]}, {}, "store a label for each of two examples"),
        ({"X": np.float64(1), "y": Y}, {}, "store a label for each of two examples"),
        ({"X": IMAGES[:4], "y": Y}, {"validation": True}, "no validation part"),
        ({"X": IMAGES[:4], "y": Y, "group_train": Y}, {}, "group_train in"),
        ({k: v for k, v in MED.items() if "val" not in k}, {"validation": True}, "no validation"),
        (MED | {"val_images": IMAGES[:1, :2]}, {"validation": True}, "leave --validation out"),
        (MED | {"group_train": Y}, {"validation": True}, "of the training part alone"),
        (MED, {"test_fraction": 0.5}, "leave --test_fraction=0.5 out"),
        (MED, {"channels": 1}, "leave --channels=1 out"),
        (MED | {"train_images": IMAGES[:4] > 3}, {}, "train_images in"),
        (MED | {"test_images": IMAGES[4:6, :2]}, {}, "but (2, 5, 1) in test_images"),
        (MED | {"test_images": IMAGES[4:6] / 255}, {}, "train_images is uint8 but test_images is"),
        (MED | {"train_labels": Y[:3, None]}, {}, "train_labels in"),
        (MED | {"test_labels": Y[:2] + 0.5}, {}, "test_labels in"),
        ({"images": MANY, "labels": np.full(40, 0.5)}, {}, "labels in"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, held: dict[str, Any], wanted: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, held, **wanted)
    check_message(caught.value, "toy", said)


@pytest.mark.parametrize("stray", ["x", "images"])
def test_one_stray_file_makes_no_folder_of_arrays(tmp_path: Path, stray: str) -> None:
    for label in ("a", "b"):
        for number in range(2):
            save_image(tmp_path / "toy" / label / f"{number}.png", IMAGES[number])
    np.save(tmp_path / "toy" / f"{stray}.npy", IMAGES)
    data = load_dataset("toy", data_dir=tmp_path, download=False)
    assert data.spec.class_names == ("a", "b")
