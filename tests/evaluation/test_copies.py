"""Nearest neighbours of made images in the private set: right, and marked as private."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.stripes import stripes

from jaxdp.program.evaluation.copies import nearest_distances, nearest_neighbours


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
    x_train, _ = stripes(30, noise=0.1, seed=0)
    x_test, _ = stripes(10, noise=0.1, seed=1)
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
    x_train, _ = stripes(10, noise=0.1, seed=0)
    x, _ = stripes(30, noise=0.1, seed=1)

    def judge(seed: int) -> dict[str, Any]:
        return nearest_neighbours(x, x_train, x, max_images=5, seed=seed)

    first = judge(0)
    assert first == judge(0)
    assert first != judge(1)
    assert first["num_images"] == 5
    assert first["synthetic"] != first["held_out"]  # the two draws are independent
