"""What was released, as the fields of a schema file."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from jaxdp.bought.estimates import MOST_BINS, Cuts
from jaxdp.bought.wanted import Wanted
from jaxdp.tables import rule_checks
from jaxdp.tables.bought import BINS, BOUNDS
from jaxdp.tables.columns import CATEGORICAL, MOST_CATEGORIES, NUMERIC, OTHER, Column, SchemaError
from jaxdp.tables.rules import Order
from jaxdp.tables.scales import finest


def categories(texts: Sequence[str], has_other: bool, of_classes: bool) -> dict[str, Any]:
    """Return the fields of a column of categories.

    Args:
        texts: that were released, the most frequent first.
        has_other: whether more records have others than is likely by chance.
        of_classes: whether it is the target, whose other classes are one.
    """
    # A text that would run as a formula cannot stand in a table made.
    kept = [text for text in texts[: MOST_CATEGORIES - 1] if _can_stand(text)]
    has_other = has_other or len(kept) < len(texts)
    if (of_classes and has_other and OTHER not in kept) or not kept:
        kept, has_other = [*kept, OTHER], has_other and bool(kept)
    return {"categories": kept, "other": has_other}


def _can_stand(text: str) -> bool:
    try:
        Column(name="any", type=CATEGORICAL, categories=(text,))
    except SchemaError:
        return False
    return bool(text)


def numbers(wanted: Wanted, name: str, cuts: Cuts, spikes: Sequence[float]) -> dict[str, Any]:
    """Return the fields of a column of numbers, dates or times.

    Args:
        wanted: what is open.
        name: of the column.
        cuts: its part in use and its bins.
        spikes: values that many records have; those that are declared come to them.
    """
    column, facts = wanted.columns[name], dict[str, Any]()
    low, end, inner = cuts.low, cuts.high, set(cuts.inner)
    declared = column.numbers_of_spikes
    spikes = sorted({*spikes, *declared})
    if wanted.is_open(name, BOUNDS):
        if declared:  # a spike that hardly any record has may lie beyond the part in use
            low, end = min(low, *declared), max(end, *(each + column.is_whole for each in declared))
        low, end = _ends(column, low, end, spikes)
        facts["lower"], facts["upper"] = low, end - column.is_whole
    else:
        inner |= {low, end}  # public bounds may lie far beyond the part in use
        low, end = column.bounds[0], column.bounds[1] + column.is_whole
    facts = {key: column.as_json(value) for key, value in facts.items()}
    if not wanted.is_open(name, BINS):
        return facts
    if column.is_whole and end - low <= MOST_BINS:
        return facts | {"bins": max(int(end - low), 1)}
    facts["bins"] = _each_once(column, (edge for edge in inner if low < edge < end))
    largest = end - column.is_whole  # which may be one
    kept = _each_once(column, (v for v in spikes if low <= v <= largest or v in declared))
    return facts | ({"spikes": kept} if kept else {})


def _ends(column: Column, low: float, end: float, spikes: Sequence[float]) -> tuple[float, float]:
    """Return bounds that a column may have: apart, and beyond a spike that is the largest."""
    step = finest(column) or max(end - low, abs(low) * 1e-6, 1e-6)
    if column.is_whole:
        return low, max(end, low + 2)
    return low, max(end, low + step) + (step if end in spikes else 0.0)


def in_order(wanted: Wanted, facts: dict[str, dict[str, Any]]) -> None:
    """Let columns that a rule orders reach as far as each other, where their bounds were bought.

    Noise may put the bound of a later column below that of an earlier one. The rule would then
    move all of the earlier one that lies beyond onto that bound.

    Args:
        wanted: what was open.
        facts: for each column what is filled in; bounds are widened in place.

    Guarantee:
        It is post-processing: what was bought and what is declared are all that it looks at.
    """
    rules, _ = rule_checks.read(wanted.opened.stored.get("rules", []))
    for rule in rules:
        if isinstance(rule, Order):
            for first, then in itertools.pairwise(rule.columns):
                _reach(wanted, facts, then, first, "upper")
            for then, first in itertools.pairwise(reversed(rule.columns)):
                _reach(wanted, facts, first, then, "lower")


def _reach(
    wanted: Wanted, facts: dict[str, dict[str, Any]], name: str, other: str, field: str
) -> None:
    """Move a bought bound of a column to that of another, where it is tighter."""
    if not wanted.is_open(name, BOUNDS) or other not in wanted.columns:
        return
    own, wished = (_bound(wanted, facts, each, field) for each in (name, other))
    if (wished > own) if field == "upper" else (wished < own):
        _keep_bins(wanted, facts, name, at_end=field == "upper")
        facts[name][field] = wanted.columns[name].as_json(wished)


def _keep_bins(
    wanted: Wanted, facts: dict[str, dict[str, Any]], name: str, *, at_end: bool
) -> None:
    """Write the edges of one bin for each value, before wider bounds make as many bins of all.

    Args:
        wanted: what was open.
        facts: for each column what is filled in; a number of bins becomes their inner edges.
        name: of the column.
        at_end: whether the upper bound is to be wider, and not the lower one.
    """
    if not isinstance(facts[name].get("bins"), int):
        return
    low, high = (_bound(wanted, facts, name, end) for end in ("lower", "upper"))
    edges = (low + at_end + number for number in range(int(high - low) + 1))
    facts[name]["bins"] = [wanted.columns[name].as_json(edge) for edge in edges]


def _bound(wanted: Wanted, facts: dict[str, dict[str, Any]], name: str, field: str) -> float:
    column = wanted.columns[name]
    if not wanted.is_open(name, BOUNDS):
        return column.bounds[field == "upper"]
    found = facts[name][field]
    return float(found) if column.type == NUMERIC else _moment_of(column, found)


def _moment_of(column: Column, text: str) -> float:
    found = column.moment.read(text)
    assert found is not None  # it was written in this format
    return float(found)


def _each_once(column: Column, values: Iterable[float]) -> list[Any]:
    """Return numbers as a schema file has them, ascending."""
    return list(dict.fromkeys(column.as_json(value) for value in sorted(values)))
