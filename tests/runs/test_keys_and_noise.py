"""What plans hand to the mechanisms, seen by spies: keys, noise, and rows of features."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from support import drivers
from support.generated_folder import written
from support.public_releases import release_in_public
from support.toy_runs import DRIVERS, SUBSET, StoppedError, begun, planned, run

from jaxdp.data import Private
from jaxdp.methods import certified
from jaxdp.methods.dp_kip import release as kip_release
from jaxdp.methods.dp_ntk import release as embedding_release
from jaxdp.methods.runner import PlainRunner
from jaxdp.methods.teacher import release as teacher_release
from jaxdp.privacy.ledger import Ledger, one_release
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key
from jaxdp.privacy.relations import ZERO_OUT
from jaxdp.program.runs import driver
from jaxdp.program.runs.folder import RunFolder

RNG = np.random.default_rng(0)
PRIVATE = Private(
    RNG.integers(0, 17, (60, 8, 8, 1)).astype(np.uint8), (np.arange(60) % 10).astype(np.int32)
)
QUIET = PlainRunner(progress=False)


@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_the_public_seed_makes_no_noise(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def spy(noise_seed: int | None = None) -> None:
        asked.append(noise_seed)
        raise StoppedError

    monkeypatch.setattr(driver, "private_key", spy)
    for number, seeds in enumerate((("--seed=5",), ("--seed=5", "--noise_seed=3"))):
        with pytest.raises(StoppedError):
            run(name, *seeds, f"--out_dir={tmp_path / str(number)}")
    assert asked == [None, 3]


@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_the_key_of_a_release_is_the_secret_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, given = [], []

    def draw(noise_seed: int | None = None) -> Any:
        drawn.append(private_key(noise_seed))
        return drawn[-1]

    def release(self: Any, private: Private, key: Any, runner: Any) -> None:
        given.append(key)
        raise StoppedError

    monkeypatch.setattr(driver, "private_key", draw)
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        begun_run = begun(name, folder)
        monkeypatch.setattr(type(begun_run._plan), "release", release)
        with pytest.raises(StoppedError):
            begun_run.finish()
    assert len(drawn) == 1
    assert given[0] is drawn[0]


def test_guarantee_teacher_and_class_means_have_keys_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = []

    def spy(private: Private, key: jax.Array, *_: Any) -> np.ndarray:
        keys.append(jax.random.key_data(key).tobytes())
        return np.zeros((3, 10), np.float32)

    monkeypatch.setattr(teacher_release, "_trained", lambda *given: (spy(*given), None))
    monkeypatch.setattr(teacher_release, "_class_means", spy)
    secret = private_key(0)
    planned("dp_kip_teacher", "--match=both").release(PRIVATE, secret, QUIET)
    assert len(keys) == len(set(keys)) == 2
    assert jax.random.key_data(secret).tobytes() not in keys


def assert_accounted(ledger: Ledger | None, eps: float) -> None:
    """The noise is not less than `--eps` asks for, and hardly more."""
    assert ledger is not None
    assert not ledger.seeded_noise
    assert (ledger.num_examples, ledger.delta) == (60, 1e-3)
    assert 0.98 * eps < ledger.epsilon() <= eps * (1 + 1e-9)


@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_seeded_noise_is_noted(name: str) -> None:
    ledger = planned(name, "--noise_seed=0").ledger
    assert ledger is not None
    assert ledger.seeded_noise
    assert not certified.certificate(planned(name, "--noise_seed=0"))["releasable"]


def test_guarantee_dp_kip_runs_what_it_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    made, taken = [], []
    build = kip_release.dp_kip

    def spy(kernel: Any, mechanism: SubsampledGaussian, config: Any) -> Any:
        made.append(mechanism)
        return build(kernel, mechanism, config)

    class Runner(PlainRunner):
        def loop(self, steps: Any) -> Any:
            taken.append(steps)
            raise StoppedError

    monkeypatch.setattr(kip_release, "dp_kip", spy)
    plan = planned("dp_kip", "--eps=2")
    assert made == [plan.mechanism] == [plan.ledger.steps]
    assert made[0].num_steps == 2
    assert_accounted(plan.ledger, 2.0)
    with pytest.raises(StoppedError):
        plan.release(PRIVATE, private_key(0), Runner())
    assert (taken[0].num_steps, taken[0].free) == (2, False)


def test_guarantee_a_generating_run_releases_what_it_accounts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def spy(*found: Any, **named: Any) -> None:
        asked.append((found, named))
        raise StoppedError

    monkeypatch.setattr(embedding_release, "release_embedding", spy)
    plan = planned("dp_ntk", "--eps=2", "--weights_share=0.3")
    secret = private_key(0)
    with pytest.raises(StoppedError):
        plan.release(PRIVATE, secret, QUIET)
    ((found, named),) = asked
    assert plan.ledger is not None
    assert found[0] is secret
    assert found[3] == plan.releases == plan.ledger.releases
    watch = named.pop("watch")
    assert list(watch(range(3))) == [0, 1, 2]
    assert named == {"num_examples": 60, "num_classes": 10}
    bounds = embedding_release.sensitivities(found[1], 60, class_weights=True, relation=ZERO_OUT)
    assert {one.name: one.sensitivity for one in plan.releases} == bounds
    assert_accounted(plan.ledger, 2.0)


def test_guarantee_a_teacher_is_trained_as_accounted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def spy(mechanism: Any, config: Any, *, first: SubsampledGaussian, last: Any) -> None:
        made.extend((mechanism, first, last.mechanism))
        raise StoppedError

    monkeypatch.setattr(teacher_release, "dp_teacher", spy)
    plan = planned("dp_kip_teacher", "--eps=2", "--mean_share=0.1")
    with pytest.raises(StoppedError):
        plan.release(PRIVATE, private_key(0), QUIET)
    assert plan.ledger is not None
    mean, gaps = (one_release(60, noise_multiplier=noise) for noise in plan.ledger.also)
    assert made == [plan.ledger.steps, mean, gaps]
    assert_accounted(plan.ledger, 2.0)


@pytest.mark.parametrize("match", ["both", "embedding"])
def test_guarantee_class_means_have_the_noise_that_is_accounted(
    match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def spy(*_: Any, **named: Any) -> np.ndarray:
        asked.append(named)
        return np.zeros((10, 2))

    monkeypatch.setattr(teacher_release, "release_class_means", spy)
    taught = np.zeros((3, 10), np.float32), None
    monkeypatch.setattr(teacher_release, "_trained", lambda *_: taught)
    plan = planned("dp_kip_teacher", "--eps=2", f"--match={match}", "--mean_share=0.1")
    plan.release(PRIVATE, private_key(0), QUIET)
    (named,) = asked
    assert (named["num_classes"], named["num_examples"]) == (10, 60)
    assert_accounted(plan.ledger, 2.0)
    assert plan.ledger is not None
    noise = named["noise_multiplier"]
    if match == "both":
        beside = plan.mechanisms.mean, plan.mechanisms.calibration
        assert plan.ledger.also == (noise, *beside)
    else:
        assert plan.ledger.steps == one_release(60, noise_multiplier=noise)


def test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them(
    tmp_path: Path,
) -> None:
    """Seeded noise, an objection, and what they have cost."""

    def beside(folder: Path) -> Any:
        flags = ("--match=both", f"--synthetic={folder}", "--eps=5")
        return planned("dp_kip_teacher", *flags, subset=())

    good = beside(written(tmp_path / "good"))
    assert certified.certificate(good)["releasable"]
    assert good.ledger is not None
    assert good.ledger.also[0] == good.earlier.images.noise_multiplier
    assert good.ledger.epsilon() <= 5
    untied = written(tmp_path / "untied")
    stored = drivers.read(untied, "privacy.json")
    del stored["sha256"]
    (untied / "privacy.json").write_text(json.dumps(stored))
    for bad in (untied, written(tmp_path / "seeded", seeded=True)):
        assert not certified.certificate(beside(bad))["releasable"]


def _with_update(build: Any, update: Any, *arguments: Any, **named: Any) -> Any:
    return build(*arguments, **named)._replace(update=update)


@pytest.mark.parametrize("name", ["dp_kip", "dp_kip_teacher"])
def test_guarantee_a_record_changes_its_own_features_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No statistic of all records is in what a step is given: the clip norm would not bound it."""
    given = []

    def update(state: Any, key: Any, features: Any, labels: Any, count: int) -> None:
        given.append(np.asarray(features))
        raise StoppedError

    class Runner(PlainRunner):
        def loop(self, steps: Any) -> Any:
            steps.advance(steps.state, 1)

    for module, builder in ((teacher_release, "dp_teacher"), (kip_release, "dp_kip")):
        build = getattr(module, builder)
        stopping = functools.partial(_with_update, build, update)
        monkeypatch.setattr(module, builder, stopping)
    flags = ("--kernel=scatter", "--scatter_angles=1") if name == "dp_kip" else ()
    plan = planned(name, *flags)
    for value in (0, 16):
        x = PRIVATE.x.copy()
        x[7] = value
        with pytest.raises(StoppedError):
            plan.release(PRIVATE._replace(x=x), private_key(0), Runner(progress=False))
    others = np.arange(60) != 7
    np.testing.assert_array_equal(given[0][others], given[1][others])
    assert np.any(given[0][7] != given[1][7])


@pytest.mark.parametrize("name", ["dp_ntk", "dp_kip_teacher", "labelled"])
def test_guarantee_nothing_is_done_with_exact_sizes_of_classes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Class by class, a mean is a sum over a public number: how many there are is private."""
    release_in_public(monkeypatch)
    both = ("--match=both",) if name == "dp_kip_teacher" else ("--features=rff",)
    plan, found = planned(name, *both), []
    for y in (PRIVATE.y, PRIVATE.y // 2):
        released = plan.release(PRIVATE._replace(y=y), private_key(0), QUIET)
        found.append([np.asarray(leaf) for leaf in jax.tree.leaves(tuple(released))])
    assert len(found[0]) == 2
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


def test_toy_runs_are_of_sixty_records() -> None:
    assert SUBSET[0] == "--subset=60"
    assert planned("dp_kip").spec.num_examples == len(PRIVATE.x)
