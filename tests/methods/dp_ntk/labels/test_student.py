"""The student: what it has learnt is left out, what it has not is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jaxdp.data import Codec
from jaxdp.methods.dp_ntk.labels import student
from jaxdp.methods.runner import PlainRunner

CODEC = Codec(low=0.0, high=255.0, shift=0.0, scale=255.0)
RUNNER = PlainRunner(progress=False)


def test_divergence_is_that_of_kullback_and_leibler() -> None:
    p, q = np.random.default_rng(0).dirichlet([0.5] * 5, (2, 50))
    p[0] = np.eye(5)[2]
    for row, (a, b) in zip(student.divergence(p, q), zip(p, q, strict=True), strict=True):
        pairs = zip(a, b, strict=True)
        naive = sum(x * math.log(x / max(y, 1e-6)) for x, y in pairs if x > 0)
        assert row == pytest.approx(naive, abs=1e-9)
    same = np.tile([0.3, 0.7], (3, 1))
    np.testing.assert_allclose(student.divergence(same, same), 0, atol=1e-12)
    apart = student.divergence(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    assert apart == pytest.approx(np.log(1e6))


def test_images_are_kept_the_more_often_the_further_student_and_teacher_are_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    targets = np.tile([0.9, 0.1], (4000, 1))
    said = np.where(np.arange(4000)[:, None] % 2 == 0, [0.9, 0.1], [0.2, 0.8])
    monkeypatch.setattr(student, "_student", lambda *_: said)
    images = np.zeros((4000, 8, 8, 1), np.uint8)
    kept = student.chosen(images, targets, CODEC, RUNNER, count=1000, seed=0)
    assert len(np.unique(kept)) == 1000
    assert np.all(np.diff(kept) > 0)
    assert np.mean(kept % 2 == 1) > 0.95
    everything = student.chosen(images, targets, CODEC, RUNNER, count=4000, seed=0)
    np.testing.assert_array_equal(everything, np.arange(4000))


def test_weights_are_the_divergence_to_the_power_that_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = np.tile([0.99, 0.01], (20_000, 1))
    q = np.where(np.arange(20_000)[:, None] < 10_000, [0.9, 0.1], [0.6, 0.4])
    monkeypatch.setattr(student, "_student", lambda *_: q)
    images = np.zeros((20_000, 1, 1, 1), np.uint8)
    kept = student.chosen(images, p, CODEC, RUNNER, count=400, seed=0)
    near, far = student.divergence(p, q)[[0, -1]] ** 0.75
    assert np.mean(kept >= 10_000) == pytest.approx(far / (near + far), abs=0.06)


def test_a_student_learns_what_a_teacher_says_and_an_odd_answer_stands_out() -> None:
    """Dark images are of one class and light ones of the other, but for a few."""
    rng = np.random.default_rng(0)
    light = rng.integers(0, 2, 3000)
    images = (rng.integers(0, 100, (3000, 8, 8, 1)) + 150 * light[:, None, None, None]).astype(
        np.uint8
    )
    odd = rng.random(3000) < 0.05
    targets = np.eye(2)[np.where(odd, 1 - light, light)] * 0.9 + 0.05
    kept = student.chosen(images, targets, CODEC, RUNNER, count=300, seed=0)
    assert np.mean(odd[kept]) > 0.3
    again = student.chosen(images, targets, CODEC, RUNNER, count=300, seed=0)
    np.testing.assert_array_equal(kept, again)
    other = student.chosen(images, targets, CODEC, RUNNER, count=300, seed=1)
    assert not np.array_equal(kept, other)


def test_few_images_make_one_batch() -> None:
    images = np.random.default_rng(0).integers(0, 256, (7, 4, 4, 3)).astype(np.uint8)
    targets = np.full((7, 3), 1 / 3)
    assert len(student.chosen(images, targets, CODEC, RUNNER, count=2, seed=0)) == 2
