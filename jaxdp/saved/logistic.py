"""Logistic regression on a generated set, for runs that have released no classifier."""

import warnings
from collections.abc import Callable

import numpy as np

SUBSET = 6000
"""About so many generated images are trained on, equally many of each class; rows all."""
# lbfgs takes hundreds of iterations: a limit that is there to end, not to be met.
MAX_ITERATIONS = 5000


def chosen_rows(y: np.ndarray, num_classes: int, subset: int | None, *, seed: int) -> np.ndarray:
    """Return the rows of a made set that a classifier is trained on.

    Args:
        y: (n,) classes of the set.
        num_classes: c; a subset has `floor(subset / c)` of each class, or all where it has fewer.
        subset: how many; None for the whole set in its own order.
        seed: of the drawing.

    Raises:
        ValueError: the subset has less than one example per class.
    """
    if subset is None:
        return np.arange(len(y))
    per_class = subset // num_classes
    if per_class < 1:
        raise ValueError(f"a subset of {subset} has no example for each of {num_classes} classes")
    return balanced_subset(y, per_class, np.random.default_rng(seed))


def balanced_subset(y: np.ndarray, per_class: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `per_class` rows of each class in `y` without replacement, or all where it has fewer.

    Returns:
        Rows in a random order.
    """
    rows = [rng.permutation(np.flatnonzero(y == label))[:per_class] for label in np.unique(y)]
    return rng.permutation(np.concatenate(rows))


def trained_logistic(
    rows: np.ndarray, y: np.ndarray, num_classes: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the scores of scikit-learn's logistic regression (L2 penalty, C = 1, lbfgs).

    Args:
        rows: (n, d).
        y: (n,) classes; one that is missing gets a score of -inf.
        num_classes: c.

    Returns:
        A function of rows (m, d) -> (m, c), the logits.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    there = np.unique(y)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an end before convergence
        several = len(there) > 1  # scikit-learn refuses to fit a single class
        model = LogisticRegression(max_iter=MAX_ITERATIONS).fit(rows, y) if several else None

    def scores(new: np.ndarray) -> np.ndarray:
        found = np.full((len(new), num_classes), -np.inf)
        if model is None:
            found[:, there] = 0.0
            return found
        logits = model.decision_function(new)
        found[:, there] = np.stack([0 * logits, logits], axis=1) if logits.ndim == 1 else logits
        return found

    return scores
