"""Warnings that a schema hardly fits its table: by the records that were made alone."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jaxdp.data import Spec
from jaxdp.methods import misfits
from jaxdp.methods.dp_ntk import story as dp_ntk
from jaxdp.methods.marginals import story as marginals
from jaxdp.tables import Bought, frames
from jaxdp.tables.schema import Schema

WHOLE = {"type": "numeric", "integer": True}
UNIX = {"type": "timestamp", "format": "unix"}
TARGET = {"type": "categorical", "categories": ["no", "yes"], "target": True}


def said(
    values: list[Any], *, drawn: bool = True, bought: tuple[str, ...] = (), **column: Any
) -> tuple[str, ...]:
    """Return the warnings about a table with one column, of which facts were bought, and a target.

    Which ledger they have does not matter here.
    """
    schema = Schema.from_json({"columns": {"it": column, "ill": TARGET}})
    if bought:
        schema = dataclasses.replace(schema, bought=Bought("0" * 32, {"it": bought}, {}))
    x, y = frames.encode(pd.DataFrame({"it": values, "ill": "no"}), schema)
    name = "synthetic" if drawn else "distilled"
    made: Any = SimpleNamespace(
        spec=Spec.table("it", schema, len(x)), x=x, y=y, name=name, class_names=("no",)
    )
    return misfits.warnings(made)


def test_categories_that_are_spelled_otherwise_are_told() -> None:
    column = {"type": "categorical", "categories": ["No", "Yes"]}
    (line,) = said(["no"] * 60 + ["Yes"] * 40, **column)
    assert line.startswith("column 'it': 60% of the made records hold 'other', which stands for")
    assert "missing values among them" in line
    assert not said(["no"] * 50 + ["Yes"] * 50, **column)
    assert not said(["no"] * 90 + ["Yes"] * 10, **column, other=False)
    assert "missing" not in said(["no"] * 60, **column, nullable=True)[0]


def test_a_category_other_that_is_declared_may_be_the_commonest() -> None:
    assert not said(["other"] * 100, type="categorical", categories=["a", "other"])


@pytest.mark.parametrize("categories", [["other"], ["a", "other"], ["a"]])
def test_a_category_other_that_was_bought_and_holds_most_is_told(categories: list[str]) -> None:
    """One odd way to write numbers makes texts of all, of which none is frequent."""
    more: Any = {"type": "categorical", "categories": categories, "other": categories == ["a"]}
    (line,) = said(["other"] * 80 + ["a"] * 20, bought=("categories",), **more)
    assert "of the made records hold 'other', as too few records share any other text" in line
    assert "if they are numbers" in line
    if len(categories) > 1:
        assert not said(["other"] * 40 + ["a"] * 60, bought=("categories",), **more)


def test_values_that_are_cut_off_are_told() -> None:
    column = {"type": "numeric", "lower": 0, "upper": 30, "integer": True}
    (line,) = said([45] * 60 + [3] * 40, **column)
    assert line.startswith("column 'it': 60% of the made values lie in its last bin, from 29 to 30")
    assert not said([45] * 50 + [3] * 50, **column)


def test_the_last_bin_of_a_logarithmic_scale_may_hold_most() -> None:
    column = {"type": "numeric", "lower": 0, "upper": 1000, "log": True}
    assert not said([900] * 80 + [3] * 20, **column)
    assert said([1001] * 95 + [3] * 5, **column)


def test_bounds_that_are_far_too_wide_are_told() -> None:
    column = {"type": "numeric", "lower": 0, "upper": 1e6}
    (line,) = said(list(np.linspace(1, 5000, 95)) + [9e5] * 5, **column)
    assert line.startswith("column 'it': 95% of the made values lie in its first bin, from 0 to")
    assert '"log": true' in line
    assert not said(list(np.linspace(1, 5000, 95)) + [9e5] * 5, **column, bins=[1, 1000, 3000])
    assert not said(list(np.linspace(1, 5000, 90)) + [9e5] * 10, **column)


def test_missing_numbers_lie_in_no_bin_and_few_bins_say_nothing() -> None:
    assert not said(
        [45] * 2 + [3] * 3 + [None] * 95, type="numeric", lower=0, upper=30, nullable=True
    )
    assert not said([1] * 100, type="numeric", lower=0, upper=1, integer=True)


@pytest.mark.parametrize(
    ("facts", "field", "bound"),
    [
        ({**WHOLE, "lower": 0, "upper": 2**53 - 1}, "upper", "9.0072e+15"),
        ({"type": "numeric", "lower": -(2.0**100), "upper": 9}, "lower", "-1.26765e+30"),
        ({"type": "numeric", "lower": 0, "upper": 2.0**100, "decimals": 2}, "upper", "12676506"),
        ({**UNIX, "lower": "0", "upper": "253402300799"}, "upper", "253402300799"),
    ],
)
def test_bought_bounds_at_the_end_of_what_is_looked_at_are_told(
    facts: dict[str, Any], field: str, bound: str
) -> None:
    (line,) = said([facts["lower"]] * 50 + [facts["upper"]] * 50, bought=("bounds",), **facts)
    assert line.startswith(f"column 'it': {bound}")
    assert f'beyond counts as that: declare "{field}"' in line
    assert not said([facts["lower"]] * 50 + [facts["upper"]] * 50, **facts), "somebody knows them"


def test_bought_bounds_that_nothing_can_lie_beyond_say_nothing() -> None:
    days = {"type": "date", "format": "%Y-%m-%d", "lower": "0001-01-01", "upper": "9999-12-31"}
    assert not said(["0001-01-01", "9999-12-31"] * 9, bought=("bounds",), **days)
    short = {"type": "date", "format": "%d.%m.%y", "lower": "01.01.69", "upper": "31.12.68"}
    assert not said(["01.01.69", "31.12.68"] * 9, bought=("bounds",), **short)


def test_few_bins_that_were_bought_and_leave_one_value_are_told() -> None:
    column = {"type": "numeric", "lower": 0, "upper": 1, "integer": True}
    (line,) = said([1] * 100, bought=("bounds",), **column)
    assert line.startswith("column 'it': all made values are 1: look whether those of the table")
    days = {"type": "date", "format": "%d.%m.%Y", "lower": "01.01.1900", "upper": "05.01.1900"}
    (line,) = said(["01.01.1900"] * 9, bought=("bounds",), bins=2, **days)
    assert "are 01.01.1900 to 02.01.1900: look" in line
    assert not said([1] * 99 + [0], bought=("bounds",), **column)
    assert not said([1] * 100, **column)
    assert not said([None] * 9, bought=("bounds",), nullable=True, **column)


def test_distilled_records_are_no_sample() -> None:
    assert not said(["no"] * 100, drawn=False, type="categorical", categories=["No"])


def test_of_many_columns_five_are_named() -> None:
    columns = {f"c{n}": {"type": "categorical", "categories": ["A"]} for n in range(7)}
    schema = Schema.from_json({"columns": {**columns, "ill": TARGET}})
    frame = pd.DataFrame({name: ["a", "b"] for name in columns} | {"ill": "no"})
    x, _ = frames.encode(frame, schema)
    made: Any = SimpleNamespace(
        spec=Spec.table("it", schema, len(x)), x=x, y=x, name="synthetic", class_names=("no",)
    )
    *lines, rest = misfits.warnings(made)
    assert len(lines) == 5
    assert rest == "2 more columns fit as little"


# --- Before the work ---------------------------------------------------------------------------


def advised(num: int, *, eps: float = 1.0, features: str = "pairs", **column: Any) -> str:
    """Return what is said of a table of two numbers of one kind and a target."""
    number = {"type": "numeric", "lower": 0, "upper": 100} | column
    schema = Schema.from_json({"columns": {"a": number, "b": number, "ill": TARGET}})
    settings = SimpleNamespace(features=features, eps=eps)
    return "".join(misfits.few_bins(settings, Spec.table("toy", schema, num)))


def test_many_records_allow_finer_bins() -> None:
    """2 classes and 2 columns: 2 sqrt(2) times 1000 and 3000 records."""
    assert advised(2828) == ""
    assert advised(2829).startswith("column 'a' and 1 more: numbers are told apart by 16 bins, and")
    assert advised(2829).endswith(
        '2829 records allow 32 at epsilon 1; give "bins": 32 in the schema'
    )
    assert '"bins": 32' in advised(8485)
    assert '"bins": 64' in advised(8486)
    assert advised(8486, eps=0.1) == ""
    assert '"bins": 64' in advised(849, eps=10.0)


@pytest.mark.parametrize(
    "column", [{"bins": 8}, {"bins": [1, 5]}, {"upper": 9, "integer": True}, {"bins": 64}]
)
def test_bins_that_somebody_chose_or_that_suffice_stay(column: dict[str, Any]) -> None:
    assert advised(10**6, **column) == ""


def test_what_counts_no_bins_and_what_protects_persons_needs_more_records() -> None:
    assert advised(10**6, features="rff") == ""
    schema = Schema.from_json(
        {"columns": {"a": {"type": "numeric", "lower": 0, "upper": 1}, "ill": TARGET}}
    )
    settings, spec = SimpleNamespace(features="marginals", eps=1.0), Spec.table("t", schema, 2001)
    assert misfits.few_bins(settings, spec)
    assert not misfits.few_bins(settings, spec.of_persons(2))


@pytest.mark.parametrize("story", [dp_ntk.STORY, marginals.STORY])
def test_every_table_that_is_drawn_is_looked_at(story: Any) -> None:
    assert story.result == misfits._DRAWN
