"""What is told of predictions beside accuracy: AUC, sensitivity by class, calibration, confusion.

Test examples are looked at without noise, so the privacy guarantee does not cover any of it.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

NOT_COVERED = (
    "computed from the whole test split without noise: not covered by the guarantee, no more than "
    "accuracy is"
)
MOST_CLASSES = 50
"""Of more classes no confusion matrix is kept: it grows with their square."""
_BINS = 15
_MEANS = ("auc", "balanced_accuracy", "calibration_error")


class Prediction(NamedTuple):
    """What a classifier says of test examples.

    Attributes:
        classes: (t,) predicted classes.
        probabilities: (t, c), of every class.
    """

    classes: np.ndarray
    probabilities: np.ndarray


def figures(
    y_test: Int[np.ndarray, " t"], predictions: Sequence[Prediction], num_classes: int
) -> dict[str, Any]:
    """Return figures of classifiers that were tested on the same examples.

    Args:
        y_test: true classes, in 0..num_classes-1; classes may be missing.
        predictions: of each classifier, at least one.
        num_classes: c.

    Returns:
        Ready for JSON. Means over the classifiers of `auc`, `balanced_accuracy`,
        `calibration_error` and, by class, `sensitivity`; `confusion` (c, c): how often an example
        of the row's class was told to be of the column's, added up over the classifiers;
        `commonest_share` of the test examples that the commonest class has; `num_test`;
        `interval`, as the function says; `note`. What cannot be told is None, and
        `untold` says why, by name.
    """
    told = [_scalars(y_test, each, num_classes) for each in predictions]
    counts = np.sum([confusion(y_test, each.classes, num_classes) for each in predictions], axis=0)
    rows = counts.sum(axis=1)
    found: dict[str, Any] = {name: _mean([each[name] for each in told]) for name in _MEANS}
    found["sensitivity"] = [
        float(counts[label, label] / rows[label]) if rows[label] else None
        for label in range(num_classes)
    ]
    found["confusion"] = counts.tolist() if num_classes <= MOST_CLASSES else None
    found["commonest_share"] = float(rows.max() / rows.sum())
    found["num_test"] = len(y_test)
    right = float(np.trace(counts) / counts.sum())
    found["interval"] = list(interval(right, len(y_test)))
    reasons = _untold(y_test, found, num_classes)
    return found | ({"untold": reasons} if reasons else {}) | {"note": NOT_COVERED}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _scalars(
    y_test: np.ndarray, prediction: Prediction, num_classes: int
) -> dict[str, float | None]:
    from sklearn.metrics import balanced_accuracy_score

    classes, probabilities = prediction
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of predicted classes that are not in the test split
        balanced = float(balanced_accuracy_score(y_test, classes))
    if not np.all(np.isfinite(probabilities)):
        return {"auc": None, "balanced_accuracy": balanced, "calibration_error": None}
    return {
        "auc": auc(y_test, probabilities, num_classes),
        "balanced_accuracy": balanced,
        "calibration_error": calibration_error(y_test, prediction),
    }


def _untold(y_test: np.ndarray, found: dict[str, Any], num_classes: int) -> dict[str, str]:
    """Return by name why something is missing, or of what it is told alone."""
    missing = np.setdiff1d(np.arange(num_classes), y_test)
    reasons = {}
    if len(missing) >= num_classes - 1:
        reasons["auc"] = "all test examples are of one class"
    elif found["auc"] is None:
        reasons["auc"] = "scores are not finite"
    elif len(missing):
        reasons["auc"] = "of the classes in the test split alone"
    if found["calibration_error"] is None:
        reasons["calibration_error"] = "scores are not finite"
    if len(missing):
        names = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        reasons["sensitivity"] = f"the test split has no example of classes {names}"
    if found["confusion"] is None:
        reasons["confusion"] = f"there are more than {MOST_CLASSES} classes"
    return reasons


def auc(
    y_test: Int[np.ndarray, " t"], probabilities: Float[np.ndarray, "t c"], num_classes: int
) -> float | None:
    """Return the area under the ROC curve: of two classes the second one's, of more the mean.

    The mean is over the classes of the test split, of one against the rest (scikit-learn's "ovr"
    and "macro"). Examples of equal scores count as half right.

    Returns:
        A number in [0, 1], or None where all examples are of one class.

    References:
        Provost & Domingos (2001), "Well-trained PETs: improving probability estimation trees",
            section 2.3, with equal weights.
    """
    from sklearn.metrics import roc_auc_score

    there = np.unique(y_test)
    if len(there) < 2:
        return None
    if num_classes == 2:
        return float(roc_auc_score(y_test, probabilities[:, 1]))
    areas = [roc_auc_score(y_test == label, probabilities[:, label]) for label in there]
    return float(np.mean(areas))


def interval(accuracy: float, num_test: int) -> tuple[float, float]:
    """Return where the accuracy on all new examples is, with a confidence of 95 %.

    It counts the chance of which examples are in the test split, and nothing else: neither the
    noise of the run nor that new examples may be of another kind. The mean of several classifiers
    is taken for one's.

    Args:
        accuracy: on the test split, in [0, 1].
        num_test: how many examples it has.

    References:
        Wilson (1927), "Probable inference, the law of succession, and statistical inference".
    """
    from scipy.stats import binomtest  # takes a while

    found = binomtest(round(accuracy * num_test), num_test).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def calibration_error(y_test: Int[np.ndarray, " t"], prediction: Prediction) -> float:
    """Return the expected calibration error of the predicted class, in [0, 1].

    With B_m the examples whose class was predicted with a confidence in ((m - 1)/15, m/15],

        ECE = sum_m |B_m| / t * | accuracy(B_m) - mean confidence(B_m) |,   m = 1..15.

    References:
        Guo et al. (2017), "On calibration of modern neural networks", eq. 3 (M = 15).
    """
    classes, probabilities = prediction
    confidence = np.take_along_axis(probabilities, classes[:, None], axis=1)[:, 0]
    bins = np.clip(np.ceil(confidence * _BINS).astype(int) - 1, 0, _BINS - 1)
    # Sums in a bin: the number of its examples cancels out.
    gaps = np.bincount(bins, weights=(classes == y_test) - confidence, minlength=_BINS)
    return float(np.sum(np.abs(gaps)) / len(y_test))


def confusion(
    y_test: Int[np.ndarray, " t"], classes: Int[np.ndarray, " t"], num_classes: int
) -> Int[np.ndarray, "c c"]:
    """Return how often an example of a class (row) was told to be of another one (column)."""
    from sklearn.metrics import confusion_matrix

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single class
        return np.asarray(confusion_matrix(y_test, classes, labels=np.arange(num_classes)))
