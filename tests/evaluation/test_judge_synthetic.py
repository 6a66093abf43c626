"""Synthetic images beside real ones: classifiers, distances and what is refused."""

import json
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from kymatio.scattering2d.frontend.numpy_frontend import ScatteringNumPy2D

from experiments.errors import InputError
from experiments.evaluation import classifiers as judge_synthetic
from experiments.evaluation import frechet, image_sets
from experiments.evaluation.classifiers import accuracies, balanced_subset
from experiments.evaluation.copies import nearest_distances, nearest_neighbours
from experiments.evaluation.frechet import frechet_distance, scatter_frechet

SHAPE = (8, 8, 1)
# Scattering is compiled once, for 12 images of this shape.
COLOUR = (8, 8, 3)


def toy(per_class: int, *, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw images in [0, 1] of stripes, whose direction or width is one of three classes."""
    rng = np.random.default_rng(seed)
    i, j = np.indices(SHAPE[:2])
    patterns = np.stack([i % 2, j % 2, (i // 2) % 2])[..., None]
    y = np.tile(np.arange(3), per_class)
    x = 0.5 + 0.3 * (patterns[y] - 0.5) + noise * rng.normal(size=(len(y), *SHAPE))
    return np.clip(x, 0.0, 1.0).astype(np.float32), y.astype(np.int32)


# --- Classifiers -------------------------------------------------------------------------


def test_easy_classes_are_told_apart() -> None:
    x, y = toy(40, noise=0.02, seed=0)
    x_test, y_test = toy(20, noise=0.02, seed=1)
    results = accuracies(x, y, x_test, y_test, num_classes=3, seeds=(1, 4), subset=62)
    perfect = {
        "seeds": [1, 4],
        "num_examples": 60,
        "test_accuracies": [1.0, 1.0],
        "mean": 1.0,
        "std": 0.0,
        "macro_f1s": [1.0, 1.0],
        "macro_f1_mean": 1.0,
        "macro_f1_std": 0.0,
    }
    assert results == {"logistic": perfect, "mlp": perfect}
    assert json.loads(json.dumps(results)) == results


def test_wrong_labels_give_chance() -> None:
    x, y = toy(100, noise=0.02, seed=0)
    x_test, y_test = toy(100, noise=0.1, seed=1)
    wrong = np.random.default_rng(2).permutation(y)
    results = accuracies(x, wrong, x_test, y_test, num_classes=3, seeds=(0, 1), subset=150)
    for result in results.values():
        assert 0.1 < result["mean"] < 0.65


def test_seeds_give_subsets_and_states_and_are_summarised() -> None:
    x, y = toy(40, noise=0.4, seed=0)
    x_test, y_test = toy(40, noise=0.4, seed=1)

    def judge(seeds: tuple[int, ...]) -> dict[str, dict[str, Any]]:
        return accuracies(x, y, x_test, y_test, num_classes=3, seeds=seeds, subset=30)

    results = judge((0, 1, 2))
    for name, last in judge((2,)).items():
        for key in ("test_accuracies", "macro_f1s"):
            assert last[key] == results[name][key][2:]
    for result in results.values():
        assert len(set(result["test_accuracies"])) > 1
        for values, mean, std in (
            (result["test_accuracies"], result["mean"], result["std"]),
            (result["macro_f1s"], result["macro_f1_mean"], result["macro_f1_std"]),
        ):
            assert mean == pytest.approx(statistics.mean(values))
            assert std == pytest.approx(statistics.pstdev(values))


def test_a_missing_class_is_never_predicted() -> None:
    """Two classes of three: an accuracy of 2/3, and at best F1 of 1, 2/3 and 0."""
    x, y = toy(40, noise=0.02, seed=0)
    x_test, y_test = toy(20, noise=0.02, seed=1)
    there = y != 1
    results = accuracies(x[there], y[there], x_test, y_test, num_classes=3, seeds=(0,), subset=60)
    for result in results.values():
        assert result["num_examples"] == 40
        assert result["mean"] == pytest.approx(2 / 3)
        # All of class 1 counts as one of the others: F1 of 1 and 2/3, or of 0.8 and 0.8.
        assert 0.53 < result["macro_f1_mean"] < 0.56


def test_a_single_class_is_predicted_always() -> None:
    x, _ = toy(10, noise=0.02, seed=0)
    y = np.full(len(x), 2)
    x_test, y_test = toy(20, noise=0.02, seed=1)
    x_test, y_test = x_test[y_test > 0], y_test[y_test > 0]
    for result in accuracies(x, y, x_test, y_test, num_classes=3, seeds=(0,)).values():
        assert result["num_examples"] == len(x)
        assert result["mean"] == 0.5
        # Class 2: precision 1/2, recall 1. Class 0 is in neither and does not count.
        assert result["macro_f1_mean"] == pytest.approx((2 / 3) / 2)


def test_macro_f1_is_the_mean_over_classes() -> None:
    y_test, predicted = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    accuracy, macro_f1 = judge_synthetic._scores(y_test, predicted)
    # Class 0: precision 1, recall 2/3. Class 1: precision 1/2, recall 1. Class 2: neither.
    assert accuracy == pytest.approx(4 / 6)
    assert macro_f1 == pytest.approx((0.8 + 2 / 3 + 0) / 3)


def test_classifiers_are_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    models: list[dict[str, Any]] = []

    def record(model: Any, x: Any, y: Any, x_test: Any) -> np.ndarray:
        models.append(model.get_params())
        assert x.dtype == np.float32
        assert x.shape == (60, 64)
        return np.zeros(len(x_test))

    monkeypatch.setattr(judge_synthetic, "_predict", record)
    x, y = toy(20, noise=0.1, seed=0)
    accuracies(x.astype(np.float64), y, x, y, num_classes=3, seeds=(7,))
    logistic, mlp = sorted(models, key=lambda model: "hidden_layer_sizes" in model)
    assert (logistic["solver"], logistic["max_iter"], logistic["C"]) == ("lbfgs", 5000, 1.0)
    assert (mlp["hidden_layer_sizes"], mlp["solver"], mlp["max_iter"]) == ((100,), "adam", 200)
    assert mlp["random_state"] == 7


def test_subsets_are_balanced_and_drawn_without_replacement() -> None:
    y = np.repeat([0, 1, 3], [50, 4, 50])

    def draw(seed: int) -> np.ndarray:
        return balanced_subset(y, 10, np.random.default_rng(seed))

    rows = draw(0)
    assert len(set(rows)) == len(rows) == 24
    np.testing.assert_array_equal(np.bincount(y[rows]), [10, 4, 0, 10])
    assert np.any(np.diff(y[rows]) < 0)  # shuffled
    np.testing.assert_array_equal(draw(0), rows)
    assert set(draw(1)) != set(rows)


# --- Frechet distance --------------------------------------------------------------------


@pytest.mark.parametrize("num_rows", [40, 5])
def test_frechet_distance_is_that_of_the_matrix_square_root(num_rows: int) -> None:
    """Also with fewer rows than features, where the covariances are singular."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(num_rows, 7)) @ rng.normal(size=(7, 7))
    b = rng.normal(size=(30, 7)) @ rng.normal(size=(7, 7)) + 0.5
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = np.asarray(scipy.linalg.sqrtm(cov_a @ cov_b)).real
    expected = np.sum((a.mean(0) - b.mean(0)) ** 2) + np.trace(cov_a + cov_b - 2 * root)
    # sqrtm itself loses half of the digits of a singular matrix.
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(b, a) == pytest.approx(frechet_distance(a, b), rel=1e-7)


def test_frechet_distance_in_closed_form() -> None:
    a = np.random.default_rng(0).normal(size=(50, 6))
    spread = np.sum(np.var(a, axis=0, ddof=1))
    assert frechet_distance(a, a) == pytest.approx(0.0, abs=1e-12)
    assert frechet_distance(a, a + 2.0) == pytest.approx(6 * 4.0)
    # A set and its multiple: |m|^2 and the trace of the covariance, each times (3 - 1)^2.
    expected = 4 * (np.sum(a.mean(0) ** 2) + spread)
    assert frechet_distance(a, 3 * a) == pytest.approx(expected)
    # One feature: (m_a - m_b)^2 + (s_a - s_b)^2. float32 is computed in float64.
    b = np.float32([[0.0], [2.0], [7.0]])
    gap = np.std(a[:, 0], ddof=1) - np.std(b, ddof=1, dtype=np.float64)
    expected = (np.mean(a[:, 0]) - 3.0) ** 2 + gap**2
    assert frechet_distance(a[:, :1], b) == pytest.approx(expected, rel=1e-12)


def test_bad_features_are_refused() -> None:
    good = np.random.default_rng(0).normal(size=(5, 3))
    for bad in (good[:, :2], good[:1], good[:, 0]):
        with pytest.raises(ValueError, match=r"at least 2 rows .* got shapes"):
            frechet_distance(good, bad)
    with pytest.raises(ValueError, match="not finite"):
        frechet_distance(np.where(good > 1, np.inf, good), good)


def test_scatter_frechet_is_of_coefficients_averaged_over_space() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(12, *COLOUR)).astype(np.float32)
    x_real = rng.uniform(0.2, 0.8, size=(12, *COLOUR)).astype(np.float32)
    oracle = ScatteringNumPy2D(2, COLOUR[:2], 8)

    def features(images: np.ndarray) -> np.ndarray:
        coefficients = oracle(np.moveaxis(images, 3, 1).astype(np.float64))
        return coefficients.mean(axis=(-2, -1)).reshape(len(images), -1)

    result = scatter_frechet(x, x_real.reshape(12, -1), COLOUR, seed=0)
    assert result["name"] == "scatter Frechet distance"
    assert result["num_features"] == 243
    expected = frechet_distance(features(x), features(x_real))
    assert result["distance"] == pytest.approx(expected, rel=1e-4)
    assert json.loads(json.dumps(result)) == result


def test_scatter_frechet_tells_noise_from_held_out_images() -> None:
    real, held_out, noisy = (
        np.repeat(toy(4, noise=noise, seed=seed)[0], 3, axis=3)
        for seed, noise in enumerate((0.05, 0.05, 0.5))
    )

    def distance(x: np.ndarray) -> float:
        return scatter_frechet(x, real, COLOUR, seed=0)["distance"]

    assert 0.0 < distance(held_out) < 0.1 * distance(noisy)
    assert distance(real) < 1e-6


def test_scatter_frechet_draws_images_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frechet, "_mean_scattering", lambda shape: lambda rows: rows[:, :4])
    x, _ = toy(10, noise=0.1, seed=0)
    real, _ = toy(4, noise=0.1, seed=1)

    def judge(**options: Any) -> dict[str, Any]:
        return scatter_frechet(x, real, SHAPE, **{"seed": 0, **options})

    everything = judge()
    assert (everything["num_images"], everything["num_real_images"]) == (30, 12)
    assert everything == judge(seed=1)
    few = judge(max_images=20)
    assert (few["num_images"], few["num_real_images"]) == (20, 12)
    assert few == judge(max_images=20) != judge(max_images=20, seed=1)
    drawn = image_sets.draw(np.arange(30)[:, None], 29, np.random.default_rng(0))
    assert len(set(drawn[:, 0])) == 29  # without replacement
    # The draws from the two sets are independent.
    assert scatter_frechet(x, x, SHAPE, max_images=10, seed=0)["distance"] > 1e-3


# --- Nearest neighbours ------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 7, 10, 100])
def test_nearest_distances_are_those_of_brute_force(chunk: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(6, 12)).astype(np.float32)
    x_train = rng.uniform(size=(23, 12)).astype(np.float32)
    x[2] = x_train[22]
    expected = [min(np.linalg.norm(row - other) for other in x_train) for row in x]
    distances = nearest_distances(x, x_train, chunk=chunk)
    np.testing.assert_allclose(distances, expected, rtol=1e-6)
    assert distances[2] == 0.0


def test_copies_are_nearer_than_held_out_images() -> None:
    x_train, _ = toy(30, noise=0.1, seed=0)
    x_test, _ = toy(10, noise=0.1, seed=1)
    x = x_train[::-1][:20].copy()
    x[0] += np.float32(0.01) * (x[0] < 0.5)
    result = nearest_neighbours(x, x_train, x_test, seed=0, chunk=16)
    assert result["computed_on_private_data"] is True
    assert "must not be released" in result["note"]
    assert "guarantee" in result["note"]
    assert result["num_images"] == 20
    assert result["synthetic"] == {"min": 0.0, "quantile_05": 0.0, "median": 0.0}
    assert json.loads(json.dumps(result)) == result
    # All synthetic images take part and 20 of the 30 test images.
    held_out = nearest_distances(x_test.reshape(30, -1), x_train.reshape(90, -1), chunk=90)
    summary = result["held_out"]
    assert summary["min"] in held_out
    assert held_out.min() <= summary["min"] < summary["quantile_05"] < summary["median"]


def test_nearest_neighbours_summarise_the_distances() -> None:
    """Test images are grey, in steps of 0.1 from the one training image."""
    x_train = np.zeros((1, 4))
    x_test = np.repeat(np.linspace(0.0, 1.0, 11)[:, None], 4, axis=1)
    result = nearest_neighbours(x_test, x_train, x_test, seed=0)
    expected = {"min": 0.0, "quantile_05": 0.1, "median": 1.0}
    assert result["synthetic"] == pytest.approx(expected)
    assert result["held_out"] == pytest.approx(expected)


def test_nearest_neighbours_draw_by_seed() -> None:
    x_train, _ = toy(10, noise=0.1, seed=0)
    x, _ = toy(30, noise=0.1, seed=1)

    def judge(seed: int) -> dict[str, Any]:
        return nearest_neighbours(x, x_train, x, max_images=5, seed=seed)

    first = judge(0)
    assert first == judge(0)
    assert first != judge(1)
    assert first["num_images"] == 5
    assert first["synthetic"] != first["held_out"]  # the two draws are independent


# --- What is refused ---------------------------------------------------------------------


def _accuracies(x: np.ndarray, real: np.ndarray) -> Any:
    y, y_test = np.arange(len(x)) % 3, np.arange(len(real)) % 3
    return accuracies(x, y, real, y_test, num_classes=3)


def _scatter(x: np.ndarray, real: np.ndarray) -> Any:
    return scatter_frechet(x, real, SHAPE, seed=0)


def _nearest(x: np.ndarray, real: np.ndarray) -> Any:
    return nearest_neighbours(x, real, real, seed=0)


@pytest.mark.parametrize("judge", [_accuracies, _scatter, _nearest])
def test_bad_images_are_refused(judge: Callable[[np.ndarray, np.ndarray], Any]) -> None:
    x, _ = toy(3, noise=0.1, seed=0)
    bad = x.copy()
    bad[4, 3, 2] = np.nan
    with pytest.raises(InputError, match=r"synthetic set .* not finite.* lower --learning_rate"):
        judge(bad, x)
    with pytest.raises(ValueError, match=r"^x_(t|r).* has values that are not finite"):
        judge(x, np.where(np.isnan(bad), np.inf, bad))
    with pytest.raises(ValueError, match=r"^x has values outside \[0, 1\]"):
        judge(2 * x - 1, x)
    with pytest.raises(ValueError, match=r"^x_(t|r).* has values outside \[0, 1\]"):
        judge(x, 255 * x)
    with pytest.raises(ValueError, match=r"do not fit|does not hold"):
        judge(x, x[:, :4])
    with pytest.raises(ValueError, match="empty"):
        judge(x[:0], x)


def test_bad_labels_and_options_are_refused() -> None:
    x, y = toy(3, noise=0.1, seed=0)

    def judge(y: np.ndarray, y_test: np.ndarray, **options: Any) -> None:
        accuracies(x, y, x, y_test, **{"num_classes": 3, **options})

    with pytest.raises(ValueError, match=r"y has shape \(8,\) and does not fit 9 images"):
        judge(y[:8], y)
    with pytest.raises(ValueError, match="y_test has shape"):
        judge(y, np.eye(3)[y])
    with pytest.raises(ValueError, match=r"y must be integers in 0\.\.2"):
        judge(y + 1, y)
    with pytest.raises(ValueError, match="y_test must be integers"):
        judge(y, y.astype(np.float32))
    with pytest.raises(ValueError, match="at least one seed"):
        judge(y, y, seeds=())
    with pytest.raises(ValueError, match="subset of 2 has no example for each of 3"):
        judge(y, y, subset=2)
    with pytest.raises(ValueError, match="chunk must be at least 1, got 0"):
        nearest_neighbours(x, x, x, seed=0, chunk=0)
    with pytest.raises(ValueError, match="max_images must be at least 1, got 0"):
        nearest_neighbours(x, x, x, seed=0, max_images=0)
    with pytest.raises(ValueError, match="max_images must be at least 1, got -1"):
        scatter_frechet(x, x, SHAPE, seed=0, max_images=-1)
    with pytest.raises(ValueError, match="even sides"):
        scatter_frechet(x[:, :7, :7], x[:, :7, :7], (7, 7, 1), seed=0)
