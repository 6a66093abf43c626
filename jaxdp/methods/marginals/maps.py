"""Which category another one tells, by noisy counts of both: post-processing.

Of a rule that a city determines its state nobody need know the map. The counts of cities and states
together have been released, and each city lies where they and the shares of states say it does:

    argmax_b  log r_b - (c_ab - p_a)^2 / (2 s^2) + c_ab^2 / (2 s^2)

for the share p_a of the city, the noisy count c_ab and its noise s. r_b is the share of the state
less that of larger cities that lie there already: else noise would move all cities that it hides to
the largest state. A map that the schema gives comes first.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jaxdp.methods.marginals.estimates import Counts
from jaxdp.tables.columns import OTHER, Column
from jaxdp.tables.rules import Determined, Rule

# Of a share that is left over, which noise may make less than nothing.
_LEAST = 1e-5


def completed(rules: Iterable[Rule], counts: Counts) -> tuple[Rule, ...]:
    """Return rules with their maps as far as counts tell them.

    Args:
        rules: of the schema.
        counts: what was released.

    Guarantee:
        Post-processing: nothing here takes private data.
    """
    return tuple(
        _completed(rule, counts) if isinstance(rule, Determined) else rule for rule in rules
    )


def _completed(rule: Determined, counts: Counts) -> Determined:
    names = [column.name for column in counts.domain.columns]
    first, then = names.index(rule.by[0]), names.index(rule.column)
    if len(rule.by) > 1 or not counts.has(first, then):
        return rule  # the records that are made tell it
    columns = counts.domain.columns
    keys, values = columns[first].values, _with_missing(columns[then])
    known = {key: values.index(value) for (key,), value in rule.map if value in values}
    places = {keys.index(key): place for key, place in known.items() if key in keys}
    free = [number for number, key in enumerate(keys) if key != OTHER and key not in known]
    found = _likeliest(counts, first, then, places, free)
    told = tuple(((keys[number],), values[place]) for number, place in found.items())
    return dataclasses.replace(rule, map=(*rule.map, *told))


def _likeliest(
    counts: Counts, first: int, then: int, known: Mapping[int, int], free: Iterable[int]
) -> dict[int, int]:
    """Return for cells of a column the likeliest one of another, the most frequent first."""
    means, stddev = counts.of(first, then)
    left, right = (np.linalg.inv(counts.domain.features[column]) for column in (first, then))
    together = left @ means @ right.T
    variance = stddev**2 * np.outer(np.sum(left**2, axis=1), np.sum(right**2, axis=1))
    shares, left_over = counts.shares[first], counts.shares[then].copy()
    odds = (shares[:, None] * together - shares[:, None] ** 2 / 2) / variance
    for cell, place in known.items():
        left_over[place] -= shares[cell]
    found = {}
    for cell in sorted(free, key=lambda cell: -shares[cell]):
        place = int(np.argmax(odds[cell] + np.log(np.maximum(left_over, _LEAST))))
        found[cell] = place
        left_over[place] -= shares[cell]
    return found


def _with_missing(column: Column) -> Sequence[str | None]:
    return (*column.values, None) if column.nullable else column.values
