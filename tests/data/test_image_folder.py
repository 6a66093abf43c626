"""Datasets from image folders, and every error they can give."""

from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from toy_data import IMAGES, check_message, colour, save_image

from experiments.data.load import Dataset, load_dataset
from experiments.errors import InputError
from jaxdp.data import Codec


def load_folder(folder: Path) -> Dataset:
    return load_dataset("toy", data_dir=folder, download=False)


def test_image_folder(folder: Path) -> None:
    dataset = load_folder(folder)
    assert dataset.class_names == ("cat", "dog", "eel")
    assert dataset.source == f"image folder {folder / 'toy'}"
    assert dataset.spec.shape == (4, 5, 3)
    assert dataset.codec == Codec(shift=127.5, scale=127.5, low=0.0, high=255.0)
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
    assert dataset.spec.shape == (4, 5, 1)
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
