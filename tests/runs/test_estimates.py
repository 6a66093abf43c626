"""Estimates are within a factor of what runs took, and a function of public facts alone."""

from __future__ import annotations

import importlib
import inspect
import math
from types import SimpleNamespace
from typing import Any

import pytest
from support import drivers

from jaxdp import large_arrays
from jaxdp.methods import dp_ntk, presets
from jaxdp.methods.dp_ntk.features import FEATURES
from jaxdp.methods.dp_ntk.labels.settings import LABELS, TEACHER
from jaxdp.methods.settings import SettingsError
from jaxdp.methods.teacher.settings import Settings
from jaxdp.program.run_flags import TeacherFlags
from jaxdp.program.runs import amounts, before, estimates, recommendation
from jaxdp.program.runs.estimates import Estimate, Phase

GREY, COLOUR = (28, 28, 1), (32, 32, 3)
# Method, dataset, shape, n, settings, and the seconds of the whole command on two quiet cores:
# whole_commands_cpu.txt, large_images_cpu.txt, recommended_cpu.txt, teacher_maps_cpu.txt, and of
# 1998 examples docs/tried.md; docs/results.md has training alone, to which half a minute is added.
# That with patches ran beside other programs.
MEASURED: list[tuple[str, str, tuple[int, ...], int, dict[str, Any], float]] = [
    ("teacher", "grey", GREY, 300, {}, 17),
    ("teacher", "grey", GREY, 5000, {}, 24),
    ("teacher", "grey", GREY, 1998, {"ipc": 10}, 48),
    ("teacher", "grey", GREY, 1998, {"ipc": 10, "encoder": False}, 25),
    ("teacher", "mnist", GREY, 60000, {"ipc": 50, "eps": 10.0, "encoder": False}, 88),
    ("teacher", "cifar10", COLOUR, 50000, {"eps": 10.0, "patches": 0, "encoder": False}, 121),
    ("teacher", "cifar10", COLOUR, 50000, {"ipc": 10, "encoder": False}, 521),
    ("teacher", "cifar10", COLOUR, 15000, {"eps": 10.0}, 153),
    ("teacher", "cifar10", COLOUR, 15000, {"eps": 10.0, "ipc": 5}, 534),
    ("teacher", "mnist", GREY, 60000, {"ipc": 10, "match": "both", "encoder": False}, 325),
    ("teacher", "large", (33, 47, 3), 600, {"ipc": 10, "eps": 10.0, "encoder": False}, 70),
    ("teacher", "large", (224, 224, 1), 2000, {"ipc": 10, "eps": 10.0, "encoder": False}, 128),
    ("teacher", "large", (224, 224, 3), 2000, {"ipc": 10, "eps": 10.0, "encoder": False}, 193),
    ("dp_kip", "grey", GREY, 1000, {}, 12),
    ("dp_kip", "mnist", GREY, 60000, {"ipc": 10, "epochs": 10.0, "batch_size": 500}, 89),
    ("dp_kip", "mnist", GREY, 60000, {"ipc": 50, "steps": 1200, "batch_size": 500}, 917),
    ("dp_kip", "cifar10", COLOUR, 50000, {"ipc": 10}, 138),
    ("dp_kip", "mnist", GREY, 60000, {"kernel": "scatter", "batch_size": 4000, "steps": 600}, 176),
    ("dp_kip", "cifar10", COLOUR, 50000, {"kernel": "scatter"}, 319),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "scatter_rbf", "steps": 2000}, 277),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "scatter_rbf", "preset": "fast"}, 222),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "entk", "preset": "fast"}, 172),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "entk", "batch_size": 5000}, 1110),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "rff", "batch_size": 500}, 716),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "hermite", "steps": 3000}, 159),
    ("dp_ntk", "mnist", GREY, 60000, {"labels": "teacher", "candidates": 1}, 624),
    ("dp_ntk", "mnist", GREY, 60000, {"labels": "teacher"}, 370),
]
_FACTOR = 2.6


def estimated(
    method: str, shape: tuple[int, ...], n: int, *, name: str = "own", **given: Any
) -> Estimate:
    package = importlib.import_module(f"jaxdp.methods.{method}")
    spec = recommendation.spec_of(shape, n, 3 if name == "large" else 10)
    settings = presets.for_dataset(package.Settings(**given), name, spec.kind.stored)
    return estimates.of_run(method, package.complete(settings, spec), spec, num_test=2000)


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: f"{case[0]} {case[1]} {case[4]}")
def test_estimates_are_within_a_factor_of_measured_runs(case: Any) -> None:
    method, name, shape, n, given, seconds = case
    found = estimated(method, shape, n, name=name, **given)
    assert seconds / _FACTOR < found.seconds < seconds * _FACTOR


# The same files have peaks of memory, in GB.
PEAKS: list[tuple[str, str, tuple[int, ...], int, dict[str, Any], float]] = [
    ("teacher", "grey", GREY, 300, {}, 0.7),
    ("teacher", "grey", GREY, 1998, {"ipc": 10}, 1.1),
    ("teacher", "mnist", GREY, 60000, {"ipc": 10, "eps": 10.0}, 1.6),
    ("teacher", "mnist", GREY, 60000, {"ipc": 50, "eps": 10.0, "encoder": False}, 1.1),
    ("teacher", "cifar10", COLOUR, 50000, {"eps": 10.0, "patches": 0}, 1.5),
    ("teacher", "large", (33, 47, 3), 600, {"ipc": 10, "eps": 10.0}, 1.7),
    ("teacher", "large", (224, 224, 1), 2000, {"ipc": 10, "eps": 10.0}, 1.7),
    ("teacher", "large", (224, 224, 3), 2000, {"ipc": 10, "eps": 10.0}, 2.6),
    ("dp_kip", "grey", GREY, 1000, {}, 0.6),
    ("dp_ntk", "grey", GREY, 5000, {"features": "scatter_rbf", "preset": "fast"}, 2.4),
    ("dp_ntk", "mnist", GREY, 60000, {"features": "entk", "preset": "fast"}, 2.5),
]


@pytest.mark.parametrize("case", PEAKS, ids=lambda case: f"{case[0]} {case[1]} {case[2]} {case[4]}")
def test_memory_is_within_a_factor_of_measured_peaks(case: Any) -> None:
    method, name, shape, n, given, peak = case
    found = estimated(method, shape, n, name=name, **given)
    assert peak / 2 < found.memory / 1e9 < 2 * peak


@pytest.mark.parametrize("method", ["teacher", "dp_kip", "dp_ntk"])
def test_more_work_takes_longer(method: str) -> None:
    few = estimated(method, GREY, 1000)
    for more in (
        estimated(method, GREY, 100_000),
        estimated(method, COLOUR, 1000),
        estimated(method, GREY, 1000, steps=10**6),
    ):
        assert more.seconds > few.seconds
        assert more.memory >= few.memory


@pytest.mark.parametrize("method", ["teacher", "dp_kip"])
def test_large_arrays_take_no_memory_as_they_are_in_a_file(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"kernel": "scatter"} if method == "dp_kip" else {}
    monkeypatch.setattr(large_arrays, "most_bytes", lambda: 10**9)
    some, many = (estimated(method, GREY, n, **given) for n in (10**6, 10**7))
    assert many.memory == some.memory < 5e9


def test_phases_are_those_that_bars_name() -> None:
    names = [phase.name for phase in estimated("teacher", GREY, 1000, match="both").phases]
    assert names == [
        *("start", "public map (once)", "features", "private teacher", "class means", "distilling")
    ]
    names = [phase.name for phase in estimated("dp_ntk", GREY, 1000, features="scatter_rbf").phases]
    assert names == [
        *("start", "public map (once)", "mean embedding", "training", "drawing", "judging")
    ]


def test_features_of_a_network_take_longer() -> None:
    few, more = (
        {
            phase.name: phase.seconds
            for phase in estimated("dp_ntk", COLOUR, 5000, features=name, flow_passes=5).phases
        }
        for name in ("scatter_rbf", "encoder_rbf")
    )
    assert more["moving images"] > 2 * few["moving images"]
    assert more["mean embedding"] > few["mean embedding"]
    assert more["training"] == few["training"]


def test_judging_a_table_takes_longer_where_more_records_train() -> None:
    """Of 87,000 records it took minutes where that of 30,000 takes one."""
    small, usual, large = (
        estimated("dp_ntk", (14,), n, features="marginals").phases[-1] for n in (2000, 30000, 90000)
    )
    assert large.name == "judging"
    assert small.seconds == usual.seconds == large.seconds / 3


def test_a_teacher_that_images_are_not_moved_towards_slows_no_step() -> None:
    given = {"match": "both", "packing": 2, "patches": 512}
    moved, only_labelled = (
        estimated("teacher", COLOUR, 1000, cosine_weight=weight, **given).phases[-1]
        for weight in (0.06, 0.0)
    )
    assert moved.name == "distilling"
    assert only_labelled.seconds < moved.seconds / 4


def test_features_that_nobody_has_measured_are_taken_as_wide_ones() -> None:
    spec = recommendation.spec_of(GREY, 60000, 10)
    known = dp_ntk.complete(dp_ntk.Settings(features="rff"), spec)
    new = SimpleNamespace(**{**vars(known), "features": "new"})
    assert estimates.of_run("dp_ntk", new, spec) == estimates.of_run("dp_ntk", known, spec)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("shape", [GREY, COLOUR, (14,)])
@pytest.mark.parametrize("features", FEATURES)
def test_all_that_a_generator_may_be_made_of_is_estimated(
    features: str, shape: tuple[int, ...], labels: str
) -> None:
    spec = recommendation.spec_of(shape, 20000, 10)
    try:
        FEATURES.fitting(features, spec)
        settings = dp_ntk.complete(dp_ntk.Settings(features=features, labels=labels), spec)
    except SettingsError:  # not features of these data
        return
    names = [phase.name for phase in estimates.of_run("dp_ntk", settings, spec).phases]
    assert ("private teacher" in names) == (labels == TEACHER)


def test_what_is_used_again_takes_no_time() -> None:
    package = importlib.import_module("jaxdp.methods.teacher.settings")
    settings = package.Settings(
        steps=100, batch_size=10, distill_steps=5, whiten=0.0, mirror=False, packing=1
    )
    spec = recommendation.spec_of(GREY, 60000, 10)
    anew, again = (estimates.of_run("teacher", settings, spec, reused=r) for r in (False, True))
    assert "private teacher" in {phase.name for phase in anew.phases}
    assert "private teacher" not in {phase.name for phase in again.phases}
    assert again.seconds < anew.seconds


def test_no_private_data_can_get_into_an_estimate() -> None:
    """Its arguments are settings, public facts and numbers."""
    names = list(inspect.signature(estimates.of_run).parameters)
    assert names == ["method", "settings", "spec", "num_test", "judges", "reused"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1, "5 s"),
        (42, "40 s"),
        (100, "2 minutes"),
        (1165, "19 minutes"),
        (9500, "3 hours"),
        (400_000, "5 days"),
        (10**9, "12000 days"),
    ],
)
def test_durations_are_in_words(seconds: float, said: str) -> None:
    assert amounts.duration(seconds) == said


def test_sizes_are_in_words() -> None:
    assert amounts.size(123e6) == "100 MB"
    assert amounts.size(3.456e9) == "3.5 GB"


def test_a_run_of_more_memory_than_there_is_is_warned_of() -> None:
    found = Estimate((Phase("start", 1.0),), memory=30e9, disk=0.0, lower="--ipc")
    (line,) = before.memory_warning(found, 22e9)
    assert line == "about 30 GB of memory is needed, and 22 GB is available; lower --ipc"
    assert before.memory_warning(found, math.inf) == ()
    assert before.available_bytes() > 0


def test_lines_before_a_run_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    from jaxdp.methods.teacher.defaults import complete
    from jaxdp.program.data.load import load_dataset

    data = load_dataset("digits", data_dir="nowhere", download=False)
    settings = complete(Settings(), data.spec)
    announcement = before.Announcement(
        "teacher", settings, TeacherFlags(), data.spec, data.test, data.notes
    )
    assert list(announcement.watch(range(2))) == [0, 1]
    announcement.say()
    said = capsys.readouterr().out
    assert drivers.READ.fullmatch(said)
    assert said.startswith("digits: 1437 training images of 8x8 pixels, grey; 10 classes; 360 test")
    assert "features 5 s, private teacher 5 s" in said
