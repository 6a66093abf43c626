"""The rule of a teacher's training: noise, length, floors and the share of the mean."""

from __future__ import annotations

import dataclasses
import functools
import math
import subprocess
import sys
from typing import Any

import pytest

import jaxdp
from jaxdp.features import patches, public_encoder, second_layer
from jaxdp.methods import teacher
from jaxdp.methods.teacher import defaults, schedule
from jaxdp.methods.teacher.public_maps import num_features
from jaxdp.privacy import accounting


def spec_of(n: int, shape: tuple[int, ...] = (28, 28), classes: int = 10) -> jaxdp.Spec:
    return jaxdp.Spec.images("own", (n, *shape), class_names=[str(k) for k in range(classes)])


def complete(n: int, shape: tuple[int, ...] = (28, 28), **settings: Any) -> teacher.Settings:
    return teacher.complete(teacher.Settings(**settings), spec_of(n, shape))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 10.0, 100.0, 1e4])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_the_noise_of_one_release_is_that_of_the_accountant(epsilon: float, delta: float) -> None:
    exact = accounting.analytic_gaussian_stddev(epsilon=epsilon, delta=delta, sensitivity=1.0)
    assert schedule.single_release(epsilon, delta) == pytest.approx(exact, rel=1e-4)


def test_noise_is_of_the_budget_the_examples_and_the_records_of_a_person() -> None:
    one, settings = spec_of(1000), teacher.Settings(eps=1.0)
    nu = schedule.noise(settings, one)
    assert nu == pytest.approx(3.73e-3, rel=0.01)
    assert schedule.noise(settings, spec_of(2000)) == pytest.approx(nu / 2)
    assert schedule.noise(settings, one.of_persons(3)) == pytest.approx(3 * nu, rel=0.01)
    assert schedule.noise(teacher.Settings(eps=math.inf), one) == pytest.approx(3e-4)
    assert schedule.noise(teacher.Settings(eps=1e-6), one) == 1.0


@pytest.mark.parametrize("eps", [1e-6, 0.3, 1.0, 10.0, math.inf])
@pytest.mark.parametrize("n", [2, 200, 2000, 60_000, 1_000_000])
def test_training_stops_at_one_noise_of_scores(n: int, eps: float) -> None:
    done = complete(n, eps=eps)
    nu = schedule.noise(done, spec_of(n))
    assert done.steps * done.learning_rate * nu == pytest.approx(2.0)
    assert (done.batch_size, 100 <= done.steps <= 200) == (n, True)
    assert done.clip_norm == 0.02
    assert done.mean_share == 0 or 1e-3 <= done.mean_share <= 0.1


def test_other_steps_are_as_long_together() -> None:
    usual = complete(2000)
    for changes in ({"steps": 17}, {"batch_size": 100}, {"epochs": 3.0}):
        done = complete(2000, **changes)
        whole = usual.steps * usual.learning_rate
        assert done.steps * done.learning_rate == pytest.approx(whole)
    assert complete(2000, learning_rate=0.5).learning_rate == 0.5


def test_more_noise_asks_for_a_higher_floor_and_a_larger_share() -> None:
    floors = [complete(n).whiten for n in (100, 1000, 10_000, 60_000, 1_000_000)]
    assert floors == sorted(floors, reverse=True)
    assert (floors[0], floors[-1]) == (3.0, 0.1)
    shares = [complete(n).mean_share for n in (1000, 3000, 30_000)]
    assert shares == sorted(shares, reverse=True)
    assert complete(300).mean_share == 0  # it would be noise
    assert complete(2000, match="embedding").mean_share == 0


def test_colour_images_are_taken_for_scenes() -> None:
    done = complete(2000, (32, 32, 3))
    assert (done.mirror, done.patches) == (True, 512)
    assert complete(2000, (32, 32, 3), whiten=0.0).patches == 0
    smaller, grey = complete(2000, (5, 8, 3)), complete(2000)
    assert (smaller.mirror, smaller.patches) == (True, 0)
    assert patches.SIDE == defaults._LEAST_PATCHED
    assert (grey.mirror, grey.patches) == (False, 0)


@pytest.mark.parametrize(
    ("encoder", "shape", "options"),
    [
        (True, (32, 32, 3), {"ipc": 3}),
        (True, (40, 300, 3), {"ipc": 3, "eps": 0.1}),
        (True, (28, 28), {"ipc": 10}),
        (True, (16, 16), {"ipc": 50}),
        (True, (28, 28), {"ipc": 1, "encoder": True}),
        # Too few values to carry what the teacher knows.
        (False, (32, 32, 3), {"ipc": 2}),
        (False, (28, 28), {"ipc": 5}),
        (False, (16, 16), {"ipc": 5}),
        # Too small, or nothing to be beside.
        (False, (15, 32, 3), {"ipc": 50}),
        (False, (15, 16), {"ipc": 50}),
        (False, (28, 28), {"ipc": 10, "whiten": 0.0}),
    ],
)
def test_images_have_an_encoder_where_a_few_can_carry_it(
    encoder: bool, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    assert complete(2000, shape, **options).encoder == encoder


@pytest.mark.parametrize(
    ("words", "n", "shape", "options"),
    [
        (4096, 60_000, (32, 32, 3), {"ipc": 10}),
        (4096, 60_000, (40, 300, 3), {"ipc": 10}),
        (4096, 60_000, (16, 16, 3), {"ipc": 50}),
        (8, 60_000, (32, 32, 3), {"second_layer": 8}),
        # Too few values to carry what the teacher knows.
        (0, 60_000, (32, 32, 3), {"ipc": 1}),
        (0, 60_000, (16, 16, 3), {"ipc": 10}),
        # Noise leaves little to be gained.
        (0, 2000, (32, 32, 3), {"ipc": 10}),
        (0, 5000, (32, 32, 3), {"ipc": 10, "eps": 10.0}),
        (4096, 6000, (32, 32, 3), {"ipc": 10, "eps": 10.0}),
        (0, 60_000, (32, 32, 3), {"ipc": 10, "eps": 0.1}),
        # No scenes, or nothing to be above.
        (0, 60_000, (32, 32), {"ipc": 50}),
        (0, 60_000, (32, 32, 3), {"ipc": 10, "mirror": False}),
        (0, 60_000, (32, 32, 3), {"ipc": 10, "patches": 0}),
        (0, 60_000, (32, 32, 3), {"ipc": 10, "whiten": 0.0}),
        (0, 60_000, (15, 32, 3), {"ipc": 50}),
        (0, 60_000, (32, 32, 3), {"ipc": 10, "match": "both"}),
    ],
)
def test_scenes_have_a_second_layer_where_images_can_carry_it(
    words: int, n: int, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    assert complete(n, shape, **options).second_layer == words


def test_images_take_twice_the_steps_to_a_teacher_with_a_second_layer() -> None:
    def steps(**options: Any) -> tuple[int | None, float | None]:
        done = complete(60_000, (32, 32, 3), **options)
        return done.distill_steps, done.distill_learning_rate

    assert steps(ipc=10) == (300, 0.1)
    assert steps(ipc=10, second_layer=0) == (150, 0.05)
    assert steps(ipc=50) == (120, 0.1)
    assert steps(ipc=50, second_layer=0) == (60, 0.05)
    # By the teacher's own map, wherever its options come from.
    assert steps(ipc=10, eps=0.1, second_layer=8) == (300, 0.1)
    assert steps(ipc=10, distill_steps=7) == (7, 0.1)
    # Beside class means, or without a teacher, steps are as they were.
    for match in ("both", "embedding"):
        assert steps(ipc=10, match=match, second_layer=8) == steps(ipc=10, match=match)
    spec = spec_of(60_000, (32, 32, 3))
    options = {"second_layer": 4096}
    known = functools.partial(defaults.defaults, spec=spec, beside_images=False, of_stored=options)
    assert known(teacher.Settings(ipc=10, eps=0.1))["distill_steps"] == 300


def test_as_small_images_have_an_encoder_and_a_second_layer_as_can() -> None:
    assert second_layer.LEAST_SIDE == public_encoder.LEAST_SIDE == defaults._LEAST_LAYERED


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        *(((8, 8), 0), ((28, 28), 0), ((30, 17), 0)),
        *(((32, 32, 3), 0), ((32, 32, 3), 4096), ((200, 300, 3), 0), ((200, 300, 3), 4096)),
    ],
)
def test_about_as_many_features_are_reckoned_as_there_are(
    shape: tuple[int, ...], words: int
) -> None:
    spec = spec_of(100, shape)
    done = teacher.complete(teacher.Settings(second_layer=words), spec)
    about = schedule.about_features(spec.image_shape, done)
    assert about == pytest.approx(num_features(done, spec), rel=0.5)


def test_the_name_of_data_changes_nothing() -> None:
    own = complete(60_000)
    named = dataclasses.replace(spec_of(60_000), name="mnist")
    assert teacher.complete(teacher.Settings(), named) == own


def test_settings_are_complete_without_jax() -> None:
    code = (
        "import sys; from jaxdp.data import Spec; from jaxdp.methods import teacher; "
        "spec = Spec.images('own', (2000, 32, 32, 3), class_names=['a', 'b']); "
        "teacher.complete(teacher.Settings(), spec); sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
