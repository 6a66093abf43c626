"""The list of judges: names, what each works on, and one line where it does not."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stripes

from jaxdp.program.errors import InputError
from jaxdp.program.evaluation import inception
from jaxdp.program.evaluation.facts import Facts
from jaxdp.program.evaluation.problem import Problem
from jaxdp.program.evaluation.recipe import (
    DISTILLED,
    GENERATED,
    GENERATED_ROWS,
    CnnRecipe,
    ConvNetRecipe,
    Recipe,
)
from jaxdp.program.evaluation.registry import (
    EVALUATIONS,
    KRR,
    as_line,
    as_lines,
    check,
    chosen,
    evaluate,
    generated_metrics,
    help_text,
    needs_range,
    parse,
)


def _toy(recipe: Any) -> Any:
    if isinstance(recipe, ConvNetRecipe):
        return dataclasses.replace(recipe, width=4, epochs=2)
    return dataclasses.replace(recipe, epochs=1, least_steps=2)


# Of every network that judges.
QUICK = {
    field.name: _toy(field.default)
    for field in dataclasses.fields(Recipe)
    if isinstance(field.default, ConvNetRecipe | CnnRecipe)
}
JUDGES = [name for name in EVALUATIONS if name != KRR]
IMAGES = Facts(
    holder="--dataset=mnist",
    shape=(28, 28, 1),
    num_classes=10,
    num_made=100,
    recipe=DISTILLED,
    inception_weights="inception.pth",
    soft_labels=True,
)
ROWS = dataclasses.replace(IMAGES, holder="--dataset=adult", shape=(14,))


def quick(recipe: Recipe, **options: Any) -> Recipe:
    return dataclasses.replace(recipe, seeds=(0, 1), **QUICK, **options)


@pytest.fixture(autouse=True)
def fake_inception(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network and its weights belong to others; test_inception.py has tests of it."""

    def fid(x: np.ndarray, x_real: np.ndarray, shape: Any, weights: str) -> dict[str, Any]:
        assert shape == stripes.SHAPE
        assert x.shape[1:] == x_real.shape[1:] == (64,)
        return {"value": 3.0, "computed_by": weights}

    monkeypatch.setattr(inception, "inception_fid", fid)


def problem_of(kind: str, recipe: Recipe) -> Problem:
    given = stripes.problem(recipe=recipe, inception_weights="w.pth")
    if kind == "image":
        return dataclasses.replace(given, soft_labels=np.eye(3, dtype=np.float32)[given.y])
    return dataclasses.replace(given, x=given.rows, x_test=given.test_rows)


# --- Names -------------------------------------------------------------------------------


def test_names_are_parsed_in_order_and_once() -> None:
    assert parse("krr") == ("krr",)
    assert parse(" mlp, convnet,krr,mlp ") == ("mlp", "convnet", "krr")
    assert parse("none") == ()
    assert tuple(EVALUATIONS) == (
        "krr",
        "convnet",
        "convnet_soft",
        "convnet_dsa",
        "convnet_dsa_soft",
        "cnn",
        "cnn_soft",
        "wrn",
        "wrn_soft",
        "logistic",
        "mlp",
        "forest",
        "twelve",
        "frechet",
        "inception",
    )


@pytest.mark.parametrize("text", ["resnet", "", "krr,", "krr,resnet", "KRR", "none,krr"])
def test_unknown_names_are_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith(f"--evaluate={text}: ")
    known = (
        "krr, convnet, convnet_soft, convnet_dsa, convnet_dsa_soft, cnn, cnn_soft, wrn, wrn_soft, "
        "logistic, mlp, forest, twelve, frechet, inception, or none alone"
    )
    assert message.endswith(f"is unknown; known are {known}")


def test_help_has_every_name_in_one_line_and_imports_nothing_large() -> None:
    for name, each in EVALUATIONS.items():
        assert f"{name} ({each.help})" in help_text()
        assert "\n" not in each.help
        assert not each.help.endswith(".")
    code = (
        "import sys, jaxdp.program.evaluation.registry\n"
        "assert not {'numpy', 'jax'} & set(sys.modules)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_names_are_chosen_without_what_the_run_measures_itself() -> None:
    facts = dataclasses.replace(IMAGES, inception_weights=None)
    assert chosen("krr", facts) == ()
    assert chosen("none", facts) == ()
    assert chosen(None, facts) == ("logistic", "forest")
    assert chosen(None, dataclasses.replace(facts, shape=(65, 64, 1))) == ()
    assert chosen("convnet,krr,frechet", facts) == ("convnet", "frechet")


def test_by_default_a_set_is_judged_by_what_fits_it() -> None:
    facts = dataclasses.replace(IMAGES, recipe=GENERATED, inception_weights=None)
    assert chosen(None, facts) == ("logistic", "mlp", "frechet")
    for change, expected in (
        ({"shape": (14,), "recipe": GENERATED_ROWS}, ("logistic", "mlp")),
        ({"shape": (7, 28, 1)}, ("logistic", "mlp", "frechet")),
        ({"shape": (28, 2, 1)}, ("logistic", "mlp")),
        ({"num_classes": 1}, ("frechet",)),
        ({"num_made": 2}, ("logistic", "mlp", "frechet")),
        ({"num_made": 1}, ("logistic", "mlp")),
        ({"num_test": 1}, ("logistic", "mlp")),
        ({"num_test": 2}, ("logistic", "mlp", "frechet")),
        ({"shape": (3, 7, 1), "num_classes": 1}, ()),
    ):
        assert chosen(None, dataclasses.replace(facts, **change)) == expected


def test_a_distilled_set_of_very_many_classes_is_judged_by_its_own_classifier_alone() -> None:
    facts = dataclasses.replace(IMAGES, inception_weights=None)
    for num_classes, num_made, expected in (
        (200, 2000, ("logistic", "forest")),
        (1000, 1000, ()),
        (2000, 2000, ()),
    ):
        sizes = {"num_classes": num_classes, "num_made": num_made}
        assert chosen(None, dataclasses.replace(facts, **sizes)) == expected
    generated = dataclasses.replace(facts, recipe=GENERATED_ROWS, shape=(14,), num_made=10**6)
    assert chosen(None, generated) == ("logistic", "mlp")


def test_weights_name_inception() -> None:
    facts = dataclasses.replace(IMAGES, recipe=GENERATED)
    assert chosen("none", facts) == ("inception",)
    assert chosen("inception,mlp", facts) == ("inception", "mlp")
    assert chosen(None, facts) == ("logistic", "mlp", "frechet", "inception")
    with pytest.raises(InputError) as caught:
        chosen(None, dataclasses.replace(facts, holder="--dataset=adult", shape=(14,)))
    assert str(caught.value) == (
        "--inception_weights=inception.pth: inception works on images, and --dataset=adult holds "
        "rows of 14 values; leave it out"
    )


# --- What each works on ------------------------------------------------------------------


def require_packages(name: str) -> None:
    if name == "twelve":
        pytest.importorskip("xgboost", reason="the extra [tables] is not installed")


@pytest.mark.parametrize("name", list(EVALUATIONS))
def test_every_judge_works_on_its_kinds_and_is_refused_in_one_line_elsewhere(name: str) -> None:
    entry = EVALUATIONS[name]
    require_packages(name)
    for facts in (IMAGES, ROWS):
        if facts.kind in entry.kinds:
            check((name,), facts)
            continue
        with pytest.raises(InputError) as caught:
            chosen(f"krr,{name}", facts)
        said = "works on images, and --dataset=adult holds rows of 14 values"
        if name == "twelve":
            said = "works on rows, and --dataset=mnist holds images"
        assert str(caught.value) == f"--evaluate=krr,{name}: {name} {said}; leave it out"
    alone = dataclasses.replace(IMAGES if "image" in entry.kinds else ROWS, num_classes=1)
    if entry.needs_labels:
        with pytest.raises(InputError, match=f"^--evaluate: {name} tells classes apart, .*; leave"):
            check((name,), alone)
    else:
        check((name,), alone)


@pytest.mark.parametrize("recipe", [DISTILLED, GENERATED], ids=["distilled", "generated"])
@pytest.mark.parametrize("kind", ["image", "table"])
@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_judges_the_kinds_that_it_names(name: str, kind: str, recipe: Recipe) -> None:
    require_packages(name)
    given = problem_of(kind, quick(recipe))
    if kind not in EVALUATIONS[name].kinds:
        with pytest.raises(InputError, match=f"^--evaluate={name}: {name} works on "):
            evaluate((name,), given)
        return
    found = evaluate((name,), given)
    assert list(found) == [name]
    assert json.loads(json.dumps(found)) == found
    line = as_line(name, found[name])
    assert line.startswith(name)
    assert "\n" not in line
    if EVALUATIONS[name].needs_labels:
        once = name in ("twelve", "cnn", "cnn_soft", "wrn", "wrn_soft")
        assert found[name]["seeds"] == ([0] if once else [0, 1])
        assert f"{found[name]['mean']:.2%}" in line


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("krr", {"recipe": GENERATED}, "krr is for distilled sets, and this one is generated"),
        ("frechet", {"shape": (8, 3, 1)}, "sides of at least 4 pixels, and these have 8 x 3"),
        ("frechet", {"num_made": 99}, "needs 100 images or more, .* and 99 are made"),
        ("frechet", {"num_made": 1, "recipe": GENERATED}, "needs 2 images or more"),
        ("frechet", {"num_test": 1}, "needs 2 test images or more, .* the test split has 1"),
        ("inception", {"num_test": 1}, "needs 2 test images or more"),
        ("cnn_soft", {"soft_labels": False}, "needs soft labels, as --labels=teacher"),
        ("convnet_dsa_soft", {"soft_labels": False}, "needs soft labels"),
        ("inception", {"inception_weights": None}, "inception needs --inception_weights=FILE"),
    ],
)
def test_what_else_is_in_the_way_is_one_line(name: str, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"^--evaluate={name}: {name} .*; leave it out$") as caught:
        chosen(name, dataclasses.replace(IMAGES, **change))
    assert caught.match(said)


def test_the_runs_own_judge_is_not_called() -> None:
    with pytest.raises(ValueError, match="the run measures it itself"):
        evaluate((KRR,), problem_of("image", DISTILLED))


def test_distances_see_a_made_set_on_its_public_range() -> None:
    given = problem_of("image", quick(DISTILLED))
    x, x_test = 4 * given.x - 2, 4 * given.x_test - 2
    scaled = dataclasses.replace(given, x=x, x_test=x_test, low=-2, high=2)
    before, after = (evaluate(("frechet",), each)["frechet"] for each in (given, scaled))
    assert after["distance"] == pytest.approx(before["distance"], rel=1e-3)
    assert needs_range(("mlp", "frechet"))
    assert needs_range(("inception",))
    assert not needs_range(("convnet", "logistic", "mlp"))


def test_metrics_of_a_generating_run_keep_their_keys() -> None:
    found = {name: {"of": name} for name in ("frechet", "mlp", "inception", "logistic")}
    assert generated_metrics(found) == {
        "accuracy": {"mlp": {"of": "mlp"}, "logistic": {"of": "logistic"}},
        "frechet": {"of": "frechet"},
        "frechet_inception_distance": {"of": "inception"},
    }
    assert generated_metrics({}) == {}


def test_a_runs_metrics_are_told_line_by_line_distances_included() -> None:
    accuracy = {"mean": 0.5, "std": 0.1}
    metrics = {
        "evaluation": {"convnet": accuracy},
        "accuracy": {"mlp": accuracy},
        "frechet": {"distance": 0.25, "density": 0.5, "coverage": 0.75},
        "frechet_inception_distance": {"value": 7.0},
        "embedding_distance": 3.0,
    }
    assert as_lines(metrics) == [
        "convnet test accuracy 50.00% (std 10.00%)",
        "mlp test accuracy 50.00% (std 10.00%)",
        "frechet distance 0.25, density 0.50, coverage 0.75",
        "inception distance 7",
    ]
