"""The driver with a private teacher at toy size: files, errors, resumption, reuse."""

from __future__ import annotations

import functools
import json
import math
import shutil
from pathlib import Path
from typing import Any

import drivers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drivers import read
from generated_folder import GENERATED_EPS, written
from PIL import Image

from experiments import dp_kip_teacher as driver
from experiments import program_cache, public_map, teacher_plan
from experiments.data.load import load_dataset
from experiments.runs import public_cache, synthetic_images, teach, teacher_file
from experiments.teacher_settings import MapConfig, TeacherSettings
from jaxdp.privacy import accounting
from jaxdp.privacy.mechanism import SubsampledGaussian

drive = functools.partial(drivers.drive, driver.main)

pytestmark = pytest.mark.usefixtures("quick_compilation", "few_public_images")

DIGITS = load_dataset("digits", data_dir="nowhere")
TOY = ("--steps=4", "--batch_size=200", "--distill_steps=3")
FILES = {
    "teacher.npz",
    "distilled.npz",
    "distilled.png",
    "report.html",
    "metrics.json",
    "privacy.json",
    "released.json",
    "config.json",
    "checkpoints",
}


def plan_of(*arguments: str) -> teacher_plan.TeacherPlan:
    return teacher_plan.make_plan(drivers.settings(TeacherSettings, *arguments))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("teach") / "run"
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    return out


def test_leaves_exactly_the_documented_files(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == FILES


def test_distilled_set_is_balanced_and_says_its_scaling(finished: Path) -> None:
    with np.load(finished / "distilled.npz", allow_pickle=False) as saved:
        assert saved["x"].shape == (10, 8, 8, 1)
        np.testing.assert_array_equal(saved["y"], np.arange(10))
        assert saved["y_scores"].shape == (10, 10)
        assert (float(saved["shift"]), float(saved["scale"])) == (0.0, 16.0)


def test_metrics_and_certificate(finished: Path) -> None:
    metrics, certificate = (
        read(finished, "metrics.json"),
        read(finished, "privacy.json"),
    )
    assert metrics["finished"]
    assert metrics["krr_test_accuracy"] > metrics["krr_test_accuracy_before"]
    assert 0 < metrics["teacher_test_accuracy"] <= 1
    assert certificate["epsilon"] <= 5
    assert certificate["num_steps"] == 4
    assert certificate["releasable"]
    assert any("teacher.npz" in line for line in certificate["covers"])


def test_picture_and_report_open(finished: Path) -> None:
    with Image.open(finished / "distilled.png") as picture:
        assert picture.width > 100
    text = (finished / "report.html").read_text()
    assert "Distilled from a private teacher: digits" in text
    assert "teacher.npz" in text


def test_guarantee_distillation_from_a_teacher_costs_nothing_and_sees_no_data(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other private data, the same teacher file: the same images, to the last bit."""

    def forbidden(*_: Any) -> None:
        raise AssertionError("the private data were used")

    monkeypatch.setattr(teach._Run, "_train_teacher", forbidden)
    stored, results = f"--teacher={finished / 'teacher.npz'}", []
    for number, subset in enumerate(("--subset=300", "--subset=400")):
        out = tmp_path / str(number)
        code = drive(stored, subset, "--ipc=2", "--distill_steps=2", f"--out_dir={out}")
        assert code == 0
        with np.load(out / "distilled.npz") as saved:
            results.append(saved["x"])
    assert len(results[0]) == 20
    np.testing.assert_array_equal(*results)
    certificate, original = (
        read(out, "privacy.json"),
        read(finished, "privacy.json"),
    )
    assert "no privacy beyond that release" in certificate["reused"]
    assert original.pop("sha256").keys() == certificate.pop("sha256").keys()
    assert {key: certificate[key] for key in original} == original


def test_finished_teacher_is_not_trained_again_on_resumption(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    (out / "distilled.npz").unlink()
    before = (out / "teacher.npz").read_bytes()
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 2  # in use
    assert drive(*TOY, "--eps=5", f"--out_dir={out}", "--resume") == 0
    assert (out / "teacher.npz").read_bytes() == before
    with np.load(out / "distilled.npz") as a, np.load(finished / "distilled.npz") as b:
        np.testing.assert_array_equal(a["x"], b["x"])
    assert drive(*TOY, "--eps=6", f"--out_dir={out}", "--resume") == 2


@pytest.mark.slow
def test_killed_run_resumes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--steps=2000", "--batch_size=200", "--distill_steps=3", "--eps=5"]
    arguments += ["--whiten=0", f"--out_dir={out}"]
    drivers.kill_when(
        "experiments.dp_kip_teacher",
        *arguments,
        ready=(out / "checkpoints").exists,
        wait=0.2,
    )
    assert not (out / "distilled.npz").exists()
    assert drive(*arguments, "--resume") == 0
    assert read(out, "metrics.json")["finished"]
    assert read(out, "privacy.json")["num_steps"] == 2000


def test_runs_differ_in_noise_and_seeded_ones_are_not_releasable(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    again, first = (teacher_file.read(d / "teacher.npz").weights for d in (out, finished))
    assert np.abs(again - first).max() > 1e-6
    plan = plan_of(*TOY, "--eps=5", "--noise_seed=3")
    assert not teach.certificate_of(plan)["releasable"]
    plain = plan_of(*TOY, "--eps=inf")
    assert not teach.certificate_of(plain)["releasable"]


def test_options_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    judges = ("--evaluate=krr,logistic,frechet", "--ipc=10")
    options = ("--mirror", "--learn_labels", "--total_variation=0.1", *judges)
    assert drive(*TOY, "--subset=300", "--whiten=0", *options, f"--out_dir={out}") == 0
    metrics = read(out, "metrics.json")
    assert metrics["finished"]
    assert set(metrics["evaluation"]) == {"logistic", "frechet"}
    assert metrics["evaluation"]["frechet"]["num_images"] == 100


# Alike in all runs with class means, which compile long.
MEANS = ("--subset=300", "--whiten=0", "--distill_steps=2")


@pytest.fixture(scope="module")
def finished_both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a teacher and class means; tests only read it."""
    out = tmp_path_factory.mktemp("both") / "run"
    assert drive(*TOY[:2], *MEANS, "--match=both", "--eps=5", f"--out_dir={out}") == 0
    return out


def test_matching_both_is_one_budget_and_can_be_reused(finished_both: Path, tmp_path: Path) -> None:
    out = finished_both
    certificate = read(out, "privacy.json")
    assert certificate["epsilon"] <= 5
    assert len(certificate["also_released"]) == 1
    stored = teacher_file.read(out / "teacher.npz")
    assert stored.means is not None
    assert stored.means.shape[0] == 10
    again = tmp_path / "again"
    arguments = (f"--teacher={out / 'teacher.npz'}", *MEANS, f"--out_dir={again}")
    assert drive(*arguments, "--match=both") == 0
    with np.load(again / "teacher.npz") as a, np.load(out / "teacher.npz") as b:
        np.testing.assert_array_equal(a["means"], b["means"])


def test_embedding_alone_is_one_release_and_needs_no_teacher(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    options = ("--match=embedding", *MEANS)
    assert drive(*options, "--eps=5", f"--out_dir={out}") == 0
    certificate = read(out, "privacy.json")
    assert certificate["mechanism"] == "Gaussian, one release of the whole data"
    assert 4.9 < certificate["epsilon"] <= 5
    assert (certificate["num_steps"], certificate["sampling_rate"]) == (1, 1.0)
    assert certificate["also_released"] == []
    assert "teacher" not in certificate["covers"][0].removeprefix("teacher.npz")
    assert "Distilled from private class means" in (out / "report.html").read_text()
    assert read(out, "metrics.json")["teacher_test_accuracy"] is None
    assert "clip_norm" not in read(out, "config.json")
    stored = teacher_file.read(out / "teacher.npz")
    assert stored.weights is None
    assert stored.num_classes == 10
    again = (f"--teacher={out / 'teacher.npz'}", *options, f"--out_dir={tmp_path / 'again'}")
    assert drive(*again) == 0
    capsys.readouterr()
    assert drive(*again[:1], "--subset=300", f"--out_dir={tmp_path / 'third'}") == 2
    assert "was released without a teacher" in capsys.readouterr().err


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a generating run leaves it; tests only read it."""
    return written(tmp_path_factory.mktemp("generated") / "run")


BESIDE = ("--match=both", *MEANS)


@pytest.fixture(scope="module")
def finished_beside(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a teacher and generated images; tests only read it."""
    out = tmp_path_factory.mktemp("beside") / "run"
    arguments = (*BESIDE, f"--synthetic={generated}", "--eps=5", f"--out_dir={out}")
    assert drive(*TOY[:2], *arguments) == 0
    return out


def test_guarantee_generated_images_and_a_teacher_are_accounted_together(
    finished_beside: Path, generated: Path
) -> None:
    certificate = read(finished_beside, "privacy.json")
    (beside,) = certificate["also_released"]
    assert beside == pytest.approx(synthetic_images.read(str(generated), DIGITS, ipc=1)[2])
    alone = SubsampledGaussian(
        num_examples=certificate["num_examples"],
        sampling_rate=certificate["sampling_rate"],
        num_steps=certificate["num_steps"],
        clip_norm=certificate["clip_norm"],
        noise_multiplier=certificate["noise_multiplier"],
    )
    together = accounting.epsilon(alone, delta=1e-5, accountant="pld", also=(beside,))
    assert together == pytest.approx(certificate["epsilon"])
    assert accounting.epsilon(alone, delta=1e-5, accountant="pld") < 4.9 < together <= 5
    assert certificate["releasable"]
    assert "the embedding that --synthetic was generated from" in certificate["covers"][0]


def test_images_beside_a_teacher_start_as_generated_ones_and_move(
    finished_beside: Path, generated: Path
) -> None:
    with np.load(finished_beside / "distilled.npz") as saved:
        x = saved["x"].reshape(10, 64)
    images = synthetic_images.read(str(generated), DIGITS, ipc=1).x
    distances = np.abs(x[:, None] - images).max(axis=2).min(axis=1)
    assert np.all((distances > 0) & (distances < 0.1))
    text = (finished_beside / "report.html").read_text()
    assert "Distilled from a private teacher and a private generator" in text


def test_guarantee_a_teacher_is_used_with_the_images_it_was_accounted_with_alone(
    finished_beside: Path, generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teacher = f"--teacher={finished_beside / 'teacher.npz'}"
    again = tmp_path / "again"
    assert drive(teacher, *BESIDE, f"--synthetic={generated}", f"--out_dir={again}") == 0
    old, new = read(finished_beside, "privacy.json"), read(again, "privacy.json")
    assert {key: new[key] for key in old} == old
    other = written(tmp_path / "other", mu=0.5)
    arguments = (teacher, *BESIDE, f"--synthetic={other}", f"--out_dir={tmp_path / 'third'}")
    assert drive(*arguments) == 2
    assert "was not accounted for" in capsys.readouterr().err


def test_guarantee_images_alone_cost_nothing_and_see_no_data(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other private data, the same generated images: the same result, to the last bit."""

    def forbidden(*_: Any) -> None:
        raise AssertionError("the private data were used")

    monkeypatch.setattr(teach._Run, "_release", forbidden)
    results = []
    for number, subset in enumerate(("--subset=300", "--subset=400")):
        out = tmp_path / str(number)
        options = ("--match=embedding", f"--synthetic={generated}", "--distill_steps=2")
        assert drive(*options, "--ipc=2", subset, "--whiten=0", f"--out_dir={out}") == 0
        with np.load(out / "distilled.npz") as saved:
            results.append(saved["x"])
    np.testing.assert_array_equal(*results)
    certificate = read(out, "privacy.json")
    assert certificate["epsilon"] == pytest.approx(GENERATED_EPS, rel=1e-6)
    assert "no privacy beyond that release" in certificate["reused"]
    assert not (out / "teacher.npz").exists()
    assert "Distilled from a private generator" in (out / "report.html").read_text()


def test_guarantee_a_run_is_not_resumed_beside_another_release(
    finished_beside: Path, generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the same folder as the first: only its digest tells that two have been spent."""
    out, folder = tmp_path / "run", tmp_path / "generated"
    shutil.copytree(finished_beside, out)
    config = read(out, "config.json")
    (out / "config.json").write_text(json.dumps(config | {"synthetic": str(folder)}))
    shutil.copytree(generated, folder)
    arguments = (*TOY[:2], *BESIDE, f"--synthetic={folder}", "--eps=5", f"--out_dir={out}")
    assert drive(*arguments, "--resume") == 0
    shutil.rmtree(folder)
    written(folder, mu=0.5)
    assert drive(*arguments, "--resume") == 2
    assert "synthetic_digest" in capsys.readouterr().err


def test_images_of_unsafe_releases_make_nothing_releasable(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain", eps=math.inf)
    plan = plan_of(*TOY, "--match=both", f"--synthetic={plain}", "--eps=inf")
    assert not teach.certificate_of(plan)["releasable"]
    seeded = written(tmp_path / "seeded", seeded=True)
    plan = plan_of(*TOY, "--match=both", f"--synthetic={seeded}", "--eps=5")
    assert not teach.certificate_of(plan)["releasable"]


def test_generated_images_must_leave_the_teacher_a_budget(
    generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = written(tmp_path / "plain", eps=math.inf)
    for folder, said in ((generated, "has spent 1.16"), (plain, "everything, without noise")):
        arguments = ("--match=both", f"--synthetic={folder}", "--eps=0.5")
        assert drive(*arguments, f"--out_dir={tmp_path / 'run'}") == 2
        assert said in capsys.readouterr().err


def test_means_of_other_features_are_refused(
    finished_both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(finished_both / "teacher.npz") as saved:
        arrays = {**saved, "means": saved["means"][:, :-1]}
    np.savez(tmp_path / "other.npz", **arrays)
    arguments = (f"--teacher={tmp_path / 'other.npz'}", "--match=both")
    assert drive(*arguments, f"--out_dir={tmp_path / 'run'}") == 2
    assert "another version made it" in capsys.readouterr().err


def test_guarantee_class_means_move_by_one_example_as_accounted() -> None:
    """Features of all views together have norm 1 at most, and nearly attain it."""
    features = plan_of(*TOY, "--match=both").mean_features
    rows = jax.random.uniform(jax.random.key(0), (4, 64))
    each = jax.jit(jax.vmap(features.weighted_sum, in_axes=(None, 0)))(rows, jnp.eye(4))
    norms = jnp.linalg.norm(each, axis=1)
    assert jnp.all((norms > 0.999) & (norms <= 1))


def test_runs_without_noise_are_not_releasable() -> None:
    for match in ("both", "embedding"):
        plan = plan_of(*TOY, f"--match={match}", "--eps=inf")
        assert plan.means_multiplier == 0
        assert not teach.certificate_of(plan)["releasable"]


BAD = {
    "match": ("--match=none", "--match=none"),
    "share": ("--embedding_share=1", "--embedding_share=1"),
    "weight": ("--match=embedding --cosine_weight=1", "--cosine_weight=1"),
    "labels": ("--match=embedding --learn_labels", "--learn_labels"),
    "ipc": ("--ipc=0", "--ipc=0"),
    "eps": ("--eps=-1", "--eps=-1"),
    "whiten": ("--whiten=-1", "--whiten=-1"),
    "batch": ("--batch_size=100000", "--batch_size=100000"),
    "both lengths": ("--steps=3 --epochs=2", "--steps=3"),
    "smoothing": ("--label_smoothing=1", "--label_smoothing=1"),
    "teacher": ("--teacher=nowhere.npz", "no such file"),
    "synthetic": ("--synthetic=nowhere --match=both", "--synthetic=nowhere"),
    "what for": ("--synthetic=nowhere", "is for --match=embedding or --match=both"),
    "seed": ("--synthetic=a --match=embedding --noise_seed=1", "--noise_seed=1"),
    "dataset": ("--dataset=none", "--dataset=none"),
    "evaluate": ("--evaluate=magic", "--evaluate=magic"),
    "rate": ("--distill_learning_rate=0", "--distill_learning_rate=0"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_gets_one_line_and_writes_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, said = BAD[name]
    out = tmp_path / "run"
    data = f"--data_dir={tmp_path}"
    drivers.assert_refused(driver.main, capsys, said, *arguments.split(), data, out=out)
    assert not out.exists()


def test_tables_odd_images_and_other_teachers_are_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y = np.arange(20) % 2
    for name, shape in (("table", (20, 5)), ("odd", (20, 7, 7))):
        x = np.zeros(shape, np.float32)
        np.savez(tmp_path / f"{name}.npz", x_train=x, y_train=y, x_test=x, y_test=y)
        out = f"--out_dir={tmp_path / 'run'}"
        assert drive(f"--dataset={name}", f"--data_dir={tmp_path}", out) == 2
        assert f"--dataset={name}" in capsys.readouterr().err
    stored = f"--teacher={finished / 'teacher.npz'}"
    assert drive(stored, "--whiten=0.7", out) == 2
    assert "was made with" in capsys.readouterr().err
    assert drive(stored, "--match=both", out) == 2
    assert "without class means" in capsys.readouterr().err
    np.savez(tmp_path / "not.npz", weights=np.zeros((3, 2)))
    assert drive(f"--teacher={tmp_path / 'not.npz'}", out) == 2
    assert "lacks meta" in capsys.readouterr().err


def test_public_constants_are_computed_once_and_survive_a_broken_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []

    def compute() -> np.ndarray:
        calls.append(1)
        return np.arange(3.0)

    for _ in range(2):
        np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
    assert len(calls) == 1
    public_cache.cached({"a": 2}, compute)
    assert len(calls) == 2
    for path in program_cache.cache_folder().iterdir():
        path.write_bytes(b"broken")
    np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "file"))
    (tmp_path / "a").write_text("in the way")
    np.testing.assert_array_equal(public_cache.cached({"a": 1}, compute), np.arange(3.0))


def test_guarantee_the_public_map_is_the_same_in_every_run() -> None:
    rows = jax.random.uniform(jax.random.key(0), (3, 64))
    config = MapConfig(whiten=0.2)
    found = [np.asarray(public_map.public_map(config, (8, 8, 1))(rows)) for _ in range(2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("gone", ["teacher.npz", "checkpoints"])
def test_guarantee_a_teacher_that_was_moved_away_is_not_trained_again(
    gone: str, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(finished, tmp_path / "copy"))
    (copy / gone).rename(tmp_path / gone)
    if gone == "checkpoints":  # killed after its last step, before the teacher was written
        (copy / "teacher.npz").unlink()
        (copy / "distilled.npz").unlink()
        (copy / "released.json").write_text(json.dumps({"files": {}, "step": 4}))
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copy}") == 2
    error = capsys.readouterr().err
    assert ("was released and is gone" if gone == "teacher.npz" else "steps up to 4") in error
    assert not (copy / "teacher.npz").exists()


def test_guarantee_a_teacher_of_version_0_1_0_is_used_but_not_releasable(
    finished: Path, tmp_path: Path
) -> None:
    """Its noise was float32; the certificate, which had no ledger, said nothing of it."""
    with np.load(finished / "teacher.npz") as saved:
        arrays = dict(saved)
    meta = json.loads(str(arrays.pop("meta")))
    for new in ("ledger", "allowed", "objection", "verdict", "may_leave", "must_stay"):
        del meta["certificate"][new]
    np.savez(tmp_path / "old.npz", **arrays, meta=np.array(json.dumps(meta)))
    out = tmp_path / "run"
    old = f"--teacher={tmp_path / 'old.npz'}"
    assert drive(old, "--ipc=1", "--distill_steps=2", f"--out_dir={out}") == 0
    certificate = read(out, "privacy.json")
    assert not certificate["releasable"]
    assert "float32" in certificate["not_releasable_reason"]
    assert "float32" in read_teacher(out).certificate["ledger"]["noise"]


def read_teacher(out: Path) -> teacher_file.TeacherFile:
    return teacher_file.read(out / "teacher.npz")
