"""Classes that `--class_names` declares."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_data import arrays, check_message

from jaxdp.program import terminal
from jaxdp.program.data import classes
from jaxdp.program.data.dataset import Dataset
from jaxdp.program.data.load import dataset_for, load_dataset
from jaxdp.program.data.sources import Wanted
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags


def in_a_line(data: Dataset) -> str:
    return terminal.in_a_line(data.spec, num_test=len(data.test.y))


def _load(folder: Path, flag: str | None, name: str = "toy", **changes: Any) -> Dataset:
    np.savez(folder / f"{name}.npz", **arrays(**changes))
    wanted = Wanted(class_names=classes.parse(flag))
    return load_dataset(name, data_dir=folder, download=False, wanted=wanted)


@pytest.mark.parametrize(
    ("flag", "labels", "expected"),
    [
        ("cat,dog, eel", [0, 1, 2, 0], [0, 1, 2, 0]),
        ("1,2,3", [1, 2, 3, 1], [0, 1, 2, 0]),
        ("1,2,3", [1.0, 2.0, 3.0, 1.0], [0, 1, 2, 0]),
        ("1,2,3", [[1], [2], [3], [1]], [0, 1, 2, 0]),
        ("3,1,2", [1, 2, 3, 1], [1, 2, 0, 1]),
        ("-1,1", [-1, 1, 1, -1], [0, 1, 1, 0]),
        ("eel,cat", ["cat", "eel", "cat", "cat"], [1, 0, 1, 1]),
        ("0,1", ["1", "0", "1", "1"], [1, 0, 1, 1]),
    ],
)
def test_labels_have_the_declared_order(
    tmp_path: Path, flag: str, labels: list[Any], expected: list[int]
) -> None:
    found = _load(tmp_path, flag, y_train=labels, y_test=labels[:2])
    np.testing.assert_array_equal(found.private.y, expected)
    np.testing.assert_array_equal(found.test.y, expected[:2])
    assert found.spec.class_names == tuple(part.strip() for part in flag.split(","))
    assert "counted" not in in_a_line(found)


def test_stored_classes_get_another_order_and_one_more(tmp_path: Path) -> None:
    stored = {"class_names": ["cat", "dog", "eel"]}
    found = _load(tmp_path, "eel,fox,dog,cat", **stored)
    plain = load_dataset("toy", data_dir=tmp_path, download=False)
    before = np.array(plain.spec.class_names)[plain.private.y]
    np.testing.assert_array_equal(np.array(found.spec.class_names)[found.private.y], before)
    assert found.spec.num_classes == 4


def test_folders_are_classes_by_name(tmp_path: Path) -> None:
    import PIL.Image

    for number, name in enumerate(["cat", "dog"]):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for k in range(4):
            image = PIL.Image.fromarray(np.full((8, 8), 100 * number + k, np.uint8))
            image.save(tmp_path / "pets" / name / f"{k}.png")
    wanted = Wanted(class_names=("dog", "eel", "cat"))
    found = load_dataset("pets", data_dir=tmp_path, download=False, wanted=wanted)
    np.testing.assert_array_equal(found.private.y, np.where(found.private.x[:, 0, 0, 0] < 50, 2, 0))
    with pytest.raises(InputError, match=r"has labels that are not in class_names"):
        load_dataset(
            "pets", data_dir=tmp_path, download=False, wanted=Wanted(class_names=("dog", "eel"))
        )


@pytest.mark.parametrize(
    ("flag", "changes", "message"),
    [
        ("1,2,3", {"y_train": [0, 1, 2, 3]}, "has labels that are not in class_names"),
        ("1,2,3", {"y_train": [1.5, 1, 2, 3]}, "has labels that are no whole numbers"),
        ("1,2,3", {"y_train": [np.nan, 1, 2, 3]}, "has labels that are no whole numbers"),
        ("cat,dog", {"y_train": [0, 1, 2, 1]}, "has labels outside 0..1"),
        ("a,b,c,d", {"class_names": ["a", "b"], "y_train": [0, 1, 2, 1]}, "labels outside 0..1"),
        ("a,b", {"y_train": ["a", "b", "c", "c"]}, "has labels that are not in class_names"),
    ],
)
def test_a_label_of_no_declared_class_is_refused(
    tmp_path: Path, flag: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _load(tmp_path, flag, **changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("labels", [[0, 1, 7, 7], ["a", "b", "c", "c"], [0, 1, 0.5, 0.5]])
def test_guarantee_how_many_labels_are_refused_is_not_said(
    tmp_path: Path, labels: list[Any]
) -> None:
    """Nor which: a count of private labels is noiseless, and may be sent on with the line."""
    said = set()
    for y in (labels, [*labels[:3], labels[0]]):
        with pytest.raises(InputError) as caught:
            _load(tmp_path, "a,b", y_train=y)
        said.add(str(caught.value).replace(str(tmp_path), ""))
    assert len(said) == 1
    assert not re.search(r"\d labels|7|'c'|0\.5", said.pop())


@pytest.mark.parametrize("names", ["2,1,0", "1,2,3", "-1,0,1"])
@pytest.mark.parametrize("labels", [[0, 1, 2, 0], [1.0, 2.0, 2.0, 1.0]])
@pytest.mark.parametrize("flag", [None, "0,1,2,3"])
def test_numbers_that_may_be_names_or_places_are_refused(
    tmp_path: Path, names: str, labels: list[Any], flag: str | None
) -> None:
    """By the labels it is not decided: one record more would swap the classes of all."""
    stored = {"class_names": names.split(","), "y_train": labels}
    with pytest.raises(InputError) as caught:
        _load(tmp_path, flag, **stored)
    check_message(
        caught.value, "toy", "toy.npz are numbers, and so are its class_names", "as texts"
    )


def test_what_the_refusal_of_numbers_says_to_do_works(tmp_path: Path) -> None:
    names, y = np.array(["2", "1", "0"]), np.array([0, 1, 2, 0])
    for texts, expected in ((y.astype(str), [2, 1, 0, 2]), (names[y], y)):
        stored = {"y_train": texts, "y_test": texts[:2]}
        found = _load(tmp_path, None, class_names=names, **stored)
        np.testing.assert_array_equal(found.private.y, expected)
    for only in ("0,1,2", "0,1,a", "2019,2020,2021"):  # these have one reading
        np.testing.assert_array_equal(
            _load(tmp_path, None, class_names=only.split(",")).private.y, y
        )


@pytest.mark.parametrize("text", ["", "cat", "cat,cat", "cat,,dog", "cat,"])
def test_a_list_of_no_classes_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--class_names=.*two or more different names"):
        classes.parse(text)


def test_a_table_has_the_classes_of_its_schema() -> None:
    flags = RunFlags(csv="a.csv", schema="adult", class_names="no,yes")
    with pytest.raises(InputError, match=r"--class_names: the schema of --csv declares"):
        dataset_for(flags, seed=0)
