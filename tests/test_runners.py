"""What runs a method: nothing is shown before it is kept, and nothing is released twice."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import drivers

import jaxdp
from jaxdp.data import Private, Spec
from jaxdp.methods import certified
from jaxdp.methods import runner as plain
from jaxdp.methods.dp_kip.story import STORY
from jaxdp.methods.steps import Steps
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.releases import GaussianRelease
from jaxdp.program.errors import InputError
from jaxdp.program.runs import driver
from jaxdp.program.runs import start as run_start
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.release_log import ReleaseLog
from jaxdp.program.runs.runner import FolderRunner, first_metrics

NUM_STEPS = 4


class StoppedError(Exception):
    """Ends a run where a test has seen enough."""


class Count(NamedTuple):
    """The state of a loop that counts."""

    step: jax.Array


def counting(*, free: bool = False, kept: bool = True, made: list[int] | None = None) -> Steps[Any]:
    """A loop that counts to four, and notes the steps that it makes."""

    def advance(now: Count, count: int) -> tuple[Count, None]:
        if made is not None:
            made.extend(range(int(now.step) + 1, int(now.step) + count + 1))
        return Count(now.step + count), None

    return Steps(
        name="counting",
        state=Count(jnp.zeros((), jnp.int32)),
        advance=advance,
        num_steps=NUM_STEPS,
        free=free,
        kept=kept,
        every=2,
        shown=lambda now: int(now.step),
    )


def run_loop(
    path: Path,
    steps: Steps[Any],
    *,
    look: Callable[[int], float] = lambda step: 0.0,
    noise_seed: int | None = None,
    noise: float = 1.0,
    noted: int = 0,
) -> None:
    """Run a loop in a folder, in which steps may have been noted before."""
    release = GaussianRelease(name="sum", sensitivity=1.0, stddev=noise)
    plan: Any = types.SimpleNamespace(
        settings=types.SimpleNamespace(noise_seed=noise_seed),
        ledger=Ledger(num_examples=100, delta=1e-5, releases=(release,)),
        story=STORY,
    )
    with RunFolder(path, resume=True, overwrite=False) as folder:
        folder.write_json("config.json", {})
        log = ReleaseLog(folder)
        with log.saving(noted, b""):
            pass
        metrics = first_metrics(plan, folder, "cpu")
        runner = FolderRunner(plan, folder, log, metrics, look)
        with runner.clocked("train_seconds"):
            assert int(runner.loop(steps).step) == NUM_STEPS


def test_guarantee_a_state_is_kept_and_noted_before_it_is_looked_at(tmp_path: Path) -> None:
    """Who has seen a state must not be able to have its step made again with other noise."""
    path, seen = tmp_path / "run", []

    def look(step: int) -> float:
        kept = (path / "checkpoints" / str(step)).is_dir()
        seen.append((step, kept, drivers.read(path, "released.json")["step"]))
        return 0.0

    run_loop(path, counting(), look=look)
    assert seen == [(0, False, 0), (2, True, 2), (4, True, 4)]


def test_a_run_that_is_stopped_at_a_look_goes_on_after_it(tmp_path: Path) -> None:
    path, made = tmp_path / "run", []

    def stop(step: int) -> float:
        if step == 2:
            raise StoppedError
        return 0.0

    with pytest.raises(StoppedError):
        run_loop(path, counting(made=made), look=stop)
    run_loop(path, counting(made=made))
    assert made == [1, 2, 3, 4]
    history = drivers.read(path, "metrics.json")["history"]
    assert [point["step"] for point in history] == [0, 2, 4]


def test_guarantee_steps_that_were_released_are_not_made_again(tmp_path: Path) -> None:
    made: list[int] = []
    with pytest.raises(InputError, match="steps up to 2 were released"):
        run_loop(tmp_path / "run", counting(made=made), noted=2)
    assert made == []


@pytest.mark.parametrize("free_by", [{"noise_seed": 0}, {"noise": 0.0}])
def test_steps_that_tell_nothing_new_may_be_made_again(
    free_by: dict[str, Any], tmp_path: Path
) -> None:
    run_loop(tmp_path / "run", counting(), noted=2, **free_by)
    run_loop(tmp_path / "free", counting(free=True), noted=2)


@pytest.mark.parametrize("free", [False, True])
def test_guarantee_a_damaged_checkpoint_of_a_private_step_is_not_made_again(
    free: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    run_loop(path, counting(free=free))
    drivers.damage(path / "checkpoints", NUM_STEPS)
    if free:
        run_loop(path, counting(free=True))
        return
    with pytest.raises(InputError, match="a second time, beyond what privacy"):
        run_loop(path, counting())


def test_post_processing_is_not_noted_as_released(tmp_path: Path) -> None:
    run_loop(tmp_path / "kept", counting(free=True))
    assert drivers.read(tmp_path / "kept", "released.json")["step"] == 0
    run_loop(tmp_path / "anew", counting(free=True, kept=False))
    assert not (tmp_path / "anew" / "checkpoints").exists()


def test_guarantee_results_without_their_release_end_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they were made from is gone, and another one would be a second release."""
    flags = ("--match=embedding", "--whiten=0", "--subset=60", "--delta=1e-3")
    plan, folder, run_flags, data = drivers.prepared(
        "teacher", *flags, f"--out_dir={tmp_path / 'run'}"
    )

    def stop(*_: Any) -> None:
        raise StoppedError

    monkeypatch.setattr(type(plan), "release", stop)
    with folder:
        started = run_start.Started(folder, certified.certificate(plan), ReleaseLog(folder))
        run = driver._Run("teacher", plan, run_flags, data, (), started)
        with pytest.raises(StoppedError):
            run._released()
        folder.write_npz("distilled.npz", x=np.zeros(1))
        with pytest.raises(InputError, match=r"teacher\.npz: is gone"):
            run._released()


# --- From Python --------------------------------------------------------------------------------


def run_from_python(private: Private, **given: Any) -> list[Any]:
    """Run a method that does nothing; return the data and keys that it was given."""
    found: list[Any] = []
    sum_of_three = GaussianRelease(name="sum", sensitivity=1.0, stddev=1.0)

    class Plan:
        settings = jaxdp.methods.dp_kip.Settings(**given, eps=math.inf)
        spec = Spec.images("mine", (3, 2, 2), class_names="ab")
        ledger = Ledger(
            num_examples=3,
            delta=1e-5,
            releases=(sum_of_three,),
            seeded_noise=settings.noise_seed is not None,
        )

        def release(self, private: Private, key: Any, runner: Any) -> None:
            found.append((private, key))

        def finish(self, released: None, runner: Any) -> None:
            raise StoppedError

    method: Any = types.SimpleNamespace(
        Settings=object,
        complete=lambda settings, spec, earlier: settings,
        make_plan=lambda settings, spec, earlier, cached: Plan(),
    )
    with pytest.raises(StoppedError):
        plain.run(method, Plan.settings, Plan.spec, private)
    return found


THREE = Private(np.zeros((3, 2, 2), np.uint8), np.array([0, 1, 0]))


def test_guarantee_the_public_seed_makes_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(plain, "private_key", asked.append)
    run_from_python(THREE, seed=5)
    run_from_python(THREE, seed=5, noise_seed=3)
    assert asked == [None, 3]


def test_a_bar_tells_no_remaining_time_by_the_part_that_compiles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with plain.PlainRunner().bar("distilling", 500, unit="step") as bar:
        bar.update(1)
        bar.refresh()
        assert "1/500 [" in capsys.readouterr().err
        assert "<" not in str(bar)
        assert "1/500" in str(bar)
        bar.update(4)
        assert "<" in str(bar)


def test_guarantee_data_of_another_size_than_accounted_are_refused() -> None:
    ((private, _),) = run_from_python(THREE)
    assert private.x.shape == (3, 2, 2, 1)
    with pytest.raises(ValueError, match="and spec says"):
        run_from_python(Private(THREE.x[:2], THREE.y[:2]))
