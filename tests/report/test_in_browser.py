"""Report pages in headless Chromium: on a phone and on a desk, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import chromium
from support.report_pages import METRICS, drawn_figures, expected_of, names, rendered

from jaxdp.methods.dp_ntk.story import STORY as GENERATED
from jaxdp.program.report.curves import accuracy_curve_png
from jaxdp.program.report.pictures import image_grid_png

PHONE, TABLET, DESK = 360, 768, 1280
_LONG = "Donaudampfschifffahrtsgesellschaft" * 3
_CERTIFIED: dict[str, Any] = {
    "verdict": "MAY BE RELEASED, under a strong guarantee (epsilon 1)",
    "may_leave": ["distilled.npz: the distilled set", "config.json"],
    "must_stay": ["the training data", "metrics.json where the test data are private"],
}


def _pages() -> dict[str, str]:
    """Return a page of every kind, and of what is unusually wide."""
    rows = np.random.default_rng(0).normal(size=(4, 30))
    many = METRICS | {"figures": {"krr": drawn_figures(40)}}
    judged = {
        "mlp": {"mean": 0.5, "figures": drawn_figures(2, missing=0)},
        "logistic": {"mean": 0.4},
    }
    ten = METRICS | {"figures": {"krr": drawn_figures(10), "teacher": drawn_figures(10)}}
    curve = accuracy_curve_png([0, 9], [0.1, 0.4])
    fashion = [*names(8), "T-shirt/top and others", "ankle boot"]
    return {
        "distilled": rendered(
            _CERTIFIED, {"eps": 2.0}, metrics=ten, class_names=fashion, curve_png=curve,
            expected=expected_of((28, 28, 1), 3000, 10),
        ),
        "table": rendered(
            {"warnings": ["delta is too large"], "releasable": False},
            {"csv": f"/data/{_LONG}.csv", "example_shape": [30], "features": "pairs", "eps": 2.0},
            story=GENERATED,
            expected=expected_of((11,), 3000, 2),
            metrics={"accuracy": judged},
            picture_png=image_grid_png(rows, np.arange(4) % 2, ["<=50K", ">50K"]),
        ),
        "wide": rendered(
            {"unit": _LONG, "covers": [_LONG], "epsilon": None},
            {"dataset": _LONG, _LONG: {_LONG: [_LONG]}},
            title=_LONG,
            metrics=many,
            class_names=[f"{_LONG}{i}" for i in range(40)],
        ),
    }  # fmt: skip


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("chromium")
    found = chromium.measured(_pages(), (PHONE, TABLET, DESK), dark=request.param, folder=folder)
    assert {each["dark"] for each in found} == {request.param}
    return found


def test_nothing_is_wider_than_the_window(seen: list[dict[str, Any]]) -> None:
    for each in seen:
        assert (each["whole"], each["outside"]) == (each["inner"], []), each["name"]
        assert each["inner"] == each["width"]


def test_texts_can_be_read(seen: list[dict[str, Any]]) -> None:
    """The least contrast is that of WCAG 2.2 (AA); pages are dark for those who like them so."""
    for each in seen:
        assert each["least_contrast"] >= 4.5, each["name"]
        assert (sum(each["page"]) < 3 * 64) == each["dark"]


def test_pictures_are_large_and_nothing_is_requested(seen: list[dict[str, Any]]) -> None:
    for each in seen:
        assert each["pictures"]
        for natural, shown in each["pictures"]:
            assert natural > 0  # it was decoded
            assert shown >= min(natural, 0.75 * each["width"] if each["width"] == PHONE else 460)
        assert each["requests"] == []


@pytest.mark.parametrize("name", ["distilled", "table"])
def test_a_report_is_printed_on_three_pages_at_most(name: str, tmp_path: Path) -> None:
    assert 1 <= chromium.pages_printed(_pages()[name], tmp_path) <= 3


def test_the_first_screen_says_whether_it_may_leave(seen: list[dict[str, Any]]) -> None:
    for each in seen:
        if each["name"] == "distilled":
            assert each["verdict_top"] < 700
