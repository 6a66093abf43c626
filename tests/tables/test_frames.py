"""Frames to records as stored and back: by the schema alone, each record by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_tables import (
    NUMBER,
    TARGET,
    frame_of,
    one_column,
    schema_of,
    stored_of,
    strange_frame_of,
)

from jaxdp.data import Private, Spec
from jaxdp.tables import frames
from jaxdp.tables.columns import SchemaError
from jaxdp.tables.layout import MISSING_NUMBER
from jaxdp.tables.schema import Schema

RELAXED = settings(deadline=None)


# Values of any kind: numbers beyond all bounds, texts, and values that are equal, yet not written
# alike.
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.sampled_from([-0.0, 0.0, math.inf, 2**63, 1e16])
)
CHOICES = st.one_of(
    st.sampled_from(
        ["a", "b", " a ", "b.", "c", "", "NA", "1", "1.0", "0", True, False, 1, 0, 1.0]
    ),
    st.sampled_from([1.0, -0.0, 0.0, None, math.nan, 10**16, 1e16, "True"]),
    st.text(max_size=3),
)


@RELAXED
@given(
    st.lists(st.tuples(NUMBERS, CHOICES), min_size=2, max_size=8),
    st.tuples(NUMBERS, CHOICES),
    st.booleans(),
)
def test_guarantee_a_record_depends_on_itself_alone(
    rows: list[tuple[Any, Any]], other: tuple[Any, Any], as_text: bool
) -> None:
    """What is stored of a record is what is stored of it in a table of its own."""
    choice = {"type": "categorical", "categories": ["a", "b", 0, 1, "True", 10**16]}
    columns = {"x": NUMBER, "z": NUMBER | {"nullable": False}, "c": choice, "t": TARGET}
    schema = Schema.from_json({"columns": columns})

    def stored(table: list[tuple[Any, Any]]) -> np.ndarray:
        if as_text:
            table = [(str(x), str(c)) for x, c in table]
        numbers, choices = zip(*table, strict=True)
        x, c = (pd.Series(values, dtype=object) for values in (numbers, choices))
        return frames.records(pd.DataFrame({"x": x, "z": x, "c": c}), schema)

    whole = stored(rows)
    alone = np.concatenate([stored([row]) for row in rows])
    np.testing.assert_array_equal(whole, alone)
    np.testing.assert_array_equal(stored(rows[::-1]), whole[::-1])
    changed = stored([other, *rows[1:]])
    np.testing.assert_array_equal(changed[1:], whole[1:])


def test_guarantee_a_missing_number_is_the_middle_whatever_the_others_are() -> None:
    """The one above draws a missing number beside others too seldom."""
    schema = one_column(NUMBER | {"nullable": False})
    low, high = NUMBER["lower"], NUMBER["upper"]
    for others in ([low, low], [high, high], [low, high, high]):
        assert stored_of([math.nan, *map(float, others)], schema)[0] == 0.5


@pytest.mark.parametrize("values", [[0.0, -0.0], [True, 1], [1, True], ["1", 1], [1.0, True, "1"]])
def test_guarantee_values_that_are_equal_do_not_speak_for_each_other(values: list[Any]) -> None:
    schema = one_column({"type": "categorical", "categories": ["0", "True", "1"]})
    column = pd.Series(values, dtype=object)
    found = frames.records(pd.DataFrame({"x": column}), schema)[:, 0]
    alone = [stored_of(pd.Series([value], dtype=object), schema)[0] for value in values]
    assert found.tolist() == alone


DAYS = ("1900-01-01", "2020-01-01", "2020-01-01 10:30")


@pytest.mark.parametrize(
    ("values", "others"),
    [
        (pd.Series([-99.9, 0.5, 7.0]), ["?", "3", None]),
        (pd.Series([-99.9, 0.5, 7.0], dtype="Float64"), ["?", "3", None]),
        (pd.Series([True, False]), [None]),
        (pd.to_datetime(pd.Series(DAYS[:2])), pd.to_datetime(pd.Series(DAYS[2:])).tolist()),
    ],
)
def test_guarantee_the_type_of_a_column_decides_about_no_value(
    values: pd.Series, others: list[Any]
) -> None:
    """A text or a time among other records makes another type of the column that they are in."""
    choice = {"type": "categorical", "categories": ["7", "True", "x"], "nullable": True}
    columns = {"x": NUMBER, "c": choice, "t": TARGET}
    texts = ["-99.9", "0.5", "?", "False", DAYS[0]]
    schema = Schema.from_json({"columns": columns, "missing": texts})

    def stored(column: pd.Series) -> list[list[float]]:
        number = column if values.dtype.kind == "f" else 0
        return frames.records(pd.DataFrame({"x": number, "c": column}), schema).tolist()

    plain = stored(values)
    assert stored(values.astype(object)) == plain
    mixed = pd.Series(
        [*values.tolist(), *others], dtype=None if "datetime" in f"{values.dtype}" else object
    )
    assert stored(mixed)[: len(values)] == plain


def test_guarantee_the_schema_is_never_inferred() -> None:
    """Data outside the schema are brought into it, and tell nothing by what is public of them."""
    schema = schema_of()
    before = schema.to_json()
    found, strange = (
        Private.of_frame(frame, schema) for frame in (frame_of(50), strange_frame_of(50))
    )
    assert schema.to_json() == before
    assert found.x.shape == strange.x.shape
    assert found.x.dtype == strange.x.dtype == np.float32
    # age below, income and debt above, smoker other, and stage, which has none, the first
    np.testing.assert_array_equal(strange.x, np.tile(np.float32([0, 1, 1, 2, 0]), (50, 1)))
    spec = Spec.table("toy", schema, 50)
    for private in (found, strange):
        np.testing.assert_array_equal(
            spec.codec.from_unit(spec.codec.to_unit(private.x)), private.x
        )
    made = frames.decode(strange.x, strange.y, schema)
    assert made.iloc[0].tolist() == [0, 1000, 1e5, "other", "no", "I"]


def test_records_are_stored_as_declared() -> None:
    frame = pd.DataFrame(
        {
            "name": "x",
            "stage": ["I", "III", "", "IV"],
            "ill": ["no", "yes", "yes.", " no "],
            "smoker": ["yes", "", "sometimes", "no"],
            "debt": ["0", "", "1e5", "99"],
            "income": ["0", "55", "1000", ""],
            "age": ["60", " 120 ", "-3", "1e9"],
        }
    )
    x, y = frames.encode(frame, schema_of())
    log = math.log1p(99) / math.log1p(1e5)
    np.testing.assert_allclose(
        x,
        [
            [0.5, 0, 0, 1, 0],
            [1, 0.625, MISSING_NUMBER, 3, 2],
            [0, 1, 1, 2, 0],
            [1, 0.5, log, 0, 0],
        ],
        rtol=1e-6,
    )
    assert y.tolist() == [0, 1, 1, 0]
    assert (x.dtype, y.dtype) == (np.float32, np.int32)


def test_order_and_spaces_and_marks_of_the_header_do_not_matter() -> None:
    frame, schema = frame_of(20), schema_of()
    expected = frames.encode(frame, schema)
    turned = frame[list(frame.columns)[::-1]]
    spaced = frame.rename(columns={"age": "  age ", "ill": "ill "})
    marked = frame.rename(columns={"name": "\ufeffname"})
    for other in (turned, spaced, marked, frame.drop(columns="name"), frame.set_index("name")):
        for found, wanted in zip(frames.encode(other, schema), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_typed_columns_are_stored_as_their_texts() -> None:
    schema = schema_of()
    frame = frame_of(60)
    expected = frames.encode(frame, schema)[0]
    debt = frame["debt"].replace("", None)
    typed = {
        "int": frame.assign(age=frame["age"].astype(int)),
        "float": frame.assign(age=frame["age"].astype(float), debt=debt.astype(float)),
        "small": frame.assign(age=frame["age"].astype(np.uint8)),
        "nullable": frame.assign(
            age=frame["age"].astype("Int64"), debt=debt.astype("Int64"), income=frame["income"]
        ),
        "nullable floats": frame.assign(debt=debt.astype("Float64")),
        "categorical": frame.assign(
            stage=frame["stage"].astype("category"),
            smoker=frame["smoker"].replace("", None).astype("category"),
            age=frame["age"].astype(int).astype("category"),
        ),
        "objects": frame.astype(object).replace("", None),
        "texts": frame.astype("string"),
    }
    for kind, other in typed.items():
        np.testing.assert_array_equal(frames.encode(other, schema)[0], expected, err_msg=kind)


@pytest.mark.parametrize("dtype", [int, float, "Int64", "Float64", "category", str, object])
def test_categories_that_are_numbers_may_come_typed(dtype: Any) -> None:
    schema = one_column({"type": "categorical", "categories": [3, 1, 2]})
    assert stored_of(pd.Series([1, 2, 3, 4]).astype(dtype), schema) == [1, 2, 0, 3]


def test_flags_may_come_typed() -> None:
    schema = one_column({"type": "categorical", "categories": ["False", "True"], "nullable": True})
    assert stored_of([True, False], schema) == [1, 0]
    nullable = pd.array([True, None], dtype="boolean")
    assert stored_of(nullable, schema) == [1, 3]
    for flags in (np.array([True, False]), pd.Series([True, False, 1, None], dtype=object)):
        assert stored_of(flags, one_column(NUMBER))[:2] == pytest.approx([0.1, 0])


@pytest.mark.parametrize("dtype", [int, float, "Int64", "Float64", str, object, "category"])
def test_texts_for_missing_numbers_count_in_typed_columns_too(dtype: Any) -> None:
    values = pd.Series([-999, 5]).astype(dtype)
    assert stored_of(values, one_column(NUMBER, "-999")) == [MISSING_NUMBER, 0.5]
    assert stored_of(["-999.0", "5.0"], one_column(NUMBER, "-999")) == [MISSING_NUMBER, 0.5]
    choice = {"type": "categorical", "categories": [5], "nullable": True}
    assert stored_of(values, one_column(choice, "-999")) == [2, 0]


@pytest.mark.parametrize("missing", ["", "NA", "nan", "null", " None ", None, math.nan, pd.NA])
def test_missing_values_are_told_apart_where_that_is_declared(missing: Any) -> None:
    values = pd.Series([missing, "5"], dtype=object)
    assert stored_of(values, one_column(NUMBER)) == [MISSING_NUMBER, 0.5]
    assert stored_of(values, one_column(NUMBER | {"nullable": False})) == [0.5, 0.5]
    choice = {"type": "categorical", "categories": ["4", "5"]}
    assert stored_of(values, one_column(choice | {"nullable": True})) == [3, 1]
    assert stored_of(values, one_column(choice)) == [2, 1]
    assert stored_of(values, one_column(choice | {"other": False})) == [0, 1]


def test_a_category_may_be_a_text_that_else_is_missing() -> None:
    choice = {"type": "categorical", "categories": ["None", "", "x"], "nullable": True}
    assert stored_of(["None", "", "NA", "x"], one_column(choice)) == [0, 1, 4, 2]


def test_final_dots_count_only_where_they_tell_categories_apart() -> None:
    plain = one_column({"type": "categorical", "categories": ["a", "b."]})
    assert stored_of(["a", "a.", "b", "b.", "."], plain) == [0, 0, 1, 1, 2]
    apart = one_column({"type": "categorical", "categories": ["a", "a."]})
    assert stored_of(["a", "a."], apart) == [0, 1]
    dots = one_column({"type": "categorical", "categories": ["...", "x"], "nullable": True})
    assert stored_of(["...", "", "x"], dots) == [0, 3, 1]


PRIVATE = "person 17"


@pytest.mark.parametrize(
    "values",
    [
        ["1", PRIVATE],
        ["1,200", "3"],
        ["2020-01-01", "3"],
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_timedelta([1, 2], unit="D"),
        ["5 kg", "1"],
        [[1], [2]],
        ["0x1F", "1"],
        ["1_000", "1"],
        [1j, 2j],
    ],
)
def test_texts_in_numeric_columns_are_refused_and_not_told(values: Any) -> None:
    column = values if isinstance(values, pd.Index) else pd.Series(values, dtype=object)
    with pytest.raises(SchemaError) as caught:
        stored_of(column, one_column(NUMBER))
    message = str(caught.value)
    assert "column 'x'" in message
    assert "no numbers" in message
    assert "\n" not in message
    for told in (PRIVATE, "1,200 3", "2020", "kg", "0x1F"):
        assert told not in message


def test_numbers_that_are_not_finite_are_clipped() -> None:
    assert stored_of(["inf", "-inf", "1e999"], one_column(NUMBER)) == [1, 0, 1]
    assert stored_of([math.inf, -math.inf, math.nan], one_column(NUMBER)) == [1, 0, MISSING_NUMBER]


@pytest.mark.parametrize("value", ["", " ", None, math.nan])
def test_targets_that_are_missing_are_refused_as_missing(value: Any) -> None:
    frame = pd.DataFrame({"x": [1, 2], "t": pd.Series(["yes", value], dtype=object)})
    with pytest.raises(SchemaError, match="'t': is the target, and values are missing there"):
        frames.encode(frame, one_column(NUMBER))


@pytest.mark.parametrize("value", [PRIVATE, "maybe", 3])
def test_targets_that_are_no_class_are_refused_and_not_told(value: Any) -> None:
    frame = pd.DataFrame({"x": [1, 2], "t": pd.Series(["yes", value], dtype=object)})
    with pytest.raises(SchemaError, match="column 't': is the target, and the table holds") as told:
        frames.encode(frame, one_column(NUMBER))
    assert PRIVATE not in str(told.value)
    assert "maybe" not in str(told.value)


def test_labels_follow_classes_and_their_final_dots() -> None:
    target = {"type": "categorical", "categories": [1, 2, 3], "target": True}
    target |= {"classes": {"one": [1], "more": [2, 3]}}
    schema = Schema.from_json({"columns": {"x": NUMBER, "t": target}})
    frame = pd.DataFrame({"x": 1, "t": ["1", "2.0", " 3", "3."]})
    assert frames.labels(frame, schema).tolist() == [0, 1, 1, 1]
    made = frames.decode(np.zeros((2, 1), np.float32), np.array([0, 1]), schema)
    assert made["t"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda frame: frame.drop(columns="age"), "'age': there is no such column"),
        (lambda frame: frame.drop(columns="ill"), "has no such column"),
        (lambda frame: frame.assign(more=1), "'more': the schema does not declare it"),
        (lambda frame: pd.concat([frame, frame["age"]], axis=1), "'age': it is there twice"),
        (lambda frame: pd.concat([frame, frame["ill"]], axis=1), "'ill': it is there twice"),
        (lambda frame: frame.rename(columns={"age": "Age"}), "'age': there is no such column"),
    ],
)
def test_other_columns_than_declared_are_refused(change: Any, expected: str) -> None:
    frame = frame_of(3)
    with pytest.raises(SchemaError, match=expected) as caught:
        frames.encode(change(frame), schema_of())
    assert "\n" not in str(caught.value)
    assert "person" not in str(caught.value)


def test_records_need_no_target() -> None:
    frame, schema = frame_of(5), schema_of()
    found = frames.records(frame.drop(columns=["ill", "name"]), schema)
    np.testing.assert_array_equal(found, frames.encode(frame, schema)[0])


def test_a_table_without_a_header_does_not_show_its_first_record() -> None:
    frame = pd.DataFrame([["40", "no"]], columns=["39", "a secret"])
    with pytest.raises(SchemaError) as caught:
        frames.encode(frame, one_column(NUMBER))
    assert "'x'" in str(caught.value)
    assert not {"39", "secret"} & set(str(caught.value).replace("'", " ").split())
