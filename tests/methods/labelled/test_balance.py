"""A teacher's labels are brought to the mixture of classes that was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.methods.labelled.balance import as_drawn, balanced

SHARES = np.array([0.2, 0.3, 0.5])


def drawn(num: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return one value of each example, normal around its class, and the classes by SHARES."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, num, p=SHARES)
    return rng.normal(2.0 * labels), labels


def posterior(values: np.ndarray, prior: np.ndarray) -> np.ndarray:
    likely = prior * np.exp(-0.5 * (values[:, None] - 2.0 * np.arange(3)) ** 2)
    return likely / likely.sum(axis=1, keepdims=True)


def test_probabilities_for_another_mixture_become_those_of_the_drawn_one() -> None:
    values, _ = drawn(200_000)
    found = balanced(posterior(values, np.array([0.8, 0.19, 0.01])), SHARES)
    np.testing.assert_allclose(found, posterior(values, SHARES), atol=0.01)


def test_classes_are_as_likely_as_they_were_drawn() -> None:
    skewed = np.random.default_rng(1).dirichlet([30, 3, 1], 1000)
    found = balanced(skewed, SHARES)
    np.testing.assert_allclose(found.mean(axis=0), SHARES, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_class_for_which_an_example_was_drawn_is_likelier() -> None:
    values, labels = drawn(50_000)
    given = posterior(values, SHARES)
    found, without = as_drawn(given, labels, len(labels)), balanced(given, SHARES)
    own, own_without = (each[np.arange(len(labels)), labels] for each in (found, without))
    assert np.all(own >= own_without * 0.99)
    assert own.mean() > own_without.mean() + 0.05
    np.testing.assert_allclose(found.mean(axis=0), np.bincount(labels) / len(labels), atol=1e-3)


def test_mixed_examples_have_the_classes_that_were_drawn_on_average_alone() -> None:
    values, labels = drawn(50_000)
    given = posterior(values, np.array([0.8, 0.1, 0.1]))
    kept = 30_000
    found = as_drawn(given, labels, kept)
    alone = as_drawn(given[:kept], labels[:kept], kept)
    np.testing.assert_array_equal(found[:kept], alone)
    shares = np.bincount(labels) / len(labels)
    np.testing.assert_array_equal(found[kept:], balanced(given[kept:], shares))


def test_labels_of_the_right_mixture_stay() -> None:
    values, _ = drawn(5000)
    given = posterior(values, SHARES)
    np.testing.assert_allclose(balanced(given, given.mean(axis=0)), given, atol=1e-6)


@pytest.mark.parametrize("shares", [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
def test_a_class_that_was_not_drawn_is_no_label(shares: list[float]) -> None:
    found = balanced(np.random.default_rng(2).dirichlet([1, 1, 1], 100), np.array(shares))
    assert np.all(np.isfinite(found))
    assert np.all(found[:, np.array(shares) == 0] == 0)


def test_a_class_that_the_teacher_sees_nowhere_is_not_brought_back() -> None:
    for certain in (np.eye(3)[[0, 0, 1]], np.eye(3)[[2]]):
        nearly = (1 - 1e-9) * certain + 1e-9 / 3
        found = balanced(nearly, SHARES)
        np.testing.assert_allclose(found, certain, atol=1e-3)
