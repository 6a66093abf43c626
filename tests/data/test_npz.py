"""Datasets from npz files, and every error they can give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_data import IMAGES, arrays, check_message

from jaxdp.data import Codec, kinds
from jaxdp.program import terminal
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.known import CLASS_NAMES
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.sources import TFDS_NAMES
from jaxdp.program.errors import InputError

ROWS = np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)


def in_a_line(data: Dataset) -> str:
    return terminal.in_a_line(data.spec, num_test=len(data.test.y))


def load_npz(folder: Path, name: str = "toy", **changes: Any) -> Dataset:
    np.savez(folder / f"{name}.npz", **arrays(**changes))
    return load_dataset(name, data_dir=folder, download=False)


def test_npz_of_grey_images(tmp_path: Path) -> None:
    dataset = load_npz(tmp_path)
    assert (dataset.spec.name, dataset.source) == ("toy", str(tmp_path / "toy.npz"))
    assert (dataset.spec.shape, dataset.spec.dim, dataset.spec.kind) == (
        (4, 5, 1),
        20,
        kinds.IMAGES,
    )
    assert dataset.spec.class_names == ("0", "1", "2")
    assert dataset.spec.codec == Codec(shift=127.5, scale=127.5, low=0.0, high=255.0)
    assert dataset.private.y.dtype == dataset.test.y.dtype == np.int32
    assert dataset.private.x.dtype == np.uint8
    np.testing.assert_array_equal(dataset.private.x[..., 0], IMAGES[:4])
    np.testing.assert_array_equal(dataset.test.y, [2, 1])


def test_npz_of_colour_images(tmp_path: Path) -> None:
    x = np.zeros((4, 4, 5, 3), np.uint8)
    dataset = load_npz(tmp_path, x_train=x, x_test=x[:2])
    assert (dataset.spec.shape, dataset.spec.dim, dataset.spec.kind) == (
        (4, 5, 3),
        60,
        kinds.IMAGES,
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_npz_of_scaled_rows(tmp_path: Path, dtype: type) -> None:
    dataset = load_npz(tmp_path, x_train=ROWS[:4].astype(dtype), x_test=ROWS[4:].astype(dtype))
    assert (dataset.spec.shape, dataset.spec.kind) == ((3,), kinds.ROWS)
    assert dataset.spec.codec == Codec(shift=0.0, scale=1.0, low=-1.0, high=1.0, dtype="float32")
    assert dataset.private.x.dtype == dtype
    np.testing.assert_array_equal(dataset.test.x, ROWS[4:].astype(dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int64, np.float64])
def test_npz_labels_of_any_whole_number_type_and_column(tmp_path: Path, dtype: type) -> None:
    dataset = load_npz(tmp_path, y_train=np.array([[0], [1], [2], [0]], dtype))
    np.testing.assert_array_equal(dataset.private.y, [0, 1, 2, 0])


def test_npz_labels_that_are_names(tmp_path: Path) -> None:
    names = ["eel", "cat", "dog"]
    texts = {"y_train": np.array(["eel", "cat", "dog", "eel"]), "y_test": np.array([["dog"]] * 2)}
    dataset = load_npz(tmp_path, class_names=names, **texts)
    np.testing.assert_array_equal(dataset.private.y, [0, 1, 2, 0])
    np.testing.assert_array_equal(dataset.test.y, [2, 2])
    assert not dataset.spec.counted_classes
    digits = load_npz(tmp_path, "mnist", y_train=list("0120"), y_test=list("93"))
    np.testing.assert_array_equal(digits.test.y, [9, 3])


def test_labels_that_are_counted_are_said_to_begin_at_0(tmp_path: Path) -> None:
    """Whether class 0 is empty is private, so the line is the same where labels begin at 1."""
    ones = {"y_train": [1, 2, 3, 1], "y_test": [3, 2]}
    zeros = {"y_train": [0, 1, 3, 1], "y_test": [3, 2]}
    said = {in_a_line(load_npz(tmp_path, **labels)) for labels in (ones, zeros)}
    assert said == {
        "toy: 4 training images of 5x4 pixels, grey; 4 classes, counted from the labels 0 to 3: "
        "labels begin at 0, and --class_names declares the classes; 2 test examples"
    }
    named = load_npz(tmp_path, **ones, class_names=list("abcd"))
    assert "counted" not in in_a_line(named)


def test_npz_class_names_fix_the_number_of_classes(tmp_path: Path) -> None:
    dataset = load_npz(tmp_path, class_names=["cat", "dog", "eel", "never seen"])
    assert dataset.spec.class_names == ("cat", "dog", "eel", "never seen")
    assert dataset.spec.num_classes == 4


@pytest.mark.parametrize("name", TFDS_NAMES)
def test_npz_of_a_known_dataset_gets_its_class_names(tmp_path: Path, name: str) -> None:
    dataset = load_npz(tmp_path, name)
    assert dataset.spec.class_names == CLASS_NAMES[name]
    assert len(set(dataset.spec.class_names)) == (100 if name == "cifar100" else 10)


def test_npz_comes_before_an_image_folder(tmp_path: Path) -> None:
    (tmp_path / "toy" / "train").mkdir(parents=True)
    assert load_npz(tmp_path).source.endswith("toy.npz")


def test_home_is_expanded_in_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    np.savez(tmp_path / "toy.npz", **arrays())
    assert load_dataset("toy", data_dir="~").spec.num_classes == 3


NAN_ROWS = np.array([[np.nan, np.inf, 0.625]] * 4, np.float32)
BAD_ARRAYS = {
    "no x_test": ({"x_test": None}, ["toy.npz has no array x_test", "x_train, y_train"]),
    "no labels": ({"y_train": None, "y_test": None}, ["has no array y_train, y_test"]),
    "pickled": ({"y_test": np.array([1, "a"], object)}, ["cannot read", "toy.npz", "savez"]),
    "strings": ({"x_train": np.array([["a"]] * 4)}, ["x_train", "<U1", "uint8"]),
    "complex": ({"x_train": ROWS[:4] + 1j}, ["x_train", "complex64", "floats"]),
    "bool": ({"x_test": IMAGES[4:] > 9}, ["x_test", "bool", "store 0 and 255 as uint8"]),
    "int": ({"x_test": IMAGES[4:].astype(int)}, ["x_test", "int64", "uint8"]),
    "scalar x": ({"x_train": np.float32(1)}, ["x_train", "shape ()", "(n, h, w)"]),
    "vector x": ({"x_train": ROWS[:4, 0]}, ["x_train", "shape (4,)", "(n, d)"]),
    "rank 5": ({"x_train": IMAGES[None, None]}, ["x_train", "shape (1, 1, 6, 4, 5)"]),
    "channels first": ({"x_train": np.zeros((4, 3, 8, 8), np.uint8)}, ["(4, 3, 8, 8)", "ch 1"]),
    "empty train": ({"x_train": IMAGES[:0], "y_train": []}, ["x_train", "is empty", "at least"]),
    "empty test": ({"x_test": IMAGES[:0], "y_test": []}, ["x_test", "is empty", "at least"]),
    "no pixels": ({"x_train": IMAGES[:4, :0]}, ["x_train", "(4, 0, 5)", "no values"]),
    "NaN": ({"x_train": NAN_ROWS, "x_test": ROWS[4:]}, ["x_train", "has NaN or infinite", "drop"]),
    "shapes": ({"x_test": IMAGES[4:, 1:]}, ["(4, 5, 1) in x_train", "(3, 5, 1) in x_test"]),
    "dtypes": ({"x_test": IMAGES[4:] / 255}, ["x_train is uint8", "x_test is float64"]),
    "one-hot": ({"y_train": np.eye(4)}, ["y_train", "shape (4, 4)", "one-hot"]),
    "scalar y": ({"y_test": 1}, ["y_test", "shape ()", "(n,)"]),
    "named labels": ({"y_train": list("abca")}, ["y_train", "<U1", "0, 1, ..., c-1"]),
    "unknown names": (
        {"y_train": list("abcd"), "class_names": ["a", "b", "c"]},
        ["y_train", "has labels that are not in class_names"],
    ),
    "a name twice": ({"y_train": list("abca"), "class_names": ["a", "a"]}, ["a name twice"]),
    "a class twice": ({"class_names": ["a", "b", "a"]}, ["class_names", "a name twice: give each"]),
    "bool labels": ({"y_test": [True, False]}, ["y_test", "bool", "integers"]),
    "lengths": ({"y_train": [0, 1, 2]}, ["y_train", "3 labels for 4 examples"]),
    "fractions": ({"y_test": [0.5, np.nan]}, ["y_test", "has labels", "no whole numbers"]),
    "infinite label": ({"y_test": [np.inf, 0]}, ["y_test", "has labels", "no whole numbers"]),
    "negative": ({"y_test": [-1, 1]}, ["y_test", "has labels outside 0..2", "relabel"]),
    "beyond names": ({"class_names": ["a", "b"]}, ["y_train", "has labels outside 0..1"]),
    "identifiers": ({"y_test": [2, 10**12]}, ["reach beyond", "6", "class_names"]),
    "one class": ({"y_train": [0] * 4, "y_test": [0] * 2}, ["fewer than 2 classes"]),
    "one name": ({"class_names": ["a"]}, ["fewer than 2 classes"]),
    "numbered names": ({"class_names": [1, 2, 3]}, ["class_names", "int64", "c strings"]),
    "nested names": ({"class_names": [["a", "b"]]}, ["class_names", "shape (1, 2)"]),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_malformed_npz(tmp_path: Path, case: str) -> None:
    changes, parts = BAD_ARRAYS[case]
    with pytest.raises(InputError) as caught:
        load_npz(tmp_path, **changes)
    check_message(caught.value, "toy", *parts, "toy.npz")


def test_nan_error_shows_no_values(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_npz(tmp_path, x_train=NAN_ROWS, x_test=ROWS[4:])
    assert "0.625" not in str(caught.value)


def test_labels_beyond_a_known_table(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_npz(tmp_path, "mnist", y_test=[2, 10])
    check_message(caught.value, "mnist", "y_test", "has labels outside 0..9", "10 classes")


def truncated_npz(path: Path) -> None:
    np.savez(path, **arrays())
    path.write_bytes(path.read_bytes()[:-100])


def corrupted_npz(path: Path) -> None:
    np.savez_compressed(path, x_train=np.random.RandomState(0).bytes(5000), **arrays(x_train=None))
    content = bytearray(path.read_bytes())
    content[2000:2100] = bytes(100)
    path.write_bytes(content)


def single_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, IMAGES)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_text("x_train"), id="text"),
        pytest.param(lambda path: path.mkdir(), id="folder"),
        truncated_npz,
        corrupted_npz,
        single_array,
    ],
)
def test_unreadable_npz(tmp_path: Path, write: Any) -> None:
    write(tmp_path / "toy.npz")
    with pytest.raises(InputError) as caught:
        load_dataset("toy", data_dir=tmp_path)
    check_message(caught.value, "toy", f"cannot read {tmp_path / 'toy.npz'} (", "numpy.savez")
