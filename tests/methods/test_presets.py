"""Presets: what they say, who takes them, and that nothing else knows a dataset by its name."""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import drivers

from jaxdp.data import Spec
from jaxdp.methods import dp_kip, dp_ntk, presets, record, teacher
from jaxdp.methods.dp_ntk import labels as labelled
from jaxdp.methods.dp_ntk.labels.settings import teacher_settings
from jaxdp.methods.settings import SettingsError
from jaxdp.program.data.known import FLOATS
from jaxdp.program.runs import planning

METHODS: dict[str, Any] = {
    "dp_kip": dp_kip,
    "dp_ntk": dp_ntk,
    "teacher": teacher,
    "labelled": labelled,
}
SHAPES = {
    "digits": (1437, 8, 8),
    "mnist": (60000, 28, 28),
    "fashion_mnist": (60000, 28, 28),
    "svhn_cropped": (73257, 32, 32, 3),
    "cifar10": (50000, 32, 32, 3),
    "cifar100": (50000, 32, 32, 3),
}


def images(dataset: str, name: str = "own") -> Spec:
    """Return facts as those about a dataset, under another name."""
    return Spec.images(name, SHAPES[dataset], class_names=list("0123456789"))


def completed(method: str, dataset: str, **given: Any) -> Any:
    """Return complete settings as the command line has them for a dataset."""
    settings = presets.for_dataset(METHODS[method].Settings(**given), dataset, "image")
    return METHODS[method].complete(settings, images(dataset))


# As version 0.2.0 had them before they were presets, when they went by the name of the data.
BEFORE: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("dp_kip", "digits", {}, {"epochs": 300 * 500 / 1437, "steps": 300, "smoothing": 0.0}),
    ("dp_kip", "digits", {"batch_size": 50}, {"epochs": 60.0, "steps": 1740}),
    ("dp_kip", "mnist", {}, {"steps": 1200, "clip_norm": 1e-2, "smoothing": 1.5}),
    ("dp_kip", "mnist", {"eps": math.inf}, {"learning_rate": 0.2, "smoothing": 0.0}),
    ("dp_kip", "mnist", {"kernel": "scatter"}, {"clip_norm": 0.4, "ridge": 1e-4, "whiten": 0.0}),
    ("dp_kip", "mnist", {"kernel": "scatter", "eps": math.inf}, {"ridge": 1e-3, "whiten": 0.01}),
    ("dp_kip", "fashion_mnist", {"kernel": "scatter"}, {"clip_norm": 3e-3, "learning_rate": 0.05}),
    ("dp_kip", "cifar10", {"kernel": "fc_nngp"}, {"clip_norm": 1e-3, "smoothing": 3.0}),
    ("dp_kip", "cifar10", {"kernel": "entk"}, {"clip_norm": 1e-2, "smoothing": 0.0}),
    ("dp_kip", "svhn_cropped", {"kernel": "scatter"}, {"clip_norm": 1e-3, "whiten": 0.0}),
    ("dp_ntk", "digits", {}, {"steps": 1000, "batch_size": 500}),
    ("dp_ntk", "mnist", {}, {"steps": 2000, "batch_size": 5000, "code_dim": 5}),
    ("dp_ntk", "mnist", {"features": "rff"}, {"length_scale": math.sqrt(105), "batch_size": 500}),
    ("dp_ntk", "mnist", {"features": "hermite"}, {"generator": "dense", "code_dim": 15}),
    ("dp_ntk", "cifar100", {}, {"steps": 20000, "ntk_width": "3000_200", "generator": "resnet"}),
    ("dp_ntk", "cifar100", {"preset": "fast"}, {"steps": 1200, "ntk_width": "800"}),
    ("dp_ntk", "cifar10", {"network": "cnn_2l"}, {"ntk_width": "200_100", "code_dim": 31}),
    ("teacher", "svhn_cropped", {}, {"mirror": False, "patches": 512}),
    ("labelled", "mnist", {"labels": "teacher"}, {"features": "scatter_rbf", "batch_size": 500}),
]


@pytest.mark.parametrize(("method", "dataset", "given", "expected"), BEFORE)
def test_tuned_settings_are_those_of_published_figures(
    method: str, dataset: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = completed(method, dataset, **given)
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)


def test_the_teacher_that_labels_has_its_tuned_settings_too() -> None:
    found = completed("labelled", "svhn_cropped", labels="teacher", eps=1.0)
    assert teacher_settings(found, images("svhn_cropped")).mirror is False
    assert teacher_settings(found, images("cifar10")).mirror is False  # by the preset of the other
    plain = completed("labelled", "cifar10", labels="teacher", eps=1.0)
    assert teacher_settings(plain, images("cifar10")).mirror is True


@pytest.mark.parametrize("name", [name for name in presets.names() if name.startswith("tuned:")])
@pytest.mark.parametrize("method", ["dp_kip", "dp_ntk", "teacher"])
def test_a_tuned_preset_by_its_name_is_what_a_dataset_has(method: str, name: str) -> None:
    dataset = name.removeprefix("tuned:")
    kind = METHODS[method].Settings
    named = METHODS[method].complete(kind(preset=name), images(dataset))
    by_dataset = completed(method, dataset)
    assert dataclasses.replace(named, preset=by_dataset.preset) == by_dataset
    if method in presets.of(name).rows:
        assert named != METHODS[method].complete(kind(), images(dataset))


# Of the papers' tables: DP-KIP's 11 to 14 and 10, DP-NTK's 5, and DP-MERF's and DP-HP's constants.
PAPERS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        *("dp_kip", "mnist", {"ipc": 10, "eps": 1.0}),
        {"epochs": 10, "batch_size": 500, "learning_rate": 1e-2, "clip_norm": 1e-6, "ridge": 1e-6},
    ),
    (
        *("dp_kip", "mnist", {"ipc": 1, "eps": 1.0, "kernel": "scatter"}),
        # Fewer steps than the rules have.
        {"steps": 240, "batch_size": 5000, "clip_space": "pixels", "scatter_norm": "paper"},
    ),
    (
        *("dp_kip", "fashion_mnist", {"ipc": 50, "eps": 1.0}),
        {"batch_size": 200, "clip_norm": 1e-2, "smoothing": 0.0, "average_decay": 0.0},
    ),
    (
        *("dp_kip", "svhn_cropped", {"ipc": 50, "eps": 10.0, "kernel": "scatter"}),
        {"epochs": 50, "batch_size": 100, "ridge": 1e-3, "init_scale": 1.0},
    ),
    (
        *("dp_kip", "cifar10", {"ipc": 50, "eps": math.inf, "kernel": "scatter"}),
        {"epochs": 1000, "batch_size": 5000, "clip_norm": math.inf, "ridge": 1e-3},
    ),
    (
        *("dp_ntk", "mnist", {"eps": 0.2}),
        {"steps": 2000, "batch_size": 5000, "code_dim": 5, "schedule": "published"},
    ),
    (
        *("dp_ntk", "fashion_mnist", {"features": "rff"}),
        {"steps": 3000, "batch_size": 100, "length_scale": math.sqrt(127), "ema_decay": 0.0},
    ),
    (
        *("dp_ntk", "mnist", {"features": "hermite"}),
        {"steps": 3000, "batch_size": 200, "code_dim": 5, "generator": "dense"},
    ),
    (
        *("dp_ntk", "cifar10", {"eps": 10.0}),
        {"steps": 40000, "code_dim": 201, "ntk_width": "3000_200", "unconditional": True},
    ),
    (
        *("dp_ntk", "cifar10", {"eps": math.inf}),
        {"steps": 20000, "code_dim": 31, "ntk_width": "800_1000", "unconditional": False},
    ),
]


@pytest.mark.parametrize(("method", "dataset", "given", "expected"), PAPERS)
def test_settings_of_papers_are_those_of_their_tables(
    method: str, dataset: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    package = METHODS[method]
    asked = package.Settings(preset=f"paper:{dataset}", **given)
    found = package.complete(asked, images(dataset))
    assert {name: getattr(found, name) for name in expected} == expected
    assert package.make_plan(found, images(dataset)).settings.preset == f"paper:{dataset}"


def test_what_is_given_stands_before_a_preset() -> None:
    given = {"learning_rate": 0.3, "clip_space": "features"}
    asked = dp_kip.Settings(preset="paper:mnist", kernel="scatter", **given)
    found = dp_kip.complete(asked, images("mnist"))
    assert (found.learning_rate, found.clip_space, found.epochs) == (0.3, "features", 20)


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("dp_kip", {"eps": 2.0}, "--preset=paper:mnist: has no --eps=2, but 1, 10"),
        ("dp_kip", {"ipc": 3}, "--preset=paper:mnist: has no --ipc=3, but 1, 10, 50"),
        ("dp_kip", {"kernel": "entk"}, "has no --kernel=entk, but fc_ntk, scatter, perceptual"),
        ("dp_kip", {"kernel": "perceptual"}, "has no --eps=1, but inf"),
        ("dp_ntk", {"features": "scatter"}, "has no --features=scatter, but entk, rff, hermite"),
        ("teacher", {}, "--preset=paper:mnist: has no settings of teacher, but of dp_kip, dp_ntk"),
    ],
)
def test_a_run_that_is_in_no_table_of_the_papers_is_refused(
    method: str, given: dict[str, Any], said: str
) -> None:
    asked = METHODS[method].Settings(preset="paper:mnist", **given)
    with pytest.raises(SettingsError, match=said):
        METHODS[method].complete(asked, images("mnist"))


@pytest.mark.parametrize("method", ["dp_kip", "dp_ntk", "teacher"])
def test_names_that_there_are_not_are_refused_with_the_list_of_those_that_there_are(
    method: str,
) -> None:
    with pytest.raises(SettingsError) as error:
        METHODS[method].Settings(preset="paper:celeba")
    said = str(error.value)
    assert said.startswith("--preset=paper:celeba: unknown; known are ")
    assert ("full, fast" in said) == (method == "dp_ntk")
    assert all(name in said for name in presets.names())
    with pytest.raises(LookupError, match="paper:celeba: unknown; known are paper:mnist"):
        presets.of("paper:celeba")


def test_a_teacher_labels_nothing_where_a_preset_tells_no_classes_apart() -> None:
    """As the paper's CIFAR-10 at epsilon 10, whose generator has one class."""
    given = {"eps": 10.0, "features": "entk", "preset": "paper:cifar10"}
    assert dp_ntk.complete(dp_ntk.Settings(**given), images("cifar10")).unconditional
    asked = dp_ntk.Settings(**given, labels="teacher")
    with pytest.raises(SettingsError, match="--labels=teacher: tells classes apart"):
        dp_ntk.complete(asked, images("cifar10"))


def test_presets_are_for_images() -> None:
    rows = Spec.rows("mnist", (500, 6), class_names=list("abc"))
    for package in (dp_kip, dp_ntk, teacher):
        with pytest.raises(SettingsError, match=r"--preset=tuned:mnist: is for images, and --data"):
            package.complete(package.Settings(preset="tuned:mnist"), rows)


@pytest.mark.parametrize("method", list(METHODS))
def test_the_name_of_data_changes_no_setting(method: str) -> None:
    package = METHODS[method]
    for dataset in SHAPES:
        asked = package.Settings()
        named, own = (package.complete(asked, images(dataset, name)) for name in (dataset, "own"))
        assert named == own


def _spec(name: str, *shape: int) -> Spec:
    return Spec(name=name, shape=shape, class_names=("a", "b"), num_examples=4, codec=FLOATS)


def test_the_program_takes_the_tuned_preset_of_a_dataset_of_images_that_it_knows_by_name() -> None:
    def name_of(dataset: str, *shape: int, csv: str | None = None, **given: Any) -> str | None:
        run_flags = SimpleNamespace(csv=csv)
        settings = dp_kip.Settings(**given)
        found = planning.with_preset(settings, run_flags, _spec(dataset, *shape)).defaults
        return None if found is None else found.name

    assert name_of("mnist", 28, 28, 1) == "tuned:mnist"
    assert name_of("scans", 28, 28, 1) is None
    assert name_of("mnist", 784) is None
    assert name_of("digits", 8, 8, 1, csv="digits.csv") is None
    assert name_of("mnist", 28, 28, 1, preset="paper:mnist") == "paper:mnist"


def test_a_method_without_presets_gets_none() -> None:
    settings = object()
    assert presets.for_dataset(settings, "mnist", "image") is settings


@pytest.mark.parametrize("method", ["dp_kip", "teacher", "dp_ntk"])
def test_a_flag_names_a_preset_and_a_run_remembers_it(method: str, tmp_path: Path) -> None:
    flags = ["--preset=tuned:mnist", "--steps=9", f"--out_dir={tmp_path}"]
    plan = drivers.prepared(method, *flags).plan
    assert (plan.settings.defaults, plan.settings.steps) == (presets.of("tuned:mnist"), 9)
    assert record.config_of(plan)["preset"] == "tuned:mnist"


@pytest.mark.parametrize(("method", "stored"), [("dp_kip", None), ("dp_ntk", "full")])
def test_a_dataset_known_by_name_leaves_config_json_as_it_was(
    method: str, stored: str | None, tmp_path: Path
) -> None:
    plan = drivers.prepared(method, f"--out_dir={tmp_path}").plan
    assert plan.settings.defaults is presets.of("tuned:digits")
    assert record.config_of(plan)["preset"] == stored


def test_settings_of_methods_name_no_dataset() -> None:
    """Rules are by shape, n, classes and epsilon: names are in one file."""
    methods = Path(presets.__file__).parent
    for path in methods.rglob("*.py"):
        if path == Path(presets.__file__):
            continue
        nodes = ast.walk(ast.parse(path.read_text()))
        texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
        assert not texts & SHAPES.keys(), path
