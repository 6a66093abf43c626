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

from jaxdp.program.data import resizing
from jaxdp.program.data.known import CLASS_NAMES, CODECS
from jaxdp.program.data.load import load_dataset, random_subset
from jaxdp.program.data.sources import TFDS_NAMES, Wanted
from jaxdp.program.errors import InputError

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
        x, y = dataset.private if split == "train" else dataset.test
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
    assert dataset.spec.class_names == CLASS_NAMES[name]
    assert dataset.spec.codec == CODECS[name]


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


# --- One's own ---------------------------------------------------------------------------

SIDES, NAMES = (5, 6), ("ant", "bee")


class Own(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """A dataset of one's own, as tfds writes it."""

    VERSION = tfds.core.Version("1.0.0")

    def __init__(self, drawn: Any, features: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.name, self._drawn = "insects", drawn
        self._features = features or {
            "image": tfds.features.Image(shape=(None, None, 3)),
            "label": tfds.features.ClassLabel(names=list(NAMES)),
        }
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        features = tfds.features.FeaturesDict(self._features)
        return tfds.core.DatasetInfo(builder=self, features=features)

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        return {split: self._generate_examples(split) for split in self._drawn}

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        yield from enumerate(self._drawn[split])


def own_examples(count: int, *, seed: int = 0, sides: tuple[int, int] = SIDES) -> list[Any]:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (count, *sides, 3), np.uint8)
    return [{"image": png(each), "label": NAMES[i % 2]} for i, each in enumerate(images)]


def own(root: Path, features: dict[str, Any] | None = None, **drawn: Any) -> Path:
    builder = Own(drawn, features, data_dir=root, file_format="array_record")
    builder.download_and_prepare()
    return Path(builder.data_path)


def test_own_prepared_data_are_read_with_their_classes(data_dir: Path) -> None:
    folder = own(data_dir, train=own_examples(8), test=own_examples(4, seed=1))
    data = load_dataset("insects", data_dir=data_dir)
    assert data.source == f"tensorflow-datasets in {folder}"
    assert data.spec.class_names == NAMES
    assert not data.spec.counted_classes
    assert (data.private.x.shape, data.test.x.shape) == ((8, *SIDES, 3), (4, *SIDES, 3))
    drawn = [(np.asarray(PIL.Image.open(e["image"])), e["label"]) for e in own_examples(8)]
    expected = {image.tobytes(): NAMES.index(label) for image, label in drawn}
    pairs = zip(data.private.x, data.private.y, strict=True)
    assert {image.tobytes(): label for image, label in pairs} == expected
    with pytest.raises(InputError, match="insects"):
        load_dataset("insect", data_dir=data_dir)
    with pytest.raises(InputError, match="has a test split"):
        load_dataset("insects", data_dir=data_dir, wanted=Wanted(test_fraction=0.5))


def test_own_prepared_data_without_a_test_split_hold_some_out(data_dir: Path) -> None:
    own(data_dir, train=own_examples(20))
    data = load_dataset("insects", data_dir=data_dir, wanted=Wanted(test_fraction=0.3))
    again = load_dataset("insects", data_dir=data_dir, wanted=Wanted(test_fraction=0.3))
    assert (len(data.private.x), len(data.test.x)) == (14, 6)
    np.testing.assert_array_equal(data.private.x, again.private.x)
    together = {image.tobytes() for image in (*data.private.x, *data.test.x)}
    assert len(together) == 20
    other = load_dataset("insects", data_dir=data_dir, wanted=Wanted(test_fraction=0.3, seed=1))
    assert {x.tobytes() for x in other.test.x} != {x.tobytes() for x in data.test.x}


def test_guarantee_of_own_prepared_data_one_record_changes_one_training_record(
    tmp_path: Path,
) -> None:
    """tfds orders records by a hash of their keys, so another record moves those after it."""
    kept = own_examples(30)
    kept_again, (other,) = own_examples(30), own_examples(1, seed=9)

    def training(root: Path, examples: list[Any]) -> set[bytes]:
        own(root, train=examples)
        data = load_dataset("insects", data_dir=root, wanted=Wanted(test_fraction=0.5))
        return {image.tobytes() for image in data.private.x}

    before = training(tmp_path / "a", kept)
    # The new record has the last key, the others have moved up.
    after = training(tmp_path / "b", [*kept_again[1:], other])
    assert len(before) == len(after) == 15
    assert len(before - after) <= 1


@pytest.mark.parametrize("more", [{}, {"test": 4}])
def test_guarantee_of_own_prepared_data_one_record_changes_one_of_a_subset(
    more: dict[str, int], tmp_path: Path
) -> None:
    kept, kept_again, (other,) = own_examples(30), own_examples(30), own_examples(1, seed=9)

    def chosen(root: Path, examples: list[Any]) -> set[bytes]:
        own(root, train=examples, **{split: own_examples(n, seed=1) for split, n in more.items()})
        data = random_subset(load_dataset("insects", data_dir=root), 15, seed=0)
        return {image.tobytes() for image in data.private.x}

    before = chosen(tmp_path / "a", kept)
    after = chosen(tmp_path / "b", [*kept_again[1:], other])
    assert len(before) == len(after) == 15
    assert len(before - after) <= 1


def test_own_prepared_data_are_resized_while_they_are_read(data_dir: Path) -> None:
    mixed = [*own_examples(4), *own_examples(4, seed=1, sides=(9, 4))]
    own(data_dir, train=mixed, test=own_examples(2))
    with pytest.raises(InputError, match="--image_size=full takes images of one size"):
        load_dataset("insects", data_dir=data_dir, wanted=Wanted(size=resizing.parse("full")))
    assert load_dataset("insects", data_dir=data_dir).private.x.shape == (8, 64, 64, 3)
    data = load_dataset("insects", data_dir=data_dir, wanted=Wanted(size=resizing.parse("7")))
    assert data.private.x.shape == (8, 7, 7, 3)
    assert data.spec.preparation is not None


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"image": tfds.features.Image(), "digit": tfds.features.Text()}, "needs label"),
        (
            {"picture": tfds.features.Text(), "label": tfds.features.ClassLabel(names=NAMES)},
            "needs image of the type Image",
        ),
    ],
)
def test_own_prepared_data_of_another_form_are_refused(
    data_dir: Path, features: dict[str, Any], said: str
) -> None:
    made = {"digit": "a", "picture": "b", "label": NAMES[0], "image": own_examples(1)[0]["image"]}
    own(data_dir, features, train=[{key: made[key] for key in features}])
    with pytest.raises(InputError) as caught:
        load_dataset("insects", data_dir=data_dir)
    check_message(caught.value, "insects", "has the features ", said)


def test_own_prepared_images_of_floats_are_refused(data_dir: Path) -> None:
    """They are stored as the bytes of coloured pixels, and would be read as such."""
    grey = {
        "image": tfds.features.Image(shape=(None, None, 1)),
        "label": tfds.features.ClassLabel(names=NAMES),
    }
    examples = [{"image": png(np.zeros((2, 3), np.uint8)), "label": NAMES[0]}] * 2
    path = own(data_dir, grey, train=examples) / "features.json"
    text = path.read_text()
    assert text.count('"uint8"') == 1
    path.write_text(text.replace('"uint8"', '"float32"'))
    with pytest.raises(InputError) as caught:
        load_dataset("insects", data_dir=data_dir)
    check_message(caught.value, "insects", "float32: store uint8 or uint16")


def test_own_prepared_data_need_a_training_split_and_examples(data_dir: Path) -> None:
    own(data_dir / "a", test=own_examples(2))
    own(data_dir / "b", train=own_examples(1))
    for folder in ("a", "b"):
        with pytest.raises(InputError, match="too few examples in a split train"):
            load_dataset("insects", data_dir=data_dir / folder)


def test_a_damaged_image_of_own_prepared_data_is_named(data_dir: Path) -> None:
    examples = own_examples(3)
    broken = io.BytesIO(examples[1]["image"].getvalue()[:40])
    own(data_dir, train=[examples[0], {**examples[1], "image": broken}], test=own_examples(2))
    with pytest.raises(InputError) as caught:
        load_dataset("insects", data_dir=data_dir)
    check_message(caught.value, "insects", "cannot read train example ")


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
    assert dataset.spec.class_names == CLASS_NAMES[name]
    again = load_dataset(name, data_dir=data_dir, download=False)
    np.testing.assert_array_equal(again.private.x, dataset.private.x)
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
