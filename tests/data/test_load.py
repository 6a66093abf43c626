"""Datasets from scikit-learn, npz files and image folders, and every error they can give."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from experiments.data import load as data
from experiments.data.load import CLASS_NAMES, Dataset, Scaling, load_dataset
from experiments.data.sources import TFDS_NAMES
from experiments.errors import InputError

IMAGES = np.arange(6 * 4 * 5, dtype=np.uint8).reshape(6, 4, 5)
ROWS = np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)


def arrays(**changes: Any) -> dict[str, Any]:
    """Give a valid set of arrays, with some replaced or (None) left out."""
    valid = {
        "x_train": IMAGES[:4],
        "y_train": np.array([0, 1, 2, 0]),
        "x_test": IMAGES[4:],
        "y_test": np.array([2, 1]),
    }
    return {key: value for key, value in (valid | changes).items() if value is not None}


def load_npz(folder: Path, name: str = "toy", **changes: Any) -> Dataset:
    np.savez(folder / f"{name}.npz", **arrays(**changes))
    return load_dataset(name, data_dir=folder, download=False)


def check_message(error: InputError, name: str, *parts: str) -> None:
    message = str(error)
    assert message.startswith(f"--dataset={name}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


# --- Importing and scaling ---------------------------------------------------------------


def test_import_leaves_heavy_packages_alone() -> None:
    code = (
        "import sys, experiments.data;"
        "heavy = {'jax', 'tensorflow', 'tensorflow_datasets', 'sklearn', 'PIL', 'requests'};"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, timeout=60)


# --- Digits ------------------------------------------------------------------------------


def test_digits_are_split_the_same_way_every_time(tmp_path: Path) -> None:
    from sklearn.datasets import load_digits

    dataset = load_dataset("digits", data_dir=tmp_path / "absent")
    again = load_dataset("digits", data_dir=tmp_path)
    assert (dataset.num_classes, dataset.shape, dataset.dim) == (10, (8, 8, 1), 64)
    assert (len(dataset.x_train), len(dataset.x_test)) == (1437, 360)
    np.testing.assert_array_equal(dataset.x_train, again.x_train)
    # The first few labels pin the public permutation itself.
    assert dataset.y_train[:8].tolist() == [2, 8, 2, 6, 6, 7, 1, 9]
    both = np.concatenate([dataset.x_train, dataset.x_test]).reshape(-1, 64)
    expected = load_digits().data
    np.testing.assert_array_equal(both[np.lexsort(both.T)], expected[np.lexsort(expected.T)])


def test_digits_scale_from_0_16() -> None:
    dataset = load_dataset("digits", data_dir=".")
    assert dataset.scaling == Scaling(shift=0, scale=5, low=0, high=16)
    assert (dataset.x_test.min(), dataset.x_test.max()) == (0, 16)
    assert len(dataset.x_test) == 360


# --- npz files ---------------------------------------------------------------------------


def test_npz_of_grey_images(tmp_path: Path) -> None:
    dataset = load_npz(tmp_path)
    assert (dataset.name, dataset.source) == ("toy", str(tmp_path / "toy.npz"))
    assert (dataset.shape, dataset.dim, dataset.is_image) == ((4, 5, 1), 20, True)
    assert dataset.class_names == ("0", "1", "2")
    assert dataset.scaling == Scaling(shift=127.5, scale=127.5, low=0, high=255)
    assert dataset.y_train.dtype == dataset.y_test.dtype == np.int32
    assert dataset.x_train.dtype == np.uint8
    np.testing.assert_array_equal(dataset.x_train[..., 0], IMAGES[:4])
    np.testing.assert_array_equal(dataset.y_test, [2, 1])


def test_npz_of_colour_images(tmp_path: Path) -> None:
    x = np.zeros((4, 4, 5, 3), np.uint8)
    dataset = load_npz(tmp_path, x_train=x, x_test=x[:2])
    assert (dataset.shape, dataset.dim, dataset.is_image) == ((4, 5, 3), 60, True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_npz_of_scaled_rows(tmp_path: Path, dtype: type) -> None:
    dataset = load_npz(tmp_path, x_train=ROWS[:4].astype(dtype), x_test=ROWS[4:].astype(dtype))
    assert (dataset.shape, dataset.dim, dataset.is_image) == ((3,), 3, False)
    assert dataset.scaling == Scaling(shift=0, scale=1, low=-1, high=1)
    assert dataset.x_train.dtype == dtype
    np.testing.assert_array_equal(dataset.x_test, ROWS[4:].astype(dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int64, np.float64])
def test_npz_labels_of_any_whole_number_type_and_column(tmp_path: Path, dtype: type) -> None:
    dataset = load_npz(tmp_path, y_train=np.array([[0], [1], [2], [0]], dtype))
    np.testing.assert_array_equal(dataset.y_train, [0, 1, 2, 0])


def test_npz_class_names_fix_the_number_of_classes(tmp_path: Path) -> None:
    dataset = load_npz(tmp_path, class_names=["cat", "dog", "eel", "never seen"])
    assert dataset.class_names == ("cat", "dog", "eel", "never seen")
    assert dataset.num_classes == 4


@pytest.mark.parametrize("name", TFDS_NAMES)
def test_npz_of_a_known_dataset_gets_its_class_names(tmp_path: Path, name: str) -> None:
    dataset = load_npz(tmp_path, name)
    assert dataset.class_names == CLASS_NAMES[name]
    assert len(set(dataset.class_names)) == (100 if name == "cifar100" else 10)


def test_npz_comes_before_an_image_folder(tmp_path: Path) -> None:
    (tmp_path / "toy" / "train").mkdir(parents=True)
    assert load_npz(tmp_path).source.endswith("toy.npz")


def test_home_is_expanded_in_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    np.savez(tmp_path / "toy.npz", **arrays())
    assert load_dataset("toy", data_dir="~").num_classes == 3


NAN_ROWS = np.array([[np.nan, np.inf, 0.625]] * 4, np.float32)
BAD_ARRAYS = {
    "no x_test": ({"x_test": None}, ["toy.npz has no array x_test", "x_train, y_train"]),
    "no labels": ({"y_train": None, "y_test": None}, ["has no array y_train, y_test"]),
    "pickled": ({"y_test": np.array([1, "a"], object)}, ["cannot read", "toy.npz", "savez"]),
    "strings": ({"x_train": np.array([["a"]] * 4)}, ["x_train", "<U1", "uint8"]),
    "complex": ({"x_train": ROWS[:4] + 1j}, ["x_train", "complex64", "floats"]),
    "bool": ({"x_test": IMAGES[4:] > 9}, ["x_test", "bool", "uint8"]),
    "int": ({"x_test": IMAGES[4:].astype(int)}, ["x_test", "int64", "uint8"]),
    "scalar x": ({"x_train": np.float32(1)}, ["x_train", "shape ()", "(n, h, w)"]),
    "vector x": ({"x_train": ROWS[:4, 0]}, ["x_train", "shape (4,)", "(n, d)"]),
    "rank 5": ({"x_train": IMAGES[None, None]}, ["x_train", "shape (1, 1, 6, 4, 5)"]),
    "channels first": ({"x_train": np.zeros((4, 3, 8, 8), np.uint8)}, ["(4, 3, 8, 8)", "ch 1"]),
    "empty train": ({"x_train": IMAGES[:0], "y_train": []}, ["x_train", "is empty", "at least"]),
    "empty test": ({"x_test": IMAGES[:0], "y_test": []}, ["x_test", "is empty", "at least"]),
    "no pixels": ({"x_train": IMAGES[:4, :0]}, ["x_train", "(4, 0, 5)", "no values"]),
    "NaN": ({"x_train": NAN_ROWS, "x_test": ROWS[4:]}, ["x_train", "8 NaN or infinite", "drop"]),
    "shapes": ({"x_test": IMAGES[4:, 1:]}, ["(4, 5, 1) in x_train", "(3, 5, 1) in x_test"]),
    "dtypes": ({"x_test": IMAGES[4:] / 255}, ["x_train is uint8", "x_test is float64"]),
    "one-hot": ({"y_train": np.eye(4)}, ["y_train", "shape (4, 4)", "one-hot"]),
    "scalar y": ({"y_test": 1}, ["y_test", "shape ()", "(n,)"]),
    "named labels": ({"y_train": list("abca")}, ["y_train", "<U1", "0, 1, ..., c-1"]),
    "bool labels": ({"y_test": [True, False]}, ["y_test", "bool", "integers"]),
    "lengths": ({"y_train": [0, 1, 2]}, ["y_train", "3 labels for 4 examples"]),
    "fractions": ({"y_test": [0.5, np.nan]}, ["y_test", "2 labels", "no whole numbers"]),
    "infinite label": ({"y_test": [np.inf, 0]}, ["y_test", "1 labels", "no whole numbers"]),
    "negative": ({"y_test": [-1, 1]}, ["y_test", "1 labels outside 0..2", "relabel"]),
    "beyond names": ({"class_names": ["a", "b"]}, ["y_train", "1 labels outside 0..1"]),
    "identifiers": ({"y_test": [2, 10**12]}, ["reach 1000000000000", "6 examples", "class_names"]),
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
    check_message(caught.value, "mnist", "y_test", "1 labels outside 0..9", "10 classes")


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


# --- Image folders -----------------------------------------------------------------------


def save_image(path: Path, pixels: np.ndarray, mode: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = PIL.Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)


def colour(value: int) -> np.ndarray:
    return np.full((4, 5, 3), [value, 0, 255 - value], np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a small folder of colour images; class "dog" has no test image."""
    save_image(tmp_path / "toy/train/dog/b.png", colour(2))
    save_image(tmp_path / "toy/train/dog/a.png", colour(1))
    save_image(tmp_path / "toy/train/cat/a.png", colour(3))
    save_image(tmp_path / "toy/test/eel/a.PNG", colour(4))
    return tmp_path


def load_folder(folder: Path) -> Dataset:
    return load_dataset("toy", data_dir=folder, download=False)


def test_image_folder(folder: Path) -> None:
    dataset = load_folder(folder)
    assert dataset.class_names == ("cat", "dog", "eel")
    assert dataset.source == f"image folder {folder / 'toy'}"
    assert dataset.shape == (4, 5, 3)
    assert dataset.scaling == Scaling(shift=127.5, scale=127.5, low=0, high=255)
    np.testing.assert_array_equal(dataset.y_train, [0, 1, 1])
    np.testing.assert_array_equal(dataset.y_test, [2])
    np.testing.assert_array_equal(dataset.x_train, [colour(3), colour(1), colour(2)])
    np.testing.assert_array_equal(dataset.x_test, [colour(4)])


def test_image_folder_of_grey_images(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save_image(tmp_path / "toy" / split / "0/a.png", IMAGES[1])
        save_image(tmp_path / "toy" / split / "1/a.png", IMAGES[2], "LA")
        save_image(tmp_path / "toy" / split / "1/b.png", IMAGES[2] > 48)
    dataset = load_folder(tmp_path)
    assert dataset.shape == (4, 5, 1)
    np.testing.assert_array_equal(dataset.x_test[:2, ..., 0], IMAGES[1:3])
    np.testing.assert_array_equal(dataset.x_test[2, ..., 0], 255 * (IMAGES[2] > 48))


def test_image_folder_takes_what_is_not_an_image_for_no_example(folder: Path) -> None:
    (folder / "toy/train/cat/notes.txt").write_text("not an image")
    (folder / "toy/train/LICENSE").write_text("not a class")
    (folder / "toy/train/.ipynb_checkpoints").mkdir()
    dataset = load_folder(folder)
    assert dataset.class_names == ("cat", "dog", "eel")
    assert len(dataset.x_train) == 3


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "JPG"])
def test_image_folder_of_jpegs(folder: Path, suffix: str) -> None:
    save_image(folder / f"toy/train/eel/a.{suffix}", colour(9))
    np.testing.assert_allclose(load_folder(folder).x_train[-1], colour(9), atol=3)


@pytest.mark.parametrize("mode", ["P", "RGBA", "transparent palette"])
def test_image_folder_converts_to_rgb(folder: Path, mode: str) -> None:
    path = folder / "toy/train/eel/a.png"
    if mode == "transparent palette":
        path.parent.mkdir()
        image = PIL.Image.fromarray(colour(9)).convert("P", palette=PIL.Image.Palette.ADAPTIVE)
        image.save(path, transparency=bytes([0, 100]))
    else:
        save_image(path, colour(0), mode)
    expected = colour(9) if mode == "transparent palette" else colour(0)
    np.testing.assert_array_equal(load_folder(folder).x_train[-1], expected)


def test_image_folder_converts_cmyk(folder: Path) -> None:
    save_image(folder / "toy/train/eel/a.jpg", colour(0), "CMYK")
    assert load_folder(folder).x_train[-1].shape == (4, 5, 3)


def test_image_folder_names_the_first_image_of_another_size(folder: Path) -> None:
    save_image(folder / "toy/train/dog/aa.png", np.zeros((7, 5, 3), np.uint8))
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", "dog/aa.png is 5x7 RGB", "cat/a.png is 5x4 RGB", "one size")


def test_image_folder_names_the_first_image_of_another_mode(folder: Path) -> None:
    save_image(folder / "toy/test/eel/b.png", IMAGES[0])
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", "test/eel/b.png is 5x4 grey", "one mode, grey or RGB")


def test_image_folder_with_16_bit_image(folder: Path) -> None:
    save_image(folder / "toy/test/eel/b.png", np.zeros((4, 5), np.uint16))
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", "test/eel/b.png has mode I;16", "8-bit")


@pytest.mark.parametrize("keep", [0, 0.5], ids=["empty", "truncated"])
def test_image_folder_with_unreadable_image(folder: Path, keep: float) -> None:
    path = folder / "toy/test/eel/a.PNG"
    save_image(path, np.random.RandomState(0).randint(0, 256, (4, 5, 3), np.uint8))
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", f"cannot read {path} (", "replace or remove")


@pytest.mark.parametrize("split", ["train", "test"])
def test_image_folder_without_a_split(folder: Path, split: str) -> None:
    (folder / "toy" / split).rename(folder / "elsewhere")
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", f"there is no folder {folder / 'toy' / split}", "add it")


@pytest.mark.parametrize("split", ["train", "test"])
def test_image_folder_with_an_empty_split(folder: Path, split: str) -> None:
    (folder / "toy" / split).rename(folder / "elsewhere")
    (folder / "toy" / split / "dog").mkdir(parents=True)
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", f"no images in {folder / 'toy' / split}", "CLASS/*.png")


def test_image_folder_with_one_class(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save_image(tmp_path / "toy" / split / "cat/a.png", colour(1))
    with pytest.raises(InputError) as caught:
        load_folder(tmp_path)
    check_message(caught.value, "toy", "image folder", "fewer than 2 classes")


# --- Names -------------------------------------------------------------------------------


def test_unknown_dataset_lists_what_there_is(folder: Path) -> None:
    np.savez(folder / "mine.npz", **arrays())
    with pytest.raises(InputError) as caught:
        load_dataset("foo", data_dir=folder)
    check_message(
        caught.value, "foo", "unknown dataset", "digits, mnist, fashion_mnist", "cifar100",
        f"in --data_dir={folder} there are mine, toy;", f"put {folder / 'foo'}.npz",
        "x_train, y_train, x_test, y_test", "{train,test}/CLASS/*.png",
    )  # fmt: skip


def test_unknown_dataset_in_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "foo").mkdir()
    with pytest.raises(InputError) as caught:
        load_dataset("foo", data_dir=tmp_path)
    check_message(caught.value, "foo", f"in --data_dir={tmp_path} there is no npz file")


def test_unknown_dataset_in_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_dataset("foo", data_dir=tmp_path / "absent")
    check_message(caught.value, "foo", f"--data_dir={tmp_path / 'absent'} is not a folder")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/x", "a/b", "a\\b", "x\0"])
def test_path_for_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=re.escape("plain name, not a path")) as caught:
        load_dataset(name, data_dir=tmp_path)
    check_message(caught.value, name, "--data_dir")


def test_guarantee_without_its_last_example_a_subset_differs_in_one() -> None:
    """A permutation of 999 instead of 1000 places changed 75 of 500."""
    rng = np.random.default_rng(0)
    whole = data.load_dataset("digits", data_dir="nowhere")
    rows = rng.integers(0, 17, (1000, 8, 8, 1), dtype=np.uint8)
    labels = np.arange(1000, dtype=np.int32)

    def chosen(count: int) -> set[int]:
        cut = dataclasses.replace(whole, x_train=rows[:count], y_train=labels[:count])
        found = data.random_subset(cut, 500, seed=0)
        assert len(found.x_train) == 500
        np.testing.assert_array_equal(found.x_train, rows[found.y_train])
        return set(found.y_train.tolist())

    for count in range(900, 1000):
        assert len(chosen(count + 1) - chosen(count)) <= 1
    other = data.random_subset(whole, 100, seed=1)
    assert not np.array_equal(other.y_train, data.random_subset(whole, 100, seed=0).y_train)


def test_classes_that_nobody_declared_are_said_to_be_counted(tmp_path: Path) -> None:
    assert not data.load_dataset("digits", data_dir=tmp_path).counted_classes
    x, y = np.zeros((4, 8, 8), np.uint8), np.array([0, 1, 0, 1])
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
    np.savez(tmp_path / "mine.npz", **arrays)
    assert data.load_dataset("mine", data_dir=tmp_path).counted_classes
    np.savez(tmp_path / "named.npz", **arrays, class_names=np.array(["no", "yes"]))
    assert not data.load_dataset("named", data_dir=tmp_path).counted_classes


@pytest.mark.parametrize("value", [1.5, -2.0])
def test_images_beyond_their_range_are_refused(tmp_path: Path, value: float) -> None:
    x, y = np.zeros((4, 8, 8), np.float32), np.array([0, 1, 0, 1])
    for key in ("x_train", "x_test"):
        arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
        arrays[key] = x.copy()
        arrays[key][1, 2, 3] = value
        np.savez(tmp_path / "mine.npz", **arrays)
        found = data.load_dataset("mine", data_dir=tmp_path)
        with pytest.raises(InputError, match=rf"{key} in .* outside \[-1, 1\]"):
            data.require_range(found)
    data.require_range(data.load_dataset("digits", data_dir=tmp_path))
