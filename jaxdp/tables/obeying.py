"""Records that obey the rules of their schema: whatever was drawn, and however it was.

A method draws records of a model that knows rules as far as its counts tell them. Here the others
are brought to obey, column by column, each behind those that it follows from. Where a value must
be another one, it is that of a record that was drawn, too: of some that may give theirs, the one
that has most other columns in common (a hot deck). So distributions and dependences stay about what
the model made of them. Totals are computed last, of what is written of their parts.

All is post-processing of records that were made. Private records are stored as they are.

References:
    Andridge & Little (2010), "A review of hot deck imputation for survey non-response".
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxdp.tables import rules, totals
from jaxdp.tables.columns import OTHER, Column
from jaxdp.tables.layout import MISSING_NUMBER, Layout, edges, positions
from jaxdp.tables.rule_checks import range_of
from jaxdp.tables.rules import Determined, Order, Rule, Skip, Sum
from jaxdp.tables.schema import BINS, Schema
from jaxdp.tables.written import numbers

Values = dict[str, np.ndarray]
"""What stands in columns: numbers as they are written, NaN where missing; of categories their
places, -1 where missing."""
# Records that may give their value to another one, of which the most alike does.
_DONORS = 30
_AT_ONCE = 2000  # records, so that comparing takes megabytes
_TINY = 1e-300  # of a bin of one number, which is no length to divide by
_SLACK = 1e-9  # so much of a sum of bounds is rounding


def obeyed(
    stored: Float[np.ndarray, "n q"],
    labels: Int[np.ndarray, " n"] | None,
    schema: Schema,
    *,
    seed: int = 0,
    of: Sequence[Rule] | None = None,
) -> Values:
    """Return what stands in the columns that rules speak of, totals among them.

    Args:
        stored: records that were made, as stored.
        labels: their classes; None where they have none.
        schema: public.
        seed: public; records that obey already stay as they are, whatever it is.
        of: the rules, where a method knows more of a map than the schema says.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.tables import obeying
        >>> day = {"type": "numeric", "lower": 0, "upper": 10, "integer": True}
        >>> schema = jaxdp.tables.Schema.from_json(
        ...     {"columns": {"start": day, "end": day}, "rules": [{"order": ["start", "end"]}]}
        ... )
        >>> obeying.obeyed(np.array([[0.2, 0.5], [0.8, 0.3]]), None, schema)
        {'start': array([2., 8.]), 'end': array([5., 8.])}
    """
    found = schema.rules if of is None else of
    return _Pass(np.asarray(stored), labels, schema, found, seed).all_in_turn()


def obey(
    stored: Float[np.ndarray, "n q"],
    labels: Int[np.ndarray, " n"] | None,
    schema: Schema,
    *,
    seed: int = 0,
    of: Sequence[Rule] | None = None,
) -> Float[np.ndarray, "n q"]:
    """Return records as stored that obey, as `obeyed`; columns that no rule changes stay as is."""
    if not schema.rules:
        return stored
    values, found = obeyed(stored, labels, schema, seed=seed, of=of), np.array(stored)
    for number, column in enumerate(schema.columns):
        if column.name not in values:
            continue
        own, before = values[column.name], value_of(column, found[:, number])
        is_new = ~((own == before) | (np.isnan(own) & np.isnan(before)))
        found[is_new, number] = _stored(column, own[is_new])
    return found


def breaking(
    values: Values,
    schema: Schema,
    labels: np.ndarray | None = None,
    *,
    of: Sequence[Rule] | None = None,
) -> dict[str, int]:
    """Return for each rule, in words, how many records break it; private for private records.

    Args:
        values: of the columns that rules speak of, as `read` has them.
        schema: of the table.
        labels: classes of the records; None where they have none.
        of: the rules; None for all.
    """
    columns, found = _columns(schema), schema.rules if of is None else of
    return {
        str(rule): int(np.sum(_breaks(rule, values, columns, schema, labels))) for rule in found
    }


def read(stored: np.ndarray, schema: Schema) -> Values:
    """Return what stands in the columns of records as stored, totals aside."""
    named = {name for rule in schema.rules for name in rule.names}
    return {
        column.name: value_of(column, stored[:, number])
        for number, column in enumerate(schema.columns)
        if column.name in named
    }


def of_totals(stored: np.ndarray, schema: Schema) -> Values:
    """Return the totals of records as stored, which obey."""
    values, columns = read(stored, schema), _columns(schema)
    for name in rules.in_turn(schema.rules):
        for rule in schema.rules:
            if isinstance(rule, Sum) and rule.total == name:
                values[name] = _summed(rule, values, columns)
    return {column.name: values[column.name] for column in schema.derived}


class _Pass:
    """One walk through the columns, each behind those that it follows from."""

    def __init__(
        self,
        stored: np.ndarray,
        labels: np.ndarray | None,
        schema: Schema,
        found: Sequence[Rule],
        seed: int,
    ) -> None:
        self._stored, self._labels, self._schema, self._rules = stored, labels, schema, found
        self._columns = _columns(schema)
        self._values = read(stored, schema)
        self._caps = _caps(found, self._columns)
        self._seed, self._cells = seed, np.empty(0)
        self._done: list[str] = []
        self._draws = 0

    def all_in_turn(self) -> Values:
        """Return the values of all columns, which obey."""
        derived, in_turn = totals.names(self._rules), rules.in_turn(self._rules)
        for name in reversed(in_turn):
            self._keep_told(name)
        for name in in_turn:
            if name in derived:
                rule = next(r for r in self._rules if isinstance(r, Sum) and r.total == name)
                self._values[name] = _summed(rule, self._values, self._columns)
            elif name in self._values:  # and not the target
                self._values[name] = self._obeying(name)
                self._done.append(name)
        return self._values

    def _keep_told(self, name: str) -> None:
        """Let a column be another one where it tells something else than stands in others.

        They are coarser, so counts know them better than the map of a column that noise has moved.
        What is left, where no record of the same has a value to give, follows the map later.
        """
        own = [r for r in self._rules if isinstance(r, Determined) and r.by == (name,)]
        if not own:
            return
        told, bound = [], np.ones(len(self._stored), bool)
        for rule in own:
            values, is_bound = _told(rule, self._values, self._columns)
            told.append(values)
            bound &= is_bound
        wanted = np.column_stack([self._values[rule.column] for rule in own])
        tells = np.column_stack(told)
        wrong = bound & np.any(wanted != tells, axis=1)
        rng, before = self._rng(), self._values[name]
        values = before.copy()
        for each in np.unique(wanted[wrong], axis=0):
            donors = np.flatnonzero(bound & np.all(tells == each, axis=1))
            rows = np.flatnonzero(wrong & np.all(wanted == each, axis=1))
            if len(donors):
                offering = rng.choice(donors, (len(rows), _DONORS))
                values[rows] = before[self._most_alike(rows, offering)]
        self._values[name] = values

    def _obeying(self, name: str) -> np.ndarray:
        column, values = self._columns[name], self._values[name]
        own = [
            rule for rule in self._rules if not isinstance(rule, Order) and rule.names[0] == name
        ]
        needed = np.zeros(len(values), bool)
        for rule in own:
            if isinstance(rule, Determined):
                return _told(rule, self._values, self._columns)[0]
            if isinstance(rule, Skip):
                asked = _asked(rule, self._values, self._columns, self._schema, self._labels)
                if asked is not None:
                    values = np.where(asked, values, _missing(column))
                    needed = asked & _is_missing(column, values) & (not rule.or_unanswered)
        low, high = self._limits(name)
        wrong = (values < low) | (values > high)
        if wrong.any():
            values = np.where(wrong, _within(column, values, low, high), values)
        if needed.any():
            values = self._given(name, values, np.flatnonzero(needed), low, high)
        return values

    def _limits(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest number that may stand in a column of each record."""
        column, shape = self._columns[name], len(self._stored)
        low, high = np.full(shape, -np.inf), np.full(shape, self._caps.get(name, np.inf))
        for rule in self._rules:
            if isinstance(rule, Sum) and name in rule.parts:
                least, most = _rest(rule, name, self._values, self._columns, self._done)
                low, high = np.maximum(low, least), np.minimum(high, most)
        for first, strict in _before(name, self._rules):
            least = _up(column, self._values[first] + (_step(column) if strict else 0.0))
            low = np.fmax(low, least)  # of a missing one nothing follows
        return low, np.maximum(low, high)

    def _given(
        self, name: str, values: np.ndarray, wrong: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Return values of which some are those of other records, the most alike that may give."""
        rng = self._rng()
        column, found = self._columns[name], values.copy()
        there = np.flatnonzero(~_is_missing(column, values))
        ordered = np.sort(values[there])
        for start in range(0, len(wrong), _AT_ONCE):
            part = wrong[start : start + _AT_ONCE]
            least, most = low[part], high[part]
            if not len(there):
                found[part] = np.clip(column.bounds[0], least, most) if column.is_numeric else 0
                continue
            donors = rng.choice(there, (len(part), _DONORS))
            offered = values[donors]
            may = (offered >= least[:, None]) & (offered <= most[:, None])
            any_one = _any_between(ordered, least, most, rng.random(len(part)))
            found[part] = np.where(
                may.any(axis=1), values[self._most_alike(part, donors, may)], any_one
            )
        return found

    def _most_alike(
        self, rows: np.ndarray, donors: np.ndarray, may: np.ndarray | bool = True
    ) -> np.ndarray:
        """Return for each record the one of others that has most columns in common with it.

        Args:
            rows: (m,) places of records.
            donors: (m, k) places of others.
            may: (m, k) whether they may give.
        """
        if not len(self._cells):
            self._cells = Layout(self._schema, BINS).cells(self._stored)
        found = np.empty(len(rows), int)
        for start in range(0, len(rows), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            own, others = rows[part], donors[part]
            alike = np.sum(self._cells[others] == self._cells[own][:, None], axis=2)
            if self._labels is not None:
                alike = alike + 2 * (self._labels[others] == self._labels[own][:, None])
            allowed = may if isinstance(may, bool) else may[part]
            best = np.argmax(np.where(allowed, alike, -1), axis=1)
            found[part] = others[np.arange(len(own)), best]
        return found

    def _rng(self) -> np.random.Generator:
        """Return chance of its own for each column."""
        self._draws += 1
        return np.random.default_rng([self._seed, self._draws])


def _within(
    column: Column, values: np.ndarray, low: np.ndarray, high: np.ndarray
) -> Float[np.ndarray, " n"]:
    """Return numbers that may stand in a column, of such as may not.

    A number stays in its bin where that reaches so far, whose counts are right so: what it is above
    the bin's least is shortened in proportion. Else it is the nearest number that may.
    """
    ends = edges(column)
    known = np.nan_to_num(values, nan=ends[0])
    bins = np.clip(np.searchsorted(ends, known, side="right") - 1, 0, len(ends) - 2)
    first, last = ends[bins], ends[bins + 1] - column.is_whole
    above = (known - first) / np.maximum(last - first, _TINY)
    least = np.where(np.isfinite(low), low, known)
    room = np.maximum(np.minimum(last, high) - least, 0.0)
    inside = _down(column, least + np.clip(above, 0.0, 1.0) * room)
    return np.clip(np.where(known < low, inside, known), low, high)


def _any_between(
    ordered: np.ndarray, low: np.ndarray, high: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Return one of ordered values between two numbers by chance; the nearer one for none."""
    first = np.searchsorted(ordered, low)
    after = np.searchsorted(ordered, high, side="right")
    place = np.minimum(first + (at * (after - first)).astype(int), len(ordered) - 1)
    return np.clip(ordered[place], low, high)


def _columns(schema: Schema) -> dict[str, Column]:
    return {column.name: column for column in (*schema.declared, *schema.derived)}


def value_of(column: Column, stored: np.ndarray) -> np.ndarray:
    """Return what stands in a column of records as stored, as `Values` has it."""
    if column.is_numeric:
        return numbers(column, stored)
    places = stored.astype(np.float64)
    return np.where(places >= len(column.values), -1.0, places)


def _stored(column: Column, values: np.ndarray) -> np.ndarray:
    if not column.is_numeric:
        return np.where(values < 0, len(column.values), values)
    gone = np.isnan(values)
    return np.where(gone, MISSING_NUMBER, positions(column, np.where(gone, 0.0, values)))


def _missing(column: Column) -> float:
    return np.nan if column.is_numeric else -1.0


def _is_missing(column: Column, values: np.ndarray) -> Bool[np.ndarray, " n"]:
    return np.isnan(values) if column.is_numeric else values < 0


def _before(name: str, found: Iterable[Rule]) -> list[tuple[str, bool]]:
    """Return the columns that are at most a column by one step of a rule, and which are below."""
    return [
        (first, rule.strict)
        for rule in found
        if isinstance(rule, Order)
        for first, then in itertools.pairwise(rule.columns)
        if then == name
    ]


def _caps(found: Sequence[Rule], columns: Mapping[str, Column]) -> dict[str, float]:
    """Return the largest number of each column above which one behind it would have no place."""
    caps: dict[str, float] = {}
    for name in reversed(rules.in_turn(found)):
        for first, strict in _before(name, found):
            column, own = columns[first], columns[name]
            most = caps.get(name, own.bounds[1]) - (_step(own) if strict else 0.0)
            most = max(float(_down(column, most)), column.bounds[0])
            caps[first] = min(caps.get(first, np.inf), most)
    return caps


def _digits(column: Column) -> int | None:
    return 0 if column.is_whole else column.decimals


def _step(column: Column) -> float:
    """Return how far two numbers of a column are apart at least; 0 for any that differ."""
    digits = _digits(column)
    return 0.0 if digits is None else 10.0**-digits


def _up(column: Column, values: Any) -> np.ndarray:
    """Return the least numbers that can be written in a column and are no less than others."""
    return np.asarray(-_down(column, -np.asarray(values)))


def _down(column: Column, values: Any) -> np.ndarray:
    digits = _digits(column)
    if digits is None:
        return np.asarray(values, np.float64)
    scaled = np.round(np.asarray(values) * 10.0**digits, 4)
    return np.asarray(np.round(np.floor(scaled) / 10.0**digits, digits))


def _rest(
    rule: Sum, name: str, values: Values, columns: Mapping[str, Column], done: Collection[str]
) -> tuple[Any, Any]:
    """Return the least and the largest of a part with which a total keeps to its own bounds."""
    low, high = columns[rule.total].bounds
    ends = [sum(each) for each in zip(*(columns[part].bounds for part in rule.parts), strict=True)]
    others = [part for part in rule.parts if part != name]
    least = sum(np.nan_to_num(values[p]) if p in done else columns[p].bounds[0] for p in others)
    most = sum(np.nan_to_num(values[p]) if p in done else columns[p].bounds[1] for p in others)
    column = columns[name]
    return (
        _up(column, low - most) if low > ends[0] + _SLACK * abs(ends[0]) else -np.inf,
        _down(column, high - least) if high < ends[1] - _SLACK * abs(ends[1]) else np.inf,
    )


def _summed(rule: Sum, values: Values, columns: Mapping[str, Column]) -> np.ndarray:
    parts = [columns[part] for part in rule.parts]
    return totals.summed(columns[rule.total], parts, [values[part] for part in rule.parts])


def _asked(
    rule: Skip,
    values: Values,
    columns: Mapping[str, Column],
    schema: Schema,
    labels: np.ndarray | None,
) -> Bool[np.ndarray, " n"] | None:
    """Return where a condition holds; None where it is of classes that records do not have."""
    found: Any = True
    for name, allowed in rule.unless:
        if schema.target is not None and name == schema.target.name:
            if labels is None:
                return None
            firsts = [group[0] for group in schema.groups.values()]
            places = [place for place, first in enumerate(firsts) if first in allowed]
            found = found & np.isin(labels, places)
        else:
            found = found & _is_one_of(columns[name], values[name], allowed)
    return np.asarray(found)


def _is_one_of(
    column: Column, values: np.ndarray, allowed: Iterable[str | None]
) -> Bool[np.ndarray, " n"]:
    found = np.zeros(len(values), bool)
    for value in allowed:
        if value is None:
            found |= _is_missing(column, values)
        elif not column.is_numeric:
            # What was bought need not be among those that a rule names.
            found |= values == (column.values.index(value) if value in column.values else np.inf)
        else:
            ends = range_of(column, value)
            assert ends is not None  # `rule_checks` has looked
            found |= (values >= ends[0]) & (values <= ends[1])
    return found


def _told(
    rule: Determined, values: Values, columns: Mapping[str, Column]
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return what others tell of a column, and where they do.

    That is what the map says, else what most records that agree have.
    """
    column, found = columns[rule.column], values[rule.column].copy()
    by = [columns[name] for name in rule.by]
    keys = np.column_stack([values[name] for name in rule.by]).astype(int)
    unknown = [each.values.index(OTHER) if OTHER in each.values else -1 for each in by]
    bound = np.all((keys >= 0) & (keys != unknown), axis=1)
    which, group = np.unique(keys[bound], axis=0, return_inverse=True)
    group = group.reshape(-1)
    counts = np.zeros((len(which), len(column.values) + 1), int)
    np.add.at(counts, (group, found[bound].astype(int)), 1)  # -1, a missing one, is the last
    most = np.argmax(counts, axis=1)
    told = np.where(most == len(column.values), -1, most)
    known = _places(rule, by, column)
    for number, key in enumerate(which.tolist()):
        told[number] = known.get(tuple(key), told[number])
    found[bound] = told[group]
    return found, bound


def _places(rule: Determined, by: Sequence[Column], column: Column) -> dict[tuple[int, ...], int]:
    """Return a map in places of categories; what was not bought is left out."""
    found = {}
    for keys, value in rule.map:
        is_there = value is None or value in column.values
        if is_there and all(key in each.values for key, each in zip(keys, by, strict=True)):
            place = -1 if value is None else column.values.index(value)
            found[tuple(each.values.index(k) for k, each in zip(keys, by, strict=True))] = place
    return found


def _breaks(
    rule: Rule,
    values: Values,
    columns: Mapping[str, Column],
    schema: Schema,
    labels: np.ndarray | None,
) -> Bool[np.ndarray, " n"] | bool:
    """Return which records break a rule."""
    if isinstance(rule, Order):
        found: Any = False
        for first, then in itertools.pairwise(rule.columns):
            less, more = values[first], values[then]
            found = found | ((less >= more) if rule.strict else (less > more))
        return found
    if isinstance(rule, Determined):
        return _told(rule, values, columns)[0] != values[rule.column]
    if isinstance(rule, Skip):
        asked = _asked(rule, values, columns, schema, labels)
        if asked is None:
            return False
        gone = _is_missing(columns[rule.column], values[rule.column])
        return (~asked & ~gone) | (asked & gone & (not rule.or_unanswered))
    own, total = values[rule.total], _summed(rule, values, columns)
    return ~((own == total) | (np.isnan(own) & np.isnan(total)))
