"""Rules that names of columns suggest: for drafts alone, and no fact until they are accepted.

Nothing of the records is looked at, types aside that a draft guesses anyway: whether a rule holds
in all of them is private.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from jaxdp.program.data import words_of_rules
from jaxdp.tables.columns import CATEGORICAL, NUMERIC
from jaxdp.tables.moments import DATE, DURATION, TIMESTAMP, moment_of
from jaxdp.tables.rules import PROPOSED

# More names that differ by one word say nothing of any two.
_MOST_ALIKE = 100


def of(columns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules that names suggest, as a schema file has them.

    Args:
        columns: of a draft, by name.

    Examples:
        >>> from jaxdp.program.data import proposed_rules
        >>> date = {"type": "date", "format": "%Y-%m-%d"}
        >>> proposed_rules.of({"start_date": date, "end_date": date})
        [{'proposed': True, 'order': ['start_date', 'end_date']}]
    """
    kept = {name: facts for name, facts in columns.items() if not facts.get("drop")}
    words = {name: words_of_rules.words_of(name) for name in kept}
    found = [*_orders(kept, words), *_sums(kept, words), *_places(kept, words)]
    return [{PROPOSED: True, **rule} for rule in found]


def _orders(kept: Mapping[str, Any], words: Mapping[str, tuple[str, ...]]) -> Iterator[Any]:
    names, alike = list(kept), dict[Any, list[int]]()
    for place, name in enumerate(names):
        for rest in words_of_rules.without_one(words[name]):
            alike.setdefault(rest, []).append(place)
    # Not all pairs of names: a table of genes has twenty thousand.
    few = [places for places in alike.values() if len(places) <= _MOST_ALIKE]
    pairs = {pair for places in few for pair in itertools.permutations(places, 2)}
    for place, other in sorted(pairs):
        first, then = names[place], names[other]
        suggests = words_of_rules.is_ordered(words[first], words[then], in_this_order=place < other)
        if suggests and _are_alike(kept[first], kept[then]):
            yield {"order": [first, then]}


def _are_alike(first: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    """Whether columns may be compared; times of day go over midnight."""
    if first.get("type") != then.get("type"):
        return False
    return first.get("type") == NUMERIC or (
        _clock(first) is not None and _clock(first) == _clock(then)
    )


def _clock(facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the unit of a date, a timestamp or a duration, and its zone; None of another type."""
    if facts.get("type") not in (DATE, TIMESTAMP, DURATION):
        return None
    zone = facts.get("zone") or "UTC"
    return moment_of(facts["type"], facts["format"], zone).unit, zone


def _sums(kept: Mapping[str, Any], words: Mapping[str, tuple[str, ...]]) -> Iterator[Any]:
    for total, of_total in words.items():
        rest = {word for word in of_total if word not in words_of_rules.TOTALS}
        if not rest or len(rest) == len({*of_total}) or kept[total].get("type") != NUMERIC:
            continue
        parts = [
            name
            for name, own in words.items()
            if name != total and rest < {*own} and not {*own} & {*words_of_rules.TOTALS}
        ]
        if len(parts) > 1 and all(kept[part].get("type") == NUMERIC for part in parts):
            yield {"total": total, "sum": parts}


def _places(kept: Mapping[str, Any], words: Mapping[str, tuple[str, ...]]) -> Iterator[Any]:
    """Yield which places lie in which, those of the same other words together: home_city."""
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for name, own in words.items():
        joined = words_of_rules.joined(own)
        for level, known in enumerate(words_of_rules.PLACES):
            if joined and joined[-1] in known and kept[name].get("type") == CATEGORICAL:
                found.setdefault(joined[:-1], {}).setdefault(level, name)
    for levels in found.values():
        for (_, first), (_, then) in itertools.pairwise(sorted(levels.items())):
            yield {"determined": then, "by": first}
