"""Whether rules fit the columns of a schema: names, types, bounds, and each other."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxdp.tables import rules
from jaxdp.tables.columns import NUMERIC, Column, SchemaError
from jaxdp.tables.moments import DURATION
from jaxdp.tables.rules import RANGE, Determined, Order, Rule, Skip, Sum

_SHORT = ("float32", "Float32")
"""Types of frames that hold too few digits for a sum to be exact."""


class Known(NamedTuple):
    """What a schema says beside its rules.

    Attributes:
        kept: names of the columns that a table made has.
        dropped: names of those that are left out.
        new: names of those that are made without the data.
        columns: the others, as far as they have no mistakes.
        targets: names of the columns that are to be predicted.
        unknown: names of those whose bounds and categories are nobody's to know, or open.
    """

    kept: Collection[str]
    dropped: Collection[str]
    new: Collection[str]
    columns: Mapping[str, Column]
    targets: Collection[str]
    unknown: Collection[str]


def read(stored: Any) -> tuple[list[Rule], list[str]]:
    """Return the rules of a file that nobody only proposes, and a line for each that is none."""
    if not isinstance(stored, list):
        return [], [f'"rules" must be a list of {", ".join(rules.FORMS)}']
    found, faults = list[Rule](), []
    for number, each in enumerate(stored, 1):
        try:
            rule = rules.from_json(each)
            found += [] if rules.is_proposed(each) else [rule]
        except SchemaError as error:
            faults.append(f"rule {number}: {error}")
    return found, faults


def faults(found: Sequence[Rule], known: Known) -> list[str]:
    """Return a line for each mistake: what is wrong, and what to do."""
    told = [f"rule '{rule}': {fault}" for rule in found for fault in _of_names(rule, known)]
    if told:
        return told
    told = [f"rules: {fault}" for fault in _of_all(found, known)]
    for rule in found:
        if all(name in known.columns for name in rule.names):
            own = {name: known.columns[name] for name in rule.names}
            told += [f"rule '{rule}': {fault}" for fault in _of_one(rule, own, known)]
    return told


def _of_names(rule: Rule, known: Known) -> Iterator[str]:
    for name in rule.names:
        if name in known.dropped:
            yield f"column {name!r} is dropped: keep it, or leave the rule out"
        elif name in known.new:
            yield f"column {name!r} is made without the data: leave the rule out"
        elif name not in known.kept:
            yield f"there is no column {name!r}: columns are {', '.join(known.kept)}"
    twice = [name for name, count in Counter(rule.names).items() if count > 1]
    if twice:
        yield f"names {twice[0]!r} twice"


def _of_all(found: Sequence[Rule], known: Known) -> Iterator[str]:
    """Yield what rules say against each other."""
    set_by = [rule.names[0] for rule in found if not isinstance(rule, Order)]
    for name, count in Counter(set_by).items():
        if count > 1:
            yield f"{count} of them say what stands in {name!r}: leave one"
        if name in known.targets and not isinstance(_first(found, name), Skip):
            yield f"{name!r} follows from others, so it is no target: take the rule or the target"
    totals = {rule.total for rule in found if isinstance(rule, Sum)}
    for rule in found:
        named = totals & set(rule.names)
        if named and not isinstance(rule, Sum):
            yield (
                f"{min(named)!r} is a total, which is computed last: leave out '{rule}', or say it "
                "of the parts"
            )
    try:
        rules.in_turn(found)
    except SchemaError as error:
        yield str(error)


def _first(found: Sequence[Rule], name: str) -> Rule:
    return next(rule for rule in found if not isinstance(rule, Order) and rule.names[0] == name)


def _of_one(rule: Rule, own: Mapping[str, Column], known: Known) -> Iterator[str]:
    """Yield what does not fit the rule's columns."""
    if isinstance(rule, Sum):
        yield from _of_sum(rule, own, known)
    elif isinstance(rule, Order):
        yield from _of_order(rule, [own[name] for name in rule.columns], known)
    elif isinstance(rule, Skip):
        yield from _of_skip(rule, own, known)
    else:
        yield from _of_map(rule, own, known)


def _of_sum(rule: Sum, own: Mapping[str, Column], known: Known) -> Iterator[str]:
    total, parts = own[rule.total], [own[name] for name in rule.parts]
    if any(column.type not in (NUMERIC, DURATION) for column in own.values()):
        yield "sums are of numbers or durations alone"
        return
    if len({(column.type, column.format) for column in own.values()}) > 1:
        yield "all must have one type, and durations one format"
        return
    if total.integer and not all(part.integer for part in parts):
        yield f'{total.name!r} is whole, so all parts must be: give them "integer": true'
    digits = [_digits(part) for part in parts]
    if total.decimals is not None and any(d is None or d > total.decimals for d in digits):
        yield (
            f'{total.name!r} is written with fewer digits than its parts: give them "decimals": '
            f"{total.decimals}, or it none"
        )
    if any(column.dtype in _SHORT for column in own.values()):
        yield '"dtype" holds too few digits for sums: take float64'
    if not set(rule.names) & set(known.unknown):
        low, high = (sum(each) for each in zip(*(part.bounds for part in parts), strict=True))
        if low > total.bounds[1] or high < total.bounds[0]:
            yield (
                f"can never hold: the parts come to {low:g} at least and {high:g} at most, and "
                f"{total.name!r} lies from {total.bounds[0]:g} to {total.bounds[1]:g}: "
                "change bounds"
            )


def _digits(column: Column) -> int | None:
    return 0 if column.is_whole else column.decimals


def _of_order(rule: Order, columns: Sequence[Column], known: Known) -> Iterator[str]:
    if not all(column.is_numeric for column in columns):
        yield "must be of numbers, dates or times"
        return
    if len({(c.type, None if c.type == NUMERIC else c.moment.unit) for c in columns}) > 1:
        yield "all must have one type, and dates and times one unit: give them one format"
        return
    if rule.strict and any(_digits(column) is None for column in columns):
        yield '"strict" needs "integer": true, "decimals" or dates'
        return
    for place, first in enumerate(columns):
        for then in columns[place + 1 :]:
            if {first.name, then.name} & set(known.unknown):
                continue
            low, high = first.bounds[0], then.bounds[1]
            if low > high or (rule.strict and low == high):
                yield (
                    f"can never hold: {first.name!r} is at least {first.write(low)}, and "
                    f"{then.name!r} at most {then.write(high)}: change bounds"
                )


def _of_skip(rule: Skip, own: Mapping[str, Column], known: Known) -> Iterator[str]:
    if rule.column in known.targets and not own[rule.column].is_numeric:
        yield f"{rule.column!r} is the target, and a class cannot be missing: leave it out"
    elif not own[rule.column].nullable:
        yield f'{rule.column!r} can be missing: leave out "nullable": false'
    for name, values in rule.unless:
        for value in values:
            fault = _of_value(own[name], value, name in known.unknown)
            if fault is not None:
                yield fault


def _of_value(column: Column, value: str | None, is_unknown: bool) -> str | None:
    """Return what does not fit in a value that a condition names."""
    if value is None:
        return None if column.nullable else f'{column.name!r} is never missing: "nullable" is false'
    if not column.is_numeric:
        if is_unknown or value in column.values:
            return None
        return f"{column.name!r} is never {value!r}: it is {', '.join(column.values)}"
    found = range_of(column, value)
    if found is None:
        return f"{column.name!r}: {value!r} is neither a value nor a range, as LOW{RANGE}HIGH"
    low, high = column.bounds
    if not is_unknown and (found[0] > high or found[1] < low):
        return (
            f"can never hold: {column.name!r} lies from {column.write(low)} to "
            f"{column.write(high)}, never in {value}"
        )
    return None


def range_of(column: Column, value: str) -> tuple[float, float] | None:
    """Return the least and the largest number that a condition allows; None for no numbers.

    Args:
        column: of numbers, dates or times.
        value: a number, or LOW..HIGH, of which one may be left out.
    """
    low, dots, high = (part.strip() for part in value.partition(RANGE))
    ends = (low, high) if dots else (low, low)
    if not any(ends):
        return None
    found = [
        _number(column, text) if text else default
        for text, default in zip(ends, (-float("inf"), float("inf")), strict=True)
    ]
    if found[0] is None or found[1] is None or found[0] > found[1]:
        return None
    return found[0], found[1]


def _number(column: Column, text: str) -> float | None:
    if column.type != NUMERIC:
        found = column.moment.read(text)
        return None if found is None else float(found)
    if column.number_format is not None:
        return column.number_format.read(text)
    try:
        return float(text)
    except ValueError:
        return None


def _of_map(rule: Determined, own: Mapping[str, Column], known: Known) -> Iterator[str]:
    for name, column in own.items():
        if column.is_numeric:
            yield f'{name!r} must be of categories: give it "type": "categorical"'
        elif name in known.targets:
            yield f"{name!r} is the target, of which no such rule can be: leave it out"
    if any(column.is_numeric for column in own.values()):
        return
    for place, name in enumerate((*rule.by, rule.column)):
        named = {(*keys, value)[place] for keys, value in rule.map}
        allowed = {*own[name].values, None}
        wrong = sorted(str(value) for value in named - allowed)
        if wrong and name not in known.unknown:
            yield f'"map" has {wrong[0]!r}, which {name!r} never is: add it to its "categories"'
    if any(value is None for _, value in rule.map) and not own[rule.column].nullable:
        yield f'"map" has null, and {rule.column!r} is never missing: give it "nullable": true'
