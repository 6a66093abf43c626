"""What a run is likely to reach, by measured sets and public numbers alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from jaxdp.data import Spec
from jaxdp.methods import teacher
from jaxdp.program.runs import expectation, recommendation
from jaxdp.program.runs.measured import Point


def point(n: int, epsilon: float, score: float, data: str = "A", classes: int = 2) -> Point:
    return Point(data, "grey", n, classes, epsilon, "teacher", score, "none")


POINTS = [
    point(100, 1.0, 60.0),
    point(1000, 1.0, 80.0),
    point(100, 10.0, 80.0),
    point(1000, 10.0, 90.0),
    point(100, math.inf, 85.0),
    point(1000, math.inf, 94.0),
]


def images(n: int, classes: int = 2, shape: tuple[int, ...] = (28, 28, 1)) -> Spec:
    return Spec.images("own", (n, *shape), class_names=[str(k) for k in range(classes)])


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectation, "POINTS", POINTS)


@pytest.mark.parametrize("measured", POINTS)
def test_what_was_measured_is_what_is_expected(measured: Point) -> None:
    found = expectation.at(POINTS, measured.num_examples, measured.epsilon)
    assert found == pytest.approx(measured.score)


def test_between_measured_numbers_it_is_between_their_scores() -> None:
    assert expectation.at(POINTS, 316, 1.0) == pytest.approx(70, abs=0.1)
    assert expectation.at(POINTS, 1000, math.sqrt(10)) == pytest.approx(85, abs=0.1)
    assert 90 < expectation.at(POINTS, 1000, 20.0) == pytest.approx(92)
    assert expectation.at(POINTS, 316, math.inf) == pytest.approx(89.5, abs=0.1)


def test_more_examples_than_measured_are_as_more_of_epsilon() -> None:
    many = expectation.at(POINTS, 10_000, 1.0)
    assert many == pytest.approx(expectation.at(POINTS, 1000, 10.0))
    few = expectation.at(POINTS, 10, 10.0)
    assert few == pytest.approx(expectation.at(POINTS, 100, 1.0))


@pytest.mark.usefixtures("_few")
def test_noise_for_persons_is_that_of_a_part_of_epsilon() -> None:
    spec = images(1000)
    sets = {"A": POINTS}
    for epsilon in (0.5, 3.0, 40.0):
        alone = expectation.scores_of(sets, spec, epsilon)
        np.testing.assert_allclose(
            expectation.scores_of(sets, spec.of_persons(4), 4 * epsilon), alone
        )
    assert expectation.scores_of(sets, spec.of_persons(4), math.inf)[0] == 94.0
    alone, of_persons = (
        expectation.of_teacher(spec, 1.0),
        expectation.of_teacher(spec.of_persons(10), 1.0),
    )
    assert alone is not None
    assert of_persons is not None
    assert of_persons.accuracy.low < alone.accuracy.low
    assert of_persons.ceiling == alone.ceiling
    assert (alone.worth_from, of_persons.worth_from) == (2.0, None), "in the run's own epsilon"


def test_scores_never_fall_with_epsilon() -> None:
    for n in (30, 300, 3000, 100_000):
        scores = [expectation.at(POINTS, n, each) for each in np.geomspace(0.05, 500, 60)]
        assert np.all(np.diff(scores) >= -1e-9)
        assert scores[-1] <= expectation.at(POINTS, n, math.inf) + 1e-9


@pytest.mark.usefixtures("_few")
def test_it_says_the_interval_the_ceiling_and_the_guess() -> None:
    found = expectation.of_teacher(images(1000), 1.0)
    assert found is not None
    assert (found.guess, found.ceiling.high, found.accuracy.low) == (50, 94, 80)
    # (score - 50) / 44 is .75 at 83, which is between epsilon 1 and 3.
    assert found.worth_from == 2.0
    assert str(found) == (
        "accuracy of about 80 % (measured on A); without privacy about 94 %; guessing 50 %; "
        "worth it from epsilon 2 on"
    )


@pytest.mark.usefixtures("_few")
def test_it_says_where_nothing_is_worth_it_and_where_images_are_larger() -> None:
    found = str(expectation.of_teacher(images(20, shape=(64, 64, 1)), 0.1))
    assert "no epsilon up to 10 is worth it" in found
    assert "measured on A, whose images are smaller" in found
    assert expectation.of_teacher(images(1000, classes=100), 1.0) is None
    assert expectation.of_teacher(images(1000, shape=(28, 28, 3)), 1.0) is None


@pytest.mark.parametrize(("n", "classes", "channels"), [(300, 10, 1), (3000, 3, 3), (20_000, 2, 1)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0, math.inf])
def test_measured_sets_tell_of_usual_images(
    n: int, classes: int, channels: int, epsilon: float
) -> None:
    found = expectation.of_teacher(images(n, classes, (28, 28, channels)), epsilon)
    assert found is not None
    assert found.accuracy.low <= found.accuracy.high <= found.ceiling.high <= 100
    assert found.accuracy.high > found.guess


def test_a_run_says_what_it_is_expected_to_reach() -> None:
    def said(method: str, settings: Any, spec: Spec) -> str | None:
        return recommendation.of_run(method, settings, spec)

    spec = images(3000, 10)
    settings = teacher.complete(teacher.Settings(eps=1.0), spec)
    assert "guessing 10 %" in str(said("teacher", settings, spec))
    both = teacher.complete(teacher.Settings(eps=1.0, match="both"), spec)
    assert "ConvNet" in str(said("teacher", both, spec))
    many = images(3000, 200)
    settings = teacher.complete(teacher.Settings(eps=1.0), many)
    assert said("teacher", settings, many) == (
        "no measured set has about so many classes; guessing 0.5 %"
    )
    rows = Spec.rows("rows", (300, 4), class_names=["a", "b"])
    assert said("teacher", teacher.Settings(eps=1.0), rows) is None


@pytest.mark.parametrize("classes", [3, 5, 30])
def test_nobody_is_expected_to_do_worse_than_a_guess(classes: int) -> None:
    for n in (3, 300):
        found = expectation.of_teacher(images(n, classes, (28, 28, 3)), 0.1)
        assert found is not None
        assert found.accuracy.low >= 100 / classes - 1e-9
