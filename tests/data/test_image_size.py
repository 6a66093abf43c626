"""Resizing: what `--image_size` may say, and that every image is resized by itself."""

import errno
import itertools
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from toy_data import arrays, check_message, save_image

from jaxdp.program.data import image_file
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.image_folder import read_image_folder
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.persons import Persons
from jaxdp.program.data.resizing import (
    BY_DEFAULT,
    LARGEST,
    all_resized,
    parse,
    resized,
    size_of_all,
)
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError

RNG = np.random.default_rng(0)


def noise(height: int, width: int, dtype: type = np.uint8) -> np.ndarray:
    return RNG.integers(0, np.iinfo(dtype).max, (height, width, 3), endpoint=True, dtype=dtype)


def load(folder: Path, size: str | None = None) -> Dataset:
    wanted = Wanted(size=parse(size))
    return load_dataset("toy", data_dir=folder, download=False, wanted=wanted)


def folder_of(tmp_path: Path, *images: np.ndarray) -> Path:
    for number, image in enumerate(images):
        for split in ("train", "test"):
            save_image(tmp_path / "toy" / split / "ab"[number % 2] / f"{number}.png", image)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        (None, (28, 28), (28, 28)),
        (None, (64, 20), (64, 20)),
        (None, (65, 20), (LARGEST, LARGEST)),
        ("0", (500, 300), (500, 300)),
        ("full", (500, 300), (500, 300)),
        ("32", (500, 300), (32, 32)),
        ("32", (8, 8), (32, 32)),
        ("128x96", (500, 300), (96, 128)),
    ],
)
def test_sizes(text: str | None, shape: tuple[int, int], expected: tuple[int, int]) -> None:
    assert parse(text).of(shape) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "64x", "x64", "64x0", "064", "1e3", "²"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--image_size=.*: give a side in pixels as 64, WIDTHx"):
        parse(text)


def test_a_size_beyond_all_images_is_refused() -> None:
    with pytest.raises(InputError, match="--image_size=9999: an image has at most 16777216"):
        parse("9999")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32, np.float64])
def test_a_flat_image_stays_flat_and_keeps_its_type(dtype: type) -> None:
    made = resized(np.full((40, 30, 1), 100, dtype), (8, 7))
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, np.full((8, 7, 1), 100))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_fine_stripes_become_grey_and_no_pattern(dtype: type) -> None:
    """Without antialiasing, every other line would be dropped: all black, or all white."""
    high = np.iinfo(dtype).max
    stripes = np.zeros((64, 64, 1), dtype)
    stripes[::2] = high
    made = resized(stripes, (16, 16)).astype(float)
    assert abs(made[2:-2].mean() / high - 0.5) < 0.02
    assert made[2:-2].std() / high < 0.05


def test_values_stay_within_those_of_the_image() -> None:
    """Lanczos rings at edges: without the cut, digits of 0..16 would reach 17."""
    edge = np.zeros((30, 30, 1), np.uint8)
    edge[:, 15:] = 16
    plain = np.asarray(PIL.Image.fromarray(edge[..., 0]).resize((13, 13), PIL.Image.LANCZOS))
    assert plain.max() > 16
    assert resized(edge, (13, 13)).max() == 16
    floats = edge / np.float32(8) - 1
    assert np.abs(resized(floats, (13, 13))).max() == 1


def test_channels_are_resized_alike() -> None:
    image = noise(20, 24)
    made = resized(image, (5, 6))
    for channel in range(3):
        np.testing.assert_array_equal(made[..., [channel]], resized(image[..., [channel]], (5, 6)))
    np.testing.assert_array_equal(resized(image, (20, 24)), image)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_guarantee_a_resized_image_depends_on_itself_alone(dtype: type) -> None:
    first = np.stack([noise(20, 24, dtype) for _ in range(4)])
    for others in (np.zeros_like(first), np.full_like(first, np.iinfo(dtype).max), first[::-1]):
        for place in range(4):
            changed = others.copy()
            changed[place] = first[place]
            np.testing.assert_array_equal(
                all_resized(changed, (7, 8))[place], resized(first[place], (7, 8))
            )


def test_guarantee_an_image_of_a_folder_is_resized_by_itself(tmp_path: Path) -> None:
    images = [noise(80, 60), noise(9, 7), noise(16, 16)]
    together = load(folder_of(tmp_path / "1", *images), "16")
    other = load(folder_of(tmp_path / "2", images[0], noise(200, 10), noise(3, 3)), "16")
    expected = [resized(image, (16, 16)) for image in (images[0], images[2], images[1])]
    np.testing.assert_array_equal(together.private.x, expected)
    np.testing.assert_array_equal(other.private.x[0], expected[0])


def photographs(tmp_path: Path) -> Path:
    """A folder of photographs of 24 million pixels, which are black at their left."""
    for place in ("train/a", "train/b", "test/a", "test/b"):
        (tmp_path / "toy" / place).mkdir(parents=True)
        image = PIL.Image.new("1", (6000, 4000), 1)
        image.paste(0, (0, 0, 3000, 4000))
        image.save(tmp_path / "toy" / place / "x.png")
    return tmp_path


def test_photographs_of_24_million_pixels_are_resized(tmp_path: Path) -> None:
    x = load(photographs(tmp_path)).private.x
    assert x.shape == (2, 64, 64, 1)
    assert (x[:, :, :28].max(), x[:, :, 36:].min()) == (0, 255)


def test_photographs_do_not_keep_their_size(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(photographs(tmp_path), "full")
    said = "has 6000x4000 pixels: --image_size=full keeps at most 16777216; --image_size=64"
    check_message(caught.value, "toy", "x.png", said)


def test_a_large_image_is_made_grey_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    image = image_file.Image(noise(20, 24), 0, 255)
    whole = image_file.with_channels(image, 1).pixels
    monkeypatch.setattr(image_file, "MAX_PIXELS", 70)
    np.testing.assert_array_equal(image_file.with_channels(image, 1).pixels, whole)


def test_large_images_are_resized_by_default_and_a_line_says_so(tmp_path: Path) -> None:
    folder_of(tmp_path, noise(50, 100), noise(50, 100))
    small = load(tmp_path)
    assert small.spec.shape == (64, 64, 3)
    assert small.notes == (
        "images of 100x50 pixels are resized to 64x64; --image_size=WIDTHxHEIGHT takes another "
        "size, --image_size=full keeps theirs",
    )
    assert small.spec.preparation == (
        "the size of images, 64x64 pixels: each was resized to it by itself, before anything else"
    )
    full = load(tmp_path, "full")
    assert (full.spec.shape, full.spec.preparation, full.notes) == ((50, 100, 3), None, ())
    asked = load(tmp_path, "32x16")
    assert (asked.spec.shape, asked.notes) == ((16, 32, 3), ())
    assert "32x16 pixels" in str(asked.spec.preparation)


@pytest.mark.parametrize("sides", [(20, 30, 40), (80, 20, 70), (20, 20, 80), (90, 200, 64)])
def test_different_sizes_become_64_by_default_and_a_line_says_so(
    tmp_path: Path, sides: tuple[int, ...]
) -> None:
    images = [noise(side, side + 1) for side in sides]
    found = load(folder_of(tmp_path, *images))
    assert sorted(each.tobytes() for each in found.private.x) == sorted(
        resized(each, (64, 64)).tobytes() for each in images
    )
    assert found.notes[-1] == (
        "images of different sizes are resized to 64x64; --image_size=WIDTHxHEIGHT takes another "
        "size"
    )
    assert "64x64 pixels: each was resized" in str(found.spec.preparation)


def one_odd(tmp_path: Path) -> Path:
    """A folder in which one image has another size than all others."""
    for name, side in (("a_1", 20), ("a_2", 30), ("b_1", 20), ("c_1", 20), ("d_1", 20)):
        split = "test" if name == "d_1" else "train"
        save_image(tmp_path / "toy" / split / "x" / f"{name}.png", noise(side, side))
    (tmp_path / "toy" / "train" / "y").mkdir()
    return tmp_path


@pytest.mark.parametrize("separator", [None, "_"])
def test_guarantee_one_image_of_another_size_is_refused(
    tmp_path: Path, separator: str | None
) -> None:
    """Or that one would change the shape of all others."""
    persons = Persons(most=None if separator is None else 2, separator=separator)
    with pytest.raises(InputError) as caught:
        load_dataset("toy", data_dir=one_odd(tmp_path), wanted=Wanted(persons=persons))
    check_message(caught.value, "toy", "is 30x30 RGB but", "is 20x20 RGB", "one record must not")
    check_message(caught.value, "toy", "--image_size=64 resizes all images to 64x64")
    assert load(tmp_path, "64").spec.shape == (64, 64, 3)


def test_two_images_of_one_person_do_not_change_the_size_of_all_others(tmp_path: Path) -> None:
    save_image(one_odd(tmp_path) / "toy" / "train" / "x" / "a_3.png", noise(40, 40))
    assert load(tmp_path).spec.shape == (64, 64, 3)
    wanted = Wanted(persons=Persons(most=2, separator="_"))
    with pytest.raises(InputError, match="one record must not decide"):
        load_dataset("toy", data_dir=tmp_path, wanted=wanted)


@pytest.mark.parametrize("size", ["full", "0"])
def test_full_takes_one_size(tmp_path: Path, size: str) -> None:
    folder_of(tmp_path, noise(20, 20), noise(80, 80))
    with pytest.raises(InputError) as caught:
        load(tmp_path, size)
    check_message(caught.value, "toy", "is 80x80 RGB but", "is 20x20 RGB", "--image_size=64")


_SIZES = ((28, 28), (28, 20), (64, 65), (200, 300))


def test_guarantee_no_one_image_decides_on_the_size_of_all() -> None:
    """All folders of four images, and all that differ from them in one."""
    owners = np.arange(4)
    for sizes in itertools.product(_SIZES, repeat=4):
        before = size_of_all(np.array(sizes), owners)
        for place, other in itertools.product(range(4), _SIZES):
            changed = np.array(sizes)
            changed[place] = other
            assert len({before, size_of_all(changed, owners)} - {None}) < 2
    assert size_of_all(np.array([(28, 20)] * 4), owners) == (28, 20)
    assert size_of_all(np.array([(300, 200)] * 4), owners) == (64, 64)


def test_guarantee_no_one_person_decides_on_the_size_of_all() -> None:
    owners = np.array(["b", "a", "a", "c"])
    for sizes in itertools.product(_SIZES, repeat=4):
        before = size_of_all(np.array(sizes), owners)
        for others in itertools.product(_SIZES, repeat=2):
            changed = np.array(sizes)
            changed[owners == "a"] = others
            assert len({before, size_of_all(changed, owners)} - {None}) < 2


def test_arrays_are_resized_in_the_same_way(tmp_path: Path) -> None:
    x = np.stack([noise(20, 24) for _ in range(4)])
    np.savez(tmp_path / "toy.npz", **arrays(x_train=x, x_test=x[:2]))
    found = load(tmp_path, "8x6")
    assert found.spec.shape == (6, 8, 3)
    np.testing.assert_array_equal(found.private.x[3], resized(x[3], (6, 8)))
    large = np.zeros((4, 100, 80), np.float32)
    np.savez(tmp_path / "toy.npz", **arrays(x_train=large, x_test=large[:2]))
    assert load(tmp_path).spec.shape == (64, 64, 1)
    assert load(tmp_path, "full").spec.shape == (100, 80, 1)


def test_rows_have_no_size(tmp_path: Path) -> None:
    np.savez(tmp_path / "toy.npz", **arrays(x_train=np.zeros((4, 99)), x_test=np.zeros((2, 99))))
    assert load(tmp_path).spec.preparation is None
    with pytest.raises(InputError) as caught:
        load(tmp_path, "8")
    check_message(caught.value, "toy", "holds rows of 99 values", "leave --image_size out")


def test_what_is_enlarged_beyond_memory_and_disk_is_refused_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_of(tmp_path, noise(4, 4), noise(4, 4))
    monkeypatch.setattr("jaxdp.large_arrays.most_bytes", lambda: 500_000)

    def no_room(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", no_room)
    with pytest.raises(InputError) as caught:
        read_image_folder("toy", tmp_path / "toy", Wanted(size=parse("1000")))
    check_message(caught.value, "toy", "4 images of 1000x1000 pixels take 0.012 GB", "TMPDIR")
    assert len(read_image_folder("toy", tmp_path / "toy", Wanted(size=BY_DEFAULT)).x_train) == 2
