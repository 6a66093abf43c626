"""Judge a large synthetic labelled set of images against real data.

Three questions: do classifiers trained on synthetic images recognise real ones, is the distribution
of the images near the real one, and are they copies of training images? All three look at real
data without noise, so the privacy guarantee of the images does not cover the answers.

Images are in [0, 1] on both sides, which is checked: the published code measured FIDs between
images on different scales. There is no FID here. It is defined by one trained Inception network,
and what another network measures is another quantity, with another name.
"""

import functools
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from experiments.errors import InputError
from jaxdp import precision
from jaxdp.scatter import num_paths, scatter_features

CLASSIFIERS = ("logistic", "mlp")

_MAX_SCALE, _NUM_ANGLES = 2, 8
# What resizing or a generator's last layer in float32 may be off by.
_RANGE_SLACK = 1e-5

_NOTE = (
    "Computed on private training data without noise: not covered by the privacy guarantee and "
    "must not be released."
)


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

    A subset of 6000 MNIST images takes about half a minute of one CPU core per seed.

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
    _check_images(x=x, x_test=x_test)
    _check_labels(x, y, num_classes, "y")
    _check_labels(x_test, y_test, num_classes, "y_test")
    if not seeds:
        raise ValueError("accuracies needs at least one seed")
    if subset < num_classes:
        raise ValueError(f"a subset of {subset} has no example for each of {num_classes} classes")
    rows, test_rows = _flat(x), _flat(x_test)
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in CLASSIFIERS}
    num_examples = 0
    with tqdm(
        total=len(seeds) * len(CLASSIFIERS),
        desc="classifiers on synthetic data",
        unit="fit",
        **({} if sys.stderr.isatty() else {"mininterval": 10.0, "ascii": True}),
    ) as bar:
        for seed in seeds:
            chosen = balanced_subset(y, subset // num_classes, np.random.default_rng(seed))
            num_examples = len(chosen)
            for name in CLASSIFIERS:
                model = _classifier(name, seed)
                predicted = _predict(model, rows[chosen], y[chosen], test_rows)
                scores[name].append(_scores(y_test, predicted))
                bar.update()
    return {name: _summary(scores[name], seeds, num_examples) for name in CLASSIFIERS}


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
    from sklearn.exceptions import ConvergenceWarning

    if np.all(y == y[0]):  # scikit-learn refuses to fit a single class
        return np.full(len(x_test), y[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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


def frechet_distance(features_a: np.ndarray, features_b: np.ndarray) -> float:
    """Return the squared Frechet distance of Gaussians fitted to two sets of features.

    With means `m` and covariances `C` (divided by n - 1), in float64,

        d^2 = |m_a - m_b|^2 + tr C_a + tr C_b - 2 tr (C_a^(1/2) C_b C_a^(1/2))^(1/2)

    The last trace is that of `(C_a C_b)^(1/2)`, from eigenvalues of symmetric matrices alone. It
    is d^2, not d, that the literature reports.

    Args:
        features_a: (n, p), n >= 2. Estimates of d^2 are too large by a bias that falls with n:
            compare only values from equally many examples, and many more than p.
        features_b: (m, p), m >= 2.

    Raises:
        ValueError: the shapes do not fit, a set has fewer than two rows, or a value is not finite.

    References:
        Dowson & Landau (1982), "The Frechet distance between multivariate normal distributions".
        Heusel et al. (2017), "GANs trained by a two time-scale update rule", section 2.
    """
    shapes = [np.shape(features_a), np.shape(features_b)]
    if any(len(shape) != 2 or shape[0] < 2 for shape in shapes) or shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"need two sets of at least 2 rows with equally many features, got shapes {shapes}"
        )
    if not (np.all(np.isfinite(features_a)) and np.all(np.isfinite(features_b))):
        raise ValueError("the features have values that are not finite")
    (mean_a, cov_a), (mean_b, cov_b) = _moments(features_a), _moments(features_b)
    eigenvalues, vectors = np.linalg.eigh(cov_a)
    # Rounding makes eigenvalues that are 0 a little negative.
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    product = np.maximum(np.linalg.eigvalsh(root @ cov_b @ root), 0.0)
    spread = np.trace(cov_a) + np.trace(cov_b) - 2.0 * np.sum(np.sqrt(product))
    return max(float(np.sum((mean_a - mean_b) ** 2) + spread), 0.0)


def _moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    features = np.asarray(features, np.float64)
    mean = np.mean(features, axis=0)
    centred = features - mean
    return mean, centred.T @ centred / (len(features) - 1)


def scatter_frechet(
    x: np.ndarray,
    x_real: np.ndarray,
    shape: tuple[int, int, int],
    *,
    max_images: int = 5000,
    seed: int,
) -> dict[str, Any]:
    """Return the Frechet distance of scattering features, averaged over space.

    It plays the part of FID where no trained network is at hand, but it is not FID, whose values
    it does not resemble: the features are scattering coefficients with 2 scales and 8 angles, not
    normalised, averaged over positions: 81 features a channel.

    Args:
        x: (n, h, w, ch) or (n, h w ch) synthetic images in [0, 1].
        x_real: real images, in the same range; held-out ones do not reward copies.
        shape: (h, w, ch) of an image; even sides.
        max_images: of either set, at most so many are drawn at random.
        seed: of the draws.

    Returns:
        Ready for JSON: `name`, `distance` (d^2 of `frechet_distance`), `num_images` and
        `num_real_images` that it was estimated from, `num_features`.

    Raises:
        InputError: the synthetic set has values that are not finite.
        ValueError: the arrays do not fit `shape` or are out of range, or there are fewer than two
            images; or see `jaxdp.scatter.filter_bank`.
    """
    for name, images in (("x", x), ("x_real", x_real)):
        if images.shape[1:] not in (tuple(shape), (math.prod(shape),)):
            raise ValueError(f"{name} has shape {images.shape}, which does not hold {shape} images")
    rows, real = _flat(x), _flat(x_real)
    _check_images(x=rows, x_real=real)
    rng, real_rng = np.random.default_rng(seed).spawn(2)
    rows, real = _draw(rows, max_images, rng), _draw(real, max_images, real_rng)
    features = _mean_scattering(tuple(shape))
    phi, phi_real = np.asarray(features(rows)), np.asarray(features(real))
    return {
        "name": "scatter Frechet distance",
        "distance": frechet_distance(phi, phi_real),
        "num_images": len(phi),
        "num_real_images": len(phi_real),
        "num_features": phi.shape[1],
    }


@functools.cache
def _mean_scattering(shape: tuple[int, int, int]) -> Callable[[np.ndarray], jax.Array]:
    paths = shape[2] * num_paths(_MAX_SCALE, _NUM_ANGLES)
    features = scatter_features(
        shape, max_scale=_MAX_SCALE, num_angles=_NUM_ANGLES, normalisation="none"
    )

    def means(rows: jax.Array) -> jax.Array:
        return jnp.mean(features(rows).reshape(rows.shape[0], paths, -1), axis=2)

    return jax.jit(means)


def nearest_neighbours(
    x: np.ndarray,
    x_train: np.ndarray,
    x_test: np.ndarray,
    *,
    max_images: int = 500,
    seed: int,
    chunk: int = 4096,
) -> dict[str, Any]:
    """Measure how near synthetic images come to training images, beside held-out real ones.

    Synthetic images that are much nearer to a training image than real images of the test set are
    suspicious of being copies. The reverse proves nothing: it is no privacy guarantee.

    Args:
        x: (n, h, w, ch) or (n, d) synthetic images in [0, 1].
        x_train: the real images that the generator was trained on.
        x_test: real images that it was not.
        max_images: so many synthetic and as many test images are drawn at random, fewer if either
            set has fewer; minima of equally many are comparable.
        seed: of the draws.
        chunk: training images that are compared at a time; it bounds memory.

    Returns:
        Ready for JSON, and **private**: `computed_on_private_data` is True and `note` says what
        that means; `num_images`; `synthetic` and `held_out`, each with `min`, `quantile_05` and
        `median` of the Euclidean distances to the nearest training image.

    Raises:
        InputError: the synthetic set has values that are not finite.
        ValueError: the arrays do not fit each other or are out of range, or `max_images` or
            `chunk` is below 1.
    """
    _check_images(x=x, x_train=x_train, x_test=x_test)
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")
    count = min(max_images, len(x), len(x_test))
    rng, test_rng = np.random.default_rng(seed).spawn(2)
    queries = [_draw(_flat(x), count, rng), _draw(_flat(x_test), count, test_rng)]
    distances = nearest_distances(np.concatenate(queries), _flat(x_train), chunk=chunk)
    return {
        "computed_on_private_data": True,
        "note": _NOTE,
        "num_images": count,
        "synthetic": _quantiles(distances[:count]),
        "held_out": _quantiles(distances[count:]),
    }


def nearest_distances(x: np.ndarray, x_train: np.ndarray, *, chunk: int) -> np.ndarray:
    """Return the Euclidean distance (q,) from each row of `x` to the nearest of `x_train`.

    The nearest row is found by inner products in float64, and its distance is that of the
    difference: exactly 0 for a copy.
    """
    chunk = min(chunk, len(x_train))
    best, nearest = np.full(len(x), np.inf), np.zeros(len(x), np.int64)
    with precision.float64():
        for start in range(0, len(x_train), chunk):
            rows = x_train[start : start + chunk]
            # The last chunk is filled up with its own rows: one shape is compiled.
            squares, indices = _nearest_in_chunk(x, np.resize(rows, (chunk, *rows.shape[1:])))
            nearer = np.asarray(squares) < best
            best = np.where(nearer, squares, best)
            nearest = np.where(nearer, start + np.asarray(indices) % len(rows), nearest)
    return np.linalg.norm(x.astype(np.float64) - x_train[nearest], axis=1)


@jax.jit
def _nearest_in_chunk(x: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, rows = x.astype(jnp.float64), rows.astype(jnp.float64)
    products = jnp.matmul(x, rows.T, precision=jax.lax.Precision.HIGHEST)
    squares = jnp.sum(x**2, axis=1)[:, None] + jnp.sum(rows**2, axis=1) - 2.0 * products
    return jnp.min(squares, axis=1), jnp.argmin(squares, axis=1)


def _quantiles(distances: np.ndarray) -> dict[str, float]:
    return {
        "min": float(np.min(distances)),
        "quantile_05": float(np.quantile(distances, 0.05)),
        "median": float(np.median(distances)),
    }


def _draw(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` rows, drawn without replacement, or all if there are no more."""
    if count < 1:
        raise ValueError(f"max_images must be at least 1, got {count}")
    return rows if len(rows) <= count else rows[rng.choice(len(rows), count, replace=False)]


def _flat(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32).reshape(len(x), math.prod(x.shape[1:]))


def _check_images(**sets: np.ndarray) -> None:
    """Check sets of images, of which `x` is the synthetic one, by name."""
    shapes = {name: np.shape(images) for name, images in sets.items()}
    if min(map(len, shapes.values())) < 2 or len({shape[1:] for shape in shapes.values()}) > 1:
        raise ValueError(f"{' and '.join(sets)} do not fit each other: shapes {shapes}")
    if any(math.prod(shape) == 0 for shape in shapes.values()):
        raise ValueError(f"a set of images is empty: shapes {shapes}")
    for name, images in sets.items():
        low, high = float(np.min(images)), float(np.max(images))  # NaN if any value is
        if not (math.isfinite(low) and math.isfinite(high)):
            if name == "x":
                raise InputError(
                    "the synthetic set has values that are not finite, so its generator has "
                    "diverged; lower --learning_rate"
                )
            raise ValueError(f"{name} has values that are not finite")
        if low < -_RANGE_SLACK or high > 1.0 + _RANGE_SLACK:
            raise ValueError(
                f"{name} has values outside [0, 1]: undo its scaling first, with public constants"
            )


def _check_labels(x: np.ndarray, y: np.ndarray, num_classes: int, name: str) -> None:
    if np.shape(y) != (len(x),):
        raise ValueError(f"{name} has shape {np.shape(y)} and does not fit {len(x)} images")
    if not np.issubdtype(y.dtype, np.integer) or np.min(y) < 0 or np.max(y) >= num_classes:
        raise ValueError(f"{name} must be integers in 0..{num_classes - 1}")
