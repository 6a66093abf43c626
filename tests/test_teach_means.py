"""The driver with class means or generated images, in the place of a teacher or beside it."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.drivers import read
from support.generated_folder import GENERATED_EPS, written
from support.reuse import forbid_private_data, made, runs_of_other_data
from support.teaching import DIGITS, TOY, drive, plan_of, read_teacher

from jaxdp.images.packing import Packing
from jaxdp.methods import certified
from jaxdp.privacy import accounting
from jaxdp.privacy.ledger import FLOAT32_NOISE, UNROUNDED_NOISE
from jaxdp.privacy.mechanism import SubsampledGaussian
from jaxdp.program.commands import dp_kip_teacher as driver
from jaxdp.program.runs import generated_images

pytestmark = pytest.mark.usefixtures("few_public_images")

# Alike in all runs with class means, which compile long.
SHORT = ("--subset=300", "--whiten=0", "--distill_steps=2")
MEANS = (*SHORT, "--networks=2")


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
    # The teacher's mean of features and its probabilities, too.
    assert len(certificate["also_released"]) == 3
    stored = read_teacher(out).released
    assert stored.means is not None
    assert stored.means.shape[0] == 10
    again = tmp_path / "again"
    arguments = (f"--teacher={out / 'teacher.npz'}", *MEANS, f"--out_dir={again}")
    assert drive(*arguments, "--match=both") == 0
    with np.load(again / "teacher.npz") as a, np.load(out / "teacher.npz") as b:
        np.testing.assert_array_equal(a["means"], b["means"])
    alone = tmp_path / "alone"
    assert drive(*arguments[:-1], f"--out_dir={alone}") == 0
    assert "noisy class means" in read(alone, "privacy.json")["covers"][0]  # they are there, too


def test_embedding_alone_is_one_release_and_needs_no_teacher(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    options = ("--match=embedding", *SHORT)  # of scattering features
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
    stored = read_teacher(out).released
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


BESIDE = ("--match=both", *SHORT)


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
    beside, mean, gaps = certificate["also_released"]
    assert beside == pytest.approx(
        generated_images.read(str(generated), DIGITS, ipc=1).images.noise_multiplier
    )
    alone = SubsampledGaussian(
        num_examples=certificate["num_examples"],
        sampling_rate=certificate["sampling_rate"],
        num_steps=certificate["num_steps"],
        clip_norm=certificate["clip_norm"],
        noise_multiplier=certificate["noise_multiplier"],
    )
    together = accounting.epsilon(alone, delta=1e-5, accountant="pld", also=(beside, mean, gaps))
    assert together == pytest.approx(certificate["epsilon"])
    assert accounting.epsilon(alone, delta=1e-5, accountant="pld") < 4.9 < together <= 5
    assert certificate["releasable"]
    assert "the embedding that --synthetic was generated from" in certificate["covers"][0]


def test_images_beside_a_teacher_start_as_generated_ones_and_move(
    finished_beside: Path, generated: Path
) -> None:
    x = made(finished_beside, "distilled.npz").reshape(10, 64)
    images = generated_images.read(str(generated), DIGITS, ipc=1).images.x
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
    forbid_private_data(monkeypatch)
    flags = ("--match=embedding", f"--synthetic={generated}", "--distill_steps=2", "--ipc=2")
    first, out = runs_of_other_data(driver.main, tmp_path, *flags, "--whiten=0")
    np.testing.assert_array_equal(made(first, "distilled.npz"), made(out, "distilled.npz"))
    certificate = read(out, "privacy.json")
    assert certificate["epsilon"] == pytest.approx(GENERATED_EPS, rel=1e-6)
    assert "no privacy beyond that release" in certificate["reused"]
    assert not (out / "teacher.npz").exists()
    assert "Distilled from a private generator" in (out / "report.html").read_text()
    assert drive(*flags, "--whiten=0", "--subset=400", "--resume", f"--out_dir={out}") == 0
    np.testing.assert_array_equal(made(first, "distilled.npz"), made(out, "distilled.npz"))


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
    assert not certified.certificate(plan)["releasable"]
    seeded = written(tmp_path / "seeded", seeded=True)
    plan = plan_of(*TOY, "--match=both", f"--synthetic={seeded}", "--eps=5")
    assert not certified.certificate(plan)["releasable"]
    sound = written(tmp_path / "sound")
    plan = plan_of(*TOY, "--match=both", f"--synthetic={sound}", "--eps=5")
    assert certified.certificate(plan)["releasable"]
    images = plan.earlier.images
    for noise in (FLOAT32_NOISE, UNROUNDED_NOISE):
        ledger = images.certificate["ledger"] | {"noise": noise}
        flawed = images._replace(certificate=images.certificate | {"ledger": ledger})
        beside = dataclasses.replace(plan, earlier=plan.earlier._replace(images=flawed))
        facts = certified.certificate(beside)
        assert facts["ledger"]["noise"] == noise
        assert not facts["releasable"]


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


@pytest.mark.parametrize("networks", [0, 2])
def test_guarantee_class_means_move_by_one_example_as_accounted(networks: int) -> None:
    """Features of all views, or of all networks, of stored rows have norm 1 at most together."""
    means = plan_of(*TOY, "--match=both", f"--networks={networks}").means
    rows = jax.random.uniform(jax.random.key(0), (4, 64), maxval=16.0)
    each = jax.jit(jax.vmap(means.features.weighted_sum, in_axes=(None, 0)))(rows, jnp.eye(4))
    norms = jnp.linalg.norm(each, axis=1)
    assert jnp.all((norms > 0.999) & (norms <= 1))


def test_small_images_are_made_enlarged_and_as_they_are(
    finished_both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teacher, out = f"--teacher={finished_both / 'teacher.npz'}", tmp_path / "packed"
    arguments = (teacher, *SHORT, "--match=both", "--ipc=2")
    assert drive(*arguments, "--packing=2", f"--out_dir={out}") == 0
    with np.load(out / "distilled.npz") as saved:
        x, packed, y = saved["x"], saved["packed"], saved["y"]
    assert (x.shape, packed.shape) == ((80, 8, 8, 1), (20, 8, 8, 1))
    assert np.bincount(y).tolist() == [8] * 10
    packing = Packing(image_shape=(8, 8, 1), factor=2)
    whole = packing.enlarged(packing.unpacked(jnp.asarray(packed.reshape(20, -1))))
    np.testing.assert_allclose(x.reshape(80, -1), whole, atol=1e-5)
    assert drive(*arguments, "--packing=3", f"--out_dir={tmp_path / 'odd'}") == 2
    assert "images of 8 x 8 pixels do not hold 3 x 3; 1 packs none" in capsys.readouterr().err


def test_small_images_need_enough_generated_ones(
    generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--match=embedding", f"--synthetic={generated}", "--ipc=1", "--packing=8")
    assert drive(*arguments, f"--out_dir={tmp_path / 'run'}") == 2
    assert "--packing=8: needs 64 generated images of each class" in capsys.readouterr().err


def test_networks_without_class_means_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(*TOY, "--networks=2", f"--out_dir={tmp_path / 'run'}") == 2
    assert "there are no class means here" in capsys.readouterr().err


def test_runs_without_noise_are_not_releasable() -> None:
    for match in ("both", "embedding"):
        plan = plan_of(*TOY, f"--match={match}", "--eps=inf")
        assert plan.mechanisms.means == 0
        assert not certified.certificate(plan)["releasable"]
