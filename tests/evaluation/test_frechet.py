"""Frechet distances against closed forms, and of scattering features against kymatio's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from kymatio.scattering2d.frontend.numpy_frontend import ScatteringNumPy2D
from support.stripes import SHAPE, stripes

from jaxdp.program.evaluation import frechet
from jaxdp.program.evaluation.frechet import frechet_distance, scatter_frechet
from jaxdp.program.evaluation.problem import draw

# Scattering is compiled once, for 12 images of this shape.
COLOUR = (8, 8, 3)


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
        np.repeat(stripes(4, noise=noise, seed=seed)[0], 3, axis=3)
        for seed, noise in enumerate((0.05, 0.05, 0.5))
    )

    def distance(x: np.ndarray) -> float:
        return scatter_frechet(x, real, COLOUR, seed=0)["distance"]

    assert 0.0 < distance(held_out) < 0.1 * distance(noisy)
    assert distance(real) < 1e-6


def test_scatter_frechet_draws_images_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frechet, "_mean_scattering", lambda shape: lambda rows: rows[:, :4])
    x, _ = stripes(10, noise=0.1, seed=0)
    real, _ = stripes(4, noise=0.1, seed=1)

    def judge(**options: Any) -> dict[str, Any]:
        return scatter_frechet(x, real, SHAPE, **{"seed": 0, **options})

    everything = judge()
    assert (everything["num_images"], everything["num_real_images"]) == (30, 12)
    assert everything == judge(seed=1)
    few = judge(max_images=20)
    assert (few["num_images"], few["num_real_images"]) == (20, 12)
    assert few == judge(max_images=20) != judge(max_images=20, seed=1)
    drawn = draw(np.arange(30)[:, None], 29, np.random.default_rng(0))
    assert len(set(drawn[:, 0])) == 29  # without replacement
    # The draws from the two sets are independent.
    assert scatter_frechet(x, x, SHAPE, max_images=10, seed=0)["distance"] > 1e-3
