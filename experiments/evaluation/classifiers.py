"""Do classifiers trained on synthetic images recognise real ones?

Real data are looked at without noise, so the privacy guarantee of the images does not cover the
answer.
"""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from tqdm import tqdm

from experiments.evaluation import image_sets

CLASSIFIERS = ("logistic", "mlp")


def accuracies(
    x: np.ndarray,
    y: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    *,
    num_classes: int,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    subset: int = 6000,
) -> dict[str, dict[str, Any]]:
    """Train classifiers on random parts of a synthetic set and test them on real data.

    For each seed, a class-balanced subset is drawn, the same for both classifiers: `logistic` is
    scikit-learn's logistic regression (lbfgs, 5000 iterations at most), `mlp` its MLP as it comes
    (one hidden layer of 100, Adam, 200 epochs at most). The last parameters predict, whether or
    not they have converged: neither classifier is told the test labels.

    A subset of 6000 MNIST images takes about nine seconds of one CPU core per seed.

    Args:
        x: (n, h, w, ch) or (n, d) synthetic images in [0, 1].
        y: (n,) their classes, in 0..c-1; a class may be missing and is then never predicted.
        x_test: real images of the same shape and in the same range.
        y_test: their classes.
        num_classes: c.
        seeds: each gives a subset, in a random order, and a random state of the MLP.
        subset: examples to train on, `floor(subset / c)` of each class; all examples of a class
            that has fewer.

    Returns:
        By classifier, ready for JSON: `seeds`, `num_examples` trained on, and the lists
        `test_accuracies` and `macro_f1s` in [0, 1], one value a seed, with `mean`, `std` and
        `macro_f1_mean`, `macro_f1_std` (population standard deviations). The macro-F1 is over
        classes that are in the test set or predicted.

    Raises:
        InputError: the synthetic set has values that are not finite.
        ValueError: the arrays do not fit each other or are out of range, there is no seed, or the
            subset has less than one example per class.

    References:
        Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
            privacy-preserving data generation", section 5.1.
    """
    image_sets.check_images(x=x, x_test=x_test)
    image_sets.check_labels(x, y, num_classes, "y")
    image_sets.check_labels(x_test, y_test, num_classes, "y_test")
    if not seeds:
        raise ValueError("accuracies needs at least one seed")
    if subset < num_classes:
        raise ValueError(f"a subset of {subset} has no example for each of {num_classes} classes")
    rows, test_rows = image_sets.flat(x), image_sets.flat(x_test)
    draws = [balanced_subset(y, subset // num_classes, np.random.default_rng(s)) for s in seeds]

    def fit(name: str, number: int) -> tuple[float, float]:
        chosen = draws[number]
        model = _classifier(name, seeds[number])
        return _scores(y_test, _predict(model, rows[chosen], y[chosen], test_rows))

    fits = [(name, number) for name in CLASSIFIERS for number in range(len(seeds))]
    scores = dict(zip(fits, _side_by_side(fit, fits), strict=True))
    return {
        name: _summary([scores[name, n] for n in range(len(seeds))], seeds, len(draws[0]))
        for name in CLASSIFIERS
    }


def _side_by_side(
    function: Callable[..., tuple[float, float]], arguments: Sequence[tuple[Any, ...]]
) -> list[tuple[float, float]]:
    """Return what a function gives, one call a core: a fit's products are too small to share."""
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
                pool.map(lambda each: function(*each), arguments),
                total=len(arguments),
                desc="classifiers on synthetic data",
                unit="fit",
                **({} if sys.stderr.isatty() else {"mininterval": 10.0, "ascii": True}),
            )
        )


def balanced_subset(y: np.ndarray, per_class: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `per_class` rows of each class in `y` without replacement, or all where it has fewer.

    Returns:
        Rows in a random order.
    """
    rows = [rng.permutation(np.flatnonzero(y == label))[:per_class] for label in np.unique(y)]
    return rng.permutation(np.concatenate(rows))


def _classifier(name: str, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    if name == "logistic":
        return LogisticRegression(max_iter=5000)  # lbfgs, which has no randomness
    return MLPClassifier(max_iter=200, random_state=seed)


def _predict(model: Any, x: np.ndarray, y: np.ndarray, x_test: np.ndarray) -> np.ndarray:
    if np.all(y == y[0]):  # scikit-learn refuses to fit a single class
        return np.full(len(x_test), y[0])
    return model.fit(x, y).predict(x_test)


def _scores(y_test: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    from sklearn.metrics import f1_score

    macro_f1 = f1_score(y_test, predicted, average="macro", zero_division=0.0)
    return float(np.mean(predicted == y_test)), float(macro_f1)


def _summary(
    scores: list[tuple[float, float]], seeds: Sequence[int], num_examples: int
) -> dict[str, Any]:
    values, macro_f1s = (list(column) for column in zip(*scores, strict=True))
    return {
        "seeds": list(seeds),
        "num_examples": num_examples,
        "test_accuracies": values,
        "mean": float(np.mean(values)),
        "std": float(np.std(values)),
        "macro_f1s": macro_f1s,
        "macro_f1_mean": float(np.mean(macro_f1s)),
        "macro_f1_std": float(np.std(macro_f1s)),
    }
