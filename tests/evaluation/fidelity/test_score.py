"""The score against SDMetrics' QualityReport, where that is installed, and by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.two_tables import categories, numbers

from jaxdp.program.evaluation.fidelity import associations, columns
from jaxdp.program.evaluation.fidelity.score import Score, score
from jaxdp.program.evaluation.fidelity.values import Values


def scored(held: list[Values]) -> Score:
    pairs = associations.compare(held, range(len(held)))
    return score([columns.compare(column) for column in held], pairs)


def test_parts_are_means_over_columns_and_pairs() -> None:
    line = np.arange(4.0)
    held = [numbers(line, line), numbers(line, -line, name="m"), categories([0] * 4, [1] * 4)]
    shapes = (1 + (1 - 0.75) + 0) / 3  # of -3 to 0 and 0 to 3 one value is common
    trends = (0 + 0 + 0) / 3
    assert scored(held) == (
        pytest.approx((shapes + trends) / 2),
        pytest.approx(shapes),
        pytest.approx(trends),
        pytest.approx(0),  # the numbers alone go together
    )


def test_parts_that_are_not_defined_count_for_nothing() -> None:
    gone = [np.nan] * 2
    assert scored([numbers(gone, gone)]) == (None, None, None, None)
    assert scored([numbers([1, 2], [1, 2])]) == (1, 1, None, None)
    assert scored([numbers([1, 1], [1, 1]), numbers([1, 2], [1, 2], name="m")])[2] is None


def drawn(num: int, seed: int) -> pd.DataFrame:
    """Return a table whose numbers have one range, as SDMetrics cuts each table by its own."""
    rng = np.random.default_rng(seed)
    a = np.clip(rng.normal(0.5, 0.15 + 0.1 * seed, num), 0, 1)
    b = np.clip(a + rng.normal(0, 0.2 + 0.2 * seed, num), 0, 1)
    hue = np.where(rng.random(num) < 0.3 * seed, rng.integers(0, 3, num), (3 * a).astype(int) % 3)
    kind = np.where(rng.random(num) < 0.7, hue, rng.integers(0, 4, num))
    a[:2], b[:2] = (0, 1), (0, 1)
    c = rng.exponential(1 + seed, num)
    c[:2] = 0, 20
    c[2:][c[2:] > 20] = 20
    return pd.DataFrame({"a": a, "b": b, "c": c, "hue": hue, "kind": kind})


@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.parametrize("with_missing", [False, True])
def test_the_score_is_that_of_sdmetrics(with_missing: bool) -> None:
    """It is no dependency: today's wants an older pandas than we are tested with."""
    reports = pytest.importorskip("sdmetrics.reports.single_table")
    frames = [drawn(1500, 0), drawn(900, 1)]
    held: list[Values] = []
    for name in frames[0]:
        sides = [frame[name].to_numpy().copy() for frame in frames]
        is_number = name in "abc"
        if with_missing and name in ("c", "kind"):
            for side, share in zip(sides, (0.2, 0.1), strict=True):
                side[5 : 5 + int(share * len(side))] = np.nan if is_number else -1
        make: Any = numbers if is_number else categories
        held.append(make(*sides, name=name))
    for frame, place in zip(frames, ("real", "made"), strict=True):
        for column in held:
            values = pd.Series(getattr(column, place))
            if not column.is_number:
                values = values.map(lambda at: None if at < 0 else "abcdefgh"[at])
            frame[column.name] = values
    for thresholds in (None, 0.0):
        report = reports.QualityReport()
        if thresholds is not None:
            report.real_correlation_threshold = report.real_association_threshold = thresholds
        kinds = {c.name: {"sdtype": "numerical" if c.is_number else "categorical"} for c in held}
        with warnings.catch_warnings():
            report.generate(*frames, {"columns": kinds}, verbose=False)
        theirs = report.get_properties().set_index("Property")["Score"]
        ours = scored(held)
        assert ours.columns == pytest.approx(theirs["Column Shapes"], abs=1e-6)
        mine = ours.strong_pairs if thresholds is None else ours.pairs
        assert mine == pytest.approx(theirs["Column Pair Trends"], abs=0.02)
        if thresholds is not None:
            assert ours.score == pytest.approx(report.get_score(), abs=0.02)
