"""Settings are declared once: their ranges, their types, their defaults by the data."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from typing import Any

import pytest

from jaxdp.data import Spec
from jaxdp.methods import dp_kip, dp_ntk, teacher
from jaxdp.methods.registry import Entry, Registry
from jaxdp.methods.settings import (
    Budget,
    SettingsError,
    budget,
    check_fields,
    part_of,
    rules,
    setting,
    types_of,
)
from jaxdp.privacy.limits import LEAST_DELTA

METHODS: dict[str, Any] = {"dp_kip": dp_kip, "dp_ntk": dp_ntk, "teacher": teacher}
IMAGES = Spec.images("scans", (500, 8, 8), class_names=list("abc"))
ROWS = Spec.rows("table", (500, 6), class_names=list("abc"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Toy(Budget):
    """One field of every kind."""

    share: float = setting(0.5, "A share.", above=0, below=1)
    decay: float = setting(0.5, "A decay.", at_least=0, below=1)
    size: int = setting(1, "A size.", at_least=1)
    rate: float | None = setting(None, "A rate.", above=0, at_most=10)
    name: str = setting("a", "One of {names}.", among=("a", "b"))
    on: bool = setting(False, "A switch.")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"share": 0.0}, r"--share=0\.0: must be in \(0, 1\)"),
        ({"decay": 1.0}, r"--decay=1\.0: must be in \[0, 1\)"),
        ({"size": 0}, "--size=0: must be at least 1"),
        ({"size": 2**31}, "--size=2147483648: must be at most 2.14748e"),
        ({"rate": 0.0}, r"--rate=0\.0: must be a number above 0"),
        ({"rate": 11.0}, r"--rate=11\.0: .*at most 10"),
        ({"rate": math.nan}, "--rate=nan"),
        ({"rate": math.inf}, "--rate=inf"),
        ({"name": "c"}, "--name=c: unknown; known are a, b"),
        ({"eps": 0.0}, "--eps=0.0: must be above 0"),
        ({"eps": math.nan}, "--eps=nan"),
        ({"eps": "1"}, "--eps=1: must be of type float, not str"),
        ({"delta": None}, "--delta=None: must be of type float, not NoneType"),
        ({"eps": 1e7}, "--eps=10000000.0: promises nothing"),
        ({"delta": 1.0}, r"--delta=1\.0"),
        ({"delta": 1e-101}, "the arithmetic supports 1e-10"),
        ({"seed": -1}, "--seed=-1: must be a whole number from 0"),
        ({"noise_seed": 2**63}, "must be a whole number from 0"),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as error:
        Toy(**values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"), [("size", 1.5), ("size", True), ("on", 1), ("name", 3), ("share", "0.5")]
)
def test_values_of_another_type_are_refused(name: str, value: Any) -> None:
    toy = Toy()
    object.__setattr__(toy, name, value)  # past the checks of types that only tests have
    with pytest.raises(SettingsError, match=f"--{name}=.*must be of type"):
        check_fields(toy)


def test_only_a_field_that_may_be_open_is_none() -> None:
    assert Toy(rate=None).rate is None
    toy = Toy()
    object.__setattr__(toy, "size", None)
    with pytest.raises(SettingsError, match="--size=None"):
        check_fields(toy)


def test_rules_and_types_are_those_of_the_fields() -> None:
    assert rules(Toy)["name"].help == "One of a, b."
    found = types_of(Toy)
    assert [found[n] for n in ("share", "size", "rate", "name", "on")] == [
        *(float, int, float, str, bool)
    ]
    assert part_of(Toy(seed=3), Budget) == Budget(seed=3)


@pytest.mark.parametrize("spec", [IMAGES, ROWS], ids=["images", "rows"])
@pytest.mark.parametrize("name", list(METHODS))
def test_complete_settings_leave_nothing_open(name: str, spec: Spec) -> None:
    method = METHODS[name]
    done = method.complete(method.Settings(eps=2.0), spec)
    left = {field.name for field in dataclasses.fields(done) if getattr(done, field.name) is None}
    assert left <= {"noise_seed", "chunk_size", "preset", "defaults"}
    assert done.eps == 2.0
    assert method.complete(method.Settings(eps=2.0, learning_rate=7.0), spec).learning_rate == 7.0


@pytest.mark.parametrize("name", ["dp_kip", "teacher"])
def test_steps_and_epochs_say_the_same(name: str) -> None:
    method = METHODS[name]
    done = method.complete(method.Settings(steps=10, batch_size=50), IMAGES)
    assert (done.steps, done.epochs) == (10, 1.0)
    assert method.complete(method.Settings(epochs=1.0, batch_size=50), IMAGES).steps == 10
    with pytest.raises(SettingsError, match="either --steps or --epochs"):
        method.complete(method.Settings(steps=10, epochs=1.0), IMAGES)
    with pytest.raises(SettingsError, match="larger than the 500 training examples of scans"):
        method.complete(method.Settings(batch_size=501), IMAGES)


def test_without_noise_gradients_are_clipped_where_that_is_asked_for_alone() -> None:
    plain = dp_kip.complete(dp_kip.Settings(eps=math.inf), IMAGES)
    assert plain.clip_norm == math.inf
    assert dp_kip.complete(dp_kip.Settings(eps=math.inf, clip_norm=0.1), IMAGES).clip_norm == 0.1
    with pytest.raises(SettingsError, match="--clip_norm=inf"):
        dp_kip.Settings(eps=1.0, clip_norm=math.inf)


def test_a_budget_is_that_of_what_is_used_again() -> None:
    assert budget(Budget(eps=2.0), None) == 2.0
    assert budget(Budget(eps=2.0), {"target_epsilon": 3.0}) == 3.0
    assert budget(Budget(eps=2.0), {"target_epsilon": None}) == math.inf


def test_a_choice_knows_the_kinds_of_data_that_it_works_on() -> None:
    registry = Registry(
        "kernel",
        {"all": Entry(build=dict, help="x"), "few": Entry(build=dict, help="y", kinds=("image",))},
        otherwise="use all",
    )
    assert (list(registry), len(registry), registry.help()) == (
        ["all", "few"],
        2,
        "all (x), few (y)",
    )
    assert registry.fitting("few", IMAGES) is registry["few"]
    said = "--kernel=few: works on images, and --dataset=table holds rows of 6 values; use all"
    with pytest.raises(SettingsError, match=said):
        registry.fitting("few", ROWS)


def test_settings_come_without_jax() -> None:
    imports = "".join(f"import jaxdp.methods.{name}.settings; " for name in METHODS)
    code = f"import sys; {imports}assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("n", "kernel", "given", "expected"),
    [
        (300, "fc_ntk", {}, (300, 300)),
        (1500, "scatter", {}, (1000, 300)),
        (5000, "entk", {}, (1000, 300)),
        (60000, "fc_ntk", {}, (1000, 1200)),
        (300, "conv_ntk", {}, (300, 20)),  # its steps are dear
        (300, "fc_ntk", {"epochs": 7.0}, (300, 7)),
        (300, "fc_ntk", {"batch_size": 30}, (30, 300)),
        (300, "fc_ntk", {"steps": 11}, (300, 11)),
    ],
)
def test_dp_kip_takes_as_many_steps_as_its_rules_say(
    n: int, kernel: str, given: dict[str, Any], expected: tuple[int, int]
) -> None:
    spec = Spec.images("scans", (n, 8, 8), class_names=list("abc"))
    done = dp_kip.complete(dp_kip.Settings(kernel=kernel, **given), spec)
    assert (done.batch_size, done.steps) == expected
    assert done.epochs == pytest.approx(given.get("epochs", done.steps * done.batch_size / n))


@pytest.mark.parametrize(
    ("preset", "kernel", "whiten"),
    [
        (None, "scatter", 1.0),
        (None, "entk", 1.0),
        ("tuned:mnist", "perceptual", 1.0),
        (None, "fc_ntk", 0.0),
        ("tuned:mnist", "scatter", 0.0),
        ("tuned:cifar10", "scatter", 0.0),
    ],
)
def test_features_are_whitened_where_no_preset_says_otherwise(
    preset: str | None, kernel: str, whiten: float
) -> None:
    settings = dp_kip.Settings(kernel=kernel, preset=preset)
    assert dp_kip.complete(settings, IMAGES).whiten == whiten


@pytest.mark.parametrize(
    ("preset", "shape", "angles", "norm"),
    [
        (None, (16, 20), 8, "group_and_brightness"),
        (None, (16, 16, 3), 8, "group_and_brightness"),
        (None, (16, 16, 3), 4, "none"),  # 75 paths do not divide into 27 groups
        (None, (15, 40), 8, "none"),  # three patches a side
        ("tuned:mnist", (28, 28), 8, "none"),
        ("tuned:cifar10", (32, 32, 3), 8, "group"),
    ],
)
def test_scattering_features_are_normalised_by_group_where_there_is_enough_in_one(
    preset: str | None, shape: tuple[int, ...], angles: int, norm: str
) -> None:
    spec = Spec.images("anything", (500, *shape), class_names=list("abc"))
    settings = dp_kip.Settings(kernel="scatter", scatter_angles=angles, preset=preset)
    assert dp_kip.complete(settings, spec).scatter_norm == norm
    asked = dataclasses.replace(settings, scatter_norm="unit")
    assert dp_kip.complete(asked, spec).scatter_norm == "unit"
    as_they_are = dataclasses.replace(settings, whiten=0.0)
    assert dp_kip.complete(as_they_are, spec).scatter_norm in ("group", "none")


@pytest.mark.parametrize("kernel", ["scatter", "perceptual", "entk"])
@pytest.mark.parametrize("preset", ["tuned:mnist", None])
def test_without_noise_features_are_whitened_further_and_not_clipped(
    preset: str | None, kernel: str
) -> None:
    spec = Spec.images("anything", (500, 28, 28), class_names=list("abc"))
    plain, private = (
        dp_kip.complete(dp_kip.Settings(eps=eps, kernel=kernel, preset=preset), spec)
        for eps in (math.inf, 1e6)
    )
    assert (plain.whiten, plain.ridge, plain.clip_norm) == (0.01, 1e-3, math.inf)
    assert private.clip_norm < math.inf
    assert plain.scatter_norm == private.scatter_norm


def test_without_noise_normalised_features_of_photographs_stay_as_they_are() -> None:
    private, plain = (
        dp_kip.complete(dp_kip.Settings(eps=eps, kernel="scatter", preset="tuned:cifar10"), IMAGES)
        for eps in (1.0, math.inf)
    )
    assert (plain.whiten, plain.ridge) == (private.whiten, private.ridge) == (0, 1e-4)
    assert private.clip_norm < plain.clip_norm == math.inf


def test_without_noise_steps_are_longer_more_and_not_smoothed() -> None:
    private = dp_kip.complete(dp_kip.Settings(eps=1e6), IMAGES)
    plain = dp_kip.complete(dp_kip.Settings(eps=math.inf), IMAGES)
    assert plain.learning_rate > private.learning_rate
    assert plain.steps > private.steps
    assert plain.smoothing == 0 < private.smoothing


def test_whitening_needs_features() -> None:
    settings = dp_kip.complete(dp_kip.Settings(whiten=1.0), IMAGES)
    with pytest.raises(SettingsError, match="--kernel=fc_ntk has no features"):
        dp_kip.make_plan(settings, IMAGES)


def test_guarantee_a_delta_that_nothing_supports_is_refused() -> None:
    assert Budget(delta=LEAST_DELTA).delta == LEAST_DELTA
    for delta in (LEAST_DELTA * 0.99, 1e-12, 1e-100):
        with pytest.raises(SettingsError, match="the arithmetic supports 1e-10 and more"):
            Budget(delta=delta)
