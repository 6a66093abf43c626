"""Warnings that a schema hardly fits its table, told by public facts and by what was made.

How many private records a schema does not fit is private. Records that were drawn from a release
may be looked at by anybody, so what they tell is post-processing and costs nothing.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from jaxdp.data import Spec
from jaxdp.tables.bought import BOUNDS, CATEGORIES
from jaxdp.tables.columns import NUM_BINS, OTHER, Column
from jaxdp.tables.layout import Layout, edges
from jaxdp.tables.scales import beyond

_COUNTS = ("marginals", "pairs")  # features of dp_ntk that count cells
_LISTED = 5
_DRAWN = "synthetic"  # what a set is called that was drawn
# Of the records that were made; noise alone puts fewer into one cell.
_MANY_OTHER = 0.5
_MANY_LAST = 0.5
# The last bin of a logarithmic scale, or of given edges, is long by itself.
_MANY_LONG = 0.9
# Most values of a long tail are small, and so many that nothing tells them apart help nobody.
_MANY_FIRST = 0.9
_FEWEST_BINS = 4
# From so many records, times epsilon, for a class and the root of the columns: so many bins are
# better than 16. Measured at epsilon 1 on tables of 2,000 to 78,000 records, 6 to 13 columns.
_FINER = ((3000.0, 64), (1000.0, 32))


def warnings(made: Any) -> tuple[str, ...]:
    """Return a line for each column (at most five) whose made values look cut off or unlisted.

    Args:
        made: what a run has made; only a table that was drawn is looked at, as distilled records
            are no sample.
    """
    schema = made.spec.schema
    if schema is None or made.name != _DRAWN or len(made.x) == 0:
        return ()
    cells = Layout(schema).cells(np.asarray(made.x))
    lines, facts = [], {} if schema.bought is None else schema.bought.facts
    for column, values in zip(made.spec.columns, cells.T, strict=True):
        own = facts.get(column.name, ())
        if not column.is_numeric:
            lines += _of_category(column, values, is_bought=CATEGORIES in own)
        else:
            cut = _of_bought(column, values) if BOUNDS in own else []
            lines += cut or _of_number(column, values)
    more = len(lines) - _LISTED
    return (*lines[:_LISTED], *([f"{more} more columns fit as little"] if more > 0 else []))


def few_bins(settings: Any, spec: Spec) -> tuple[str, ...]:
    """Return a line where numbers are cut coarsely, and as many records allow finer bins.

    Noise on a cell grows with the root of the number of columns, whatever the number of bins.

    Args:
        settings: complete.
        spec: facts about the data.
    """
    if getattr(settings, "features", None) not in _COUNTS:  # which tables with a schema alone have
        return ()
    columns = spec.columns
    unit = spec.num_classes * spec.records_per_person * math.sqrt(len(columns))
    strength = spec.num_examples * settings.eps / unit
    finer = next((bins for least, bins in _FINER if strength >= least), NUM_BINS)
    coarse = [column for column in columns if _has_more_bins(column, finer)]
    if not coarse:
        return ()
    more = f" and {len(coarse) - 1} more" if len(coarse) > 1 else ""
    return (
        f"column {coarse[0].name!r}{more}: numbers are told apart by {NUM_BINS} bins, and "
        f'{spec.num_examples} records allow {finer} at epsilon {settings.eps:g}; give "bins": '
        f"{finer} in the schema",
    )


def _has_more_bins(column: Column, finer: int) -> bool:
    """Return whether a numeric column that is cut as by default would have more bins."""
    if not column.is_numeric or column.bins != NUM_BINS:
        return False
    return len(edges(dataclasses.replace(column, bins=finer))) > len(edges(column))


def _of_category(column: Column, cells: np.ndarray, *, is_bought: bool) -> list[str]:
    # Whoever declares a category "other" may know it for the commonest; a purchase does not.
    is_listed = OTHER in column.categories
    if (is_listed or not column.other) and not (is_listed and is_bought):
        return []
    part = float(np.mean(cells == column.values.index(OTHER)))
    if part <= _MANY_OTHER:
        return []
    if is_bought:
        return [
            f"column {column.name!r}: {part:.0%} of the made records hold {OTHER!r}, as too few "
            "records share any other text: if they are numbers, or dates, declare its type and how "
            'these are written, and name other texts in "missing"; else declare its categories'
        ]
    return [
        f"column {column.name!r}: {part:.0%} of the made records hold {OTHER!r}, which stands for "
        f"all that the schema does not list{_or_missing(column)}: look whether its categories are "
        "spelled as in the table"
    ]


def _of_bought(column: Column, cells: np.ndarray) -> list[str]:
    """Return a line where bounds that were bought may cut numbers off, or leave one value."""
    ends = edges(column)
    num_bins = len(ends) - 1
    there = cells[cells < num_bins]
    for field, bound, is_cut in zip(("lower", "upper"), column.bounds, beyond(column), strict=True):
        if is_cut:
            return [
                f"column {column.name!r}: {column.write(bound)} is the end of what bounds are "
                f'bought of, and all that is beyond counts as that: declare "{field}", or write '
                "the values in a larger unit"
            ]
    if len(there) == 0 or num_bins >= _FEWEST_BINS or np.ptp(there) > 0:
        return []
    low, high = ends[there[0]], ends[there[0] + 1] - column.is_whole
    part = column.write(low) if low == high else f"{column.write(low)} to {column.write(high)}"
    return [
        f"column {column.name!r}: all made values are {part}: look whether those of the table are, "
        'too; else declare "lower" and "upper"'
    ]


def _of_number(column: Column, cells: np.ndarray) -> list[str]:
    ends = edges(column)
    num_bins = len(ends) - 1
    there = cells[cells < num_bins]
    if num_bins < _FEWEST_BINS or len(there) == 0:
        return []
    first, last = float(np.mean(there == 0)), float(np.mean(there == num_bins - 1))
    upper = column.write(column.bounds[1])
    is_even = isinstance(column.bins, int) and not column.log
    if last > (_MANY_LAST if is_even else _MANY_LONG):
        return [
            f"column {column.name!r}: {last:.0%} of the made values lie in its last bin, from "
            f"{column.write(ends[-2])} to {upper}: look whether values can be above "
            f'"upper": {upper}, as all those count as that; else give narrower "bins"'
        ]
    if first > _MANY_FIRST and isinstance(column.bins, int):
        return [
            f"column {column.name!r}: {first:.0%} of the made values lie in its first bin, from "
            f"{column.write(ends[0])} to {column.write(ends[1])}, and are spread over it by "
            'chance: nearer bounds, "log": true or edges in "bins" tell small values apart'
        ]
    return []


def _or_missing(column: Column) -> str:
    return "" if column.nullable else ", missing values among them"
