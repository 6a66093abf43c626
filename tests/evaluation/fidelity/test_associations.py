"""Associations against pandas, scipy and naive ones; similarities of pairs by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association as plain_association
from support.two_tables import categories, numbers

from jaxdp.program.evaluation.fidelity import associations
from jaxdp.program.evaluation.fidelity.values import Values

RNG = np.random.default_rng(0)


def drawn(n: int) -> dict[str, np.ndarray]:
    hue = RNG.integers(-1, 4, n)
    a = np.round(RNG.normal(size=n) + hue, 1)
    b = np.exp(a + RNG.normal(size=n)) * 1e4
    a[RNG.random(n) < 0.2], b[RNG.random(n) < 0.1] = np.nan, np.nan
    kind = np.where(RNG.random(n) < 0.5, np.maximum(hue, 0), RNG.integers(0, 3, n))
    return {"a": a, "b": b, "hue": hue, "kind": kind}


REAL, MADE = drawn(400), drawn(90)
COLUMNS = [
    numbers(REAL["a"], MADE["a"], name="a"),
    numbers(REAL["b"], MADE["b"], name="b"),
    categories(REAL["hue"], MADE["hue"], name="hue"),
    categories(REAL["kind"], MADE["kind"], name="kind"),
]


def naive_v(a: pd.Series, b: pd.Series) -> float:
    """Bergsma 2013, from Cramer's V as scipy has it."""
    table = pd.crosstab(a, b).to_numpy()
    n, (r, k) = table.sum(), table.shape
    phi = plain_association(table, method="cramer") ** 2 * (min(r, k) - 1)
    phi = max(0, phi - (r - 1) * (k - 1) / (n - 1))
    rows, columns = (size - (size - 1) ** 2 / (n - 1) for size in (r, k))
    return (phi / (min(rows, columns) - 1)) ** 0.5


def naive_eta(groups: pd.Series, values: pd.Series) -> float:
    there = values.notna()
    groups, values = groups[there], values[there]
    means = values.groupby(groups).transform("mean")
    return (((means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum()) ** 0.5


def test_every_pair_has_the_association_of_its_kind() -> None:
    found = {pair.columns: pair for pair in associations.compare(COLUMNS, range(4))}
    assert len(found) == 6
    for held, side, place in ((pd.DataFrame(REAL), "real", 0), (pd.DataFrame(MADE), "made", 1)):
        pair = found[0, 1]
        assert pair.kind == "pearson"
        assert getattr(pair, side) == pytest.approx(held["a"].corr(held["b"]))
        assert pair.ranks is not None
        assert pair.ranks[place] == pytest.approx(held["a"].corr(held["b"], method="spearman"))
        assert getattr(found[2, 3], side) == pytest.approx(naive_v(held["hue"], held["kind"]))
        for (a, b), (group, value) in {(0, 2): ("hue", "a"), (1, 3): ("kind", "b")}.items():
            assert found[a, b].kind == "correlation_ratio"
            assert getattr(found[a, b], side) == pytest.approx(naive_eta(held[group], held[value]))


def test_pairs_are_similar_as_their_correlations_or_joint_counts_are() -> None:
    found = {pair.columns: pair for pair in associations.compare(COLUMNS, range(4))}
    numbers_alone = found[0, 1]
    apart = abs(numbers_alone.real - numbers_alone.made)
    assert numbers_alone.similarity == pytest.approx(1 - apart / 2)
    edges = np.histogram_bin_edges(REAL["a"][~np.isnan(REAL["a"])], bins=10)
    edges[[0, -1]] = -np.inf, np.inf
    cut = [pd.cut(side["a"], edges, right=False).astype(str) for side in (REAL, MADE)]
    for pair, firsts, second in (
        (found[0, 3], cut, "kind"),
        (found[2, 3], [REAL["hue"], MADE["hue"]], "kind"),
    ):
        held = [
            pd.Series(list(zip(first, side[second], strict=True))).value_counts(normalize=True)
            for first, side in zip(firsts, (REAL, MADE), strict=True)
        ]
        difference = held[0].sub(held[1], fill_value=0).abs().sum() / 2
        assert pair.similarity == pytest.approx(1 - difference)


def test_differences_are_told_by_kind() -> None:
    pairs = associations.compare(COLUMNS, range(4))
    found = associations.differences(pairs)
    assert {kind: said["pairs"] for kind, said in found.items()} == {
        "pearson": 1, "spearman": 1, "cramers_v": 1, "correlation_ratio": 4,
    }  # fmt: skip
    etas = [abs(pair.real - pair.made) for pair in pairs if pair.kind == "correlation_ratio"]
    assert found["correlation_ratio"]["mean"] == pytest.approx(np.mean(etas))
    assert found["correlation_ratio"]["largest"] == max(etas)
    assert associations.differences([]) == {}


def test_counted_associations_at_the_ends() -> None:
    place = np.arange(4)
    assert associations.cramers_v(np.array([50, 0, 0, 50]), place, 2) == pytest.approx(1)
    assert associations.cramers_v(np.array([50, 50, 50, 50]), place, 2) == 0
    for counts in ([1, 0, 0, 0], [1, 0, 0, 1], [9, 9, 0, 0]):  # too few, or a column of one value
        assert associations.cramers_v(np.array(counts), place, 2) == 0


def pair_of(first: Values, second: Values) -> associations.Pair:
    (found,) = associations.compare([first, second], [0, 1])
    return found


def test_columns_that_do_not_vary_go_with_nothing() -> None:
    line, flat, gone = [1.0, 2, 3, 4], [5.0] * 4, [np.nan] * 4
    for constant in (flat, gone):
        made_flat = pair_of(numbers(line, constant), numbers(line, line))
        assert (made_flat.real, made_flat.made, made_flat.similarity) == (1, 0, 0.5)
        real_flat = pair_of(numbers(constant, line), numbers(line, line))
        assert (real_flat.real, real_flat.made, real_flat.similarity) == (0, 1, None)
        for other in (flat, gone):  # of each private column, too
            mixed = pair_of(numbers(constant, other), categories([0, 1, 2, 3], [0, 1, 2, 3]))
            assert (mixed.real, mixed.made) == (0, 0)
    assert pair_of(numbers([1], [2]), numbers([3], [4])).similarity is None  # one record each
    assert pair_of(categories([1], [1]), categories([-1], [-1])).similarity == 1


def test_opposite_numbers_are_as_far_apart_as_can_be() -> None:
    line = np.arange(9.0)
    found = pair_of(numbers(line, line), numbers(line, -line))
    assert (found.real, found.made, found.ranks) == (1, -1, (1, -1))
    assert found.similarity == pytest.approx(0)
