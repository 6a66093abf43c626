"""The driver at toy size: files, errors, resumption, and what it must never write."""

import errno
import fcntl
import functools
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import drivers
import jax
import numpy as np
import pytest
from drivers import names_in, read
from PIL import Image

from experiments import dp_kip as driver
from experiments import plan
from experiments.defaults import Hyperparameters, defaults_for
from experiments.kernel_registry import KERNELS
from experiments.runs.folder import RunFolder
from jaxdp.features import perceptual
from jaxdp.methods import dp_kip
from jaxdp.networks import classifiers

drive = functools.partial(drivers.drive, driver.main)
assert_refused = functools.partial(drivers.assert_refused, driver.main)

pytestmark = pytest.mark.usefixtures("quick_compilation")

ROOT = Path(__file__).parents[1]
TOY = ("--ipc=1", "--steps=6", "--eval_every=2", "--batch_size=50")
FILES = {
    "distilled.npz",
    "distilled.png",
    "report.html",
    "metrics.json",
    "privacy.json",
    "released.json",
    "config.json",
    "checkpoints",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished private run on digits; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("driver") / "run"
    assert drive(*TOY, "--eps=5", f"--out_dir={out}") == 0
    return out


def test_leaves_exactly_the_documented_files(finished: Path) -> None:
    assert names_in(finished) == FILES


def test_distilled_npz_loads_without_pickle_and_is_balanced(finished: Path) -> None:
    with np.load(finished / "distilled.npz", allow_pickle=False) as saved:
        assert saved["x"].shape == (10, 8, 8, 1)
        assert saved["x"].dtype == np.float32
        assert np.isfinite(saved["x"]).all()
        np.testing.assert_array_equal(saved["y"], np.arange(10))
        assert list(saved["class_names"]) == list("0123456789")
        assert (float(saved["shift"]), float(saved["scale"])) == (0.0, 5.0)


def test_picture_and_report_open(finished: Path) -> None:
    with Image.open(finished / "distilled.png") as picture:
        picture.load()
        assert min(picture.size) > 100
    page = (finished / "report.html").read_text()
    HTMLParser().feed(page)
    assert "http://" not in page
    assert "https://" not in page
    assert f"{read(finished, 'metrics.json')['krr_test_accuracy']:.1%}"[:4] in page


def test_metrics_have_their_stable_keys(finished: Path) -> None:
    metrics = read(finished, "metrics.json")
    assert 0 <= metrics["krr_test_accuracy_before"] <= 1
    assert 0 <= metrics["krr_test_accuracy"] <= 1
    assert metrics["train_seconds"] > 0
    assert metrics["device"].startswith(("cpu", "gpu", "cuda"))
    assert metrics["finished"] is True
    assert [point["step"] for point in metrics["history"]] == [0, 2, 4, 6]


def test_guarantee_certificate_states_what_was_run(finished: Path) -> None:
    privacy = read(finished, "privacy.json")
    assert 0 < privacy["epsilon"] <= 5
    assert privacy["delta"] == 1e-5
    assert privacy["num_steps"] == 6
    assert privacy["sampling_rate"] == pytest.approx(50 / 1437)
    assert privacy["clip_norm"] == defaults_for("digits", "fc_ntk").clip_norm
    assert privacy["noise_multiplier"] > 0.3
    assert privacy["epsilon_second_opinion"] >= privacy["epsilon"]
    assert privacy["releasable"] is True
    for key in ("mechanism", "relation", "accountant", "unit", "covers", "does_not_cover"):
        assert privacy[key]


def test_nothing_stored_depends_on_the_noise_key_or_private_statistics(finished: Path) -> None:
    text = "".join((finished / f"{name}.json").read_text() for name in ("metrics", "config"))
    for word in ("loss", "norm_quantile", "grad_norm", "realised", "noise_key", "class_count"):
        assert word not in text
    assert read(finished, "config.json")["noise_seed"] is None


def test_plain_kip_says_that_it_is_not_private(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert drive(*TOY, "--eps=inf", f"--out_dir={tmp_path / 'run'}") == 0
    privacy = read(tmp_path / "run", "privacy.json")
    assert privacy["epsilon"] is None
    assert privacy["mechanism"] == "none"
    assert privacy["releasable"] is False
    assert privacy["noise_multiplier"] == 0
    assert "NOT private" in capsys.readouterr().out
    assert read(tmp_path / "run", "config.json")["eps"] is None


def test_plain_kip_clips_only_where_it_is_asked_to(tmp_path: Path) -> None:
    arrays = []
    for clip in (None, 1e-3):
        out = tmp_path / str(clip)
        flags = ("--eps=inf", "--noise_seed=0", *(() if clip is None else (f"--clip_norm={clip}",)))
        assert drive(*TOY, *flags, f"--out_dir={out}") == 0
        assert read(out, "config.json")["clip_norm"] == clip
        privacy = read(out, "privacy.json")
        assert (privacy["releasable"], privacy["clip_norm"]) == (False, None)
        arrays.append(np.load(out / "distilled.npz")["x"])
    assert np.abs(arrays[0] - arrays[1]).max() > 0.05


def test_large_delta_warns_loudly_and_in_the_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert drive(*TOY, "--delta=1e-3", f"--out_dir={tmp_path / 'run'}") == 0
    assert "WARNING: delta = 0.001 is not below 1/n" in capsys.readouterr().err
    assert "1/n" in read(tmp_path / "run", "privacy.json")["warnings"][0]


def test_tabular_rows_run_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    x = (rng.normal(size=(60, 5)) + y[:, None]).astype(np.float32)
    np.savez(tmp_path / "rows.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    out = tmp_path / "run"
    assert drive(*TOY, "--dataset=rows", f"--data_dir={tmp_path}", f"--out_dir={out}") == 0
    assert names_in(out) == FILES
    with np.load(out / "distilled.npz") as saved:
        assert saved["x"].shape == (2, 5)


def test_bounded_pixels_stay_in_the_stored_range(tmp_path: Path) -> None:
    flags = (*TOY, "--bounded", "--init_scale=5", "--learning_rate=1")
    assert drive(*flags, f"--out_dir={tmp_path / 'run'}") == 0
    with np.load(tmp_path / "run" / "distilled.npz") as saved:
        stored = saved["x"] * saved["scale"] + saved["shift"]
    np.testing.assert_allclose([stored.min(), stored.max()], [0, 16], atol=1e-5)


def test_values_of_unknown_range_have_no_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    x = np.linspace(0, 1, 60 * 16, dtype=np.float32).reshape(60, 4, 4)
    y = np.arange(60) % 2
    np.savez(tmp_path / "floats.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    flags = ("--dataset=floats", f"--data_dir={tmp_path}", "--bounded")
    assert_refused(capsys, "--bounded: the range of values is known", *TOY, *flags)


# --- a second run into the same folder, resumption ------------------------------------------


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def test_a_folder_with_a_run_is_not_touched(copied: Path, capsys: pytest.CaptureFixture) -> None:
    assert_refused(capsys, "already holds a run; give --resume", *TOY, "--eps=5", out=copied)


def test_overwrite_replaces_the_run(copied: Path) -> None:
    assert drive(*TOY, "--eps=9", "--overwrite", f"--out_dir={copied}") == 0
    assert read(copied, "config.json")["eps"] == 9
    assert names_in(copied) == FILES


def test_resuming_a_finished_run_changes_nothing(copied: Path) -> None:
    before = (copied / "distilled.npz").read_bytes()
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copied}") == 0
    assert (copied / "distilled.npz").read_bytes() == before


def test_resuming_with_other_settings_is_refused(
    copied: Path, capsys: pytest.CaptureFixture
) -> None:
    expected = "--eps=6.0: the run in"
    assert_refused(capsys, expected, *TOY, "--eps=6", "--resume", out=copied)


def test_resume_where_there_is_nothing_starts_a_run(tmp_path: Path) -> None:
    assert drive(*TOY, "--resume", f"--out_dir={tmp_path / 'new'}") == 0
    assert names_in(tmp_path / "new") == FILES


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    flags = ("--ipc=1", "--steps=60", "--eval_every=3", "--batch_size=50", "--noise_seed=7")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    checkpoints = killed / "checkpoints"

    def has_checkpoint() -> bool:
        return checkpoints.is_dir() and any(p.name.isdigit() for p in checkpoints.iterdir())

    drivers.kill_when("experiments.dp_kip", *flags, f"--out_dir={killed}", ready=has_checkpoint)
    assert not (killed / "distilled.npz").exists()
    assert read(killed, "privacy.json")["num_steps"] == 60  # counted before they are run

    # Leftovers of writes that the kill may have hit.
    (killed / "metrics.json.part").write_text("{")
    (checkpoints / "57.orbax-checkpoint-tmp").mkdir()
    assert drive(*flags, "--resume", f"--out_dir={killed}") == 0
    assert drive(*flags, f"--out_dir={whole}") == 0
    with np.load(killed / "distilled.npz") as a, np.load(whole / "distilled.npz") as b:
        np.testing.assert_array_equal(a["x"], b["x"])
    steps = [point["step"] for point in read(killed, "metrics.json")["history"]]
    assert steps == list(range(0, 61, 3))
    assert read(killed, "privacy.json") == read(whole, "privacy.json")
    assert read(killed, "privacy.json")["releasable"] is False
    assert names_in(killed) == FILES


def test_a_checkpoint_without_its_evaluation_is_evaluated(copied: Path) -> None:
    metrics = read(copied, "metrics.json")
    metrics["history"].pop()
    metrics["finished"] = False
    (copied / "metrics.json").write_text(json.dumps(metrics))
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copied}") == 0
    after = read(copied, "metrics.json")
    assert after["finished"] is True
    assert [point["step"] for point in after["history"]] == [0, 2, 4, 6]


# --- errors: one line, exit code 2, nothing written -----------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--dataset=nothing"], "--dataset=nothing: unknown dataset"),
        (["--eps=0"], "--eps=0.0: must be above 0"),
        (["--eps=-1"], "--eps=-1.0: must be above 0"),
        (["--eps=nan"], "--eps=nan: must be above 0"),
        (["--eps=1e-6", "--epochs=50"], "--eps=1e-06: not reachable in"),
        (["--eps=1e-7"], "--eps=1e-07: below 1e-06"),
        (["--eps=1e100"], "--eps=1e+100: promises nothing; give inf"),
        (["--delta=1e-101"], "--delta=1e-101: accountants reach 1e-100"),
        (["--delta=0"], "--delta=0.0: must be between 0 and 1"),
        (["--delta=1"], "--delta=1.0: must be between 0 and 1"),
        (["--ipc=0"], "--ipc=0: must be at least 1"),
        (["--ipc=two"], "--ipc"),
        (["--batch_size=1438"], "--batch_size=1438: larger than the 1437 training examples"),
        (["--batch_size=0"], "--batch_size=0: must be a number above 0"),
        (["--subset=0"], "--subset=0: must be a number above 0"),
        (["--epochs=0"], "--epochs=0.0: must be a number above 0"),
        (["--epochs=inf"], "--epochs=inf: must be a number above 0"),
        (["--steps=0"], "--steps=0: must be a number above 0"),
        (["--steps=5", "--epochs=2"], "--steps=5: give either --steps or --epochs"),
        (["--learning_rate=-1"], "--learning_rate=-1.0: must be a number above 0"),
        (["--clip_norm=inf"], "--clip_norm=inf: must be a number of at least 1e-12"),
        (["--init_scale=0"], "--init_scale=0.0: must be a number above 0"),
        (["--ridge=-1"], "--ridge=-1.0: must be 0 or above"),
        (["--smoothing=-1"], "--smoothing=-1.0: must be 0 or above"),
        (["--average_decay=1"], "--average_decay=1.0: must be in [0, 1)"),
        (["--depth=-1"], "--depth=-1: must be 0 or more"),
        (["--kernel=magic"], "--kernel=magic: unknown; known are fc_ntk"),
        (["--kernel=scatter", "--scatter_norm=batch"], "--scatter_norm=batch: unknown; known are"),
        (["--kernel=scatter", "--scatter_scales=4"], "--kernel=scatter on --dataset=digits: scatt"),
        (["--kernel=scatter", "--scatter_angles=0"], "--scatter_angles=0: must be a number above"),
        (["--evaluate=krr,resnet"], "--evaluate=krr,resnet: 'resnet' is unknown; known are krr"),
        (["--clip_space=labels"], "--clip_space=labels: unknown; known are pixels, features"),
        (["--clip_space=features"], "--clip_space=features: --kernel=fc_ntk has no features on"),
        (["--corrupt=1"], "--corrupt=1.0: must be a fraction in [0, 1)"),
        (["--corrupt=-0.1"], "--corrupt=-0.1: must be a fraction in [0, 1)"),
        (["--chunk_size=0"], "--chunk_size=0: must be a number above 0"),
        (["--accountant=guess"], "--accountant=guess: unknown; known are pld, rdp"),
        (["--eval_every=0"], "--eval_every=0: must be a number above 0"),
        (["--noise_seed=-1"], "--noise_seed=-1: must be a whole number"),
        (["--resume", "--overwrite"], "--resume and --overwrite: give one of the two"),
        (["--no_such_flag=1"], "no_such_flag"),
        (["mnist"], "mnist: unexpected argument"),
    ],
)
def test_bad_flags(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    flags = [*arguments, f"--data_dir={tmp_path}"]
    assert_refused(capsys, expected, *flags, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_missing_file_says_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    flags = ("--dataset=faces", f"--data_dir={tmp_path}")
    assert_refused(capsys, str(tmp_path / "faces.npz"), *flags, out=tmp_path / "run")


def test_out_dir_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "run").write_text("")
    assert_refused(capsys, "is a file; name a folder", *TOY, out=tmp_path / "run")


@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_foreign_files_are_never_removed(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "thesis.tex").write_text("all of it")
    assert_refused(capsys, "holds other files (thesis.tex)", *TOY, flag, out=tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "all of it"


def test_out_dir_in_use_by_another_run(copied: Path, capsys: pytest.CaptureFixture) -> None:
    with (copied / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_refused(capsys, "in use, another run", *TOY, "--eps=5", "--overwrite", out=copied)


def test_no_space_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert_refused(capsys, "no space, the run needs", *TOY, out=tmp_path / "run")


def test_no_space_while_writing_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from experiments.errors import InputError

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with RunFolder(tmp_path / "run", resume=False, overwrite=False) as folder:
        folder.write_bytes("metrics.json", b"old")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="no space left while writing"):
            folder.write_bytes("metrics.json", b"new")
        assert (tmp_path / "run" / "metrics.json").read_bytes() == b"old"
        assert names_in(tmp_path / "run") == {"metrics.json", ".lock"}


def test_a_diverged_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "run"
    assert drive(*TOY, "--eps=inf", "--learning_rate=1e39", f"--out_dir={out}") == 2
    assert "--learning_rate=1e+39: the run has diverged" in capsys.readouterr().err


def test_defaults_are_complete_and_in_range() -> None:
    names = ("digits", "mnist", "fashion_mnist", "cifar10", "anything")
    for name, kernel in itertools.product(names, KERNELS):
        hyper = defaults_for(name, kernel)
        assert isinstance(hyper, Hyperparameters)
        assert hyper.epochs > 0
        assert hyper.batch_size > 0
        assert 0 < hyper.clip_norm < math.inf


def test_scatter_run_with_fixed_pixels_and_classifiers(tmp_path: Path) -> None:
    out = tmp_path / "run"
    flags = ("--kernel=scatter", "--scatter_angles=2", "--corrupt=0.25", "--smoothing=1")
    assert drive(*TOY, *flags, "--evaluate=logistic,krr", "--eps=5", f"--out_dir={out}") == 0
    stored = np.load(out / "distilled.npz")["x"].reshape(10, 64)
    start = dp_kip.initial_support(
        jax.random.key(0),
        ipc=1,
        num_classes=10,
        dim=64,
        init_scale=defaults_for("digits", "scatter").init_scale,
    )
    fixed = np.all(stored == np.asarray(start.x), axis=0)
    assert fixed.sum() == 16  # a quarter of the pixels, the same ones in every image
    assert np.all(stored[:, ~fixed] != np.asarray(start.x)[:, ~fixed])
    metrics, config = read(out, "metrics.json"), read(out, "config.json")
    assert set(metrics["evaluation"]) == {"logistic"}
    assert 0 <= metrics["evaluation"]["logistic"]["mean"] <= 1
    assert config["kernel"] == "scatter"
    assert config["clip_space"] == "features"
    # What the certificate says does not depend on which pixels are distilled.
    privacy = read(out, "privacy.json")
    assert privacy["epsilon"] <= 5
    assert privacy["clip_space"] == "features"
    assert "logistic" in (out / "report.html").read_text()


@pytest.mark.parametrize("kernel", ["perceptual", "entk"])
def test_kernels_of_networks_run(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = functools.partial(perceptual.perceptual_features, width=8)
    monkeypatch.setattr(perceptual, "perceptual_features", narrow)
    monkeypatch.setattr(classifiers, "_STAGES", (1, 1))  # compilation is all of the time
    out = tmp_path / "run"
    flags = (f"--kernel={kernel}", "--subset=40", "--batch_size=10", "--steps=2", "--eps=5")
    assert drive(*flags, f"--out_dir={out}") == 0
    assert names_in(out) == FILES
    assert read(out, "privacy.json")["sampling_rate"] == pytest.approx(10 / 40)
    assert read(out, "config.json")["num_examples"] == 40
    assert np.all(np.isfinite(np.load(out / "distilled.npz")["x"]))


def test_conv_ntk_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    try:
        import neural_tangents  # noqa: F401
    except ImportError:
        assert_refused(capsys, 'pip install -e ".[nt]"', "--kernel=conv_ntk", out=tmp_path / "run")
        return
    flags = ("--kernel=conv_ntk", "--subset=6", "--batch_size=4", "--steps=1", "--eps=5")
    assert drive(*flags, f"--out_dir={tmp_path}/run") == 0
    assert "conv_ntk: a step needs about" in capsys.readouterr().err
    assert names_in(tmp_path / "run") == FILES


def test_features_on_the_fly_give_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = (*TOY, "--kernel=scatter", "--scatter_angles=1", "--eps=5", "--noise_seed=1")
    assert drive(*flags, f"--out_dir={tmp_path}/kept") == 0
    monkeypatch.setattr(plan, "MAX_BYTES", 0)
    assert drive(*flags, f"--out_dir={tmp_path}/computed") == 0
    kept, computed = (
        np.load(tmp_path / run / "distilled.npz")["x"] for run in ("kept", "computed")
    )
    np.testing.assert_allclose(kept, computed, atol=1e-3)


def test_images_only_for_kernels_and_classifiers_of_images(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, labels = np.zeros((8, 5), np.float32), np.arange(8) % 2
    np.savez(
        tmp_path / "table.npz", x_train=rows, y_train=labels, x_test=rows[:2], y_test=labels[:2]
    )
    odd = np.zeros((8, 7, 7), np.uint8)
    np.savez(tmp_path / "odd.npz", x_train=odd, y_train=labels, x_test=odd[:2], y_test=labels[:2])
    wide = np.full((8, 8, 8), 2.0, np.float32)  # floats are in [-1, 1]
    np.savez(
        tmp_path / "wide.npz", x_train=wide, y_train=labels, x_test=wide[:2], y_test=labels[:2]
    )
    common = (f"--data_dir={tmp_path}", "--batch_size=4", "--ipc=50")
    for dataset, flag, expected in (
        ("wide", "--evaluate=frechet", "holds values outside [-1, 1]"),
        ("table", "--kernel=scatter", "--kernel=scatter: works on images"),
        ("table", "--evaluate=convnet", "--evaluate=convnet: convnet works on images, and --data"),
        ("odd", "--evaluate=frechet", "--evaluate=frechet: frechet needs images with even sides"),
        ("odd", "--kernel=scatter", "even sides of at least 4 pixels, got 7 x 7"),
    ):
        flags = (*common, f"--dataset={dataset}", flag)
        assert_refused(capsys, expected, *flags, out=tmp_path / "run")


@pytest.mark.slow
def test_module_runs_and_fails_with_exit_code_2() -> None:
    command = [sys.executable, "-m", "experiments.dp_kip", "--eps=0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "error: --eps=0.0: must be above 0; inf switches privacy off\n"


def test_help_names_every_flag_and_imports_no_jax() -> None:
    code = (
        "import atexit, runpy, sys\n"
        "atexit.register(lambda: print('jax' in sys.modules))\n"
        "sys.argv = ['dp_kip', '--help']\n"
        "runpy.run_module('experiments.dp_kip', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "False"
    for flag in ("dataset", "data_dir", "out_dir", "ipc", "eps", "delta", "noise_seed", "resume"):
        assert f"--{flag}" in done.stdout or f"--[no]{flag}" in done.stdout


def test_guarantee_steps_whose_checkpoints_are_gone_are_not_released_again(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(finished, tmp_path / "copy"))
    shutil.rmtree(copy / "checkpoints")
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copy}") == 2
    assert "steps up to 6 were released" in capsys.readouterr().err


def test_guarantee_a_run_does_not_go_on_with_other_noise(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate for today's noise would be wrong of the steps that had less."""
    copy = Path(shutil.copytree(finished, tmp_path / "copy"))
    config = read(copy, "config.json")
    config["ledger"]["steps"]["noise_multiplier"] /= 2
    (copy / "config.json").write_text(json.dumps(config))
    before = (copy / "privacy.json").read_bytes()
    assert drive(*TOY, "--eps=5", "--resume", f"--out_dir={copy}") == 2
    assert "config.json: the run was started with other numbers" in capsys.readouterr().err
    assert (copy / "privacy.json").read_bytes() == before


def test_allowances_may_be_given_later_and_are_recorded(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert drive(*TOY, "--delta=1e-3", f"--out_dir={out}") == 0
    assert "MUST NOT BE RELEASED: delta = 0.001" in capsys.readouterr().out
    assert drive(*TOY, "--delta=1e-3", "--resume", "--allow_delta", f"--out_dir={out}") == 0
    assert "MAY BE RELEASED" in capsys.readouterr().out
    assert read(out, "privacy.json")["allowed"] == {"delta": True, "epsilon": False}
