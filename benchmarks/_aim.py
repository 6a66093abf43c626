"""AIM: records from a private model that grows by the marginal it is worst at.

The workload is the paper's `target`: all triples of columns with the class in them, of one weight.
Candidates are these and all their parts. A round spends a tenth of its budget on choosing one by
the exponential mechanism, the rest on measuring it. Rounds cost twice as much per standard
deviation once one has told nothing new.

Against the paper, one bound keeps a case within minutes: after five of them every round counts as
one that has told nothing new, so that the budget is soon spent. The model has 80 MB at most, as the
authors have it.

References:
    McKenna, Mullins, Sheldon & Miklau (2022), "AIM: an adaptive and iterative mechanism for
        differentially private synthetic data", algorithms 1 to 4.
"""

import itertools
import math
import time
from collections.abc import Mapping

import numpy as np
from _beliefs import Model, fitted
from _graphical import (
    Budget,
    CellTable,
    Columns,
    Measurement,
    combined,
    drawn,
    model_size,
    with_subsets,
)

# The part of a round's budget that measures; rounds for each column that the first noise is for.
_MEASURED, _ROUNDS = 0.9, 16
_MEGABYTES, _SECONDS = 80.0, 300.0
_ROUND_ITERATIONS, _ITERATIONS = 500, 1000


def aim(
    table: CellTable,
    budget: Budget,
    count: int,
    *,
    target: int,
    megabytes: float = _MEGABYTES,
    seconds: float = _SECONDS,
    iterations: int = _ITERATIONS,
) -> np.ndarray:
    """Return cells (count, columns) of synthetic records.

    Args:
        table: private.
        budget: all of it is spent. Adding or removing a record changes each marginal by 1.
        count: how many records.
        target: the column of classes.
        megabytes: of the model, when all is spent.
        seconds: after which noise is reduced in every round.
        iterations: of the last estimate.
    """
    measurements = measured_by_aim(
        table, budget, candidate_weights(len(table.sizes), target), megabytes, seconds
    )
    return drawn(table.sizes, measurements, count, budget.rng, iterations=iterations)


def candidate_weights(num: int, target: int) -> dict[Columns, float]:
    """Return the workload's triples and all their parts, with the sum of columns shared with it."""
    others = [column for column in range(num) if column != target]
    size = min(2, len(others))
    workload = [tuple(sorted((*pair, target))) for pair in itertools.combinations(others, size)]
    with_column = {column: sum(column in each for each in workload) for column in range(num)}
    return {
        part: float(sum(with_column[column] for column in part)) for part in with_subsets(workload)
    }


def measured_by_aim(
    table: CellTable,
    budget: Budget,
    weights: Mapping[Columns, float],
    megabytes: float,
    seconds: float,
) -> list[Measurement]:
    """Return what is measured: every column, then what the model so far is worst at."""
    started = time.monotonic()
    rounds = _ROUNDS * len(table.sizes)
    stddev, epsilon = _noise(budget.rho / rounds)
    found = [table.measured((column,), budget, stddev) for column in range(len(table.sizes))]
    model = fitted(table.sizes, found, iterations=_ROUND_ITERATIONS)
    answers = {columns: table.counts(columns) for columns in weights}
    is_last = False
    while not is_last:
        # Two rounds' budget or less is one round's.
        is_last = budget.left <= 2 * _cost(stddev, epsilon)
        if is_last:
            stddev, epsilon = _noise(budget.left)
        limit = megabytes * (budget.spent + _cost(stddev, epsilon)) / budget.rho
        chosen = _worst(answers, weights, model, budget, stddev, epsilon, limit)
        found.append(table.measured(chosen, budget, stddev))
        better = fitted(table.sizes, combined(found), iterations=_ROUND_ITERATIONS, before=model)
        news = float(np.abs(better.counts(chosen) - model.counts(chosen)).sum())
        is_late = time.monotonic() - started > seconds
        if is_late or news <= _expected_error(table, chosen, stddev):
            stddev, epsilon = stddev / 2, epsilon * 2
        model = better
    return found


def _noise(rho: float) -> tuple[float, float]:
    """Return the standard deviation and the choice's epsilon of a round that costs rho."""
    return math.sqrt(1 / (2 * _MEASURED * rho)), math.sqrt(8 * (1 - _MEASURED) * rho)


def _cost(stddev: float, epsilon: float) -> float:
    return 1 / (2 * stddev**2) + epsilon**2 / 8


def _expected_error(table: CellTable, columns: Columns, stddev: float) -> float:
    """Return the mean of |noise|_1 on a marginal."""
    return math.sqrt(2 / math.pi) * stddev * math.prod(table.shape(columns))


def _worst(
    answers: Mapping[Columns, np.ndarray],
    weights: Mapping[Columns, float],
    model: Model,
    budget: Budget,
    stddev: float,
    epsilon: float,
    limit: float,
) -> Columns:
    """Return a candidate that the model is bad at and that it has room for.

    A score is w_r (|marginal - model's|_1 - sqrt(2 / pi) stddev cells), of sensitivity w_r.
    """
    candidates = list(answers)
    noise = math.sqrt(2 / math.pi) * stddev
    scores = [
        weights[columns]
        * (float(np.abs(answers[columns] - model.counts(columns)).sum()) - noise * answer.size)
        for columns, answer in answers.items()
    ]
    order = budget.ranked(
        np.array(scores), epsilon=epsilon, sensitivity=max(weights[each] for each in candidates)
    )
    cliques = list(model.potentials)
    free = set(with_subsets(cliques))
    sizes = model.tree.sizes
    # Room is a public fact of what was chosen before.
    return next(
        candidates[i]
        for i in order
        if candidates[i] in free or model_size(sizes, [*cliques, candidates[i]]) <= limit
    )
