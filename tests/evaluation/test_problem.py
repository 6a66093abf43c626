"""Sets that are compared: what is refused, and how they come to [0, 1]."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import stripes
from support.stripes import SHAPE

from jaxdp.program.errors import InputError
from jaxdp.program.evaluation.copies import nearest_neighbours
from jaxdp.program.evaluation.frechet import scatter_frechet
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import DISTILLED


def _problem(x: np.ndarray, real: np.ndarray) -> Problem:
    y, y_test = np.arange(len(x)) % 3, np.arange(len(real)) % 3
    return Problem(x=x, y=y, x_test=real, y_test=y_test, num_classes=3)


def _scatter(x: np.ndarray, real: np.ndarray) -> Any:
    return scatter_frechet(x, real, SHAPE, seed=0)


def _nearest(x: np.ndarray, real: np.ndarray) -> Any:
    return nearest_neighbours(x, real, real, seed=0)


@pytest.mark.parametrize("compare", [_problem, _scatter, _nearest])
def test_bad_sets_are_refused(compare: Callable[[np.ndarray, np.ndarray], Any]) -> None:
    x, _ = stripes.stripes(3, noise=0.1, seed=0)
    bad = x.copy()
    bad[4, 3, 2] = np.nan
    with pytest.raises(InputError, match=r"made set .* not finite.* lower --learning_rate"):
        compare(bad, x)
    with pytest.raises(ValueError, match=r"^x_(t|r).* has values that are not finite"):
        compare(x, np.where(np.isnan(bad), np.inf, bad))
    with pytest.raises(ValueError, match=r"do not fit|does not hold"):
        compare(x, x[:, :4])
    with pytest.raises(ValueError, match="empty"):
        compare(x[:0], x)


@pytest.mark.parametrize("compare", [_scatter, _nearest])
def test_images_on_another_scale_are_refused(
    compare: Callable[[np.ndarray, np.ndarray], Any],
) -> None:
    x, _ = stripes.stripes(3, noise=0.1, seed=0)
    with pytest.raises(ValueError, match=r"^x has values outside \[0, 1\]"):
        compare(2 * x - 1, x)
    with pytest.raises(ValueError, match=r"^x_(t|r).* has values outside \[0, 1\]"):
        compare(x, 255 * x)


def test_bad_labels_are_refused_where_there_are_any() -> None:
    given = stripes.problem(3, recipe=DISTILLED)
    x, y = given.x, given.y

    def compare(y: np.ndarray, y_test: np.ndarray, num_classes: int = 3) -> Problem:
        return Problem(x=x, y=y, x_test=x, y_test=y_test, num_classes=num_classes)

    with pytest.raises(ValueError, match=r"y has shape \(8,\) and does not fit 9 examples"):
        compare(y[:8], y)
    with pytest.raises(ValueError, match="y_test has shape"):
        compare(y, np.eye(3)[y])
    with pytest.raises(ValueError, match=r"y must be integers in 0\.\.2"):
        compare(y + 1, y)
    with pytest.raises(ValueError, match="y_test must be integers"):
        compare(y, y.astype(np.float32))
    assert compare(np.zeros_like(y), y, num_classes=1).facts.num_classes == 1


def test_bad_options_are_refused() -> None:
    x, _ = stripes.stripes(3, noise=0.1, seed=0)
    with pytest.raises(ValueError, match="chunk must be at least 1, got 0"):
        nearest_neighbours(x, x, x, seed=0, chunk=0)
    with pytest.raises(ValueError, match="max_images must be at least 1, got 0"):
        nearest_neighbours(x, x, x, seed=0, max_images=0)
    with pytest.raises(ValueError, match="max_images must be at least 1, got -1"):
        scatter_frechet(x, x, SHAPE, seed=0, max_images=-1)
    with pytest.raises(ValueError, match="sides of at least 4"):
        scatter_frechet(x[:, :3, :7], x[:, :3, :7], (3, 7, 1), seed=0)


def test_a_made_set_is_clipped_to_the_public_range_and_a_test_set_is_not() -> None:
    given = stripes.problem(3, recipe=DISTILLED)
    np.testing.assert_array_equal(given.unit_rows, given.rows)
    np.testing.assert_array_equal(given.unit_test_rows, given.test_rows)
    x, x_test = 6 * given.x - 3, 4 * given.x_test - 2
    wide = dataclasses.replace(given, x=x, x_test=x_test, low=-2, high=2)
    np.testing.assert_allclose(
        wide.unit_rows, np.clip(1.5 * given.rows - 0.25, 0, 1), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(wide.unit_test_rows, given.test_rows, atol=1e-6)
    wrong = dataclasses.replace(wide, low=0, high=1)
    assert wrong.unit_rows.max() <= 1
    assert wrong.unit_test_rows.min() < 0
