"""What drivers hand to the mechanisms, seen by spies, and what they write beside releases."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drivers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from generated_folder import written
from jax.experimental.compilation_cache import compilation_cache

from experiments import (
    dp_kip,
    dp_kip_teacher,
    dp_ntk,
    ntk_plan,
    plan,
    program_cache,
    sample,
    teacher_plan,
    teacher_reuse,
)
from experiments.errors import InputError
from experiments.ntk_settings import NtkSettings
from experiments.runs import distill as distill_run
from experiments.runs import generate, released_file, teach, teacher_file
from experiments.runs import start as run_start
from experiments.runs.checkpoints import Checkpoints, DamagedError, restore_tree
from experiments.runs.folder import RunFolder
from experiments.runs.release_log import ReleaseLog
from experiments.settings import Settings
from experiments.teacher_settings import MapConfig, TeacherSettings
from jaxdp.methods import dp_ntk as release_algorithm
from jaxdp.methods.dp_kip import release as kip_algorithm
from jaxdp.methods.teacher import class_means
from jaxdp.methods.teacher import release as teacher
from jaxdp.privacy import certificates, class_sums, dp_sgd
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.ledger import Ledger
from jaxdp.privacy.mechanism import SubsampledGaussian, private_key
from jaxdp.privacy.releases import GaussianRelease

pytestmark = pytest.mark.usefixtures("quick_compilation")

# Small runs of every driver; flags of data and privacy are added.
KIP = ("--ipc=1", "--steps=2", "--eval_every=1", "--batch_size=20", "--bounded")
NTK = ("--ntk_width=4", "--steps=1", "--batch_size=20", "--num_synthetic=20", "--evaluate=none")
TEACHER = ("--steps=2", "--batch_size=20", "--distill_steps=1", "--whiten=0")
DRIVERS = {
    "dp_kip": (dp_kip, distill_run, KIP),
    "dp_ntk": (dp_ntk, ntk_plan, NTK),
    "dp_kip_teacher": (dp_kip_teacher, teach, TEACHER),
}
SUBSET = ("--subset=60", "--delta=1e-3")


class StoppedError(Exception):
    """Ends a run where a spy has seen enough."""


def kip_plan(*flags: str) -> plan.Plan:
    return plan.make_plan(drivers.settings(Settings, *KIP, *SUBSET, *flags))


def generating_plan(*flags: str) -> ntk_plan.NtkPlan:
    return ntk_plan.make_plan(drivers.settings(NtkSettings, *NTK, *SUBSET, *flags))


def teaching_plan(*flags: str) -> teacher_plan.TeacherPlan:
    return teacher_plan.make_plan(drivers.settings(TeacherSettings, *TEACHER, *SUBSET, *flags))


def teaching(planned: teacher_plan.TeacherPlan, folder: RunFolder) -> Any:
    certificate = teach.certificate_of(planned)
    return teach._Run(planned, run_start.Started(folder, certificate, ReleaseLog(folder)))


# --- keys, noise and mechanisms ---------------------------------------------------------------


@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_the_public_seed_makes_no_noise(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, module, flags = DRIVERS[name]
    asked = []

    def spy(noise_seed: int | None = None) -> None:
        asked.append(noise_seed)
        raise StoppedError

    monkeypatch.setattr(module, "private_key", spy)
    for number, seeds in enumerate((("--seed=5",), ("--seed=5", "--noise_seed=3"))):
        with pytest.raises(StoppedError):
            drivers.drive(
                driver.main, *flags, *SUBSET, *seeds, f"--out_dir={tmp_path / str(number)}"
            )
    assert asked == [None, 3]


def test_guarantee_teacher_and_class_means_have_keys_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []

    def spy(self: Any, key: jax.Array) -> np.ndarray:
        keys.append(jax.random.key_data(key).tobytes())
        return np.zeros((3, 10), np.float32)

    monkeypatch.setattr(teach._Run, "_train_teacher", spy)
    monkeypatch.setattr(teacher_plan.TeacherPlan, "release_means", spy)
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        planned = teaching_plan("--match=both")
        teaching(planned, folder)._release()
    assert len(keys) == len(set(keys)) == 2


def assert_accounted(ledger: Ledger | None, eps: float) -> None:
    """The noise is not less than `--eps` asks for, and hardly more."""
    assert ledger is not None
    assert not ledger.seeded_noise
    assert (ledger.num_examples, ledger.delta) == (60, 1e-3)
    assert 0.98 * eps < ledger.epsilon() <= eps * (1 + 1e-9)


def test_guarantee_dp_kip_runs_what_it_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    build = kip_algorithm.dp_kip

    def spy(kernel: Any, mechanism: SubsampledGaussian, config: Any) -> Any:
        made.append(mechanism)
        return build(kernel, mechanism, config)

    monkeypatch.setattr(kip_algorithm, "dp_kip", spy)
    planned = kip_plan("--eps=2")
    assert made == [planned.mechanism] == [planned.ledger.steps]
    assert made[0].num_steps == 2
    assert_accounted(planned.ledger, 2.0)
    assert kip_plan("--noise_seed=0").ledger.seeded_noise


def test_guarantee_a_generating_run_releases_what_it_accounts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        release_algorithm, "release_embedding", lambda *found, **named: asked.append((found, named))
    )
    planned = generating_plan("--eps=2", "--weights_share=0.3")
    planned.release()
    ((found, named),) = asked
    assert planned.ledger is not None
    assert found[3] == planned.releases == planned.ledger.releases
    assert named == {"num_examples": 60, "num_classes": 10}
    bounds = release_algorithm.sensitivities(found[1], 60, class_weights=True)
    assert {one.name: one.sensitivity for one in planned.releases} == bounds
    assert_accounted(planned.ledger, 2.0)
    seeded = generating_plan("--noise_seed=0").ledger
    assert seeded is not None
    assert seeded.seeded_noise


def test_guarantee_a_teacher_is_trained_as_accounted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(teacher, "dp_teacher", lambda mechanism, config: made.append(mechanism))
    planned = teaching_plan("--eps=2")
    planned.make_teacher()
    assert planned.ledger is not None
    assert made == [planned.mechanism] == [planned.ledger.steps]
    assert_accounted(planned.ledger, 2.0)
    seeded = teaching_plan("--noise_seed=0").ledger
    assert seeded is not None
    assert seeded.seeded_noise


@pytest.mark.parametrize("match", ["both", "embedding"])
def test_guarantee_class_means_have_the_noise_that_is_accounted(
    match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def spy(*_: Any, **named: Any) -> np.ndarray:
        asked.append(named)
        return np.zeros((10, 2))

    monkeypatch.setattr(class_means, "release_class_means", spy)
    planned = teaching_plan("--eps=2", f"--match={match}")
    planned.release_means(private_key(0))
    (named,) = asked
    assert (named["num_classes"], named["num_examples"]) == (10, 60)
    assert_accounted(planned.ledger, 2.0)
    assert planned.ledger is not None
    noise = named["noise_multiplier"]
    if match == "both":
        assert planned.ledger.also == (noise,)
    else:
        assert planned.ledger.steps == class_means.one_release(60, noise_multiplier=noise)


def test_guarantee_what_speaks_against_images_speaks_against_what_is_made_of_them(
    tmp_path: Path,
) -> None:
    """Seeded noise, an objection, and what they have cost."""

    def beside(folder: Path) -> teacher_plan.TeacherPlan:
        flags = (*TEACHER, "--match=both", f"--synthetic={folder}", "--eps=5")
        return teacher_plan.make_plan(drivers.settings(TeacherSettings, *flags))

    good = beside(written(tmp_path / "good"))
    assert teach.certificate_of(good)["releasable"]
    assert good.ledger is not None
    assert good.synthetic is not None
    assert good.ledger.also == (good.synthetic.noise_multiplier,)
    assert good.ledger.epsilon() <= 5
    untied = written(tmp_path / "untied")
    stored = drivers.read(untied, "privacy.json")
    del stored["sha256"]
    (untied / "privacy.json").write_text(json.dumps(stored))
    for bad in (untied, written(tmp_path / "seeded", seeded=True)):
        assert not teach.certificate_of(beside(bad))["releasable"]


@pytest.mark.parametrize("name", ["dp_kip", "dp_kip_teacher"])
def test_guarantee_a_record_changes_its_own_features_alone(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No statistic of all records is in what a step is given: the clip norm would not bound it."""
    given = []

    def spy(state: Any, key: Any, features: jax.Array, labels: jax.Array, count: int) -> None:
        given.append(np.asarray(features))
        raise StoppedError

    for value in (0, 16):
        if name == "dp_kip":
            planned = kip_plan("--kernel=scatter", "--scatter_angles=1")
            planned.data.x_train[7] = value
            given.append(np.asarray(planned.targets))
            continue
        taught = teaching_plan()
        taught.data.x_train[7] = value
        fake = teacher.Teacher(lambda p, c: types.SimpleNamespace(step=0), spy)
        monkeypatch.setattr(teacher_plan.TeacherPlan, "make_teacher", lambda self, fake=fake: fake)
        monkeypatch.setattr(teach, "Checkpoints", NoCheckpoints)
        with RunFolder(tmp_path / str(value), resume=False, overwrite=False) as folder:
            run = teaching(taught, folder)
            with pytest.raises(StoppedError):
                run._train_teacher(private_key(0))
    others = np.arange(60) != 7
    np.testing.assert_array_equal(given[0][others], given[1][others])
    assert np.any(given[0][7] != given[1][7])


class NoCheckpoints:
    """Stands for checkpoints of which there are none; notes whether steps may be made again."""

    asked: bool | None = None

    def __init__(self, folder: Path, *, repeatable: bool) -> None:
        self.repeatable = type(self).asked = repeatable

    def restore(self, template: Any) -> None:
        return None

    def close(self) -> None:
        pass


# --- second releases --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dp_kip", "dp_kip_teacher"])
def test_guarantee_private_steps_are_not_repeatable(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, module, flags = DRIVERS[name]

    class Spy(NoCheckpoints):
        def restore(self, template: Any) -> None:
            raise StoppedError

    monkeypatch.setattr(module, "Checkpoints", Spy)
    monkeypatch.setattr(distill_run, "test_accuracy", lambda *_: 0.0)
    for extra, repeatable in ((), False), (("--noise_seed=0",), True), (("--eps=inf",), True):
        out = tmp_path / str(extra)
        with pytest.raises(StoppedError):
            drivers.drive(driver.main, *flags, *SUBSET, *extra, f"--out_dir={out}")
        assert Spy.asked is repeatable


def test_guarantee_a_damaged_checkpoint_ends_a_private_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = (jnp.zeros((), jnp.int32), jnp.ones(3))
    for repeatable in (False, True):
        checkpoints = Checkpoints(tmp_path / str(repeatable), repeatable=repeatable)
        for step in (1, 2):
            checkpoints.save(step, state)
        for path in (tmp_path / str(repeatable) / "2").rglob("*"):
            if path.is_file():
                path.write_bytes(b"")
        if repeatable:
            assert checkpoints.restore(state) is not None
        else:
            with pytest.raises(DamagedError, match="a second time, beyond what privacy"):
                checkpoints.restore(state)
        checkpoints.close()
    assert "costs no privacy" in capsys.readouterr().err


def _without_checkpoints(name: str, out: Path, patch: pytest.MonkeyPatch, *extra: str) -> int:
    """Resume a run that notes two released steps and has no checkpoints; steps raise an error."""
    driver, module, flags = DRIVERS[name]
    arguments = (*flags, *SUBSET, *extra, f"--out_dir={out}")

    def stop(*_: Any, **__: Any) -> None:
        raise StoppedError

    patch.setattr(module, "private_key", stop)
    with pytest.raises(StoppedError):
        drivers.drive(driver.main, *arguments)
    patch.undo()
    for made in (kip_algorithm, teacher):
        patch.setattr(made.dp_sgd, "noisy_mean", stop)
    (out / "released.json").write_text(json.dumps({"files": {}, "step": 2}))
    return drivers.drive(driver.main, *arguments, "--resume")


@pytest.mark.parametrize("name", ["dp_kip", "dp_kip_teacher"])
def test_guarantee_released_steps_are_not_made_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _without_checkpoints(name, tmp_path / "run", monkeypatch) == 2
    assert "steps up to 2 were released" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dp_kip", "dp_kip_teacher"])
def test_steps_with_the_same_noise_may_be_made_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoppedError):
        _without_checkpoints(name, tmp_path / "run", monkeypatch, "--noise_seed=0")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as found:
        yield found


def forbidden(*_: Any, **__: Any) -> None:
    raise AssertionError("released a second time")


def test_guarantee_a_resumed_run_takes_the_teacher_and_means_that_were_released(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = teaching_plan("--match=both")
    stored = teacher_file.TeacherFile(
        np.ones((3, 10)), np.ones((10, 4)), MapConfig(), [8, 8, 1], teach.certificate_of(planned)
    )
    teacher_file.write(ReleaseLog(folder), stored)
    monkeypatch.setattr(teach._Run, "_train_teacher", forbidden)
    monkeypatch.setattr(teacher_plan.TeacherPlan, "release_means", forbidden)
    found = teaching(planned, folder)._release()
    np.testing.assert_array_equal(found.weights, stored.weights)
    np.testing.assert_array_equal(found.means, stored.means)


def generating(folder: RunFolder, **of_plan: Any) -> Any:
    """What `generate._Run._release` needs of a run."""
    return types.SimpleNamespace(
        _log=ReleaseLog(folder),
        _folder=folder,
        _plan=types.SimpleNamespace(reused=None, **of_plan),
        _certificate={},
        _metrics={},
    )


def test_guarantee_a_resumed_run_takes_the_embedding_that_was_released(tmp_path: Path) -> None:
    path = written(tmp_path / "run", mu=0.25)
    (path / "config.json").write_text("{}")
    with RunFolder(path, resume=True, overwrite=False) as folder:
        found = generate._Run._release(generating(folder, release=forbidden))
    np.testing.assert_array_equal(found.mu, 0.25)


def test_guarantee_an_embedding_is_released_once_and_stored(folder: RunFolder) -> None:
    """What is stored is what the generator is trained on, not another draw."""
    drawn = iter((1.0, 2.0))

    def release() -> release_algorithm.Released:
        return release_algorithm.Released(jnp.full((2, 3), next(drawn)), jnp.full(2, 0.5))

    planned = generating_plan()
    data = types.SimpleNamespace(shape=(8, 8, 1))
    run = generating(folder, release=release, feature_config=planned.feature_config, data=data)
    run._certificate = generate.certificate_of(planned)
    found = generate._Run._release(run)
    np.testing.assert_array_equal(found.mu, 1.0)
    stored = released_file.read(folder.path / released_file.NAME)
    np.testing.assert_array_equal(stored.released.mu, 1.0)


def ledger(noise: float = 1.0) -> Ledger:
    release = GaussianRelease(name="sum", sensitivity=1.0, stddev=noise)
    return Ledger(num_examples=1000, delta=1e-5, releases=(release,))


def planned_run(path: Path, *, resume: bool, noise: float = 1.0, seed: int = 0) -> Any:
    return types.SimpleNamespace(
        settings=types.SimpleNamespace(resume=resume, overwrite=False),
        out_dir=str(path),
        ledger=ledger(noise),
        fixed_config=lambda: {"seed": seed},
        config=lambda: {"seed": seed},
    )


def started(planned: Any) -> dict[str, Any]:
    certificate = certificates.certify(planned.ledger, Terms(covers=("x",), target_epsilon=None))
    with run_start.started(planned, certificate, num_bytes=0) as run_of:
        return run_of.certificate


def test_guarantee_a_run_goes_on_with_the_numbers_it_started_with(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = started(planned_run(path, resume=False))
    assert started(planned_run(path, resume=True)) == first
    with pytest.raises(InputError, match="other numbers than it would go on with"):
        started(planned_run(path, resume=True, noise=2.0))
    with pytest.raises(InputError, match=r"--seed=1: .* started with seed=0"):
        started(planned_run(path, resume=True, seed=1))
    assert drivers.read(path, "privacy.json") == first


def of_version_0_1_0(path: Path, *, finished: bool, **edits: Any) -> dict[str, Any]:
    """Leave a run as version 0.1.0 did: no ledger in it."""
    certificate = started(planned_run(path, resume=False))
    new = ("verdict", "may_leave", "must_stay", "allowed", "counted_classes", "objection", "ledger")
    old = {key: value for key, value in certificate.items() if key not in new} | edits
    (path / "privacy.json").write_text(json.dumps(old))
    (path / "config.json").write_text(json.dumps({"seed": 0}))
    (path / "metrics.json").write_text(json.dumps({"finished": finished}))
    return old


def test_guarantee_an_unfinished_run_without_a_ledger_does_not_go_on(tmp_path: Path) -> None:
    of_version_0_1_0(tmp_path / "half", finished=False)
    with pytest.raises(InputError, match=r"started by version 0\.1\.0"):
        started(planned_run(tmp_path / "half", resume=True))
    old = of_version_0_1_0(tmp_path / "whole", finished=True)
    found = started(planned_run(tmp_path / "whole", resume=True, noise=5.0))
    assert found["epsilon"] == old["epsilon"]


# --- stored certificates ----------------------------------------------------------------------


def edit_meta(path: Path, **edits: Any) -> None:
    """Edit the certificate in an npz file of a release."""
    with np.load(path) as stored:
        arrays = dict(stored)
    meta = json.loads(str(arrays.pop("meta")))
    meta["certificate"] |= edits
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, meta=np.array(json.dumps(meta)))
    path.write_bytes(buffer.getvalue())


@pytest.mark.parametrize("where", ["embedding", "teacher", "generator", "old run"])
def test_guarantee_an_edited_certificate_is_refused_wherever_it_is_stored(
    where: str, tmp_path: Path, folder: RunFolder
) -> None:
    """A release without noise that says epsilon 0.1."""
    edits = {"epsilon": 0.1, "releasable": True, "not_releasable_reason": None}
    if where == "embedding":
        path = written(tmp_path / "generated", eps=math.inf) / released_file.NAME
        assert not released_file.read(path).certificate["releasable"]
        edit_meta(path, **edits)
        with pytest.raises(InputError, match=r"says epsilon 0\.1"):
            released_file.read(path)
    elif where == "teacher":
        certificate = teach.certificate_of(teaching_plan("--eps=inf"))
        stored = teacher_file.TeacherFile(
            np.ones((3, 10)), None, MapConfig(), [8, 8, 1], certificate
        )
        teacher_file.write(ReleaseLog(folder), stored)
        path = folder.path / teacher_file.NAME
        assert not teacher_file.read(path).certificate["releasable"]
        edit_meta(path, **edits)
        with pytest.raises(InputError, match=r"says epsilon 0\.1"):
            teacher_file.read(path)
    elif where == "generator":
        path = written(tmp_path / "generated", eps=math.inf)
        stored_json = drivers.read(path, "privacy.json")
        (path / "privacy.json").write_text(json.dumps(stored_json | edits))
        with pytest.raises(InputError, match=r"says epsilon 0\.1"):
            sample.Generator(path)
    else:
        of_version_0_1_0(tmp_path / "old", finished=True, epsilon=0.1)
        with pytest.raises(InputError, match=r"says epsilon 0\.1"):
            started(planned_run(tmp_path / "old", resume=True))


def test_guarantee_a_stored_teacher_of_version_0_1_0_is_not_releasable(folder: RunFolder) -> None:
    """Its noise was drawn in float32, that of class means beside it was not."""
    certificate = teach.certificate_of(teaching_plan())
    assert certificate["releasable"]
    new = ("verdict", "may_leave", "must_stay", "allowed", "counted_classes", "objection", "ledger")
    old = {key: value for key, value in certificate.items() if key not in new}
    for arrays, releasable in (
        ({"weights": np.ones((3, 10))}, False),
        ({"means": np.ones((10, 3))}, True),
    ):
        buffer = io.BytesIO()
        meta = {
            "map_config": dataclasses.asdict(MapConfig()),
            "example_shape": [8, 8, 1],
            "certificate": old,
        }
        np.savez(buffer, **arrays, meta=np.array(json.dumps(meta)))
        (folder.path / "teacher.npz").write_bytes(buffer.getvalue())
        found = teacher_file.read(folder.path / "teacher.npz").certificate
        assert found["releasable"] is releasable


def test_guarantee_a_teacher_is_used_beside_its_own_images_alone() -> None:
    """Each has a certificate of its own, and together they have cost more than either says."""
    flags: Any = types.SimpleNamespace(synthetic="a", teacher="b")
    certificate = {teacher_reuse.BESIDE: ["first"]}
    stored = teacher_file.TeacherFile(None, None, MapConfig(), [], certificate)
    images: Any = types.SimpleNamespace(digest="first")
    teacher_reuse.require_accounted(flags, stored, images)
    for other, reused in (("second", stored), ("first", stored._replace(certificate={}))):
        with pytest.raises(InputError, match="was not accounted for"):
            teacher_reuse.require_accounted(flags, reused, types.SimpleNamespace(digest=other))


# --- what is written beside releases ----------------------------------------------------------


def training_data(path: Path, *, seed: int) -> None:
    """Write a data set whose private half depends on the seed, and no other part of it."""
    rng, public = np.random.default_rng(seed), np.random.default_rng(99)
    np.savez(
        path,
        x_train=rng.integers(0, 200 + seed, (60, 8, 8), dtype=np.uint8),
        y_train=rng.choice(3, 60, p=[0.2 + 0.1 * seed, 0.4, 0.4 - 0.1 * seed]),
        x_test=public.integers(0, 256, (30, 8, 8), dtype=np.uint8),
        y_test=np.arange(30) % 3,
        class_names=np.array(["a", "b", "c"]),
    )


def public_mean(
    key: Any, mechanism: Any, clipped: dp_sgd.ClippedSum, *, chunk_size: int
) -> jax.Array:
    """Stand for a step's noisy mean: of the right shape, and of no data."""
    shape = jax.eval_shape(clipped.assemble, clipped.zero).shape
    return clipped.after(jax.random.normal(jax.random.key(1), shape, jnp.float64))


def public_sums(key: Any, exact: jax.Array, *, stddev: float, divisor: float) -> jax.Array:
    """Stand for noisy sums."""
    return jax.random.uniform(jax.random.key(2), exact.shape, jnp.float32)


def numbers_in(folder: Path) -> str:
    """Stand for the digest of orbax's files, which hold the time."""
    leaves = jax.tree.leaves(restore_tree(folder))
    return hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest()


# Orbax writes the time into these, too.
_ORBAX = ("checkpoints", "variables")


def everything_in(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {n: held for n, held in found.items() if not set(Path(n).parts) & set(_ORBAX)}


@pytest.fixture
def kept_programs(tmp_path: Path) -> Iterator[Path]:
    """Keep every program that is compiled in a folder of the test."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    folder = tmp_path / "programs"
    for name, value in zip(names, (str(folder), 0.0), strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield folder
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.mark.slow
@pytest.mark.skipif(not program_cache.is_right(), reason="keeps no programs")
@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_kept_programs_tell_nothing_of_the_data(
    name: str, tmp_path: Path, kept_programs: Path
) -> None:
    """A program's name is a digest of it, constants included: other data need no other program."""
    driver, _, flags = DRIVERS[name]
    found = []
    for seed in (0, 1):
        jax.clear_caches()  # or the second run would not look for programs
        training_data(tmp_path / "mine.npz", seed=seed)
        out = tmp_path / f"run-{seed}"
        places = (f"--data_dir={tmp_path}", "--dataset=mine", f"--out_dir={out}")
        assert drivers.drive(driver.main, *flags, "--delta=1e-3", *places) == 0
        found.append({path.name for path in kept_programs.glob("*-cache")})
    assert len(found[0]) > 20
    assert found[1] == found[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DRIVERS))
def test_guarantee_nothing_private_is_written_beside_releases(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With releases that do not depend on the data, nothing does: no file, no line, to the byte."""
    driver, _, flags = DRIVERS[name]
    extra = ("--check_copies",) if name == "dp_ntk" else ()
    monkeypatch.setattr(dp_sgd, "noisy_mean", public_mean)
    monkeypatch.setattr(class_sums, "noisy_sums", public_sums)
    stopped = types.SimpleNamespace(monotonic=lambda: 0.0)
    for module in (distill_run, generate, teach):
        monkeypatch.setattr(module, "time", stopped)
    monkeypatch.setattr("tqdm.std.time", lambda: 0.0)
    monkeypatch.setattr(generate, "files_digest", numbers_in)
    out, found = tmp_path / "run", []
    for seed in (0, 1):
        training_data(tmp_path / "mine.npz", seed=seed)
        common = ("--dataset=mine", f"--data_dir={tmp_path}", "--delta=1e-3", "--overwrite")
        assert drivers.drive(driver.main, *flags, *extra, *common, f"--out_dir={out}") == 0
        found.append((capfd.readouterr(), everything_in(out)))
    (said, first), (said_again, second) = found
    assert said == said_again
    assert sorted(first) == sorted(second)
    changed = {n: (held, second[n]) for n, held in first.items() if held != second[n]}
    assert changed == {}
    assert drivers.read(out, "released.json")["step"] == (0 if name == "dp_ntk" else 2)
    copies = out.with_name("run.not_for_release")
    assert copies.exists() == (name == "dp_ntk")
    assert not copies.exists() or copies.stat().st_mode & 0o077 == 0
