"""Datasets as their authors hand them out: small files of each format, and such as are broken."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from toy_data import check_message

from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.known import CLASS_NAMES
from jaxdp.program.data.load import load_dataset
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (8, 28, 28), np.uint8)
COLOUR = RNG.integers(0, 256, (12, 32, 32, 3), np.uint8)
LABELS = np.arange(12, dtype=np.uint8) % 10


def load(name: str, root: Path) -> Dataset:
    return load_dataset(name, data_dir=root, download=False)


def idx(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def write_mnist(folder: Path, *, gz: bool) -> None:
    folder.mkdir()
    for stem, part in (("train", slice(0, 5)), ("t10k", slice(5, 8))):
        for kind, array in (("images-idx3", GREY[part]), ("labels-idx1", LABELS[part])):
            content, name = idx(array), f"{stem}-{kind}-ubyte"
            (folder / (f"{name}.gz" if gz else name)).write_bytes(
                gzip.compress(content) if gz else content
            )


def planes(images: np.ndarray, labels: np.ndarray, *, coarse: bool) -> bytes:
    """Records of CIFAR: labels, then red, green and blue of all pixels."""
    rows = [images.transpose(0, 3, 1, 2).reshape(len(images), -1)]
    first = [labels[:, None] // 2, labels[:, None]] if coarse else [labels[:, None]]
    return np.concatenate([*first, *rows], axis=1).astype(np.uint8).tobytes()


def write_cifar10(folder: Path) -> None:
    folder.mkdir()
    for i in range(5):
        part = slice(2 * i, 2 * i + 2)
        content = planes(COLOUR[part], LABELS[part], coarse=False)
        (folder / f"data_batch_{i + 1}.bin").write_bytes(content)
    content = planes(COLOUR[10:], LABELS[10:], coarse=False)
    (folder / "test_batch.bin").write_bytes(content)
    (folder / "batches.meta.txt").write_text("\n".join(CLASS_NAMES["cifar10"]) + "\n\n")


def write_cifar100(folder: Path) -> None:
    folder.mkdir()
    (folder / "train.bin").write_bytes(planes(COLOUR[:10], LABELS[:10] + 90, coarse=True))
    (folder / "test.bin").write_bytes(planes(COLOUR[10:], LABELS[10:] + 90, coarse=True))
    (folder / "fine_label_names.txt").write_text("\n".join(CLASS_NAMES["cifar100"]))


def write_svhn(folder: Path) -> None:
    folder.mkdir()
    for split, part in (("train", slice(0, 10)), ("test", slice(10, 12))):
        y = LABELS[part, None].copy()
        y[y == 0] = 10  # as its authors do
        held = {"X": np.moveaxis(COLOUR[part], 0, -1), "y": y}
        scipy.io.savemat(folder / f"{split}_32x32.mat", held)


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_idx_files_are_read(name: str, gz: bool, tmp_path: Path) -> None:
    write_mnist(tmp_path / name, gz=gz)
    data = load(name, tmp_path)
    np.testing.assert_array_equal(data.private.x[..., 0], GREY[:5])
    np.testing.assert_array_equal(data.private.y, LABELS[:5])
    np.testing.assert_array_equal(data.test.x[..., 0], GREY[5:])
    np.testing.assert_array_equal(data.test.y, LABELS[5:8])
    assert data.spec.class_names == CLASS_NAMES[name]
    assert data.source == f"official files in {tmp_path / name}"


@pytest.mark.parametrize(
    ("name", "folder", "write", "more"),
    [
        ("cifar10", "cifar10", write_cifar10, 0),
        ("cifar10", "cifar-10-batches-bin", write_cifar10, 0),
        ("cifar100", "cifar-100-binary", write_cifar100, 90),
        ("svhn_cropped", "svhn_cropped", write_svhn, 0),
        ("photos", "photos", write_cifar10, 0),
    ],
)
def test_colour_images_are_read_with_their_classes(
    name: str, folder: str, write: Callable[[Path], None], more: int, tmp_path: Path
) -> None:
    write(tmp_path / folder)
    data = load(name, tmp_path)
    np.testing.assert_array_equal(data.private.x, COLOUR[:10])
    np.testing.assert_array_equal(data.private.y, LABELS[:10] + more)
    np.testing.assert_array_equal(data.test.x, COLOUR[10:])
    np.testing.assert_array_equal(data.test.y, LABELS[10:] + more)
    assert data.spec.class_names == CLASS_NAMES.get(name, CLASS_NAMES["cifar10"])


def test_one_s_own_npz_file_comes_first(tmp_path: Path) -> None:
    write_svhn(tmp_path / "svhn_cropped")
    held = {
        "x_train": COLOUR[:4],
        "y_train": LABELS[:4],
        "x_test": COLOUR[4:],
        "y_test": LABELS[4:],
    }
    np.savez(tmp_path / "svhn_cropped.npz", **held)
    assert load("svhn_cropped", tmp_path).spec.num_examples == 4


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("cifar-10-batches-py", [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]),
        ("cifar-100-python", ["train", "test", "meta"]),
    ],
)
def test_pickles_are_refused_and_never_opened(
    folder: str, files: list[str], tmp_path: Path
) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Callable[..., None], tuple[Path, str]]:
            return Path.write_text, (tmp_path / "opened", "")

    (tmp_path / folder).mkdir()
    for file in files:
        (tmp_path / folder / file).write_bytes(pickle.dumps(Trap()))
    name = "cifar10" if "10-b" in folder else "cifar100"
    with pytest.raises(InputError) as caught:
        load(name, tmp_path)
    check_message(caught.value, name, "holds pickles", "take the binary version")
    assert not (tmp_path / "opened").exists()


def broken_mnist(root: Path, change: Callable[[bytes], bytes], *, gz: bool = False) -> None:
    write_mnist(root / "mnist", gz=gz)
    path = root / "mnist" / f"train-images-idx3-ubyte{'.gz' if gz else ''}"
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("gz", "change", "message"),
    [
        (False, lambda content: content[:-1], "3919 values, and declares (5, 28, 28)"),
        (False, lambda content: content + b"x", "3921 values"),
        (False, lambda content: b"", "is no idx file of bytes with 3 sizes"),
        (False, lambda content: content[:9], "is no idx file of bytes with 3 sizes"),
        (False, lambda content: bytes([0, 0, 13, 3]) + content[4:], "is no idx file of bytes"),
        (True, lambda content: content[:-20], "ended before"),
        (True, lambda content: b"plain", "Not a gzipped file"),
    ],
)
def test_broken_idx_files_are_refused_in_one_line(
    gz: bool, change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    broken_mnist(tmp_path, change, gz=gz)
    with pytest.raises(InputError) as caught:
        load("mnist", tmp_path)
    check_message(caught.value, "mnist", message, "unpack the archive again")


@pytest.mark.parametrize("content", [b"", bytes(3072), bytes(2 * 3073 + 1)])
def test_records_of_another_length_are_refused(content: bytes, tmp_path: Path) -> None:
    write_cifar10(tmp_path / "cifar10")
    (tmp_path / "cifar10" / "data_batch_3.bin").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load("cifar10", tmp_path)
    check_message(caught.value, "cifar10", "data_batch_3.bin has", "no records of 3073")


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (None, "unpack the archive again"),
        ({"X": np.zeros((32, 32, 3, 2), np.uint8)}, "has no X of bytes"),
        ({"X": np.zeros((32, 32, 3, 2)), "y": np.ones((2, 1), int)}, "has no X of bytes"),
        ({"X": np.zeros((32, 32, 2), np.uint8), "y": np.ones((2, 1), int)}, "has no X of bytes"),
        (
            {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.zeros((2, 1), int)},
            "labels y that are not 1 to 10",
        ),
        (
            {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.full((2, 1), 1.5)},
            "labels y that are not 1 to 10",
        ),
    ],
)
def test_other_matlab_files_are_refused(
    held: dict[str, np.ndarray] | None, message: str, tmp_path: Path
) -> None:
    write_svhn(tmp_path / "svhn_cropped")
    path = tmp_path / "svhn_cropped" / "train_32x32.mat"
    if held is None:
        path.write_bytes(b"no such file" * 20)
    else:
        scipy.io.savemat(path, held)
    with pytest.raises(InputError) as caught:
        load("svhn_cropped", tmp_path)
    check_message(caught.value, "svhn_cropped", message)


def test_a_missing_file_is_another_kind_of_folder(tmp_path: Path) -> None:
    write_cifar100(tmp_path / "cifar100")
    (tmp_path / "cifar100" / "test.bin").unlink()
    with pytest.raises(InputError):
        load("cifar100", tmp_path)


@pytest.mark.parametrize(
    "wanted", [Wanted(test_fraction=0.5), Wanted(channels=1), Wanted(validation=True)]
)
def test_flags_of_other_sources_are_refused(wanted: Wanted, tmp_path: Path) -> None:
    write_svhn(tmp_path / "svhn_cropped")
    with pytest.raises(InputError, match="leave --"):
        load_dataset("svhn_cropped", data_dir=tmp_path, download=False, wanted=wanted)


def test_folders_of_official_files_are_listed_where_a_name_is_unknown(tmp_path: Path) -> None:
    write_cifar10(tmp_path / "photos")
    with pytest.raises(InputError, match="there are photos"):
        load("phot", tmp_path)
