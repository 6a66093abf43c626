"""Datasets from image folders, and every error they can give."""

from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from toy_data import IMAGES, arrays, check_message, colour, save_image

from jaxdp.data import Codec
from jaxdp.program import terminal
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.image_folder import is_image_folder
from jaxdp.program.data.load import load_dataset, random_subset
from jaxdp.program.data.sources import Wanted
from jaxdp.program.data.splits import held_out
from jaxdp.program.errors import InputError


def in_a_line(data: Dataset) -> str:
    return terminal.in_a_line(data.spec, num_test=len(data.test.y))


def load_folder(folder: Path, wanted: Wanted = Wanted()) -> Dataset:  # noqa: B008
    return load_dataset("toy", data_dir=folder, download=False, wanted=wanted)


def test_image_folder(folder: Path) -> None:
    dataset = load_folder(folder)
    assert dataset.spec.class_names == ("cat", "dog", "eel")
    assert dataset.source == f"image folder {folder / 'toy'}"
    assert dataset.spec.shape == (4, 5, 3)
    assert dataset.spec.codec == Codec(shift=127.5, scale=127.5, low=0.0, high=255.0)
    np.testing.assert_array_equal(dataset.private.y, [0, 1, 1])
    np.testing.assert_array_equal(dataset.test.y, [2])
    np.testing.assert_array_equal(dataset.private.x, [colour(3), colour(1), colour(2)])
    np.testing.assert_array_equal(dataset.test.x, [colour(4)])


def test_image_folder_of_grey_images(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save_image(tmp_path / "toy" / split / "0/a.png", IMAGES[1])
        save_image(tmp_path / "toy" / split / "1/a.png", IMAGES[2], "LA")
        save_image(tmp_path / "toy" / split / "1/b.png", IMAGES[2] > 48)
    dataset = load_folder(tmp_path)
    assert dataset.spec.shape == (4, 5, 1)
    np.testing.assert_array_equal(dataset.test.x[:2, ..., 0], IMAGES[1:3])
    np.testing.assert_array_equal(dataset.test.x[2, ..., 0], 255 * (IMAGES[2] > 48))


def test_image_folder_takes_what_is_not_an_image_for_no_example(folder: Path) -> None:
    (folder / "toy/train/cat/notes.txt").write_text("not an image")
    (folder / "toy/train/LICENSE").write_text("not a class")
    (folder / "toy/train/.ipynb_checkpoints").mkdir()
    dataset = load_folder(folder)
    assert dataset.spec.class_names == ("cat", "dog", "eel")
    assert len(dataset.private.x) == 3


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "JPG"])
def test_image_folder_of_jpegs(folder: Path, suffix: str) -> None:
    save_image(folder / f"toy/train/eel/a.{suffix}", colour(9))
    np.testing.assert_allclose(load_folder(folder).private.x[-1], colour(9), atol=3)


@pytest.mark.parametrize("mode", ["P", "RGBA", "transparent palette"])
def test_image_folder_converts_to_rgb(folder: Path, mode: str) -> None:
    path = folder / "toy/train/eel/a.png"
    if mode == "transparent palette":
        path.parent.mkdir()
        image = PIL.Image.fromarray(colour(9)).convert("P", palette=PIL.Image.Palette.ADAPTIVE)
        image.save(path, transparency=bytes([0, 100]))
    else:
        save_image(path, colour(0), mode)
    expected = np.full((4, 5, 3), 255) if mode == "transparent palette" else colour(0)
    np.testing.assert_array_equal(load_folder(folder).private.x[-1], expected)


def test_image_folder_converts_cmyk(folder: Path) -> None:
    save_image(folder / "toy/train/eel/a.jpg", colour(0), "CMYK")
    assert load_folder(folder).private.x[-1].shape == (4, 5, 3)


def test_image_folder_names_the_first_image_of_another_size(folder: Path) -> None:
    save_image(folder / "toy/train/dog/aa.png", np.zeros((7, 5, 3), np.uint8))
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", "dog/aa.png is 5x7 RGB", "cat/a.png is 5x4 RGB", "one size")
    check_message(caught.value, "toy", "--image_size=64 resizes all")


def test_image_folder_names_the_first_image_of_another_mode(folder: Path) -> None:
    save_image(folder / "toy/test/eel/b.png", IMAGES[0])
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", "test/eel/b.png is 5x4 grey", "one mode, grey or RGB")


@pytest.mark.parametrize("keep", [0, 0.5], ids=["empty", "truncated"])
def test_image_folder_with_unreadable_image(folder: Path, keep: float) -> None:
    path = folder / "toy/test/eel/a.PNG"
    save_image(path, np.random.RandomState(0).randint(0, 256, (4, 5, 3), np.uint8))
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", f"cannot read {path} (", "replace or remove")


def test_image_folder_names_all_unreadable_images_at_once(folder: Path) -> None:
    bad = [folder / f"toy/train/cat/{number}.png" for number in range(8)]
    for path in bad:
        path.write_bytes(b"")
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    named = ", ".join(map(str, bad[1:6]))
    check_message(caught.value, "toy", f"cannot read {bad[0]} (", f"be used: {named} and others")


@pytest.mark.parametrize("split", ["train", "test"])
def test_image_folder_without_a_split(folder: Path, split: str) -> None:
    (folder / "toy" / split).rename(folder / "elsewhere")
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    check_message(caught.value, "toy", f"there is no folder {folder / 'toy' / split}", "add it")
    check_message(caught.value, "toy", f"put the class folders into {folder / 'toy'} itself")


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
    check_message(caught.value, "toy", "image folder", "fewer than 2 classes, cat: there is")
    # Before images are decoded: this one cannot be.
    (tmp_path / "toy" / "train" / "cat" / "b.png").write_bytes(b"x")
    with pytest.raises(InputError, match="labels in a table are not read"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "(it holds no files); put"),
        (["cat/a.gif", "dog/b.GIF", "notes.txt", ".DS_Store"], "(there are .gif, .txt); put"),
        (["a.png"], "(there are .png outside of class folders); put"),
        (["a.png", "labels.csv"], "; labels in a table are not read; put"),
        (["Train/cat/a.png", "Test/cat/a.png"], "; write Test, Train in small letters; put"),
        (["cat/a.\x1b[31m"], "(there are other endings); put"),
    ],
)
def test_a_folder_without_images_in_class_folders_is_said_to_be_there(
    tmp_path: Path, files: list[str], said: str
) -> None:
    (tmp_path / "toy").mkdir()
    for place in files:
        (tmp_path / "toy" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "toy" / place).touch()
    with pytest.raises(InputError) as caught:
        load_folder(tmp_path)
    check_message(
        caught.value, "toy", f"{tmp_path / 'toy'} is there, but holds no images in", said,
        f"put images at {tmp_path / 'toy'}/CLASS or", ", as .png, .jpg, .jpeg, .tif",
    )  # fmt: skip
    assert str(caught.value).isprintable()


# --- What is left out, and what is said --------------------------------------------------------


def test_what_is_left_out_is_said_by_ending_and_of_no_class(folder: Path) -> None:
    for number in range(3):
        (folder / f"toy/train/cat/{number}.TXT").touch()
    (folder / "toy/test/eel/notes.txt").touch()
    (folder / "toy/train/dog/deeper").mkdir()
    (folder / "toy/train/dog/no_ending").touch()
    (folder / "toy/train/dog/a.\x1b[31m").touch()
    (folder / "toy/train/dog/._a.png").write_text("what macOS leaves beside images")
    for name in (".DS_Store", "Thumbs.db", "desktop.ini", "Icon\r"):
        (folder / "toy/train/dog" / name).touch()
    save_image(folder / "toy/train/dog/@eaDir/a.png", colour(1))
    save_image(folder / "toy/train/astray.png", colour(1))
    dataset = load_folder(folder)
    assert len(dataset.private.x) == 3
    said = dataset.notes[0]
    assert said.startswith("WARNING: left out, as they are no images in class folders: .txt 4, ")
    for part in ("folders in class folders 1", "no ending 1", "other endings 1"):
        assert part in said
    assert ".png outside of class folders 1" in said
    assert "cat" not in said
    assert ".db" not in said
    assert said.isprintable()


def test_class_folders_that_one_split_lacks_are_named(folder: Path) -> None:
    assert load_folder(folder).notes == (
        "WARNING: class folders in train and not in test: cat, dog",
        "WARNING: class folders in test and not in train: eel",
    )


def test_folders_beside_train_and_test_are_named(folder: Path) -> None:
    before = load_folder(folder)
    save_image(folder / "toy/val/cat/a.png", colour(7))
    (folder / "toy/extra\x1b[31m").mkdir()
    (folder / "toy/.cache").mkdir()
    found = load_folder(folder)
    assert found.notes == (
        "WARNING: left out, as only train and test are read: folders extra\\x1b[31m, val; move "
        "what is to be used into train or test",
        *before.notes,
    )
    assert found.spec == before.spec


def test_guarantee_whether_a_class_folder_is_empty_is_not_said(folder: Path) -> None:
    """Names of folders are declared; that a class has no image is a private count of 0."""
    for split in ("train", "test"):
        for name in ("cat", "dog", "eel"):
            (folder / "toy" / split / name).mkdir(exist_ok=True)
    empty = load_folder(folder)
    save_image(folder / "toy/train/eel/a.png", colour(5))
    (folder / "toy/train/dog/b.png").unlink()
    filled = load_folder(folder)
    assert empty.notes == filled.notes == ()
    assert in_a_line(empty) == in_a_line(filled)
    assert empty.spec == filled.spec


def test_what_was_read_in_a_line(folder: Path) -> None:
    assert in_a_line(load_folder(folder)) == (
        "toy: 3 training images of 5x4 pixels, RGB; 3 classes (cat, dog, eel); 1 test examples"
    )


def test_the_first_names_of_many_classes_are_said(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d", "e", "f\x1b[31m", "g"):
        save_image(tmp_path / "toy" / name / "x.png", colour(1))
    said = in_a_line(load_folder(tmp_path))
    assert "; 7 classes (a, b, c, d, e, f\\x1b[31m, ...); " in said


def test_what_macos_adds_to_archives_is_no_class(folder: Path) -> None:
    save_image(folder / "toy/train/__MACOSX/a.png", colour(1))
    save_image(folder / "toy/train/.cache/a.png", colour(1))
    (folder / "toy/__MACOSX").mkdir()
    found = load_folder(folder)
    assert found.spec.class_names == ("cat", "dog", "eel")
    assert "MACOSX" not in "".join(found.notes)


# --- Class folders alone -----------------------------------------------------------------------


def unsplit(folder: Path, num: int = 10) -> Path:
    for number in range(num):
        save_image(folder / f"toy/{'ab'[number % 2]}/{number}.png", colour(number))
    return folder


def test_images_are_held_out_where_there_is_no_test_folder(tmp_path: Path) -> None:
    unsplit(tmp_path)
    found = load_folder(tmp_path)
    assert (len(found.private.x), len(found.test.x)) == (9, 1)
    assert found.spec.class_names == ("a", "b")
    assert found.notes == (
        "0.1 of all images are held out for tests; --test_fraction changes that",
    )
    third = load_folder(tmp_path, Wanted(test_fraction=0.3))
    again = load_folder(tmp_path, Wanted(test_fraction=0.3))
    other = load_folder(tmp_path, Wanted(test_fraction=0.3, seed=1))
    assert len(third.test.x) == 3
    np.testing.assert_array_equal(third.test.x, again.test.x)
    assert not np.array_equal(third.test.x, other.test.x)
    every = np.concatenate([third.private.x, third.test.x])[:, 0, 0, 0]
    assert sorted(every) == list(range(10))
    np.testing.assert_array_equal(third.private.y, third.private.x[:, 0, 0, 0] % 2)


def test_guarantee_another_image_changes_one_training_image_at_most() -> None:
    """Places in a sorted list would move with the class of one image, and the split with them."""
    names = [f"{'ab'[number % 2]}/{number}.png" for number in range(60)]
    for number in range(60):
        for other in (f"c/{number}.png", "a/.png", f"b/z{number}.png"):
            changed = sorted([*names[:number], other, *names[number + 1 :]])
            before, after = (
                {x for x, test in zip(each, held_out(each, 0.2, seed=3), strict=True) if not test}
                for each in (names, changed)
            )
            assert len(before) == len(after) == 48
            assert len(before - after) <= 1


@pytest.mark.parametrize("is_split", [True, False])
def test_guarantee_another_image_changes_one_of_a_subset_at_most(
    is_split: bool, tmp_path: Path
) -> None:
    """By places in a sorted list, one image of another class changed 38 of 50."""

    def chosen(root: Path, removed: str, added: str) -> set[bytes]:
        names = [f"{'ab'[number % 2]}/{number}.png" for number in range(40)]
        for value, name in enumerate([*names, added]):
            if name != removed:
                save_image(root / "toy" / ("train" if is_split else ".") / name, colour(value))
        if is_split:
            save_image(root / "toy/test/a/0.png", colour(0))
        found = random_subset(load_folder(root), 20, seed=0)
        assert len(found.private.x) == len(found.private.y) == 20
        return {image.tobytes() for image in found.private.x}

    before = chosen(tmp_path / "before", "b/z.png", "b/z.png")
    for number, added in enumerate(("b/z.png", "b/00.png", "a/z.png")):
        after = chosen(tmp_path / str(number), "a/0.png", added)
        assert len(before - after) <= 1


@pytest.mark.parametrize("place", ["npz", "folder"])
def test_a_test_fraction_beside_test_data_is_refused(folder: Path, place: str) -> None:
    if place == "npz":
        np.savez(folder / "toy.npz", **arrays())
    with pytest.raises(InputError) as caught:
        load_folder(folder, Wanted(test_fraction=0.2))
    check_message(caught.value, "toy", "test", "leave --test_fraction=0.2 out")


def test_one_image_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_folder(unsplit(tmp_path, 1))
    check_message(caught.value, "toy", "has one image", "one of them to test on")


def test_what_tfds_has_prepared_is_no_image_folder(tmp_path: Path) -> None:
    (tmp_path / "mnist/3.0.1").mkdir(parents=True)
    (tmp_path / "mnist/3.0.1/data.array_record").touch()
    assert not is_image_folder(tmp_path / "mnist")
    assert is_image_folder(unsplit(tmp_path) / "toy")
