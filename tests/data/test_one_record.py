"""One image is replaced: all others are stored bit for bit as before, or the dataset is refused."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import load_dataset, random_subset
from jaxdp.program.data.resizing import ImageSize
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError

NUM = 24
CLASSES = ("cat", "dog", "eel")


def pixels(number: int, *, size: tuple[int, int] = (6, 8), dtype: Any = np.uint8) -> np.ndarray:
    """Return a picture of its own, of few values: neither the least nor the largest."""
    rng = np.random.default_rng(number)
    return rng.integers(40, 90, (*size, 3)).astype(dtype)


def path_of(folder: Path, number: int) -> Path:
    return folder / "toy" / CLASSES[number % 3] / f"{number:02d}.png"


def save(path: Path, image: PIL.Image.Image, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)


def of_colour(array: np.ndarray) -> PIL.Image.Image:
    return PIL.Image.fromarray(array.astype(np.uint8))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(NUM):
        size = (6, 8) if number % 4 else (9, 7)
        save(path_of(tmp_path, number), of_colour(pixels(number, size=size)))
    return tmp_path


def read(folder: Path, *, fraction: float = 0.25) -> Dataset:
    wanted = Wanted(size=ImageSize((5, 5)), test_fraction=fraction)
    return load_dataset("toy", data_dir=folder, download=False, wanted=wanted)


def records(data: Dataset) -> Counter[tuple[bytes, int]]:
    """Return all records of both splits as they are stored."""
    x, y = np.concatenate([data.private.x, data.test.x]), [*data.private.y, *data.test.y]
    return Counter((image.tobytes(), int(label)) for image, label in zip(x, y, strict=True))


def require_others_alike(before: Dataset, after: Dataset) -> None:
    assert after.spec == before.spec
    assert sum((records(before) - records(after)).values()) <= 1
    assert sum((records(after) - records(before)).values()) <= 1
    moved = Counter(x.tobytes() for x in before.test.x) - Counter(x.tobytes() for x in after.test.x)
    assert sum(moved.values()) <= 1


WHITE = np.full((6, 8, 3), 255)
REPLACED: dict[str, Callable[[Path], None]] = {
    "white": lambda path: save(path, of_colour(WHITE)),
    "large": lambda path: save(path, of_colour(np.full((300, 200, 3), 255))),
    "one pixel": lambda path: save(path, of_colour(WHITE[:1, :1])),
    "see-through": lambda path: save(path, of_colour(pixels(99)).convert("RGBA")),
    "of a palette": lambda path: save(path, of_colour(pixels(99)).convert("P")),
    "jpeg": lambda path: save(path.with_suffix(".jpg"), of_colour(pixels(99)), quality=90),
    "of another class": lambda path: save(path.parents[1] / "eel" / path.name, of_colour(WHITE)),
    "first by name": lambda path: save(path.with_name("!.png"), of_colour(WHITE)),
    "last by name": lambda path: save(path.parents[1] / "eel" / "zz.png", of_colour(WHITE)),
}
REFUSED: dict[str, Callable[[Path], None]] = {
    "grey": lambda path: save(path, of_colour(WHITE[..., 0])),
    "of two values": lambda path: save(path, of_colour(WHITE[..., 0]).convert("1")),
    "of 16 bits": lambda path: save(path, PIL.Image.fromarray(np.full((6, 8), 60000, np.uint16))),
    "damaged": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n and no more") and None,
    "empty": lambda path: path.write_bytes(b"") and None,
}


@pytest.mark.parametrize("number", [0, 7, 23])
@pytest.mark.parametrize("how", list(REPLACED))
def test_guarantee_an_image_decides_about_no_other(how: str, number: int, folder: Path) -> None:
    before = read(folder)
    path_of(folder, number).unlink()
    REPLACED[how](path_of(folder, number))
    after = read(folder)
    require_others_alike(before, after)
    chosen = [random_subset(each, 9, seed=0).private.x for each in (before, after)]
    lost = Counter(x.tobytes() for x in chosen[0]) - Counter(x.tobytes() for x in chosen[1])
    assert sum(lost.values()) <= 1


@pytest.mark.parametrize("number", [0, 7, 23])
@pytest.mark.parametrize("how", list(REFUSED))
def test_images_of_another_kind_are_refused(how: str, number: int, folder: Path) -> None:
    path_of(folder, number).unlink()
    REFUSED[how](path_of(folder, number))
    with pytest.raises(InputError) as caught:
        read(folder)
    assert "60000" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("value", [0, 255, 0.5])
def test_guarantee_a_row_of_an_array_decides_about_no_other(
    dtype: str, value: float, tmp_path: Path
) -> None:
    x = np.stack([pixels(number, dtype=dtype) for number in range(NUM)])
    y, names = np.arange(NUM) % 3, np.array(CLASSES)

    def stored(x: np.ndarray, y: np.ndarray) -> Dataset:
        arrays = {
            "x_train": x,
            "y_train": y,
            "x_test": x[:2],
            "y_test": y[:2],
            "class_names": names,
        }
        np.savez(tmp_path / "toy.npz", **arrays)
        wanted = Wanted(size=ImageSize((5, 5)))
        return load_dataset("toy", data_dir=tmp_path, download=False, wanted=wanted)

    before = stored(x, y)
    for label in (0, 2):
        other_x, other_y = x.copy(), y.copy()
        other_x[5], other_y[5] = np.array(value).astype(dtype), label
        for labels in (other_y, other_y.astype(float), np.array(CLASSES)[other_y]):
            after = stored(other_x, labels)
            assert after.spec == before.spec
            for mine, old in (
                (after.private.x, before.private.x),
                (after.private.y, before.private.y),
            ):
                assert mine.dtype == old.dtype
                assert np.delete(mine, 5, 0).tobytes() == np.delete(old, 5, 0).tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_wrong_with_arrays_is_told_without_counts_and_values(
    bad: float, tmp_path: Path
) -> None:
    """How many values are NaN, and which label is the largest, are private."""
    x, y = np.zeros((9, 4), np.float32), np.arange(9) % 2
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}

    def said(**changes: np.ndarray) -> str:
        np.savez(tmp_path / "toy.npz", **(arrays | changes))
        with pytest.raises(InputError) as caught:
            load_dataset("toy", data_dir=tmp_path, download=False)
        return str(caught.value).replace(str(tmp_path), "")

    one, more = x.copy(), x.copy()
    one[3, 1], more[2:, :] = bad, bad
    assert said(x_train=one) == said(x_train=more)
    assert said(y_train=np.where(y, 1234, 0)) == said(y_train=np.where(y, 98765, 0))
    assert said(y_train=-y) == said(y_train=-7 * y)
    assert said(y_train=y + 0.5) == said(y_train=y + 0.25)


def test_how_many_images_are_damaged_is_not_told(folder: Path) -> None:
    said = []
    for num in (9, 12):
        for number in range(num):
            path_of(folder, 3 * (number % 8) + number // 8).write_bytes(b"")
        with pytest.raises(InputError) as caught:
            read(folder)
        said.append(str(caught.value))
    assert said[0].endswith("and others")
    assert said[0].split("neither")[1] == said[1].split("neither")[1]
