"""Twelve classifiers that judge a made table, one setting each, as the papers list them.

Columns are standardised by the made records, which a user of them would do, too. The papers fit
every classifier in several settings and keep the best on the test set; here each has one. They
score predictions (`roc_auc`, `average_precision` of 0 and 1, which is balanced accuracy and the
precision at one point); beside it are the same figures of scores, which tell more.

References:
    Yang et al. (2023), "Differentially private neural tangent kernels (DP-NTK) for
        privacy-preserving data generation", section 5.2 (the classifiers and figures).
    Vinaroz & Park (2023), "Differentially private kernel inducing points", table 16 (settings).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from tqdm import tqdm

from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.terminal import bar_style


def classifiers(seed: int, num_classes: int) -> dict[str, Callable[[], Any]]:
    """Return the twelve by name, each as a function that makes one."""
    from sklearn import (
        discriminant_analysis,
        ensemble,
        linear_model,
        naive_bayes,
        neural_network,
        svm,
        tree,
    )
    from xgboost import XGBClassifier

    seeded: dict[str, Any] = {"random_state": seed}
    objective = "binary:logistic" if num_classes == 2 else "multi:softprob"
    return {
        "logistic": lambda: linear_model.LogisticRegression(max_iter=5000),
        "gaussian_nb": naive_bayes.GaussianNB,
        "bernoulli_nb": naive_bayes.BernoulliNB,  # above or below the mean, once standardised
        "linear_svc": lambda: svm.LinearSVC(loss="hinge", max_iter=10000, **seeded),
        "tree": lambda: tree.DecisionTreeClassifier(class_weight="balanced", **seeded),
        "lda": lambda: discriminant_analysis.LinearDiscriminantAnalysis(
            solver="lsqr", shrinkage=0.5
        ),
        "adaboost": lambda: ensemble.AdaBoostClassifier(
            n_estimators=100, learning_rate=0.7, **seeded
        ),
        "bagging": lambda: ensemble.BaggingClassifier(max_samples=0.1, n_estimators=20, **seeded),
        "forest": lambda: ensemble.RandomForestClassifier(
            n_estimators=100, class_weight="balanced", **seeded
        ),
        "boosting": lambda: ensemble.GradientBoostingClassifier(
            subsample=0.1, n_estimators=50, **seeded
        ),
        "mlp": lambda: neural_network.MLPClassifier(early_stopping=True, **seeded),
        "xgboost": lambda: XGBClassifier(
            n_estimators=50, colsample_bytree=0.1, objective=objective, **seeded
        ),
    }


def twelve(problem: Problem) -> dict[str, Any]:
    """Judge a made table by twelve classifiers.

    Returns:
        `seeds`, one alone; `mean` and `std` of the accuracy over classifiers, and `figures`: means
        over classifiers of what `figures_of` tells; and all of it by classifier.
    """
    seed = problem.recipe.seeds[0]
    x, x_test = standardised(problem.rows, problem.test_rows)
    found = {}
    makers = classifiers(seed, problem.num_classes)
    for name, make in tqdm(makers.items(), desc="twelve classifiers", unit="fit", **bar_style()):
        scores, predicted = _predicted(make, x, problem.y, x_test, problem.num_classes)
        found[name] = figures_of(problem.y_test, predicted, scores)
    accuracies = [each["accuracy"] for each in found.values()]
    return {
        "seeds": [seed],
        "mean": float(np.mean(accuracies)),
        "std": float(np.std(accuracies)),
        "figures": _means(list(found.values())),
        "classifiers": found,
    }


def standardised(x: np.ndarray, x_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both sets with the mean and the standard deviation of the first taken out."""
    mean, std = x.mean(axis=0), x.std(axis=0)
    std = np.where(std > 1e-6, std, 1.0)
    return ((x - mean) / std).astype(np.float32), ((x_test - mean) / std).astype(np.float32)


def _predicted(
    make: Callable[[], Any], x: np.ndarray, y: np.ndarray, x_test: np.ndarray, num_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores (t, c) and predicted classes (t,); a class that was not made is never found."""
    there, place = np.unique(y, return_inverse=True)
    scores = np.full((len(x_test), num_classes), -np.inf)
    if len(there) == 1:
        scores[:, there[0]] = 0.0
        return scores, np.full(len(x_test), there[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(x, place)
        tell = getattr(model, "predict_proba", None) or model.decision_function
        told = np.asarray(tell(x_test), np.float64)
    scores[:, there] = np.stack([-told, told], axis=1) if told.ndim == 1 else told
    return scores, there[np.asarray(model.predict(x_test))]


def figures_of(y: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Return figures of predictions, and for two classes of scores.

    Args:
        y: (t,) true classes.
        predicted: (t,) classes.
        scores: (t, c), larger for likelier classes.
    """
    from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

    found = {
        "accuracy": float(np.mean(predicted == y)),
        "f1_weighted": float(f1_score(y, predicted, average="weighted", zero_division=0.0)),
    }
    if scores.shape[1] != 2 or len(np.unique(y)) < 2:
        return found
    margin = np.nan_to_num(scores[:, 1], neginf=-1e300) - np.nan_to_num(scores[:, 0], neginf=-1e300)
    return found | {
        "roc_auc_of_predictions": float(roc_auc_score(y, predicted)),
        "average_precision_of_predictions": float(average_precision_score(y, predicted)),
        "roc_auc": float(roc_auc_score(y, margin)),
        "average_precision": float(average_precision_score(y, margin)),
    }


def _means(found: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([each[key] for each in found])) for key in found[0]}
