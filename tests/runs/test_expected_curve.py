"""What is expected over epsilon: monotone, between guess and ceiling, and true of sets left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from benchmarks.pages import expected as pages
from jaxdp.data import Spec
from jaxdp.methods import dp_kip, marginals, teacher
from jaxdp.program.runs import expectation, expected_curve, expected_tables, recommendation
from jaxdp.program.runs.expected_curve import curve, epsilons_with, why_none
from jaxdp.program.runs.measured import POINTS, TABLES
from jaxdp.program.runs.pair_cells import pair_cells
from jaxdp.tables.schema import Schema

FACTS = [
    ((28, 28, 1), 300, 10),
    ((28, 28, 1), 60_000, 3),
    ((32, 32, 3), 2000, 5),
    ((9,), 500, 2),
    ((40,), 50_000, 2),
]


def of(shape: tuple[int, ...], n: int, classes: int) -> Spec:
    return recommendation.spec_of(shape, n, classes)


@pytest.mark.parametrize("facts", FACTS)
def test_more_epsilon_is_never_worse_and_the_band_is_around_its_middle(
    facts: tuple[tuple[int, ...], int, int],
) -> None:
    found = curve(of(*facts), np.geomspace(0.02, 200, 40).tolist())
    assert found is not None
    values = np.array([point[1:] for point in found.points])
    assert np.all(np.diff(values, axis=0) >= -1e-9)
    assert np.all(np.diff(values, axis=1) >= 0)
    assert values.min() >= 0
    assert values.max() <= 100
    assert found.guess < found.ceiling
    assert values[-1, 1] <= found.ceiling + 0.5


def test_images_have_students_interval_in_log_odds() -> None:
    """At one epsilon, where the band does not depend on others: by its formula."""
    spec = of((28, 28, 1), 1000, 10)
    sets = expectation.like(spec)
    odds = []
    for points in sets.values():
        gain = (expectation.at(points, 1000, 1.0) - 10) / 90
        odds.append(math.log(gain / (1 - gain)))
    assert len(odds) == 3
    ends = scipy.stats.t.interval(
        0.8, 2, np.mean(odds), scipy.stats.tstd(odds) * math.sqrt(1 + 1 / 3)
    )
    np.testing.assert_allclose(
        expected_curve._band(sets, spec, 1.0),
        [1 / (1 + math.exp(-each)) for each in (ends[0], np.mean(odds), ends[1])],
    )


def test_tables_have_students_interval_about_a_line() -> None:
    """The line of numpy's least squares, and the interval of a new observation by its formula."""
    points = [point for point in TABLES if point.method == "model"]
    names = [point.data.removesuffix(" all") for point in points]
    weights = np.array([1 / names.count(name) for name in names])
    x = np.log([expected_tables.hidden(point, point.epsilon) for point in points])
    z = np.log([(100 - point.overlap) / point.overlap for point in points])
    slope, intercept = np.polyfit(x, z, 1, w=np.sqrt(weights))
    freedom = len(set(names)) - 2
    deviation = math.sqrt(np.sum(weights * (z - intercept - slope * x) ** 2) / freedom)
    spec = of((11,), 3000, 2)
    at = math.log(expected_tables.hidden(spec, 1.0))
    mean = np.average(x, weights=weights)
    spread = 1 + 1 / weights.sum() + (at - mean) ** 2 / np.sum(weights * (x - mean) ** 2)
    half = scipy.stats.t.ppf(0.9, freedom) * deviation * math.sqrt(spread)
    middle = intercept + slope * at
    found = expected_tables.overlaps(spec, [1.0])[0]
    expected = [100 / (1 + math.exp(each)) for each in (middle + half, middle, middle - half)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_band_holds_sets_that_it_was_not_made_of() -> None:
    images, tables = pages.held("images"), pages.held("tables")
    assert {point.data for point in POINTS if point.method == "teacher"} >= {
        each.name for each in images
    }
    assert len(images) == 6
    assert pages.share(images) >= 0.8
    assert pages.share(tables) >= 0.7
    # The range of measured sets, which needs no interval, is no such band.
    inside = [
        low <= point.score <= high
        for point in POINTS
        if point.method == "teacher" and point.kind == "grey" and math.isfinite(point.epsilon)
        for low, high in [_range_without(point.data, point.num_examples, point.epsilon)]
    ]
    assert np.mean(inside) < 0.6


def _range_without(data: str, n: int, epsilon: float) -> tuple[float, float]:
    sets = expectation.like(of((28, 28, 1), n, 10), without=(data,))
    scores = expectation.scores_of(sets, of((28, 28, 1), n, 10), epsilon)
    return float(scores.min()), float(scores.max())


def test_what_was_never_measured_has_no_curve_and_a_reason() -> None:
    assert curve(of((28, 28, 1), 3000, 200)) is None
    assert "so many classes" in why_none(of((28, 28, 1), 3000, 200))
    assert "more than 60 columns" in why_none(of((80,), 3000, 2))
    assert curve(of((80,), 3000, 2)) is None
    rows = Spec.rows("rows", (300, 4), class_names=["a", "b"])
    assert "with a schema" in why_none(rows)
    number = {"type": "numeric", "lower": 0, "upper": 1}
    single = Spec.table("own", Schema.from_json({"columns": {"x": number}}), 300)
    assert "has no pairs" in why_none(single)


def test_one_set_alone_gives_no_band() -> None:
    spec = of((28, 28, 1), 3000, 10)
    found = curve(spec, (1.0,), without=("MNIST", "digits"))
    assert found is not None
    assert found.names == ("Fashion-MNIST",)
    assert (found.points[0].low, found.points[0].high) == pytest.approx((10, 100))
    assert "there is no band" in found.caution
    larger = curve(of((224, 224, 1), 3000, 10), (1.0,))
    assert larger is not None
    assert "smaller than yours" in larger.caution
    tiny = curve(of((50,), 30, 2))
    assert tiny is not None
    assert "no measured table is like yours" in tiny.caution


def test_little_epsilon_is_about_a_guess() -> None:
    points = [point for point in POINTS if point.data == "MNIST" and point.method == "teacher"]
    assert expectation.at(points, 300, 0.003) == pytest.approx(10 + 10.5 / 100, abs=0.01)
    found = curve(of((28, 28, 1), 300, 10), (0.02,))
    assert found is not None
    assert found.points[0].middle < 13


def test_a_table_has_more_overlap_with_more_records_and_less_with_more_columns() -> None:
    def middle(columns: int, n: int) -> float:
        return expected_tables.overlaps(of((columns,), n, 2), [1.0])[0].middle

    assert middle(10, 500) < middle(10, 5000) < middle(10, 50_000)
    assert middle(40, 5000) < middle(10, 5000)


def test_cells_of_pairs_are_counted_by_the_schema() -> None:
    number = {"type": "numeric", "lower": 0, "upper": 1}
    whole = {"type": "numeric", "lower": 1, "upper": 5, "integer": True, "nullable": True}
    named = {"type": "categorical", "categories": ["a", "b"]}  # and others
    columns = {"x": number, "y": whole, "z": named}
    assert pair_cells(Schema.from_json({"columns": columns})) == (20 * 6 + 20 * 3 + 6 * 3) / 3
    assert pair_cells(Schema.from_json({"columns": {"x": number}})) == 0


@pytest.mark.parametrize("facts", FACTS[1:4])
def test_a_curve_for_persons_is_at_a_part_of_epsilon(
    facts: tuple[tuple[int, ...], int, int],
) -> None:
    spec = of(*facts)
    alone, of_persons = curve(spec, (0.2, 1.0)), curve(spec.of_persons(5), (1.0, 5.0))
    assert alone is not None
    assert of_persons is not None
    # Between places of its grid the band of images is straight.
    bands = [[point[1:] for point in each.points] for each in (alone, of_persons)]
    np.testing.assert_allclose(*bands, atol=0.5)
    assert [point.epsilon for point in of_persons.points] == [1.0, 5.0], "the run's own"
    assert of_persons.ceiling == pytest.approx(alone.ceiling, abs=0.5)


def test_a_run_has_the_curve_of_its_own_method() -> None:
    images, table = of((28, 28, 1), 540, 3), of((11,), 3000, 2)
    of_run = expected_curve.of_run
    found = of_run("teacher", teacher.Settings(eps=2.5, match="teacher"), images)
    assert found is not None
    assert found.at(2.5) is not None
    assert found.at(2.4) is None
    assert of_run("teacher", teacher.Settings(eps=2.5, match="both"), images) is None
    assert of_run("dp_kip", dp_kip.Settings(eps=2.5), images) is None
    assert of_run("marginals", marginals.Settings(eps=1.0), table) is not None
    assert of_run("teacher", teacher.Settings(eps=2.5, match="teacher"), table) is None


def test_the_chosen_epsilon_is_one_of_the_curves() -> None:
    for chosen in (0.01, 0.37, 55.0):
        found = epsilons_with(chosen)
        assert chosen in found
        assert list(found) == sorted(set(found))
    assert epsilons_with(math.inf) == expected_curve.EPSILONS
