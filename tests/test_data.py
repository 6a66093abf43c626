"""Facts about data are checked; private examples are held to them, and show nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxdp
from jaxdp.data import Codec, Private, Spec, checked
from jaxdp.data.kinds import IMAGES, ROWS

X = np.arange(4 * 6, dtype=np.uint8).reshape(4, 2, 3)
Y = np.array([0, 1, 1, 0])
SPEC = Spec.images("scans", X.shape, class_names=["no", "yes"], low=0, high=255)
TABLE = Spec.rows("table", (4, 2), class_names=["no", "yes"], low=-1, high=1)


def test_images_and_rows_have_shapes_of_their_kind() -> None:
    assert (SPEC.kind, SPEC.shape, SPEC.num_examples) == (IMAGES, (2, 3, 1), 4)
    assert (SPEC.num_classes, SPEC.dim, SPEC.image_shape) == (2, 6, (2, 3, 1))
    assert Spec.images("colour", (9, 8, 8, 3), class_names="ab").image_shape == (8, 8, 3)
    assert (TABLE.kind, TABLE.shape) == (ROWS, (2,))
    with pytest.raises(ValueError, match="holds rows of 2 values"):
        _ = TABLE.image_shape


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shape": (2, 3)}, "cannot have shape"),
        ({"shape": (2, 0, 1)}, "cannot have shape"),
        ({"class_names": ("one",)}, "at least 2 classes"),
        ({"class_names": ("one", "two", "one")}, "class_names has a name twice"),
        ({"num_examples": 0}, "1 example"),
    ],
)
def test_facts_that_cannot_be_are_refused(changes: dict[str, Any], said: str) -> None:
    facts = {name: getattr(SPEC, name) for name in ("name", "shape", "class_names")}
    facts |= {"num_examples": 4, "codec": SPEC.codec}
    with pytest.raises(ValueError, match=said):
        Spec(**(facts | changes))


@pytest.mark.parametrize("names", [["a", "a"], ("1", "2", "1"), "aa"])
def test_two_classes_of_one_name_are_refused(names: Any) -> None:
    for facts in (
        lambda: Spec.images("x", X.shape, class_names=names),
        lambda: Spec.rows("x", (4, 2), class_names=names),
    ):
        with pytest.raises(ValueError, match="class_names has a name twice: give each class"):
            facts()


@pytest.mark.parametrize(
    "constants",
    [(1.0, 1.0, 0.0, 1.0), (0.0, np.inf, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0), (0.0, 1.0, np.nan, 1.0)],
)
def test_constants_without_a_range_are_refused(constants: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="need"):
        Codec(**dict(zip(("low", "high", "shift", "scale"), constants, strict=True)))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_values_go_to_the_unit_interval_and_back(dtype: str) -> None:
    codec = Codec(low=0.0, high=255.0, shift=127.5, scale=127.5, dtype=dtype)
    stored = np.arange(256, dtype=np.uint8)
    unit = codec.to_unit(stored)
    assert unit.dtype == np.float32
    assert (unit.min(), unit.max()) == (0, 1)
    back = codec.from_unit(unit)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, stored, atol=1e-4)
    assert codec.kernel_range == (-1.0, 1.0)


@pytest.mark.parametrize("dtype", ["uint16", "int16"])
def test_every_value_of_16_bits_comes_back(dtype: str) -> None:
    """Oracle: rows in [0, 1] are float32, with 24 bits for 16."""
    limits = np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    codec = Codec(low=low, high=high, shift=(low + high) / 2, scale=(high - low) / 2, dtype=dtype)
    stored = np.arange(limits.min, limits.max + 1).astype(dtype)
    unit = codec.to_unit(stored)
    assert (unit.min(), unit.max()) == (0, 1)
    assert codec.from_unit(unit).dtype == dtype
    np.testing.assert_array_equal(codec.from_unit(unit), stored)
    assert codec.kernel_range == (-1.0, 1.0)


def test_images_of_16_bits_are_made_as_such() -> None:
    shape = (4, 2, 2)
    spec = Spec.images("scan", shape, class_names=["a", "b"], low=0, high=65535)
    assert spec.codec.dtype == "uint16"
    private = Private(np.full(shape, 65535, np.uint16), np.array([0, 1, 0, 1]))
    assert checked(private, spec).x.dtype == np.uint16
    with pytest.raises(ValueError, match="uint8, uint16, int16 or of a float type, got uint32"):
        checked(Private(private.x.astype(np.uint32), private.y), spec)
    with pytest.raises(ValueError, match="are stored as"):
        Spec.images("scan", shape, class_names=["a", "b"], dtype="uint32")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("given", [{}, {"low": 0}, {"high": 255}])
def test_floats_without_a_declared_range_are_refused(dtype: Any, given: dict[str, Any]) -> None:
    """Those from 0 to 1 would be taken as 0 to 255, and nothing could be told apart."""
    names = ["no", "yes"]
    private = Private((X / 255).astype(dtype), Y)
    spec = Spec.images("scans", X.shape, class_names=names, **given).of_persons(2)
    with pytest.raises(ValueError, match=r"^x is of float\d\d, .* as low=0, high=1$"):
        checked(private, spec)
    assert checked(Private(X, Y), spec).x.dtype == np.uint8
    for low, high in ((0, 1), (0, 255)):
        declared = Spec.images("scans", X.shape, class_names=names, low=low, high=high)
        assert checked(private, declared).x.dtype == dtype


def test_floats_without_a_declared_range_are_refused_before_a_run_releases(tmp_path: Path) -> None:
    spec, method = Spec.images("scans", X.shape, class_names=["no", "yes"]), jaxdp.methods.dp_ntk
    private, ledger = Private(X / 255, Y), tmp_path / "ledger"
    with pytest.raises(ValueError, match="whose range nobody gave"):
        jaxdp.run(method, method.Settings(eps=1.0), spec, private, ledger=ledger)
    assert not ledger.exists()


def test_drawn_values_beyond_the_range_are_stored_as_bytes_within_it() -> None:
    codec = Codec(low=0.0, high=255.0, shift=0.0, scale=1.0)
    assert codec.from_unit(np.array([-0.5, 1.5], np.float32)).tolist() == [0, 255]


def test_private_examples_get_the_axis_and_type_of_their_facts() -> None:
    found = checked(Private(X, Y), SPEC)
    assert (found.x.shape, found.y.dtype) == ((4, 2, 3, 1), np.int32)
    assert found.rows.shape == (4, 6)


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (X[:3], Y[:3], "has shape"),
        (X.astype(np.int64), Y, "must be uint8, uint16, int16 or of a float type"),
        (X, Y[:3], "4 whole numbers"),
        (X, Y.astype(float), "4 whole numbers"),
        (X, Y + 1, "labels outside 0..1"),
        (np.full(X.shape, np.nan), Y, "not finite"),
        (X.astype(float) + 250, Y, r"outside \[0, 255\]"),
    ],
)
def test_examples_that_contradict_their_facts_are_refused(
    x: np.ndarray, y: np.ndarray, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        checked(Private(x, y), SPEC)


def test_guarantee_private_examples_show_nothing_of_themselves() -> None:
    """Neither in a log nor in a traceback that prints its arguments."""
    shown = repr(Private(X, Y))
    assert shown == f"{Private(X, Y)}" == "Private(4 examples)"
    for x, y in ((np.full(X.shape, 254.25), Y), (X, Y + 7)):
        with pytest.raises(ValueError) as error:  # noqa: PT011
            checked(Private(x[:3] if x.max() > 200 else x, y), SPEC)
        assert "254" not in str(error.value)
        assert "8" not in str(error.value)


@pytest.mark.parametrize("kind", ["range", "finite", "labels"])
def test_guarantee_messages_about_private_examples_name_no_value(kind: str) -> None:
    """What is wrong is said in the same words for whatever examples are: values, and how many."""
    said = []
    for number in (1, 3):
        x, y = X.astype(float), Y.copy()
        bad = 300.0 * number if kind == "range" else np.nan
        if kind == "labels":
            y[:number] = 2 + number
        else:
            x.flat[:number] = bad
            x.flat[10:] = number
        with pytest.raises(ValueError) as error:  # noqa: PT011
            checked(Private(x, y), SPEC)
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((9, 64), r"\(9, 64\) is not that of images.*Spec.rows"),
        ((9, 3, 32, 32), r"channels first.*np.moveaxis\(x, 1, -1\)"),
        ((9, 1, 28, 28), "channels first"),
    ],
)
def test_shapes_of_no_images_say_what_to_do(shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Spec.images("x", shape, class_names="ab")


@pytest.mark.parametrize("shape", [(9, 3, 32, 3), (9, 1, 28, 1), (9, 8, 8, 5), (9, 1, 4, 4)])
def test_low_images_and_many_channels_are_images(shape: tuple[int, ...]) -> None:
    assert Spec.images("x", shape, class_names="ab").image_shape == shape[1:]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.full(len(X), "no"), r"class_names.index\(name\)"),
        (np.eye(2)[np.zeros(len(X), int)], r"y.argmax\(axis=1\)"),
        (np.zeros((len(X), 1), int), r"give y\[:, 0\]"),
        (np.zeros(len(X)), r"y.astype\(int\)"),
    ],
)
def test_labels_of_another_form_say_how_they_become_numbers(y: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        checked(Private(X, y), SPEC)
