"""A few images that stand for many: the ones in the middles of their clusters."""

import numpy as np


def representatives(images: np.ndarray, ipc: int, *, seed: int) -> np.ndarray:
    """Return `ipc` of each class's images, the nearest to the centres that k-means finds.

    Centres themselves would be blurs.

    Args:
        images: (c, m, d), m of each class, m >= ipc.
        ipc: images per class, >= 1.
        seed: of k-means' start.

    Returns:
        (c * ipc, d), ordered by class; all different, where images are.
    """
    from sklearn.cluster import KMeans

    chosen = []
    for of_class in images:
        means = KMeans(ipc, n_init=1, random_state=seed).fit(of_class)
        distances = means.transform(of_class)  # (m, ipc)
        # An image stands for its own cluster alone, so none is chosen twice.
        distances[means.labels_[:, None] != np.arange(ipc)] = np.inf
        chosen.append(of_class[np.argmin(distances, axis=0)])
    return np.concatenate(chosen)
