"""Density and coverage against their definitions, written out."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.program.evaluation import coverage
from jaxdp.program.evaluation.coverage import density_and_coverage


def as_defined(made: np.ndarray, real: np.ndarray, k: int) -> dict[str, float]:
    radii = [sorted(np.linalg.norm(real - each, axis=1))[k] for each in real]
    balls = [[np.linalg.norm(y - x) <= r for y in made] for x, r in zip(real, radii, strict=True)]
    density = sum(map(sum, balls)) / (k * len(made))
    return {"density": density, "coverage": float(np.mean([any(ball) for ball in balls]))}


@pytest.mark.parametrize("k", [1, 3, 5])
def test_both_are_what_they_are_defined_to_be(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "_CHUNK", 7)
    rng = np.random.default_rng(k)
    made, real = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    assert density_and_coverage(made, real, neighbours=k) == pytest.approx(
        as_defined(made, real, k)
    )


def test_sets_of_one_distribution_fill_neighbourhoods() -> None:
    rng = np.random.default_rng(0)
    found = density_and_coverage(rng.normal(size=(800, 3)), rng.normal(size=(800, 3)))
    assert found["density"] == pytest.approx(1, abs=0.1)
    assert found["coverage"] == pytest.approx(1 - 2**-5, abs=0.03)


def test_one_kind_alone_covers_a_part_and_far_off_examples_nothing() -> None:
    rng = np.random.default_rng(0)
    kinds = np.array([[0.0, 0.0], [50.0, 0.0]])
    real = np.concatenate([kinds[i] + rng.normal(size=(100, 2)) for i in range(2)])
    one = density_and_coverage(kinds[0] + rng.normal(size=(400, 2)), real)
    assert one["density"] > 0.8
    assert 0.4 < one["coverage"] <= 0.5
    assert density_and_coverage(real + 1000, real) == {"density": 0.0, "coverage": 0.0}


def test_too_few_examples_are_refused() -> None:
    rows = np.zeros((6, 2))
    assert density_and_coverage(rows[:1], rows)["coverage"] == 1.0
    for made, real in ((rows[:1], rows[:5]), (rows[:0], rows)):
        with pytest.raises(ValueError, match="need more than 5 real examples and one made"):
            density_and_coverage(made, real)
