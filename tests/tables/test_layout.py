"""Records as stored, rows in [0, 1] and cells: each tells the others, for every kind of column."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_tables import schema_of

from jaxdp.tables import layout as layouts
from jaxdp.tables import written
from jaxdp.tables.columns import Column
from jaxdp.tables.layout import Layout
from jaxdp.tables.schema import BINS, FORMS, ONE_HOT, RAW, Schema

TARGET = Column(name="t", type="categorical", categories=("a", "b"), other=False)
# A machine that does other work, too, takes its time.
RELAXED = settings(deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def numeric_columns(draw: st.DrawFn) -> dict[str, Any]:
    integer, scale = draw(st.booleans()), draw(st.sampled_from(["linear", "log", "edges"]))
    low = draw(st.integers(-(10**4), 10**4))
    span = draw(st.one_of(st.integers(1, 20), st.integers(1, 10**5)))
    bins: int | tuple[int, ...] = draw(st.integers(1, 40))
    if scale == "edges":
        last = span if integer else span - 1
        inner = draw(st.sets(st.integers(1, last), max_size=8)) if last else set()
        bins = tuple(sorted(low + edge for edge in inner))
    return {
        "name": "number",
        "type": "numeric",
        "lower": low,
        "upper": low + span,
        "integer": integer,
        "log": scale == "log",
        "bins": bins,
        "nullable": draw(st.booleans()),
    }


@st.composite
def choice_columns(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "name": "choice",
        "type": draw(st.sampled_from(["categorical", "ordinal"])),
        "categories": tuple(map(str, range(draw(st.integers(1, 9))))),
        "nullable": draw(st.booleans()),
        "other": draw(st.booleans()),
    }


# What columns are made of: making them checks types, which draws from `random`.
NUMERIC = numeric_columns()
COLUMNS = st.lists(st.one_of(NUMERIC, choice_columns()), min_size=1, max_size=4)


def table_of(*columns: dict[str, Any]) -> Schema:
    """Return a schema with columns beside the target."""
    return Schema(columns=tuple(Column(**facts) for facts in columns), target=TARGET, order=())


def stored_of(schema: Schema, num: int, seed: int) -> np.ndarray:
    """Return records as stored: numbers anywhere, at ends of bins, and missing."""
    rng = np.random.default_rng(seed)
    stored = np.empty((num, len(schema.columns)), np.float32)
    for number, column in enumerate(schema.columns):
        if column.is_numeric:
            ends = layouts.positions(column, layouts.edges(column)).astype(np.float32)
            values = np.where(rng.random(num) < 0.5, rng.choice(ends, num), rng.random(num))
            missing = (rng.random(num) < 0.2) & column.nullable
            stored[:, number] = np.where(missing, layouts.MISSING_NUMBER, values)
        else:
            stored[:, number] = rng.integers(0, len(column.values) + column.nullable, num)
    return stored


@RELAXED
@given(COLUMNS, SEEDS)
def test_one_hot_rows_tell_the_record(columns: list[dict[str, Any]], seed: int) -> None:
    schema = table_of(*columns)
    layout, stored = Layout(schema, ONE_HOT), stored_of(schema, 20, seed)
    np.testing.assert_array_equal(layout.from_unit(layout.to_unit(stored)), stored)
    np.testing.assert_array_equal(layout.nearest(stored), stored)


@RELAXED
@given(COLUMNS, SEEDS)
def test_raw_rows_lose_only_what_is_missing(columns: list[dict[str, Any]], seed: int) -> None:
    schema = table_of(*columns)
    layout, stored = Layout(schema, RAW), stored_of(schema, 20, seed)
    expected = np.where(stored < 0, np.float32(0.5), stored)
    np.testing.assert_array_equal(layout.from_unit(layout.to_unit(stored)), expected)


@RELAXED
@given(COLUMNS, SEEDS)
def test_binned_rows_tell_the_cell(columns: list[dict[str, Any]], seed: int) -> None:
    schema = table_of(*columns)
    layout, stored = Layout(schema, BINS), stored_of(schema, 20, seed)
    again = layout.from_unit(layout.to_unit(stored))
    np.testing.assert_array_equal(layout.cells(again), layout.cells(stored))
    cells = layout.cells(stored).T
    marks = [np.eye(size)[cell] for size, cell in zip(layout.sizes, cells, strict=True)]
    np.testing.assert_array_equal(layout.to_unit(stored), np.concatenate(marks, axis=1))


@RELAXED
@given(COLUMNS, SEEDS)
def test_records_drawn_from_cells_lie_in_them(columns: list[dict[str, Any]], seed: int) -> None:
    schema = table_of(*columns)
    layout, rng = Layout(schema, BINS), np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, size, 50) for size in layout.sizes]).astype(np.int32)
    drawn = layout.from_cells(cells, rng)
    np.testing.assert_array_equal(layout.cells(drawn), cells)
    np.testing.assert_array_equal(layout.nearest(drawn), drawn)


def test_no_number_is_rounded_into_the_next_cell() -> None:
    column = Column(name="x", type="numeric", lower=0, upper=1, bins=10**4)
    layout = Layout(Schema(columns=(column,), target=TARGET, order=()), BINS)
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 10**4, (10**6, 1)).astype(np.int32)
    assert np.array_equal(layout.cells(layout.from_cells(cells, rng)), cells)


@RELAXED
@given(COLUMNS, SEEDS, st.sampled_from(FORMS))
def test_rows_are_in_the_unit_cube_with_one_mark_a_column(
    columns: list[dict[str, Any]], seed: int, form: str
) -> None:
    schema = table_of(*columns)
    layout = Layout(schema, form)
    rows = layout.to_unit(stored_of(schema, 20, seed))
    assert rows.shape == (20, layout.dim)
    assert rows.dtype == np.float32
    assert rows.min() >= 0
    assert rows.max() <= 1
    for block in layout.blocks:
        if form == BINS or (form == ONE_HOT and not block.column.is_numeric):
            part = rows[:, block.places]
            assert set(np.unique(part)) <= {0.0, 1.0}
            np.testing.assert_array_equal(part.sum(axis=1), 1)


@settings(max_examples=8, deadline=None)
@given(COLUMNS, SEEDS, st.sampled_from(FORMS))
def test_jit_does_the_same(columns: list[dict[str, Any]], seed: int, form: str) -> None:
    schema = table_of(*columns)
    layout, stored = Layout(schema, form), stored_of(schema, 20, seed)
    found = jax.jit(layout.to_unit)(jnp.asarray(stored))
    assert found.dtype == np.float32
    # XLA may multiply by the reciprocal of a public constant where numpy divides.
    np.testing.assert_allclose(found, layout.to_unit(stored), rtol=2e-7)


@RELAXED
@given(NUMERIC, SEEDS)
def test_whole_numbers_are_told_exactly(facts: dict[str, Any], seed: int) -> None:
    column = Column(**facts)
    low, high = column.bounds
    values = np.random.default_rng(seed).integers(int(low), int(high), 100, endpoint=True)
    at = layouts.positions(column, values)
    np.testing.assert_array_equal(np.rint(layouts.values_at(column, at)), values)
    assert at.min() >= 0
    assert at.max() <= 1
    ordered = layouts.positions(column, np.sort(values))
    assert np.all(np.diff(ordered) >= 0)


@RELAXED
@given(NUMERIC)
def test_values_outside_of_bounds_are_clipped(facts: dict[str, Any]) -> None:
    column = Column(**facts)
    low, high = column.bounds
    ends = layouts.positions(column, [low, high])
    strange = layouts.positions(column, [-np.inf, low - 1, high + 1, 1e300, np.inf])
    np.testing.assert_array_equal(strange, ends[[0, 0, 1, 1, 1]])
    found = layouts.values_at(column, np.array([-1.0, 0.0, 1.0, 2.0]))
    np.testing.assert_allclose(found, [low, low, high, high], rtol=1e-12, atol=1e-9)
    assert np.all((found >= low) & (found <= high))


@RELAXED
@given(NUMERIC)
def test_every_bin_of_whole_numbers_has_one_and_each_is_used(facts: dict[str, Any]) -> None:
    column = Column(**facts)
    ends = layouts.edges(column)
    assert np.all(np.diff(ends) > 0)
    if not column.integer:
        return
    assert np.all(ends % 1 == 0)
    low, high = map(int, column.bounds)
    whole = np.arange(low, min(high, low + 10**4) + 1)
    layout = Layout(Schema(columns=(column,), target=TARGET, order=()), BINS)
    cells = layout.cells(layouts.positions(column, whole)[:, None].astype(np.float32))[:, 0]
    np.testing.assert_array_equal(cells, np.searchsorted(ends, whole, side="right") - 1)


@RELAXED
@given(NUMERIC)
def test_whole_numbers_that_stand_for_bins_lie_in_them(facts: dict[str, Any]) -> None:
    column = Column(**(facts | {"integer": True}))
    layout = Layout(table_of(facts | {"integer": True}), BINS)
    rows = np.eye(layout.dim, dtype=np.float32)[: len(layouts.edges(column)) - 1]
    values = layouts.values_at(column, layout.from_unit(rows)[:, 0])
    stored = layouts.positions(column, values)[:, None].astype(np.float32)
    np.testing.assert_array_equal(layout.to_unit(stored), rows)


def test_few_whole_numbers_have_a_bin_each() -> None:
    for upper in (1, 2, 7, 15):
        column = Column(name="x", type="numeric", lower=0, upper=upper, integer=True)
        np.testing.assert_array_equal(layouts.edges(column), np.arange(upper + 2))


def test_a_spike_at_the_upper_bound_is_a_bin_of_its_own() -> None:
    facts: dict[str, Any] = {"name": "x", "type": "numeric", "lower": 0, "upper": 99.7}
    for more in ({"bins": 4}, {"bins": (20, 95), "spikes": (0.0, 99.7)}):
        column = Column(**facts, **({"spikes": (99.7,)} | more))
        layout = Layout(Schema(columns=(column,), target=TARGET, order=()))
        at = layouts.positions(column, [99.69, 99.7, 150.0])
        before, own, beyond = layout.cells(at.astype(np.float32)[:, None])[:, 0]
        assert before + 1 == own == beyond == len(layouts.edges(column)) - 2
        drawn = layout.from_cells(np.full((50, 1), own), np.random.default_rng(0))
        assert set(written.numbers(column, drawn[:, 0])) == {99.7}
        drawn = layout.from_cells(np.full((50, 1), before), np.random.default_rng(0))
        assert 99.7 not in set(written.numbers(column, drawn[:, 0]))


def test_a_whole_spike_after_a_long_bin_is_told_exactly() -> None:
    facts: dict[str, Any] = {"name": "x", "type": "numeric", "lower": 0, "upper": 2 * 10**9}
    spikes = (999_999_937, 1_500_000_001)
    column = Column(**facts, integer=True, bins=(7, 11), spikes=spikes)
    stored = layouts.positions(column, spikes).astype(np.float32)
    np.testing.assert_array_equal(layouts.values_at(column, stored), spikes)
    np.testing.assert_array_equal(written.numbers(column, stored), spikes)


def test_edges_make_bins_of_equal_length() -> None:
    layout = Layout(schema_of(), BINS)
    income = layout.blocks[1].column
    np.testing.assert_array_equal(layouts.edges(income), [0, 1, 10, 100, 1000])
    np.testing.assert_allclose(
        layouts.positions(income, [0, 0.5, 1, 55, 100, 1000]), [0, 0.125, 0.25, 0.625, 0.75, 1]
    )


def test_a_log_scale_is_that_of_its_formula() -> None:
    column = Column(name="x", type="numeric", lower=-2, upper=98, log=True)
    values = np.array([-2.0, 0.0, 7.0, 98.0])
    at = np.log(1 + values + 2) / np.log(101)
    np.testing.assert_allclose(layouts.positions(column, values), at, rtol=1e-14)
    np.testing.assert_allclose(layouts.values_at(column, at), values, atol=1e-12)


def test_cells_have_names() -> None:
    layout = Layout(schema_of(), BINS)
    names = [layout.cell_names(number) for number in range(len(layout.blocks))]
    assert tuple(map(len, names)) == layout.sizes
    assert names[1] == ["0", "1", "10", "100"]
    assert names[2][-1] == "missing"
    assert names[3] == ["no", "yes", "other", "missing"]
    assert names[4] == ["I", "II", "III"]


def test_forms_have_names() -> None:
    with pytest.raises(ValueError, match="form must be one of"):
        Layout(schema_of(), "cooked")
    assert Layout(schema_of()).form == ONE_HOT
