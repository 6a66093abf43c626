"""The small network that judges a whole made set, by hard and by soft labels."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import stripes

from jaxdp.program.evaluation.cnn import cnn, cnn_soft, shifted, wrn, wrn_soft
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import GENERATED, CnnRecipe

# Stripes are not moved: it would turn one class into another.
QUICK = CnnRecipe(epochs=1, least_steps=60, batch_size=20, max_shift=0.0)
RECIPE = dataclasses.replace(GENERATED, cnn=QUICK)


def problem_of(per_class: int) -> Problem:
    return stripes.problem(per_class, recipe=RECIPE)


@pytest.mark.parametrize("per_class", [2, 30])
def test_easy_classes_are_told_apart_with_one_seed_on_the_whole_set(per_class: int) -> None:
    """Of 6 images, which are one batch, and of 90, whose last ten wait for the next pass."""
    found = cnn(problem_of(per_class))
    assert found["mean"] == 1.0
    assert (found["seeds"], found["test_accuracies"]) == ([0], [1.0])
    assert found["num_examples"] == 3 * per_class


def test_the_same_set_gets_the_same_figures() -> None:
    given = dataclasses.replace(
        problem_of(10), x_test=np.random.default_rng(0).random((60, 8, 8, 1))
    )
    assert cnn(given) == cnn(given)


def test_values_of_another_scale_are_judged_alike() -> None:
    given = problem_of(10)
    moved = dataclasses.replace(given, x=1000 * given.x - 300, x_test=1000 * given.x_test - 300)
    assert cnn(moved)["mean"] == cnn(given)["mean"] == 1.0


def test_soft_labels_are_learnt_instead_of_hard_ones() -> None:
    given = problem_of(30)
    turned = np.eye(3, dtype=np.float32)[(given.y + 1) % 3]
    found = cnn_soft(dataclasses.replace(given, soft_labels=0.9 * turned + 0.1 / 3))
    assert found["mean"] == 0.0
    assert cnn(dataclasses.replace(given, soft_labels=turned))["mean"] == 1.0


def test_soft_labels_have_to_be_there_and_to_fit() -> None:
    with pytest.raises(ValueError, match="no soft labels"):
        cnn_soft(problem_of(2))
    with pytest.raises(ValueError, match="soft_labels has shape"):
        dataclasses.replace(problem_of(2), soft_labels=np.zeros((6, 2)))


def test_a_wide_network_judges_with_its_own_recipe() -> None:
    wide = CnnRecipe(wide=True, epochs=1, least_steps=30, batch_size=20, max_shift=0.0)
    given = problem_of(10)
    given = dataclasses.replace(given, recipe=dataclasses.replace(RECIPE, wrn=wide))
    turned = np.eye(3, dtype=np.float32)[(given.y + 1) % 3]
    assert wrn(given)["mean"] == 1.0
    assert wrn_soft(dataclasses.replace(given, soft_labels=turned))["mean"] == 0.0
    with pytest.raises(ValueError, match="no soft labels"):
        wrn_soft(given)


def test_images_are_moved_whole_and_their_border_goes_on() -> None:
    x = jnp.asarray(np.random.default_rng(0).random((200, 8, 6, 2)), jnp.float32)
    moved = np.asarray(shifted(jax.random.key(0), x, most=1 / 6))
    wide = np.pad(np.asarray(x), ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    found = set()
    for image, wanted in zip(moved, wide, strict=True):
        places = [(i, j) for i in range(3) for j in range(3)]
        found |= {p for p in places if np.array_equal(image, wanted[p[0] :, p[1] :][:8, :6])}
        assert any(np.array_equal(image, wanted[i:, j:][:8, :6]) for i, j in places)
    assert len(found) == 9
    np.testing.assert_array_equal(shifted(jax.random.key(0), x, most=0.0), x)
