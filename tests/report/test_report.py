"""The pictures and the page that a run leaves behind."""

from __future__ import annotations

import io
import re
import tracemalloc
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.report_pages import (
    CONFIG,
    FILES,
    METRICS,
    PRIVACY,
    drawn_figures,
    expected_of,
    names,
    rendered,
)

from jaxdp.methods.dp_ntk.story import STORY as GENERATED
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.promises import Certificate
from jaxdp.privacy.relations import IN_WORDS, REPLACE, ZERO_OUT
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.program.report.curves import accuracy_curve_png
from jaxdp.program.report.pictures import MAX_BYTES, image_grid_png


def decode(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB"))


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 28, 1), (32, 32, 3), (7, 5, 1), (150, 100, 3)])
def test_image_grid_has_a_readable_size(shape: tuple[int, ...]) -> None:
    labels = np.repeat(np.arange(10), 3)
    png = image_grid_png(noise(30, *shape), labels, names(10), title="noise")
    h, w, _ = decode(png).shape
    assert 500 < w < 2300
    assert 0.7 < w / h < 2.5
    assert len(png) <= MAX_BYTES


def test_a_pixel_is_drawn_as_a_square_of_its_own_colour() -> None:
    image = np.zeros((1, 2, 2, 3))
    image[0, :, :, 0] = [[0.2, 0.4], [0.6, 0.8]]
    drawn = decode(image_grid_png(image, np.array([0]), ["only"], low=0.0, high=1.0))
    for value in (51, 102, 153, 204):
        ys, xs = np.nonzero((drawn == [value, 0, 0]).all(axis=-1))
        assert (np.ptp(ys) + 1, np.ptp(xs) + 1, ys.size) == (48, 48, 48 * 48)


def test_a_picture_needs_no_more_memory_for_images_that_it_does_not_show() -> None:
    images = np.zeros((6000, 32, 32, 3), np.uint8)  # 18 MB, and 147 MB in float64
    labels = np.arange(6000) % 2
    image_grid_png(images[:40], labels[:40], names(2), low=0, high=255)  # imports, once
    tracemalloc.start()
    image_grid_png(images, labels, names(2), low=0, high=255)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_values_are_clipped_to_the_pixel_range() -> None:
    image = np.array([-300.0, -np.inf, 0.0, 100.0, 300.0, np.inf]).reshape(1, 2, 3, 1)
    wide = decode(image_grid_png(image, np.array([0]), ["only"], low=0.0, high=100.0))
    edge = decode(image_grid_png(np.clip(image, 0, 100), np.array([0]), ["only"], low=0, high=100))
    np.testing.assert_array_equal(wide[-100:, :200], edge[-100:, :200])


def test_nan_is_drawn_in_the_middle_of_the_range() -> None:
    holes = decode(image_grid_png(np.full((2, 4, 4, 1), np.nan), np.arange(2), names(2)))
    middle = decode(image_grid_png(np.zeros((2, 4, 4, 1)), np.arange(2), names(2)))
    np.testing.assert_array_equal(holes, middle)


def test_scaling_may_differ_by_channel() -> None:
    low, high = np.array([-1.0, -2.0, -3.0]), np.array([1.0, 2.0, 3.0])
    own = image_grid_png(high * np.ones((1, 4, 4, 3)) / 2, np.array([0]), ["a"], low=low, high=high)
    same = image_grid_png(np.full((1, 4, 4, 3), 0.5), np.array([0]), ["a"])
    assert own == same


def test_only_max_per_class_are_drawn_and_the_picture_says_so() -> None:
    labels = np.tile(np.arange(3), 50)
    images = noise(150, 8, 8, 1)
    limits: dict[str, Any] = {"low": -9, "high": 9, "max_per_class": 4}
    picture = image_grid_png(images, labels, names(3), **limits)
    first = image_grid_png(images[:12], labels[:12], names(3), **limits)
    images[12:] = 0
    assert image_grid_png(images, labels, names(3), **limits) == picture
    # The same tiles, under one line more that says "4 of 50 per class shown".
    assert decode(picture).shape[0] > decode(first).shape[0]


def test_a_hundred_classes_stay_readable() -> None:
    labels = np.repeat(np.arange(100), 10)
    h, w, _ = decode(image_grid_png(noise(1000, 8, 8, 1), labels, names(100))).shape
    assert h < 25 * 75 + 200
    assert w < 2300


def test_a_picture_too_heavy_shows_fewer() -> None:
    labels = np.repeat(np.arange(10), 10)
    images = noise(100, 64, 64, 3)
    assert len(image_grid_png(images, labels, names(10), low=-3, high=3)) <= MAX_BYTES


@pytest.mark.parametrize("d", [1, 14, 300])
def test_tabular_rows_become_a_heat_map(d: int) -> None:
    rows = noise(20, d)
    rows[0, 0], rows[1, 0] = np.nan, np.inf
    h, w, _ = decode(image_grid_png(rows, np.arange(20) % 2, ["<=50K", ">50K"])).shape
    assert 1000 < w < 1400
    assert 500 < h < 1400


def test_heat_map_colours_are_symmetric_about_zero() -> None:
    rows = np.array([[-2.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    drawn = decode(image_grid_png(rows, np.arange(2), names(2))).astype(int)
    flipped = decode(image_grid_png(-rows, np.arange(2), names(2))).astype(int)
    row = drawn.shape[0] // 3
    left, right = drawn[row, 250], flipped[row, 950]
    np.testing.assert_allclose(left, right, atol=2)
    assert left[2] > left[0]


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_constant_and_all_nan_tables_are_drawn(value: float) -> None:
    decode(image_grid_png(np.full((4, 5), value), np.arange(4) % 2, names(2)))


def test_class_names_are_never_read_as_markup() -> None:
    hostile = ["$x^2", "<script>&", "line\nbreak", "n" * 200, "猫"]
    png = image_grid_png(noise(5, 8, 8, 1), np.arange(5), hostile, title="cost: $5_$")
    assert decode(png).shape[1] < 2300


def test_wrong_shapes_are_refused() -> None:
    images = np.zeros((2, 8, 8, 1))
    with pytest.raises(ValueError, match="images must be"):
        image_grid_png(images[..., 0], np.arange(2), names(2))
    for labels in (np.arange(3), np.array([0, 2]), np.array([-1, 0])):
        with pytest.raises(ValueError, match=r"labels must be \(2,\) integers from 0 to 1"):
            image_grid_png(images, labels, names(2))
    with pytest.raises(ValueError, match="max_per_class must be at least 1, got 0"):
        image_grid_png(images, np.arange(2), names(2), max_per_class=0)


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_accuracy_curve(n: int) -> None:
    png = accuracy_curve_png([10 * i for i in range(n)], [0.1 + i / 50 for i in range(n)])
    h, w, _ = decode(png).shape
    assert w > 1000
    assert 1.5 < w / h < 4
    assert len(png) < 100_000


def test_accuracy_curve_skips_what_was_not_measured() -> None:
    with_gap = accuracy_curve_png([0, 5, 10], [0.1, float("nan"), 0.5])
    assert with_gap == accuracy_curve_png([0, 10], [0.1, 0.5])


class Balance(HTMLParser):
    """Record tags and attributes, and fail on a tag closed in the wrong order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += [data] if "style" not in self.open else []


def page(
    privacy: dict[str, Any] | None = None, config: dict[str, Any] | None = None, **options: Any
) -> tuple[str, str]:
    """Return the page and its visible text, having checked that the tags balance."""
    text = rendered(privacy, config, **options)
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    assert "script" not in parser.seen
    sources = [value for name, value in parser.attributes if name in ("src", "href", "srcset")]
    assert sources
    assert all((value or "").startswith("data:image/png;base64,") for value in sources)
    return text, re.sub(r"\s+", " ", " ".join(parser.text))


def test_page_is_self_contained() -> None:
    text, _ = page(curve_png=accuracy_curve_png([0, 9], [0.1, 0.4]))
    assert text.startswith("<!doctype html>")
    assert not re.search(r"https?:|@import|url\(|src=\"(?!data:)", text)
    assert text.count("<img ") == 2


def test_headline_and_every_key_are_shown() -> None:
    _, text = page()
    for part in (
        "digits 7 per class",
        "ε = 1 δ = 1e-5",
        "45.3% what it began with: 10.2%",
        "0.0123457",
        "123.457",
    ):
        assert part in text
    for key in [*PRIVACY, *METRICS, *CONFIG, "deeper"]:
        assert key in text
    for item in PRIVACY["covers"] + PRIVACY["does_not_cover"] + PRIVACY["public"]:
        assert item in text
    for name in ("distilled.npz", "distilled.png", "privacy.json", "config.json", "checkpoints/"):
        assert name in text


def test_files_are_listed_that_are_there() -> None:
    _, text = page(files=FILES - {"checkpoints"})
    assert "distilled.npz" in text
    assert "checkpoints/" not in text
    metrics = {"accuracy": {"mlp": {"mean": 0.51}, "logistic": {"mean": None}}}
    config = {"dataset": "digits", "features": "entk"}
    options: dict[str, Any] = {"title": "synthetic", "story": GENERATED, "files": {"generator"}}
    _, text = page(metrics=metrics, config=config, **options)
    for part in ("entk", "mlp 51.0%", "logistic not measured", "generator/", 'synthetic["x"]'):
        assert part in text
    assert "embedding.npz" not in text


@pytest.mark.parametrize(
    ("config", "files"),
    [
        ({"example_shape": [8, 8, 1]}, "new.png folder/ new.npz"),
        ({"example_shape": [12], "csv": "people.csv"}, "new.csv"),
        ({"example_shape": [12], "csv": None}, "new.npz"),
    ],
)
def test_it_says_how_to_use_what_was_released(config: dict[str, Any], files: str) -> None:
    _, text = page(config=config)
    assert "Use it FOLDER is this folder. " in text
    assert f"jaxdp classify --run=FOLDER {files} import jaxdp" in text
    is_table = files == "new.csv"
    _, text = page(config=config, class_names=["all"], story=GENERATED)
    assert "classify" not in text
    assert (
        f"jaxdp sample --run=FOLDER --num=1000 --out={'more.csv' if is_table else 'more.npz'}"
        in text
    )
    assert f"print(loaded.{'frame' if is_table else 'x'})" in text


def test_a_good_run_carries_no_banner() -> None:
    assert not re.search("NOT RELEASABLE|NO PRIVACY|WARNING", page()[1])


def test_printed_epsilon_is_never_below_the_true_one() -> None:
    assert "ε = 1.001 δ = 1.001e-5" in page({"epsilon": 1.00001, "delta": 1.00001e-5})[1]


CHANGES = {
    IN_WORDS[ZERO_OUT]: "one record replaced by an empty one, which contributes nothing",
    IN_WORDS[REPLACE]: "one record replaced by any other",
    "odd<": "one record changed (odd<)",
}


@pytest.mark.parametrize("relation", CHANGES)
def test_guarantee_in_words(relation: str) -> None:
    _, text = page({"relation": relation, "epsilon": np.log(3.0), "delta": 0.0})
    assert CHANGES[relation] in text
    assert "= 3.001 times the probability" in text


EARLIER = Ledger(
    num_examples=1437,
    delta=1e-5,
    releases=(GaussianRelease(name="mean", sensitivity=0.1, stddev=1.0),),
)


def test_it_says_what_an_attacker_can_do_in_words_and_in_mu() -> None:
    attacker = {"in_words": "Who knows all is right at most 55.34 % of the time."}
    loss = {"gaussian_dp_mu": 0.268051, "attacker": attacker}
    _, text = page(loss)
    assert "right at most 55.34 % of the time. In numbers: 0.2681-Gaussian" in text
    assert "μ = 0.2681" in text
    assert "earlier runs" not in text
    more = {"gaussian_dp_mu": 0.5, "attacker": {"in_words": "Right at most 60 % of the time."}}
    sums = {"epsilon_with_earlier_runs": 1.4653, "loss_with_earlier_runs": more}
    sums |= {"relation_with_earlier_runs": IN_WORDS[REPLACE], "earlier_runs": [EARLIER.to_json()]}
    _, text = page({"epsilon": 1.0, **loss, **sums})
    assert "ε = 1.466 δ = 1e-5 μ = 0.5 with earlier runs; this one alone: ε = 1" in text
    first, _, second = text.partition("What the privacy guarantee says")[2].partition(
        "This run by itself"
    )
    assert "This run and an earlier run on the same data, together Compare these 2 runs" in first
    assert "replaced by any other. Whatever anyone reads out of all that they" in first
    assert "e 1.466 = 4.329 times the probability in one case" in first
    assert "Right at most 60 % of the time. In numbers: 0.5-Gaussian" in first
    assert "replaced by an empty one" in second
    assert "e 1 = 2.719 times the probability in one run" in second
    assert "55.34 % of the time. In numbers: 0.2681-Gaussian" in second
    assert "Right at most 60 % of the time. In numbers" not in second


def test_what_may_leave_and_what_must_not_comes_first() -> None:
    files = {"verdict": "MAY BE RELEASED, if", "may_leave": ["a.npz"], "must_stay": ["the data"]}
    text = page(files)[1]
    assert re.search("May it leave yes, as below .*MAY BE RELEASED, if May leave a.npz", text)
    assert re.search("May leave a.npz Must stay the data.*What the privacy guarantee", text)
    text = page(files | {"releasable": False})[1]
    assert "May leave" not in text


def test_warnings_are_loud() -> None:
    text = page({"warnings": ["delta is too large"]})[1]
    assert re.search("WARNING.*delta is too large.*What the privacy guarantee says", text)


@pytest.mark.parametrize("releasable", [False, None, "yes"])
def test_guarantee_the_top_lets_nothing_leave_that_is_not_releasable(releasable: Any) -> None:
    """Though it has an epsilon: noise of a seed has one, too."""
    _, text = page({"releasable": releasable, "epsilon": 1.0})
    assert "May it leave no" in text
    assert "yes, as below" not in text
    assert "May it leave yes, as below" in page({"releasable": True, "epsilon": 1.0})[1]


@pytest.mark.parametrize("releasable", [False, None, "yes"])
def test_anything_but_releasable_is_called_not_releasable(releasable: Any) -> None:
    _, text = page({"releasable": releasable, "not_releasable_reason": "--noise_seed was given"})
    assert re.search("NOT RELEASABLE.*--noise_seed was given", text)


NOT_PRIVATE = [{"epsilon": None, "delta": None}, {"epsilon": float("inf")}, {"mechanism": "none"}]


@pytest.mark.parametrize("privacy", NOT_PRIVATE)
def test_no_privacy_is_said_loudly(privacy: dict[str, Any]) -> None:
    _, text = page(privacy)
    assert "NO PRIVACY PROTECTION" in text
    assert "How private none" in text
    assert "there is no guarantee" in text
    assert "Gaussian" not in text


def test_hostile_values_are_escaped() -> None:
    hostile = "</td><script>alert('x')</script>&\"<img onerror=1>"
    text, visible = page(
        {"warnings": [hostile], "unit": hostile, "covers": [hostile], "relation": hostile,
         "releasable": False, "not_releasable_reason": hostile},
        {"dataset": hostile, hostile: {hostile: [hostile]}},
        title=hostile,
    )  # fmt: skip
    assert "<script" not in text
    assert "onerror" not in re.sub("&lt;.*?&gt;", "", text)
    assert visible.count("<script>alert") >= 10


def test_accuracy_not_measured() -> None:
    assert "50.0% what it began with: not measured" in page(metrics={"krr_test_accuracy": 0.5})[1]
    known = {"krr_test_accuracy": 0.5, "figures": {"krr": {"interval": [0.41, 0.5912]}}}
    assert "50.0% on new examples: 41.0 to 59.1% what it began with:" in page(metrics=known)[1]


def test_the_top_has_the_sentence_of_the_certificate() -> None:
    privacy = PRIVACY | {"verdict": "MAY BE RELEASED, if"}
    _, text = page(privacy)
    sentence, verdict = str(Certificate(privacy)).removesuffix(".").split(". ")
    assert sentence.endswith("-differentially private for 1437 records (zero-out)")
    top = f"{re.escape(sentence)}. The distilled set What digits 7 per class"
    assert re.search(f"{top} .*{re.escape(verdict)}", text)
    none = page(privacy | {"epsilon": None, "verdict": "NOT RELEASABLE"})[1]
    assert "There is no privacy: no noise was added. The distilled set What digits" in none


def test_what_was_likely_is_drawn_with_the_run_on_it() -> None:
    figures = {"krr": drawn_figures(3)}
    metrics = METRICS | {"figures": figures, "krr_test_accuracy": 0.8}
    expected = expected_of((28, 28, 1), 540, 3)
    three = names(3)
    text, visible = page(None, {"eps": 2.0}, metrics=metrics, class_names=three, expected=expected)
    assert "this run 80.0 %" in visible
    assert "Four of five sets that were left out are in the band" in visible
    assert "guessing 33 %" in visible
    assert re.search(
        "accuracy 80.0% 95 %: [0-9.]+ to [0-9.]+% always one class [34][0-9]% without privacy 9",
        visible,
    )
    assert "of this test split, always naming the largest class is right" in visible
    assert text.count("<svg") == 2
    table = expected_of((11,), 3000, 2)
    _, visible = page(None, {"eps": 2.0}, metrics={}, story=GENERATED, expected=table)
    assert "overlap of pairs, expected about 8" in visible
    assert "epsilon 2" in visible
    assert "numbers are cut into twentieths" in visible
    assert "What was likely" not in page()[1]


def judged_as(counts: list[list[int]]) -> dict[str, Any]:
    """Return metrics of a generated set whose classifier was tested with these counts."""
    confusion = np.array(counts)
    found = {"confusion": counts, "auc": 0.5, "num_test": int(confusion.sum())}
    found |= {"interval": [0.4, 0.95], "balanced_accuracy": 0.5, "calibration_error": 0.1}
    mean = float(np.trace(confusion) / confusion.sum())
    return {"accuracy": {"logistic": {"mean": mean, "figures": found}}}


def test_the_level_of_guessing_is_the_share_of_the_largest_class() -> None:
    def seen(counts: list[list[int]], *named: str) -> str:
        classes = list(named) or names(2)
        return page(None, None, metrics=judged_as(counts), class_names=classes, story=GENERATED)[1]

    none = seen([[92, 0], [8, 0]], "n\u00e3o", "sim")
    assert "By accuracy this is no better than a guess: the test accuracy of logistic, 92.00%" in (
        none
    )
    assert "is not above the 92.00% of always naming n\u00e3o" in none
    assert re.search("logistic 92.0% on new examples: .* not above always the largest", none)
    assert "always one class 92%" in none
    assert "guessing" not in none
    good = seen([[90, 2], [3, 5]])
    assert re.search("logistic 95.0% on new examples: .* always the largest class: 92.0%", good)
    assert "no better than a guess" not in good
    many = judged_as([[92, 0], [8, 0]])  # of many classes no confusion is kept
    many["accuracy"]["logistic"]["figures"] |= {"confusion": None, "commonest_share": 0.92}
    options: dict[str, Any] = {"class_names": names(60), "story": GENERATED}
    _, unknown = page(None, None, metrics=many, **options)
    assert "is not above the 92.00% of always naming the commonest class" in unknown
    even = seen([[40, 10], [10, 40]])
    assert "guessing 50%" in even
    assert "largest class" not in even
    assert "guessing" not in seen([[1, 0], [0, 0]])


def test_raw_metrics_are_folded_away() -> None:
    text, _ = page()
    assert re.search("<details><summary>All metrics</summary><section><h2>Metrics", text)
    assert text.index("All metrics") > text.index("What the privacy guarantee says")


def ends_of(figures: dict[str, Any]) -> str:
    low, high = (f"{100 * end:.1f}" for end in figures["interval"])
    return f"{low} to {high}%"


def test_figures_and_confusion_are_shown_and_marked_as_not_covered() -> None:
    figures = drawn_figures(3, missing=1)
    metrics = METRICS | {"figures": {"krr": figures}, "teacher_test_accuracy": 0.5}
    text, visible = page(metrics=metrics, class_names=["cat", "dog", "<b>"])
    head = "How good it is On 100 real test examples; computed from the whole test split without "
    assert f"{head}noise: not covered by the guarantee, no more than accuracy is." in visible
    row = f"kernel regression on it 45.3% {ends_of(figures)} "
    row += f"{100 * figures['balanced_accuracy']:.1f}%"
    assert f"{row} {figures['auc']:.3f} {figures['calibration_error']:.3f}" in visible
    counts = figures["confusion"]
    shares = " ".join(str(round(100 * count / sum(counts[0]))) for count in counts[0])
    assert (
        f"Confusion of kernel regression on it cat dog <b> cat {shares} dog not in the" in visible
    )
    assert f"auc: {figures['untold']['auc']}." in visible
    assert '<th scope="row">cat</th>' in text
    assert "sensitivity" not in visible.partition("Metrics")[2].partition("Privacy cert")[0]


def test_figures_of_judges_are_shown_beside_those_of_the_run() -> None:
    figures = drawn_figures(2)
    judged = {"mean": 0.5, "std": 0.1, "figures": figures}
    metrics = METRICS | {
        "figures": {"krr": figures, "teacher": figures},
        "evaluation": {"mlp": judged},
    }
    _, text = page(metrics=metrics)
    for name in ("the released teacher not measured", "mlp, trained on it 50.0%"):
        balanced = f"{100 * figures['balanced_accuracy']:.1f}%"
        assert f"{name} {ends_of(figures)} {balanced}" in text
    assert text.count("Confusion of") == 3
    assert "std 0.1" in text
    unknown = METRICS | {"evaluation": {"twelve": {"mean": 0.5, "figures": {"roc_auc": 0.75}}}}
    _, text = page(metrics=unknown)
    assert "How good it is" not in text
    assert "roc_auc 0.75" in text


def test_a_figure_that_does_not_exist_is_called_none() -> None:
    figures = drawn_figures(2) | {"auc": None, "confusion": None, "untold": {"auc": "one class"}}
    _, text = page(metrics=METRICS | {"figures": {"krr": figures}})
    assert re.search(r"kernel regression on it 45.3% [\d.]+ to [\d.]+% [\d.]+% none 0", text)
    assert "auc: one class." in text
    assert "Confusion" not in text
    assert "Of 100 test examples" not in text
