"""Do made examples look real, and are all kinds of real ones made? Density and coverage."""

import numpy as np

_CHUNK = 1000


def density_and_coverage(
    made: np.ndarray, real: np.ndarray, *, neighbours: int = 5
) -> dict[str, float]:
    """Return how crowded real neighbourhoods are with made examples, and how many have one.

    The neighbourhood of a real example is the ball as far as its k-th nearest real one:

        density = (1 / (k m)) sum_j |{i: made_j in ball_i}|
        coverage = (1 / n) |{i: a made_j in ball_i}|

    For sets of one distribution the density is near 1, and coverage near 1 - 2^-k where both are
    equally large. Far-off examples lower the density; kinds that are never made, the coverage.

    Args:
        made: (m, p) features of made examples.
        real: (n, p) features of real ones, n > k.
        neighbours: k.

    Raises:
        ValueError: there are not enough real examples, or nothing is made.

    References:
        Naeem et al. (2020), "Reliable fidelity and diversity metrics for generative models",
            equations 5 and 6.
    """
    from sklearn.metrics import pairwise_distances  # takes a second to import
    from sklearn.neighbors import NearestNeighbors

    if len(real) <= neighbours or len(made) == 0:
        raise ValueError(
            f"need more than {neighbours} real examples and one made, got {len(real)} and "
            f"{len(made)}"
        )
    among_real = NearestNeighbors(n_neighbors=neighbours, algorithm="brute").fit(real)
    # Without a query, no example is its own neighbour.
    radii = among_real.kneighbors()[0][:, -1]
    inside = np.zeros(len(real), np.int64)
    for start in range(0, len(made), _CHUNK):
        apart = pairwise_distances(real, made[start : start + _CHUNK])
        inside += np.sum(apart <= radii[:, None], axis=1)
    return {
        "density": float(inside.sum() / (neighbours * len(made))),
        "coverage": float(np.mean(inside > 0)),
    }
