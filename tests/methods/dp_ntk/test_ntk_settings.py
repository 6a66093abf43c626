"""Defaults of DP-NTK's settings, by data, preset and features."""

from __future__ import annotations

from typing import Any

import pytest

from jaxdp.data import Spec
from jaxdp.methods import presets, warned
from jaxdp.methods.dp_ntk.settings import Settings, complete
from jaxdp.methods.settings import SettingsError

SHAPES = {"mnist": (28, 28, 1), "cifar10": (32, 32, 3), "unknown": (32, 32, 3)}


def completed(name: str, shape: tuple[int, ...], **given: Any) -> Settings:
    """Return complete settings, with the tuned defaults of a dataset."""
    facts, names = (Spec.rows if len(shape) == 1 else Spec.images), ["a", "b"]
    settings = presets.for_dataset(Settings(**given), name, "image")
    return complete(settings, facts("own", (1000, *shape), class_names=names))


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("mnist", {}, (2000, 5000, 5)),
        ("mnist", {"preset": "fast"}, (1200, 500, 16)),
        ("mnist", {"features": "scatter"}, (2000, 500, 5)),
        ("mnist", {"features": "scatter_rbf"}, (2000, 500, 16)),
        ("mnist", {"features": "scatter_rbf", "preset": "fast"}, (600, 300, 16)),
        # Of as many values as 500, or 300, of 32 x 32 grey pixels.
        ("cifar10", {"preset": "fast"}, (1200, 166, 31)),
        ("unknown", {"preset": "fast"}, (1200, 166, 16)),
        ("unknown", {"features": "scatter_rbf", "preset": "fast"}, (600, 100, 16)),
        ("mnist", {"features": "rff"}, (2000, 500, 5)),
        ("mnist", {"features": "hermite"}, (2000, 200, 15)),
        ("cifar10", {"features": "scatter_rbf"}, (20000, 500, 31)),
        ("mnist", {"features": "scatter_rbf", "batch_size": 60, "code_dim": 4}, (2000, 60, 4)),
    ],
)
def test_training_defaults_depend_on_data_and_features(
    name: str, given: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    found = completed(name, SHAPES[name], **given)
    assert (found.steps, found.batch_size, found.code_dim) == expected


@pytest.mark.parametrize(("shape", "expected"), [((28, 28, 1), "entk"), ((9,), "hermite")])
def test_features_of_images_are_those_of_the_paper_and_of_bare_rows_not(
    shape: tuple[int, ...], expected: str
) -> None:
    assert completed("own", shape).features == expected


@pytest.mark.parametrize(
    ("name", "given", "shape", "expected"),
    [
        ("digits", {}, (28, 28, 1), "conv"),
        ("digits", {}, (30, 28, 1), "dense"),
        ("digits", {}, (32, 32, 3), "resnet"),
        ("digits", {"preset": "fast"}, (32, 32, 3), "conv"),
        ("digits", {"preset": "fast"}, (30, 32, 3), "dense"),
        ("digits", {}, (28, 28, 3), "conv"),
        ("digits", {}, (32, 30, 3), "dense"),
        ("own", {}, (9,), "table"),
        ("mnist", {"features": "hermite"}, (28, 28, 1), "dense"),
        ("mnist", {"features": "hermite", "generator": "conv"}, (28, 28, 1), "conv"),
        ("fashion_mnist", {"features": "hermite"}, (28, 28, 1), "conv"),
    ],
)
def test_generator_depends_on_the_shape_of_an_example(
    name: str, given: dict[str, Any], shape: tuple[int, ...], expected: str
) -> None:
    assert completed(name, shape, **given).generator == expected


def test_fast_features_are_of_a_small_network() -> None:
    assert completed("cifar10", SHAPES["cifar10"]).network == "fc_2l"
    fast = completed("cifar10", SHAPES["cifar10"], preset="fast")
    assert (fast.network, fast.ntk_width) == ("fc_1l", "800")


def test_equal_priors_need_no_shares_of_classes() -> None:
    rows = Spec.rows("rows", (500, 4), class_names=["a", "b"])
    assert complete(Settings(), rows).weights_share == 0.1
    assert complete(Settings(priors="equal"), rows).weights_share == 0
    for given in ({"weights_share": 0.2}, {"unconditional": True}):
        with pytest.raises(SettingsError, match="priors"):
            complete(Settings(priors="equal", **given), rows)


@pytest.mark.parametrize(
    ("given", "shape", "passes"),
    [
        ({"features": "scatter_rbf"}, (28, 28, 1), 0),
        ({"features": "encoder_rbf"}, (32, 32, 3), 8),
        ({"features": "scatter_rbf", "preset": "fast"}, (28, 28, 1), 0),
        ({"features": "encoder_rbf", "preset": "fast"}, (32, 32, 3), 2),
        ({"features": "rff"}, (28, 28, 1), 0),
        ({"features": "rff", "flow_passes": 3}, (28, 28, 1), 3),
        ({}, (28, 28, 1), 0),
        ({}, (9,), 0),
    ],
)
def test_images_are_moved_to_embeddings_that_tell_much_of_them(
    given: dict[str, Any], shape: tuple[int, ...], passes: int
) -> None:
    assert completed("own", shape, **given).flow_passes == passes


def test_half_of_an_embedding_that_moves_nothing_is_told_of() -> None:
    """It may be left out of a run that goes on: what was embedded stays."""
    spec, given = Spec.images("own", (9000, 32, 32, 3), class_names="ab"), {"eps": 1.0}
    for features, passes, count in (("encoder_rbf", 0, 1), ("encoder_rbf", 2, 0), ("rff", 0, 0)):
        asked = Settings(features=features, flow_passes=passes, **given)
        assert len(list(warned.odd_numbers(complete(asked, spec), spec))) == count


@pytest.mark.parametrize("preset", ["full", "fast"])
@pytest.mark.parametrize("features", ["entk", "rff", "scatter_rbf", "encoder_rbf"])
def test_steps_have_two_examples_of_each_of_many_classes(features: str, preset: str) -> None:
    names = [str(number) for number in range(700)]
    spec = Spec.images("own", (9000, 64, 64, 3), class_names=names)
    done = complete(Settings(features=features, preset=preset), spec)
    assert done.batch_size == 1400


@pytest.mark.parametrize(
    ("given", "shape", "said"),
    [
        ({"flow_passes": 1}, (28, 28, 1), "is for images and --features=rff, scatter, scatter_rbf"),
        ({"features": "rff", "flow_passes": 1}, (9,), "is for images"),
        ({"features": "encoder_rbf"}, (9,), "^--features=encoder_rbf: works on images"),
        ({"flow_passes": -1}, (28, 28, 1), "must be 0 or above"),
    ],
)
def test_moves_of_what_cannot_be_moved_are_refused(
    given: dict[str, Any], shape: tuple[int, ...], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        completed("own", shape, **given)
