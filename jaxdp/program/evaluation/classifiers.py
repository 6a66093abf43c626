"""Logistic regression, an MLP and a random forest, trained on a made set and tested on real data.

No classifier is told the test labels: the last parameters of a fixed recipe predict, never the best
of several. Real data are looked at without noise, so the privacy guarantee of the set does not
cover the answer.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from tqdm import tqdm

from jaxdp.program.evaluation.figures import Prediction
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import scores, training_rows
from jaxdp.program.terminal import bar_style
from jaxdp.saved.logistic import MAX_ITERATIONS


def logistic(problem: Problem) -> dict[str, Any]:
    """Judge by scikit-learn's logistic regression (L2 penalty, C = 1, lbfgs).

    It has no randomness: where the whole set is used, it is fitted once for all seeds.

    Returns:
        As `recipe.scores`.
    """
    from sklearn.linear_model import LogisticRegression

    def model(seed: int) -> Any:
        del seed
        return LogisticRegression(max_iter=MAX_ITERATIONS)

    recipe = problem.recipe
    seeds = recipe.seeds[:1] if recipe.subset is None else recipe.seeds
    return _judged("logistic", problem, model, seeds)


def mlp(problem: Problem) -> dict[str, Any]:
    """Judge by scikit-learn's MLP as it comes: one layer of 100 ReLU units, Adam.

    Returns:
        As `recipe.scores`.
    """
    from sklearn.neural_network import MLPClassifier

    def model(seed: int) -> Any:
        return MLPClassifier((100,), max_iter=problem.recipe.mlp_iterations, random_state=seed)

    return _judged("mlp", problem, model, problem.recipe.seeds)


def forest(problem: Problem) -> dict[str, Any]:
    """Judge by scikit-learn's random forest as it comes: 100 trees.

    Returns:
        As `recipe.scores`.
    """
    from sklearn.ensemble import RandomForestClassifier

    def model(seed: int) -> Any:
        return RandomForestClassifier(random_state=seed)

    return _judged("forest", problem, model, problem.recipe.seeds)


def _judged(
    name: str, problem: Problem, model: Callable[[int], Any], seeds: Sequence[int]
) -> dict[str, Any]:
    """Fit a model for each seed and score the predictions; a single fit stands for all seeds."""
    rows, test_rows = problem.rows, problem.test_rows
    draws = training_rows(problem.recipe, problem.y, problem.num_classes)

    def fit(number: int) -> Prediction:
        chosen = draws[number]
        fitted = model(seeds[number])
        return _predict(fitted, rows[chosen], problem.y[chosen], test_rows, problem.num_classes)

    predictions = _side_by_side(fit, len(seeds), f"{name} on the made set")
    repeated = predictions * (len(draws) // len(seeds))
    return scores(problem.recipe, problem.y_test, repeated, len(draws[0]), problem.num_classes)


def _predict(
    model: Any, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, num_classes: int
) -> Prediction:
    """Return what a model predicts; a class that was not made has no probability."""
    there = np.unique(y)
    probabilities = np.zeros((len(x_test), num_classes))
    if len(there) == 1:  # scikit-learn refuses to fit a single class
        probabilities[:, there] = 1.0
        return Prediction(np.full(len(x_test), there[0]), probabilities)
    model.fit(x, y)
    probabilities[:, there] = model.predict_proba(x_test)
    return Prediction(model.predict(x_test), probabilities)


def _side_by_side(
    fit: Callable[[int], Prediction], count: int, description: str
) -> list[Prediction]:
    """Return what a function gives for 0..count-1, one call a core.

    A fit's matrix products are too small to share between cores.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(1),
        warnings.catch_warnings(),  # of all threads: not to be entered in each
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(
            tqdm(
                pool.map(fit, range(count)),
                total=count,
                desc=description,
                unit="fit",
                **bar_style(),
            )
        )
