"""Labels whose classes are as frequent as those that were drawn.

A teacher sees drawn images as examples of few classes: flat ones all look like dogs to it. Its
probabilities are right for another mixture of classes than the one that the generator drew. Who
learns from them expects that mixture, and is wrong on real images.

References:
    Saerens, Latinne & Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
    probabilities", eq. 4: probabilities for another mixture are the given ones times a factor for
    each class. Theirs are found for a mixture that is unknown; ours is known, and the factors
    follow from it as in Sinkhorn & Knopp (1967).
"""

import numpy as np
from jaxtyping import Float

_ROUNDS, _CLOSE = 1000, 1e-4
# A class that the teacher sees in no example is not brought back by its rounding errors.
_MOST = 1e3


def balanced(
    probabilities: Float[np.ndarray, "m c"], shares: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "m c"]:
    """Return probabilities of classes that are, on average, as likely as they were drawn.

    Args:
        probabilities: of each example, which sum to 1.
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
