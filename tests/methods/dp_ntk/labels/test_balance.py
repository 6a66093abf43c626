"""A teacher's labels are brought to the mixture of classes that was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from jaxdp.methods.dp_ntk.labels.balance import as_drawn, balanced, labels_in_shares

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


# --- Labels of records -------------------------------------------------------------------------


def seldom(num: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, a teacher's probabilities and drawn classes: one in ten, and never likely."""
    rng = np.random.default_rng(3)
    labels = (np.arange(num) % 10 == 0).astype(np.int32)
    values = rng.normal(labels)
    odds = np.exp(5 * values - 20)
    second = 0.4 * odds / (1 + odds)
    return values, np.stack([1 - second, second], axis=1), labels


def test_a_class_that_is_nowhere_the_likeliest_one_gets_the_records_drawn_for_it() -> None:
    values, given, labels = seldom()
    assert not np.any(np.argmax(given, axis=1))
    found = labels_in_shares(given, labels)
    assert np.sum(found) == 200
    # Of records drawn for one class, those that the teacher ranks highest.
    for label in (0, 1):
        own = labels == label
        assert values[own & (found == 1)].min() > values[own & (found == 0)].max()


def test_among_records_of_equal_odds_those_drawn_for_the_class_come_first() -> None:
    """A table of a few categories has a few odds alone."""
    labels = (np.arange(1000) % 10 == 0).astype(np.int32)
    given = np.tile([0.9, 0.1], (1000, 1))
    np.testing.assert_array_equal(labels_in_shares(given, labels), labels)


def test_labels_that_lose_no_class_are_the_likeliest_ones() -> None:
    values, labels = drawn(5000)
    given = posterior(values, np.array([0.3, 0.3, 0.4]))
    np.testing.assert_array_equal(labels_in_shares(given, labels), np.argmax(given, axis=1))


def test_several_lost_classes_have_the_shares_that_were_drawn() -> None:
    values, labels = drawn(5000)
    given = posterior(values, np.array([1e-9, 1 - 1.1e-8, 1e-8]))
    found = np.bincount(labels_in_shares(given, labels), minlength=3)
    np.testing.assert_array_equal(found, np.bincount(labels))
    certain = np.tile([0.0, 1.0, 0.0], (5000, 1))
    found = np.bincount(labels_in_shares(certain, labels), minlength=3)
    np.testing.assert_array_equal(found, np.bincount(labels))


def test_a_lost_class_takes_nothing_from_the_others_where_it_was_not_drawn() -> None:
    given = np.random.default_rng(2).dirichlet([9, 9, 1], 100)
    found = labels_in_shares(given, np.arange(100) % 2)
    np.testing.assert_array_equal(found, np.argmax(given, axis=1))
