"""Distilling from a run whose images a private teacher has labelled: both are there already."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from support import drivers, toy_runs
from support.reuse import forbid_private_data, made, runs_of_other_data
from support.teaching import DIGITS, drive, read_teacher

import jaxdp
from jaxdp.program.commands import dp_kip_teacher, dp_ntk
from jaxdp.program.errors import InputError
from jaxdp.program.runs import generated_images

pytestmark = pytest.mark.usefixtures("few_public_images")

FLAGS = ("--distill_steps=2", "--ipc=1")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a generator and a teacher; tests only read it."""
    out = tmp_path_factory.mktemp("labelled") / "run"
    # All images of a class may be labelled as another one by a teacher of two steps.
    flags = (*toy_runs.NTK, "--labels=teacher", "--candidates=1", "--num_synthetic=400")
    for _ in range(9):  # or even as none of 400
        assert drivers.drive(dp_ntk.main, *flags, "--eps=5", "--overwrite", f"--out_dir={out}") == 0
        with np.load(out / "synthetic.npz") as saved:
            if len(np.unique(saved["y"])) == len(DIGITS.class_names):
                return out
    raise AssertionError("a class had no images nine times")


def test_guarantee_a_labelled_run_brings_its_teacher_and_no_data_are_used(
    labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other private data, the same labelled images: the same result, to the last bit."""
    forbid_private_data(monkeypatch)
    flags = ("--match=both", f"--synthetic={labelled}", *FLAGS)
    first, out = runs_of_other_data(dp_kip_teacher.main, tmp_path, *flags)
    np.testing.assert_array_equal(made(first, "distilled.npz"), made(out, "distilled.npz"))
    old, new = drivers.read(labelled, "privacy.json"), drivers.read(out, "privacy.json")
    assert new["ledger"] == old["ledger"]
    assert new["epsilon"] == old["epsilon"]
    assert new["releasable"]
    assert "no privacy beyond that release" in new["reused"]
    assert new["may_leave"] == new["covers"]
    assert new["covers"][0].startswith("teacher.npz: the weights of the private teacher")
    assert not any("synthetic.npz" in each for each in new["covers"])
    with np.load(labelled / "labelled.npz") as saved:
        np.testing.assert_array_equal(read_teacher(out).released.weights, saved["weights"])
    x = np.arange(64).reshape(1, 8, 8) % 17
    kept, there = jaxdp.load(out), jaxdp.load(labelled)
    np.testing.assert_allclose(
        kept.classifier.decision_function(x), there.classifier.decision_function(x), rtol=1e-5
    )


def test_guarantee_images_without_noise_leave_no_budget_to_another_teacher(labelled: Path) -> None:
    """A teacher that was trained beside them all the same would be accounted as not private."""
    found = generated_images.read(str(labelled), DIGITS, ipc=1)
    assert found.images.noise_multiplier == 0
    assert found.teacher is not None
    assert found.teacher.certificate["also_released_digests"] == [found.images.digest]


def test_images_alone_of_a_labelled_run_need_no_teacher(labelled: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert drive("--match=embedding", f"--synthetic={labelled}", *FLAGS, f"--out_dir={out}") == 0
    assert not (out / "teacher.npz").exists()
    epsilon = drivers.read(labelled, "privacy.json")["epsilon"]
    certificate = drivers.read(out, "privacy.json")
    assert certificate["epsilon"] == epsilon
    assert certificate["may_leave"][0].startswith("distilled.npz and distilled.png")


def test_another_teacher_beside_a_labelled_run_is_refused(
    labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, out = tmp_path / "first", f"--out_dir={tmp_path / 'run'}"
    synthetic = f"--synthetic={labelled}"
    assert drive("--match=both", synthetic, *FLAGS, f"--out_dir={first}") == 0
    teacher = f"--teacher={first / 'teacher.npz'}"
    assert drive("--match=both", synthetic, teacher, *FLAGS, out) == 2
    assert "has a teacher of its own" in capsys.readouterr().err


def test_guarantee_a_teacher_of_another_run_is_refused(labelled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(labelled, folder)
    with np.load(folder / "labelled.npz") as saved:
        arrays = dict(saved)
    np.savez(folder / "labelled.npz", **(arrays | {"weights": arrays["weights"] + 1}))
    with pytest.raises(InputError, match=r"labelled\.npz is not the file that privacy\.json"):
        generated_images.read(str(folder), DIGITS, ipc=1)


def test_guarantee_a_teacher_of_untied_images_is_not_releasable(
    labelled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(labelled, folder)
    certificate = drivers.read(folder, "privacy.json")
    del certificate["sha256"]
    (folder / "privacy.json").write_text(json.dumps(certificate))
    found = generated_images.read(str(folder), DIGITS, ipc=1)
    assert found.teacher is not None
    assert not found.teacher.certificate["releasable"]
