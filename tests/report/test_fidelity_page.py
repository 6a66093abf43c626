"""The page of a comparison: what its bars count, what stands on it, how it looks in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import chromium
from support.toy_tables import COLUMNS, frame_of, schema_of
from support.two_tables import categories, numbers

from jaxdp.program.evaluation.fidelity import comparison
from jaxdp.program.report.fidelity import page
from jaxdp.program.report.fidelity.bars import Bar, histogram
from jaxdp.tables import frames
from jaxdp.tables.schema import Schema

RNG = np.random.default_rng(0)


def rendered(schema: Schema | None = None, *, title: str = "toy", **columns: Any) -> str:
    schema = schema or schema_of(**columns)
    splits = [frames.encode(frame_of(120, seed=seed), schema) for seed in (0, 1, 2)]
    found = comparison.compare(schema, *splits, labelled=schema.target is not None)
    return page.render(found, title=title)


# --- Bars --------------------------------------------------------------------------------------


def inside(bars: list[Bar]) -> list[Bar]:
    return [bar for bar in bars if bar.inside]


def test_numbers_are_counted_between_quantiles_of_private_values() -> None:
    real, made = RNG.normal(size=2000), np.r_[RNG.normal(size=500), [99.0] * 30, [np.nan] * 10]
    found = histogram(numbers(real, made))
    low, high = np.quantile(real, [0.005, 0.995], method="inverted_cdf")
    assert len(inside(found.bars)) == 30
    for place, side in ((1, real), (2, made)):
        counts, _ = np.histogram(side[~np.isnan(side)], np.linspace(low, high, 31))
        shares = [bar[place] for bar in inside(found.bars)]
        np.testing.assert_allclose(shares, counts / len(side))
        assert sum(bar[place] for bar in found.bars) == pytest.approx(1)
    above = next(bar for bar in found.bars if bar.text.startswith("above"))
    assert above.made == pytest.approx(np.mean(made > high))
    assert found.bars[-1] == Bar("missing", 0, 10 / 540, inside=False)


def test_whole_numbers_have_bins_of_whole_numbers() -> None:
    real = np.repeat(np.arange(4.0), 50)
    found = histogram(numbers(real, real, integer=True))
    assert [(bar.text, bar.real) for bar in found.bars] == [(str(i), 0.25) for i in range(4)]
    many = np.arange(1000.0)
    wide = histogram(numbers(many, many, integer=True)).bars
    assert len(inside(wide)) <= 30
    assert len({bar.real for bar in inside(wide)[:-1]}) == 1  # each has as many numbers


def test_columns_of_one_value_or_of_none_are_drawn() -> None:
    same = np.full(9, 5.0)
    assert histogram(numbers(same, same)).bars == [Bar("5", 1, 1)]
    spread = histogram(numbers(same, np.arange(9.0))).bars
    assert sum(bar.made for bar in spread) == pytest.approx(1)
    gone = np.full(3, np.nan)
    assert histogram(numbers(gone, gone)).bars == [Bar("missing", 1, 1, inside=False)]
    assert histogram(numbers(gone, same)).bars == [
        Bar("5", 0, 1), Bar("missing", 1, 0, inside=False)
    ]  # fmt: skip
    assert histogram(categories([-1], [-1])).bars[-1] == Bar("missing", 1, 1, inside=False)


def test_the_most_frequent_categories_are_drawn() -> None:
    names = "".join(map(chr, range(65, 65 + 30)))
    real = np.repeat(np.arange(30), np.arange(30))
    found = histogram(categories(real, real, names=names)).bars
    assert len(found) == 21
    assert [bar.text for bar in found[:3]] == [names[29], names[28], names[27]]
    assert found[0].real == 29 / len(real)
    assert found[-1].text == "10 others"
    assert sum(bar.made for bar in found) == pytest.approx(1)


# --- The page ----------------------------------------------------------------------------------


def test_a_page_says_first_what_it_is_and_the_score() -> None:
    text = rendered()
    assert text.index("NOT FOR RELEASE") < text.index("The made records score") < text.index("<svg")
    assert text.index("<svg") < text.index('<table class="sheet">')
    for heading in ("Models trained", "Quantiles", "Differences of assoc", "Three columns at once"):
        assert heading in text


def test_a_page_requests_nothing_and_runs_nothing() -> None:
    text = rendered()
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text
    assert "default-src 'none'" in text


def test_bars_and_dots_tell_their_values() -> None:
    text = rendered()
    assert "<title>age × ill: private 0." in text
    assert "<title>smoker × stage, made less private: " in text
    assert "<title>missing: private " in text


def test_names_and_categories_are_texts() -> None:
    bad = "<script>alert(1)</script>"
    text = rendered(title=bad, stage={"type": "ordinal", "categories": [bad, "I", "II"]})
    assert bad not in text
    assert "&lt;script&gt;alert(1)" in text


def test_tables_without_a_target_or_pairs_have_a_page() -> None:
    assert "Models trained" not in rendered(ill=COLUMNS["ill"] | {"target": False})
    one = Schema.from_json(
        {"columns": {"debt": COLUMNS["debt"]} | {n: {"drop": True} for n in COLUMNS if n != "debt"}}
    )
    text = rendered(one)
    assert "not defined for pairs of columns" in text
    assert "Associations" not in text


# --- In a browser ------------------------------------------------------------------------------

PHONE, TABLET, DESK = 360, 768, 1280


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_can_be_read_at_any_width(dark: bool, tmp_path: Path) -> None:
    long = "Donaudampfschifffahrtsgesellschaft" * 3
    pages = {
        "toy": rendered(),
        "long": rendered(title=long, stage={"type": "categorical", "categories": [long, "I"]}),
    }
    seen = chromium.measured(pages, (PHONE, TABLET, DESK), dark=dark, folder=tmp_path)
    for each in seen:
        assert each["dark"] == dark
        assert (each["whole"], each["outside"]) == (each["inner"], []), each["name"]
        assert each["least_contrast"] >= 4.5, each["name"]
        assert each["requests"] == []
        assert each["verdict_top"] < 300 or each["name"] == "long"
