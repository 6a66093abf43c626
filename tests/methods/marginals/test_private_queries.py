"""How far a made table is from the private one, by queries that it was not made from."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.methods.marginals import queries
from jaxdp.tables import Domain, Schema
from jaxdp.tables.domain import answers

SCHEMA = Schema.from_json(
    {
        "columns": {
            "size": {"type": "numeric", "lower": 0, "upper": 10, "bins": 8, "nullable": True},
            "kind": {"type": "categorical", "categories": ["a", "b", "c"], "other": False},
            "sold": {"type": "categorical", "categories": ["no", "yes"], "other": False},
            "rare": {"type": "categorical", "categories": ["x", "y", "z"], "other": False},
        }
    }
)
DOMAIN = Domain(SCHEMA)


def cells_of(num: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, num)
    rare = np.where(rng.random(num) < 0.98, 0, 1)
    return np.stack([rng.integers(0, 9, num), kind, (kind == 1) * 1, rare], axis=1)


def shares_of(cells: np.ndarray) -> np.ndarray:
    each = zip(cells.T, DOMAIN.widths, strict=True)
    counted = [np.bincount(column, minlength=width) for column, width in each]
    return np.concatenate(counted) / len(cells)


def test_queries_are_about_three_columns_and_about_half_of_each() -> None:
    cells = cells_of(2000)
    found = queries.choose(DOMAIN, shares_of(cells))
    assert len(found) == queries.NUM
    for query in found:
        assert len(query) == 3
        for column, inside in query.items():
            assert inside.any()
            assert not inside.all()
            if column in (0, 1):
                assert 0.3 < np.mean(inside[cells[:, column]]) < 0.8
    sizes = [query[0] for query in found if 0 in query]
    assert all(np.sum(inside != np.roll(inside, 1)) == 2 for inside in sizes)  # cells in a row


def test_queries_follow_from_what_was_released() -> None:
    shares = shares_of(cells_of(2000))
    for first, second in zip(*(queries.choose(DOMAIN, shares) for _ in range(2)), strict=True):
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[j], second[j]) for j in first)


def test_a_table_of_two_columns_and_counts_below_zero_do_not_stop_it() -> None:
    two = Domain(
        Schema.from_json({"columns": {n: SCHEMA.to_json()["columns"][n] for n in ("kind", "sold")}})
    )
    for shares in (np.full(two.dim, -0.1), np.zeros(two.dim), np.linspace(-1, 1, two.dim)):
        for query in queries.choose(two, shares):
            assert sorted(query) == [0, 1]
            assert all(inside.any() and not inside.all() for inside in query.values())


@pytest.mark.parametrize("stddev", [0.0, 0.01, 0.05])
def test_the_error_is_that_without_noise_on_average(stddev: float) -> None:
    private, made = cells_of(20_000), cells_of(20_000, seed=1)
    made[:, 2] = np.random.default_rng(2).integers(0, 2, len(made))  # no longer told by the kind
    found = queries.choose(DOMAIN, shares_of(private))
    true = np.array([np.mean(answers(private, query)) for query in found])
    without = queries.error(made, found, true, 0.0)["error"]
    assert 0.04 < without < 0.2
    rng, told = np.random.default_rng(0), []
    for _ in range(300):
        told.append(queries.error(made, found, true + stddev * rng.normal(size=len(true)), stddev))
    squares = [each["error"] ** 2 for each in told]
    assert np.mean(squares) == pytest.approx(without**2, rel=0.15)
    covered = [each["interval"][0] <= without <= each["interval"][1] for each in told]
    assert np.mean(covered) > 0.9


def test_noise_that_explains_all_differences_leaves_no_error() -> None:
    cells = cells_of(5000)
    found = queries.choose(DOMAIN, shares_of(cells))
    told = np.array([np.mean(answers(cells, query)) for query in found])
    result = queries.error(cells, found, told, 0.05)
    assert result["error"] == 0
    assert result["interval"][0] == 0
    assert result["queries"] == queries.NUM
