"""A teacher's labels of drawn examples, by what is known of how they were drawn.

A teacher sees drawn images as examples of few classes: flat ones all look like dogs to it. Its
probabilities are right for another mixture of classes than the one that the generator drew. Who
learns from them expects that mixture, and is wrong on real images. The class for which an example
was drawn says something about it, too.

Records of tables are better understood: they keep the teacher's labels as these are. But where one
class in ten is ill, hardly anybody is rather ill than not, and the likeliest classes are all the
same one. A class that is lost so is brought back by `labels_in_shares`.

References:
    Saerens, Latinne & Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
    probabilities", eq. 4: probabilities for another mixture are the given ones times a factor for
    each class. Theirs are found for a mixture that is unknown; ours is known, and the factors
    follow from it as in Sinkhorn & Knopp (1967).
"""

import math

import numpy as np
from jaxtyping import Float, Int

_ROUNDS, _CLOSE = 1000, 1e-4
# A class that the teacher sees in no example is not brought back by its rounding errors.
_MOST = 1e3
# How much the odds of the class are raised for which an example was drawn. Chosen on training
# images of CIFAR-10.
_DRAWN = math.e
# Part of the records drawn for a class that the teacher's labels may leave it. Without need they
# are not changed: the likeliest class is the best label of one record. Tables whose classes are all
# found have more than this: `adult` 0.65 to 0.75 for its rarer class.
_LEAST = 0.5


def as_drawn(
    probabilities: Float[np.ndarray, "m c"], drawn: Int[np.ndarray, " m"], kept: int
) -> Float[np.ndarray, "m c"]:
    """Return a teacher's probabilities for examples that were drawn for given classes.

    Args:
        probabilities: of each example, which sum to 1.
        drawn: the class for which each was drawn.
        kept: how many are as they were drawn; those after them were mixed with others.

    Returns:
        float64: given ones times e for the class that was drawn, then `balanced`. Those of mixed
        examples are `balanced` alone.
    """
    num_classes = probabilities.shape[1]
    raised = np.where(np.eye(num_classes, dtype=bool)[drawn[:kept]], _DRAWN, 1.0)
    whole = balanced(probabilities[:kept] * raised, _shares(drawn[:kept], num_classes))
    if kept == len(drawn):
        return whole
    mixed = balanced(probabilities[kept:], _shares(drawn, num_classes))
    return np.concatenate([whole, mixed])


def labels_in_shares(
    probabilities: Float[np.ndarray, "m c"], drawn: Int[np.ndarray, " m"]
) -> Int[np.ndarray, " m"]:
    """Return classes of drawn records, among which no class is lost that was drawn.

    A label is the likeliest class. A class that gets fewer than half as many records as were drawn
    for it then gets as many as were drawn: those with the greatest odds of it, times e where a
    record was drawn for it. The rarest such class chooses first.

    Ranks do not change with the scale of a teacher's scores, nor with a shift that makes a class
    unlikely, as probabilities do: a noisy teacher is far too sure.

    Guarantee:
        Post-processing: the shares are those of drawn classes, which come from the released
        embedding, and the probabilities those of the released teacher. No private data are seen.

    Args:
        probabilities: of each record, which sum to 1.
        drawn: the class for which each was drawn.
    """
    num_classes = probabilities.shape[1]
    wanted = np.bincount(drawn, minlength=num_classes)
    left = np.asarray(probabilities, np.float64).copy()
    labels = np.argmax(left, axis=1)
    lifted = np.zeros(num_classes, bool)
    while True:
        # Each round lifts one more class, and what it takes is not taken from it again.
        lost = ~lifted & (np.bincount(labels, minlength=num_classes) < _LEAST * wanted)
        if not lost.any():
            return labels
        label = int(np.argmin(np.where(lost, wanted, len(drawn) + 1)))
        open_ = ~lifted[labels]
        odds = _log_odds(probabilities[:, label]) + (drawn == label) * math.log(_DRAWN)
        order = np.argsort(np.where(open_, -odds, math.inf), kind="stable")
        left[:, label] = -1.0
        fallback = np.argmax(left, axis=1)
        labels = np.where(open_ & (labels == label), fallback, labels)
        labels[order[: wanted[label]]] = label
        lifted[label] = True


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    tiny = np.finfo(np.float64).tiny
    given = np.asarray(probabilities, np.float64)
    return np.log(np.maximum(given, tiny)) - np.log(np.maximum(1 - given, tiny))


def _shares(drawn: np.ndarray, num_classes: int) -> np.ndarray:
    return np.bincount(drawn, minlength=num_classes) / len(drawn)


def balanced(
    probabilities: Float[np.ndarray, "m c"], shares: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "m c"]:
    """Return probabilities of classes that are, on average, as likely as they were drawn.

    Args:
        probabilities: of each example, times any number.
        shares: of each class among the examples, which sum to 1; 0 for one that was not drawn.

    Returns:
        float64, `b_k p_ik / sum_j b_j p_ij`, with factors b such that the mean over the examples is
        `shares` to 1e-4, or as near as factors of 1/1000 to 1000 come.
    """
    given = np.asarray(probabilities, np.float64)
    factors = np.where(shares > 0, 1.0, 0.0)
    found = given
    for _ in range(_ROUNDS):
        found = given * factors
        found /= np.maximum(found.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        means = found.mean(axis=0)
        if np.all(np.abs(means - shares) <= _CLOSE):
            break
        wanted = factors * shares / np.maximum(means, np.finfo(np.float64).tiny)
        middle = np.median(wanted[shares > 0])
        factors = np.where(shares > 0, np.clip(wanted / middle, 1 / _MOST, _MOST), 0.0)
    return found
