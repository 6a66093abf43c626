"""The driver of DP-KIP at toy size: its files, its certificate, what it must never write."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support import kip_runs
from support.drivers import ROOT, names_in, read
from support.kip_runs import FILES, TOY, drive

from jaxdp.methods.dp_kip.settings import defaults


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kip_runs.finished(tmp_path_factory.mktemp("driver"))


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
    assert metrics["not_covered"].endswith("the guarantee does not cover them")
    figures = metrics["figures"]["krr"]
    right = sum(figures["confusion"][label][label] for label in range(10))
    assert right / figures["num_test"] == metrics["krr_test_accuracy"]
    assert "not covered by the guarantee" in figures["note"]
    assert [point["step"] for point in metrics["history"]] == [0, 2, 4, 6]


def test_guarantee_certificate_states_what_was_run(finished: Path) -> None:
    privacy = read(finished, "privacy.json")
    assert 0 < privacy["epsilon"] <= 5
    assert privacy["delta"] == 1e-5
    assert privacy["num_steps"] == 6
    assert privacy["sampling_rate"] == pytest.approx(50 / 1437)
    assert privacy["clip_norm"] == defaults("fc_ntk")["clip_norm"]
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


def test_guarantee_a_large_delta_is_refused_or_allowed_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "run"
    for more in ((), ("--resume",)):  # there is nothing yet to go on with
        assert drive(*TOY, "--delta=1e-3", f"--out_dir={out}", *more) == 2
        assert "--delta=0.001: is not below 1/n = 0.000696" in capsys.readouterr().err
        assert not out.exists()
    assert drive(*TOY, "--delta=1e-3", "--allow_delta", f"--out_dir={out}") == 0
    assert "WARNING: delta = 0.001 is not below 1/n" in capsys.readouterr().err
    assert "1/n" in read(out, "privacy.json")["warnings"][0]
    # What was released stays so: a run that is there is judged and told of as before.
    assert drive(*TOY, "--delta=1e-3", "--resume", f"--out_dir={out}") == 0


def test_allowances_may_be_given_later_and_are_recorded(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert drive(*TOY, "--eps=60", f"--out_dir={out}") == 0
    assert "MUST NOT BE RELEASED: epsilon" in capsys.readouterr().out
    assert drive(*TOY, "--eps=60", "--resume", "--allow_epsilon", f"--out_dir={out}") == 0
    assert "MAY BE RELEASED" in capsys.readouterr().out
    assert read(out, "privacy.json")["allowed"] == {"delta": False, "epsilon": True}


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
        "sys.argv = ['dp_kip', '--helpfull']\n"
        "runpy.run_module('experiments.dp_kip', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "False"
    for flag in ("dataset", "data_dir", "out_dir", "ipc", "eps", "delta", "noise_seed", "resume"):
        assert f"--{flag}" in done.stdout
