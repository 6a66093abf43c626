"""The driver with a private teacher at toy size: files, resumption, reuse of a teacher."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support import drivers
from support.drivers import COMMON_FILES, names_in, read
from support.reuse import assert_certified_again, forbid_private_data, made, runs_of_other_data
from support.teaching import TOY, drive, plan_of, read_teacher

import jaxdp
from jaxdp.methods import certified
from jaxdp.methods.made import shares
from jaxdp.program.commands import dp_kip_teacher as driver

pytestmark = pytest.mark.usefixtures("few_public_images")

FILES = COMMON_FILES | {"teacher.npz", "distilled.npz", "distilled.png"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("teach") / "run"
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    return out


def test_leaves_exactly_the_documented_files(finished: Path) -> None:
    assert names_in(finished) == FILES


def test_distilled_set_is_balanced_and_says_its_scaling(finished: Path) -> None:
    with np.load(finished / "distilled.npz", allow_pickle=False) as saved:
        assert saved["x"].shape == (10, 8, 8, 1)
        np.testing.assert_array_equal(saved["y"], np.arange(10))
        assert saved["y_scores"].shape == (10, 10)
        soft = saved["y_soft"]
        np.testing.assert_allclose(soft.sum(axis=1), 1.0, rtol=1e-5)
        np.testing.assert_array_equal(
            soft.argmax(axis=1), jaxdp.load(finished).classifier.predict(saved["x"] * 16)
        )
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
    forbid_private_data(monkeypatch)
    flags = (f"--teacher={finished / 'teacher.npz'}", "--ipc=2", "--distill_steps=2")
    first, second = runs_of_other_data(driver.main, tmp_path, *flags)
    assert len(made(first, "distilled.npz")) == 20
    np.testing.assert_array_equal(made(first, "distilled.npz"), made(second, "distilled.npz"))
    assert_certified_again(second, finished)


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
    np.testing.assert_array_equal(made(out, "distilled.npz"), made(finished, "distilled.npz"))
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
    again, first = (read_teacher(d).released.weights for d in (out, finished))
    assert np.abs(again - first).max() > 1e-6
    plan = plan_of(*TOY, "--eps=5", "--noise_seed=3")
    assert not certified.certificate(plan)["releasable"]
    plain = plan_of(*TOY, "--eps=inf")
    assert not certified.certificate(plain)["releasable"]


def test_options_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    judges = ("--evaluate=krr,logistic,frechet", "--ipc=10")
    options = ("--mirror", "--learn_labels", "--total_variation=0.1", *judges)
    assert drive(*TOY, "--subset=300", "--whiten=0", *options, f"--out_dir={out}") == 0
    metrics = read(out, "metrics.json")
    assert metrics["finished"]
    assert set(metrics["evaluation"]) == {"logistic", "frechet"}
    assert metrics["evaluation"]["frechet"]["num_images"] == 100
    with np.load(out / "distilled.npz") as saved:
        np.testing.assert_allclose(saved["y_soft"], shares(saved["y_scores"]), rtol=1e-6)
        assert saved["y_soft"].max() < 0.99  # learnt labels are no longer hard ones


def test_tables_and_other_teachers_are_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y = np.arange(20) % 2
    x = np.zeros((20, 5), np.float32)
    np.savez(tmp_path / "table.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    out = f"--out_dir={tmp_path / 'run'}"
    assert drive("--dataset=table", f"--data_dir={tmp_path}", out) == 2
    assert "--dataset=table" in capsys.readouterr().err
    stored = f"--teacher={finished / 'teacher.npz'}"
    assert drive(stored, "--whiten=0.7", out) == 2
    assert "was made with" in capsys.readouterr().err
    assert drive(stored, "--match=both", out) == 2
    assert "without class means" in capsys.readouterr().err
    for trains in ("--priors=equal", "--steps=3", "--clip_norm=2.5", "--label_smoothing=0.2"):
        assert drive(stored, trains, out) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: {trains}: --teacher=")
        assert "was trained already, leave it out" in said
    assert drive(stored, "--eps=0.5", out) == 2
    assert "--eps=0.5: what is used again was released with 5; leave it out" in (
        capsys.readouterr().err
    )
    with np.load(finished / "teacher.npz") as saved:
        short = {name: saved[name] for name in saved if name != "view"}
        np.savez(tmp_path / "short.npz", **{**short, "weights": saved["weights"][:-1]})
    assert drive(f"--teacher={tmp_path / 'short.npz'}", out) == 2
    assert "another version made it; leave it out" in capsys.readouterr().err
    np.savez(tmp_path / "not.npz", weights=np.zeros((3, 2)))
    assert drive(f"--teacher={tmp_path / 'not.npz'}", out) == 2
    assert "lacks meta" in capsys.readouterr().err


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
