"""What the tables' benchmark compares with: budgets, choices, trees and marginals of its baselines.

Oracles are closed forms, dp-accounting, brute force over all cells, and mbi.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant

if importlib.util.find_spec("mbi") is None:
    pytest.skip("mbi is not installed: it needs jax 0.9 or newer", allow_module_level=True)


BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SIZES = (3, 4, 2, 3, 2)
# A chain: column 1 follows 0, 2 follows 1, the class 4 follows 2; column 3 is by itself.
CHAIN = [(0, 1), (1, 2), (2, 4)]
PLENTY = 1e12


@pytest.fixture(scope="module")
def code() -> Iterator[SimpleNamespace]:
    """Return the modules under test."""
    names = ("_graphical", "_beliefs", "_mst", "_aim", "_baselines", "_tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield SimpleNamespace(**{name[1:]: importlib.import_module(name) for name in names})


def chain(num: int, seed: int = 0) -> np.ndarray:
    """Return cells of records; each column of the chain is mostly a function of the one before."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, num)
    second = np.where(rng.random(num) < 0.8, first, rng.integers(0, 4, num))
    third = np.where(rng.random(num) < 0.8, second % 2, rng.integers(0, 2, num))
    label = np.where(rng.random(num) < 0.7, third, rng.integers(0, 2, num))
    return np.stack([first, second, third, rng.integers(0, 3, num), label], axis=1)


@pytest.fixture
def table(code: SimpleNamespace) -> Any:
    return code.graphical.CellTable(chain(4000), SIZES)


def budget_of(code: SimpleNamespace, rho: float, seed: int = 0) -> Any:
    return code.graphical.Budget(rho, np.random.default_rng(seed))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-5)])
def test_rho_is_the_largest_that_an_accountant_allows(
    code: SimpleNamespace, epsilon: float, delta: float
) -> None:
    rho = code.graphical.zcdp_rho(epsilon, delta)
    orders = 1 + np.exp(np.linspace(-4, 8, 20001))
    spent, _ = rdp_privacy_accountant.compute_epsilon(orders, rho * orders, delta)
    assert spent == pytest.approx(epsilon, rel=1e-6)
    # Bun & Steinke (2016), proposition 1.3, is a valid and looser closed form.
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) > epsilon


def test_rho_of_epsilon_1(code: SimpleNamespace) -> None:
    assert code.graphical.zcdp_rho(1.0, 1e-5) == pytest.approx(0.0305566, rel=1e-5)


def test_a_choice_has_the_probabilities_of_the_exponential_mechanism(code: SimpleNamespace) -> None:
    scores, epsilon, sensitivity = np.array([1.0, 3.0, 4.0, 2.5]), 1.5, 2.0
    weights = [math.exp(epsilon * score / (2 * sensitivity)) for score in scores]
    expected = np.array(weights) / sum(weights)
    budget, trials = budget_of(code, PLENTY), 20000
    orders = [
        budget.ranked(scores, epsilon=epsilon, sensitivity=sensitivity) for _ in range(trials)
    ]
    counts = np.bincount([order[0] for order in orders], minlength=4)
    assert np.all(np.abs(counts / trials - expected) < 4 * np.sqrt(expected / trials))
    # The first of those allowed is chosen as among these alone.
    allowed = np.array([0, 2, 3])
    firsts = [next(i for i in order if i in allowed) for order in orders]
    counts = np.bincount(firsts, minlength=4)[allowed]
    within = expected[allowed] / expected[allowed].sum()
    assert np.all(np.abs(counts / trials - within) < 4 * np.sqrt(within / trials))


def test_a_budget_is_not_overdrawn(code: SimpleNamespace) -> None:
    budget = budget_of(code, 1.0)
    counts = budget.noisy(np.zeros(10000), stddev=1.0)
    assert np.std(counts) == pytest.approx(1.0, abs=0.03)
    assert budget.spent == 0.5
    budget.ranked(np.zeros(3), epsilon=1.0, sensitivity=1.0)
    assert budget.spent == 0.625
    with pytest.raises(ValueError, match="more than the budget"):
        budget.noisy(np.zeros(3), stddev=1.0)


def test_counts_are_those_of_a_loop(table: Any) -> None:
    found = table.counts((1, 4))
    for a, b in itertools.product(range(4), range(2)):
        assert found[a, b] == sum((row[1], row[4]) == (a, b) for row in table.cells.tolist())


def test_a_model_has_the_marginals_of_all_cells(code: SimpleNamespace) -> None:
    """Brute force: the product of all potentials, over every cell."""
    rng = np.random.default_rng(1)
    cliques = [(0, 1), (1, 2), (2, 4), (3,)]
    potentials = {each: rng.normal(size=[SIZES[c] for c in each]) for each in cliques}
    tree = code.beliefs.JunctionTree(SIZES, cliques)
    model = code.beliefs.Model(tree, potentials, total=10.0)
    whole = np.zeros(SIZES)
    for each, values in potentials.items():
        whole += tree.spread(values, each, tuple(range(5)))
    whole = 10 * np.exp(whole) / np.exp(whole).sum()
    for columns in code.graphical.with_subsets([tuple(range(5))]):
        others = tuple(i for i in range(5) if i not in columns)
        np.testing.assert_allclose(model.counts(columns), whole.sum(axis=others), rtol=1e-9)


def test_a_fitted_model_is_that_of_mbi(code: SimpleNamespace, table: Any) -> None:
    cliques = [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2, 4), (3, 4), (0, 2)]
    budget = budget_of(code, PLENTY)
    measured = [table.measured(each, budget, stddev=20.0) for each in cliques]
    model = code.beliefs.fitted(SIZES, measured, iterations=1500)
    with code.graphical.graphical_models() as mbi:
        listed = [
            mbi.LinearMeasurement(each.counts.ravel(), each.columns, each.stddev)
            for each in measured
        ]
        domain = mbi.Domain(range(5), SIZES)
        theirs = mbi.estimation.MirrorDescent().estimate(domain, listed, iters=3000)
        found = {
            each: np.asarray(theirs.marginals.project(each).values) for each in [(0, 1), (3, 4)]
        }
        total = float(theirs.total)
    assert model.total == pytest.approx(total, rel=1e-9)
    for columns, values in found.items():
        np.testing.assert_allclose(model.counts(columns), values, atol=1.0)


def test_measuring_twice_is_measuring_once_with_less_noise(code: SimpleNamespace) -> None:
    """The misfit of both is that of their mean, but for a constant."""
    rng = np.random.default_rng(0)
    twice = [code.graphical.Measurement((0,), rng.normal(size=3), stddev) for stddev in (1.0, 2.0)]
    [once] = code.graphical.combined(twice)
    assert once.stddev == pytest.approx(1 / math.sqrt(1 + 1 / 4))

    def misfit(measurements: list, at: np.ndarray) -> float:
        return sum(np.sum((at - each.counts) ** 2) / each.stddev**2 for each in measurements)

    points = rng.normal(size=(5, 3))
    differences = [misfit(twice, at) - misfit([once], at) for at in points]
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)


def test_mst_finds_the_planted_tree(code: SimpleNamespace, table: Any) -> None:
    counts = [table.counts((column,)) for column in range(5)]
    edges = code.mst.chosen_tree(table, counts, budget_of(code, PLENTY), PLENTY)
    assert len(edges) == 4
    assert set(CHAIN) < set(edges)


def test_mst_without_noise_has_the_pairs_of_its_tree(code: SimpleNamespace, table: Any) -> None:
    budget = budget_of(code, PLENTY)
    made = code.graphical.CellTable(code.mst.mst(table, budget, 4000, iterations=1000), SIZES)
    assert budget.spent == pytest.approx(PLENTY, rel=1e-9)
    for pair in CHAIN:
        assert np.abs(made.counts(pair) - table.counts(pair)).sum() < 0.02 * 4000


def test_cells_that_noise_hides_are_merged_and_drawn_evenly(code: SimpleNamespace) -> None:
    measurement = code.graphical.Measurement((0,), np.array([50.0, 2.0, 40.0, -1.0]), 10.0)
    cells = code.mst.merged_cells(measurement)
    np.testing.assert_array_equal(cells, [0, 2, 1, 2])
    small = code.mst.merged(measurement, cells)
    np.testing.assert_allclose(small.counts, [50, 40, 1 / math.sqrt(2)])
    np.testing.assert_allclose(small.weights, [1, 1, 1 / math.sqrt(2)])
    [counts] = code.mst.independent_counts([small], total=100.0)
    np.testing.assert_allclose(counts, [50 + 3, 40 + 3, 1 + 3])
    made = np.repeat([[0], [1], [2]], 2000, axis=0)
    found = np.bincount(code.mst.unmerged(made, [cells], np.random.default_rng(0))[:, 0])
    assert found[[0, 2]].tolist() == [2000, 2000]
    assert abs(found[1] - found[3]) < 200


def test_aim_without_noise_has_the_marginals_of_its_workload(
    code: SimpleNamespace, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code.aim, "_ROUND_ITERATIONS", 20)
    budget = budget_of(code, PLENTY)
    cells = code.aim.aim(table, budget, 4000, target=4, iterations=300)
    made = code.graphical.CellTable(cells, SIZES)
    assert budget.spent == pytest.approx(PLENTY, rel=1e-9)
    for pair in [*CHAIN, (0, 4), (1, 4)]:
        assert np.abs(made.counts(pair) - table.counts(pair)).sum() < 0.04 * 4000


def test_weights_of_candidates_count_columns_shared_with_the_workload(
    code: SimpleNamespace,
) -> None:
    found = code.aim.candidate_weights(4, target=3)
    workload = [(0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert set(found) == {
        part
        for clique in workload
        for size in (1, 2, 3)
        for part in itertools.combinations(clique, size)
    }
    for columns, weight in found.items():
        assert weight == sum(len(set(columns) & set(each)) for each in workload)


@pytest.mark.parametrize("rho", [1e-3, 0.05])
def test_aim_spends_its_budget_and_no_more(code: SimpleNamespace, table: Any, rho: float) -> None:
    budget = budget_of(code, rho)
    weights = code.aim.candidate_weights(5, target=4)
    measured = code.aim.measured_by_aim(table, budget, weights, 1.0, 0.0)
    assert budget.spent == pytest.approx(rho, rel=1e-9)
    on_noise = sum(1 / (2 * each.stddev**2) for each in measured)
    assert 0.9 * rho <= on_noise * (1 + 1e-9) < rho


def test_a_model_does_not_outgrow_its_bound(code: SimpleNamespace, table: Any) -> None:
    budget = budget_of(code, PLENTY)
    weights = code.aim.candidate_weights(5, target=4)
    measured = code.aim.measured_by_aim(table, budget, weights, 1e-9, 0.0)
    assert all(len(each.columns) == 1 for each in measured)


def test_independent_without_noise_has_every_pair_with_the_class(
    code: SimpleNamespace, table: Any
) -> None:
    cells, y = table.cells[:, :4], table.cells[:, 4]
    made, labels = code.baselines.independent(
        cells, y, (SIZES[:4], 2), eps=1e6, delta=1e-5, count=4000, rng=np.random.default_rng(0)
    )
    found = code.graphical.CellTable(np.column_stack([made, labels]), SIZES)
    for column in range(4):
        np.testing.assert_allclose(found.counts((column, 4)), table.counts((column, 4)), atol=4)


@pytest.mark.parametrize("method", ["majority", "independent"])
def test_baselines_make_valid_records(code: SimpleNamespace, method: str) -> None:
    split = code.tables.toy_problem(0)
    x, y = code.baselines.baseline(method, split, eps=1.0, delta=1e-5, count=100, seed=0)
    assert x.shape == (len(y), 2)
    assert x.dtype == np.float32
    assert set(y.tolist()) <= {0, 1}
    if method == "majority":
        assert y.tolist() == [np.argmax(np.bincount(split.y))]


def test_wide_tables_are_left_out_with_a_reason(code: SimpleNamespace) -> None:
    from jaxdp.tables import read_schema

    assert code.baselines.why_not("mst", read_schema("adult")) is None
    assert code.baselines.why_not("independent", read_schema("isolet")) is None
    why = code.baselines.why_not("mst", read_schema("isolet"))
    assert why is not None
    assert "618" in why


def test_nobody_elses_settings_change(code: SimpleNamespace) -> None:
    import jax

    before, state = jax.config.jax_enable_x64, np.random.get_state()[1].copy()
    with code.graphical.graphical_models(), code.graphical._numpy_seed(1):
        assert jax.config.jax_enable_x64
        np.random.random(3)
    assert jax.config.jax_enable_x64 == before
    np.testing.assert_array_equal(np.random.get_state()[1], state)
