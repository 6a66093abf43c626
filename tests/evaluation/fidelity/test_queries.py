"""Random questions: answered as pandas answers them, and as chance has it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.two_tables import categories, numbers

from jaxdp.program.evaluation.fidelity import queries
from jaxdp.program.evaluation.fidelity.values import Values

RNG = np.random.default_rng(0)


def columns(n: int, m: int) -> list[Values]:
    sides = {name: (RNG.integers(0, 9, n) * 1.0, RNG.integers(0, 9, m) * 1.0) for name in "xy"}
    for side in sides["y"]:
        side[RNG.random(len(side)) < 0.2] = np.nan
    found = [numbers(*pair, name=name, integer=True) for name, pair in sides.items()]
    hues = [RNG.integers(-1, 3, size) for size in (n, m)]
    return [*found, categories(*hues, name="hue"), categories(hues[0], hues[1], name="tint")]


def answered(text: str, frame: pd.DataFrame) -> float:
    """Return the share of rows of which a question's text is true."""
    true = pd.Series(True, frame.index)
    for condition in text.split(" and "):
        name, *rest = condition.split()
        if rest[0] == "from":
            true &= frame[name].between(float(rest[1]), float(rest[3]))
        elif name in ("x", "y"):
            true &= frame[name] == float(rest[1])
        else:
            true &= frame[name] == ("missing" if rest[1] == "missing" else rest[1])
    return true.mean()


def test_shares_are_those_of_records_that_the_question_is_true_of() -> None:
    held = columns(300, 80)
    frames = []
    for side in ("real", "made"):
        told = {}
        for column in held:
            values = getattr(column, side)
            if not column.is_number:
                values = [column.names[at] if at >= 0 else "missing" for at in values]
            told[column.name] = values
        frames.append(pd.DataFrame(told))
    found = queries.compare(held)
    assert len(found) == 200
    for query in found:
        assert query.text.count(" and ") == 2
        assert query.real == pytest.approx(answered(query.text, frames[0]))
        assert query.made == pytest.approx(answered(query.text, frames[1]))
    assert len({query.text for query in found}) > 150
    assert found == queries.compare(held)


def test_errors_are_those_of_chance_where_both_are_of_one_distribution() -> None:
    """Of 30 pairs of tables: one alone has errors that go together."""
    found = [query for _ in range(30) for query in queries.compare(columns(400, 150))]
    error, chance = (np.mean([getattr(q, name) for q in found]) for name in ("error", "by_chance"))
    assert chance == pytest.approx(error, rel=0.1)
    same = columns(100, 100)
    assert all(q.error == 0 for q in queries.compare([c._replace(made=c.real) for c in same]))


def test_few_columns_and_columns_without_values_are_asked_for() -> None:
    gone = numbers([np.nan, np.nan], [1.0], name="gone")
    for query in queries.compare([gone, categories([0, 0], [1])]):
        assert query.text == "gone = missing and c = a"
        assert (query.real, query.made) == (1, 0)
