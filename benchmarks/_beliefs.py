"""Marginals of a graphical model by passing messages, in numpy.

A mechanism that chooses what to measure next fits a model in every round, each of another
structure. `mbi` compiles a program for each, which takes ten seconds or more; numpy takes one. The
model that records are drawn from is mbi's own all the same.

    p(x) = exp(sum_c theta_c(x_c)) / Z,    min over theta of
    sum_m |y_m - N p_m|^2 / (2 sigma_m^2)

References:
    Koller & Friedman (2009), "Probabilistic graphical models", sections 10.2 and 10.3.
    McKenna, Sheldon & Miklau (2019), "Graphical-model based estimation and inference for
        differential privacy", algorithm 1 (mirror descent).
"""

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import opt_einsum
from _graphical import Columns, Measurement, graphical_models, total_of

# Of a step that was right or too long; the part of the linear fall that makes it right.
_GROWTH, _SHRINKAGE, _ENOUGH = 1.5, 0.5, 0.25


class JunctionTree:
    """The tree of cliques that a model's marginals are computed on; cliques have sorted columns.

    Args:
        sizes: of all columns.
        cliques: of the model.
    """

    def __init__(self, sizes: tuple[int, ...], cliques: Sequence[Columns]) -> None:
        with graphical_models() as mbi:
            domain = mbi.Domain(range(len(sizes)), sizes)
            graph, _ = mbi.junction_tree.make_junction_tree(domain, list(cliques))
        self.sizes = sizes
        self._homes: dict[Columns, int | None] = {}
        self.nodes: list[Columns] = []
        # Of every node, which come after their parents: that of its parent, and shared columns.
        self.parents: list[int | None] = []
        self.shared: list[Columns] = []
        for root in sorted(graph):
            if root in self.nodes:
                continue
            waiting: list[tuple[Columns, int | None]] = [(root, None)]
            while waiting:
                node, parent = waiting.pop()
                above = () if parent is None else self.nodes[parent]
                waiting += [(each, len(self.nodes)) for each in graph[node] if each != above]
                self.nodes.append(node)
                self.parents.append(parent)
                self.shared.append(tuple(column for column in node if column in above))

    def home(self, columns: Columns) -> int | None:
        """Return the smallest node that holds columns, None if none does."""
        if columns not in self._homes:
            found = [i for i, node in enumerate(self.nodes) if set(columns) <= set(node)]
            sizes = {i: math.prod(self.shape(self.nodes[i])) for i in found}
            self._homes[columns] = min(found, key=sizes.__getitem__, default=None)
        return self._homes[columns]

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Return the shape of a marginal."""
        return tuple(self.sizes[column] for column in columns)

    def spread(self, values: np.ndarray, columns: Columns, over: Columns) -> np.ndarray:
        """Return values with axes of length 1 for further columns."""
        return values.reshape([self.sizes[c] if c in columns else 1 for c in over])

    def beliefs(self, potentials: Mapping[Columns, np.ndarray]) -> list[np.ndarray]:
        """Return the probabilities of every node's cells."""
        found = [np.zeros(self.shape(node)) for node in self.nodes]
        for clique, values in potentials.items():
            home = self.home(clique)
            assert home is not None
            found[home] += self.spread(values, clique, self.nodes[home])
        upward: dict[int, np.ndarray] = {}
        for i, parent in reversed(list(enumerate(self.parents))):
            if parent is not None:
                upward[i] = _log_summed(found[i], self.nodes[i], self.shared[i])
                found[parent] += self.spread(upward[i], self.shared[i], self.nodes[parent])
        for i, parent in enumerate(self.parents):
            if parent is not None:
                down = _log_summed(found[parent], self.nodes[parent], self.shared[i]) - upward[i]
                found[i] += self.spread(down, self.shared[i], self.nodes[i])
        chances = [np.exp(each - np.max(each)) for each in found]
        return [each / each.sum() for each in chances]


class Model:
    """A fitted model: marginals of any columns.

    Args:
        tree: of its cliques.
        potentials: theta, by clique.
        total: N, the number of records.
    """

    def __init__(
        self, tree: JunctionTree, potentials: dict[Columns, np.ndarray], total: float
    ) -> None:
        self.tree, self.potentials, self.total = tree, potentials, total
        self._beliefs = tree.beliefs(potentials)

    def counts(self, columns: Columns) -> np.ndarray:
        """Return the expected number of records in each cell of a marginal."""
        tree = self.tree
        home = tree.home(columns)
        if home is not None:
            return self.total * summed(self._beliefs[home], tree.nodes[home], columns)
        needed = self._needed(columns)
        terms: list = []
        for i in sorted(needed):
            is_top = tree.parents[i] not in needed
            terms += [self._beliefs[i] if is_top else self._given_parent[i], tree.nodes[i]]
        return self.total * opt_einsum.contract(*terms, columns, optimize="greedy")

    @functools.cached_property
    def _given_parent(self) -> list[np.ndarray]:
        """The probabilities of every node's cells, given those shared with its parent."""
        found = []
        for belief, node, shared in zip(
            self._beliefs, self.tree.nodes, self.tree.shared, strict=True
        ):
            sums = self.tree.spread(summed(belief, node, shared), shared, node)
            found.append(np.divide(belief, sums, out=np.zeros_like(belief), where=sums > 0))
        return found

    def _needed(self, columns: Columns) -> set[int]:
        """Return the nodes without which a marginal is not known: leaves fall off one by one."""
        tree, wanted = self.tree, set(columns)
        needed = set(range(len(tree.nodes)))
        below = [0] * len(tree.nodes)
        for parent in tree.parents:
            if parent is not None:
                below[parent] += 1
        for i in reversed(range(len(tree.nodes))):
            parent = tree.parents[i]
            if below[i] == 0 and wanted.isdisjoint(set(tree.nodes[i]) - set(tree.shared[i])):
                needed.discard(i)
                if parent is not None:
                    below[parent] -= 1
        return self._without_top(needed, wanted)

    def _without_top(self, needed: set[int], wanted: set[int]) -> set[int]:
        """Drop roots that have one node below and no wanted column of their own."""
        tree = self.tree
        for i in sorted(needed):
            if tree.parents[i] in needed:
                continue
            below = [tree.nodes[j] for j in needed if tree.parents[j] == i]
            if len(below) == 1 and wanted.isdisjoint(set(tree.nodes[i]) - set(below[0])):
                needed.discard(i)
        return needed


def fitted(
    sizes: tuple[int, ...],
    measurements: Sequence[Measurement],
    *,
    iterations: int,
    before: Model | None = None,
) -> Model:
    """Return the model of largest entropy that fits measurements best, nearly.

    Args:
        sizes: of all columns.
        measurements: noisy marginals.
        iterations: of mirror descent with Armijo's rule.
        before: a model of some of them, to begin from.
    """
    cliques = maximal({each.columns for each in measurements})
    tree, total = JunctionTree(sizes, cliques), total_of(measurements)
    potentials = {clique: np.zeros(tree.shape(clique)) for clique in cliques}
    if before is not None:
        for clique, values in before.potentials.items():
            into = next(each for each in cliques if set(clique) <= set(each))
            potentials[into] = potentials[into] + tree.spread(values, clique, into)
    step = 2 / (total * _curvature(sizes, measurements, cliques))
    beliefs = tree.beliefs(potentials)
    loss, slopes = _loss(tree, beliefs, measurements, cliques, total)
    for _ in range(iterations):
        tried = {clique: potentials[clique] - step * slopes[clique] for clique in cliques}
        there = tree.beliefs(tried)
        loss_there, slopes_there = _loss(tree, there, measurements, cliques, total)
        fall = sum(
            np.vdot(slopes[clique], _at(tree, beliefs, clique) - _at(tree, there, clique))
            for clique in cliques
        )
        if loss - loss_there >= _ENOUGH * total * fall:
            potentials, beliefs, loss, slopes = tried, there, loss_there, slopes_there
            step *= _GROWTH
        else:
            step *= _SHRINKAGE
    return Model(tree, potentials, total)


def maximal(cliques: set[Columns]) -> list[Columns]:
    """Return the cliques that are in no other one."""
    return sorted(each for each in cliques if not any(set(each) < set(other) for other in cliques))


def summed(values: np.ndarray, columns: Columns, onto: Columns) -> np.ndarray:
    """Return values summed over the columns that are not in `onto`."""
    return values.sum(axis=tuple(i for i, column in enumerate(columns) if column not in onto))


def _at(tree: JunctionTree, beliefs: list[np.ndarray], columns: Columns) -> np.ndarray:
    home = tree.home(columns)
    assert home is not None
    return summed(beliefs[home], tree.nodes[home], columns)


def _loss(
    tree: JunctionTree,
    beliefs: list[np.ndarray],
    measurements: Sequence[Measurement],
    cliques: list[Columns],
    total: float,
) -> tuple[float, dict[Columns, np.ndarray]]:
    """Return the misfit, and its slope in the marginal of every clique."""
    at = {clique: _at(tree, beliefs, clique) for clique in cliques}
    slopes = {clique: np.zeros_like(values) for clique, values in at.items()}
    loss = 0.0
    for each in measurements:
        clique = next(clique for clique in cliques if set(each.columns) <= set(clique))
        away = total * summed(at[clique], clique, each.columns) - each.counts
        loss += 0.5 * float(np.sum(away**2)) / each.stddev**2
        slopes[clique] += tree.spread(away / each.stddev**2, each.columns, clique)
    return loss, slopes


def _curvature(
    sizes: tuple[int, ...], measurements: Sequence[Measurement], cliques: list[Columns]
) -> float:
    """Return a bound on the misfit's second derivative in a clique's marginal."""
    found = dict.fromkeys(cliques, 0.0)
    for each in measurements:
        clique = next(clique for clique in cliques if set(each.columns) <= set(clique))
        others = math.prod(sizes[column] for column in clique if column not in each.columns)
        found[clique] += others / each.stddev**2
    return max(found.values())


def _log_summed(values: np.ndarray, columns: Columns, onto: Columns) -> np.ndarray:
    axes = tuple(i for i, column in enumerate(columns) if column not in onto)
    most = values.max(axis=axes, keepdims=True)
    sums = np.log(np.exp(values - most).sum(axis=axes, keepdims=True)) + most
    return sums.reshape([n for i, n in enumerate(values.shape) if i not in axes])
