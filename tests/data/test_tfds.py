"""Datasets by way of tensorflow-datasets: no TensorFlow, no network, tiny files."""

import io
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import requests
import scipy.io
import tensorflow_datasets as tfds
from tensorflow_datasets.image_classification import mnist

from experiments.data.known import CLASS_NAMES, CODECS
from experiments.data.load import load_dataset
from experiments.data.sources import TFDS_NAMES
from experiments.errors import InputError

NUM_TRAIN, NUM_TEST = 7, 5


@pytest.fixture(autouse=True)
def default_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cut the network off, and move tfds's own folder to one that does not exist."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        pytest.fail(f"tried to use the network: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path / "default"))
    return tmp_path / "default"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Name a data folder that does not exist yet."""
    return tmp_path / "data"


def examples(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Draw images and labels for both splits of a dataset."""
    random = np.random.RandomState(TFDS_NAMES.index(name))
    shape = (28, 28, 1) if "mnist" in name else (32, 32, 3)
    num_classes = len(CLASS_NAMES[name])
    return {
        split: (random.randint(0, 256, (n, *shape), np.uint8), random.randint(0, num_classes, n))
        for split, n in (("train", NUM_TRAIN), ("test", NUM_TEST))
    }


def check_equal(dataset: Any, name: str) -> None:
    """Check a dataset against `examples` up to order, which tfds fixes by a hash of its keys."""
    expected = examples(name)
    for split in ("train", "test"):
        x, y = getattr(dataset, f"x_{split}"), getattr(dataset, f"y_{split}")
        assert x.dtype == np.uint8
        assert x.shape == expected[split][0].shape
        found = {image.tobytes(): label for image, label in zip(x, y, strict=True)}
        assert found == {i.tobytes(): label for i, label in zip(*expected[split], strict=True)}


def check_message(error: InputError, name: str, *parts: str) -> None:
    message = str(error)
    assert message.startswith(f"--dataset={name}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


# --- Data that tfds has prepared ---------------------------------------------------------


def png(image: np.ndarray) -> io.BytesIO:
    file = io.BytesIO()
    PIL.Image.fromarray(image.squeeze()).save(file, "png")
    file.seek(0)
    return file


class Prepared(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """tfds's own writer, with the features of its image datasets and no downloading."""

    VERSION = tfds.core.Version("3.0.2")

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.name = name
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        features = {
            "id": tfds.features.Text(),
            "image": tfds.features.Image(shape=examples(self.name)["train"][0].shape[1:]),
            "label": tfds.features.ClassLabel(num_classes=len(CLASS_NAMES[self.name])),
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        return {split: self._generate_examples(split) for split in ("train", "test")}

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        images, labels = examples(self.name)[split]
        for i, (image, label) in enumerate(zip(images, labels, strict=True)):
            yield i, {"id": f"{split}_{i}", "image": png(image), "label": label}


def prepare(name: str, root: Path) -> Path:
    """Let tfds write a dataset under root and return its version's folder."""
    builder = Prepared(name, data_dir=root, file_format="array_record")
    builder.download_and_prepare()
    return Path(builder.data_path)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_prepared_data_is_read(data_dir: Path, name: str) -> None:
    folder = prepare(name, data_dir)
    dataset = load_dataset(name, data_dir=data_dir, download=False)
    check_equal(dataset, name)
    assert folder == data_dir / name / "3.0.2"
    assert dataset.source == f"tensorflow-datasets in {folder}"
    assert dataset.class_names == CLASS_NAMES[name]
    assert dataset.codec == CODECS[name]


def test_prepared_data_in_the_default_folder_of_tfds(data_dir: Path, default_dir: Path) -> None:
    folder = prepare("mnist", default_dir)
    dataset = load_dataset("mnist", data_dir=data_dir, download=False)
    assert str(folder) in dataset.source
    assert not data_dir.exists()


def test_data_dir_comes_before_the_default_folder(data_dir: Path, default_dir: Path) -> None:
    prepare("mnist", default_dir)
    folder = prepare("mnist", data_dir)
    assert str(folder) in load_dataset("mnist", data_dir=data_dir, download=False).source


def test_newest_prepared_version_is_read(data_dir: Path) -> None:
    folder = prepare("mnist", data_dir)
    newer = folder.parent / "3.0.10"
    folder.rename(newer)
    prepare("mnist", data_dir)
    (folder.parent / "incomplete.ABCDEF_3.0.20").mkdir()
    assert str(newer) in load_dataset("mnist", data_dir=data_dir, download=False).source


def test_npz_comes_before_prepared_data(data_dir: Path) -> None:
    prepare("mnist", data_dir)
    (x_train, y_train), (x_test, y_test) = examples("mnist").values()
    np.savez(data_dir / "mnist.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    assert load_dataset("mnist", data_dir=data_dir).source == str(data_dir / "mnist.npz")


def test_broken_prepared_data_is_named(data_dir: Path) -> None:
    folder = prepare("mnist", data_dir)
    next(folder.glob("*test.array_record*")).unlink()
    with pytest.raises(InputError) as caught:
        load_dataset("mnist", data_dir=data_dir)
    check_message(caught.value, "mnist", f"cannot read {folder} (", "remove that folder")


def test_data_prepared_as_tfrecord_is_named_and_kept(data_dir: Path) -> None:
    folder = prepare("cifar10", data_dir)
    info = json.loads((folder / "dataset_info.json").read_text())
    (folder / "dataset_info.json").write_text(json.dumps(info | {"fileFormat": "tfrecord"}))
    with pytest.raises(InputError) as caught:
        load_dataset("cifar10", data_dir=data_dir)
    check_message(caught.value, "cifar10", "no array_record data", f"{folder} is in the way")
    assert folder.exists()


# --- Downloading -------------------------------------------------------------------------


def write_idx(path: Path, array: np.ndarray) -> None:
    header = struct.pack(f">{array.ndim + 1}i", 2048 + array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


def write_mnist(folder: Path, name: str) -> None:
    for split, prefix in (("train", "train"), ("test", "t10k")):
        x, y = examples(name)[split]
        write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", x[..., 0])
        write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", y)


def write_svhn(folder: Path, name: str) -> None:
    drawn = examples(name)
    for split in ("train", "test", "extra"):
        x, y = drawn["test" if split == "extra" else split]
        labels = np.where(y == 0, 10, y)[:, np.newaxis]
        scipy.io.savemat(folder / f"{split}_32x32.mat", {"X": x.transpose(1, 2, 3, 0), "y": labels})


def write_cifar(folder: Path, name: str) -> None:
    drawn = examples(name)
    archive = "cifar-10" if name == "cifar10" else "cifar-100"
    content = folder / f"{archive}-binary.tar.gz"
    content /= "cifar-10-batches-bin" if name == "cifar10" else "cifar-100-binary"
    content.mkdir(parents=True)

    def write(file_name: str, split: str, start: int, stop: int | None) -> None:
        x, y = (array[start:stop].astype(np.uint8) for array in drawn[split])
        pixels = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
        labels = y[:, np.newaxis]
        if name == "cifar100":
            labels = np.concatenate([labels // 5, labels], axis=1)  # coarse, then fine
        (content / file_name).write_bytes(np.concatenate([labels, pixels], axis=1).tobytes())

    if name == "cifar10":
        for i in range(5):
            write(f"data_batch_{i + 1}.bin", "train", i, i + 1 if i < 4 else None)
        write("test_batch.bin", "test", 0, None)
        names = {"batches.meta.txt": CLASS_NAMES[name]}
    else:
        write("train.bin", "train", 0, None)
        write("test.bin", "test", 0, None)
        coarse = tuple(f"group{i}" for i in range(20))
        names = {"fine_label_names.txt": CLASS_NAMES[name], "coarse_label_names.txt": coarse}
    for file_name, lines in names.items():
        (content / file_name).write_text("\n".join(lines) + "\n")


WRITERS = dict(zip(TFDS_NAMES, [write_mnist] * 2 + [write_svhn] + [write_cifar] * 2, strict=True))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Serve "downloads" from a folder of files in the datasets' original formats."""
    folder = tmp_path / "server"
    folder.mkdir()

    def fetch(manager: Any, url: Any) -> Any:
        if isinstance(url, dict):
            return {key: fetch(manager, value) for key, value in url.items()}
        path = folder / url.rpartition("/")[2]
        if not path.exists():
            raise ConnectionError(f"lost the connection\nto {url}")
        return path

    monkeypatch.setattr(requests, "head", lambda url, timeout: None)
    monkeypatch.setattr(tfds.download.DownloadManager, "download", fetch)
    monkeypatch.setattr(tfds.download.DownloadManager, "download_and_extract", fetch)
    monkeypatch.setattr(mnist, "_TRAIN_EXAMPLES", NUM_TRAIN)
    monkeypatch.setattr(mnist, "_TEST_EXAMPLES", NUM_TEST)
    return folder


@pytest.mark.parametrize("name", TFDS_NAMES)
def test_download_once_then_read_offline(server: Path, data_dir: Path, name: str) -> None:
    WRITERS[name](server, name)
    dataset = load_dataset(name, data_dir=data_dir)
    check_equal(dataset, name)
    assert dataset.class_names == CLASS_NAMES[name]
    again = load_dataset(name, data_dir=data_dir, download=False)
    np.testing.assert_array_equal(again.x_train, dataset.x_train)
    # Nothing but the prepared data is left, neither downloads nor scratch folders.
    assert [path.name for path in data_dir.iterdir()] == [name]
    assert [path.name for path in (data_dir / name).iterdir()] == [Path(dataset.source).name]


def test_download_leaves_tfds_as_it_was(server: Path, data_dir: Path) -> None:
    before = mnist.tf
    write_mnist(server, "mnist")
    load_dataset("mnist", data_dir=data_dir)
    assert mnist.tf is before


def test_failed_download_is_clear_and_leaves_nothing(server: Path, data_dir: Path) -> None:
    write_mnist(server, "mnist")
    (server / "train-labels-idx1-ubyte.gz").unlink()
    data_dir.mkdir()
    with pytest.raises(InputError) as caught:
        load_dataset("mnist", data_dir=data_dir)
    check_message(caught.value, "mnist", "downloading it failed (", "lost the connection to http")
    assert list(data_dir.iterdir()) == []


def test_failed_preparation_leaves_nothing(server: Path, data_dir: Path) -> None:
    write_mnist(server, "mnist")
    (server / "train-images-idx3-ubyte.gz").write_bytes(b"cut short")
    with pytest.raises(InputError) as caught:
        load_dataset("mnist", data_dir=data_dir)
    check_message(caught.value, "mnist", "downloading it failed (")
    assert list(data_dir.iterdir()) == []


def test_offline_is_noticed_before_tfds_starts(
    data_dir: Path, default_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(url: str, timeout: float) -> None:
        raise requests.ConnectionError(f"no route to {url}")

    monkeypatch.setattr(requests, "head", refuse)
    with pytest.raises(InputError) as caught:
        load_dataset("cifar10", data_dir=data_dir)
    check_message(
        caught.value, "cifar10", f"no {data_dir / 'cifar10'}.npz", "no image folder",
        f"prepared by tensorflow-datasets in {data_dir} or {default_dir}",
        "downloading it failed (ConnectionError: no route to https://www.cs.toronto.edu",
        "connect to the network", f"put {data_dir / 'cifar10'}.npz", "x_train, y_train, x_test",
    )  # fmt: skip
    assert not data_dir.exists()


def test_downloading_can_be_off(data_dir: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_dataset("cifar10", data_dir=data_dir, download=False)
    check_message(caught.value, "cifar10", "downloading is off", f"{data_dir / 'cifar10'}.npz")
