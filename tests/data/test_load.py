"""Digits, names that no dataset has, subsets and ranges."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_data import arrays, check_message

from jaxdp.data import Codec, Private, Spec
from jaxdp.escapes import for_terminal
from jaxdp.program.data import load as data
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import load_dataset
from jaxdp.program.errors import InputError

# --- Importing and scaling ---------------------------------------------------------------


def test_import_leaves_heavy_packages_alone() -> None:
    code = (
        "import sys, jaxdp.program.data;"
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
    assert (dataset.spec.num_classes, dataset.spec.shape, dataset.spec.dim) == (10, (8, 8, 1), 64)
    assert (len(dataset.private.x), len(dataset.test.x)) == (1437, 360)
    np.testing.assert_array_equal(dataset.private.x, again.private.x)
    # The first few labels pin the public permutation itself.
    assert dataset.private.y[:8].tolist() == [2, 8, 2, 6, 6, 7, 1, 9]
    both = np.concatenate([dataset.private.x, dataset.test.x]).reshape(-1, 64)
    expected = load_digits().data
    np.testing.assert_array_equal(both[np.lexsort(both.T)], expected[np.lexsort(expected.T)])


def test_digits_scale_from_0_16() -> None:
    dataset = load_dataset("digits", data_dir=".")
    assert dataset.spec.codec == Codec(shift=0.0, scale=5.0, low=0.0, high=16.0)
    assert (dataset.test.x.min(), dataset.test.x.max()) == (0, 16)
    assert len(dataset.test.x) == 360


# --- Names -------------------------------------------------------------------------------


def test_unknown_dataset_lists_what_there_is(folder: Path) -> None:
    np.savez(folder / "mine.npz", **arrays())
    with pytest.raises(InputError) as caught:
        load_dataset("foo", data_dir=folder)
    check_message(
        caught.value, "foo", "unknown dataset; known", "digits, mnist, fashion_mnist", "cifar100",
        f"in --data_dir={folder} there are mine, toy;", f"put {folder / 'foo'}.npz",
        "x_train, y_train, x_test, y_test", "{train,test}/CLASS/*.png",
    )  # fmt: skip


def test_a_misspelt_dataset_is_answered_by_one_that_there_is(folder: Path) -> None:
    for name, meant in (("toys", "toy"), ("fashionmnist", "fashion_mnist")):
        with pytest.raises(InputError, match=rf"unknown dataset; did you mean {meant}\?"):
            load_dataset(name, data_dir=folder)


def test_unknown_dataset_in_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "bar").mkdir()
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
    check_message(caught.value, for_terminal(name), "--data_dir")


def of_some(whole: Dataset, private: Private, **changes: Any) -> Dataset:
    spec = dataclasses.replace(whole.spec, num_examples=len(private.x))
    return dataclasses.replace(whole, spec=spec, private=private, **changes)


def test_guarantee_facts_tell_how_many_private_examples_there_are() -> None:
    """Noise goes by the number in the facts: with that of all, a subset would have too little."""
    whole = data.load_dataset("digits", data_dir="nowhere")
    part = data.random_subset(whole, 100, seed=0)
    assert part.spec.num_examples == len(part.private.x) == 100
    for spec in (whole.spec, Spec.rows("rows", (100, 64), class_names=whole.spec.class_names)):
        with pytest.raises(ValueError, match="facts are about examples of shape"):
            dataclasses.replace(part, spec=spec)


def test_guarantee_without_its_last_example_a_subset_differs_in_one() -> None:
    """A permutation of 999 instead of 1000 places changed 75 of 500."""
    rng = np.random.default_rng(0)
    whole = data.load_dataset("digits", data_dir="nowhere")
    rows = rng.integers(0, 17, (1000, 8, 8, 1), dtype=np.uint8)
    labels = np.arange(1000, dtype=np.int32)

    def chosen(count: int) -> set[int]:
        cut = of_some(whole, Private(rows[:count], labels[:count]))
        found = data.random_subset(cut, 500, seed=0)
        assert len(found.private.x) == 500
        np.testing.assert_array_equal(found.private.x, rows[found.private.y])
        return set(found.private.y.tolist())

    for count in range(900, 1000):
        assert len(chosen(count + 1) - chosen(count)) <= 1
    other = data.random_subset(whole, 100, seed=1)
    assert not np.array_equal(other.private.y, data.random_subset(whole, 100, seed=0).private.y)


def test_guarantee_who_is_in_a_subset_by_name_depends_on_names_and_the_seed_alone() -> None:
    """Without one of the records, all others are chosen that were, and the next one in order."""
    whole = data.load_dataset("digits", data_dir="nowhere")

    def chosen(names: list[str], seed: int = 0) -> set[str]:
        n = len(names)
        private = Private(whole.private.x[:n], whole.private.y[:n])
        named = of_some(whole, private, names=np.array(names))
        found = data.random_subset(named, 20, seed=seed)
        assert len(found.private.x) == 20
        return set(found.names.tolist())

    names = [f"record {i}" for i in range(60)]
    all_of_them = chosen(names)
    assert chosen(names, seed=1) != all_of_them
    for name in names:
        others = chosen([each for each in names if each != name])
        assert len(others - all_of_them) == (name in all_of_them)


def test_classes_that_nobody_declared_are_said_to_be_counted(tmp_path: Path) -> None:
    assert not data.load_dataset("digits", data_dir=tmp_path).spec.counted_classes
    x, y = np.zeros((4, 8, 8), np.uint8), np.array([0, 1, 0, 1])
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
    np.savez(tmp_path / "mine.npz", **arrays)
    assert data.load_dataset("mine", data_dir=tmp_path).spec.counted_classes
    np.savez(tmp_path / "named.npz", **arrays, class_names=np.array(["no", "yes"]))
    assert not data.load_dataset("named", data_dir=tmp_path).spec.counted_classes


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
